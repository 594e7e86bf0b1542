"""Checks of vertex values by SciPy, for the command line: ranks by one more step, triangles by counting anew."""

from __future__ import annotations

from typing import Any

import numpy as np

_PRODUCTS = 10_000_000  # entries of a piece of a product at most, as far as whole rows allow


def verify_ranks(A: Any, ranks: np.ndarray, alpha: float, tol: float, weighted: bool) -> None:
    """Raises ValueError unless the ranks are positive, sum to 1, and one more step of the walk changes them by no more
    than `tol` in all (L1): a step shrinks the change before it, so that a run that stopped at `tol` passes.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 0])), shape=(2, 2))
    >>> verify_ranks(A, np.array([0.5, 0.5]), 0.85, 1e-6, True)
    >>> verify_ranks(A, np.array([0.6, 0.4]), 0.85, 1e-6, True)
    Traceback (most recent call last):
    ...
    ValueError: one more step changes the ranks by 3.7e-01 in all, more than 1e-06
    """
    import scipy.sparse as sp

    n = A.shape[0]
    if not (np.isfinite(ranks).all() and (ranks >= 0).all()):
        raise ValueError("a rank is negative or not finite")
    rounding = 1e-13 * np.log2(n + 2)
    if abs(ranks.sum() - 1) > 1e-9 + rounding:
        raise ValueError(f"the ranks sum to {ranks.sum():.12g}, not to 1")
    values = np.ones(A.nnz) if A.dtype == bool or not weighted else A.data.astype(np.float64)
    walk = sp.csr_array((values, A.indices, A.indptr), shape=A.shape)
    out = walk @ np.ones(n)
    share = np.divide(ranks, out, out=np.zeros(n), where=out != 0)
    step = alpha * (walk.T @ share + ranks[out == 0].sum() / n) + (1 - alpha) / n
    change = float(np.abs(step - ranks).sum())
    if change > tol + rounding:
        raise ValueError(
            f"one more step changes the ranks by {change:.1e} in all, more than {tol:g}"
        )


def verify_triangles(A: Any, triangles: np.ndarray) -> None:
    """Raises ValueError, naming a vertex, unless `triangles` counts the triangles at each vertex, directions and self
    loops ignored. Counts paths of two edges from lower to higher degree that a third edge closes.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(4, 4))
    >>> verify_triangles(A, np.array([1, 1, 1, 0]))
    >>> verify_triangles(A, np.array([1, 1, 1, 1]))
    Traceback (most recent call last):
    ...
    ValueError: vertex 3 is in 0 triangles, not in 1
    """
    import scipy.sparse as sp

    n = A.shape[0]
    rows = np.repeat(np.arange(n), np.diff(A.indptr))
    off = rows != A.indices
    low, high = np.minimum(rows, A.indices)[off], np.maximum(rows, A.indices)[off]
    both = sp.csr_array((np.ones(low.size, np.int32), (low, high)), shape=A.shape)
    both.sum_duplicates()
    edges = both.tocoo()
    degree = np.bincount(edges.row, minlength=n) + np.bincount(edges.col, minlength=n)
    rank = np.empty(n, np.int64)
    rank[np.argsort(degree, kind="stable")] = np.arange(n)
    ends = np.sort(np.stack([rank[edges.row], rank[edges.col]]), axis=0)
    up = sp.csr_array((np.ones(ends.shape[1], np.int32), (ends[0], ends[1])), shape=A.shape)
    found = _corners(up)[rank]
    wrong = found != triangles
    if wrong.any():
        v = int(wrong.argmax())
        raise ValueError(f"vertex {v} is in {found[v]} triangles, not in {triangles[v]}")


def _corners(up: Any) -> np.ndarray:
    """Triangles at each vertex of an acyclic graph: as the first, the last and the middle one of its edges."""
    n, down = up.shape[0], up.T.tocsr()
    counts = np.zeros(n, np.int64)
    paths = np.concatenate([[0], np.cumsum(up @ (np.diff(up.indptr) + np.diff(down.indptr)))])
    first = 0
    while first < n:
        last = int(np.searchsorted(paths, paths[first] + _PRODUCTS, side="right")) - 1
        last = min(max(last, first + 1), n)
        piece = up[first:last]
        if piece.nnz:
            closed = (piece @ up).multiply(piece).tocsr()
            counts[first:last] += np.asarray(closed.sum(axis=1)).ravel()
            counts += np.asarray(closed.sum(axis=0)).ravel()
            counts += np.asarray((piece @ down).multiply(piece).sum(axis=0)).ravel()
        first = last
    return counts
