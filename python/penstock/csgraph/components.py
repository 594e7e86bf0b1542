"""Connected components, weak and strong."""

from __future__ import annotations

from typing import Any

from penstock import _core
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

    Weak components are found by Afforest (Sutton, Ben-Nun, Barak 2018, section IV).

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.connected_components(A)
    (3, array([0, 1, 0, 1, 2], dtype=int32))
    """
    if connection not in ("weak", "strong"):
        raise ValueError(f"connection={connection!r} is neither 'weak' nor 'strong'")
    graph = as_graph(A, "connected_components")
    count, labels, missed = _core.connected_components(
        graph._core, edges_in(graph), plan_of(graph)
    )
    note_missed(graph, missed)
    return (count, labels) if return_labels else count


def verify_components(A: Any, count: int, labels: Any) -> None:
    """Raises ValueError, saying what is wrong where, unless these are the weak components of A. Unites all edges one
    by one.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.verify_components(A, 3, [0, 1, 0, 1, 2])
    """
    graph = as_graph(A, "verify_components")
    _core.components_verify(graph._core, int(count), as_labels(labels, "labels"))
