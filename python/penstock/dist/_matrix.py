"""A sparse matrix that is shared out among ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array
from penstock._plan.report import human_bytes
from penstock._plan.schedules import as_schedule
from penstock._product.dense import run
from penstock._product.operands import as_dense, on_gpu
from penstock.dist._agree import about
from penstock.dist._gpu import GpuPart, OnDevice
from penstock.dist._load import Options, load
from penstock.partition import Metrics

__all__ = ["Transposed", "csr_array"]


class _Local:
    """What a product asks of its matrix, as this rank sees it."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype) -> None:
        self.shape, self.dtype = shape, dtype


class csr_array:
    """A matrix whose rows, entries and vectors are shared out among the ranks of `comm`. Every rank makes it, and calls
    its products, in the same order; vectors are NumPy arrays of what a rank owns.

    Parameters
    ----------
    source : the matrix, a path or a generator
        A csr_array (or SciPy's): the same one on all ranks, or on one rank and None on the others, which sends
        everyone their share. `ps.dist.Entries`: each rank's own entries, in any order, which add up. A path: of a
        native store each rank maps its rows alone; of a Matrix Market file of coordinates or an edge list, neither
        packed, each reads a part, twice, and sends entries to whom they belong; any other file is read by rank 0, which
        needs memory for all of it (`penstock convert FILE A.penstock` makes it a store), and so is every file with
        "label_propagation" or `scatter="masters"`. A generator,
        `functools.partial(ps.generate.rmat, 20, seed=1)` (also uniform, banded, laplacian, advection_diffusion): each
        rank makes its rows, and nobody holds the whole matrix; an R-MAT graph may have a scale of up to 60.
    comm : ps.dist.Comm
    partition : str, ps.partition.Partition or array of int
        "contiguous", "balanced" (rows in order), "grid", "bins", "label_propagation", a Partition, or one owner a
        row.
    halo : str
        How entries of x travel: "isend", "persistent", "neighborhood", "indexed", "put", "sync" (everything to
        everyone), or "auto": what takes least time on this very exchange, tried before the first product. The
        result is the same, bit for bit.
    schedule : optional
        Of the local product: `ps.InCore()`, `ps.Streamed(...)`.
    algorithm : str
        Of the local product in core, as in `A.prepare`.
    sums : str
        How sums of rows that several ranks share (grid, bins) reach their owner: "owners", straight to each;
        "reduce", by a reduction along each grid row (plus_times in float64); "gather", y ends up whole on rank 0.
        The last two are those of Page and Kogge (2018).
    device : the number of a GPU, `ps.device(n)`, or "cpu", optional
        Of this rank: its part of the matrix is copied to that GPU, which computes the products and the solvers of
        `ps.dist.linalg` (docs/distributed_solvers.md says with which M); arrays may be on it (DLPack) or NumPy's.
        `halo` is then one of `ps.dist.gpu_halo_names()` or "auto". `schedule=ps.Streamed()` keeps the local block in
        host memory and copies it up block by block, for `D @ x` of one vector; other products are then the CPU's.
        A schedule's own options (`codec=`, `block=` ...) are refused there. "cpu" is the CPU as a device. All ranks
        give a device, or none.
    scatter : str
        From one rank: "direct", or "masters", through the first rank of each column of a process grid, as in Page and
        Kogge (2018), for comparison: rank 0 then reads all of any file.

    Values are bool (a pattern), float32 or float64. A matrix with more than 2^31 - 1 rows or columns is `listed`: ranks
    hold those rows and columns that have entries, at most 2^31 - 2 each, and vectors have an entry for each of them. It
    is made of text files, R-MAT generators and Entries, with partition="contiguous" or "balanced"; products, `bfs` and
    `connected_components` take it. ValueError and TypeError for arguments and for text files that cannot be read, with
    the file and the line, on all ranks; CommError where another rank failed.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((8, 8))
    >>> def work(comm):
    ...     D = ps.dist.csr_array(A, comm)
    ...     y = D @ D.share(np.arange(64.0))
    ...     return D.collect(y)
    >>> y = ps.dist.run(work, 3)[0]
    >>> bool(np.allclose(y, A @ np.arange(64.0)))
    True
    """

    __array_ufunc__ = None
    ndim = 2
    format = "csr"

    def __init__(
        self,
        source: Any,
        comm: Any,
        partition: Any = "balanced",
        halo: str = "auto",
        schedule: Any = None,
        *,
        algorithm: str = "auto",
        sums: str = "owners",
        scatter: str = "direct",
        device: Any = None,
    ) -> None:
        on_gpu = None if device is None else OnDevice.of(device, halo, schedule)
        lowered = None if schedule is None or on_gpu else as_schedule(schedule)._lower()
        how = Options(partition, "auto" if on_gpu else halo, sums, algorithm, lowered, scatter)
        self._hold(load(source, comm, how))
        if on_gpu:
            self._gpu = GpuPart(self, on_gpu)

    _gpu: GpuPart | None = None  # where this rank's products are a GPU's

    def _hold(self, core: Any) -> None:
        self._core = core
        self._comm = core.comm
        self._shape, self._local_shape = core.shape, core.local_shape
        self._dtype = np.dtype(core.dtype)
        count = np.array([core.local_nnz], np.int64)
        self._comm.all_reduce(count)
        self._nnz = int(count[0])

    # What it is

    @property
    def comm(self) -> Any:
        """The ranks."""
        return self._comm

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole matrix."""
        return self._shape

    @property
    def local_shape(self) -> tuple[int, int]:
        """(entries of y, entries of x) that this rank owns."""
        return self._local_shape

    @property
    def dtype(self) -> np.dtype:
        return self._dtype

    @property
    def nnz(self) -> int:
        """Stored entries of the whole matrix."""
        return self._nnz

    @property
    def local_nnz(self) -> int:
        """Stored entries on this rank."""
        return self._core.local_nnz

    @property
    def nbytes(self) -> int:
        """Of this rank's two blocks."""
        return self._core.nbytes

    @property
    def listed(self) -> bool:
        """Whether ranks hold those rows and columns alone that have entries; in a square matrix those that have any in
        their row or column. All others are empty."""
        return self._core.listed

    @property
    def rows(self) -> np.ndarray:
        """int64: the numbers of the rows whose y is here, ascending."""
        return self._core.row_ids()

    @property
    def cols(self) -> np.ndarray:
        """int64: the numbers of the entries of x that are here, ascending."""
        return self._core.col_ids()

    @property
    def device(self) -> Any:
        """Where this rank computes: `ps.device(n)`, or None for the CPU."""
        return None if self._gpu is None else self._gpu.device

    @property
    def partition(self) -> str:
        """The name of its kind."""
        return self._core.partition

    @property
    def halo(self) -> dict[str, Any]:
        """`strategy` ("auto" until the first product has chosen), and the times of this rank's products since
        `clear_times()`: seconds in all, `local`, `halo`, `exchange` (packing, posting, waiting; `wait` of it), `setup`
        once; bytes and messages sent."""
        if self._gpu is not None:
            return self._gpu.times()
        return {"strategy": self._core.halo or self._core.asked[0], **self._core.times()}

    def clear_times(self) -> None:
        """Begins to count anew; local."""
        self._core.clear_times()
        if self._gpu is not None:
            self._gpu.clear_times()

    def __repr__(self) -> str:
        rows, cols = self.shape
        return (
            f"<{rows}x{cols} dist.csr_array, {self.dtype}, {self.nnz} stored values, {self.partition} among "
            f"{self.comm.size} ranks; rank {self.comm.rank} has {self.local_nnz}>"
        )

    # Products

    def __matmul__(self, x: Any) -> np.ndarray:
        return self.dot(x)

    @property
    def T(self) -> Transposed:
        """The transpose as a view: `D.T @ y`. Sums of ghosts travel back to their owners."""
        return Transposed(self)

    def dot(
        self,
        x: Any,
        out: np.ndarray | None = None,
        *,
        semiring: str = "plus_times",
        alpha: Any = None,
        beta: Any = None,
    ) -> np.ndarray:
        """alpha A x + beta out on this rank's rows. Collective.

        x : shape (local_shape[1],) or (local_shape[1], k). out : shape (local_shape[0], ...), of the result's type.
        semiring : "plus_times", "min_plus" or "or_and". Types as in `dot` of a whole matrix.
        """
        if self._gpu is not None and (getattr(x, "ndim", 1) == 1 or on_gpu(x)):
            return self._gpu.dot(x, out, semiring, alpha, beta)
        return self._product(x, out, semiring, alpha, beta, False)

    def _product(
        self, x: Any, out: Any, semiring: str, alpha: Any, beta: Any, transposed: bool
    ) -> np.ndarray:
        def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
            xs = np.ascontiguousarray(x)
            ys = y if y.flags.c_contiguous else np.ascontiguousarray(y)
            if gpu is not None:
                columns = xs.shape[1] if xs.ndim == 2 else 1
                flat = xs.reshape(-1), ys.reshape(-1)
                gpu.multiply(*flat, semiring, alpha, beta, columns, transposed)
            else:
                _core.dist_product(self._core, xs, ys, semiring, alpha, beta, transposed)
            if ys is not y:
                y[...] = ys
            if not traced:
                return None
            return {"schedule": "distributed", "kernel": self._core.schedule, **self.halo}

        gpu = self._gpu if self._gpu is not None and self._gpu.in_core else None
        x = as_dense(x)
        mine, name = (self.local_shape[0], "y") if transposed else (self.local_shape[1], "x")
        if x.ndim not in (1, 2) or x.shape[0] != mine:
            raise ValueError(
                f"x has shape {x.shape}, but rank {self.comm.rank} owns {mine} entries of {name}: "
                "share() a whole vector"
            )
        local = _Local(self.local_shape, self.dtype)
        return run(local, x, out, alpha, beta, semiring, transposed, call)  # type: ignore[arg-type]

    def prepare(self, algorithm: str = "auto") -> str:
        """Builds this rank's plan for its local block, as `A.prepare` does; the name of what will be used. Local."""
        return self._core.prepare(algorithm)

    # Vectors

    def _owned(self, of: str) -> tuple[int, Any]:
        if of not in ("x", "y"):
            raise ValueError(f'of={of!r}: a vector of "x" (columns) or of "y" (rows)')
        return (
            (self.shape[1], self._core.col_ids)
            if of == "x"
            else (self.shape[0], self._core.row_ids)
        )

    def share(self, v: Any, root: int | None = None, *, of: str = "x") -> np.ndarray:
        """This rank's part of a whole vector, shape (n,) or (n, k): of x, n columns, or of y, n rows.

        `root` sends the parts of its vector to everyone (others give None; collective). Without it every rank has the
        vector, and nothing is sent.
        """
        size, ids = self._owned(of)
        if root is not None:
            self._require_all_numbers("share(root=)")
        if root is not None and self.comm.rank != root:
            with about(self.comm, "share", root=root, of=of):
                return self.comm.scatter(None, root)
        v = as_array(v)
        if v.ndim not in (1, 2) or v.shape[0] != size:
            raise ValueError(f"a vector of {of} has {size} entries, this one has shape {v.shape}")
        if root is None:
            return v[ids()]
        counts = self.counts(of)
        with about(self.comm, "share", root=root, of=of):
            return self.comm.scatter(np.split(v[ids(True)], np.cumsum(counts)[:-1]), root)

    def collect(
        self, v: np.ndarray, root: int | None = None, *, of: str = "y"
    ) -> np.ndarray | None:
        """The whole vector from every rank's part: of y, or of x. On all ranks, or on `root` alone (None elsewhere), by
        one variable gather and an insertion. Collective."""
        size, ids = self._owned(of)
        self._require_all_numbers("collect")
        v = np.asarray(v)
        mine = self.local_shape[1] if of == "x" else self.local_shape[0]
        if v.ndim not in (1, 2) or v.shape[0] != mine:
            raise ValueError(f"this rank has {mine} entries of {of}, the part has shape {v.shape}")
        with about(self.comm, "collect", root=root, of=of, columns=v.shape[1:]):
            parts = self.comm.gather(v, root)
        if parts is None:
            return None
        whole = np.empty((size, *v.shape[1:]), v.dtype)
        whole[ids(True)] = np.concatenate(parts)
        return whole

    def _require_all_numbers(self, what: str) -> None:
        if self.listed:
            raise ValueError(
                f"{what}: ranks hold only those of {self.shape[0]} rows and {self.shape[1]} columns that have entries: "
                "gather parts of vectors with their numbers, as comm.gather(D.rows) and comm.gather(y)"
            )

    def counts(self, of: str = "y") -> np.ndarray:
        """int64, one a rank: entries of y (or of x) that it owns."""
        self._owned(of)
        return self._core.counts(of == "x")

    # What it costs

    def metrics(self) -> Metrics:
        """Entries, rows, halo and traffic of all ranks, the same as `Partition.metrics`; `bytes` are those of the two
        blocks and the vectors as they are held. Collective."""
        plan, sums = self._core.plan, self._core.sums_plan
        rows, cols = self.local_shape
        ghosts, foreign = int(plan["receive_offsets"][-1]), int(sums["receive_offsets"][-1])
        size = self.dtype.itemsize if self.dtype != np.bool_ else 8
        memory = self.nbytes + (rows + cols + ghosts + foreign) * size
        mine = np.array(
            [self.local_nnz, rows, ghosts, memory, foreign, *self._core.passes], np.int64
        )
        nnz, rows_all, halo, memory_all, partial, held, ghost_rows, most, uneven = (
            self.comm.all_gather(mine).T.copy()
        )
        pairs: dict[tuple[int, int], tuple[int, int]] = {}  # of x and of sums
        messages = 0
        for p, ranks, offsets in ((plan, "receive", 1), (sums, "receive", -1)):
            counts = np.diff(p[f"{ranks}_offsets"])
            messages += counts.size
            for other, n in zip(p[f"{ranks}_ranks"].tolist(), counts.tolist(), strict=True):
                pair = (other, self.comm.rank) if offsets == 1 else (self.comm.rank, other)
                x, partial_sums = pairs.get(pair, (0, 0))
                pairs[pair] = (x + n, partial_sums) if offsets == 1 else (x, partial_sums + n)
        total: dict[tuple[int, int], tuple[int, int]] = {}
        found = self.comm.collect((pairs, messages))
        for some, _ in found:
            for pair, (x, n) in some.items():
                before = total.get(pair, (0, 0))
                total[pair] = (before[0] + x, before[1] + n)
        both = sorted(
            ((f, t, x + n, n) for (f, t), (x, n) in total.items()), key=lambda e: e[1::-1]
        )
        exchange = np.array(both, np.int64).reshape(-1, 4)
        mean = self.nnz / self.comm.size
        return Metrics(
            mad=float(np.abs(nnz - mean).sum() / self.comm.size / self.nnz) if self.nnz else 0.0,
            imbalance=float(nnz.max() / mean) if self.nnz else 1.0,
            halo_volume=int(halo.sum()),
            partial_volume=int(partial.sum()),
            messages=sum(m for _, m in found),
            nnz=nnz,
            rows=rows_all,
            halo=halo,
            bytes=memory_all,
            exchange=exchange[:, :3],
            sums=exchange[:, 3],
            held=held,
            ghost_rows=ghost_rows,
            ghosts_most=most,
            uneven=uneven,
        )

    def explain(self) -> str:
        """What this rank holds, sends and computes, in a few lines. Local."""
        plan, sums = self._core.plan, self._core.sums_plan
        halo = self.halo
        size = self.dtype.itemsize if self.dtype != np.bool_ else 8
        sent, got = (int(plan[f"{w}_offsets"][-1]) for w in ("send", "receive"))
        lines = [
            f"{self!r}"[1:-1],
            f"local block: {self.local_nnz - self._core.halo_nnz} entries; halo block: {self._core.halo_nnz}; "
            f"{human_bytes(self.nbytes)}",
            f"halo by {halo['strategy']}: {sent} entries ({human_bytes(sent * size)}) to {plan['send_ranks'].size} "
            f"ranks, {got} from {plan['receive_ranks'].size}",
        ]
        if sums["send_ranks"].size or sums["receive_ranks"].size:
            to, come = (int(sums[f"{w}_offsets"][-1]) for w in ("receive", "send"))
            lines.append(
                f"sums by {self._core.asked[1]}: {to} to {sums['receive_ranks'].size} ranks, {come} from "
                f"{sums['send_ranks'].size}"
            )
        lines.append(f"local product: {self._core.schedule}, {self._core.algorithm}")
        if halo["products"]:
            per = 1e3 / halo["products"]
            times = ", ".join(
                f"{name} {halo[name] * per:.3g}" for name in ("local", "halo", "exchange", "wait")
            )
            lines.append(
                f"{halo['products']} products, each {halo['seconds'] * per:.3g} ms: {times} (in exchange)"
            )
        return "\n".join(lines)


class Transposed:
    """The transpose of a distributed matrix: its products, and nothing stored."""

    __array_ufunc__ = None

    def __init__(self, a: csr_array) -> None:
        self._a = a
        self.shape, self.local_shape = a.shape[::-1], a.local_shape[::-1]

    @property
    def T(self) -> csr_array:
        return self._a

    def __matmul__(self, x: Any) -> np.ndarray:
        return self.dot(x)

    def dot(
        self,
        x: Any,
        out: np.ndarray | None = None,
        *,
        semiring: str = "plus_times",
        alpha: Any = None,
        beta: Any = None,
    ) -> np.ndarray:
        """alpha A^T x + beta out: x has the rows that this rank owns, the result its columns. Collective."""
        gpu = self._a._gpu
        if gpu is not None and on_gpu(x):
            return gpu.dot(x, out, semiring, alpha, beta, True)
        return self._a._product(x, out, semiring, alpha, beta, True)

    def __repr__(self) -> str:
        return f"<transpose of {self._a!r}>"
