"""Arrays in a GPU's memory, of CuPy, PyTorch, JAX, or any library with `__cuda_array_interface__` or DLPack: where
their entries lie, on which stream their library queues work, and how to make another one. Imports none of them.

A product with such arrays takes microseconds, and asking an array for its DLPack capsule takes as long again. So CuPy's
and PyTorch's arrays are asked for their addresses instead; all others are asked through the core.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.libraries import MAKERS, CuPy, DeviceArray, Library, Other, Torch

__all__ = ["DeviceArray", "Library", "in_order", "is_on_gpu", "library_of", "look", "stream_handle"]


_by_name: dict[str, Library] = {}
_by_type: dict[type, Library | None] = {np.ndarray: None}


def library_of(x: Any) -> Library | None:
    """The library of x's class, whether x is on a GPU or not; None for one that has no arrays there."""
    kind = type(x)
    try:
        return _by_type[kind]
    except KeyError:
        found = _by_type[kind] = _library_of(kind)
        return found


def _library_of(kind: type) -> Library | None:
    for base in kind.__mro__:
        name = base.__module__.partition(".")[0]
        if name in MAKERS and name in sys.modules:
            if name not in _by_name:
                _by_name[name] = MAKERS[name]()
            return _by_name[name]
    if hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack_device__"):
        return _by_name.setdefault("", Other())
    return None


def look(x: Any) -> DeviceArray | None:
    """What x is, where it is an array on a GPU; None for all else."""
    library = library_of(x)
    return None if library is None else library.look(x)


def is_on_gpu(x: Any) -> bool:
    """Whether x is an array in a GPU's memory, of any library."""
    library = library_of(x)
    if library is None:
        return False
    if type(library) is Torch:
        return bool(x.is_cuda)
    return type(library) is CuPy or library.look(x) is not None


def stream_handle(stream: Any) -> int:
    """The handle of a stream that a caller gives: of PyTorch, CuPy, an object with `__cuda_stream__`, or an integer."""
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        if stream < 0:
            raise ValueError(f"stream={stream}: give a stream's handle, 0 for the default stream")
        return int(stream)
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise TypeError(
        f"stream={stream!r} is no stream: give one of PyTorch or CuPy, an object with __cuda_stream__, or a handle"
    )


class in_order:
    """Inside, work on `stream` comes after all that the libraries of these arrays have queued for `gpu`; what they
    queue afterwards comes after that work. Costs nothing where they queue on `stream` themselves."""

    def __init__(self, stream: int, gpu: int, *libraries: Library | None) -> None:
        self.stream, self.gpu = stream, gpu
        theirs = {library.stream(gpu) for library in libraries if library is not None}
        self.others = sorted(theirs - {stream})

    def __enter__(self) -> None:
        for other in self.others:
            _core.order_streams(self.gpu, other, self.stream)

    def __exit__(self, *_: object) -> None:
        for other in self.others:
            _core.order_streams(self.gpu, self.stream, other)
