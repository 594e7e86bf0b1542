"""Graph algorithms over a `ps.dist.csr_array` read as an adjacency matrix: an entry (i, j) is an edge from i to j.

Every function is collective: all ranks call it with the same arguments, and get the results of the vertices that they
own, in the order of `A.rows`. Results are those of `ps.csgraph` on one process, however the graph is shared out. Who
owns a row owns the vertex; a matrix whose columns have other owners (a grid's) gets a second copy that has not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer
from penstock.csgraph.page_rank import _number, _unfinished
from penstock.dist._agree import about

__all__ = ["bfs", "connected_components", "pagerank", "verify_pagerank"]

_DIRECTIONS = ("auto", "top_down", "bottom_up")
# Turning a graph around, with its entries sent to other ranks, takes about as long as following its edges this often.
_COST = 5


def bfs(
    A: Any,
    source: int = 0,
    *,
    return_predecessors: bool = False,
    direction: str = "auto",
    return_info: bool = False,
) -> Any:
    """Levels of a breadth-first search: the least number of edges from `source` to each vertex.

    Parameters
    ----------
    A : ps.dist.csr_array of shape (n, n)
        A stored entry (i, j) is an edge from i to j; values are not read.
    source : int
        A vertex by its number in the whole graph.
    return_predecessors : bool
    direction : "auto", "top_down" or "bottom_up"
        "auto": bottom-up in levels where that looks at fewer edges. "bottom_up": in all levels, a baseline; it turns
        the graph around at once where its pattern is not symmetric.
    return_info : bool

    Returns
    -------
    levels : int32 array, one entry for each vertex owned here; 0 for the source and -1 where there is no path.
    predecessors : int64 array of the same shape, where asked for
        The smallest-numbered vertex one level up with an edge to each vertex, by its number in the whole graph; -9999,
        SciPy's mark, for the source and where there is no path.
    info : dict, where asked for
        "reached" vertices, the source among them, "depth" and levels found "bottom_up", the same on all ranks;
        "messages" and "bytes" that this rank sent to find the levels, and how many messages were "lists" and "bitmaps"
        of vertices.

    Levels and predecessors are the same on any number of ranks.

    Raises ValueError for a matrix that is not square, a source outside it and a direction that is unknown; TypeError
    for a source that is no integer.

    Each rank follows the edges of its vertices and tells owners whom it has met, each vertex once (Buluc, Madduri,
    "Parallel breadth-first search on distributed memory systems", SC 2011, section 3.1). Bottom-up steps (Beamer,
    Buluc, Asanovic, Patterson, "Distributed memory breadth-first search revisited", MTAAP 2013) need the edges into
    each vertex: the graph itself where its pattern is symmetric, found at the first call; otherwise formed, once, after
    some searches that would have gained from them, and kept with A.
    """
    _check_name("direction", direction, _DIRECTIONS)
    try:
        start = operator.index(source)
    except TypeError:
        raise TypeError(f"source={source!r} is not a vertex: give an integer") from None
    asked = {"source": start, "return_predecessors": bool(return_predecessors)}
    with about(A.comm, "bfs", **asked, direction=direction):
        return _bfs(A, start, bool(return_predecessors), direction, return_info)


def _bfs(A: Any, start: int, return_predecessors: bool, direction: str, return_info: bool) -> Any:
    graph = _graph(A, "bfs")
    if not 0 <= start < A.shape[0]:
        raise ValueError(f"source={start} is outside a graph of {A.shape[0]} vertices")
    known = _kept(A)
    turned = graph if _symmetric(A) else known.get("graph_transpose")
    missed = known.get("missed_edges", 0) > _COST * A.nnz
    if turned is None and (missed or direction == "bottom_up"):
        turned = known["graph_transpose"] = graph.transpose()
    before = graph.traffic()
    through = turned if turned is not None and turned is not graph else None
    before_in = through.traffic() if through else None
    levels, predecessors, info = _core.dist_bfs(
        graph, turned, start, return_predecessors, _DIRECTIONS.index(direction)
    )
    known["missed_edges"] = known.get("missed_edges", 0) + info.pop("missed")
    out: tuple[Any, ...] = (levels,)
    if return_predecessors:
        out += (predecessors,)
    if return_info:
        for name, count in graph.traffic().items():
            info[name] = count - before[name]
        if through:
            for name, count in through.traffic().items():
                info[name] += count - before_in[name]
        out += (info,)
    return out if len(out) > 1 else levels


def connected_components(A: Any, return_labels: bool = True) -> Any:
    """Weakly connected components: there is a path when directions are ignored.

    Parameters
    ----------
    A : ps.dist.csr_array of shape (n, n)
        A stored entry (i, j) is an edge from i to j; values are not read.
    return_labels : bool

    Returns
    -------
    count : int, of the whole graph.
        Vertices that a matrix of more than 2^31 - 1 rows does not list are components of their own, and are counted.
    labels : int64 array, one entry for each vertex owned here, where asked for
        0..count-1, in the order of each component's smallest vertex. The same on any number of ranks.

    Raises ValueError for a matrix that is not square.

    Ranks unite what their own edges connect; the pieces between them by FastSV (Zhang, Azad, Hu, "FastSV: a
    distributed-memory connected component algorithm with fast convergence", PP 2020, section 3).
    """
    with about(A.comm, "connected_components"):
        count, labels = _core.dist_components(_graph(A, "connected_components"))
    return (count, labels) if return_labels else count


def pagerank(
    A: Any,
    alpha: float = 0.85,
    *,
    personalization: Any = None,
    dangling: Any = None,
    tol: float = 1e-6,
    max_iter: int = 100,
    nstart: Any = None,
    weighted: bool = True,
    return_info: bool = False,
) -> Any:
    """PageRank: where a walker is found who follows edges and, with probability 1 - alpha, jumps instead.

    Parameters
    ----------
    A : ps.dist.csr_array of shape (n, n)
        A stored entry (i, j) is an edge from i to j, its value how often it is taken among those of i.
    alpha : float from 0 to 1
        The probability of following an edge.
    personalization, dangling, nstart : dict of vertex: weight, or array of the entries owned here, optional
        As for `ps.csgraph.pagerank`: where jumps lead, where a walker goes from a vertex without edges, and where to
        start. A dict names vertices of the whole graph, and is the same on all ranks. Scaled to sum 1 over all ranks.
    tol : float
        Ends where a step changes the ranks by less in all: the sum over |new - old| of the whole graph.
    max_iter : int
    weighted : bool
        False: values are not read, all edges of a vertex are taken alike.
    return_info : bool
        True: also return what happened, and do not raise where max_iter was not enough.

    Returns
    -------
    ranks : float64 array, one entry for each vertex owned here; of sum 1 over all ranks.
    info : dict, where asked for, of "iterations" (int), "change" (float, of the last step) and "converged" (bool): the
        same on all ranks.

    Agrees with `ps.csgraph.pagerank` within rounding: the same steps, with sums over all ranks.

    Raises RuntimeError where max_iter steps were not enough; ValueError where a weight is negative, NaN or infinite,
    for a vector that is no distribution, and for a matrix that is not square.

    The power method (Page et al. 1999, section 2), by products with A.T (with A where it is a symmetric pattern).
    """
    alpha, tol = _number(alpha, "alpha", 1.0), _number(tol, "tol", math.inf)
    steps, weighted = integer(max_iter, "max_iter", 0), flag(weighted, "weighted")
    jumps = {"personalization": personalization, "dangling": dangling, "nstart": nstart}
    with about(
        A.comm,
        "pagerank",
        alpha=alpha,
        tol=tol,
        max_iter=steps,
        weighted=weighted,
        **{
            name: given if isinstance(given, Mapping) else given is not None
            for name, given in jumps.items()
        },
    ):
        product, out, symmetric = _ranked(A, weighted)
        vectors = [_distribution(A, given, name) for name, given in jumps.items()]
        ranks, iterations, change, converged = _core.dist_pagerank(
            product, out, *vectors, alpha, tol, steps, symmetric
        )
    if return_info:
        return ranks, {"iterations": iterations, "change": change, "converged": converged}
    if not converged:
        raise _unfinished(steps, change, tol)
    return ranks


def verify_pagerank(
    A: Any,
    ranks: Any,
    alpha: float = 0.85,
    *,
    personalization: Any = None,
    dangling: Any = None,
    tol: float = 1e-6,
    weighted: bool = True,
) -> None:
    """Raises ValueError on all ranks, saying what is wrong, unless `ranks` (the entries owned here) are not negative,
    add up to 1, and one step changes them by less than `tol` in all. Parameters as for `pagerank`."""
    alpha, tol = _number(alpha, "alpha", 1.0), _number(tol, "tol", math.inf)
    weighted = flag(weighted, "weighted")
    with about(A.comm, "verify_pagerank", alpha=alpha, tol=tol, weighted=weighted):
        product, out, symmetric = _ranked(A, weighted)
        _core.dist_pagerank_verify(
            product,
            out,
            np.ascontiguousarray(ranks, dtype=np.float64),
            _distribution(A, personalization, "personalization"),
            _distribution(A, dangling, "dangling"),
            alpha,
            tol,
            symmetric,
        )


def _kept(A: Any) -> dict[str, Any]:
    """What graph algorithms derive from A, kept with it."""
    return vars(A).setdefault("_graph", {})


def _check_name(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}={value!r} is none of {', '.join(map(repr, known))}")


def _graph(A: Any, what: str) -> Any:
    """What searches of A share, made at the first call."""
    graph = _kept(A).get("graph")
    if graph is None:
        graph = _kept(A)["graph"] = _core.DistGraph(A._core, what)
    return graph


def _symmetric(A: Any) -> bool:
    known = _kept(A).get("symmetric_pattern")
    if known is None:
        known = _kept(A)["symmetric_pattern"] = _graph(A, "graph").has_symmetric_pattern()
    return known


def _ranked(A: Any, weighted: bool) -> tuple[Any, np.ndarray, bool]:
    """The matrix that is multiplied, the weights out of each vertex owned here, whether it is a symmetric pattern."""
    pattern = not weighted or A.dtype == np.bool_
    name = f"pagerank_{'pattern' if pattern else 'weighted'}"
    known = _kept(A).get(name)
    if known is None:
        if pattern and A.dtype != np.bool_:
            product = _graph(A, "pagerank").pattern(A._core)
        else:
            product = _core.dist_aligned(A._core, "pagerank")
        known = product, _core.dist_out_weights(product), pattern and _symmetric(A)
        _kept(A)[name] = known
    return known


def _distribution(A: Any, given: Any, name: str) -> np.ndarray | None:
    """The part owned here of a vector that adds up to 1 over all ranks."""
    if given is None:
        return None
    n, rows = A.shape[0], A.rows
    if isinstance(given, Mapping):
        part = np.zeros(len(rows))
        place = {int(v): k for k, v in enumerate(rows)}
        for v, weight in given.items():
            if not 0 <= operator.index(v) < n:
                raise ValueError(f"{name} names vertex {v}, outside a graph of {n} vertices")
            if v in place:
                part[place[v]] = weight
    else:
        part = np.ascontiguousarray(given, dtype=np.float64)
    if part.shape != (len(rows),):
        raise ValueError(f"{name} has shape {part.shape} for {len(rows)} vertices owned here")
    bad = ~((part >= 0) & np.isfinite(part))
    if bad.any():
        k = int(bad.argmax())
        raise ValueError(
            f"{name} of vertex {rows[k]} is {part[k]}: not a finite number of zero or more"
        )
    total = np.array([part.sum()])
    A.comm.all_reduce(total, "sum")
    if n and not 0 < total[0] < math.inf:
        raise ValueError(f"{name} adds up to {total[0]}: it needs a positive entry")
    return part / total[0] if n else part
