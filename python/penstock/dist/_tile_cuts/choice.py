"""Cuts by the work of the tiles, from counts of entries that all ranks have added up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock.dist._agree import agreed
from penstock.dist._network import Network
from penstock.dist._tile_choice import choose_stationary, count_maps
from penstock.dist._tile_counts import dealt
from penstock.dist._tile_cuts.rectilinear import alternate, descend, optimal, prefix

__all__ = ["Cut", "equal_cuts", "work_cuts"]

MOST_ROWS = (
    2  # times the rows of an equal tile: so dense tiles of B and C are at most twice as large
)
_MOST_LINES = 2**20  # that are counted one by one; of a larger matrix, groups of rows
_CELLS_OF_PART = 16  # groups of lines for each part, among which cuts are chosen
_MOST_GROUPS = 1024  # about: 8 MB of counts
_COLUMNS = 64  # of the dense B by which "auto" predicts
_WORTH = 0.95  # of the time with equal tiles
_UNEVEN = 2.0  # most over mean flops of A @ A with equal tiles, above which "auto" cuts by flops,
_LESS = 0.75  # if that leaves at most so much of it
_SHARP = 16  # a norm so high is nearly the largest load, and still says which of two cuts is the better one

Pair = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Cut:
    """Where rows and columns are cut, int64, from 0 to their number, and most over mean of what ranks have to do: with
    equal tiles, and cut like this. `by`: what the work is."""

    by: str
    rows: np.ndarray
    cols: np.ndarray
    before: float
    after: float


def equal_cuts(length: int, size: int) -> np.ndarray:
    """Where tiles of so many rows begin, and the end."""
    return np.append(np.arange(0, length, size), length).astype(np.int64)


def work_cuts(
    counts: Any, comm: Any, by: str, tiles: Pair, grid: tuple[int, int], *, fixed: bool = False,
    dtype: str = "float64", network: Network | None = None,
) -> Cut:  # fmt: skip
    """Cuts into as many tiles as equal ones would be.

    Parameters
    ----------
    counts : _core.EntryCounts
        Collective: all ranks come here.
    comm : ps.dist.Comm
    by : str
        "nonzeros": entries of A, so that ranks have equally many, and equally many of them in whole rows of tiles: the
        work of a product with a dense B where A or C stays. "flops": products of entries in each tile of A @ A, where C
        stays. "auto": "flops" of a square matrix where the most loaded rank has more than twice the mean flops of A @ A
        with equal tiles, if that leaves at most 3/4 of it and the model of `network` finds the product with 64 dense
        columns at most a twentieth slower; else "nonzeros" where the model finds that product faster.
    tiles : (rows, columns)
        The equal cuts, as of `equal_cuts`.
    grid : (int, int)
    fixed : bool
        The rows are cut like this already, and stay.
    dtype : str
        Of A's values, by which "auto" predicts.

    All is decided on rank 0, for all: networks, and the last bits of sums, may differ between hosts. A square matrix
    with as many tiles both ways is cut at the same places both ways, so that A @ A and A @ (A @ B) need no other tiles.
    A tile has at most twice the rows or columns of an equal one. ValueError for "flops" where rows and columns are not
    cut alike.
    """
    seen = _Seen(counts, comm, by, tiles, grid, fixed)
    wanted = network if by == "auto" else None
    if by == "auto" and seen.alike:  # all ranks know this
        of_flops = _Seen(counts, comm, "flops", tiles, grid, fixed)
        cut = agreed(comm, lambda: of_flops.even(dtype, network) if comm.rank == 0 else None)
        cut = comm.share(cut, 0)
        if cut is not None:
            return cut  # type: ignore[no-any-return]
    cut = agreed(comm, lambda: seen.choose(dtype, wanted) if comm.rank == 0 else None)
    return comm.share(cut, 0)  # type: ignore[no-any-return]


class _Seen:
    """What is known of a matrix: entries between the lines of a coarse grid that contains all cuts that are tried."""

    def __init__(
        self, counts: Any, comm: Any, by: str, tiles: Pair, grid: tuple[int, int], fixed: bool
    ) -> None:
        rows, cols = counts.shape
        self.by, self.grid, self.fixed = "nonzeros" if by == "auto" else by, grid, fixed
        self.parts = tiles[0].size - 1, tiles[1].size - 1
        self.alike = not fixed and rows == cols and np.array_equal(*tiles)
        if by == "flops" and not self.alike:
            raise ValueError(
                f"cuts='flops' counts the products of A @ A, where rows and columns are cut alike; A is {rows} x "
                f"{cols} in {self.parts[0]} x {self.parts[1]} tiles: take cuts='nonzeros'"
            )
        self.most = tuple(
            MOST_ROWS * -(-n // p) for n, p in zip((rows, cols), self.parts, strict=True)
        )
        width = max(1, -(-max(rows, cols) // _MOST_LINES))
        lines = np.asarray(counts.lines(width)).astype(float)
        sides = [np.minimum(np.arange(-(-n // width) + 1) * width, n) for n in (rows, cols)]
        row, col = lines[: sides[0].size - 1], lines[sides[0].size - 1 :]
        grouped = agreed(
            comm, lambda: self._group(tiles, sides, (row, col)) if comm.rank == 0 else None
        )
        self.edges, single = comm.share(grouped, 0)
        edges = self.edges
        self.equal = tuple(np.searchsorted(e, t) for e, t in zip(edges, tiles, strict=True))
        self.single = [[np.searchsorted(edges[s], c) for c in single[s]] for s in (0, 1)]
        cells = np.asarray(counts.cells((edges[0].tolist(), edges[1].tolist()))).astype(float)
        self.entries = cells.reshape(edges[0].size - 1, edges[1].size - 1)
        self.work = self.entries if self.by == "nonzeros" else self._flops(row * col, sides[0])
        self.sums = prefix(self.work)

    def _group(self, tiles: Pair, sides: Any, counts: Pair) -> tuple[Pair, Any]:
        """The lines of the grid of rows and of columns, and cuts that are best for rows or columns alone."""
        row, col = counts
        weights = [row, col, row + col] if self.alike else [row, col]
        most = _MOST_GROUPS // (4 if self.alike else 2)  # of each weight, and of equal groups
        groups = [min(most, max(_CELLS_OF_PART * p, 256)) for p in self.parts]
        single: list[list[np.ndarray]] = [[], []]
        edges = []
        for s in (0, 1):
            places = [tiles[s]]
            for weight in weights if self.alike else [weights[s]]:
                at = optimal(weight[:, None], sides[s], self.parts[s], self.most[s])
                if at is not None and not (self.fixed and s == 0):
                    single[s].append(sides[s][at])
                share = np.searchsorted(np.cumsum(weight), np.linspace(0, weight.sum(), groups[s]))
                places.append(sides[s][np.minimum(share, sides[s].size - 1)])
            places.append(np.linspace(0, sides[s][-1], groups[s] // 4).astype(np.int64))
            edges.append(np.unique(np.concatenate(places + single[s])).astype(np.int64))
        return (edges[0], edges[1]), single

    def choose(self, dtype: str, network: Network | None) -> Cut:
        """The best cut; equal tiles where the model of `network` finds it no faster."""
        before = self.imbalance(*self.equal)
        best = min(self.candidates(), key=lambda pair: self.cost(*pair))
        if network is not None:
            seconds = [self.seconds(*pair, dtype, network) for pair in (self.equal, best)]
            if seconds[1] >= _WORTH * seconds[0]:
                best = self.equal
        rows, cols = self.edges[0][best[0]], self.edges[1][best[1]]
        return Cut(self.by, rows, cols, before, self.imbalance(*best))

    def even(self, dtype: str, network: Network | None) -> Cut | None:
        """The best cut; None where equal tiles are even enough, no cut makes them much more so, or the model of
        `network` finds the product with dense columns clearly slower."""
        if self.imbalance(*self.equal) <= _UNEVEN:
            return None
        cut = self.choose(dtype, None)
        if cut.after > _LESS * cut.before:
            return None
        if network is not None:
            best = [
                np.searchsorted(e, c) for e, c in zip(self.edges, (cut.rows, cut.cols), strict=True)
            ]
            equal = self.seconds(*self.equal, dtype, network)
            if _WORTH * self.seconds(best[0], best[1], dtype, network) > equal:
                return None
        return cut

    def _flops(self, products: np.ndarray, lines: np.ndarray) -> np.ndarray:
        """Products of entries for each cell of C = A A: of each group of inner lines exactly as many as there are,
        spread as A's entries of these columns and rows are."""
        inner = np.diff(
            np.concatenate([[0.0], np.cumsum(products)])[np.searchsorted(lines, self.edges[0])]
        )
        of_rows, of_cols = self.entries.sum(1), self.entries.sum(0)
        share = inner / np.maximum(of_rows * of_cols, 1)
        return (self.entries * share) @ self.entries  # type: ignore[no-any-return]

    def loads(self, rows: np.ndarray, cols: np.ndarray) -> Iterator[np.ndarray]:
        """Of ranks: what their tiles are; and where C stays and B is dense, what their rows of tiles are."""
        tiles = np.diff(np.diff(self.sums[np.ix_(rows, cols)], axis=0), axis=1)
        down, across = self.grid
        yield np.bincount(dealt(*tiles.shape, self.grid).ravel(), tiles.ravel(), down * across)
        if self.by == "nonzeros":
            yield np.bincount(np.arange(tiles.shape[0]) % down, tiles.sum(1), down)

    def imbalance(self, rows: np.ndarray, cols: np.ndarray) -> float:
        """Most over mean of what ranks have to do where C stays."""
        load = list(self.loads(rows, cols))[-1]
        return float(load.max() / load.mean()) if load.any() else 1.0

    def cost(self, rows: np.ndarray, cols: np.ndarray) -> float:
        """What `imbalance` is, smoothed, of all kinds of loads together: 1 where all ranks have the same."""
        found = [float(np.mean((x / x.mean()) ** _SHARP) ** (1 / _SHARP)) if x.any() else 1.0
                 for x in self.loads(rows, cols)]  # fmt: skip
        return math.prod(found)

    def candidates(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Cuts to compare; equal ones are among them."""
        yield self.equal
        if self.alike:
            starts = [self.equal[0], *self.single[0]]
            cost: Callable[[np.ndarray], float] = lambda at: self.cost(at, at)  # noqa: E731
            for start in starts:
                yield start, start
            best = min(starts, key=cost)
            moved = descend(cost, self.edges[0], best, self.most[0])
            yield moved, moved
            return
        rows = self.single[0][0] if self.single[0] else self.equal[0]
        cols = self.single[1][0] if self.single[1] else self.equal[1]
        yield rows, cols
        yield rows, self.equal[1]
        yield from alternate(self.sums, self.edges, (rows, cols), self.most, self.fixed)

    def seconds(self, rows: np.ndarray, cols: np.ndarray, dtype: str, network: Network) -> float:
        """Predicted, of the product with some dense columns, whichever stays."""
        cuts = self.edges[0][rows], self.edges[1][cols]
        tiles = np.diff(np.diff(prefix(self.entries)[np.ix_(rows, cols)], axis=0), axis=1)
        shape = int(cuts[0][-1]), int(cuts[1][-1])
        both = cuts[0].tolist(), cuts[1].tolist()
        a = _core.tile_map(*shape, 0, 0, self.grid, dtype, tiles.ravel().astype(np.int64), both)
        value = dtype if dtype.startswith("float") else "float64"
        b = _core.tile_map(shape[1], _COLUMNS, 0, 0, self.grid, value, None, (both[1], []))
        return min(p.seconds for p in choose_stationary(count_maps(a, b), network)[1].values())
