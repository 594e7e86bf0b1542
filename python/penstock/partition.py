"""Who holds which rows of a matrix that is shared out among `n` parts (ranks, processes, GPUs), and what a product
costs then.

| function | idea |
|---|---|
| `contiguous` | equal numbers of rows, in order |
| `balanced` | rows in order, equal numbers of entries |
| `grid` | the naive 2-D process grid of Page and Kogge (2018): ranges of rows times ranges of columns |
| `bins` | their balanced one: rows split at nnz / n, the longest first to the part with the fewest entries |
| `label_propagation` | neighbours together, entries within a few per cent of equal |
| `metis` | the same by METIS; needs `pymetis` |
| `labels` | the user's |

A partition is the same for any number of threads.

>>> import penstock as ps
>>> A = ps.generate.rmat(8, seed=1)
>>> P = ps.partition.bins(A, 4)
>>> P.parts, P.kind, P.owners.shape
(4, 'bins', (256,))
>>> P.metrics(A).mad < ps.partition.contiguous(A, 4).metrics(A).mad
True
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._choices import PARTITIONERS
from penstock._matrix.given import as_matrix

__all__ = [
    "Metrics",
    "Partition",
    "balanced",
    "bins",
    "contiguous",
    "grid",
    "label_propagation",
    "labels",
    "metis",
]


@dataclass(frozen=True)
class Metrics:
    """What a product `A @ x` costs in a partition. Arrays have one number a part.

    `exchange` has a row (from, to, values) for every pair of parts of which one sends to the other: entries of x,
    partial sums of rows, or both.
    """

    mad: float  # mean absolute deviation of nnz from its mean, over the matrix's (Page and Kogge 2018)
    imbalance: float  # most entries of a part over the mean
    halo_volume: int  # distinct columns that a part needs and another owns, summed over parts
    partial_volume: int  # sums of rows that a part has and another owns, summed over parts
    messages: int  # ordered pairs: one sends x to the other, plus one sends sums to the other
    nnz: np.ndarray  # int64
    rows: np.ndarray  # int64: rows owned
    halo: np.ndarray  # int64: values of x received
    bytes: np.ndarray  # int64: local CSR, x, halo, y and partial sums
    exchange: np.ndarray  # int64, shape (pairs, 3)
    sums: (
        np.ndarray
    )  # int64, shape (pairs,): how many of the values of a row of `exchange` are partial sums
    held: np.ndarray  # int64: rows of the local matrix: those owned, and parts of others
    ghost_rows: np.ndarray  # int64: those with entries in columns that others own
    ghosts_most: np.ndarray  # int64: the most such entries of a row
    uneven: (
        np.ndarray
    )  # int64: rows that differ in length from the one before, in own columns and in others'

    def exchange_matrix(self, cells: int = 1024) -> np.ndarray:
        """Values sent, receivers down and senders across: dense, float64, at most `cells` parts or runs of parts a
        side."""
        parts = self.nnz.size
        side = min(parts, cells)
        sent, got, values = self.exchange.T
        dense = np.zeros((side, side))
        np.add.at(dense, (got * side // parts, sent * side // parts), values)
        return dense


class Partition:
    """Who holds what. Made by the functions of this module; arrays are read-only."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __repr__(self) -> str:
        (rows, cols), (high, wide) = self.shape, self.grid
        form = f"{high} x {wide} " if wide > 1 else ""
        return f"<Partition {self.kind}: {rows:,} x {cols:,} among {form}{self.parts:,} parts>"

    @property
    def kind(self) -> str:
        """The name of the function that made it."""
        return self._core.kind

    @property
    def parts(self) -> int:
        return self._core.parts

    @property
    def shape(self) -> tuple[int, int]:
        """Of the matrix."""
        return self._core.shape

    @property
    def grid(self) -> tuple[int, int]:
        """Parts down and across: part (i, j) is number `i * grid[1] + j`. (parts, 1) where rows alone are cut."""
        return self._core.grid

    @property
    def owners(self) -> np.ndarray:
        """int32, one a row: the part that ends up with y[row]; of a grid the row master, part (i, 0)."""
        return self._core.owners

    @property
    def col_owners(self) -> np.ndarray:
        """int32, one a column: the part that brings x[col]. The row owners where the matrix is square; else equal
        ranges, of a grid at the column masters, parts (0, j)."""
        return self._core.col_owners

    @property
    def row_cuts(self) -> np.ndarray:
        """int64, grid[0] + 1 of them, where every grid row has a range of rows; else empty."""
        return self._core.row_cuts

    @property
    def col_cuts(self) -> np.ndarray:
        """int64, grid[1] + 1 of them, where columns are cut too; else empty."""
        return self._core.col_cuts

    @property
    def pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(row, first, last, part), int64 and int32: rows that several parts share, in pieces of A's entries
        [first, last)."""
        return self._core.pieces

    def entry_parts(self, A: Any) -> np.ndarray:
        """int32, one a stored entry in the order of `A.indices`: the part that holds it."""
        return _core.partition_entries(as_matrix(A, "entry_parts")._core, self._core)

    def metrics(self, A: Any) -> Metrics:
        """What a product costs; reads every entry of A once, on all threads.

        ValueError where the partition was made of another matrix.
        """
        d = _core.partition_metrics(as_matrix(A, "metrics")._core, self._core)
        exchange = np.stack([np.asarray(d.pop(k), np.int64) for k in ("from", "to", "values")], 1)
        return Metrics(**d, exchange=exchange)


def _count(n: Any, what: str) -> int:
    try:
        return operator.index(n)
    except TypeError:
        raise TypeError(f"{what}: n is a number of parts, not {type(n).__name__}") from None


def _made(A: Any, kind: str, n: Any) -> Partition:
    return Partition(_core.partition(as_matrix(A, kind)._core, kind, _count(n, kind)))


def contiguous(A: Any, n: int) -> Partition:
    """Rows in order, equal numbers of them: what most libraries do unless told otherwise."""
    return _made(A, "contiguous", n)


def balanced(A: Any, n: int) -> Partition:
    """Rows in order, cut where the entries before are nearest to equal shares. A row is never split."""
    return _made(A, "balanced", n)


def grid(A: Any, n: int) -> Partition:
    """The naive distribution of Page and Kogge (2018, V-C): a process grid, equal ranges of rows and of columns.

    Parts of a grid row add up their sums at the row master. The paper takes squares; other n get the most square
    grid with at least as many rows as columns, so a prime n cuts rows alone.
    """
    return _made(A, "grid", n)


def bins(A: Any, n: int) -> Partition:
    """The balanced distribution of Page and Kogge (2018, V-D): greedy bin packing of rows, the longest first.

    Rows with more than omega = ceil(nnz / n) entries are split there; the holder of the first piece owns the row.
    Nearly equal entries, at the price of all locality. (The paper prints omega = nnz / m, which is the mean length of
    a row; its words are "the optimal amount of nnz per process".)
    """
    return _made(A, "bins", n)


def label_propagation(A: Any, n: int) -> Partition:
    """Rows where most of their neighbours are, after PuLP (Slota, Madduri and Rajamanickam 2014), for a square matrix.

    Begins at the better of two cuts, of the rows in order and by bisection of breadth-first levels, and moves rows
    while that cuts fewer entries and parts stay within 3 % of the mean (parts that a long row or the first cut
    put outside may stay there). Never cuts more entries than `balanced`. Takes a transpose of the pattern for a while.
    """
    return _made(A, "label_propagation", n)


def metis(A: Any, n: int) -> Partition:
    """Neighbours together by METIS (Karypis and Kumar 1998): few cut entries of A + A^T, parts of about equally many
    entries of A. For a square matrix of fewer than 2^31 entries.

    Needs `pymetis`. ImportError, with the remedy, where it is not installed; `label_propagation` needs nothing.
    """
    parts = _count(n, "metis")
    try:
        import pymetis
    except ImportError as error:
        raise ImportError(
            "partition.metis needs pymetis: pip install 'penstock-sparse[metis]', or take "
            "partition.label_propagation"
        ) from error
    graph = as_matrix(A, "metis")
    rows, cols = graph.shape
    if rows != cols:
        raise ValueError(f"metis: the matrix is {rows} x {cols}, and a graph is square")
    if parts < 1:
        raise ValueError(f"metis: n = {n}, at least one part")
    indptr, indices = np.asarray(graph.indptr), np.asarray(graph.indices)
    starts, neighbours = _both_ways(indptr, indices)
    if parts == 1 or rows == 0:
        return labels(graph, np.zeros(rows, np.int32), parts)
    weights = np.maximum(np.diff(indptr), 1)
    _, owners = pymetis.part_graph(parts, xadj=starts, adjncy=neighbours, vweights=weights)
    return labels(graph, np.asarray(owners, np.int32), parts)


def _both_ways(indptr: np.ndarray, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and neighbours of the pattern of A + A^T, without its diagonal.

    >>> _both_ways(np.array([0, 2, 2, 3]), np.array([0, 1, 0]))
    (array([0, 2, 3, 4]), array([1, 2, 0, 0]))
    """
    n = indptr.size - 1
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    col = indices.astype(np.int64)
    off = row != col
    keys = np.unique(np.concatenate((row[off] * n + col[off], col[off] * n + row[off])))
    starts = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n)
    return starts, keys % max(n, 1)


