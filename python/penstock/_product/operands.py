"""The operands of a product: what is dense, sparse or on a GPU, which type the result has, and the factors' numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._arrays.convert import as_array, as_type, checked, result_dtype
from penstock._arrays.tensors import is_tensor
from penstock._choices import SEMIRINGS, semiring_named


def as_dense(x: Any) -> np.ndarray:
    """The dense factor of a product: `as_array`, with a clear word on sparse ones."""
    if type(x) is np.ndarray:
        return x
    if hasattr(x, "tocsr"):
        raise TypeError("a dense array is needed here: A @ B and spgemm multiply sparse matrices")
    return as_array(x)


def is_sparse(x: Any) -> bool:
    return type(x) is not np.ndarray and hasattr(x, "tocsr")


def may_be_dense(x: Any) -> bool:
    """Whether `A @ x` is ours to compute, or to refuse: of other objects Python asks their own `x.__rmatmul__`."""
    if type(x) is np.ndarray and x.ndim:
        return True
    if isinstance(x, np.ndarray) and not x.ndim:
        x = x[()]
    if isinstance(x, (int, float, complex, np.generic)):
        raise ValueError(f"A @ {x!r}: a product of matrices takes no number, use A * {x!r}")
    if isinstance(x, (np.ndarray, list, tuple, range)):
        return True
    return any(hasattr(x, name) for name in ("__dlpack__", "__array__", "__array_interface__"))


def refuse_options(*given: Any, semiring: str, algorithm: str = "auto") -> None:
    """Of `A.dot(B, ...)` with a sparse B or a number."""
    if any(each is not None for each in given) or (semiring, algorithm) != ("plus_times", "auto"):
        raise TypeError("A.dot(B, ...) with options takes a dense B: for a sparse one use spgemm")


def conj(x: np.ndarray) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else x


def from_left(transposed: Any, x: Any) -> Any:
    """x A, by A^T."""
    x = x if is_tensor(x) else as_dense(x)
    if x.ndim in (1, 2) and x.shape[-1] != transposed.shape[1]:
        raise ValueError(
            f"dimension mismatch: x has shape {tuple(x.shape)}, x @ A needs {transposed.shape[1]} at the end, the rows "
            "of A"
        )
    return transposed.dot(x) if x.ndim == 1 else transposed.dot(x.T).T


def on_gpu(x: Any) -> bool:
    """Whether an array of any library (CuPy, PyTorch, JAX) is in a GPU's memory, by DLPack's word."""
    device = getattr(x, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in (2, 13)  # CUDA, CUDA managed


def on_host(x: Any, out: Any) -> bool:
    """Whether the product is one of PyTorch's tensors that `host_tensors` carries out: x or out is a tensor, and
    neither is on a GPU, or one there needs the operator, for gradients, compiled programs or 16-bit numbers."""
    if type(x) is np.ndarray and (out is None or type(out) is np.ndarray):
        return False
    tensors = [t for t in (x, out) if is_tensor(t)]
    if not tensors:
        return False
    return all(t.device.type != "cuda" for t in tensors) or any(map(_needs_operator, tensors))


def _needs_operator(x: Any) -> bool:
    """Of a tensor on a GPU: the call through PyTorch costs microseconds more than one with its address."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    if x.requires_grad and torch.is_grad_enabled():
        return True
    if torch.compiler.is_compiling() or type(x) not in (torch.Tensor, torch.nn.Parameter):
        return True  # there is no address
    return bool(x.dtype.itemsize == 2 and x.dtype.is_floating_point)


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


def check_factor(shape: tuple[int, ...], rows: int, cols: int) -> None:
    """Refuses the shape of a dense x that a matrix of rows x cols is not multiplied with."""
    if len(shape) not in (1, 2) or shape[0] != cols:
        raise ValueError(
            f"x has shape {tuple(shape)}: a matrix of {rows} x {cols} needs ({cols},) or ({cols}, k)"
        )


# What a product is called with: x of the types and strides that the core reads, the shape and type of the result,
# alpha, beta, and whether it is one vector. It is a tuple, because making an object takes 0.4 us, of the 7 us that a
# product with 5,000 entries takes.
Operands = tuple[np.ndarray, tuple[int, ...], np.dtype, Any, Any, bool]


def normalised(
    a: Any, x: Any, out: Any, alpha: Any, beta: Any, semiring: str, transposed: bool = False
) -> Operands:
    """Checks shapes and types, and converts x where the core needs it. `a` is asked for its shape and dtype alone. One
    vector has one dimension from here on, whether x has one or two."""
    x = as_dense(x)
    rows, cols = a.shape[::-1] if transposed else a.shape
    check_factor(x.shape, rows, cols)
    dtype = product_type(a.dtype, x.dtype, semiring)
    boolean = SEMIRINGS[semiring].boolean
    if alpha is not None or beta is not None:
        alpha = as_number(alpha, dtype, boolean, "alpha")
        beta = as_number(beta, dtype, boolean, "beta")
    single = x.ndim == 1
    if boolean:
        xs = (x != 0).view(np.uint8)
        xs = np.ascontiguousarray(xs) if single else xs
    elif single:
        xs = as_type(x, dtype, "x")
    else:
        xs = checked(x, dtype, "x")
        if xs.dtype != dtype or not strides_fit(xs):
            xs = np.array(xs, dtype, order="F" if abs(xs.strides[0]) < abs(xs.strides[1]) else "C")
    shape, found = (rows, *x.shape[1:]), np.dtype(bool) if boolean else dtype
    if out is not None:
        _check_out(out, shape, found, x)
    elif beta is not None:
        raise ValueError("beta is given without out: there is nothing to add to")
    if not single and shape[1] == 1 and (out is None or out.flags.c_contiguous):
        xs, single = np.ascontiguousarray(xs[:, 0]), True  # a vector, and its kernels
    return xs, shape, found, alpha, beta, single


def as_written(y: np.ndarray, single: bool) -> np.ndarray:
    """The result as the core writes it: a view of y."""
    if y.dtype.kind == "b":
        y = y.view(np.uint8)
    return y.reshape(-1) if single and y.ndim == 2 else y


def strides_fit(x: np.ndarray) -> bool:
    """Whether the core reads and writes a two-dimensional array as it is."""
    return x.flags.aligned and all(s >= 0 and s % x.itemsize == 0 for s in x.strides)


def _check_out(out: Any, shape: tuple[int, ...], dtype: np.dtype, x: np.ndarray) -> None:
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is {got}: give an array of {dtype} and shape {shape}")
    if out.ndim == 2 and not strides_fit(out):
        raise ValueError(
            f"out has strides {out.strides}: give multiples of {dtype.itemsize} bytes, none negative"
        )
    if not (out.flags.c_contiguous or out.ndim == 2) or not out.flags.writeable:
        raise ValueError("out must be C-contiguous and writable")
    if np.may_share_memory(out, x):
        raise ValueError("out overlaps x: give another array")
