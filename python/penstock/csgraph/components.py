"""Connected components, weak and strong."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.out import as_out
from penstock._matrix.csr import csr_array
from penstock.csgraph._changed import changed_rows
from penstock.csgraph._gpu import chosen_gpus, gpu_graphs, gpu_parts_pair, note_link, report
from penstock.csgraph._graph import as_graph
from penstock.csgraph._incoming import edges_in, note_missed, plan_of
from penstock.csgraph._lists import for_cpu, search_lists
from penstock.csgraph.breadth_first import as_labels
from penstock.csgraph.gpu_options import GpuOptions, settled


def connected_components(
    csgraph: Any,
    directed: bool = True,
    connection: str = "weak",
    return_labels: bool = True,
    *,
    out: Any = None,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> Any:
    """Connected components.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j; values are not read.
    directed : bool
        False: edges can be walked both ways, so that strong components are weak ones.
    connection : "weak" or "strong"
        Weak: there is a path when directions are ignored. Strong: there is a path each way.
    return_labels : bool
    out : int32 array of shape (n,), optional
        Gets the labels, and is what is returned for them; see `bfs`.
    device : None, "cpu", the number of a GPU, `ps.device(n)`, or a list of GPUs
        As for `bfs`. Of several GPUs each has a range of the vertices, and trees of all of them (4 bytes a vertex)
        that are merged from GPU to GPU. Strong components are found on the CPU.
    gpu_options : GpuOptions, optional
        How a GPU finds them; see `GpuOptions`. "label_propagation" looks at all edges, then in every round at those of
        vertices that the last one gave another label. Where edges go one way it looks at all in every round.
    lists : "auto", "raw" or "packed"
        What the CPU reads to find weak components, as for `bfs`. Strong ones are found in it as it is.

    Returns
    -------
    count : int
    labels : int32 array of shape (n,), where asked for
        0..count-1. Weak components are numbered in the order of their smallest vertices. Strong ones have SciPy's
        numbers, those in which a depth-first search finishes them: edges between them lead to smaller labels.
        Independent of the number of threads and of the device.

    Raises ValueError for a matrix that is not square, a GPU that is not there, strong components on one,
    `gpu_options` on the CPU or of another function, `lists` on a GPU or "packed" for strong
    components, and an out that cannot take the labels or with `return_labels=False`; TypeError for an out of another
    type; MemoryError, with the numbers, where a graph's vertices do not fit the GPU.

    On the CPU, weak components come from one search that takes a giant component, and Afforest (Sutton, Ben-Nun, Barak
    2018, section IV) where there is none near; strong ones from one depth-first search (Pearce 2016) on one thread, for
    SciPy's labels are its order. `strongly_connected_components` has its own labels, and more threads; it is also what
    counts them where `return_labels=False`. On a GPU, trees grow
    from the neighbours kept there, and lists are read for vertices outside the giant component alone; for all where
    edges go one way and nobody has formed the transpose.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.connected_components(A)
    (3, array([0, 1, 0, 1, 2], dtype=int32))
    """
    connection = _named(connection)
    strong = connection == "strong" and directed
    # Weak components are the same whichever way edges go.
    changed = None if strong else changed_rows(csgraph, True, device, gpu_options, lists)
    graph: Any = as_graph(csgraph, "connected_components") if changed is None else changed
    gpus = chosen_gpus(graph, device) if changed is None else []
    if strong and gpus and device is not None:
        raise ValueError('strong components are found on the CPU: give device="cpu" or None')
    if strong and gpu_options is not None:
        raise ValueError(
            f"strong components are found on the CPU: leave gpu_options={gpu_options!r} out"
        )
    on = settled(gpu_options, "connected_components", bool(gpus))
    if out is not None and not return_labels:
        raise ValueError("connected_components: out gets the labels: leave return_labels=False out")
    there = [] if strong else gpus
    for_cpu(lists, bool(there), "connected_components")
    if strong and lists == "packed":
        raise ValueError('strong components read no packed lists: leave lists="packed" out')
    to = as_out(out, (graph.shape[0],), np.int32, there, "connected_components")
    if not there:
        if strong:
            found = _find(graph, _numbered_as_scipy(return_labels), return_labels)
        elif changed is not None:
            count, labels = changed.weak_components()
            found = (count, labels) if return_labels else count
        else:
            found = _find_weak(graph, lists, return_labels)
        return (found[0], to.filled(found[1])) if to else found
    several = len(gpus) > 1
    pair = (
        gpu_parts_pair(graph, gpus, on.home, on.access == "auto")
        if several
        else gpu_graphs(
            graph, gpus[0], on.home, on.access == "auto", _core.search_vertex_bytes(False)
        )
    )
    find = _core.components_parts if several else _core.components_gpu
    where: dict[str, Any] = {"to": to.at()} if to and to.on_gpu else {}
    count, labels, told = find(*pair, on.method, on.access, on.slots, on.counted, **where)
    note_missed(graph, told["missed"])
    note_link(graph, pair[0], told)
    report("connected_components", pair[0], {"method": on.method, **told})
    labels = to.filled(labels) if to else labels
    return (count, labels) if return_labels else count


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
    return _find(
        as_graph(A, "strongly_connected_components"), _core.strong_components, return_labels
    )


def _numbered_as_scipy(labels: bool) -> Any:
    return _core.strong_components_as_finished if labels else _core.strong_components


def _find_weak(graph: csr_array, lists: str, return_labels: bool) -> Any:
    packed, edges, edges_in = search_lists(graph, lists)
    find = _core.connected_components_packed if packed else _core.connected_components
    count, labels, missed = find(edges, edges_in, plan_of(graph))
    note_missed(graph, missed)
    return (count, labels) if return_labels else count


def _find(graph: csr_array, find: Any, return_labels: bool) -> Any:
    count, labels, missed = find(graph._core, edges_in(graph), plan_of(graph))
    note_missed(graph, missed)
    return (count, labels) if return_labels else count


def verify_components(A: Any, count: int, labels: Any, connection: str = "weak") -> None:
    """Raises ValueError, saying what is wrong where, unless these are the components of A: weak ones are checked by
    uniting all edges one by one, strong ones by searches inside each and a topological order between them. Labels of
    strong components may be in any order.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 3], [2, 1])), shape=(5, 5))
    >>> ps.csgraph.verify_components(A, 3, [0, 1, 0, 1, 2])
    >>> ps.csgraph.verify_components(A, 5, [0, 1, 2, 3, 4], connection="strong")
    """
    connection = _named(connection)
    graph = as_graph(A, "verify_components")
    check = _core.strong_components_verify if connection == "strong" else _core.components_verify
    check(graph._core, operator.index(count), as_labels(labels, "labels"))


def _named(connection: str) -> str:
    """In small letters, as SciPy reads it."""
    if not isinstance(connection, str) or connection.lower() not in ("weak", "strong"):
        raise ValueError(f"connection={connection!r} is neither 'weak' nor 'strong'")
    return connection.lower()
