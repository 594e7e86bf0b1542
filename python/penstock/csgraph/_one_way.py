"""Lists that an algorithm reads in one direction, on one GPU or over several: where they go, and the graph there."""

from __future__ import annotations

from typing import Any

from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import ON_ITS_GPU, Home, _home, _rate, gpu_graph, gpu_parts
from penstock.csgraph._room import budget, leaves

# Algorithms that read lists in one direction read each of them so often in a call, at least: betweenness twice for a
# source, PageRank in each step, triangles for each list that names its vertex.
_PASSES = 2


def settle_one_way(
    graph: csr_array,
    gpus: list[int],
    placement: str,
    packs: bool,
    vertex_bytes: int,
    shared_bytes: int = 0,
) -> Home:
    """As `settle_home`, for lists that are read in one direction: the decision of `one_way`. vertex_bytes: what the
    algorithm takes for each vertex; over several GPUs for those of a part, and `shared_bytes` for all of the graph.
    Packed lists that searches have placed beside the reversed edges are taken as they are, in their half of the
    budget."""
    several = len(gpus) > 1
    known = graph._derived.gpu_parts if several else graph._derived.gpu_graph
    where = tuple(gpus) if several else gpus[0]
    if packs and placement in ("auto", "packed") and known is not None:
        whole, half = budget(gpus, 1), budget(gpus, 2)
        alike = known[0][:2] == (where, "packed") and not (known[0][3] and not several)
        if alike and known[0][2] == half != whole and leaves(known[1], vertex_bytes, shared_bytes):
            return Home("packed", "searches have placed them, beside the reversed edges", 2)
    if placement != "auto":
        return Home(placement, "asked for", 1)
    if not packs:
        return Home("auto", "the core's choice by bytes", 1)
    ahead = _PASSES * 4 * graph.nnz / _rate(graph, gpus[0]) / len(set(gpus))
    asked = {"vertex_bytes": vertex_bytes} | (
        {"shared_vertex_bytes": shared_bytes} if several else {}
    )
    return Home(*_home([graph], gpus, ahead, **asked), 1)


def one_way(
    graph: csr_array,
    gpus: list[int],
    placement: str,
    packs: bool,
    vertex_bytes: int,
    part_bytes: tuple[int, int] = (0, 0),
) -> Any:
    """The graph on one GPU or several for an algorithm that reads its lists alone and takes so many bytes for each
    vertex; on several `part_bytes`, for those of a part and for all of the graph. packs: whether "auto" may stand for
    packed lists."""
    if len(gpus) == 1:
        home = settle_one_way(graph, gpus, placement, packs, vertex_bytes)
        return gpu_graph(graph, gpus[0], home.placement, home.share, vertex_bytes=vertex_bytes)
    if graph.place == "device":
        raise ValueError(ON_ITS_GPU)
    home = settle_one_way(graph, gpus, placement, packs, *part_bytes)
    placed = graph._derived.gpu_parts
    if home.share == 2 and placed is not None:  # by searches, cut as the edges that they reverse
        return placed[1]
    return gpu_parts(graph, gpus, home.placement, home.share, part_bytes=part_bytes)
