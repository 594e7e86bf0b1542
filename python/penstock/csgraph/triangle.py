"""Triangles, and the clustering coefficients that follow from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import seed_number
from penstock._matrix.csr import csr_array
from penstock._plan.options import options
from penstock.csgraph._gpu import ON_ITS_GPU, chosen_gpus, note_link, report
from penstock.csgraph._graph import as_graph, simple
from penstock.csgraph._one_way import one_way
from penstock.csgraph.gpu_options import GpuOptions, settled

_STEPS = 200_000_000  # of a check: more are drawn vertices' only
_VERTEX_BYTES = 24  # that a count takes on a GPU beside oriented lists, at most: counts, and chunks of long lists
# The same of several, for each vertex of a part, and for each of the graph.
_PART_BYTES = (16, 8)


def triangle_count(
    A: Any,
    *,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> int:
    """How many triangles a graph has: sets of three vertices, each two joined by an edge.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) joins i and j. Values, directions, duplicates and self loops make no difference.
    device : as for `bfs`
    gpu_options : GpuOptions, optional
        Of `access`, `placement` and `counted`; see `GpuOptions`.

    Raises ValueError for a matrix that is not square, a GPU that is not there, and `gpu_options` on the CPU or with
    other fields; MemoryError where what a GPU must hold for each vertex exceeds its budget.

    Edges are oriented towards higher degree, and lists looked up in a bitmap (Latapy 2008, section 3). The oriented
    edges are kept with A, so that a second count is faster. Independent of the number of threads. A GPU orients and
    sorts the edges in its own memory, where about 12 bytes an entry and 50 a vertex are free for that, or takes them
    from packed lists that searches of the same GPU have left there; otherwise it gets them from the CPU. It looks lists
    up in tables in its shared memory. Several GPUs have a range of the oriented lists each: the first one
    orients the edges if it has room, these go to host memory and from there to all, and each GPU looks its own up in
    those of all, which it reads once where they are.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 0, 0, 1])), shape=(4, 4))
    >>> ps.csgraph.triangle_count(A)
    2
    """
    graph = as_graph(A, "triangle_count")
    total: int = _counted(graph, "triangle_count", device, gpu_options)[0]
    return total


def triangles(
    A: Any,
    *,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> np.ndarray:
    """How many triangles each vertex is in; see `triangle_count`, also for the arguments. They add up to three times
    that.

    Returns
    -------
    int64 array of shape (n,)

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 5, ([0, 1, 2, 3, 3], [1, 2, 0, 0, 1])), shape=(4, 4))
    >>> ps.csgraph.triangles(A).tolist()
    [2, 2, 1, 1]
    """
    graph = as_graph(A, "triangles")
    counts: np.ndarray = _counted(graph, "triangles", device, gpu_options)[1]
    return counts


def clustering(A: Any) -> np.ndarray:
    """The share of pairs of each vertex's neighbours that are joined by an edge (Watts, Strogatz 1998), 0 where it has
    fewer than two; see `triangle_count` for what an edge is.

    Returns
    -------
    float64 array of shape (n,)

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 3])), shape=(4, 4))
    >>> ps.csgraph.clustering(A).tolist()
    [1.0, 1.0, 0.3333333333333333, 0.0]
    """
    graph = as_graph(A, "clustering")
    pairs = _pairs(graph)
    closed = triangles(graph).astype(np.float64)
    return np.divide(closed, pairs, out=closed, where=pairs > 0)


def transitivity(A: Any) -> float:
    """The share of paths of two edges whose ends are joined by a third: three times the triangles over these paths, 0.0
    where there is no such path.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 1, 2, 2], [1, 2, 0, 3])), shape=(4, 4))
    >>> ps.csgraph.transitivity(A)
    0.6
    """
    graph = as_graph(A, "transitivity")
    paths = int(_pairs(graph).sum())
    return 3 * triangle_count(graph) / paths if paths else 0.0


def verify_triangles(A: Any, counts: Any, *, seed: int = 0) -> None:
    """Raises ValueError, saying what is wrong where, unless `counts` is the number of triangles, or one number for each
    vertex.

    A number is counted anew by searching rows in each other, at every vertex. Of large graphs the numbers of vertices
    are checked so at as many vertices, drawn by `seed`, as take a second or so, and for bounds and sum at all.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    >>> ps.csgraph.verify_triangles(A, 1)
    >>> ps.csgraph.verify_triangles(A, [1, 1, 2])
    Traceback (most recent call last):
    ...
    ValueError: triangles: vertex 2 cannot be in 2 of them, it has 2 neighbours
    """
    graph = simple(as_graph(A, "verify_triangles"))
    given = np.asarray(counts)
    if given.ndim > 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"counts must be an integer or one a vertex, not {given.dtype} of shape {given.shape}"
        )
    if given.ndim == 0:
        found = _core.triangles_recount(graph._core)
        if found != int(given):
            raise ValueError(f"triangles: there are {found}, not {int(given)}")
    else:
        each = np.ascontiguousarray(given, dtype=np.int64)
        _core.triangles_verify(graph._core, each, _STEPS, seed_number(seed))


def _counted(
    graph: csr_array, function: str, device: Any, gpu_options: GpuOptions | None
) -> tuple[int, Any]:
    """(total, one count a vertex or None) for the function of that name"""
    gpus = chosen_gpus(graph, device)
    on = settled(gpu_options, function, bool(gpus))
    each = function == "triangles"
    if not gpus:
        total, of_vertex = _core.triangles(_oriented(graph), each)
        return total, of_vertex
    if on.home == "packed" and graph.place == "device":
        raise _core.PlacementError(
            f"{function}: packed lists are made of a matrix in host memory: use A.to(ps.host), or leave 'packed' out"
        )
    several = len(gpus) > 1
    if several and graph.place == "device":
        raise ValueError(ON_ITS_GPU)
    # Several GPUs divide lists that are in host memory.
    edges, lists, placement = _oriented_for(graph, gpus[0], on.home, several)
    on_gpu = one_way(lists, gpus, placement, on.access == "auto", _VERTEX_BYTES, _PART_BYTES)
    run = _core.triangles_parts if several else _core.triangles_gpu
    total, of_vertex, told = run(on_gpu, edges, each, on.access, count=on.counted)
    note_link(lists, on_gpu, told)
    told["oriented"] = getattr(edges, "facts", None)
    report("triangles", on_gpu, told)
    return total, of_vertex


def _oriented(graph: csr_array) -> Any:
    """The edges as triangles are counted over, kept with the graph."""
    known = graph._derived.oriented
    if known is None:
        known = graph._derived.oriented = _core.orient_edges(simple(graph)._core)
    return known


def _oriented_for(
    graph: csr_array, gpu: int, placement: str, several: bool = False
) -> tuple[Any, csr_array, str]:
    """(oriented edges, their lists as a matrix, where these are to be placed) for a count on that GPU. They are made
    out of packed lists that it has; or out of the edges, where its memory suffices and the lists may stay there; else
    by the CPU. several: for that GPU and others, to host memory."""
    derived = graph._derived
    key = (gpu, options.device_memory or 0, placement in ("auto", "device") and not several)
    holders = _holders(graph)
    kept = next((h.oriented_gpu for h in holders if h.oriented_gpu), None)
    if kept is None or kept[0] != key:
        for holder in holders:
            holder.oriented_gpu = kept = None  # what it held is free for the new one
        made = _oriented_there(graph, *key, several)
        kept = key, made, None if made is None else csr_array._wrap(made.lists)
        _holders(graph)[-1].oriented_gpu = kept
        if made is not None and made.simple and derived.simple is None:
            derived.symmetric_pattern = derived.simple = True
    if kept[2] is not None:
        return kept[1], kept[2], placement if kept[2].place == "pinned" else "device"
    if graph.place == "device" and key[-1]:
        raise MemoryError(
            f"triangles: GPU {gpu} has too little memory to orient {graph.nnz} entries, about 12 bytes an entry "
            "and 50 a vertex: allow more device_memory, or count over A.to(ps.host)"
        )
    edges = _oriented(graph)
    if derived.oriented_lists is None:
        derived.oriented_lists = csr_array._wrap(_core.oriented_lists(edges))
    return edges, derived.oriented_lists, placement


def _holders(graph: csr_array) -> list[Any]:
    """What may keep edges that a GPU has oriented: the graph, and the simple one that it stands for, if that is another
    one. If a GPU has the packed lists of that, what is oriented is in their budget, and gives way with them."""
    known = graph._derived.simple
    return [graph._derived, known._derived] if isinstance(known, csr_array) else [graph._derived]


def _oriented_there(
    graph: csr_array, gpu: int, memory: int, stays: bool, several: bool = False
) -> Any:
    """Edges that a GPU has oriented, None where it cannot; stays: its lists may be in its memory; several: they are
    taken to host memory."""
    packed = _packed_on(graph, gpu)
    if packed is not None:
        made = _core.orient_packed_gpu(packed, not stays)
        if made is not None:
            return made
    if not (stays or several):
        return None
    symmetric = bool(graph._derived.symmetric_pattern)
    made = _core.orient_edges_gpu(graph._core, gpu, memory, symmetric)
    if several and made is not None:
        made.take_to_host()
    return made


def _packed_on(graph: csr_array, gpu: int) -> Any:
    """Packed lists of the simple graph that this one stands for, if a GPU has them for searches."""

    def there(one: Any) -> Any:
        known = one._derived.gpu_graph if isinstance(one, csr_array) else None
        if known is None or known[0][:2] != (gpu, "packed") or known[0][3]:
            return None
        return known[1]

    known = graph._derived.simple
    if known is None and there(graph) is not None:
        known = simple(graph)  # one pass over the edges, which orienting them by the CPU takes, too
    return there(graph if known is True else known)


def _pairs(graph: csr_array) -> np.ndarray:
    """Pairs of neighbours of each vertex."""
    degree = np.diff(simple(graph).indptr)
    return degree * (degree - 1) // 2
