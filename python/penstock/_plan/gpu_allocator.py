"""Who allocates memory of GPUs: CUDA itself, or the pool of PyTorch or CuPy. The choice is the process's.

Pools of two libraries keep from each other what each has freed. Here the core asks one of them for its blocks, and
gives them back to whoever they came from.
"""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._choices import one_of
from penstock._plan.schedules import no_gpu

__all__ = ["GpuAllocator", "gpu_allocator"]

_STREAMS = 256  # objects of CuPy for streams that are remembered


class _Torch:
    """The caching allocator of PyTorch. The core has made the GPU current where it calls `allocate`."""

    def __init__(self) -> None:
        try:
            import torch  # type: ignore[import-not-found, unused-ignore]
        except ImportError as e:
            raise ImportError("gpu_allocator('torch') needs PyTorch: pip install torch") from e
        self._torch, cuda = torch, torch.cuda
        # What the public functions call, without a switch to the GPU that is current already.
        raw = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
        self._alloc = raw or (lambda size, stream: cuda.caching_allocator_alloc(size, None, stream))
        self.free = getattr(
            torch._C, "_cuda_cudaCachingAllocator_raw_delete", cuda.caching_allocator_delete
        )

    def begin(self) -> None:
        torch = self._torch
        if not torch.cuda.is_available():
            raise _core.PlacementError(
                f"PyTorch {torch.__version__} uses no GPU here (torch.cuda.is_available() is False): install one that "
                "is built for this driver's CUDA, or leave gpu_allocator('cuda')"
            )
        torch.cuda.init()

    def allocate(self, size: int, gpu: int, stream: int) -> tuple[int, int]:
        try:
            address = self._alloc(size, stream)
        except self._torch.cuda.OutOfMemoryError as e:
            raise MemoryError(str(e)) from None
        return address, address

    def room(self, gpu: int, free: int) -> int:
        """What is reserved and not given out, but for pieces of blocks that are in use in part; and what is free, up to
        the limit that was set."""
        cuda = self._torch.cuda
        stats = cuda.memory_stats_as_nested_dict(gpu)
        reserved, allocated, pieces = (
            _current(stats, f"{name}_bytes") for name in ("reserved", "allocated", "inactive_split")
        )
        fraction = getattr(cuda, "get_per_process_memory_fraction", lambda gpu: 1.0)(gpu)
        if fraction < 1:
            limit = int(fraction * cuda.mem_get_info(gpu)[1])
            free = min(free, max(0, limit - reserved))
        return max(0, reserved - allocated - pieces) + free

    def give_up(self, gpu: int) -> None:
        self._torch.cuda.empty_cache()


def _current(stats: dict[str, Any], name: str) -> int:
    """Of PyTorch's statistics; allocators that PyTorch only wraps have not all of them."""
    return int(stats.get(name, {}).get("all", {}).get("current", 0))


class _CuPy:
    """The allocator that is CuPy's at the time of each call."""

    def __init__(self) -> None:
        try:
            import cupy  # type: ignore[import-not-found, unused-ignore]
        except ImportError as e:
            raise ImportError(
                "gpu_allocator('cupy') needs CuPy: pip install cupy-cuda12x, or cupy-cuda13x for CUDA 13"
            ) from e
        self._version, self._cuda = cupy.__version__, cupy.cuda
        self._streams: dict[tuple[int, int], Any] = {}

    def begin(self) -> None:
        if not self._cuda.is_available():
            raise _core.PlacementError(
                f"CuPy {self._version} uses no GPU here (cupy.cuda.is_available() is False): install the one for "
                "this driver's CUDA, or leave gpu_allocator('cuda')"
            )

    def allocate(self, size: int, gpu: int, stream: int) -> tuple[int, Any]:
        # CuPy's pools hand a block out again on the stream that it was allocated for.
        ordered = self._streams.get((gpu, stream))
        if ordered is None:
            if len(self._streams) >= _STREAMS:
                self._streams.clear()
            ordered = self._streams[gpu, stream] = self._cuda.ExternalStream(stream, gpu)
        with ordered:
            memory = self._cuda.alloc(size)
        return memory.ptr, memory

    def free(self, memory: Any) -> None:
        """The block is kept by its object, which the core lets go now."""

    def room(self, gpu: int, free: int) -> int:
        """What the pool holds and has not given out, and what is free, up to the pool's limit. Of an allocator that is
        no pool nothing is known but what is free."""
        pool = getattr(self._cuda.get_allocator(), "__self__", None)
        if not hasattr(pool, "free_bytes"):
            return free
        with self._cuda.Device(gpu):
            limit = pool.get_limit() if hasattr(pool, "get_limit") else 0
            if limit > 0:
                free = min(free, max(0, limit - pool.total_bytes()))
            return int(pool.free_bytes()) + free

    def give_up(self, gpu: int) -> None:
        pool = getattr(self._cuda.get_allocator(), "__self__", None)
        if hasattr(pool, "free_all_blocks"):
            with self._cuda.Device(gpu):
                pool.free_all_blocks()


