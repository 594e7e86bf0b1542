"""Connected components, weak and strong."""

from __future__ import annotations

import operator
from typing import Any

from penstock import _core
from penstock._csr import csr_array
from penstock.csgraph._graph import as_graph
from penstock.csgraph._incoming import edges_in, note_missed, plan_of
from penstock.csgraph.bfs import as_labels


def connected_components(
    A: Any, directed: bool = True, connection: str = "weak", return_labels: bool = True
) -> Any:
    """Connected components.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j; values are not read.
    directed : bool
        False: edges can be walked both ways, so that strong components are weak ones.
    connection : "weak" or "strong"
        Weak: there is a path when directions are ignored. Strong: there is a path each way.
    return_labels : bool

    Returns
    -------
    count : int
    labels : int32 array of shape (n,), where asked for
        0..count-1, in the order of each component's smallest vertex. Independent of the number of threads.

    Raises ValueError for a matrix that is not square and another `connection`.

    Weak components come from one search that takes a giant component, and Afforest (Sutton, Ben-Nun, Barak 2018,
    section IV) where there is none near; strong ones from `strongly_connected_components`.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.connected_components(A)
    (3, array([0, 1, 0, 1, 2], dtype=int32))
    """
    _check_connection(connection)
    graph = as_graph(A, "connected_components")
    strong = connection == "strong" and directed
    return _find(graph, strong, return_labels)


def strongly_connected_components(A: Any, return_labels: bool = True) -> Any:
    """Strongly connected components: vertices share one where there is a path each way.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j; values are not read.
    return_labels : bool

    Returns
    -------
    count : int
    labels : int32 array of shape (n,), where asked for
        0..count-1, in the order of each component's smallest vertex, which need not be a topological order.
        Independent of the number of threads.

    Raises ValueError for a matrix that is not square.

    Where the edges into each vertex are at hand (see `bfs`), vertices on no cycle are trimmed and two searches take the
    giant component (Slota, Rajamanickam, Madduri 2014, section III); the rest is Tarjan's (1972), on one thread.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 1, 3])), shape=(4, 4))
    >>> ps.csgraph.strongly_connected_components(A)
    (3, array([0, 1, 1, 2], dtype=int32))
    """
    return _find(as_graph(A, "strongly_connected_components"), True, return_labels)


def _find(graph: csr_array, strong: bool, return_labels: bool) -> Any:
    find = _core.strong_components if strong else _core.connected_components
    count, labels, missed = find(graph._core, edges_in(graph), plan_of(graph))
    note_missed(graph, missed)
    return (count, labels) if return_labels else count


def verify_components(A: Any, count: int, labels: Any, connection: str = "weak") -> None:
    """Raises ValueError, saying what is wrong where, unless these are the components of A: weak ones are checked by
    uniting all edges one by one, strong ones by searches inside each and a topological order between them.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.verify_components(A, 3, [0, 1, 0, 1, 2])
    >>> ps.csgraph.verify_components(A, 5, [0, 1, 2, 3, 4], connection="strong")
    """
    _check_connection(connection)
    graph = as_graph(A, "verify_components")
    check = _core.strong_components_verify if connection == "strong" else _core.components_verify
    check(graph._core, operator.index(count), as_labels(labels, "labels"))


def _check_connection(connection: str) -> None:
    if connection not in ("weak", "strong"):
        raise ValueError(f"connection={connection!r} is neither 'weak' nor 'strong'")
