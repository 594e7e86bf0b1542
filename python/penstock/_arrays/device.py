"""Arrays in a GPU's memory, of CuPy, PyTorch, JAX, or any library with `__cuda_array_interface__` or DLPack: where
their entries lie, on which stream their library queues work, and how to make another one. Imports none of them.

A product with such arrays takes microseconds, and asking an array for its DLPack capsule takes as long again. So CuPy's
and PyTorch's arrays are asked for their addresses instead; all others are asked through the core.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock import _core

__all__ = ["DeviceArray", "Library", "in_order", "is_on_gpu", "library_of", "look", "stream_handle"]


class DeviceArray(NamedTuple):
    """What the core needs to know of an array on a GPU. The array itself keeps the memory."""

    pointer: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]  # entries from one index of each axis to the next
    dtype: np.dtype
    gpu: int
    writable: bool


class Library(Protocol):
    """An array library with arrays on GPUs."""

    def look(self, x: Any) -> DeviceArray | None:
        """What x is; None where it is not on a GPU."""

    def stream(self, gpu: int) -> int:
        """The handle of the stream on which the library queues its work for this GPU at present."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Any:
        """An uninitialised array in C order, to be filled and then finished."""

    def finish(self, array: Any, gpu: int, stream: int) -> Any:
        """What the caller gets of a filled array that `empty` has made."""


class _Own:
    """A library whose arrays are filled in the order of its stream: what was made is what the caller gets."""

    def finish(self, array: Any, gpu: int, stream: int) -> Any:
        return array


class _Torch(_Own):
    def __init__(self) -> None:
        import torch  # type: ignore[import-not-found, unused-ignore]

        self._torch = torch
        # PyTorch's own stream object takes a microsecond to make; its compiler asks for the handle alone.
        self._raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        names = ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128")
        self._numpy = {getattr(torch, n): np.dtype(n) for n in names}
        self._mine = {np.dtype(n): getattr(torch, n) for n in names}

    def look(self, x: Any) -> DeviceArray | None:
        if not x.is_cuda:
            return None
        if x.layout is not self._torch.strided:
            raise TypeError(
                f"a tensor of layout {x.layout} is given: make a dense one, or a matrix of it by ps.csr_array"
            )
        if x.is_conj() or x.is_neg():  # what is at its address are other numbers
            raise TypeError(
                "a tensor that only a flag conjugates or negates is given: give x.resolve_conj().resolve_neg()"
            )
        dtype = self._numpy.get(x.dtype)
        if dtype is None:
            raise TypeError(
                f"{x.dtype} is not known here: give float32, float64 or complex numbers"
            )
        return DeviceArray(x.data_ptr(), tuple(x.shape), x.stride(), dtype, x.get_device(), True)

    def stream(self, gpu: int) -> int:
        if self._raw is not None:
            return int(self._raw(gpu))
        return int(self._torch.cuda.current_stream(gpu).cuda_stream)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Any:
        return self._torch.empty(shape, dtype=self._mine[dtype], device=f"cuda:{gpu}")


class _CuPy(_Own):
    def __init__(self) -> None:
        import cupy  # type: ignore[import-not-found, unused-ignore]

        self._cupy = cupy

    def look(self, x: Any) -> DeviceArray | None:
        size = x.itemsize
        steps = tuple(s // size for s in x.strides)
        return DeviceArray(x.data.ptr, x.shape, steps, x.dtype, x.data.device_id, True)

    def stream(self, gpu: int) -> int:
        return int(self._cupy.cuda.get_current_stream(gpu).ptr)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Any:
        cupy = self._cupy
        if cupy.cuda.runtime.getDevice() == gpu:
            return cupy.empty(shape, dtype)
        with cupy.cuda.Device(gpu):
            return cupy.empty(shape, dtype)


class _Other(_Own):
    """A library of which nothing is known but its protocols: its arrays are ready once the default stream has come to
    the end of what is queued there, and results go to an array that the caller gives."""

    def look(self, x: Any) -> DeviceArray | None:
        interface = getattr(x, "__cuda_array_interface__", None)
        if interface is None:
            return self._by_dlpack(x)
        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        pointer, read_only = interface["data"]
        given = interface.get("strides")
        steps = contiguous(shape) if given is None else tuple(s // dtype.itemsize for s in given)
        gpu = _core.gpu_of(pointer) if pointer else 0
        return DeviceArray(pointer, shape, steps, dtype, gpu, not read_only)

    @staticmethod
    def _by_dlpack(x: Any) -> DeviceArray | None:
        device = getattr(x, "__dlpack_device__", None)
        if device is None or int(device()[0]) not in (2, 13):  # CUDA, CUDA managed
            return None
        pointer, shape, steps, dtype, gpu, writable = _core.device_array(x)
        return DeviceArray(pointer, shape, steps, np.dtype(dtype), gpu, writable)

    def stream(self, gpu: int) -> int:
        return 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Any:
        raise TypeError(
            "x is on a GPU, and of a library whose arrays cannot be made here: give out="
        )


class _Made:
    """Memory of the core, until a library takes it over."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> None:
        pointer, self._capsule = _core.device_empty(shape, dtype.name, gpu)
        self.found = DeviceArray(pointer, shape, contiguous(shape), dtype, gpu, True)

    def __dlpack__(self, **how: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.found.gpu  # kDLCUDA


class _Jax(_Other):
    """JAX's arrays are never written, so that a result is memory of the core that JAX takes over."""

    def look(self, x: Any) -> DeviceArray | None:
        if isinstance(x, _Made):
            return x.found
        found = super().look(x.block_until_ready() if hasattr(x, "block_until_ready") else x)
        return None if found is None else found._replace(writable=False)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype, gpu: int) -> Any:
        return _Made(shape, dtype, gpu)

    def finish(self, array: Any, gpu: int, stream: int) -> Any:
        import jax  # type: ignore[import-not-found, unused-ignore]

        _core.synchronize_stream(gpu, stream)  # JAX has streams of its own, which would not wait
        return jax.dlpack.from_dlpack(array)


_makers = {"torch": _Torch, "cupy": _CuPy, "jax": _Jax, "jaxlib": _Jax}
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
        if name in _makers and name in sys.modules:
            if name not in _by_name:
                _by_name[name] = _makers[name]()
            return _by_name[name]
    if hasattr(kind, "__cuda_array_interface__") or hasattr(kind, "__dlpack_device__"):
        return _by_name.setdefault("", _Other())
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
    if type(library) is _Torch:
        return bool(x.is_cuda)
    return type(library) is _CuPy or library.look(x) is not None


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The steps of an array in C order.

    >>> contiguous((2, 3, 4))
    (12, 4, 1)
    """
    steps = []
    step = 1
    for n in reversed(shape):
        steps.append(step)
        step *= n
    return tuple(reversed(steps))


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
