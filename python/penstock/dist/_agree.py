"""Ranks that decide together: an error on one is an error on all, and all of them can go on afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")

# What may be raised again on other ranks, from its text alone.
_SHARED = {
    e.__name__: e
    for e in (ValueError, TypeError, MemoryError, FileNotFoundError, OSError, NotImplementedError)
}


def agreed(comm: Any, work: Callable[[], Value]) -> Value:
    """work() on every rank, which must not be collective. Where it raises an Exception on some, all raise: those their
    own, the others that of the first, with the rank named."""
    error: Exception | None = None
    value: Any = None
    try:
        value = work()
    except Exception as e:
        error = e
    first = np.array([comm.size if error is None else comm.rank], dtype=np.int64)
    comm.all_reduce(first, "min")
    failed = int(first[0])
    if failed == comm.size:
        return value
    told = None if error is None else (_name(error), str(error))
    name, text = comm.share(told, root=failed)
    if error is not None:
        raise error
    raise _SHARED.get(name, RuntimeError)(f"rank {failed}: {text}")


def _name(error: Exception) -> str:
    return next((name for name, kind in _SHARED.items() if isinstance(error, kind)), "")


def require_same(comm: Any, values: dict[str, float]) -> None:
    """Raises ValueError, on all ranks, where one was given other numbers."""
    mine = np.array(list(values.values()), dtype=np.float64)
    both = np.concatenate([mine, -mine])
    comm.all_reduce(both, "max")
    most, least = both[: mine.size], -both[mine.size :]
    for name, low, high in zip(values, least, most, strict=True):
        if low != high:
            raise ValueError(f"{name} differs between ranks: give the same on all of them")


def any_rank(comm: Any, flags: Any) -> np.ndarray:
    """Whether each flag is set on some rank."""
    numbers = np.atleast_1d(np.asarray(flags)).astype(np.int64)
    comm.all_reduce(numbers, "max")
    return numbers.astype(bool)


def total(comm: Any, value: float) -> float:
    """The sum over all ranks: the same bits on each."""
    numbers = np.array([value], dtype=np.float64)
    comm.all_reduce(numbers, "sum")
    return float(numbers[0])
