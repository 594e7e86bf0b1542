"""Matchings in bipartite graphs, by SciPy's functions. Rows are one side, columns the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.csgraph._scipy import as_scipys_own, theirs

__all__ = [
    "maximum_bipartite_matching",
    "min_weight_full_bipartite_matching",
    "structural_rank",
]


def maximum_bipartite_matching(graph: Any, perm_type: str = "row") -> np.ndarray:
    """As many pairs of a row and a column that share an entry as there can be, each in one pair at most, by SciPy's
    function of this name (Hopcroft, Karp 1973).

    Parameters
    ----------
    graph : csr_array of shape (rows, cols), or a sparse array or tensor that csr_array takes; TypeError for a dense one
        Values are not read; explicit zeros are edges.
    perm_type : "row" or "column"
        What is found for each of the other side.

    Returns an int32 array: the row of each column, or the column of each row, -1 where there is none. Raises ValueError
    for a graph that exceeds what SciPy can number in int32.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 0, 1], [0, 1, 0])), shape=(2, 3))
    >>> ps.csgraph.maximum_bipartite_matching(A, perm_type="column")
    array([1, 0], dtype=int32)
    """
    if perm_type not in ("row", "column"):
        raise ValueError(f"perm_type={perm_type!r} is neither 'row' nor 'column'")
    return theirs.maximum_bipartite_matching(
        as_scipys_own(graph, "maximum_bipartite_matching"), perm_type
    )


def min_weight_full_bipartite_matching(
    biadjacency: Any, maximize: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """A pair for every row (or for every column, where those are fewer) with the least sum of weights, by SciPy's
    function of this name (Jonker, Volgenant 1987).

    `biadjacency` is a csr_array of shape (rows, cols), or a sparse array or tensor that csr_array takes; an explicit
    zero is no edge but an error, as in SciPy. `maximize=True` asks for the largest sum. Returns the rows, ascending,
    and their columns. Raises ValueError where there is no such matching, for weights of 0, and for a graph that
    exceeds what SciPy can number in int32; TypeError for a dense array.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 5.0, 2.0, 7.0], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    >>> [side.tolist() for side in ps.csgraph.min_weight_full_bipartite_matching(A)]
    [[0, 1], [1, 0]]
    """
    given = as_scipys_own(biadjacency, "min_weight_full_bipartite_matching")
    return theirs.min_weight_full_bipartite_matching(given, maximize)


def structural_rank(graph: Any) -> int:
    """The largest rank that a matrix with these entries can have, whatever their values: the size of a maximum
    matching of rows and columns, by SciPy's function of this name.

    `graph` is as for `maximum_bipartite_matching`.

    >>> import penstock as ps
    >>> ps.csgraph.structural_rank(ps.csr_array(([1.0, 1.0], ([0, 1], [1, 1])), shape=(2, 2)))
    1
    """
    return int(theirs.structural_rank(as_scipys_own(graph, "structural_rank")))
