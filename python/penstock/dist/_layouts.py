"""Layouts of a matrix among ranks, and exactly what a product moves in them: no rank runs for that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import partition
from penstock._choices import PARTITIONERS
from penstock._matrix.given import as_matrix

__all__ = ["LAYOUTS", "Counts", "Layout", "count"]

SHORT = (
    8  # entries in the halo up to which rows are summed up in place (kShortRow of dist_product.cpp)
)


@dataclass(frozen=True)
class Layout:
    """A partition, and how sums of rows that others own reach them: `owners` (one message to each), `reduce` (among the
    ranks of a grid row) or `gather` (all of y to rank 0)."""

    partition: str
    sums: str
    words: str


# Every partitioner with sums to the owners, and two that end as Page and Kogge's do.
LAYOUTS = {p.name: Layout(p.name, "owners", p.text) for p in PARTITIONERS.values()} | {
    "grid_reduce": Layout(
        "grid", "reduce", "process grid, rows reduced: Page and Kogge's naive one"
    ),
    "bins_gather": Layout(
        "bins", "gather", "as bins, y gathered at rank 0: Page and Kogge's balanced one"
    ),
}


@dataclass(frozen=True)
class Counts:
    """Work and messages of one product in a layout. Arrays have one number a rank; `pairs` are (from, to), int64."""

    layout: str
    ranks: int
    shape: tuple[int, int]
    nnz: np.ndarray
    rows: np.ndarray  # that the rank owns in the partition
    read_bytes: np.ndarray  # local matrix, x, halo, y and partial sums, once each
    pairs: np.ndarray  # shape (n, 2)
    x: np.ndarray  # values of x that the first sends to the second
    sums: np.ndarray  # values of y, or partial sums of them
    owned_x: np.ndarray  # values of x that the rank owns
    grid: tuple[int, int]
    mad: float
    imbalance: float
    entry_bytes: int  # of a value of x and y
    walked: np.ndarray  # rows whose sums the rank begins: of its local matrix, and again those with entries of the halo
    again_bytes: (
        np.ndarray
    )  # what the second pass over rows with entries of the halo reads and writes besides
    uneven: np.ndarray | int = 0  # of the rows walked, those not as long as the one before

    def phases(self) -> tuple[np.ndarray, np.ndarray]:
        """Bytes of each pair: of x, and of sums."""
        return self.x * self.entry_bytes, self.sums * self.entry_bytes

    def sent_bytes(self) -> np.ndarray:
        """int64, one a rank."""
        return _sum(self.pairs[:, 0], (self.x + self.sums) * self.entry_bytes, self.ranks)

    def received_bytes(self) -> np.ndarray:
        """int64, one a rank."""
        return _sum(self.pairs[:, 1], (self.x + self.sums) * self.entry_bytes, self.ranks)

    def messages(self) -> np.ndarray:
        """int64, one a rank: messages that it sends. A pair that exchanges both x and sums takes two."""
        both = (self.x > 0).astype(np.int64) + (self.sums > 0)
        return _sum(self.pairs[:, 0], both, self.ranks)


def _sum(at: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(at, values, minlength=size).astype(np.int64)  # exact below 2^53


def count(A: Any, layout: str, ranks: int) -> Counts:
    """Reads every entry of A once for the partition and once for its metrics.

    Parameters
    ----------
    A : csr_array
    layout : str
        A name in `LAYOUTS`.
    ranks : int
        At least 1. ValueError where the layout cannot be had (label_propagation of a matrix that is not square).
    """
    if layout not in LAYOUTS:
        raise ValueError(f"layout {layout!r} is not one of {', '.join(LAYOUTS)}")
    A, how = as_matrix(A, "count"), LAYOUTS[layout]
    p = getattr(partition, how.partition)(A, ranks)
    m = p.metrics(A)
    entry = 8 if A.dtype == bool else A.dtype.itemsize  # a pattern multiplies float64
    pairs, x, sums = m.exchange[:, :2], m.exchange[:, 2] - m.sums, m.sums
    read, walked, uneven = m.bytes, m.held + m.ghost_rows, m.uneven
    if how.sums == "gather":
        # Everyone but rank 0 sends it all rows that it has a part of.
        held = m.rows + np.bincount(pairs[:, 0], sums, minlength=ranks).astype(np.int64)
        keep = x > 0
        senders = np.flatnonzero(held[1:]) + 1
        pairs = np.concatenate([pairs[keep], np.stack([senders, np.zeros_like(senders)], 1)])
        x, sums = (
            np.concatenate([x[keep], np.zeros(senders.size, np.int64)]),
            np.concatenate([np.zeros(int(keep.sum()), np.int64), held[senders]]),
        )
        # Rank 0 has all of y, and walks all rows: others' are without entries.
        mine = p.owners == 0
        mine[p.pieces[0][p.pieces[3] == 0]] = True
        others = A.shape[0] - m.held[0]
        read, walked, uneven = read.copy(), walked.copy(), uneven.copy()
        read[0] += entry * A.shape[0] + 8 * others
        walked[0] += others
        uneven[0] += np.count_nonzero(mine[1:] != mine[:-1])
    apart = m.ghosts_most > SHORT
    return Counts(
        layout, ranks, A.shape, m.nnz, m.rows, read, pairs, x, sums,
        np.bincount(p.col_owners, minlength=ranks), p.grid, m.mad, m.imbalance, entry,
        walked, again_bytes(m.ghost_rows, apart, entry), np.minimum(uneven, walked),
    )  # fmt: skip


def again_bytes(rows: np.ndarray, apart: Any, entry: int) -> np.ndarray:
    """Of the pass that adds entries of the halo to y: a row's offset and number, and its y, read and written; where
    rows are summed up apart, so are the sums."""
    return rows * (8 + 4 + 2 * entry * (1 + np.asarray(apart)))
