"""Communities: partitions of the vertices of a graph into groups with many edges within and few between."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, number, seed_number
from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import chosen_gpu
from penstock.csgraph._graph import (
    as_graph,
    has_symmetric_pattern,
    readable,
    symmetric_weights,
)
from penstock.csgraph._lists import cpu_lists, for_cpu
from penstock.csgraph._one_way import one_way
from penstock.csgraph._scipy import require_real_weights
from penstock.csgraph.breadth_first import as_labels
from penstock.csgraph.gpu_options import GpuOptions, settled

__all__ = [
    "label_propagation",
    "leiden",
    "louvain",
    "modularity",
    "verify_connected_communities",
]

_MOST = 2**31 - 1


def louvain(
    A: Any,
    *,
    resolution: float = 1.0,
    threshold: float = 1e-7,
    max_levels: int | None = None,
    unweighted: bool = False,
    seed: int = 0,
    return_levels: bool = False,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> Any:
    """Communities of large modularity, by the method of Louvain. `leiden` takes longer and finds better ones.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        Symmetric: an undirected edge is stored as (i, j) and (j, i), its value the weight. Weights are at least 0;
        those of a pattern are 1. Duplicates add up. An entry (i, i) is a self loop, which counts twice in the
        degree of i.
    resolution : float
        At least 0. Larger ones make smaller communities.
    threshold : float
        A level that gains less modularity is the last one.
    max_levels : int, optional
        At most so many levels, as many as there are where it is None. The first one has the smallest communities.
    unweighted : bool
        True: values are not read, all edges weigh 1.
    seed : int
        From 0 to 2^64 - 1. Another seed takes vertices in another order, and finds other communities of a large
        graph.
    return_levels : bool
        True: also return the communities after each level.
    device : as for `bfs`, but one GPU
        A GPU takes vertices in another order than the CPU, and finds other communities of about the same modularity.
    gpu_options : GpuOptions, optional
        Of `placement`; packed lists are for graphs that are read without weights.
    lists : "auto", "raw" or "packed"
        What the CPU reads of a graph without weights: as for `bfs`. Packed lists are decoded vertex by vertex, and
        never unpacked as a whole. Where rows ascend, the communities are the same.

    Returns
    -------
    labels : int32 array of shape (n,)
        The community of each vertex, numbered in the order of their first vertices. Of the same graph and the same
        seed they are the same, whatever the number of threads, and on every GPU. Without edges, each vertex is alone.
    levels : list of such arrays, where asked for; the last one is `labels`.

    Raises ValueError for a matrix that is not square, edges without their mirror (give `A + A.T`), complex weights,
    weights that are negative, infinite or NaN (naming the edge), weights whose sum exceeds float64, options outside
    their ranges, a GPU that is not there, and `gpu_options` on the CPU or with other fields; TypeError for options that
    are no numbers; MemoryError where what a GPU must hold for each vertex exceeds its budget.

    Blondel, Guillaume, Lambiotte, Lefebvre (2008). Vertices are looked at in runs; runs are shared among the
    threads, and see each other's moves when all of a round are done. After a move only neighbours are looked at
    again (Ozaki, Tezuka, Inaba 2016). 16 bytes a vertex and thread, and 40 bytes a vertex are needed meanwhile,
    beside the graph of the communities. On a GPU the vertices of a round move at once (16 rounds a pass), communities
    are added up in hash tables (Naim, Manne, Halappanavar, Tumeo 2017), and weights are rounded to multiples of about
    2^-52 of their sum, so that no sum depends on an order. Lists that exceed the budget are read over the link, graphs
    of communities that do so, too.

    >>> import penstock as ps
    >>> two_triangles = ([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> A = ps.csr_array(([1.0] * 7, two_triangles), shape=(6, 6))
    >>> ps.csgraph.louvain(A + A.T)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    graph, gpu, home = _placed(A, "louvain", unweighted, device, gpu_options)
    packed = _packed(graph, "louvain", unweighted, gpu is not None, lists)
    asked = (
        unweighted,
        _at_least_0(resolution, "resolution"),
        _number(threshold, "threshold"),
        _count(max_levels, "max_levels"),
        seed_number(seed),
        flag(return_levels, "return_levels"),
    )
    if gpu is None:
        labels, levels = _core.louvain(readable(graph)._core, *asked, packed)
    else:
        there = _roomy_lists(graph, gpu, home, unweighted)
        labels, levels = _core.louvain_gpu(
            there, graph._core, *_weighed(graph, unweighted), *asked[1:]
        )
    return (labels, levels or [labels.copy()]) if return_levels else labels


def leiden(
    A: Any,
    *,
    resolution: float = 1.0,
    threshold: float = 1e-7,
    max_levels: int | None = None,
    iterations: int = 2,
    unweighted: bool = False,
    seed: int = 0,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> np.ndarray:
    """Communities of large modularity that are connected, by the method of Leiden.

    Parameters
    ----------
    A, resolution, max_levels, unweighted, seed, device, gpu_options, lists : as for `louvain`
    threshold : float
        An iteration that gains less modularity is the last one.
    iterations : int
        At most so many times, each beginning with the communities of the one before. More find better ones.

    Returns
    -------
    labels : as `louvain` returns. The vertices of each community are connected by edges of positive weight within
        it; see `verify_connected_communities`.

    Raises ValueError and MemoryError as `louvain` does.

    Traag, Waltman, van Eck (2019). Vertices move as in `louvain`; in the refinement they join the best part of
    their community, not one by lot, so that no temperature is needed. 36 bytes a vertex more than `louvain` are
    needed meanwhile; on a GPU 32, which makes 96. There a vertex joins no part whose only vertex may leave in the
    same round, and communities that fell apart are split at the end.

    >>> import penstock as ps
    >>> two_triangles = ([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> A = ps.csr_array(([1.0] * 7, two_triangles), shape=(6, 6))
    >>> ps.csgraph.leiden(A + A.T)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    graph, gpu, home = _placed(A, "leiden", unweighted, device, gpu_options)
    packed = _packed(graph, "leiden", unweighted, gpu is not None, lists)
    asked = (
        unweighted,
        _at_least_0(resolution, "resolution"),
        _number(threshold, "threshold"),
        _count(max_levels, "max_levels"),
        _count(iterations, "iterations"),
        seed_number(seed),
    )
    labels: Any
    if gpu is None:
        labels = _core.leiden(readable(graph)._core, *asked, packed)
    else:
        there = _roomy_lists(graph, gpu, home, unweighted, refined=True)
        labels = _core.leiden_gpu(there, graph._core, *_weighed(graph, unweighted), *asked[1:])
    return labels


def label_propagation(
    A: Any,
    *,
    max_iter: int = 100,
    unweighted: bool = False,
    seed: int = 0,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> np.ndarray:
    """Communities by label propagation: each vertex takes the label that weighs most among its neighbours.

    Parameters
    ----------
    A, unweighted : as for `louvain`
    max_iter : int
        At most so many passes over the vertices. Usually it ends before, when no label weighs more among the
        neighbours of a vertex than its own.
    seed : int
        From 0 to 2^64 - 1; of labels that weigh the same, one is drawn. A vertex keeps its label while none weighs
        more.
    device, gpu_options, lists : as for `louvain`

    Returns
    -------
    labels : as `louvain` returns. Communities are usually connected, but need not be.

    Raises ValueError as `louvain` does.

    Raghavan, Albert, Kumara (2007), in rounds as `louvain`. It takes a part of the time of `louvain`; modularity is
    not what it looks at.

    >>> import penstock as ps
    >>> two_triangles = ([0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3])
    >>> A = ps.csr_array(([1.0] * 7, two_triangles), shape=(6, 6))
    >>> ps.csgraph.label_propagation(A + A.T)
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    graph, gpu, home = _placed(A, "label_propagation", unweighted, device, gpu_options)
    packed = _packed(graph, "label_propagation", unweighted, gpu is not None, lists)
    asked = unweighted, _count(max_iter, "max_iter"), seed_number(seed)
    labels: Any
    if gpu is None:
        labels = _core.label_propagation(readable(graph)._core, *asked, packed)
    else:
        there = _roomy_lists(graph, gpu, home, unweighted)
        labels = _core.label_propagation_gpu(
            there, graph._core, *_weighed(graph, unweighted), *asked[1:]
        )
    return labels


def modularity(
    A: Any,
    labels: Any,
    *,
    resolution: float = 1.0,
    unweighted: bool = False,
    lists: str = "auto",
) -> float:
    """The modularity of a partition: the share of the edges' weight within communities, less `resolution` times the
    share expected if edges were drawn anew between vertices of these degrees.

    Parameters
    ----------
    A, resolution, unweighted, lists : as for `louvain`
    labels : integers of shape (n,)
        The community of each vertex, any numbers.

    Returns
    -------
    float: `networkx.community.modularity` of the undirected graph; 0.0 for one without weight.

    Raises ValueError as `louvain` does, and for labels of another length; TypeError for labels that are not
    integers.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    >>> ps.csgraph.modularity(A + A.T, [0, 0, 1, 1])
    0.5
    """
    graph = _weighted(A, "modularity", unweighted)
    share: float = _core.modularity(
        readable(graph)._core,
        _labels(graph, labels),
        unweighted,
        _at_least_0(resolution, "resolution"),
        _packed(graph, "modularity", unweighted, False, lists),
    )
    return share


def verify_connected_communities(
    A: Any, labels: Any, *, unweighted: bool = False, lists: str = "auto"
) -> None:
    """Raises ValueError, naming two vertices, unless the vertices of each community are connected by edges of
    positive weight within it, as `leiden` promises. Searches every community from its first vertex. `unweighted` and
    `lists` are as for `louvain`.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0, 1.0], ([0, 2], [1, 3])), shape=(4, 4))
    >>> ps.csgraph.verify_connected_communities(A + A.T, [0, 0, 1, 1])
    >>> ps.csgraph.verify_connected_communities(A + A.T, [5, 5, 5, 5])
    Traceback (most recent call last):
    ...
    ValueError: community 5 is not connected: no path within it joins vertices 0 and 2
    """
    graph = _weighted(A, "verify_connected_communities", unweighted, adds=False)
    numbers = _labels(graph, labels)
    packed = _packed(graph, "verify_connected_communities", unweighted, False, lists)
    parts = _core.connected_parts(readable(graph)._core, numbers, unweighted, packed)
    # Parts are numbered by their first vertices, so the first part of a community has its first vertex.
    _, first_of_part = np.unique(parts, return_index=True)
    _, first_of_community = np.unique(numbers, return_index=True)
    begins = np.zeros(numbers.size, dtype=bool)
    begins[first_of_part] = True
    begins[first_of_community] = False
    if begins.any():
        other = int(begins.argmax())
        first = int(first_of_community[numbers[other]])
        raise ValueError(
            f"community {np.asarray(labels)[other]} is not connected: "
            f"no path within it joins vertices {first} and {other}"
        )


def _placed(
    A: Any, function: str, unweighted: bool, device: Any, gpu_options: GpuOptions | None
) -> tuple[csr_array, int | None, str]:
    """(the graph, the GPU or None for the CPU, where its lists go there)"""
    graph = _weighted(A, function, unweighted)
    gpu = chosen_gpu(graph, device)
    home = settled(gpu_options, function, gpu is not None).home
    if home == "packed" and not _reads_pattern(graph, unweighted):
        raise ValueError(
            f"{function}: packed lists have no weights: give unweighted=True, or leave 'packed' out"
        )
    return graph, gpu, home


def _reads_pattern(graph: csr_array, unweighted: bool) -> bool:
    return unweighted or graph.dtype == np.bool_


def _packed(graph: csr_array, function: str, unweighted: bool, on_gpu: bool, lists: str) -> Any:
    """The packed lists that the CPU reads, or None: the matrix."""
    for_cpu(lists, on_gpu, function)
    if on_gpu:
        return None
    if not _reads_pattern(graph, unweighted):
        if lists == "packed":
            raise ValueError(
                f"{function}: packed lists have no weights: give unweighted=True, or leave lists='packed' out"
            )
        return None
    if cpu_lists(graph, lists).kind != "packed":
        return None
    packed = packed_lists(readable(graph))
    # Lists ascend: of other rows the labels would depend on the memory that is free.
    return packed if lists == "packed" or packed.facts()["sorted"] else None


def _roomy_lists(
    graph: csr_array, gpu: int, home: str, unweighted: bool, refined: bool = False
) -> Any:
    """The lists, which leave room for the vertices where they may be in pinned memory instead; `refined` is for what
    Leiden's method takes."""
    packs, vertex_bytes = _reads_pattern(graph, unweighted), _core.community_vertex_bytes(refined)
    lists = one_way(graph, [gpu], home, packs, vertex_bytes)
    facts = lists.facts()
    short = facts["room_bytes"] < _core.community_bytes(facts["vertices"], refined)
    if short and home == "auto" and facts["placement"] == "device" and graph.place != "device":
        return one_way(graph, [gpu], "pinned", packs, vertex_bytes)
    return lists


def _weighed(graph: csr_array, unweighted: bool) -> tuple[Any, bool]:
    """The matrix where the CPU reads its weights, and whether there are none."""
    none = _reads_pattern(graph, unweighted)
    return (graph if none else readable(graph))._core, none


def _weighted(A: Any, function: str, unweighted: bool, adds: bool = True) -> csr_array:
    """A symmetric graph with real weights, whose sum float64 holds where `adds`."""
    graph = as_graph(A, function)
    unweighted = flag(unweighted, "unweighted")
    if not unweighted:
        require_real_weights(graph, function)
    mirrored = has_symmetric_pattern if unweighted else symmetric_weights
    if not mirrored(graph) and not _has_mirrored_sums(graph, unweighted):
        raise ValueError(
            f"{function} needs an undirected graph: some entry (i, j) is not mirrored by an equal (j, i). "
            "Give A + A.T, where both directions add up"
        )
    if adds and graph.dtype == np.float64 and not unweighted:
        _require_finite_sum(graph, function)
    return graph


def _require_finite_sum(graph: csr_array, function: str) -> None:
    """ValueError where the degrees add up to more than float64 holds, which is found once. Single weights that are
    infinite, NaN or negative the core finds, and names."""
    if graph._derived.once("sum_overflows", lambda: _overflows(readable(graph))):
        raise ValueError(
            f"{function}: the weights add up to more than a float64 holds: scale them, by A * 2.0**-200 for one"
        )


def _overflows(graph: csr_array) -> bool:
    weights = graph.data
    with np.errstate(over="ignore", invalid="ignore"):
        if math.isfinite(2 * float(weights.sum())):
            return False
        total = float(weights.sum() + graph.diagonal().sum())  # a self loop counts twice
    return bool(not math.isfinite(total) and np.isfinite(weights).all() and (weights >= 0).all())


def _has_mirrored_sums(graph: csr_array, unweighted: bool) -> bool:
    """The same of a graph with duplicates, added up."""
    if graph.has_canonical_format:
        return False
    if unweighted:
        return False  # duplicates were counted
    return symmetric_weights(graph.without_duplicates())


def _labels(graph: csr_array, labels: Any) -> np.ndarray:
    """Numbered from 0 without gaps, by value."""
    given: Any = np.asarray(labels)
    if given.dtype.kind in "iu" and given.ndim == 1 and given.size:
        given = np.unique(given, return_inverse=True)[1]
    numbers = as_labels(given, "labels")
    if numbers.size != graph.shape[0]:
        raise ValueError(
            f"labels has {numbers.size} entries, but the graph has {graph.shape[0]} vertices"
        )
    return numbers


def _number(value: Any, name: str) -> float:
    finite = number(value, name)
    if not math.isfinite(finite):
        raise ValueError(f"{name}={value!r} must be finite")
    return finite


def _at_least_0(value: Any, name: str) -> float:
    found = _number(value, name)
    if found < 0:
        raise ValueError(f"{name}={value!r} must be at least 0")
    return found


def _count(value: Any, name: str) -> int:
    """0 for None: no limit."""
    if value is None and name == "max_levels":
        return 0
    return min(integer(value, name, 1), _MOST)
