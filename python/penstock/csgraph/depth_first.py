"""Depth-first search, and the trees of both searches."""

from __future__ import annotations

from typing import Any

from penstock.csgraph._graph import as_graph, vertex
from penstock.csgraph._scipy import as_given, as_scipy, theirs
from penstock.csgraph.breadth_first import breadth_first_order
from penstock.csgraph.reconstruct import reconstruct_path

__all__ = ["breadth_first_tree", "depth_first_order", "depth_first_tree"]


def depth_first_order(
    csgraph: Any, i_start: int, directed: bool = True, return_predecessors: bool = True
) -> Any:
    """The vertices in the order in which a depth-first search enters them, by SciPy's function of this name.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j; values are not read. Edges of a vertex are followed in the order
        in which they are stored.
    i_start : int
    directed : bool
        False: every edge can be walked both ways.
    return_predecessors : bool

    Returns
    -------
    node_array : int32 array, one entry for each vertex that is reached, `i_start` first.
    predecessors : int32 array of shape (n,), where asked for; -9999 for i_start and where there is no path.

    Raises ValueError for a matrix that is not square, a start outside the graph, and a graph that exceeds what SciPy
    can number in int32; TypeError for a start that is no integer.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(5, 5))
    >>> ps.csgraph.depth_first_order(A, 0)
    (array([0, 1, 3, 2], dtype=int32), array([-9999,     0,     0,     1, -9999], dtype=int32))
    """
    graph = as_graph(csgraph, "depth_first_order")
    start = vertex(graph, i_start, "i_start")
    scipys = as_scipy(graph, "depth_first_order")
    return theirs.depth_first_order(scipys, start, directed, return_predecessors)


def depth_first_tree(csgraph: Any, i_start: int, directed: bool = True) -> Any:
    """The tree of `depth_first_order` as a csr_array of shape (n, n), SciPy's for a SciPy `csgraph`: an entry, with its
    value in `csgraph`, for each edge over which a vertex is entered. Raises what `depth_first_order` raises.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(4, 4))
    >>> ps.csgraph.depth_first_tree(A, 0).toarray()
    array([[0., 1., 2., 0.],
           [0., 0., 0., 3.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """
    graph = as_graph(csgraph, "depth_first_tree")
    _, predecessors = depth_first_order(graph, i_start, directed)
    return as_given(reconstruct_path(graph, predecessors, directed), csgraph)


def breadth_first_tree(csgraph: Any, i_start: int, directed: bool = True) -> Any:
    """The tree of `breadth_first_order` as a csr_array of shape (n, n), SciPy's for a SciPy `csgraph`: an entry, with
    its value in `csgraph`, for each edge over which a vertex is reached. Raises what `breadth_first_order` raises.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 2.0, 3.0, 4.0], ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(4, 4))
    >>> ps.csgraph.breadth_first_tree(A, 0).data
    array([1., 2., 3.])
    """
    graph = as_graph(csgraph, "breadth_first_tree")
    _, predecessors = breadth_first_order(graph, i_start, directed)
    return as_given(reconstruct_path(graph, predecessors, directed), csgraph)
