"""Personalised PageRank of many vertices at once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, unmasked
from penstock._matrix.csr import csr_array
from penstock._plan.options import options
from penstock.csgraph._gpu import chosen_gpu
from penstock.csgraph._graph import as_graph, readable, vertices
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
    device: Any = None,
) -> Any:
    """Personalised PageRank of each source, all at once: what `pagerank(A, personalization={s: 1})` is for every s,
    with each entry of A read once a step for all of them.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
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
    device : as for `bfs`, but one GPU
        A GPU keeps the vectors in its memory, 24 bytes a vertex and source; where these exceed what is free, or
        `ps.options.device_memory`, it takes the sources in groups. It reads the edges by their ends: of a symmetric
        pattern A itself, else a copy that is made once and kept, on the GPU if A is there, or in pinned memory.

    Returns
    -------
    ranks : float64 array of shape (n, k); column j has the ranks of sources[j], of sum 1.
    info : dict, where asked for, of "iterations" (int), "change" (float, the largest of the last step), "converged"
        (bool) and "vectors" ("cpu" or "gpu").

    The same bits for any number of threads; on a GPU others, which are the same in every run with the same groups. All
    columns of a group, which on the CPU are all of them, take as many steps as the slowest needs, so that a column
    differs from the one that is found alone by what `tol` leaves open.
    Steps over a pattern start in float32, as those of `pagerank`; on the CPU, of eight sources or more, they go on so
    until 1e-6, which moves the result by some 1e-7 in all. Takes 16 bytes an entry of the result, and 12 more for up to
    64 sources at a time: give some tens of sources a call.

    Raises as `pagerank`, and MemoryError where the vectors of one source exceed the GPU.

    The power method (Page et al. 1999, section 2) by sparse times dense products.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 1])), shape=(3, 3))
    >>> ps.csgraph.personalized_pagerank(A, [0, 2]).round(3)
    array([[0.289, 0.192],
           [0.384, 0.356],
           [0.327, 0.452]])
    """
    graph = as_graph(A, "personalized_pagerank")
    gpu = chosen_gpu(graph, device)
    some = vertices(graph, unmasked(sources, "sources"))
    alpha, tol = _number(alpha, "alpha", 1.0), _number(tol, "tol", math.inf)
    steps, weighted = integer(max_iter, "max_iter", 0), flag(weighted, "weighted")
    into, out, symmetric = _into(_edges(readable(graph), weighted))
    if gpu is None:
        found = _core.personalized_pagerank(into._core, out, some, alpha, tol, steps)
    else:
        same = symmetric and graph.dtype == np.bool_ and graph.place in ("device", "pinned")
        there = graph if same else _read_by(into, gpu, graph.place == "device")
        room = options.device_memory or _core.gpu_info(gpu)["free_bytes"] * 7 // 8
        found = _core.personalized_pagerank_on(
            there._core, out, some, alpha, tol, steps, gpu, int(room)
        )
    ranks, iterations, change, converged = found
    begun = converged or iterations > 0
    if not begun:
        change = math.inf  # as of pagerank: no step has found one
    ranks = ranks.reshape(graph.shape[0], some.size)
    if return_info:
        return ranks, {
            "iterations": iterations,
            "change": change,
            "converged": converged,
            "vectors": "cpu" if gpu is None else "gpu",
        }
    if not begun:
        raise RuntimeError(
            f"personalized_pagerank: max_iter={steps} allows no step: raise it, or take the ranks before the first one "
            "with return_info=True"
        )
    if not converged:
        raise _unfinished(steps, change, tol)
    return ranks


def _read_by(into: csr_array, gpu: int, on_gpu: bool) -> csr_array:
    """The edges by their ends where the GPU reads them, kept with them."""
    if into.place == "pinned" and not on_gpu:
        return into
    place = f"device:{gpu}" if on_gpu else "pinned"
    known = into._derived.read_by_gpu
    if known is None or known[0] != place:
        known = into._derived.read_by_gpu = place, into.to(place)
    return known[1]
