"""From predecessors back to trees and distances."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph
from penstock.csgraph._scipy import as_given, as_scipy, theirs

__all__ = ["construct_dist_matrix", "reconstruct_path"]


def reconstruct_path(csgraph: Any, predecessors: Any, directed: bool = True) -> Any:
    """The tree that predecessors describe, with the signature of `scipy.sparse.csgraph.reconstruct_path`.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        The graph that was searched. Of parallel edges the smallest is taken; explicit zeros are edges.
    predecessors : integers of shape (n,)
        Who leads to each vertex; below zero where nobody does.
    directed : bool
        False: an edge may have been walked backward.

    Returns
    -------
    csr_array of shape (n, n), of the graph's type, or SciPy's in float64 for a SciPy `csgraph`: an entry
    (predecessors[v], v) for each v that has one.

    Raises ValueError where `predecessors` has another shape, a number outside the graph, or names a pair that no edge
    joins, and TypeError for numbers that are no integers.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.reconstruct_path(A, [-9999, 2, 0]).toarray()
    array([[0., 0., 1.],
           [0., 0., 0.],
           [0., 2., 0.]])
    """
    graph = as_graph(csgraph, "reconstruct_path")
    n = graph.shape[0]
    before = _predecessors(predecessors, (n,), n)
    start, end, value = _tree_edges(graph, before)
    if not directed:
        more = _tree_edges(graph.T.formed(), before)
        start, end, value = (
            np.concatenate(pair) for pair in zip((start, end, value), more, strict=True)
        )
    # the smallest of parallel edges, one for each end
    order = np.lexsort((value, end))
    end = end[order]
    first = np.ones(end.size, bool)
    first[1:] = end[1:] != end[:-1]
    start, end, value = start[order][first], end[first], value[order][first]
    missing = before >= 0
    missing[end] = False
    if missing.any():
        v = int(missing.argmax())
        raise ValueError(
            f"predecessors[{v}] = {before[v]}, but the graph has no edge {before[v]} -> {v}"
        )
    values = None if graph.dtype == np.bool_ else value
    return as_given(csr_array._wrap(_core.coo_to_csr(n, n, start, end, values)), csgraph)


def _tree_edges(graph: csr_array, before: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column, value) of the entries (before[v], v)."""
    row = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    some = np.flatnonzero(before[graph.indices] == row)
    return row[some], graph.indices[some], graph.data[some]


def construct_dist_matrix(
    graph: Any, predecessors: Any, directed: bool = True, null_value: float = np.inf
) -> np.ndarray:
    """Distances between all pairs from the predecessors of each search, by SciPy's function of this name.

    `predecessors` is an int32 array of shape (n, n), a row for each source, -9999 where there is no path. Returns a
    float64 array of shape (n, n), `null_value` where there is no path. Raises TypeError for predecessors of another
    type, and ValueError for another shape, a number outside the graph, predecessors that go round in a cycle (on which
    SciPy's function would not end), and a graph that exceeds what SciPy can number in int32.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> _, predecessors = ps.csgraph.dijkstra(A, return_predecessors=True)
    >>> ps.csgraph.construct_dist_matrix(A, predecessors)
    array([[ 0.,  3.,  1.],
           [inf,  0., inf],
           [inf,  2.,  0.]])
    """
    read = as_graph(graph, "construct_dist_matrix")
    n = read.shape[0]
    given = np.asarray(predecessors)
    if given.dtype != np.int32:
        raise TypeError(f"predecessors must be int32, not {given.dtype}")
    before = _predecessors(given, (n, n), n)
    _check_ends(before)
    scipys = as_scipy(read, "construct_dist_matrix", weights=True)
    return theirs.construct_dist_matrix(scipys, before, directed, null_value)


def _check_ends(before: np.ndarray) -> None:
    """Raises ValueError where a row's predecessors lead round in a cycle."""
    n = before.shape[0]
    ahead = np.full((n, n + 1), n, np.int32)  # n is where all paths end
    ahead[:, :n] = np.where(before < 0, n, before)
    np.fill_diagonal(ahead, n)
    steps = 1
    while steps < n:
        ahead, steps = np.take_along_axis(ahead, ahead.astype(np.intp), axis=1), 2 * steps
    if (ahead != n).any():
        i, j = (int(k) for k in np.argwhere(ahead != n)[0])
        raise ValueError(f"predecessors[{i}] leads from {j} into a cycle, and never to {i}")


def _predecessors(given: Any, shape: tuple[int, ...], n: int) -> np.ndarray:
    before = np.asarray(given)
    if before.shape != shape:
        raise ValueError(f"predecessors has shape {before.shape}: give {shape}")
    if before.size and before.dtype.kind not in "iu":
        raise TypeError(f"predecessors must be integers, not {before.dtype}")
    if before.size and operator.index(before.max()) >= n:
        raise ValueError(
            f"predecessors has {before.max()}, which is outside a graph of {n} vertices"
        )
    return np.where(before < 0, -9999, before).astype(np.int32)  # SciPy's mark alone is safe there
