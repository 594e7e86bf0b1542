"""Shortest paths over lengths of any sign: Bellman-Ford and Johnson."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import on_cpu
from penstock.csgraph._graph import as_graph, rows_of
from penstock.csgraph._scipy import theirs
from penstock.csgraph.shortest_paths import both_ways, each, pattern

__all__ = ["NegativeCycleError", "bellman_ford", "johnson", "least_weight"]

NegativeCycleError = theirs.NegativeCycleError
"""SciPy's exception of this name: what `bellman_ford`, `johnson`, `yen` and `floyd_warshall` raise where a path gets
shorter for ever.

>>> import penstock as ps
>>> A = ps.csr_array(([1.0, -2.0], ([0, 1], [1, 0])), shape=(2, 2))
>>> ps.csgraph.bellman_ford(A)
Traceback (most recent call last):
...
scipy.sparse.csgraph._shortest_path.NegativeCycleError: a negative cycle of 2 edges: 0 -> 1 -> 0
"""

_SHOWN = 8  # vertices of a negative cycle


def bellman_ford(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    *,
    device: Any = None,
) -> Any:
    """Distances from one or more vertices over lengths of any sign, with the signature of
    `scipy.sparse.csgraph.bellman_ford`.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j, its value the length: below zero, too. A pattern's edges have
        length 1. Explicit zeros are edges of length 0, of duplicates the shortest counts, and an infinite edge is none.
    directed : bool
        False: every edge can be walked both ways, so that one below zero is a negative cycle.
    indices : int or array of integers, optional
        The sources, -n .. n - 1; all vertices where it is None.
    return_predecessors : bool
    unweighted : bool
        True: every edge has length 1.
    device : None or "cpu"
        The search runs on the CPU.

    Returns
    -------
    dist_matrix : float64 array of the shape of `indices` and n
        inf where there is no path.
    predecessors : int32 array of that shape, where asked for
        The vertex before each on a shortest path, -9999 for the source and where there is no path. Of several the one
        on a path with the fewest edges, and then the smallest; where no length is below zero, that of `dijkstra`.

    Raises NegativeCycleError, which is SciPy's, and names the cycle, where one can be reached from a source;
    ValueError that names the edge where a length is NaN or minus infinity, for a matrix that is not square, a source
    outside the graph, and a GPU. Lengths are added up in float64. What a cycle falls short of zero by rounding alone
    does not count. All is the same, bit for bit, for any number of threads.

    Without lengths below zero by delta-stepping, as in `sssp`. With them in rounds (Bellman 1958): the vertices that a
    round has lowered tell their neighbours in the next one, on all threads; every few rounds it looks for a cycle
    (Cherkassky, Goldberg 1999). Many sources are searched from side by side.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 5.0, -3.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.bellman_ford(A, indices=0)
    array([0., 2., 5.])
    >>> ps.csgraph.bellman_ford(A, indices=[0, 2], return_predecessors=True)[1]
    array([[-9999,     2,     0],
           [-9999,     2, -9999]], dtype=int32)
    """
    graph = _prepared(csgraph, "bellman_ford", directed, unweighted, device)
    starts, shape = rows_of(graph, indices)
    if least_weight(graph) >= 0:
        lengths, trees = each(_in_float64(graph), starts, math.inf, return_predecessors)
    else:
        lengths, trees = _search(graph, starts, return_predecessors)
    return _shaped(lengths, trees, shape)


def johnson(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """Distances over lengths of any sign, with the signature of `scipy.sparse.csgraph.johnson`: one search by
    Bellman-Ford makes all lengths zero or more, and each source is then searched from as in `dijkstra`.

    Parameters, results and errors are those of `bellman_ford`, which is as exact as float64 allows and faster for a few
    sources; this one is for many, and its distances are rounded where the lengths are. A negative cycle is an error
    wherever it is, whether a source reaches it or not.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 5.0, -3.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.johnson(A)
    array([[ 0.,  2.,  5.],
           [inf,  0., inf],
           [inf, -3.,  0.]])
    """
    graph = _prepared(csgraph, "johnson", directed, unweighted, None)
    starts, shape = rows_of(graph, indices)
    if least_weight(graph) >= 0:
        lengths, trees = each(_in_float64(graph), starts, math.inf, return_predecessors)
        return _shaped(lengths, trees, shape)
    n = graph.shape[0]
    heights, _, cycle = _core.bellman_ford(
        graph._core, np.arange(n, dtype=np.int32), True, predecessors=False
    )
    _check(cycle)
    ends = np.repeat(np.arange(n, dtype=np.int32), np.diff(graph.indptr)), graph.indices
    raised = graph.data + heights[ends[0]]
    raised -= heights[ends[1]]
    np.maximum(raised, 0.0, out=raised)  # below zero by rounding alone
    above = csr_array._from_parts(n, n, graph.indptr, graph.indices, raised, validate="cheap")
    lengths, trees = each(above, starts, math.inf, return_predecessors)
    lengths -= heights[starts][:, None]
    lengths += heights
    return _shaped(lengths, trees, shape)


def least_weight(graph: csr_array) -> float:
    """The smallest length, found once; raises ValueError for one that is NaN or minus infinity."""
    return graph._derived.once("least_weight", lambda: _core.least_weight(graph._core))


def _prepared(a: Any, what: str, directed: bool, unweighted: bool, device: Any) -> csr_array:
    graph = as_graph(a, what)
    on_cpu(graph, what, device)
    if unweighted:
        graph = pattern(graph)
    return graph if directed else both_ways(graph)


def _in_float64(graph: csr_array) -> csr_array:
    return graph.astype(np.float64) if graph.dtype == np.float32 else graph


def _search(graph: csr_array, starts: np.ndarray, tree: bool) -> tuple[np.ndarray, Any]:
    lengths, trees, cycle = _core.bellman_ford(graph._core, starts, False, predecessors=bool(tree))
    _check(cycle)
    shape = (starts.size, graph.shape[0])
    return lengths.reshape(shape), None if trees is None else trees.reshape(shape)


def _check(cycle: list[int]) -> None:
    if not cycle:
        return
    round_trip = [*cycle, cycle[0]]
    if len(round_trip) > _SHOWN:
        words = " -> ".join(map(str, round_trip[: _SHOWN - 1])) + f" -> ... -> {cycle[0]}"
    else:
        words = " -> ".join(map(str, round_trip))
    edges = "1 edge" if len(cycle) == 1 else f"{len(cycle)} edges"
    raise NegativeCycleError(f"a negative cycle of {edges}: {words}")


def _shaped(lengths: np.ndarray, trees: Any, shape: tuple[int, ...]) -> Any:
    return (
        lengths.reshape(shape) if trees is None else (lengths.reshape(shape), trees.reshape(shape))
    )
