"""How alike vertices are by the neighbours that they share."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, unmasked
from penstock._choices import MEASURES, one_of
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph, simple, vertices

__all__ = ["most_similar", "similarity"]


def similarity(A: Any, pairs: Any, measure: str = "jaccard") -> np.ndarray:
    """How alike the two vertices of each pair are, by the neighbours that they share.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry joins i and j: directions, duplicates, self loops and values are ignored.
    pairs : integers of shape (m, 2)
        Pairs of vertices, which may repeat, be joined by an edge or not, or be a vertex and itself.
    measure : str
        With N(u) the neighbours of u, d(u) their number, and S those that u and v share:

        - "common_neighbors": |S|
        - "jaccard": |S| / |N(u) or N(v)|
        - "overlap": |S| / min(d(u), d(v))
        - "cosine": |S| / sqrt(d(u) d(v))
        - "adamic_adar": the sum of 1 / log(d(w)) over the w in S
        - "resource_allocation": the sum of 1 / d(w) over the w in S

    Returns
    -------
    float64 array of shape (m,), 0.0 where nothing is shared. Independent of the number of threads.

    Of a graph without self loops these are `networkx.jaccard_coefficient`, `adamic_adar_index` and
    `resource_allocation_index`. NetworkX counts a self loop in the union of Jaccard's coefficient, and twice in a
    degree; here it is no edge. "adamic_adar" of a vertex and itself is inf where a neighbour has no other one, since
    log(1) is 0; NetworkX divides by zero there.

    Raises ValueError for a matrix that is not square, pairs of another shape, vertices that are not there and unknown
    measures; TypeError for pairs that are not integers.

    Two rows are merged, or the shorter one is searched for in the longer one. Adamic, Adar (2003); Zhou, Lue, Zhang
    (2009).

    >>> import penstock as ps
    >>> square = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 3, 0, 4])), shape=(5, 5))
    >>> ps.csgraph.similarity(square, [(0, 2), (1, 3), (0, 1)]).tolist()
    [1.0, 0.6666666666666666, 0.0]
    >>> ps.csgraph.similarity(square, [(1, 3)], measure="common_neighbors").tolist()
    [2.0]
    """
    graph = as_graph(A, "similarity")
    one_of("measure", measure, MEASURES)
    u, v = _pairs(graph, pairs)
    scores: np.ndarray = _core.similarity(simple(graph)._core, u, v, measure)
    return scores


def most_similar(
    A: Any, vertices: Any, k: int, measure: str = "jaccard", *, neighbours: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The k vertices that are most alike to each of the given ones, by the neighbours that they share.

    Parameters
    ----------
    A, measure : as for `similarity`
    vertices : integers of shape (m,), or one integer
        They may repeat.
    k : int
        At least 1.
    neighbours : bool
        False: vertices that an edge joins with the given one are left out, as where new edges are predicted.

    Returns
    -------
    others : int32 array of shape (m, k)
        The largest measure first; of equal ones the smaller number. A vertex is never among its own. Where fewer than k
        share a neighbour with it, -1 fills the row.
    scores : float64 array of shape (m, k)
        What `similarity` returns for these pairs, bit for bit; 0.0 where `others` is -1.

    Independent of the number of threads.

    Raises as `similarity` does, ValueError for a k below 1, and TypeError for one that is no integer.

    The rows of a vertex's neighbours are walked once, and sums are kept for all that they hold: in an array of 8 bytes
    a vertex and thread, or in a hash table where they hold little. The walk of a vertex whose neighbours have many is
    shared among the threads.

    >>> import penstock as ps
    >>> square = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 3, 0, 4])), shape=(5, 5))
    >>> others, scores = ps.csgraph.most_similar(square, [0, 3], 3)
    >>> others
    array([[ 2,  4, -1],
           [ 1, -1, -1]], dtype=int32)
    >>> scores.round(2)
    array([[1.  , 0.5 , 0.  ],
           [0.67, 0.  , 0.  ]])
    """
    graph = as_graph(A, "most_similar")
    one_of("measure", measure, MEASURES)
    some = _some(graph, vertices)
    most, neighbours = integer(k, "k", 1), flag(neighbours, "neighbours")
    others, scores = _core.most_similar(simple(graph)._core, some, most, measure, neighbours)
    return others.reshape(some.size, most), scores.reshape(some.size, most)


def _some(graph: csr_array, numbers: Any) -> np.ndarray:
    return vertices(graph, unmasked(numbers, "vertices"), "vertices")


def _pairs(graph: csr_array, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Their first and their second vertices, each checked."""
    given = np.asarray(unmasked(pairs, "pairs"))
    if given.size == 0 and given.ndim <= 2:
        given = np.empty((0, 2), dtype=np.int32)
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(f"pairs has shape {given.shape}: give (m, 2), two vertices a row")
    if given.dtype.kind not in "iu":
        raise TypeError(f"pairs must be integers, not {given.dtype}")
    n = graph.shape[0]
    outside = (given < 0) | (given >= n)
    if outside.any():
        i, side = divmod(int(outside.argmax()), 2)
        raise ValueError(f"pairs[{i}, {side}]={given[i, side]} is outside a graph of {n} vertices")
    u, v = np.ascontiguousarray(given.T, dtype=np.int32)
    return u, v
