"""The types of PyTorch's tensors beside NumPy's. Imports PyTorch when it is first needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from penstock._arrays.convert import result_dtype

__all__ = [
    "as_numpy",
    "beside",
    "check_halves",
    "common_types",
    "is_half",
    "narrowed",
    "numpy_type",
    "plain",
    "plain_of",
    "tensor_type",
]


def is_half(x: Any) -> bool:
    dtype = x.dtype
    return bool(dtype.itemsize == 2 and dtype.is_floating_point)


def check_halves(x: Any, matrix: Any) -> None:
    """Refuses 16-bit numbers where `matrix`, the values' type of NumPy or PyTorch, is one that float32 cannot hold."""
    if not is_half(x):
        return
    held, mine = (str(t).removeprefix("torch.") for t in (matrix, x.dtype))
    if held in ("float64", "complex64", "complex128"):
        raise TypeError(
            f"the matrix's values are {held} and X is {mine}, whose sums are in float32: give A.astype('float32'), or "
            "X in a wider type"
        )


def beside(x: Any, values: Any) -> Any:
    """x as it is multiplied with a matrix of these values: 16-bit numbers widened where float32 cannot hold the values,
    which `check_halves` would refuse."""
    import torch  # type: ignore[import-not-found, unused-ignore]

    wide = values.dtype in (torch.float64, torch.complex64, torch.complex128)
    return x.to(values.dtype) if wide and is_half(x) else x


def plain(x: Any) -> Any:
    """The tensor without its gradient, and without a conjugation or a sign that a flag alone says."""
    x = x.detach()
    return x.resolve_conj().resolve_neg() if x.is_neg() or x.is_conj() else x


def plain_of(x: Any, dtype: Any) -> Any:
    """The same, in a type of PyTorch."""
    x = plain(x)
    return x if x.dtype is dtype else x.to(dtype)


def as_numpy(x: Any) -> np.ndarray:
    """A tensor of the CPU as an array that shares its memory, but for one that is conjugated by its flag alone."""
    array: np.ndarray = plain(x).numpy()
    return array


@lru_cache(maxsize=64)
def numpy_type(dtype: Any) -> np.dtype:
    """float32 for 16-bit numbers, which are added up so."""
    return np.dtype(np.float32 if dtype.itemsize == 2 else str(dtype).removeprefix("torch."))


@lru_cache(maxsize=64)
def tensor_type(dtype: np.dtype) -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return getattr(torch, dtype.name)


@lru_cache(maxsize=256)
def common_types(first: Any, second: Any) -> tuple[np.dtype, Any]:
    """The type of a product of two types, each of NumPy or PyTorch: as NumPy's, and as PyTorch's."""
    found = result_dtype(
        *(t if isinstance(t, np.dtype) else numpy_type(t) for t in (first, second))
    )
    return found, tensor_type(found)


def narrowed(grad: Any, dtype: Any) -> Any:
    """The gradient as that of a tensor of this type: real where that is."""
    if grad.dtype is dtype:
        return grad
    if grad.dtype.is_complex and not dtype.is_complex:
        grad = grad.real
    return grad.to(dtype)
