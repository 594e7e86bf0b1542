"""A grid of ranks for tiles, by where the entries are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock._matrix.given import as_matrix
from penstock.dist._tile_counts import cuts, dealt, tile_nnz

__all__ = ["even_grid", "imbalance"]

_WORSE = 1.1  # times the least imbalance: a grid that is more square fetches less


def even_grid(A: Any, ranks: int) -> tuple[int, int]:
    """Of the grids whose fullest rank has at most 1.1 times the entries that the most even grid's has, the most square.

    Parameters
    ----------
    A : csr_array
        The whole matrix.
    ranks : int

    On a square grid the tiles along the diagonal go to few ranks, which have all the work where entries are near it.

    >>> import penstock as ps
    >>> even_grid(ps.generate.laplacian((4, 4, 16)), 4), even_grid(ps.generate.rmat(8, 8, seed=1), 4)
    ((4, 1), (2, 2))
    """
    A = as_matrix(A, "even_grid")
    grids = [(ranks // c, c) for c in range(math.isqrt(ranks), 0, -1) if ranks % c == 0]
    found = [_cut(A, grid) for grid in grids]
    return next(g for g, worst in zip(grids, found, strict=True) if worst <= _WORSE * min(found))


def _cut(A: Any, grid: tuple[int, int]) -> float:
    """Its imbalance, cut as `tiles` cuts by default."""
    parts = math.lcm(*grid)
    return imbalance(tile_nnz(A, cuts(A.shape[0], parts), cuts(A.shape[1], parts)), grid)


def imbalance(nnz: np.ndarray, grid: tuple[int, int]) -> float:
    """Most over mean entries of a rank, of tiles dealt over the grid."""
    each = np.bincount(dealt(*nnz.shape, grid).ravel(), nnz.ravel(), grid[0] * grid[1])
    return float(each.max() / each.mean()) if each.any() else 1.0
