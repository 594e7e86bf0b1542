"""Random walks, and PageRank by walks."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, number, real, seed_number, unmasked
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph, has_symmetric_pattern, vertex, vertices
from penstock.csgraph._lists import for_cpu
from penstock.sample._arguments import on_host
from penstock.sample._device import DeviceDraws, Numbers, device_draws
from penstock.sample._lists import lists_to_draw


def random_walks(
    A: Any,
    starts: Any,
    length: int,
    *,
    restart: float = 0.0,
    weighted: bool = False,
    p: float = 1.0,
    q: float = 1.0,
    seed: int = 0,
    device: Any = None,
    lists: str = "auto",
) -> Any:
    """Walks that draw an edge of each vertex they come to; with p and q those of node2vec (Grover, Leskovec 2016).

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge that leads from i to j. In any memory that the CPU reads; for a GPU in its
        memory, or in pinned memory (`A.to(ps.pinned)`), of which it reads what it draws. With p or q the rows must
        ascend without repeats; `A.without_duplicates()` makes them so.
    starts : integers of shape (k,), or None
        Where walks begin, each as often as it is named; None: one at every vertex. Of NumPy, or int32 or int64 on a
        GPU (CuPy, PyTorch, JAX), which then does the walks.
    length : int
        Steps.
    restart : float from 0, below 1
        The probability that a step leads back to the start instead.
    weighted : bool
        Edges are drawn in proportion to their values. One number a vertex is kept with A for that, none an edge.
    p, q : float above 0
        After a step from t to v, the edge from v back to t is drawn in proportion to 1/p, those to vertices to
        which t has an edge to 1, and others to 1/q; with `weighted` times their values.
    seed : int
        Of the random numbers.
    device : "cpu", the number of a GPU, `ps.device(n)`, or None
        None: the GPU where the starts are, or the graph; else the CPU.
    lists : "auto", "raw" or "packed"
        As for `neighbors`, for walks without weights, p and q; other ones read the matrix. A step decodes up to 1024
        edges of a vertex, so that packed walks of a graph with hubs are 10 to 30 times slower, if it is in memory.

    Returns
    -------
    int32 array of shape (k, length + 1), of NumPy, or of the starts' library where they are on a GPU: there the call
    waits for the starts, and queues the walks on the library's stream. The first column are the starts; after a vertex
    without edges (or without one of positive weight) a walk is -1. Walk i depends on the seed, i and its start alone,
    not on the number of threads, nor on whether a GPU does it.

    Raises ValueError for a matrix that is not square, starts outside, complex entries, weights of a vertex that add up
    to more than a float64 holds, one that names the edge for a weight that is negative, NaN or infinite, numbers out
    of their range, and p or q for rows that do not ascend; TypeError for starts and a length that are no integers;
    PlacementError, with the remedy, for entries that the GPU cannot read.

    Edges are drawn by rejection (KnightKing: Yang et al., SOSP 2019); a thread of the CPU moves 64 walkers at once, one
    of a GPU does one walk.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 3])), shape=(4, 4))
    >>> ps.sample.random_walks(A, [0, 2], 4).tolist()
    [[0, 1, 2, 3, -1], [2, 3, -1, -1, -1]]
    """
    graph = as_graph(A, "random_walks")
    draws = device_draws(
        "random_walks", [graph], "starts", [] if starts is None else [starts], device
    )
    for_cpu(lists, draws is not None, "random_walks", options=False)
    if draws is None:
        on_host(graph, "random_walks")
    steps = integer(length, "length", 0, 2**31 - 1)
    restart = real(number(restart, "restart"), "restart", "from 0, below 1", lambda x: 0 <= x < 1)
    p = real(number(p, "p"), "p", "above 0", lambda x: x > 0)
    q = real(number(q, "q"), "q", "above 0", lambda x: x > 0)
    random = seed_number(seed)
    weighted = flag(weighted, "weighted")
    symmetric = False
    uniform = p == 1 and q == 1 and (not weighted or graph.dtype == np.bool_)
    if lists == "packed" and not uniform:
        raise ValueError(
            "random_walks: lists='packed' is for uniform walks: leave lists out, or weighted, p and q"
        )
    if p != 1 or q != 1:
        if not graph.has_canonical_format:
            raise ValueError(
                "p and q need rows that ascend without repeats: give A.without_duplicates()"
            )
        symmetric = has_symmetric_pattern(graph)
    how = (steps, restart, weighted, p, q, symmetric, random)
    if draws is not None:
        return _walks_on_gpu(graph, draws, starts, how)
    if starts is None:
        begin = np.arange(graph.shape[0], dtype=np.int32)
    else:
        begin = np.ascontiguousarray(vertices(graph, unmasked(starts, "starts"), "starts"))
    packed = lists_to_draw(graph, lists, "random_walks") if uniform else None
    walks: Any
    if packed is None:
        walks = _core.random_walks(graph._core, begin, _largest(graph, weighted), *how)
    else:
        walks = _core.packed_walks(packed, begin, steps, restart, random)
    return walks.reshape(begin.size, steps + 1)


def _walks_on_gpu(graph: csr_array, draws: DeviceDraws, starts: Any, how: tuple[Any, ...]) -> Any:
    there = draws.graph(graph)
    largest = _largest(graph, how[2])
    if largest is not None and not there.has_largest:
        there.keep_largest(largest)
    everywhere = Numbers(0, graph.shape[0], False, True, None)
    begin = everywhere if starts is None else draws.numbers(starts, "starts")
    return draws.walks(there, begin, (begin.size, how[0] + 1), how)


def personalized_pagerank(
    A: Any,
    source: Any,
    damping: float = 0.85,
    epsilon: float = 0.1,
    delta: float = 1e-4,
    *,
    failure: float = 0.01,
    weighted: bool = False,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The vertices near `source` by personalised PageRank, from where random walks end, with a bound on the error.

    With probability 1 - `failure`, the estimates of all vertices whose rank is `delta` or more are within `epsilon`
    times the rank. (3 log(2 / (delta failure)) / (epsilon^2 delta) walks: Chernoff's bound, for at most 1 / delta
    such vertices.) The time depends on these numbers and not on the size of the graph. `ps.csgraph.pagerank(A,
    personalization={source: 1})` is exact.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        As for `random_walks`.
    source : int
        The vertex, from 0 on.
    damping : float from 0, below 1
        The probability of following an edge; a walk ends with the rest. From a vertex without edges it goes on at
        `source`.
    epsilon, delta, failure : float above 0, below 1
    weighted : bool
        Edges are drawn in proportion to their values, for which rows are read as a whole.
    seed : int
        Of the random numbers.

    Returns
    -------
    (vertices, ranks) : an int32 and a float64 array, by falling rank, ties by number; vertices at which no walk
    ended are left out. The ranks add up to 1. The same for any number of threads.

    Raises ValueError where more than 2^31 walks would be needed, for numbers out of their range, a source outside, and
    weights as `random_walks` does; TypeError for a source that is no integer; PlacementError for a matrix in a GPU's
    memory.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 0])), shape=(2, 2))
    >>> found, ranks = ps.sample.personalized_pagerank(A, 0, damping=0.5, delta=0.1)
    >>> found.tolist(), bool(abs(ranks[0] - 2 / 3) < 0.1 * 2 / 3)
    ([0, 1], True)
    """
    graph = on_host(as_graph(A, "personalized_pagerank"), "personalized_pagerank")
    v = vertex(graph, source)
    damping = real(number(damping, "damping"), "damping", "from 0, below 1", lambda x: 0 <= x < 1)
    epsilon, delta, failure = (
        real(number(x, name), name, "above 0, below 1", lambda x: 0 < x < 1)
        for x, name in ((epsilon, "epsilon"), (delta, "delta"), (failure, "failure"))
    )
    weighted = flag(weighted, "weighted")
    walks = math.ceil(3 * math.log(2 / (delta * failure)) / (epsilon**2 * delta))
    if walks >= 2**31:
        raise ValueError(
            f"epsilon={epsilon:g} and delta={delta:g} need {walks:.3g} walks, more than 2^31: raise one of them, "
            "or use ps.csgraph.pagerank(A, personalization={source: 1}), which is exact"
        )
    ends: Any = _core.walk_ends(
        graph._core, v, walks, damping, _largest(graph, weighted), weighted, seed_number(seed)
    )
    found, counts = np.unique(ends, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return found[order], counts[order] / walks


def _largest(graph: csr_array, weighted: bool) -> np.ndarray | None:
    """The largest weight of each vertex, kept with the graph; None where weights are not read."""
    if not weighted or graph.dtype == np.bool_:
        return None
    known = graph._derived.largest_weights
    if known is None:
        read = graph.to("host") if graph.place == "device" else graph
        known = cast("np.ndarray", _core.largest_weights(read._core))
        graph._derived.largest_weights = known
    return known
