"""Breadth-first search."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.out import as_out
from penstock.csgraph._changed import changed_rows
from penstock.csgraph._gpu import chosen_gpus, gpu_graphs, gpu_parts_pair, note_link, report
from penstock.csgraph._graph import as_graph, undirected, vertex, vertices
from penstock.csgraph._incoming import note_missed, plan_of
from penstock.csgraph._lists import for_cpu, search_lists
from penstock.csgraph.gpu_options import GpuOptions, settled


def bfs(
    A: Any,
    source: int = 0,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    sources: Any = None,
    out: Any = None,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> Any:
    """Levels of a breadth-first search: the least number of edges from `source` to each vertex.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j; values are not read. A `DynamicGraph` is searched as it is, its
        changes included.
    source : int
    directed : bool
        False: every edge can be walked both ways.
    return_predecessors : bool
    sources : array of k integers, optional
        Search from each of them instead. On a GPU 64 searches run at once and share what they read (Then et al.,
        "The more the merrier", VLDB 2014); one after another on several, with predecessors, and level-synchronously.
    out : int32 array of the shape of levels, optional
        Gets the levels, and is what is returned for them: a NumPy array, or an array of CuPy, PyTorch or another
        library on the GPU that searches. On a GPU nothing goes through the host: work that out's library has queued on
        its current stream comes before, and what it queues later sees the levels. Predecessors are then an array of
        out's library, too.
    device : None, "cpu", the number of a GPU, `ps.device(n)`, or a list of GPUs
        None: a GPU where A is in pinned, managed or device memory or `ps.options.device_memory` is set, and A has
        2^20 vertices and edges or more; `ps.options.gpus` of them where that is 2 or more and A exceeds the budget of
        one. With several, each has a range of the vertices with about equally many edges, and reads its lists over its
        own link; they exchange bitmaps after each level. One is better for graphs of thousands of small levels.
    gpu_options : GpuOptions, optional
        How a GPU searches: algorithm, reads of lists, place of the edges, sample, counts; see `GpuOptions`.
    lists : "auto", "raw" or "packed"
        What the CPU reads: the lists of A as they are, or packed ones, which are decoded where they are read. "auto" is
        "packed" where A is mapped, exceeds the memory that is free, and was saved with `lists=True`. "packed" packs
        lists that A has not been opened with, once.

    Returns
    -------
    levels : int32 array of shape (n,), 0 for the source and -1 where there is no path; (k, n) with `sources`.
    predecessors : int32 array of the same shape, where asked for
        The smallest-numbered vertex one level up with an edge to each vertex (on a GPU: any of them); -9999, SciPy's
        mark, for the source and where there is no path.

    Levels depend on the graph alone, not on the number of threads; so do predecessors found by the CPU.

    Raises ValueError for a matrix that is not square, a source outside it, a GPU that is not there, `gpu_options` on
    the CPU or of another function, `lists` on a GPU, "level_synchronous" on several GPUs, and an out of another shape,
    not contiguous, read-only, or not on the GPU that computes; TypeError for a source that is no integer, a device that
    is none, and an out of another type; MemoryError where what a GPU must hold for each vertex exceeds its budget.

    Searches go top-down and bottom-up (Beamer, Asanovic, Patterson 2012, section 3). Bottom-up steps need the edges
    into each vertex. These are the graph itself where its pattern is known to be symmetric; otherwise they are formed
    once, after some searches that would have gained from them, and kept with A.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(5, 5))
    >>> ps.csgraph.bfs(A, 0)
    array([ 0,  1,  1,  2, -1], dtype=int32)
    >>> ps.csgraph.bfs(A, 0, return_predecessors=True)[1]
    array([-9999,     0,     0,     1, -9999], dtype=int32)
    >>> ps.csgraph.bfs(A, sources=[1, 4])
    array([[-1,  0, -1,  1, -1],
           [-1, -1, -1, -1,  0]], dtype=int32)
    """
    changed = changed_rows(A, directed, device, gpu_options, lists)
    graph: Any = as_graph(A, "bfs") if changed is None else changed
    starts = [vertex(graph, source)] if sources is None else vertices(graph, sources)
    gpus = chosen_gpus(graph, device) if changed is None else []
    on = settled(gpu_options, "bfs", bool(gpus))
    for_cpu(lists, bool(gpus), "bfs")
    shape = (graph.shape[0],) if sources is None else (len(starts), graph.shape[0])
    to = as_out(out, shape, np.int32, gpus, "bfs")
    if not directed and changed is None:
        graph = undirected(graph)
    trees = to.beside(np.int32, "bfs") if to and to.on_gpu and return_predecessors else None
    find: Any
    if changed is not None:
        find = functools.partial(changed.search, bool(return_predecessors))
    elif not gpus:
        find = functools.partial(_search_cpu, graph, lists, return_predecessors)
    else:
        several = len(gpus) > 1
        pair = (
            gpu_parts_pair(graph, gpus, on.home, on.access == "auto")
            if several
            else gpu_graphs(
                graph,
                gpus[0],
                on.home,
                on.access == "auto",
                _core.search_vertex_bytes(bool(return_predecessors)),
            )
        )
        how: dict[str, Any] = {
            "method": on.method,
            "access": on.access,
            "sample": on.slots,
            "count": on.counted,
        }
        together = not several and not return_predecessors and on.method != "level_synchronous"
        if sources is not None and together and pair[0].facts()["placement"] != "packed":
            levels, told = _core.bfs_many_gpu(*pair, starts, **how, to=to and to.at())
            report("bfs", pair[0], told)
            return to.filled(levels) if to else levels
        on_gpus = _core.bfs_parts if several else _core.bfs_gpu
        find = functools.partial(_search_gpu, on_gpus, graph, pair, how, return_predecessors)
    if to and to.on_gpu:
        for k, start in enumerate(starts):
            find(int(start), to=to.at(k), tree_to=trees and trees.at(k))
        return (to.array, trees.array) if trees else to.array
    if sources is None:
        levels, predecessors = find(starts[0])
    else:
        levels = np.empty(shape, np.int32)
        predecessors = np.empty(shape, np.int32) if return_predecessors else None
        for k, start in enumerate(starts):
            levels[k], tree = find(int(start))
            if predecessors is not None:
                predecessors[k] = tree
    levels = to.filled(levels) if to else levels
    return (levels, predecessors) if return_predecessors else levels


def _search_cpu(
    graph: Any, lists: str, tree: bool, start: int
) -> tuple[np.ndarray, np.ndarray | None]:
    packed, edges, edges_in = search_lists(graph, lists)
    search = _core.bfs_packed if packed else _core.bfs
    levels, predecessors, missed = search(edges, edges_in, start, plan_of(graph), bool(tree))
    note_missed(graph, missed)
    return levels, predecessors


def _search_gpu(
    search: Any,
    graph: Any,
    pair: tuple[Any, Any],
    how: dict[str, Any],
    tree: bool,
    start: int,
    **where: Any,
) -> tuple[Any, Any]:
    levels, predecessors, told = search(*pair, start, predecessors=bool(tree), **how, **where)
    note_missed(graph, told["missed"])
    note_link(graph, pair[0], told)
    report("bfs", pair[0], told)
    return levels, predecessors


def breadth_first_order(
    csgraph: Any, i_start: int, directed: bool = True, return_predecessors: bool = True
) -> Any:
    """The vertices in the order in which a breadth-first search reaches them, as SciPy's function of this name.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        Unlike in SciPy, explicit zeros are edges. Edges of a vertex are followed in the order in which it stores them.
    i_start : int
    directed : bool
        False: every edge can be walked both ways, those that it stores for a vertex first.
    return_predecessors : bool

    Returns
    -------
    node_array : int32 array, one entry for each vertex that is reached, `i_start` first.
    predecessors : int32 array of shape (n,), where asked for
        Who reached each vertex first; -9999 for i_start and where there is no path.

    The order is that of a queue, so this runs on one thread: `bfs` is faster where levels do.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(5, 5))
    >>> ps.csgraph.breadth_first_order(A, 0)
    (array([0, 1, 2, 3], dtype=int32), array([-9999,     0,     0,     1, -9999], dtype=int32))
    """
    graph = as_graph(csgraph, "breadth_first_order")
    start = vertex(graph, i_start, "i_start")
    also = None if directed else graph.T.formed()._core
    order, predecessors = _core.bfs_order(graph._core, also, start)
    return (order, predecessors) if return_predecessors else order


def verify_bfs(A: Any, source: int, levels: Any, predecessors: Any = None) -> None:
    """Raises ValueError, saying what is wrong where, unless `levels` (and `predecessors`) are a breadth-first search
    of A from `source`. Any predecessor one level up is right. Looks at every edge, and does not search.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.verify_bfs(A, 0, [0, 1, 2])
    >>> ps.csgraph.verify_bfs(A, 0, [0, 1, -1])
    Traceback (most recent call last):
    ...
    ValueError: bfs: the edge 1 -> 2 leads from level 1 to level -1
    """
    graph = as_graph(A, "verify_bfs")
    tree = None if predecessors is None else as_labels(predecessors, "predecessors")
    _core.bfs_verify(graph._core, vertex(graph, source), as_labels(levels, "levels"), tree)


def as_labels(numbers: Any, name: str) -> np.ndarray:
    """A result of int32 numbers as the verifiers read it."""
    given = np.asarray(numbers)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise TypeError(
            f"{name} must be integers of shape (n,), not {given.dtype} of {given.shape}"
        )
    narrow = np.ascontiguousarray(given, dtype=np.int32)
    if not np.array_equal(narrow, given):
        raise ValueError(f"{name} holds numbers outside int32")
    return narrow
