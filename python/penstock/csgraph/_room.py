"""What a GPU has for a graph: its budget, and what lists and searches take of it."""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options

_NO_LISTS = 64  # bytes: packed lists that are all elsewhere take no more on a GPU


def budget(gpus: list[int], share: int) -> int:
    """Bytes for one of `share` graphs on each GPU; 0 is what is free, which neither of two may take."""
    if options.device_memory or share == 1:
        return (options.device_memory or 0) // share
    return min(_core.gpu_info(gpu)["memory_bytes"] for gpu in set(gpus)) * 9 // 10 // share


def free_bytes(graphs: list[csr_array], gpu: int, several: bool = False) -> int:
    """What is free on a GPU, and what graphs that are there now take, which will be free, beside what others hold;
    several: as parts of them."""
    there = 0
    for one in graphs:
        known = one._derived.gpu_parts if several else one._derived.gpu_graph
        if known is not None:
            facts = known[1].facts()
            there += sum(
                f["used_bytes"] - f.get("aside_bytes", 0)
                for f in facts.get("parts", [facts])
                if f["gpu"] == gpu
            )
    return int(_core.gpu_info(gpu)["free_bytes"]) + int(there)


def room_of_each(graphs: list[csr_array], gpus: list[int], share: int) -> tuple[int, int]:
    """(the budget, what is free) of each of the named GPUs, one of which may be named several times; the second counts
    where the first is 0."""
    named, several = max(gpus.count(gpu) for gpu in gpus), len(gpus) > 1
    limit = budget(gpus, share) // named
    if limit:
        return limit, 0
    return 0, min(free_bytes(graphs, gpu, several) // gpus.count(gpu) for gpu in gpus)


def room_there(
    graph: csr_array,
    gpus: list[int],
    each: tuple[int, int],
    placement: str = "auto",
    sizes: dict[str, int] | None = None,
    vertex_bytes: int | None = None,
    **asked: Any,
) -> dict[str, Any]:
    """`gpu_graph_room` on each of the named GPUs, with what `room_of_each` says of them; several have a range of the
    vertices each. `sizes` are bytes of the whole graph's lists; `vertex_bytes`: what an algorithm takes for each
    vertex, if it is not what searches take."""
    n, parts = graph.shape[0], len(gpus)
    if vertex_bytes is not None:
        asked["vertex_bytes"] = vertex_bytes
    if parts > 1:
        asked["all_vertices"] = n
    asked |= {name: -(-size // parts) for name, size in (sizes or {}).items()}
    shares = -(-n // parts), -(-graph.nnz // parts)
    return dict(_core.gpu_graph_room(*shares, *each, placement=placement, **asked))


def holds(room: dict[str, Any]) -> bool:
    """Whether all lists are on the GPU, within the budget."""
    return bool(room["far_bytes"] == 0 and room["used_bytes"] <= room["budget"])


def sizes_there(placed: Any) -> dict[str, int]:
    """As `sizes_of_packed`, of packed lists that a GPU has."""
    facts = placed.facts()
    return {"packed_bytes": int(facts["packed_bytes"]), "head_bytes": int(facts["offset_bytes"])}


def sampled(there: Any) -> bool:
    """Whether a kept graph has its best sample, which searches do not make again."""
    return there is not None and there[1].facts().get("sample_kind") == "highest_degree"


def leaves(there: Any, vertex_bytes: int | None, shared_bytes: int = 0) -> bool:
    """Whether packed lists on a GPU, or lists on each of several, leave so much for each vertex (and for each of the
    whole graph), or cannot leave more."""
    if vertex_bytes is None:
        return True
    whole = there.facts()
    which = ("packed", "device") if "parts" in whole else ("packed",)
    for facts in whole.get("parts", [whole]):
        if facts["placement"] not in which or facts["edge_bytes"] <= _NO_LISTS:
            continue
        needed = vertex_bytes * facts["vertices"] + _core.cut_list_bytes(facts["edges"])
        if vertex_bytes == _core.search_vertex_bytes(True):
            needed += facts["sample_bytes"]  # which searches read, too
        if facts["room_bytes"] < needed + shared_bytes * whole["vertices"]:
            return False
    return True
