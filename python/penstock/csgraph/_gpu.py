"""When a traversal runs on a GPU, and what is kept of its graph there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._sample import held as held_sample
from penstock._matrix.csr import csr_array
from penstock._plan.machine import LOCKS, PAGEABLE, link_up
from penstock._plan.report import active
from penstock._plan.schedules import gpu_count, named_gpu, options
from penstock.csgraph._incoming import edges_in, has_missed, knows_edges_in
from penstock.csgraph._packing import cpu_packs, pack_seconds, packing_seconds, sizes_of_packed
from penstock.csgraph._room import (
    budget,
    holds,
    leaves,
    room_of_each,
    room_there,
    sampled,
    sizes_there,
)

# A smaller graph's traversal takes about a millisecond on the CPU, and a GPU's first one not less.
_SMALL = 1 << 20

_FAR_PASSES = 1.125  # of packed lists in host memory that a search reads, at most
ON_ITS_GPU = "a graph in device memory is searched on that GPU: give its number, or take the graph to the host"
_OF_LINK = 8  # times as fast as its link a GPU reads its memory, at least


def chosen_gpu(graph: csr_array, device: Any) -> int | None:
    """The GPU that a traversal of `graph` runs on, or None for the CPU.

    device: None lets the graph decide: a GPU where its arrays are in pinned, managed or device memory, or where
    `options.device_memory` is set, and where the graph is not small. "cpu", a number, or `ps.device(n)`. ValueError and
    TypeError for anything else, and for a GPU that is not there or that `options.gpus` leaves out.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True], ([0], [1])), shape=(2, 2))
    >>> chosen_gpu(A, None), chosen_gpu(A, "cpu")
    (None, None)
    """
    usable = gpu_count()
    if device is None:
        if usable == 0:
            return None
        if graph.place == "device":
            return _core.ordinal(graph._core)
        wanted = graph.place in ("pinned", "managed") or options.device_memory is not None
        return 0 if wanted and graph.nnz + graph.shape[0] >= _SMALL else None
    return named_gpu(device)


def on_cpu(graph: csr_array, function: str, device: Any) -> None:
    """Raises what `chosen_gpu` raises, and ValueError for a GPU: `function` has no code for one yet."""
    if device is not None and chosen_gpu(graph, device) is not None:
        raise ValueError(f'{function} runs on the CPU: give device="cpu" or None')


def chosen_gpus(graph: csr_array, device: Any) -> list[int]:
    """The GPUs that a traversal of `graph` runs on; none for the CPU.

    device: as for `chosen_gpu`, or a list of GPUs, one of which may be named several times. None takes the first
    `options.gpus` of them where that is 2 or more and the graph exceeds the budget of one.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True], ([0], [1])), shape=(2, 2))
    >>> chosen_gpus(A, None), chosen_gpus(A, "cpu")
    ([], [])
    """
    if isinstance(device, (Sequence, np.ndarray)) and not isinstance(device, str):
        if len(device) == 0:
            raise ValueError('device=[]: name at least one GPU, or "cpu"')
        gpus = [chosen_gpu(graph, one) for one in device]
        if any(gpu is None for gpu in gpus):
            raise ValueError(f"device={device!r}: a list names GPUs alone")
        return [gpu for gpu in gpus if gpu is not None]
    gpu = chosen_gpu(graph, device)
    if gpu is None:
        return []
    wanted = gpu_count() if options.gpus else 1
    if device is not None or wanted < 2 or graph.place == "device":
        return [gpu]
    limit = options.device_memory or 0
    free = 0 if limit else _core.gpu_info(gpu)["free_bytes"]
    fits = _core.gpu_graph_fits(graph.shape[0], graph.nnz, limit, free)
    return [gpu] if fits else list(range(wanted))


_Paths = tuple[int, bool]  # bytes of a distance, whether there is room for predecessors


def _graph_key(
    gpu: int, placement: str, share: int, paths: _Paths | int = 0
) -> tuple[int, str, int, _Paths | int]:
    """What a kept graph on one GPU depends on: the third is its budget; the last, what its packed lists leave to
    shortest paths, 0 where they are not for these."""
    return gpu, placement, budget([gpu], share), paths


def _serves(known: tuple[Any, ...], key: tuple[Any, ...]) -> bool:
    """Whether a graph that was kept by the first key is one for the second. Room for predecessors may stay unused."""
    return known == key or (
        known[:3] == key[:3] and bool(known[3]) and bool(key[3]) and known[3] == (key[3][0], True)
    )


def _parts_key(gpus: list[int], placement: str, share: int) -> tuple[tuple[int, ...], str, int]:
    """The same over several GPUs."""
    return tuple(gpus), placement, budget(gpus, share)


def gpu_graph(
    graph: csr_array,
    gpu: int,
    placement: str = "auto",
    share: int = 1,
    paths: Any = None,
    distance_bytes: int = 4,
    vertex_bytes: int | None = None,
    predecessors: bool = False,
) -> Any:
    """The graph as the traversals of one GPU see it, kept with it as long as they ask for the same placement and the
    same budget (`options.device_memory`, of which this graph may take one part in `share`). `paths`: for shortest paths
    from packed lists, what `lists_for_gpu` says of them; distances take so many bytes each, and `predecessors` need
    room of their own. `vertex_bytes`: what packed lists leave for each vertex, if it is not what searches take."""
    key = _graph_key(gpu, placement, share, 0 if paths is None else (distance_bytes, predecessors))
    if paths is not None:
        graph._derived.reads_of_paths = 0
    elif (placed := lists_of_paths(graph, gpu, placement, share, vertex_bytes)) is not None:
        graph._derived.reads_of_paths += 1
        return placed
    known = graph._derived.gpu_graph
    needed = vertex_bytes if placement == "packed" else None
    anew = known is None or not _serves(known[0], key) or not leaves(known[1], needed)
    if anew and known is not None and known[1].facts().get("lasting_bytes"):
        graph._derived.oriented_gpu = None  # which gives way first
        anew = not _serves(known[0], key) or not leaves(known[1], needed)
    if known is None or anew:
        sample = held_sample(graph)  # of the store that it is from
        packed, weights = paths or (None, None)
        if placement == "packed" and weights is None and packed is None:
            packed = graph._derived.packed_lists
            if packed is None and known is not None and known[0] == key:
                packed = known[1].packed_lists()  # the same, with less of them on the GPU
        graph._derived.gpu_graph = known = None
        more: dict[str, Any] = {}
        if paths is not None:
            more = {"distance_bytes": distance_bytes, "predecessors": predecessors}
        if weights is not None:
            more["weights"] = weights
        if placement == "packed" and packed is None and graph._derived.list_sample is not None:
            more["list_sample"] = graph._derived.list_sample
        if needed is not None:
            more["vertex_bytes"] = needed
        known = key, _core.gpu_graph(graph._core, *key[:3], sample, packed, **more)
        graph._derived.gpu_graph = known
        facts = known[1].facts()
        if facts.get("packed_by") == "cpu":  # which takes long: not again
            lists = known[1].packed_lists()
            if facts["lengths"]:
                graph._derived.packed_paths = lists
            else:
                graph._derived.packed_lists = lists
    return known[1]


def lists_of_paths(
    graph: csr_array, gpu: int, placement: str, share: int, vertex_bytes: int | None = None
) -> Any:
    """The packed lists that shortest paths have placed, for algorithms that read them without the lengths; None where
    these would have others. Kernels step over lengths, which lie behind each 32 columns, so that a search reads at most
    all of them besides. Lists are packed anew, without, once searches have read so many that it would have paid, or
    where lists are not all on the GPU, or leave no room for the algorithm."""
    derived = graph._derived
    known = derived.gpu_graph
    if placement != "packed" or known is None or not known[0][3]:
        return None
    if known[0][:3] != _graph_key(gpu, placement, share)[:3]:
        return None
    facts = known[1].facts()
    if facts["far_bytes"]:
        return None
    each = facts["budget"] - facts["lasting_bytes"], 0
    if not holds(room_there(graph, [gpu], each, placement, sizes_there(known[1]), vertex_bytes)):
        return None
    bits = (
        (derived.path_weights.packed_bits or 0) if facts["lengths"] and derived.path_weights else 0
    )
    read = derived.reads_of_paths * bits * graph.nnz / 8 / (_OF_LINK * link_up(gpu))
    again = pack_seconds(graph) if cpu_packs(graph) else gpu_pack_seconds(graph, gpu)
    return known[1] if read <= again else None


def knows_gpu_graph(
    graph: csr_array, gpus: list[int], placement: str, share: int = 1, distance_bytes: int = 0
) -> bool:
    """Whether `gpu_graph`, or `gpu_parts` for several GPUs, would make nothing anew."""
    known: Any
    if len(gpus) > 1:
        known = graph._derived.gpu_parts
        return known is not None and known[0][:3] == _parts_key(gpus, placement, share)
    if distance_bytes == 0 and lists_of_paths(graph, gpus[0], placement, share) is not None:
        return True
    known = graph._derived.gpu_graph
    paths = (distance_bytes, False) if distance_bytes else 0
    return known is not None and _serves(known[0], _graph_key(gpus[0], placement, share, paths))


@dataclass(frozen=True)
class Home:
    """Where a graph's lists go on one GPU, before they are there."""

    placement: str  # as the core is asked
    reason: str
    share: int  # graphs that divide the budget: two where the reversed edges are others


