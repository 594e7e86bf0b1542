"""What a search takes of each resource: bytes, and the seconds in which that resource does its part.

Numbers alone: no graph is asked. `explain` prints what is found here.
"""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._plan.model import use

# Picoseconds that the kernels of a GPU take for an entry of a list, as it is and packed. Searches, components and
# shortest paths: from medians of lifts of a web, a social and a bipartite graph with 1 billion entries, on one H200
# that had all or most of their lists (bench/results/structure.json, which a test compares). A pass of betweenness and a
# step of PageRank: from times of one H100 in docs/larger_graphs.md.
_ENTRY = {
    "bfs": (4.5, 7.0),
    "connected_components": (3.8, 4.3),
    "sssp": (24.0, 31.0),
    "betweenness_centrality": (25.0, 40.0),
    "pagerank": (13.0, 22.0),
}
# Bytes a second of the memory of the GPU that took so long. What kernels do with entries is mostly gathers from arrays
# of the vertices, so other GPUs are compared by the bandwidth of their memory.
_MEMORY = 4.6e12
# What the CPU takes for an entry, in edges that a breadth-first search follows: from medians of 16 threads, same file.
_CPU_EDGES = {"connected_components": 2.7, "sssp": 10.0}
_CPU_ARRIVE = 2.0  # nanoseconds of one thread for a vertex that joins the frontier: kArrive of graph/bfs/search.hpp

_SECTOR = 32  # bytes: a list that comes over the link is read in whole sectors, at both of its ends
# What a breadth-first search may read over the link beside all lists once: this share of them, and so many bytes.
# kSpareShare and kSpareBytes of graph/bfs/bfs_gpu_rule.hpp, which keeps to it.
SPARE_SHARE, SPARE_BYTES = 0.125, 16 << 20

FUNCTIONS = tuple(_ENTRY)
# All others go level by level, or window by window of distances.
_OF_PASSES = ("connected_components", "pagerank")
OF_LEVELS = tuple(name for name in FUNCTIONS if name not in _OF_PASSES)


def on_cpu(
    function: str, vertices: int, entries: int, moved: int, packed: bool
) -> list[dict[str, Any]]:
    """Of one search on the CPU that reads `moved` bytes of lists and lengths."""
    look, _, edge = _core.read_cost(packed)
    spent = entries * edge * _CPU_EDGES.get(function, 1.0) + vertices * (look + _CPU_ARRIVE)
    return [
        use("host memory", moved, moved / _core.machine()["host_read"]),
        use("CPU", moved, spent * 1e-9 / _core.num_threads()),
    ]


def link_bytes(
    far: int, vertices: int, entries: int, *, packed: bool, near: int = 0, arrays: int = 1
) -> int:
    """What comes over the link where every list is read once that is not on a GPU, `far` bytes of them, in whole
    sectors. near: bytes of the packed lists that are there, which are those of as large a share of the vertices;
    arrays: lists, and lengths that lie beside them.

    >>> link_bytes(3000, 100, 4000, packed=True, near=1000)
    7200
    """
    if not far:
        return 0
    lists = -(-vertices * far // (far + near)) if packed else vertices
    link = far + arrays * 2 * (_SECTOR - 4) * lists
    return link if packed else min(link, arrays * _SECTOR * entries)


def most_link_bytes(far: int, vertices: int, entries: int, *, packed: bool) -> int:
    """What a breadth-first search reads over the link at most, if lists of `far` bytes are not on a GPU: no more is
    taken for granted of their number than that of all vertices.

    >>> most_link_bytes(0, 100, 4000, packed=True), most_link_bytes(3000, 100, 4000, packed=True)
    (0, 16786191)
    """
    if not far:
        return 0
    once = link_bytes(far, vertices, entries, packed=packed)
    return once + int(SPARE_SHARE * far) + SPARE_BYTES


def kernel_seconds(
    function: str, entries: int, packed: bool, device_read: float, gpus: int = 1
) -> float:
    """What the kernels of each of several GPUs take for its share of all entries.

    >>> kernel_seconds("bfs", 10**9, True, 4.6e12)
    0.007
    """
    return _ENTRY[function][packed] * 1e-12 * entries * _MEMORY / device_read / gpus


def on_gpus(
    function: str,
    entries: int,
    packed: bool,
    *,
    there: int,
    lists: int,
    link: int,
    device_read: float,
    up: float,
    gpus: int = 1,
) -> list[dict[str, Any]]:
    """Of one search that reads every list once. there: bytes that each GPU has; lists: of lists, wherever they are;
    link: over all links; up: bytes a second of these together."""
    uses = [
        use("device memory", there, there / device_read),
        use("GPU", lists, kernel_seconds(function, entries, packed, device_read, gpus)),
    ]
    if link:
        uses.append(use("host link, up", link, link / up))
    return uses
