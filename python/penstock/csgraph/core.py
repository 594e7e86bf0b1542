"""Core numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.csgraph._graph import as_graph, simple
from penstock.csgraph.breadth_first import as_labels


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
    cores: Any = _core.core_number(simple(as_graph(A, "core_number"))._core)
    return cores


def verify_core_number(A: Any, cores: Any) -> None:
    """Raises ValueError, saying what is wrong where, unless these are the core numbers of A. Counts the neighbours of
    every vertex that support its number, then takes vertices away in ascending order of the numbers.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> ps.csgraph.verify_core_number(A, [2, 2, 2])
    """
    graph = simple(as_graph(A, "verify_core_number"))
    _core.core_verify(graph._core, as_labels(cores, "cores"))
