"""Graphs as dense arrays and masked arrays, and back, by SciPy's functions of these names."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph
from penstock.csgraph._scipy import as_scipy, is_dense_graph, theirs

__all__ = [
    "csgraph_from_dense",
    "csgraph_from_masked",
    "csgraph_masked_from_dense",
    "csgraph_to_dense",
    "csgraph_to_masked",
]


def csgraph_from_dense(
    graph: Any, null_value: float | None = 0, nan_null: bool = True, infinity_null: bool = True
) -> csr_array:
    """The edges of a dense graph as a float64 csr_array.

    Parameters
    ----------
    graph : array of shape (n, n)
    null_value : float or None
        What says that there is no edge.
    nan_null, infinity_null : bool
        True: NaN, or infinities, say so, too.

    Raises ValueError for an array that is not square.

    >>> import numpy as np, penstock as ps
    >>> ps.csgraph.csgraph_from_dense([[0, 2], [np.inf, 0]]).data
    array([2.])
    """
    made = theirs.csgraph_from_dense(_dense(graph), null_value, nan_null, infinity_null)
    return csr_array(made, copy=False)


def csgraph_from_masked(graph: Any) -> csr_array:
    """The entries of a masked array of shape (n, n) that are not masked, zeros among them, as a float64 csr_array.

    >>> import numpy as np, penstock as ps
    >>> dense = np.ma.masked_equal([[0.0, 2.0], [3.0, 0.0]], 0)
    >>> ps.csgraph.csgraph_from_masked(dense).data
    array([2., 3.])
    """
    if not np.ma.isMaskedArray(graph):
        raise TypeError(
            f"csgraph_from_masked takes a masked array, not {type(graph).__name__}: csgraph_from_dense takes others"
        )
    return csr_array(theirs.csgraph_from_masked(graph), copy=False)


def csgraph_masked_from_dense(
    graph: Any,
    null_value: float | None = 0,
    nan_null: bool = True,
    infinity_null: bool = True,
    copy: bool = True,
) -> np.ma.MaskedArray:
    """A dense graph as a masked array of the same shape and type, in which what is no edge is masked. Parameters are
    those of `csgraph_from_dense`; copy=False shares the memory of `graph`.

    >>> import penstock as ps
    >>> ps.csgraph.csgraph_masked_from_dense([[0, 2], [3, 0]]).tolist()
    [[None, 2], [3, None]]
    """
    return theirs.csgraph_masked_from_dense(
        _dense(graph), null_value, nan_null, infinity_null, copy
    )


def csgraph_to_dense(csgraph: Any, null_value: float = 0) -> np.ndarray:
    """A sparse graph as a float64 array of shape (n, n), `null_value` where there is no edge; of parallel edges the
    smallest, where `toarray` adds up.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(([0.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> ps.csgraph.csgraph_to_dense(A, null_value=np.inf)
    array([[inf,  0.],
           [ 2., inf]])
    """
    return theirs.csgraph_to_dense(_sparse(csgraph, "csgraph_to_dense"), null_value)


def csgraph_to_masked(csgraph: Any) -> np.ma.MaskedArray:
    """A sparse graph as a float64 masked array of shape (n, n), masked where there is no edge.

    >>> import penstock as ps
    >>> A = ps.csr_array(([0.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> ps.csgraph.csgraph_to_masked(A).tolist()
    [[None, 0.0], [2.0, None]]
    """
    return theirs.csgraph_to_masked(_sparse(csgraph, "csgraph_to_masked"))


def _dense(graph: Any) -> Any:
    if not is_dense_graph(graph):
        raise TypeError(f"a dense array is wanted, not a {type(graph).__name__}")
    return graph


def _sparse(graph: Any, what: str) -> Any:
    if is_dense_graph(graph):
        raise TypeError(f"{what} takes a sparse graph, not a {type(graph).__name__}")
    return as_scipy(as_graph(graph, what), what, weights=True)