def labels(A: Any, owners: Any, n: int | None = None) -> Partition:
    """The user's: row r goes to part owners[r]; of METIS, of a mesh. `n` defaults to the largest owner + 1.

    `owners` is 1-D, of whole numbers 0 .. n - 1, one a row.
    """
    own = np.asarray(owners)
    if own.ndim != 1 or (own.size and own.dtype.kind not in "iu"):
        raise ValueError(
            f"labels: owners is 1-D of whole numbers, one a row, not {own.ndim}-D of {own.dtype}"
        )
    if own.size and not 0 <= int(own.min()) <= int(own.max()) < 2**31:
        raise ValueError(f"labels: owners from {own.min()} to {own.max()}: parts count from 0")
    if n is not None and _count(n, "labels") < 1:
        raise ValueError(f"labels: n = {n}, at least one part")
    core = as_matrix(A, "labels")._core
    own = np.ascontiguousarray(own, np.int32)
    return Partition(_core.partition_labels(core, own, 0 if n is None else _count(n, "labels")))


def _named(name: str, text: str) -> Callable[[Any, int], Partition]:
    """The function of a partitioner that the core lists and that has none above."""

    def made(A: Any, n: int) -> Partition:
        return _made(A, name, n)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"{text[:1].upper()}{text[1:]}."
    return made


for _p in PARTITIONERS.values():
    if _p.name not in __all__:
        globals()[_p.name] = _named(_p.name, _p.text)
        __all__ += [_p.name]
del _p
