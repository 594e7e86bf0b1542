"""Where bytes are: places as values, moving a matrix, and vectors in memory that GPUs reach at full speed."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._plan.schedules import options

_NAMES = ("host", "pinned", "managed", "device")
# Smaller matrices are copied to pinned memory: a copy takes a millisecond, and their pages may be shared with others.
_LOCKED = 32 << 20


@dataclass(frozen=True)
class Place:
    """A kind of memory: `ps.host`, `ps.pinned`, `ps.managed` or `ps.device(n)`.

    memory: "host" (ordinary), "pinned" (host memory that GPUs copy from at the link's speed and may read in place),
    "managed" (moved by the driver when touched), "device" (a GPU's own).
    ordinal: the GPU of "device" and "managed".
    """

    memory: str
    ordinal: int = 0

    def __repr__(self) -> str:
        gpu = f"({self.ordinal})" if self.memory == "device" else ""
        return f"penstock.{self.memory}{gpu}"


host = Place("host")
pinned = Place("pinned")
managed = Place("managed")


def device(ordinal: int = 0) -> Place:
    """The memory of GPU `ordinal`, numbered from 0.

    >>> import penstock as ps
    >>> ps.device(1)
    penstock.device(1)
    """
    number = integer(ordinal, "ordinal", -(2**62))
    if number < 0:
        raise ValueError(
            f"device({ordinal}): GPUs are numbered from 0; the CPU's memory is ps.host"
        )
    return Place("device", number)


def as_place(where: Any) -> Place:
    """A place from a place, or from its name ("pinned", "device", "device:1")."""
    if isinstance(where, Place):
        return where
    if isinstance(where, str):
        memory, colon, number = where.partition(":")
        if memory in _NAMES and (not colon or (memory == "device" and number.isdigit())):
            return Place(memory, int(number or 0))
    raise ValueError(
        f"place={where!r} is unknown: choose one of ps.host, ps.pinned, ps.managed, ps.device(n)"
    )


def moved(core: Any, where: Any) -> Any:
    """A core matrix in another memory, or the same one where it is there already: see `csr_array.to`."""
    place = as_place(where)
    ordinal = _core.ordinal(core)  # 0 for the host's memories
    if place == Place(core.place, ordinal):
        return core
    if place.memory == "pinned" and core.place == "host" and core.nbytes >= _LOCKED:
        return _core.lock_in_place(core)
    if place.memory == "device" and options.gpus is not None and place.ordinal >= options.gpus:
        raise _core.PlacementError(
            f"{place!r} may not be used: options.gpus={options.gpus} (PENSTOCK_GPUS) allows the first so many"
        )
    limit = options.device_memory
    if place.memory == "device" and limit is not None and core.nbytes > limit:
        raise MemoryError(
            f"the matrix takes {core.nbytes} bytes, options.device_memory allows {limit} on {place!r}: keep it in host "
            "memory and use Streamed, or allow more"
        )
    gpu = ordinal if core.place == "device" and place.memory != "device" else place.ordinal
    return _core.to_place(core, place.memory, gpu)


def empty(shape: int | tuple[int, ...], dtype: Any = np.float64, place: Any = pinned) -> np.ndarray:
    """An uninitialised NumPy array in ordinary, pinned or managed memory: for vectors that go to GPUs again and again.

    A pinned x or y saves each product a pass over it: from ordinary memory the CPU first copies it to pinned pages.
    The memory goes back when the last view of the array is gone. ValueError for `ps.device(n)`, which NumPy cannot
    reach (use CuPy or PyTorch there); NotCompiledError without CUDA, MemoryError where the system refuses to pin.

    >>> import penstock as ps
    >>> x = ps.empty(5, place=ps.host)
    >>> x.shape, x.dtype
    ((5,), dtype('float64'))
    """
    where = as_place(place)
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    dims = tuple(operator.index(n) for n in sizes)
    if any(n < 0 for n in dims):
        raise ValueError(f"empty: shape {shape} is negative")
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise TypeError(f"empty: {dtype} holds Python objects, which only NumPy's own arrays may")
    if where.memory == "host":
        return np.empty(dims, dtype)
    if where.memory == "device":
        raise ValueError(
            f"empty: NumPy cannot reach {where!r}: use CuPy or PyTorch for vectors on a GPU"
        )
    size = math.prod(dims) * dtype.itemsize
    raw = _core.pinned_bytes(size) if where.memory == "pinned" else _core.managed_bytes(size)
    return raw.view(dtype).reshape(dims)
