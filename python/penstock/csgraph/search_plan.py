"""What a search would do before it does it: where its lists will be, what they take, and what binds its time."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from penstock import _core
from penstock._choices import EDGE_PLACEMENTS
from penstock._matrix.csr import csr_array
from penstock._plan.machine import LOCKS, Machine, this_machine
from penstock._plan.report import human_bytes, lines_of
from penstock._plan.schedules import gpu_count
from penstock.csgraph import _paths_gpu, _ranks_gpu, _search_model
from penstock.csgraph._gpu import (
    ON_ITS_GPU,
    chosen_gpus,
    gpu_pack_seconds,
    knows_gpu_graph,
    lists_of_paths,
    settle_home,
)
from penstock.csgraph._graph import as_graph, readable, vertex
from penstock.csgraph._lists import cpu_lists, for_cpu, raw_bytes
from penstock.csgraph._one_way import settle_one_way
from penstock.csgraph._packed_paths import asked_of_room, first_paths_seconds, settle_paths
from penstock.csgraph._packing import cpu_packs, pack_seconds, packed_bytes, sizes_of_packed
from penstock.csgraph._paths_gpu import may_pull, placement_without_room
from penstock.csgraph._ranks_gpu import RANK_PART_BYTES
from penstock.csgraph._room import leaves, room_of_each, room_there, sizes_there
from penstock.csgraph.gpu_options import GpuOptions, settled
from penstock.csgraph.page_rank import _edges
from penstock.csgraph.shortest_paths import weights_of

FUNCTIONS = _search_model.FUNCTIONS
_ONE_WAY = FUNCTIONS[2:]  # over the lists of A as they are on a CPU
# what these take for each vertex: on one GPU, and on several for those of a part and for all of the graph. PageRank to
# a tolerance of 1e-6, the default
_RANK_BYTES = int(_core.rank_vertex_bytes(1e-6, False))
_TAKES = {
    "betweenness_centrality": (
        int(_core.betweenness_vertex_bytes()),
        _core.betweenness_part_bytes(),
    ),
    "pagerank": (_RANK_BYTES, (RANK_PART_BYTES, _RANK_BYTES)),
}
_RANK_ARGUMENTS = (None, None, None, 0.85, 1e-6, 100)  # of PageRank as it is called without any


@dataclass(frozen=True)
class SearchPlan:
    """A search in words and numbers. `str()` gives sentences, `data()` a dictionary.

    function : of `penstock.csgraph`
    device : "cpu", or the numbers of the GPUs that search
    lists : where the neighbour lists are: "device", "packed", "pinned", or another placement of `GpuOptions`; on the
        CPU "raw" or "packed"
    reason : why
    budget : bytes that the graph may take of each GPU; gpu_bytes: what it takes there, by name (offsets, lists, sample,
        cache, vertices; the last are a search's arrays and its results)
    link_bytes : so many come over the link where a search reads every list once that is not on a GPU, in whole
        sectors. Searches mostly read fewer
    most_link_bytes : of "bfs", from one source: what a search with `access="auto"` reads over the link at most: all
        these lists once, an eighth of them, and 16 MiB. 0 for other functions, and where no list comes over the link
    seconds : predicted, of one search that reads every list once, which is half of a source of betweenness, and a step
        of PageRank; None where a disk binds, which nobody has measured. On GPUs within a factor of about 2 where most
        lists are there and the graph has some dozens of levels. Graphs of many levels, such as roads, take longer:
        levels are not known before. The way of results back to the host is not counted
        first_call_seconds: once before it, for packing, locking pages and moving what stays
    binding : the resource that takes longest; uses: a dictionary of bytes, bandwidth and seconds for each
    figures : where the bandwidths come from
    """

    function: str
    device: str | tuple[int, ...]
    lists: str
    reason: str
    budget: int = 0
    gpu_bytes: dict[str, int] = field(default_factory=dict)
    link_bytes: int = 0
    most_link_bytes: int = 0
    seconds: float | None = None
    first_call_seconds: float = 0.0
    binding: str = ""
    uses: list[dict[str, Any]] = field(default_factory=list)
    figures: str = ""

    def data(self) -> dict[str, Any]:
        """All of it, as a dictionary of numbers, text, lists and dictionaries."""
        return asdict(self)

    def __str__(self) -> str:
        gpus = () if isinstance(self.device, str) else self.device
        where = "GPU " + " and GPU ".join(map(str, gpus)) if gpus else "the CPU"
        lines = [
            f"{self.function} on {where}: {_said(self.lists, self.device == 'cpu')} ({self.reason})."
        ]
        if gpus:
            parts = ", ".join(f"{human_bytes(n)} {name}" for name, n in self.gpu_bytes.items() if n)
            each = "Each GPU takes" if len(gpus) > 1 else "The GPU takes"
            lines.append(f"{each} {parts}, within a budget of {human_bytes(self.budget)}.")
            if sum(self.gpu_bytes.values()) > self.budget:
                lines[-1] = f"{each} {parts}, of a budget of {human_bytes(self.budget)}."
                lines.append(
                    "This exceeds the budget: expect MemoryError, or allow more device_memory."
                )
            lines.append(
                f"All lists over the link are {human_bytes(self.link_bytes)}; {self._most()}."
                if self.link_bytes
                else "No list comes over the link."
            )
        if self.seconds is None:
            lines.append("Its time is that of the disk, which is not measured.")
        else:
            lines.append(
                f"Predicted: {self.seconds * 1e3:.3g} ms where every list is read once; {self.binding} binds."
            )
            if self.function in _search_model.OF_LEVELS:
                lines.append("A graph of many levels, such as a road network, takes longer.")
        lines += lines_of(self.uses)
        if self.first_call_seconds:
            lines.append(f"Before the first search: {self.first_call_seconds * 1e3:.3g} ms.")
        if self.figures:
            lines.append(f"Bandwidths: {self.figures}.")
        return "\n".join(lines)

    def _most(self) -> str:
        if self.most_link_bytes:
            return (
                f"a search reads at most {human_bytes(self.most_link_bytes)}, and mostly much less"
            )
        return {
            "pagerank": "each step reads them",
            "betweenness_centrality": "both passes of each source read them",
        }.get(self.function, "a search mostly reads fewer")

    __repr__ = __str__


def _said(lists: str, on_cpu: bool) -> str:
    if on_cpu:
        return (
            "its lists are read as they are"
            if lists == "raw"
            else "its lists are packed, and decoded where they are read"
        )
    return f"its lists are {lists}, {EDGE_PLACEMENTS[lists]}"


def explain(
    A: Any,
    function: str = "bfs",
    *,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
    lists: str = "auto",
) -> SearchPlan:
    """What a search of A would do, and why; nothing is searched, moved or packed.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
    function : "bfs", "connected_components", "sssp", "betweenness_centrality" or "pagerank"
        The last one over lists of neighbours: products of A, which it takes without `device`, are what `A.explain` is
        for. Betweenness of a matrix without duplicates and self loops, which it leaves out first.
    device, gpu_options, lists :
        As that function takes them; only the first two take `lists`.

    Returns
    -------
    SearchPlan
        Printed, plain sentences; `data()`: the same as a dictionary. Bytes of packed lists that nobody has made are an
        estimate. Times are those of the slowest resource, where every list is read once; searches that stop early in
        lists, or find most vertices by samples, read fewer.

    Raises ValueError for another function, and what that function raises for A and these arguments, its others left
    out: lengths and weights are looked at, once. PageRank on a GPU is that of a pattern: explain it of one.

    The decisions are those of the functions themselves: the same code makes them, for a call and for its explanation.

    >>> import penstock as ps
    >>> A = ps.generate.rmat(10, seed=1)
    >>> plan = ps.csgraph.explain(A, "bfs", device="cpu")
    >>> plan.device, plan.lists, plan.link_bytes
    ('cpu', 'raw', 0)
    """
    if function not in FUNCTIONS:
        raise ValueError(f"function={function!r} is unknown: choose one of {', '.join(FUNCTIONS)}")
    graph = as_graph(A, function)
    if function == "sssp":
        on = _paths_gpu.chosen(graph, function, device, gpu_options)
        gpus = [] if on is None else [on.gpu]
    else:
        gpus = chosen_gpus(graph, device)
    how = settled(gpu_options, function, bool(gpus))
    for_cpu(lists, bool(gpus), function, options=function not in _ONE_WAY)
    if function == "pagerank" and device is None and gpu_options is None:
        raise ValueError(
            'pagerank without device takes products, which A.explain(x) is for: name a GPU or "cpu"'
        )
    if function in _ONE_WAY and lists != "auto":
        raise ValueError(f"{function} reads the lists of A as they are: leave lists={lists!r} out")
    _require_searchable(graph, function, device, gpu_options, how, bool(gpus))
    if len(gpus) > 1 and graph.place == "device":
        raise ValueError(ON_ITS_GPU)
    if not gpus:
        return _on_cpu(graph, function, lists)
    return _on_gpus(graph, function, gpus, how)


def _require_searchable(
    graph: csr_array, function: str, device: Any, given: Any, how: GpuOptions, on_gpu: bool
) -> None:
    """Raises what the function raises for lengths and weights, and for a graph without vertices, by its own checks."""
    if function in ("bfs", "sssp"):
        vertex(graph, 0)
    if function == "sssp":
        weights_of(graph, mirrored=on_gpu and may_pull(how))
    elif function == "pagerank":
        _ranks_gpu.chosen(graph, True, device, given, _RANK_ARGUMENTS)
        if not on_gpu:
            _edges(readable(graph), True)


def _lengths(graph: csr_array, function: str) -> int:
    """Bytes of the lengths of all edges, at most: whole numbers take fewer."""
    if function != "sssp" or graph.dtype.kind == "b":
        return 0
    return int(graph.dtype.itemsize) * graph.nnz


def _on_cpu(graph: csr_array, function: str, wanted: str) -> SearchPlan:
    told = cpu_lists(graph, "raw" if function in _ONE_WAY else wanted, _lengths(graph, function))
    packed = told.kind == "packed"
    moved = packed_bytes(graph) if packed else raw_bytes(graph)
    moved += _lengths(graph, function)
    uses = _search_model.on_cpu(function, graph.shape[0], graph.nnz, moved, packed)
    slowest = max(uses, key=lambda u: u["seconds"])
    disk, reason = told.on_disk, told.reason
    if function in _ONE_WAY:
        reason = f"{function} reads the lists of A as they are"
    return SearchPlan(
        function=function,
        device="cpu",
        lists=told.kind,
        reason=f"{human_bytes(moved)}; {reason}" if packed else reason,
        seconds=None if disk else slowest["seconds"],
        first_call_seconds=pack_seconds(graph) if packed else 0.0,
        binding="the disk" if disk else slowest["resource"],
        uses=uses,
        figures="of the CPU, measured in this process",
    )


def _placed(graph: csr_array, gpu: int, share: int, vertex_bytes: int | None) -> Any:
    """The packed lists that a search would find on a GPU; None where there are none."""
    found = lists_of_paths(graph, gpu, "packed", share, vertex_bytes)
    if found is None and knows_gpu_graph(graph, [gpu], "packed", share):
        found = graph._derived.gpu_graph[1]
    return found


def _takes(function: str, gpus: list[int]) -> tuple[int, ...]:
    """What that function takes on a GPU for each vertex; on several, for those of a part and for all of the graph."""
    alone, part = _TAKES[function]
    return (alone,) if len(gpus) == 1 else part


def _on_gpus(graph: csr_array, function: str, gpus: list[int], how: GpuOptions) -> SearchPlan:
    share, sizes = 1, None
    asked: dict[str, Any] = {}
    if function in _TAKES:
        if function == "pagerank" and not graph._derived.symmetric_pattern:
            known = graph._derived.transpose  # its lists are those that are read
            graph = known if isinstance(known, csr_array) else graph
        takes = _takes(function, gpus)
        asked = dict(zip(("vertex_bytes", "shared_vertex_bytes"), takes, strict=False))
        home = settle_one_way(graph, gpus, how.home, how.access == "auto", *takes)
        placement, reason, share = home.placement, home.reason, home.share
        if placement == "packed":
            sizes = sizes_of_packed(graph)
    elif function != "sssp":
        alone = len(gpus) == 1
        lean = int(_core.search_vertex_bytes(False)) if alone else None
        home = settle_home(graph, gpus, how.home, how.access == "auto", lean)
        placement, reason, share = home.placement, home.reason, home.share
        if alone:
            asked = {"sample": how.slots, "cache": function == "bfs"}
        if placement == "packed":
            placed = _placed(graph, gpus[0], share, lean) if alone else None
            sizes = sizes_of_packed(graph) if placed is None else sizes_there(placed)
            asked |= {"vertex_bytes": lean}
    else:
        home = settle_paths(graph, gpus[0], how, lambda: weights_of(graph, may_pull(how)))
        placement, reason = home.placement, home.reason
        asked = {"along_bytes": _lengths(graph, function)}
        if placement == "packed":
            asked |= asked_of_room(graph, weights_of(graph))

    def room(where: str) -> dict[str, Any]:
        each = room_of_each([graph], gpus, share)
        return room_there(graph, gpus, each, where, sizes, **asked)

    found = room(placement)
    if found["placement"] == "packed" and not found["far_bytes"] and "sample" in asked:
        asked |= {"sample": 0}  # the lists themselves are asked, which are on the GPU
        found = room(placement)
    if function == "sssp" and found["used_bytes"] > found["budget"]:
        other = placement_without_room(graph, how, found["placement"])
        if other is not None:
            found, reason = room(other), "the lists fit the budget, and not with their lengths"
            placement = other
    machine = this_machine(gpu_count())
    return _told(graph, function, gpus, found, reason, placement, share, machine)


def _told(
    graph: csr_array,
    function: str,
    gpus: list[int],
    room: dict[str, Any],
    reason: str,
    placement: str,
    share: int,
    machine: Machine,
) -> SearchPlan:
    several, lists = len(gpus), room["placement"]
    resident = room["list_bytes"] * several
    far = room["far_bytes"] * several
    paths = function == "sssp"
    arrays = 2 if paths and graph.dtype.kind != "b" and lists != "packed" else 1
    size, packed = (graph.shape[0], graph.nnz), lists == "packed"
    link = _search_model.link_bytes(far, *size, packed=packed, near=resident, arrays=arrays)
    most = _search_model.most_link_bytes(far, *size, packed=packed) if function == "bfs" else 0
    up = machine.together(several, "up")
    uses = _search_model.on_gpus(
        function,
        graph.nnz,
        packed,
        there=room["used_bytes"] - room["cache_bytes"],
        lists=resident + far,
        link=link,
        device_read=machine.gpus[gpus[0]].device_read,
        up=up,
        gpus=len(set(gpus)),
    )
    slowest = max(uses, key=lambda u: u["seconds"])
    if lists == "device" and reason != "asked for":
        reason = "the lists fit the budget as they are"
    if room["far_bytes"] and lists == "packed":
        reason += f"; {human_bytes(far)} of them stay in host memory"
    if share == 2:
        reason += "; the reversed edges take as much again, of a budget of their own"
    setup = (resident + room["offset_bytes"] * several) / up
    if lists != "packed":
        setup += far / LOCKS
    elif paths:
        along = 0 if graph.dtype.kind == "b" else weights_of(graph).nbytes
        setup = first_paths_seconds(graph, gpus[0], setup, along)
    elif cpu_packs(graph) or (several == 1 and graph._derived.packed_lists is not None):
        setup += pack_seconds(graph)
    else:
        setup = gpu_pack_seconds(graph, gpus[0], len(set(gpus)))
    if knows_gpu_graph(graph, gpus, placement, share, 4 if paths and lists == "packed" else 0):
        placed: Any = graph._derived.gpu_graph if several == 1 else graph._derived.gpu_parts
        if function not in _TAKES or leaves(placed[1], *_takes(function, gpus)):
            setup = 0.0
    return SearchPlan(
        function=function,
        device=tuple(gpus),
        lists=lists,
        reason=reason if lists != "packed" else f"{human_bytes(resident)} of them there; {reason}",
        budget=room["budget"],
        gpu_bytes={
            "offsets": room["offset_bytes"],
            "lists": room["list_bytes"],
            "sample": room["sample_bytes"],
            "cache": room["cache_bytes"],
            "vertices": room["vertex_bytes"],
        },
        link_bytes=link,
        most_link_bytes=most,
        seconds=slowest["seconds"],
        first_call_seconds=setup,
        binding=slowest["resource"],
        uses=uses,
        figures=machine.source,
    )
