"""The operands of a product: what is dense, sparse or on a GPU, which type the result has, and the factors' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._arrays.convert import as_array, result_dtype
from penstock._choices import semiring_named


def as_dense(x: Any) -> np.ndarray:
    """The dense factor of a product: `as_array`, with a clear word on sparse ones."""
    if type(x) is np.ndarray:
        return x
    if hasattr(x, "tocsr"):
        raise TypeError("a dense array is needed here: A @ B and spgemm multiply sparse matrices")
    return as_array(x)


def is_sparse(x: Any) -> bool:
    return type(x) is not np.ndarray and hasattr(x, "tocsr")


def conj(x: np.ndarray) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else x


def from_left(transposed: Any, x: Any) -> np.ndarray:
    """x A, by A^T."""
    x = as_dense(x)
    if x.ndim in (1, 2) and x.shape[-1] != transposed.shape[1]:
        raise ValueError(
            f"x has shape {x.shape}: x @ A needs {transposed.shape[1]} at the end, the rows of A"
        )
    return transposed.dot(x) if x.ndim == 1 else transposed.dot(x.T).T


def on_gpu(x: Any) -> bool:
    """Whether an array of any library (CuPy, PyTorch, JAX) is in a GPU's memory, by DLPack's word."""
    device = getattr(x, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in (2, 13)  # CUDA, CUDA managed


def product_type(matrix: np.dtype, x: np.dtype, semiring: str) -> np.dtype:
    linear = semiring == "plus_times"  # most products are, and need not be looked up
    if not linear and semiring_named(semiring).boolean:
        return np.dtype(np.uint8)
    common = matrix == x and matrix.kind != "b"  # then NumPy need not be asked
    dtype = matrix if common else result_dtype(matrix, x)
    if not linear and dtype.kind == "c":
        raise TypeError(f"{semiring} needs an order, which complex numbers do not have")
    return dtype


def as_number(value: Any, dtype: np.dtype, boolean: bool, name: str) -> Any:
    """alpha or beta as the core takes it."""
    if value is None:
        return None
    kinds = "biufc" if boolean or dtype.kind == "c" else "biuf"
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in kinds:
        raise TypeError(
            f"{name}={value!r} is not a number of the result's type, {'bool' if boolean else dtype}"
        )
    return bool(value) if boolean else dtype.type(value).item()
