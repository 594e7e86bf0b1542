"""Checks of what the functions of this package are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import not_integers, unmasked
from penstock._arrays.convert import as_array
from penstock._arrays.tensors import is_tensor
from penstock._matrix.csr import csr_array


def int64s(some: Any, name: str) -> np.ndarray:
    """Integers of one dimension, as int64. TypeError for others, ValueError for one that int64 does not hold."""
    given = unmasked(some, name)
    if is_tensor(given) and (given.is_floating_point() or given.is_complex()):
        raise TypeError(f"{name} must be integers, not {given.dtype} of shape {tuple(given.shape)}")
    numbers = np.atleast_1d(as_array(given))
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise not_integers(some, numbers, name)
    if numbers.dtype.kind == "u" and numbers.dtype.itemsize == 8 and numbers.size:
        at = int(numbers.argmax())
        if numbers[at] > np.iinfo(np.int64).max:
            raise ValueError(f"{name}[{at}]={numbers[at]} is beyond 2^63 - 1, the largest int64")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def on_host(a: csr_array, what: str) -> csr_array:
    if a.place == "device":
        raise _core.PlacementError(
            f"{what} runs on the CPU, but the matrix is in a GPU's memory: use A.to(ps.host) or A.to(ps.pinned)"
        )
    return a
