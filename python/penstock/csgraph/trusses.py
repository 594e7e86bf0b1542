"""Trusses: subgraphs whose edges are in many triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph, simple
from penstock.csgraph._scipy import as_given

__all__ = ["k_truss", "truss_numbers"]


def truss_numbers(A: Any) -> Any:
    """The truss number of every edge: the largest k such that it belongs to a subgraph in which every edge is in at
    least k - 2 triangles.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry joins i and j: directions, duplicates, self loops and values are ignored.

    Returns
    -------
    csr_array of shape (n, n) and float64, SciPy's for a SciPy A
        Each edge in both directions, its value the truss number, 2.0 for an edge in no triangle. `T >= k` of the result
        T are the edges of the k-truss. Independent of the number of threads.

    Raises ValueError for a matrix that is not square.

    By peeling (Cohen 2008) on all threads (Kabir, Madduri 2017). About 60 bytes an edge, and 8 a vertex and thread are
    needed meanwhile.

    >>> import penstock as ps
    >>> triangle_and_tail = ([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> A = ps.csr_array(triangle_and_tail, shape=(4, 4))
    >>> ps.csgraph.truss_numbers(A).toarray()
    array([[0., 3., 3., 0.],
           [3., 0., 3., 0.],
           [3., 3., 0., 2.],
           [0., 0., 2., 0.]])
    """
    return as_given(_numbers(as_graph(A, "truss_numbers")), A)


def k_truss(A: Any, k: int) -> Any:
    """The largest subgraph in which every edge is in at least k - 2 triangles (Cohen 2008), by `truss_numbers`.

    Parameters
    ----------
    A : as for `truss_numbers`
    k : int
        Up to 2: all edges but self loops.

    Returns
    -------
    csr_array of shape (n, n), of A's type; SciPy's in float64 for a SciPy A
        The entries of A that join vertices along an edge of the truss, with their values, in the directions in which A
        has them; duplicates are added up. Vertices keep their numbers: those outside the truss have no entries.
        `networkx.k_truss` has the same edges.

    Raises ValueError for a matrix that is not square, TypeError for a k that is no integer.

    >>> import penstock as ps
    >>> triangle_and_tail = ([1.0, 5.0, 2.0, 7.0], ([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> ps.csgraph.k_truss(ps.csr_array(triangle_and_tail, shape=(4, 4)), 3).toarray()
    array([[0., 1., 0., 0.],
           [0., 0., 5., 0.],
           [2., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """
    graph = as_graph(A, "k_truss")
    least = integer(k, "k", -(2**62))
    edges = simple(graph) if least <= 2 else _numbers(graph) >= least
    return as_given(graph.mask(edges), A)


def _numbers(graph: csr_array) -> csr_array:
    edges = simple(graph)
    numbers = _core.truss_numbers(edges._core).astype(np.float64)
    made = csr_array._from_parts(
        *edges.shape, edges.indptr, edges.indices, numbers, validate="cheap"
    )
    made._derived.symmetric_pattern = True
    return made