def settle_home(
    graph: csr_array,
    gpus: list[int],
    placement: str,
    packs: bool = True,
    vertex_bytes: int | None = None,
) -> Home:
    """The decision of `gpu_graphs` and `gpu_parts_pair`, which carry it out; `explain` prints it. Forms nothing."""
    symmetric = graph._derived.symmetric_pattern
    turned = not symmetric and (knows_edges_in(graph) or has_missed(graph))
    share = 2 if turned else 1
    reason = "asked for"
    if (
        placement == "auto"
        and packs
        and len(gpus) == 1
        and lists_of_paths(graph, gpus[0], "packed", share, vertex_bytes)
    ):
        placement, reason = (
            "packed",
            "shortest paths have placed them, with the lengths of the edges",
        )
    elif placement == "auto" and packs:
        known = graph._derived.transpose
        both = [graph, known if isinstance(known, csr_array) else graph]
        placement, reason = _home(both[:share], gpus, vertex_bytes=vertex_bytes)
    elif placement == "auto":
        reason = "the core's choice by bytes"
    return Home(placement, reason, share)


def _home(
    graphs: list[csr_array], gpus: list[int], ahead: float = 0.0, **asked: Any
) -> tuple[str, str]:
    """(the placement that "auto" stands for, why): "packed" where packed lists fit the budget, raw ones do not, and
    packing pays; else "auto", which is the core's choice. Each of several GPUs packs its own range of the vertices.
    `ahead`: seconds that the call would take over the link; `asked`: what `gpu_graph_room` is told besides."""
    graph, share = graphs[0], len(graphs)
    if graph.place == "device":
        return "auto", "the graph is on a GPU"
    packs = all(_is_packed(one, len(gpus) > 1) for one in graphs)
    price = sum(_price(one, gpus) for one in graphs)
    if not packs and graph._derived.link_seconds + ahead < price:
        return "auto", (
            f"lists that exceed the budget are packed when searches have taken {price:.2g} s over the link, as long as "
            f"packing takes beyond what they take now ({graph._derived.link_seconds:.2g} s until now)"
        )
    each = room_of_each(graphs, gpus, share)

    def only_packed(one: csr_array) -> bool:
        if room_there(one, gpus, each)["placement"] == "device":
            return False
        return holds(room_there(one, gpus, each, "packed", sizes_of_packed(one), **asked))

    if all(only_packed(one) for one in graphs):
        return "packed", "the lists exceed the budget as they are, and fit it packed"
    if len(gpus) == 1 and share == 1:
        return _partly(graph, gpus[0], each, ahead, **asked)
    return (
        "auto",
        "packed lists are no gain: these fit the budget as they are, or exceed it packed, too",
    )