_LIBRARIES: dict[str, Any] = {"torch": _Torch, "cupy": _CuPy}
_made: dict[str, Any] = {}  # one of each: the core keeps them for ever


class GpuAllocator:
    """What `gpu_allocator` returns: the choice by its `name`, "cuda", "torch" or "cupy". At the end of a `with` block
    that it heads, the choice before it holds again."""

    def __init__(self, name: str, before: tuple[str, Any]) -> None:
        self.name = name
        self._before = before

    def __enter__(self) -> GpuAllocator:
        return self

    def __exit__(self, *_: object) -> None:
        _core.set_gpu_allocator(*self._before)

    def __repr__(self) -> str:
        return f"gpu_allocator({self.name!r})"


def gpu_allocator(library: str | None = None) -> GpuAllocator:
    """Chooses who allocates memory of GPUs, from now on, or says who does.

    Parameters
    ----------
    library : "cuda", "torch" or "cupy", optional
        "cuda", the choice at the start: CUDA itself, and a pool of this package for what kernels need while they run.
        "torch": PyTorch's caching allocator, that of its tensors. "cupy": what `cupy.cuda.get_allocator()` is at each
        allocation, by default its memory pool. Without it the choice stays.

    Returns
    -------
    GpuAllocator with the `name` of the choice. As the head of a `with` block it ends with the block.

    The choice holds for the process: for all threads, for matrices, plans, results and scratch memory. A block goes
    back to whoever it came from, also after another choice. With "torch" and "cupy", what their pools keep and have not
    given out counts as free memory where products are planned. In any case these come from CUDA itself: memory that
    several GPUs or processes share, pinned and managed memory, and what a kernel needs while its stream is captured
    into a CUDA graph.

    Raises
    ------
    ValueError
        For another name.
    ImportError
        Where the library is not installed.
    NotCompiledError, PlacementError
        Where no GPU can be used, by this package or by the library.

    >>> import penstock as ps
    >>> ps.gpu_allocator()
    gpu_allocator('cuda')
    >>> with ps.gpu_allocator("torch"):  # doctest: +SKIP
    ...     G = A.to(ps.device(0))
    """
    before = _core.gpu_allocator()
    state = before, _made.get(before)
    if library is None:
        return GpuAllocator(before, state)
    one_of("gpu_allocator", library, _LIBRARIES, "cuda")
    if library == "cuda":
        _core.set_gpu_allocator("cuda", None)
        return GpuAllocator(library, state)
    made = _made.get(library)
    if made is None:
        made = _LIBRARIES[library]()
    if _core.device_count() == 0:
        error = _core.PlacementError if _core.config()["cuda"] else _core.NotCompiledError
        raise error(f"gpu_allocator({library!r}): {no_gpu()}")
    made.begin()
    _made[library] = made
    _core.set_gpu_allocator(library, made)
    return GpuAllocator(library, state)
