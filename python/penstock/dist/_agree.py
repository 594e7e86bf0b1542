"""Ranks that decide together: an error on one is an error on all, and all of them can go on afterwards."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from penstock import _core

Value = TypeVar("Value")
_LONG = 60  # characters of a value that others are told

# What may be raised again on other ranks, from its text alone.
_SHARED = {
    e.__name__: e
    for e in (
        *(ValueError, TypeError, MemoryError, FileNotFoundError, OSError),
        *(_core.NotCompiledError, NotImplementedError),
    )
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


def about(comm: Any, name: str, **arguments: Any) -> Any:
    """A context: the collective calls inside belong to `name` with these arguments, of which their first message tells
    a hash. Where ranks give others, all raise ValueError that names the argument; it costs no message."""
    lines = [f"{argument}\t{_words(value)}" for argument, value in arguments.items()]
    return _core.About(comm, "\n".join([name, *lines]))


def _words(value: Any) -> str:
    """A value in a line: the same for what means the same."""
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        number = float(value)
        value = int(value) if number.is_integer() else number
    if isinstance(value, np.ndarray):
        return f"{value.size} values of {_checksum(value)}"
    if isinstance(value, Mapping):
        pairs = sorted((int(k), float(v)) for k, v in value.items())
        return f"{len(pairs)} values of {_checksum(np.array(pairs, dtype=np.float64))}"
    text = (value if isinstance(value, str) else repr(value)).replace("\n", " ").replace("\t", " ")
    if len(text) <= _LONG:
        return text
    return f"{text[:_LONG]}... of checksum {zlib.crc32(text.encode()):08x}"


def _checksum(values: np.ndarray) -> str:
    return f"checksum {zlib.crc32(np.ascontiguousarray(values).view(np.uint8).data):08x}"


def require_same(comm: Any, values: dict[str, float]) -> None:
    """Raises ValueError, on all ranks, where one was given other numbers."""
    mine = np.array(list(values.values()), dtype=np.float64)
    both = np.concatenate([mine, -mine])
    comm.all_reduce(both, "max")
    most, least = both[: mine.size], -both[mine.size :]
    for name, low, high in zip(values, least, most, strict=True):
        if low != high:
            raise ValueError(
                f"ranks disagree on {name}, from {low:g} to {high:g}: all ranks must give the same"
            )


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
