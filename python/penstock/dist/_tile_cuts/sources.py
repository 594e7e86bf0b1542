"""Sizes of tiles as they are given, and what a matrix is cut out of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._matrix.given import as_matrix
from penstock.dist._load import generator_shape, open_on_all
from penstock.dist._matrix import csr_array
from penstock.dist._tile_choice import network_of
from penstock.dist._tile_cuts.choice import Cut, equal_cuts, work_cuts
from penstock.dist._wide.numbers import is_wide

__all__ = [
    "cut_by_work",
    "dense_matrix",
    "places",
    "require_sizes",
    "size_of",
    "sizes_like",
    "ways",
]

_MOST = 2**62  # rows or columns of a tile: as many as there are, where these are fewer


def _positive(n: Any, name: str) -> int:
    n = integer(n, name, -_MOST, _MOST)
    if n <= 0:
        raise ValueError(f"{name}: a tile has {n} rows or columns: give a positive number")
    return n


def dense_matrix(a: Any) -> np.ndarray:
    """As the core takes it. TypeError for what is no NumPy array of such numbers, ValueError for other shapes."""
    if not isinstance(a, np.ndarray):
        raise TypeError(f"dense tiles are of NumPy arrays, not {type(a).__name__}: use np.asarray")
    if isinstance(a, np.ma.MaskedArray):
        raise TypeError(
            "a dense matrix has no mask, this one is a masked array: give a.filled(value)"
        )
    if a.ndim != 2:
        raise ValueError(f"a dense matrix has two dimensions, this one has shape {a.shape}")
    if a.dtype == np.bool_:
        a = a.view(np.uint8) if a.flags.c_contiguous else a.astype(np.uint8)
    if a.dtype not in (np.float32, np.float64, np.uint8):
        raise TypeError(
            f"dense tiles have float32, float64, bool or uint8, not {a.dtype}: use astype"
        )
    return np.ascontiguousarray(a)


def size_of(n: Any, name: str) -> Any:
    """Rows of a tile, 0 where they are chosen, or a tuple with those of each. `name`: of the argument, for errors."""
    if n is None:
        return 0
    if (
        isinstance(n, str)
        or not isinstance(n, Iterable)
        or (isinstance(n, np.ndarray) and n.ndim == 0)
    ):
        return _positive(n, name)
    return tuple(_positive(each, f"{name}[{k}]") for k, each in enumerate(n))


def sizes_like(like: Any, down: Any) -> Any:
    """tile_rows that fit the columns of another one: a tuple where these are not equal."""
    if down is not None:
        return down
    sizes = tuple(np.diff(like._core.map.col_cuts).tolist())
    equal = len(set(sizes[:-1])) <= 1 and sizes[-1:] <= sizes[:1]
    return like.tile_shape[1] if equal else sizes


def require_sizes(shape: tuple[int, int], down: Any, across: Any) -> None:
    """ValueError for sizes of tiles that are not those of a matrix of this shape."""
    for name, what, sizes, n in (
        ("tile_rows", "rows", down, shape[0]), ("tile_cols", "columns", across, shape[1]),
    ):  # fmt: skip
        if isinstance(sizes, tuple) and sum(sizes) != n:
            raise ValueError(
                f"{name} add up to {sum(sizes)}, the matrix has {n} {what}: give the {what} of each tile, or one number"
            )


def places(sizes: Any) -> list[int]:
    """Cuts for the core; none where tiles are equal."""
    return [0, *np.cumsum(sizes).tolist()] if isinstance(sizes, tuple) else []


@dataclass(frozen=True)
class Way:
    """What makes tiles, what counts entries (None: nothing does), and what both are given of this rank's part. `shape`
    and `dtype`: of the whole matrix."""

    make: Any
    count: Any
    held: tuple[Any, ...]
    shape: tuple[int, int]
    dtype: str


def ways(source: Any, kind: str, comm: Any) -> Way:
    """How tiles are cut out of a source. Collective."""

    def way(make: Any, count: Any, held: tuple[Any, ...], of: Any) -> Way:
        return Way(make, count, held, (int(of.shape[0]), int(of.shape[1])), np.dtype(of.dtype).name)

    if kind == "matrices":
        matrix = as_matrix(source, "ps.dist.tiled_array")
        return way(_core.tiles_of_whole, _core.entries_of_whole, (comm, matrix._core), matrix)
    if kind == "dense":
        dense = dense_matrix(source)
        return way(_core.tiles_of_dense, None, (comm, dense), dense)
    if kind == "store":
        whole = open_on_all(source, comm)
        return way(_core.tiles_of_whole, _core.entries_of_whole, (comm, whole._core), whole)
    if kind == "generator":
        rows, cols = generator_shape(source)
        if is_wide((rows, cols)):
            raise ValueError(
                f"tiles hold at most 2^31 - 1 rows and columns, not {rows} x {cols}: give a smaller scale, or "
                "multiply by vectors with ps.dist.csr_array, which holds more"
            )
        shares = np.linspace(0, rows, comm.size + 1).astype(np.int64)
        first, last = int(shares[comm.rank]), int(shares[comm.rank + 1])
        mine = source(_keep=_core.kept_range(first, last - first, 0, cols))
        held = comm, mine._core, first, rows
        name = np.dtype(mine.dtype).name
        return Way(_core.tiles_of_rows, _core.entries_of_rows, held, (rows, cols), name)
    # One rank has it, or a file.
    d = source if kind == "dist" else csr_array(source, comm, "contiguous")
    d._core.require_all_numbers("tiles")
    return way(_core.tiles_of_dist, _core.entries_of_dist, (d._core,), d)


def cut_by_work(
    way: Way, comm: Any, by: str, sizes: tuple[Any, Any], grid: tuple[int, int]
) -> Cut | None:
    """Collective. None for a matrix that cannot be cut into so many tiles."""
    each = math.lcm(*grid)
    tiles, fixed = [], isinstance(sizes[0], tuple)
    for length, size in zip(way.shape, sizes, strict=True):
        if isinstance(size, tuple):
            tiles.append(np.array(places(size)))
        else:
            tiles.append(equal_cuts(length, size or max(1, -(-length // each))))
    if min(way.shape) == 0:
        return None
    cut: Cut = work_cuts(
        way.count(*way.held), comm, by, (tiles[0], tiles[1]), grid,
        fixed=fixed, dtype=way.dtype, network=network_of(comm),
    )  # fmt: skip
    return cut
