"""The types of PyTorch's tensors beside NumPy's. Imports PyTorch when it is first needed."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["as_numpy", "check_halves", "is_half", "numpy_type", "plain", "tensor_type"]


def is_half(x: Any) -> bool:
    return bool(x.dtype.itemsize == 2 and x.dtype.is_floating_point)


def check_halves(x: Any, matrix: Any) -> None:
    """Refuses 16-bit numbers where `matrix`, the values' type of NumPy or PyTorch, is one that float32 cannot hold."""
    held, mine = (str(t).removeprefix("torch.") for t in (matrix, x.dtype))
    if is_half(x) and held in ("float64", "complex64", "complex128"):
        raise TypeError(
            f"the matrix's values are {held} and X is {mine}, whose sums are in float32: give A.astype('float32'), or "
            "X in a wider type"
        )


def plain(x: Any) -> Any:
    """The tensor without its gradient, and without a conjugation or a sign that a flag alone says."""
    return x.detach().resolve_conj().resolve_neg()


def as_numpy(x: Any) -> np.ndarray:
    """A tensor of the CPU as an array that shares its memory, but for one that is conjugated by its flag alone."""
    array: np.ndarray = plain(x).numpy()
    return array


def numpy_type(dtype: Any) -> np.dtype:
    """float32 for 16-bit numbers, which are added up so."""
    return np.dtype(np.float32 if dtype.itemsize == 2 else str(dtype).removeprefix("torch."))


def tensor_type(dtype: np.dtype) -> Any:
    import torch  # type: ignore[import-not-found, unused-ignore]

    return getattr(torch, dtype.name)