def _partly(
    graph: csr_array, gpu: int, each: tuple[int, int], ahead: float, **asked: Any
) -> tuple[str, str]:
    """As `_home`, where packed lists exceed the budget, too: those that stay in host memory are read over the link, an
    eighth of them twice at most, or with a sample the same share as of lists as they are. They pay once calls have
    taken so much longer over the link than that as packing takes. Samples answer for some graphs, whose calls take
    less. A second search reads all columns for its sample: if the first one took more than an eighth of that pass, the
    second one packs instead."""
    raw = room_there(graph, [gpu], each)
    asked = {"sample": 4} | asked
    packed = room_there(graph, [gpu], each, "packed", sizes_of_packed(graph), **asked)
    if (
        raw["placement"] == "device"
        or not packed["list_bytes"]
        or packed["used_bytes"] > packed["budget"]
    ):
        return (
            "auto",
            "packed lists are no gain: these fit the budget as they are, or it has no room for any",
        )
    derived, far = graph._derived, packed["far_bytes"]
    known = derived.gpu_graph
    if known is not None and known[0][:2] == (gpu, "packed") and not known[0][3]:
        return "packed", "searches have placed them"
    share = far / max(1, 4 * graph.nnz)
    packed_seconds = share * derived.link_seconds
    if not packed["sample_size"]:
        packed_seconds = max(
            packed_seconds, derived.link_calls * _FAR_PASSES * far / _rate(graph, gpu)
        )
    spared = derived.link_seconds - packed_seconds + ahead * (1 - share)
    price = 0.0
    if derived.packed_lists is None:
        price = pack_seconds(graph) if cpu_packs(graph) else gpu_pack_seconds(graph, gpu)
        a_pass = 4 * graph.nnz / _rate(graph, gpu)
        again = known is not None and not (sampled(known) or cpu_packs(graph) or ahead)
        if again and derived.link_seconds > a_pass / 8:
            price -= a_pass
    if spared <= price:
        return "auto", (
            f"lists that exceed the budget packed, too, are packed when searches have taken {price:.2g} s longer over "
            f"the link than packed ones would ({max(0.0, spared):.2g} s until now)"
        )
    return "packed", "the lists exceed the budget, and less of them packed"


