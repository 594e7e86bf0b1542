"""A matrix cut into tiles, each on one rank and within reach of all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._choices import TILE_CUTS, one_of
from penstock._io import store
from penstock._matrix.changing import of_now
from penstock._matrix.csr import csr_array as whole_array
from penstock._matrix.given import as_matrix
from penstock._plan.place import device as device_place
from penstock._plan.place import host
from penstock._product.operands import is_sparse
from penstock.dist._agree import agreed
from penstock.dist._gpu import NO_DEVICE, tile_device
from penstock.dist._load import _kind
from penstock.dist._matrix import csr_array
from penstock.dist._tile_cuts.choice import Cut
from penstock.dist._tile_cuts.sources import (
    cut_by_work,
    dense_matrix,
    places,
    require_sizes,
    size_of,
    sizes_like,
    ways,
)
from penstock.dist._tile_grid import even_grid, imbalance

__all__ = ["tiled_array"]

_ALIKE = ("tile_rows", "tile_cols", "grid", "transport", "cuts", "whether there is a device")
_UNEVEN = 1.5  # most over mean entries of a rank, from which on explain() says so


@dataclass
class Auto:
    """What `stationary="auto"` remembers of a left factor."""

    waited: float = 0.0  # seconds on the network so far, as predicted; on rank 0
    lost: set[int] = field(
        default_factory=set
    )  # columns of B with which a vertex cover was not faster
    prices: dict[Any, float] = field(default_factory=dict)  # of a byte, by what B is; on all ranks


class tiled_array:
    """A sparse or dense matrix in tiles, dealt over a grid of ranks: tile (i, j) belongs to rank
    (i % grid[0]) * grid[1] + j % grid[1]. Every rank knows where all tiles are and fetches them without their owner.

    Parameters
    ----------
    source : the matrix, a path or a generator
        Sparse: a csr_array (or SciPy's), the same on all ranks, or on one and None on the others; a
        `ps.dist.csr_array`; a path (of a native store each rank reads what its tiles hold);
        `functools.partial(ps.generate.rmat, 20)`, of which each rank makes some rows. Values bool (a pattern), float32
        or float64. Dense: a NumPy array, the same on all ranks, float32, float64, or bool and uint8 for or_and.
    comm : ps.dist.Comm, optional
        Not needed with a `ps.dist.csr_array`.
    tile_rows, tile_cols : int or sequence of int, optional
        Of a tile, or of each; by default there are lcm(grid[0], grid[1]) tiles each way: all ranks have equally many,
        and any two matrices on one grid fit together. Columns of a dense matrix are cut into grid[1] only. Smaller ones
        balance better and travel worse.
    grid : (int, int) or "auto", optional
        Of ranks; by default the most square one, no wider than high. "auto" looks where the entries are, of a matrix
        that all ranks have or a native store: the most square one of those that spread them evenly, which near the
        diagonal is one of rows alone.
    cuts : str
        "area": equal tiles. "nonzeros": as many tiles, cut so that ranks have equally many entries, in their tiles and
        in their rows of tiles: the work of products with a dense matrix. "flops": so that ranks have equally many
        products of entries of A @ A with C stationary; for a square A. "auto": "flops" where the most loaded rank would
        have more than twice the mean flops of A @ A with equal tiles and much less so, and else "nonzeros" where the
        model finds a product with 64 columns faster; otherwise equal tiles. A square matrix is cut alike both ways, and
        no tile has more than twice the rows of an equal one. What it is multiplied with is cut by `like`. Entries are
        counted first, by all ranks.
    like : tiled_array, optional
        What this one is multiplied with, from the right: its grid, ranks, device and transport, and tile_rows that fit
        its columns, where these are not given. Where these are not equal, columns of a square matrix are cut so, too.
    device : int, sequence of int, "cpu", optional
        The GPU (a number or `ps.device(n)`) that holds this rank's tiles and multiplies them; a sequence has that of
        each rank, and ranks may share one. "cpu": the CPU in the place of a GPU, for tests. All ranks give one, or
        none. What is fetched by `get_tile` and `collect` is in host memory.
    transport : str
        "local" (ranks are threads) or "mpi_rma"; with a device "peer" (GPUs that reach one another's memory) or
        "nvshmem" (processes, a GPU each). "auto" is what there is.

    Collective. ValueError and TypeError for arguments; MemoryError; NotCompiledError without CUDA, PlacementError for a
    GPU that is not there or out of reach; CommError where another rank failed.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((8, 8))
    >>> def work(comm):
    ...     T = ps.dist.tiled_array(A, comm)
    ...     return ps.dist.matmul(T, ps.dist.tiled_array(np.ones((64, 3)), comm)).collect()
    >>> bool(np.allclose(ps.dist.run(work, 4)[0], A @ np.ones((64, 3))))
    True
    """

    __array_ufunc__ = None
    ndim = 2

    def __init__(
        self,
        source: Any,
        comm: Any = None,
        tile_rows: int | None = None,
        tile_cols: int | None = None,
        grid: tuple[int, int] | str | None = None,
        *,
        device: Any = None,
        transport: str = "auto",
        like: tiled_array | None = None,
        cuts: str = "area",
    ) -> None:
        source = of_now(source)
        square_too = False  # columns of a square matrix are cut as its rows
        if like is not None:
            if not isinstance(like, tiled_array):
                raise TypeError(f"like: another tiled_array, not {type(like).__name__}")
            comm = like.comm if comm is None else comm
            given, tile_rows = tile_rows, sizes_like(like, tile_rows)
            square_too = given is None and tile_cols is None and cuts == "area"
            grid = like.grid if grid is None else grid
            if device is None:
                device = _same_device(like)
            transport = like.transport if transport == "auto" else transport
        if comm is None:
            if not isinstance(source, csr_array):
                raise TypeError(
                    "comm: the ranks are needed, ps.dist.world() or those of ps.dist.run"
                )
            comm = source.comm
        kind, mine, how = agreed(
            comm,
            lambda: _asked(source, comm, (tile_rows, tile_cols), grid, transport, cuts, device),
        )
        *how, gpu = how
        facts = comm.collect((kind, mine, (*how, gpu != NO_DEVICE)))
        for rank, (*_, other) in enumerate(facts):
            for name, theirs, first in zip(_ALIKE, other, facts[0][2], strict=True):
                if theirs != first:
                    raise ValueError(
                        f"ps.dist.tiled_array: ranks disagree on {name}: rank 0 gives {first or None}, "
                        f"rank {rank} gives {theirs or None}: all ranks must give the same"
                    )
        how.append(gpu)
        if len({f[:2] for f in facts}) != 1 and {f[0] for f in facts} != {"matrix", "nothing"}:
            raise ValueError(f"the ranks were given different matrices: {[f[:2] for f in facts]}")
        if how[2] == "auto":  # one rank looks at all entries for all
            looks = comm.rank == 0
            even = agreed(comm, lambda: _even(source, kind, comm.size) if looks else None)
            how[2] = comm.share(even, 0)
        one_matrix = {f[0] for f in facts} == {"matrix"}
        way = ways(source, "matrices" if one_matrix else kind, comm)
        down, across, grid, transport, cuts, gpu = how
        if square_too and kind != "dense" and isinstance(down, tuple):
            across = down if way.shape == (sum(down), sum(down)) else across
        require_sizes(way.shape, down, across)
        self._cut: Cut | None = None
        sides = [], []
        if cuts != "area":
            self._cut = cut_by_work(way, comm, cuts, (down, across), grid)
        if self._cut is not None:
            sides = self._cut.rows.tolist(), self._cut.cols.tolist()
        elif any(isinstance(s, tuple) for s in (down, across)):
            sides = tuple(places(s) for s in (down, across))
        down, across = (0 if isinstance(s, tuple) else s for s in (down, across))
        self._core = way.make(*way.held, down, across, grid, transport, gpu, sides)
        self._plan: Any = None
        self._times: dict[str, Any] | None = None
        self._auto = Auto()

    @classmethod
    def _of(cls, core: Any, plan: Any, times: dict[str, Any]) -> Any:
        made = cls.__new__(cls)
        made._cut = None
        made._core, made._plan, made._times, made._auto = core, plan, times, Auto()
        return made

    @property
    def comm(self) -> Any:
        """The ranks."""
        return self._core.comm

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole matrix."""
        return self._core.map.shape

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Of the largest tile; those of the last row and column may be smaller, and others where cuts are not equal."""
        return self._core.map.tile_shape

    @property
    def tile_sizes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Rows of the tiles (i, .) for each i, and columns of the tiles (., j) for each j: what tile_rows and tile_cols
        take."""
        m = self._core.map
        return tuple(tuple(np.diff(c).tolist()) for c in (m.row_cuts, m.col_cuts))  # type: ignore[return-value]

    @property
    def tiles(self) -> tuple[int, int]:
        """How many there are: down, across."""
        return self._core.map.tiles

    @property
    def grid(self) -> tuple[int, int]:
        """Of ranks."""
        return self._core.map.grid

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self._core.map.dtype)

    @property
    def sparse(self) -> bool:
        return self._core.map.sparse

    @property
    def nnz(self) -> int:
        """Stored entries of the whole matrix; dense: all."""
        return int(self._core.map.nnz.sum())

    @property
    def tile_nnz(self) -> np.ndarray:
        """int64, shape `tiles`: stored entries of each tile, known to all ranks."""
        return self._core.map.nnz.reshape(self.tiles)

    @property
    def transport(self) -> str:
        """What carries the tiles: "local" or "mpi_rma", on devices "peer" or "nvshmem"."""
        return self._core.transport

    @property
    def device(self) -> Any:
        """Where this rank's tiles are and are multiplied: `ps.device(n)`, `ps.host` (the CPU as a device) or None."""
        gpu = self._core.device
        return None if gpu == NO_DEVICE else host if gpu < 0 else device_place(gpu)

    @property
    def times(self) -> dict[str, Any]:
        """Of the product that made it, on this rank. Seconds: `seconds` in all, `prepare`, `compute`, `communication`
        (gets started and waited for; SUMMA: broadcasts), `accumulation` (sums sent, taken in, put in place),
        `imbalance` (waiting for others at the end). Products, or parts of them where some can be stolen: `own`,
        `stolen`. Bytes: `fetched_bytes`, `sent_bytes`,
        `received_bytes`; of these, `far_fetched_bytes` and `far_sent_bytes` crossed between nodes, where the product
        knew of nodes; `counted_bytes` (row offsets and rows' numbers, fetched to count before any product; not among
        `fetched_bytes`). `flops`: what this rank did. Names: `algorithm`, `steal`; of SUMMA `broadcasts`: "nccl", or
        "pinned" where ranks share a GPU (through pinned host memory), else what the Comm is."""
        if self._times is None:
            raise ValueError("these tiles are not the result of ps.dist.matmul: there are no times")
        return self._times

    def plan(self) -> Any:
        """The products of tiles that made it, of all ranks, as planned: `print(C.plan())`; `.products` has arrays i, k,
        j, owner, fetched and sent bytes, flops, parts (that can be stolen one by one); `.loads` has sums for each rank.
        Stealing changes who did them."""
        if self._plan is None:
            raise ValueError("these tiles are not the result of ps.dist.matmul: there is no plan")
        return self._plan

    def owner(self, i: int, j: int) -> int:
        """The rank of tile (i, j)."""
        self._require_tile(i, j)
        return self._core.map.owner(i, j)

    def get_tile(self, i: int, j: int, rows: tuple[int, int] | None = None) -> Any:
        """Tile (i, j), fetched here: a csr_array or a NumPy array, a copy. `rows`: first and end of the rows that are
        wanted of a dense tile; nothing else travels. Not collective. ValueError for what there is not."""
        self._require_tile(i, j)
        if rows is None:
            return self._matrix(self._core.tile(i, j))
        return self._core.rows_of_tile(i, j, *rows)

    def replace_tile(self, i: int, j: int, tile: np.ndarray) -> None:
        """Overwrites a dense tile, a NumPy array, on whichever rank it is. Not collective: `barrier()` before others
        read it."""
        self._require_tile(i, j)
        self._core.replace_tile(i, j, dense_matrix(tile))

    def renew_tiles(self, new: dict[tuple[int, int], Any]) -> None:
        """Other entries for some of this rank's tiles of a sparse matrix, {(i, j): csr_array of the tile's shape and
        the matrix's dtype}; the others stay. Collective: ranks without new tiles give {}."""
        self._core.renew_tiles(agreed(self.comm, lambda: self._numbered(new)))
        self._auto = Auto()

    def _numbered(self, new: Any) -> list[tuple[int, Any]]:
        """The tiles that renew_tiles is given, by their numbers."""
        if not isinstance(new, Mapping):
            raise TypeError(f"renew_tiles takes a dict {{(i, j): tile}}, not {type(new).__name__}")
        cores = []
        for at, tile in new.items():
            if not (isinstance(at, tuple) and len(at) == 2):
                raise TypeError(
                    f"renew_tiles takes a dict {{(i, j): tile}}, and {at!r} is no (i, j)"
                )
            self._require_tile(*at)
            cores.append((at[0] * self.tiles[1] + at[1], as_matrix(tile, "renew_tiles")._core))
        return cores

    def barrier(self) -> None:
        """Waits for all ranks: what they wrote is seen by all afterwards."""
        self._core.barrier()

    def collect(self) -> Any:
        """The whole matrix on every rank, fetched tile by tile: a csr_array or a NumPy array. Collective."""
        return self._matrix(self._core.whole())

    def explain(self) -> str:
        """Shape, tiles, grid, and how full the tiles are, in a line; also where one rank has much more than others."""
        where = "" if self.device is None else f", on {self.device!r}"
        worst = imbalance(self.tile_nnz, self.grid) if self.sparse else 1.0
        uneven = f", the fullest rank {worst:.3g} times the mean (grid='auto', cuts='auto' or smaller tiles may help)"
        said = f"{self._core.map!r}, {self.dtype}, by {self.transport}{where}"
        if self._cut is not None:
            what = "nonzeros in rows of tiles" if self._cut.by == "nonzeros" else "flops of A @ A"
            said += (
                f", cut by {what}: the most loaded rank has {self._cut.after:.3g} times the mean "
                f"({self._cut.before:.3g} with equal tiles)"
            )
        return said + uneven * (worst > _UNEVEN)

    def __repr__(self) -> str:
        rows, cols = self.shape
        down, across = self.tiles
        kind = "sparse" if self.sparse else "dense"
        return (
            f"<{rows}x{cols} dist.tiled_array, {kind} {self.dtype}, {down}x{across} tiles of {self.tile_shape[0]}x"
            f"{self.tile_shape[1]} on {self.grid[0]}x{self.grid[1]} ranks>"
        )

    def _matrix(self, core: Any) -> Any:
        return whole_array._wrap(core) if self.sparse else core

    def _require_tile(self, i: int, j: int) -> None:
        down, across = self.tiles
        if any(isinstance(n, (bool, np.bool_)) or not hasattr(n, "__index__") for n in (i, j)):
            raise TypeError(f"there is no tile ({i!r}, {j!r}): give two integers")
        if not (0 <= i < down and 0 <= j < across):
            raise ValueError(f"there is no tile ({i}, {j}): there are {down} x {across}")


def _asked(
    source: Any,
    comm: Any,
    sizes: tuple[Any, Any],
    grid: tuple[int, int] | str | None,
    transport: str,
    cuts: str,
    device: Any,
) -> tuple[str, Any, tuple[Any, ...]]:
    """The kind of source, what must be the same on all ranks, and how the core is to cut; its last part is the device,
    each rank's own."""
    down, across = map(size_of, sizes, ("tile_rows", "tile_cols"))
    kind = _source_kind(source)
    chosen: Any = grid
    if isinstance(grid, str):
        _require_auto(kind, grid, comm.size)
    else:
        chosen = _core.square_grid(comm.size) if grid is None else _grid_of(grid, comm.size)
    if kind == "dense":
        dense_matrix(source)
    one_of("cuts", cuts, TILE_CUTS)
    if cuts != "area" and (kind == "dense" or isinstance(across, tuple)):
        what = "of a dense matrix" if kind == "dense" else f"with tile_cols={sizes[1]!r}"
        raise ValueError(
            f"cuts={cuts!r} {what}: there is no work to cut by, leave cuts out; like= cuts the rows as the columns of "
            "another matrix"
        )
    gpu = tile_device(device, transport, comm.rank, comm.size)
    return kind, _facts(source, kind), (down, across, chosen, transport, cuts, gpu)


def _grid_of(grid: Any, ranks: int) -> tuple[int, int]:
    """Two numbers of ranks, down and across. TypeError or ValueError for anything else."""
    try:
        down, across = grid
    except (TypeError, ValueError):
        raise ValueError(
            f"grid={grid!r}: two numbers of ranks, down and across, or 'auto'"
        ) from None
    down, across = integer(down, "grid[0]", 1), integer(across, "grid[1]", 1)
    if down * across != ranks:
        raise ValueError(
            f"grid={grid!r}: a grid of {down} x {across} is of {down * across} ranks, but there are {ranks}"
        )
    return down, across


def _require_auto(kind: str, grid: str, ranks: int) -> None:
    if grid != "auto":
        raise ValueError(f"grid={grid!r}: two numbers of ranks, down and across, or 'auto'")
    if kind not in ("matrix", "store"):
        raise ValueError(
            f"grid='auto' looks at all entries before they are cut, of a matrix that every rank has or a native store; "
            f"of this source ({kind}) it cannot: give grid=(rows, columns), {ranks} ranks in all"
        )


def _even(source: Any, kind: str, ranks: int) -> tuple[int, int]:
    """What grid="auto" is."""
    if kind == "store":
        source = store.open_store(source)
    return even_grid(as_matrix(source, "ps.dist.tiled_array"), ranks)


def _same_device(like: tiled_array) -> Any:
    gpu = like._core.device
    return None if gpu == NO_DEVICE else "cpu" if gpu < 0 else gpu


def _source_kind(source: Any) -> str:
    if isinstance(source, csr_array):
        return "dist"
    if isinstance(source, np.ndarray):
        return "dense"
    kind = _kind(source)
    if kind == "matrix" and not is_sparse(source):
        raise TypeError(
            f"tiles are cut from a sparse matrix, a NumPy array, a path or a generator, not {type(source).__name__}"
        )
    return kind


def _facts(source: Any, kind: str) -> Any:
    """What must be the same on all ranks."""
    if kind == "matrix":
        return source.shape, int(source.nnz), np.dtype(source.dtype).name
    return (source.shape, source.dtype.name) if kind in ("dense", "dist") else None
