"""Minimum spanning trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import on_cpu
from penstock.csgraph._graph import as_graph, symmetric_weights
from penstock.csgraph._scipy import as_given, require_real_weights

__all__ = ["minimum_spanning_tree", "verify_minimum_spanning_tree"]


def minimum_spanning_tree(csgraph: Any, overwrite: bool = False, *, device: Any = None) -> Any:
    """A minimum spanning tree of each component, with the signature of `scipy.sparse.csgraph.minimum_spanning_tree`.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) joins i and j, its value the weight, of any sign; a pattern's edges have weight 1. Where
        (i, j) and (j, i) are both there, the smaller one counts. Explicit zeros are edges of weight 0.
    overwrite : bool
        Allows to overwrite `csgraph`. Nothing is overwritten.
    device : None or "cpu"
        The trees are found on the CPU.

    Returns
    -------
    csr_array of shape (n, n), of the graph's type; SciPy's in float64 for a SciPy `csgraph`
        n less the number of components entries of `csgraph`, each where it is stored. Unlike SciPy's, it keeps edges of
        weight 0. Of equal weights the one stored first is preferred: so there is one result, whatever the number of
        threads. SciPy's may have other edges, of the same sum.

    Raises ValueError for a matrix that is not square, complex weights, NaN (naming the edge), and a GPU; TypeError for
    a device that is none.

    By the rounds of Boruvka (1926), on all threads, over the edges that still join two trees; those above the diagonal
    alone where the matrix is symmetric. 8 bytes and a weight for each stored entry are needed meanwhile.

    >>> import penstock as ps
    >>> A = ps.csr_array(([3.0, 1.0, 2.0], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    >>> ps.csgraph.minimum_spanning_tree(A).toarray()
    array([[0., 0., 1.],
           [0., 0., 2.],
           [0., 0., 0.]])
    """
    graph = as_graph(csgraph, "minimum_spanning_tree")
    on_cpu(graph, "minimum_spanning_tree", device)
    require_real_weights(graph, "minimum_spanning_tree")
    row, col, values = _core.minimum_spanning_forest(graph._core, symmetric_weights(graph))
    made = csr_array._wrap(_core.coo_to_csr(*graph.shape, row, col, values))
    return as_given(made, csgraph)


def verify_minimum_spanning_tree(A: Any, tree: Any) -> None:
    """Raises ValueError, saying what is wrong where, unless `tree` is a minimum spanning forest of A: entries of A that
    form no cycle, and join the ends of every entry of A by entries that are no larger. Any of several is right.

    >>> import penstock as ps
    >>> A = ps.csr_array(([3.0, 1.0, 2.0], ([0, 0, 1], [1, 2, 2])), shape=(3, 3))
    >>> ps.csgraph.verify_minimum_spanning_tree(A, ps.csgraph.minimum_spanning_tree(A))
    >>> other = ps.csr_array(([3.0, 1.0], ([0, 0], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.verify_minimum_spanning_tree(A, other)
    Traceback (most recent call last):
    ...
    ValueError: minimum_spanning_tree: the edge 1 -> 2 of weight 2 has no path in the forest by edges of that or less
    """
    graph = as_graph(A, "verify_minimum_spanning_tree")
    forest = as_graph(tree, "verify_minimum_spanning_tree")
    if forest.dtype != graph.dtype:
        if graph.dtype == np.bool_:
            raise ValueError(
                f"the graph is a pattern, whose edges have weight 1: give a pattern, not {forest.dtype}"
            )
        forest = forest.astype(graph.dtype)
    _core.minimum_spanning_forest_verify(graph._core, forest._core)
