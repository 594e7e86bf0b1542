"""Shortest paths by the name of a method, between all pairs, and the next best ones."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock._arrays.out import as_out
from penstock.csgraph._gpu import on_cpu
from penstock.csgraph._graph import as_graph, rows_of
from penstock.csgraph._scipy import as_scipy, theirs
from penstock.csgraph.paths_negative import bellman_ford, johnson, least_weight
from penstock.csgraph.shortest_paths import dijkstra

__all__ = ["floyd_warshall", "shortest_path", "yen"]

_BY_SOURCE = {"BF": bellman_ford, "J": johnson}


def shortest_path(
    csgraph: Any,
    method: str = "auto",
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
    indices: Any = None,
    *,
    out: Any = None,
    device: Any = None,
) -> Any:
    """Distances by the method that is asked for, with the signature of `scipy.sparse.csgraph.shortest_path`.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        See `dijkstra`.
    method : "auto", "FW", "D", "BF" or "J"
        `floyd_warshall`, `dijkstra`, `bellman_ford` or `johnson`. "auto", as in SciPy: "FW" where no `indices` are
        given and a quarter of all entries or more is stored; else "J" where a length is below zero, and "D".
    directed, return_predecessors, unweighted, indices
        See `dijkstra`; "FW" takes no `indices`.
    overwrite : bool
        Allows to overwrite a dense `csgraph`. Nothing is overwritten.
    out : float64 array of the shape of the distances, optional
        Gets the distances, and is what is returned for them; see `sssp`. On a GPU with "D" alone.
    device
        See `sssp`; a GPU with "D" alone.

    Returns what the function of the method returns, and raises what it raises; ValueError for another method, and for a
    GPU with a method that has none.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.shortest_path(A, indices=0)
    array([0., 3., 1.])
    """
    graph = as_graph(csgraph, "shortest_path")
    if method == "auto":
        if indices is None and 4 * graph.nnz >= graph.shape[0] ** 2:
            method = "FW"
        else:
            method = "J" if not unweighted and least_weight(graph) < 0 else "D"
    if method == "D":
        return dijkstra(
            graph, directed, indices, return_predecessors, unweighted, out=out, device=device
        )
    name = f'shortest_path with method="{method}"'
    on_cpu(graph, name, device)
    to = as_out(out, rows_of(graph, indices)[1], np.float64, [], name)
    found = _on_cpu(graph, method, directed, return_predecessors, unweighted, overwrite, indices)
    if to is None:
        return found
    return (to.filled(found[0]), *found[1:]) if return_predecessors else to.filled(found)


def _on_cpu(
    graph: Any,
    method: str,
    directed: bool,
    return_predecessors: bool,
    unweighted: bool,
    overwrite: bool,
    indices: Any,
) -> Any:
    if method == "FW":
        if indices is not None:
            raise ValueError('method="FW" finds all pairs: leave indices out, or choose D, BF or J')
        return floyd_warshall(graph, directed, return_predecessors, unweighted, overwrite)
    if method not in _BY_SOURCE:
        words = ", ".join(["auto", "FW", "D", *_BY_SOURCE])
        raise ValueError(f"method={method!r} is unknown: choose one of {words}")
    return _BY_SOURCE[method](graph, directed, indices, return_predecessors, unweighted)


def floyd_warshall(
    csgraph: Any,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
    overwrite: bool = False,
) -> Any:
    """Distances between all pairs, by SciPy's function of this name: n^3 steps over a dense matrix, for small dense
    graphs. `overwrite=True` allows to overwrite a dense `csgraph`; nothing is overwritten.

    Returns a float64 array of shape (n, n), and predecessors, int32, where asked for. Raises NegativeCycleError, and
    ValueError for a matrix that is not square or exceeds what SciPy can number in int32.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.floyd_warshall(A)
    array([[ 0.,  3.,  1.],
           [inf,  0., inf],
           [inf,  2.,  0.]])
    """
    graph = as_scipy(as_graph(csgraph, "floyd_warshall"), "floyd_warshall", weights=True)
    return theirs.floyd_warshall(graph, directed, return_predecessors, unweighted)


def yen(
    csgraph: Any,
    source: int,
    sink: int,
    K: int,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    unweighted: bool = False,
) -> Any:
    """The K shortest paths without loops from `source` to `sink`, by SciPy's function of this name (Yen 1971).

    Returns the distances, float64, ascending, fewer than K where there are not so many paths; and where asked for
    predecessors, int32, a row of n for each path, -9999 for vertices that are not on it. Raises NegativeCycleError,
    and ValueError for a vertex outside the graph, K below 1, and a graph that exceeds what SciPy can number in int32.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.yen(A, 0, 1, K=3)
    array([3., 4.])
    """
    graph = as_graph(csgraph, "yen")
    n = graph.shape[0]
    for v, name in ((source, "source"), (sink, "sink")):
        if not 0 <= operator.index(v) < n:
            raise ValueError(f"{name}={v}: a vertex must have 0 <= {name} < {n}")
    if K < 1:
        raise ValueError(f"K={K!r}: give how many paths are wanted, at least 1")
    how = {
        "directed": directed,
        "return_predecessors": return_predecessors,
        "unweighted": unweighted,
    }
    return theirs.yen(as_scipy(graph, "yen", weights=True), source, sink, K, **how)
