"""Rows of feature matrices in host memory, tensors of types that NumPy does not have among them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock._arrays.tensors import is_tensor


def require_plain(x: Any, name: str) -> None:
    """TypeError for a tensor whose bytes are not its entries, or whose gradient would be lost."""
    torch = sys.modules["torch"]
    if x.requires_grad and torch.is_grad_enabled():
        raise TypeError(f"{name} require a gradient, which gather does not give: give x.detach()")
    if x.layout is not torch.strided or x.is_conj() or x.is_neg():
        raise TypeError(
            f"{name} is no plain dense tensor: give x.to_dense(), x.resolve_conj().resolve_neg()"
        )


def host_rows(x: Any, name: str) -> tuple[np.ndarray, Any]:
    """An array over the same memory, and the tensor's type where NumPy does not have it: then the array is of integers
    of that size. Else None."""
    if is_tensor(x):
        return _of_tensor(x, name)
    try:
        return as_array(x), None
    except (BufferError, RuntimeError):  # a type that DLPack, or NumPy, does not have
        return np.asarray(x), None


def _of_tensor(x: Any, name: str) -> tuple[np.ndarray, Any]:
    torch = sys.modules["torch"]
    require_plain(x, name)
    if x.device.type != "cpu":
        raise TypeError(f"{name} is on {x.device}: give x.cpu()")
    x = x.detach()
    try:
        return x.numpy(), None
    except TypeError:
        pass
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    try:
        return x.view(words[x.element_size()]).numpy(), x.dtype
    except (KeyError, RuntimeError):
        raise TypeError(f"{name} of type {x.dtype} has no rows that can be copied") from None


def as_type_of(rows: np.ndarray, dtype: Any) -> Any:
    """Copied rows as what the caller gets: a tensor where `dtype` is a tensor's, else the array."""
    return rows if dtype is None else sys.modules["torch"].from_numpy(rows).view(dtype)
