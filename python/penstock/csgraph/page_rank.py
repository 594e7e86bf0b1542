"""PageRank."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer
from penstock._arrays.out import as_out
from penstock._matrix.csr import csr_array
from penstock._product.gpu_vectors import place_of, plan_for_gpus, plan_like
from penstock.csgraph._graph import as_graph, incoming, readable
from penstock.csgraph._ranks_gpu import chosen
from penstock.csgraph._ranks_gpu import ranks as ranks_over_lists
from penstock.csgraph.gpu_options import GpuOptions
from penstock.csgraph.shortest_paths import finite_weights, pattern


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
    out: Any = None,
    return_info: bool = False,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> Any:
    """PageRank: where a walker is found who follows edges and, with probability 1 - alpha, jumps instead.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j, its value how often it is taken among those of i. Duplicates
        add up.
    alpha : float from 0 to 1
        The probability of following an edge.
    personalization : array of shape (n,) or dict of vertex: weight, optional
        Where jumps lead, not negative, scaled to sum 1; everywhere alike where it is None.
    dangling : array of shape (n,) or dict of vertex: weight, optional
        Where a walker goes from a vertex without edges (or with edges of weight 0 alone); as `personalization` where
        it is None.
    tol : float
        Ends where a step changes the ranks by less in all: the sum over |new - old|, not scaled by n.
    max_iter : int
    nstart : array of shape (n,) or dict of vertex: weight, optional
        Where to start, for instance the ranks before the graph changed a little.
    weighted : bool
        False: values are not read, all edges of a vertex are taken alike.
    out : float64 array of shape (n,), optional
        Gets the ranks, and is what is returned for them: a NumPy array, or an array of CuPy, PyTorch or another library
        on the GPU that has the vectors (see below). Ranks then never come to the host: work that out's library has
        queued on its current stream comes before they are written, and what it queues later sees them. Where
        max_iter was not enough, out has the ranks of the last step.
    return_info : bool
        True: also return what happened, and do not raise where max_iter was not enough.
    device : as for `bfs`
        None: where products of A are done (see below). A GPU: over the lists of neighbours that it has, or gets, for
        searches; of a pattern, or with `weighted=False`. "cpu": the CPU, whatever plans A has.
    gpu_options : GpuOptions, optional
        Of `access`, `placement` and `counted`, over lists of neighbours; see `GpuOptions`.

    Returns
    -------
    ranks : float64 array of shape (n,), of sum 1.
    info : dict, where asked for, of "iterations" (int), "change" (float, of the last step), "converged" (bool) and
        "vectors" (whose memory they were in: "cpu" or "gpu 0").

    The same bits for any number of threads. Over a pattern (or with `weighted=False`) steps are done in float32 as long
    as they change the ranks by more than 1e-5, which moves the result by some 1e-7 in all; the rest is float64.

    Raises RuntimeError where max_iter steps were not enough, ValueError that names the edge where a weight is negative,
    NaN or infinite, for a vector that is no distribution, and for an out of another shape, not contiguous, read-only or
    not where the vectors are; TypeError for an out of another type, a max_iter that is no integer and a weighted that
    is no bool.

    The power method (Page et al. 1999, section 2), by products with A^T; over undirected patterns on
    which it converges slowly with Chebyshev's extrapolation (Golub, Varga 1961). A^T, its plan
    (see `csr_array.prepare`) and the weights out of each vertex are made at the first call and kept with A.

    Where A lies on a GPU, or has a plan for GPUs (`A.prepare(schedule=ps.Streamed())`), products and vectors are there,
    and A^T gets a plan like A's: ranks come to the host once. They agree with the CPU's to rounding. The CPU forms A^T,
    once; it does all where GPUs with a plan have no room for A^T's rings and the vectors (50 bytes a vertex).

    With `device=0` a step walks the lists of edges into each vertex, raw or packed, where searches keep them, and adds
    in an order that each list and its place decide. The vectors take 32 bytes a vertex of `options.device_memory`, 24
    where tol is 1e-5 or more, and with `personalization` or `dangling` 48 and 24; MemoryError where they do not fit.
    Several GPUs have the lists of a range of vertices each; the vectors are on the first one, which sends the ranks to
    the others in each step and gets their sums. The bits are those of one GPU where lists are packed or in its memory.
    With device None, packed lists that are on a GPU as a whole are walked, too, if the vectors fit beside them, where
    a plan of A would stream its entries, or has none and a search would run there.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 1])), shape=(3, 3))
    >>> ps.csgraph.pagerank(A).round(4)
    array([0.2148, 0.3974, 0.3878])
    """
    graph = as_graph(A, "pagerank")
    n = graph.shape[0]
    alpha, tol = _number(alpha, "alpha", 1.0), _number(tol, "tol", math.inf)
    steps, weighted = integer(max_iter, "max_iter", 0), flag(weighted, "weighted")
    given = (
        _distribution(personalization, n, "personalization"),
        _distribution(dangling, n, "dangling"),
        _distribution(nstart, n, "nstart"),
    )
    arguments = (*given, alpha, tol, steps)
    on = chosen(graph, weighted, device, gpu_options, arguments)
    if on is not None:
        result, vectors = ranks_over_lists(graph, on, arguments, out)
    else:
        result, vectors = _run(graph, weighted, arguments, out, device is not None)
    ranks, iterations, change, converged = result
    if return_info:
        return ranks, {
            "iterations": iterations,
            "change": change,
            "converged": converged,
            "vectors": vectors,
        }
    if not converged:
        raise _unfinished(steps, change, tol)
    return ranks


def _unfinished(steps: int, change: float, tol: float) -> RuntimeError:
    return RuntimeError(
        f"pagerank: after max_iter={steps} steps the ranks still change by {change:.3g}, tol is {tol:g}: "
        "raise one of them, or take what is there with return_info=True"
    )


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
    """Raises ValueError, saying what is wrong, unless `ranks` are not negative, add up to 1, and one step, done in
    float64 edge by edge, changes them by less than `tol` in all.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 0])), shape=(2, 2))
    >>> ps.csgraph.verify_pagerank(A, [0.5, 0.5])
    >>> ps.csgraph.verify_pagerank(A, [0.5, 0.4])
    Traceback (most recent call last):
    ...
    ValueError: pagerank: the ranks add up to 0.900000 instead of 1
    """
    graph = as_graph(A, "verify_pagerank")
    n = graph.shape[0]
    _core.pagerank_verify(
        _edges(graph, flag(weighted, "weighted"))._core,
        np.ascontiguousarray(ranks, dtype=np.float64),
        _distribution(personalization, n, "personalization"),
        _distribution(dangling, n, "dangling"),
        _number(alpha, "alpha", 1.0),
        _number(tol, "tol", math.inf),
    )


def _run(
    graph: csr_array, weighted: bool, arguments: tuple[Any, ...], given: Any, on_cpu: bool
) -> tuple[Any, str]:
    """The core's result, and where its vectors were; `given` is the caller's array for the ranks, or None. on_cpu: the
    CPU was asked for."""
    if on_cpu:
        graph = readable(graph)
    if graph.place == "device":
        core, out, symmetric = _on_gpu(graph, weighted)
        return _on_device(_core.device_op, core, core.dtype, out, arguments, symmetric, given)
    edges = _edges(graph, weighted)
    into, out, symmetric = _into(edges)
    plan = None if on_cpu else plan_for_gpus(graph, 8)
    if plan is not None:
        steps = max(arguments[-1], 1)
        try:
            if not (symmetric and edges is graph):
                plan = plan_like(into, plan, 8, steps)
            return _on_device(
                _core.plan_op, plan.core, into.dtype, out, arguments, symmetric, given
            )
        except MemoryError:
            pass  # the GPUs have no room: the CPU has
    to = as_out(given, (graph.shape[0],), np.float64, [], "pagerank")
    if edges._derived.pagerank_plan is None:
        edges._derived.pagerank_plan = into.prepare()
    ranks, *rest = _core.pagerank(into._core, out, *arguments, symmetric)
    return (to.filled(ranks) if to else ranks, *rest), "cpu"


def _on_device(
    make: Any,
    incoming: Any,
    dtype: Any,
    out: np.ndarray,
    arguments: tuple[Any, ...],
    symmetric: bool,
    given: Any,
) -> tuple[Any, str]:
    """`make` is the core's maker of operators from `incoming`: the edges by their ends, or a plan of theirs."""
    op = make(incoming, "float64")
    gpus = [op.gpu] if op.gpu >= 0 else []
    to = as_out(given, (op.rows,), np.float64, gpus, "pagerank")
    single = make(incoming, "float32") if np.dtype(dtype) == np.bool_ else None
    ranks, *rest = _core.pagerank_on_device(
        single, op, out, *arguments, symmetric, to.at() if to else None
    )
    return (to.filled(ranks) if to else ranks, *rest), place_of(op)


