"""A rank's part of a distributed matrix on a GPU."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._choices import GPU_HALOS, SEMIRINGS
from penstock._plan.place import Place, as_place, host
from penstock._plan.place import device as device_place
from penstock._plan.schedules import InCore, Streamed, as_schedule, ordinal
from penstock._product.device_vectors import _contiguous, _dtype, _empty_like, _hand_over, exported
from penstock._product.operands import as_number, on_gpu, product_type
from penstock.dist._agree import agreed, any_rank
from penstock.linalg._checks import vector
from penstock.linalg._info import make_info

if TYPE_CHECKING:
    from penstock.dist._matrix import csr_array
    from penstock.linalg._info import SolveInfo

__all__ = ["GpuPart", "OnDevice", "gpu_halo_names"]

_LIBRARIES = {
    "nccl": ("nccl/lib", "libnccl.so.2"),
    "nvshmem": ("nvshmem/lib", "libnvshmem_host.so.3"),
}


def gpu_halo_names() -> tuple[str, ...]:
    """How entries of x can travel between GPUs: what `ps.dist.csr_array(..., device=, halo=)` takes besides "auto".

    Through host memory, as in Cardellini, Fanfarillo and Filippone (2014): "sync" (the whole vector), "gather" (a
    kernel packs, the indices are copied each time), "pinned" (indices and buffers in pinned memory), "index_standard"
    (indices on the GPU), "index_pinned" (and the kernel writes to pinned memory). By an MPI that knows of GPUs:
    "device" (packed), "device_indexed" (a derived type); PENSTOCK_GPU_AWARE=1 insists. From GPU to GPU: "peer" (the
    neighbour's memory is read in place; between processes of one machine as peer_packed), "peer_packed", "nccl",
    "nvshmem" (processes only).

    >>> import penstock as ps
    >>> "peer" in ps.dist.gpu_halo_names()
    True
    """
    return tuple(GPU_HALOS)


def _offer(name: str) -> None:
    """Tells the core where pip put a library; the loader's own path is tried where pip has none."""
    folder, file = _LIBRARIES[name]
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return
    for root in (spec.submodule_search_locations or []) if spec else []:
        library = Path(root) / folder / file
        if library.is_file():
            _core.offer_library(name, str(library))
            return


NO_DEVICE = -2  # what the core calls tiles in host memory; -1 is the CPU as a device


def tile_device(device: Any, transport: str, rank: int, size: int) -> int:
    """What the core calls the memory of this rank's tiles: a GPU's number, -1 or NO_DEVICE; checks `transport`."""
    if device is None:
        known, where = ("auto", "local", "mpi_rma"), "for tiles in host memory"
    else:
        known, where = ("auto", "peer", "nvshmem"), f"for tiles on device={device!r}"
    if transport not in known:
        raise ValueError(
            f"transport={transport!r} is not one of {', '.join(known)}, which there are {where}"
        )
    if isinstance(device, (list, tuple)):
        if len(device) != size:
            raise ValueError(f"device={device!r}: one for each of the {size} ranks is needed")
        device = device[rank]
        if device is None:
            raise ValueError("device: all ranks have tiles on a device, or none: a part is None")
    if device is None:
        return NO_DEVICE
    if device == "cpu":
        return -1
    place = as_place(device) if isinstance(device, (str, Place)) else device_place(device)
    if place.memory == "host":
        return -1
    if place.memory != "device":
        raise ValueError(f"device={device!r}: the number of a GPU, ps.device(n), or 'cpu'")
    if not _core.config()["cuda"]:
        raise _core.NotCompiledError(
            f"device={device!r}: this build has no CUDA; device='cpu' computes as on a device, without one"
        )
    if place.ordinal >= _core.device_count():
        raise _core.PlacementError(f"device={device!r}: {_core.why_no_gpu(place.ordinal)}")
    if transport != "peer":
        _offer("nvshmem")
    return place.ordinal


@dataclass(frozen=True)
class OnDevice:
    """What csr_array's arguments say of a GPU."""

    gpu: int
    halo: str
    streamed: bool

    @classmethod
    def of(cls, device: Any, halo: str, schedule: Any) -> OnDevice:
        gpu = ordinal("dist.csr_array", device)
        if halo != "auto" and halo not in gpu_halo_names():
            raise ValueError(
                f"halo={halo!r} is none of auto, {', '.join(gpu_halo_names())}, which are those for a device"
            )
        how = InCore() if schedule is None else as_schedule(schedule)
        if not isinstance(how, (InCore, Streamed)):
            raise ValueError(
                f"schedule={schedule!r}: with a device the local block is in core or streamed"
            )
        if how != type(how)():
            raise ValueError(
                f"schedule={how!r}: with a device the local block is in core or streamed, and nothing else is "
                f"chosen: give ps.{type(how).__name__}()"
            )
        return cls(gpu, halo, isinstance(how, Streamed))


class GpuPart:
    """Products and solvers of `matrix`, computed by this rank's GPU."""

    def __init__(self, matrix: csr_array, options: OnDevice) -> None:
        if options.halo in _LIBRARIES:
            _offer(options.halo)
        self._matrix, self._options = matrix, options
        self._core = _core.dist_on_gpu(matrix._core, options.gpu, options.halo, options.streamed, 0)
        # A block that is streamed takes one vector: the other products are then the CPU's, on all ranks.
        self.in_core = not any_rank(matrix.comm, options.streamed)[0]

    @property
    def device(self) -> Any:
        return device_place(self._options.gpu) if self._options.gpu >= 0 else host

    def times(self) -> dict[str, Any]:
        return {"strategy": self._core.halo or self._options.halo, **self._core.times()}

    def clear_times(self) -> None:
        self._core.clear_times()

    def _sized(self, v: Any, name: str, size: int, columns: tuple[int, ...] = ()) -> Any:
        """An array of `size` entries, or rows of them: one on a GPU as it is, all else as NumPy's."""
        v = v if on_gpu(v) else np.asarray(v)
        if tuple(v.shape) != (size, *columns):
            beside = f" and x {columns[0]} columns" if columns else ""
            raise ValueError(
                f"{name} has shape {tuple(v.shape)}, this rank owns {size} entries{beside}"
            )
        return v

    def _ready(
        self, v: Any, name: str, size: int, dtype: np.dtype, columns: tuple[int, ...] = ()
    ) -> Any:
        """An array that the core takes: one on a GPU as it is, handed over, all else converted."""
        if not on_gpu(v):
            return self._sized(np.ascontiguousarray(v, dtype=dtype), name, size, columns)
        if _dtype(v) != dtype:
            raise TypeError(
                f"{name} is {v.dtype}: {dtype} is needed, and nothing is converted on a GPU"
            )
        v = self._sized(v, name, size, columns)
        if not _contiguous(v):
            raise ValueError(f"{name} must be C-contiguous")
        _hand_over(v)
        return v

    def dot(
        self, x: Any, out: Any, semiring: str, alpha: Any, beta: Any, transposed: bool = False
    ) -> Any:
        """Of one vector, or of several on a GPU: those of NumPy come by `multiply`."""
        rows, cols = self._matrix.local_shape[:: -1 if transposed else 1]
        columns = tuple(x.shape[1:]) if on_gpu(x) and len(x.shape) == 2 else ()
        x = self._sized(x, "x", cols, columns)
        dtype = product_type(self._matrix.dtype, _dtype(x), semiring)
        x = self._ready(x, "x", cols, dtype, columns)
        boolean = SEMIRINGS[semiring].boolean
        if out is None:
            if beta is not None:
                raise ValueError("beta is given without out: there is nothing to add to")
            out = _empty_like(x, (rows, *columns)) if on_gpu(x) else np.empty(rows, dtype)
        elif isinstance(out, np.ndarray):
            if boolean and out.dtype == np.bool_:
                out = out.view(np.uint8)
            if out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
                raise ValueError(f"out must be {dtype}, C-contiguous and writable")
        out = self._ready(out, "out", rows, dtype, columns)
        alpha, beta = (
            as_number(v, dtype, boolean, n) for v, n in ((alpha, "alpha"), (beta, "beta"))
        )
        xs, ys = (
            v.view(np.uint8) if boolean and isinstance(v, np.ndarray) else v.reshape(-1)
            for v in (x, out)
        )
        self.multiply(xs, ys, semiring, alpha, beta, *(columns or (1,)), transposed=transposed)
        return out.view(np.bool_) if boolean and isinstance(out, np.ndarray) else out

    def multiply(
        self,
        x: Any,
        y: Any,
        semiring: str,
        alpha: Any,
        beta: Any,
        columns: int = 1,
        transposed: bool = False,
    ) -> None:
        """x and y: contiguous and one-dimensional (row-major where there are columns), of y's type. Collective."""
        if columns:
            _core.dist_gpu_product(
                self._core,
                exported(x),
                exported(y),
                semiring,
                alpha,
                beta,
                columns=columns,
                transposed=transposed,
            )

    def _vector(self, v: Any, name: str, dtype: np.dtype) -> Any:
        """A right-hand side or a guess: on a GPU as it is, all else as the solvers of host vectors take it."""
        rows = self._matrix.local_shape[0]
        return (
            self._ready(v, name, rows, dtype) if on_gpu(v) else vector(v, rows, dtype, name, False)
        )

    def vectors(self, b: Any, x0: Any, dtype: np.dtype) -> tuple[Any, Any, bool]:
        """b, x beside it, and whether some rank has a guess. Collective."""
        comm, rows = self._matrix.comm, self._matrix.local_shape[0]
        guess = any_rank(comm, x0 is not None)[0]

        def make() -> tuple[Any, Any]:
            rhs = self._vector(b, "b", dtype)
            x = _empty_like(rhs, rows) if on_gpu(rhs) else np.zeros(rows, dtype)
            if x0 is not None:
                x[:] = self._vector(x0, "x0", dtype)
            elif guess:
                x[:] = 0
            return rhs, x

        rhs, x = agreed(comm, make)
        if on_gpu(x):
            _hand_over(x)
        return rhs, x, bool(guess)

    def solve(self, method: str, b: Any, x: Any, M: Any, settings: dict[str, Any]) -> SolveInfo:
        """x, the guess, becomes the result; vectors stay from one iteration to the next on the GPU. `M`: None, or what
        a preconditioner of `penstock.dist.linalg` says of itself."""
        result = _core.dist_gpu_solve(self._core, method, exported(b), exported(x), M, settings)
        info = make_info(result, self)
        info.vectors = f"gpu {self._options.gpu}" if self._options.gpu >= 0 else "cpu"
        return info

    @property
    def matrix_bytes(self) -> int:
        return self._matrix.nbytes