def _is_packed(graph: csr_array, several: bool) -> bool:
    """Whether nobody need pack the lists; several: those of ranges of several GPUs, which pack them by themselves."""
    there = graph._derived.gpu_parts if several else graph._derived.gpu_graph
    on_gpu = there is not None and there[1].facts()["placement"] == "packed"
    return on_gpu or (not several and graph._derived.packed_lists is not None)


def _rate(graph: csr_array, gpu: int) -> float:
    """Bytes a second from where the graph is to a GPU; pages of ordinary memory are locked on the way."""
    if graph.place in ("pinned", "managed"):
        return link_up(gpu)
    return min(link_up(gpu), PAGEABLE if graph.place == "mapped" else LOCKS)


def gpu_pack_seconds(graph: csr_array, gpu: int, gpus: int = 1, along: int = 0) -> float:
    """What a GPU, or each of several, takes to pack the lists of its range: how long each is (2 bytes) and columns go
    there once, and `along` bytes of lengths of edges."""
    return (2 * graph.shape[0] + 4 * graph.nnz + along) / _rate(graph, gpu) / gpus


def _price(graph: csr_array, gpus: list[int]) -> float:
    """What packing takes beyond what the next search takes if lists are read where they are; of several GPUs each packs
    its range. A first search reads about as many bytes as packing does where packed lists fit (0.3 to 1.1 passes of
    lifts of web, social and bipartite graphs on an H100), and its sample; a second one reads all columns for a better
    sample. Later ones find the sample, as all do over several GPUs but the first."""
    derived, several = graph._derived, len(gpus) > 1
    if _is_packed(graph, several):
        return 0.0
    if cpu_packs(graph):
        return packing_seconds(graph)
    best = sampled(derived.gpu_parts if several else derived.gpu_graph)
    return gpu_pack_seconds(graph, gpus[0], len(set(gpus))) if best else 0.0


def note_link(graph: csr_array, there: Any, told: dict[str, Any]) -> None:
    """Adds up what traversals take whose lists come over the link."""
    if there.facts()["placement"] == "pinned":
        graph._derived.link_seconds += told.get("seconds", 0.0)
        graph._derived.link_calls += 1


