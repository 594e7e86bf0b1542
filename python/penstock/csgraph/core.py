"""Core numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._csr import csr_array
from penstock.csgraph._graph import as_graph, undirected
from penstock.csgraph.bfs import as_labels


def core_number(A: Any) -> np.ndarray:
    """The core number of every vertex: the largest k such that it belongs to a subgraph in which every vertex has at
    least k neighbours.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry joins i and j: directions, duplicates, self loops and values are ignored.

    Returns
    -------
    int32 array of shape (n,), 0 for a vertex without neighbours. Independent of the number of threads.

    Raises ValueError for a matrix that is not square.

    By peeling (Batagelj, Zaversnik 2003), large steps on all threads (Kabir, Madduri 2017).

    >>> import penstock as ps
    >>> triangle_and_tail = ([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 3]))
    >>> ps.csgraph.core_number(ps.csr_array(triangle_and_tail, shape=(5, 5)))
    array([2, 2, 2, 1, 0], dtype=int32)
    """
    return _core.core_number(simple(as_graph(A, "core_number"))._core)


def verify_core_number(A: Any, cores: Any) -> None:
    """Raises ValueError, saying what is wrong where, unless these are the core numbers of A. Counts the neighbours of
    every vertex that support its number, then takes vertices away in ascending order of the numbers.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> ps.csgraph.verify_core_number(A, [2, 2, 2])
    """
    graph = simple(as_graph(A, "verify_core_number"))
    _core.core_verify(graph._core, as_labels(cores, "cores"))


def simple(graph: csr_array) -> csr_array:
    """Every edge in both directions and once, self loops left out, as a pattern whose rows ascend: the graph itself
    where it is that. Kept with it."""
    known = graph._derived.get("simple")  # True for itself: a matrix that holds itself is never freed
    if known is None:
        both = undirected(graph)
        known = both if _core.is_simple(both._core) else _without_repeats(both)
        graph._derived["simple"] = True if known is graph else known
    return graph if known is True else known


def _without_repeats(graph: csr_array) -> csr_array:
    row = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    keep = row != graph.indices
    core = _core.coo_to_csr(
        *graph.shape, row[keep], graph.indices[keep], None, sum_duplicates=True
    )
    return csr_array._wrap(core)
