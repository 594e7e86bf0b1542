"""Triangles."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock.csgraph._graph import as_graph, undirected


def triangle_count(A: Any) -> int:
    """How many triangles a graph has: sets of three vertices, each two joined by an edge.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) joins i and j. Values, directions, duplicates and self loops make no difference.

    Edges are oriented by degree, and lists are looked up in a bitmap (Latapy 2008, section 3).

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 0, 0, 1])), shape=(4, 4))
    >>> ps.csgraph.triangle_count(A)
    2
    """
    return _core.triangles(undirected(as_graph(A, "triangle_count"))._core, False)[0]


def triangles(A: Any) -> np.ndarray:
    """How many triangles each vertex is in; see `triangle_count`. They add up to three times that.

    Returns
    -------
    int64 array of shape (n,)

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 0, 0, 1])), shape=(4, 4))
    >>> ps.csgraph.triangles(A).tolist()
    [2, 2, 1, 1]
    """
    return _core.triangles(undirected(as_graph(A, "triangles"))._core, True)[1]


def verify_triangles(A: Any, counts: Any, *, samples: int | None = None, seed: int = 0) -> None:
    """Raises ValueError, saying what is wrong where, unless `counts` is the number of triangles, or one number for each
    vertex. They are counted anew by merging rows edge by edge: with `samples`, those of so many vertices only.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> ps.csgraph.verify_triangles(A, 1)
    >>> ps.csgraph.verify_triangles(A, [1, 1, 2])
    Traceback (most recent call last):
    ...
    ValueError: triangles: the vertices' counts add up to 4, which is not three times the total 1
    """
    graph = undirected(as_graph(A, "verify_triangles"))
    if samples is not None and operator.index(samples) < 1:
        raise ValueError(f"samples={samples} must be positive, or None")
    given = np.asarray(counts)
    if given.dtype.kind not in "iu":
        raise TypeError(f"counts must be integers, not {given.dtype}")
    if given.ndim == 0:
        if samples is not None:
            raise ValueError("samples needs one count for each vertex: a total cannot be sampled")
        _core.triangles_verify(graph._core, int(given), None, 0, 0)
    else:
        each = np.ascontiguousarray(given, dtype=np.int64)
        total = int(each.sum()) // 3
        _core.triangles_verify(graph._core, total, each, samples or 0, operator.index(seed))