def _on_gpu(graph: csr_array, weighted: bool) -> tuple[Any, np.ndarray, bool]:
    """As `_into`, of a graph that lies on a GPU: the edges by their ends, there, too. The CPU forms them, once."""
    name = "pagerank_gpu_weighted" if weighted else "pagerank_gpu_pattern"
    known = getattr(graph._derived, name)
    if known is None:
        host = csr_array._wrap(_core.to_place(graph._core, "host"))
        edges = _edges(host, weighted)
        into, out, symmetric = _into(edges)
        core = graph._core  # its own transpose
        if not (symmetric and edges is host):
            gpu = _core.device_op(core, "float64").gpu
            core = _core.to_place(into._core, "device", gpu)
        known = core, out, symmetric
        setattr(graph._derived, name, known)
    return cast("tuple[Any, np.ndarray, bool]", known)


def _edges(graph: csr_array, weighted: bool) -> csr_array:
    if not weighted:
        return pattern(graph)
    if not finite_weights(graph):
        k = int(np.isinf(graph.data).argmax())
        row = int(np.searchsorted(graph.indptr, k, side="right")) - 1
        raise ValueError(
            f"the edge {row} -> {graph.indices[k]} has weight inf: PageRank needs finite weights"
        )
    return graph


def _into(edges: csr_array) -> tuple[csr_array, np.ndarray, bool]:
    """The edges by their ends; the weights out of each vertex; whether A is symmetric."""
    known = edges._derived.pagerank
    if known is None:
        into = incoming(edges) if edges.dtype == np.bool_ else edges.T.formed()
        symmetric = into is edges
        if symmetric:  # a matrix of its own, so that the plan does not change how A is multiplied
            into = csr_array._from_parts(
                *edges.shape, edges.indptr, edges.indices, None, validate="cheap"
            )
        out = cast(np.ndarray, _core.out_weights(edges._core))
        edges._derived.pagerank = known = into, out, symmetric
    return known


def _number(value: Any, name: str, most: float) -> float:
    if not (isinstance(value, (int, float, np.number)) and 0 <= value <= most):
        raise ValueError(f"{name}={value!r} must be a number from 0 to {most:g}")
    return float(value)


def _distribution(given: Any, n: int, name: str) -> np.ndarray | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        dense = np.zeros(n)
        for v, weight in given.items():
            if not 0 <= operator.index(v) < n:
                raise ValueError(f"{name} names vertex {v}, outside a graph of {n} vertices")
            dense[v] = weight
    else:
        dense = np.ascontiguousarray(given, dtype=np.float64)
    if dense.shape != (n,):
        raise ValueError(f"{name} has shape {dense.shape} for {n} vertices")
    bad = ~((dense >= 0) & np.isfinite(dense))
    if bad.any():
        raise ValueError(
            f"{name}[{int(bad.argmax())}]={dense[bad.argmax()]}: not a finite number of zero or more"
        )
    total = dense.sum()
    if n and not (0 < total < math.inf):
        raise ValueError(f"{name} adds up to {total}: it needs a positive entry")
    return dense / total if n else dense
