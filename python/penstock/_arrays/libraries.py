"""What is known of the array libraries: how each tells where an array lies, and how it makes another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock import _core

__all__ = ["MAKERS", "CuPy", "DeviceArray", "Library", "Other", "Queuer", "Torch", "contiguous"]


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

    def queuer(self, queue: Queue, x: DeviceArray, y: DeviceArray) -> Queuer | None:
        """For calls with contiguous vectors like x and y: looks at two arrays of the class that was asked, queues the
        product where they are such vectors and do not overlap, and returns the second; None otherwise. Without the
        second it makes one. None where the library has no way that is faster than `look`."""


Queue = Callable[[int, int, None, None, int], None]  # addresses of x and y, no numbers, stream
Queuer = Callable[[Any, Any], Any]


class _Own:
    """A library whose arrays are filled in the order of its stream: what was made is what the caller gets."""

    def finish(self, array: Any, gpu: int, stream: int) -> Any:
        return array

    def queuer(self, queue: Queue, x: DeviceArray, y: DeviceArray) -> Queuer | None:
        return None


def _reach(x: DeviceArray, y: DeviceArray) -> tuple[int, int]:
    """Addresses of y minus x strictly between these two are those of vectors that overlap."""
    return -y.shape[0] * y.dtype.itemsize, x.shape[0] * x.dtype.itemsize


class Torch(_Own):
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

    def queuer(self, queue: Queue, x: DeviceArray, y: DeviceArray) -> Queuer | None:
        raw, compiling = self._raw, self._torch.compiler.is_compiling
        if raw is None or x.dtype.kind == "c":  # a flag may conjugate complex numbers
            return None
        dtype, gpu, x_shape, y_shape = self._mine[x.dtype], x.gpu, x.shape, y.shape
        strided = self._torch.strided
        below, above = _reach(x, y)

        def plain(t: Any, shape: tuple[int, ...]) -> bool:
            return (
                t.dtype is dtype
                and t.shape == shape
                and t.get_device() == gpu
                and t.layout is strided
                and t.is_contiguous()
                and not t.requires_grad
                and not t.is_neg()
            )

        def queued(a: Any, b: Any) -> Any:
            if not plain(a, x_shape) or compiling():
                return None
            first = a.data_ptr()
            if b is None:
                b = a.new_empty(y_shape)
                second = b.data_ptr()
            else:
                if not plain(b, y_shape):
                    return None
                second = b.data_ptr()
                if below < second - first < above:
                    return None
            queue(first, second, None, None, raw(gpu))
            return b

        return queued


class CuPy(_Own):
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

    def queuer(self, queue: Queue, x: DeviceArray, y: DeviceArray) -> Queuer | None:
        cupy = self._cupy
        current, selected, empty = (
            cupy.cuda.get_current_stream,
            cupy.cuda.runtime.getDevice,
            cupy.empty,
        )
        dtype, gpu, x_shape, y_shape = x.dtype, x.gpu, x.shape, y.shape
        strides = (dtype.itemsize,)
        below, above = _reach(x, y)

        def plain(v: Any, shape: tuple[int, ...]) -> bool:
            return (
                v.dtype is dtype
                and v.shape == shape
                and v.strides == strides
                and v.data.device_id == gpu
            )

        def queued(a: Any, b: Any) -> Any:
            if not plain(a, x_shape):
                return None
            first = a.data.ptr
            if b is None:
                if selected() != gpu:
                    return None
                b = empty(y_shape, dtype)
                second = b.data.ptr
            else:
                if not plain(b, y_shape):
                    return None
                second = b.data.ptr
                if below < second - first < above:
                    return None
            queue(first, second, None, None, current(gpu).ptr)
            return b

        return queued


class Other(_Own):
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


class Jax(Other):
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


MAKERS: dict[str, Callable[[], Library]] = {"torch": Torch, "cupy": CuPy, "jax": Jax, "jaxlib": Jax}
