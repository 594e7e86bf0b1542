"""Checks of what the functions of this package are given."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array
from penstock._matrix.csr import csr_array


def integer(value: Any, name: str, least: int, most: int = 2**62) -> int:
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}={value!r} is not an integer")
    number = operator.index(value)
    if not least <= number <= most:
        raise ValueError(f"{name}={number} is not between {least} and {most}")
    return number


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r}: give True or False")
    return bool(value)


def seed_number(seed: Any) -> int:
    return integer(seed, "seed", 0, 2**64 - 1)


def real(value: Any, name: str, allowed: str, ok: Any) -> float:
    """A finite number for which ok(number); `allowed` says which these are."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not a number") from None
    if not (math.isfinite(number) and ok(number)):
        raise ValueError(f"{name}={value!r} must be a number {allowed}")
    return number


def int64s(some: Any, name: str) -> np.ndarray:
    """Integers of one dimension, as int64."""
    numbers = np.atleast_1d(as_array(some))
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, not {numbers.dtype} of shape {numbers.shape}")
    return np.ascontiguousarray(numbers, dtype=np.int64)


def on_host(a: csr_array, what: str) -> csr_array:
    if a.place == "device":
        raise _core.PlacementError(
            f"{what} runs on the CPU, but the matrix is in a GPU's memory: use A.to(ps.host) or A.to(ps.pinned)"
        )
    return a
