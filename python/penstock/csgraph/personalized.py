"""Personalised PageRank of many vertices at once."""

from __future__ import annotations

import math
import operator
from typing import Any

from penstock import _core
from penstock.csgraph._graph import as_graph, vertices
from penstock.csgraph.page_rank import _edges, _into, _number, _unfinished


def personalized_pagerank(
    A: Any,
    sources: Any,
    alpha: float = 0.85,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    weighted: bool = True,
    return_info: bool = False,
) -> Any:
    """Personalised PageRank of each source, all at once: what `pagerank(A, personalization={s: 1})` is for every s,
    with each entry of A read once a step for all of them.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes; in host, mapped or pinned memory
        As for `pagerank`.
    sources : int array of shape (k,)
        Where the jumps of each column lead, and its walkers at vertices without edges. Repeats are allowed.
    alpha : float from 0 to 1
        The probability of following an edge.
    tol : float
        Ends where a step changes the ranks of no source by tol or more: the sum over |new - old|.
    max_iter : int
    weighted : bool
        False: values are not read, all edges of a vertex are taken alike.
    return_info : bool
        True: also return what happened, and do not raise where max_iter was not enough.

    Returns
    -------
    ranks : float64 array of shape (n, k); column j has the ranks of sources[j], of sum 1.
    info : dict, where asked for, of "iterations" (int), "change" (float, the largest of the last step), "converged"
        (bool) and "vectors" ("cpu").

    The same bits for any number of threads. All columns take as many steps as the slowest needs, so that a column
    differs from the one that is found alone by what `tol` leaves open. Steps over a pattern start in float32, as
    those of `pagerank`. Takes 16 bytes an entry of the result: give some tens of sources a call.

    Raises as `pagerank`; PlacementError for a matrix in a GPU's memory.

    The power method (Page et al. 1999, section 2) by sparse times dense products.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 1])), shape=(3, 3))
    >>> ps.csgraph.personalized_pagerank(A, [0, 2]).round(3)
    array([[0.289, 0.192],
           [0.384, 0.356],
           [0.327, 0.452]])
    """
    graph = as_graph(A, "personalized_pagerank")
    if graph.place == "device":
        raise _core.PlacementError(
            "personalized_pagerank runs on the CPU, but the matrix is in a GPU's memory: use A.to(ps.host) or "
            "A.to(ps.pinned)"
        )
    some = vertices(graph, sources)
    alpha, tol = _number(alpha, "alpha", 1.0), _number(tol, "tol", math.inf)
    steps = operator.index(max_iter)
    if steps < 0:
        raise ValueError(f"max_iter={max_iter} must be zero or more")
    into, out, _ = _into(_edges(graph, weighted))
    ranks, iterations, change, converged = _core.personalized_pagerank(
        into._core, out, some, alpha, tol, steps
    )
    ranks = ranks.reshape(graph.shape[0], some.size)
    if return_info:
        return ranks, {
            "iterations": iterations,
            "change": change,
            "converged": converged,
            "vectors": "cpu",
        }
    if not converged:
        raise _unfinished(steps, change, tol)
    return ranks