def gpu_graphs(
    graph: csr_array,
    gpu: int,
    placement: str,
    packs: bool = True,
    vertex_bytes: int | None = None,
) -> tuple[Any, Any]:
    """(edges, reversed edges): both the same where the pattern is symmetric, None for the second where nobody has
    formed it. The two share the budget. packs: whether "auto" may stand for packed lists, which leave `vertex_bytes`
    for each vertex."""
    reversed_edges = _edges_in(graph)
    home = settle_home(graph, [gpu], placement, packs, vertex_bytes)
    if home.share == 2:
        _give_way(graph.T.formed(), [gpu])
    own = gpu_graph(graph, gpu, home.placement, home.share, vertex_bytes=vertex_bytes)
    if home.share == 2:
        reverse = graph.T.formed()
        return own, gpu_graph(reverse, gpu, home.placement, 2, vertex_bytes=vertex_bytes)
    return own, None if reversed_edges is None else own


def _give_way(reversed_edges: csr_array, gpus: list[int]) -> None:
    """Frees reversed edges that have the whole budget, before the edges get half of it."""
    derived, half = reversed_edges._derived, budget(gpus, 2)
    if derived.gpu_graph is not None and derived.gpu_graph[0][2] != half:
        derived.gpu_graph = None
    if derived.gpu_parts is not None and derived.gpu_parts[0][2] != half:
        derived.gpu_parts = None


def _edges_in(graph: csr_array) -> Any:
    """`edges_in`; None also for a graph on a GPU that has no room for them, which is then not asked again."""
    try:
        return edges_in(graph)
    except MemoryError:
        if graph.place != "device":
            raise
        graph._derived.missed_edges = -(2**62)
        return None


def gpu_parts(
    graph: csr_array,
    gpus: list[int],
    placement: str,
    share: int = 1,
    like: Any = None,
    part_bytes: tuple[int, int] | None = None,
) -> Any:
    """As `gpu_graph`, with a range of the vertices on each of several GPUs; `like`: cut as that graph is; `part_bytes`:
    what lists leave for each vertex of a part and for each of the graph, if it is not what searches take."""
    key = (*_parts_key(gpus, placement, share), None if like is None else id(like))
    known = graph._derived.gpu_parts
    needed = part_bytes if placement in ("auto", "packed") else None
    if known is None or known[0] != key or not leaves(known[1], *(needed or (None,))):
        graph._derived.gpu_parts = known = None
        # `like` is kept as long as its identity stands for it
        sample = held_sample(graph)
        names = ("vertex_bytes", "shared_vertex_bytes")
        more = dict(zip(names, part_bytes, strict=True)) if part_bytes else {}
        known = key, _core.gpu_parts(graph._core, gpus, *key[1:3], like, sample, **more), like
        graph._derived.gpu_parts = known
    return known[1]


def gpu_parts_pair(
    graph: csr_array, gpus: list[int], placement: str, packs: bool = True
) -> tuple[Any, Any]:
    """As `gpu_graphs`, over several GPUs."""
    if graph.place == "device":
        raise ValueError(ON_ITS_GPU)
    reversed_edges = edges_in(graph)
    home = settle_home(graph, gpus, placement, packs)
    if home.share == 2:
        _give_way(graph.T.formed(), gpus)
    own = gpu_parts(graph, gpus, home.placement, home.share)
    if home.share == 2:
        return own, gpu_parts(graph.T.formed(), gpus, home.placement, 2, own)
    return own, None if reversed_edges is None else own


def report(kernel: str, graph: Any, told: dict[str, Any]) -> None:
    """Tells `ps.record` what a traversal did."""
    events = active()
    if events is None:
        return
    facts = graph.facts()
    in_core = facts["placement"] == "device"
    read = told.get("read")
    events.append(
        {
            "schedule": "in_core" if in_core else "zero_copy",
            "kernel": kernel,
            "gpu": facts["gpu"],
            "gpus": facts.get("gpus", [facts["gpu"]]),
            "link_bytes": 0 if in_core or read is None else read["bytes"],
            "edge_bytes": 4 * facts["edges"],
            "graph": facts,
            **told,
        }
    )
