"""Which lists a search on the CPU reads: those of the matrix as they are, or its packed neighbour lists.

`cpu_lists` is the one owner of the rule; searches carry out what it says, and `explain` prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock import _core
from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock._plan.report import human_bytes
from penstock.csgraph._graph import incoming
from penstock.csgraph._incoming import edges_in, has_missed, knows_edges_in

CHOICES = ("auto", "raw", "packed")
_VERTEX = 24  # bytes a vertex that a search takes beside the lists: frontiers, bitmaps, its result


@dataclass(frozen=True)
class CpuLists:
    """`kind`: "raw" or "packed"; `reason`: why, in words; `on_disk`: they exceed the memory that is free."""

    kind: str
    reason: str
    on_disk: bool = False


def raw_bytes(graph: csr_array) -> int:
    """What a search may read of a matrix: its offsets and columns.

    >>> import penstock as ps
    >>> raw_bytes(ps.csr_array(([True], ([0], [1])), shape=(2, 2)))
    28
    """
    return 8 * (graph.shape[0] + 1) + 4 * graph.nnz


def _available() -> int:
    return int(_core.topology()["available_bytes"])


def cpu_lists(graph: csr_array, wanted: str = "auto", along: int = 0) -> CpuLists:
    """The lists that a search of `graph` on the CPU reads, and why.

    "auto" is "packed" for a mapped graph whose store has packed lists, if its offsets and columns exceed the memory
    that is free: then they would come from the disk again and again. `along` are bytes of values along the edges.
    ValueError for any but "auto", "raw", "packed".

    >>> import penstock as ps
    >>> cpu_lists(ps.csr_array(([True], ([0], [1])), shape=(2, 2))).kind
    'raw'
    """
    asked = for_cpu(wanted, False, "") != "auto"
    if graph.place != "mapped":
        return (
            CpuLists(wanted, "asked for") if asked else CpuLists("raw", "the edges are in memory")
        )
    room, needed = _available(), raw_bytes(graph) + along + _VERTEX * graph.shape[0]
    if asked:
        return CpuLists(wanted, "asked for", on_disk=wanted == "raw" and needed > room)
    sizes = f"{human_bytes(needed)} for its edges and a search, and {human_bytes(room)} of memory are free"
    if needed <= room:
        return CpuLists("raw", f"the mapped graph fits: {sizes}")
    if graph._derived.packed_lists is None:
        return CpuLists(
            "raw",
            f"the mapped graph exceeds memory ({sizes}), and its store has no packed lists: "
            "save it with lists=True",
            on_disk=True,
        )
    return CpuLists("packed", f"the mapped graph exceeds memory: {sizes}")


def search_lists(graph: csr_array, wanted: str) -> tuple[bool, Any, Any]:
    """(whether they are packed, the edges, the edges into each vertex or None), as the core's searches take them."""
    if cpu_lists(graph, wanted).kind == "raw":
        return False, graph._core, edges_in(graph)
    return True, packed_lists(graph), _packed_in(graph)


def _packed_in(graph: csr_array) -> Any:
    """The packed lists of the reversed edges, where they are at hand, or where edges in memory have been missed enough;
    a mapped graph is not turned around for them, which would take more memory than it has."""
    if graph._derived.symmetric_pattern:
        return packed_lists(graph)
    if knows_edges_in(graph) or (has_missed(graph) and graph.place != "mapped"):
        return packed_lists(incoming(graph))
    return None


def for_cpu(wanted: str, on_gpu: bool, function: str, options: bool = True) -> str:
    """`wanted`, checked: TypeError for what is no text. ValueError for another name, and where a GPU searches, for
    which `gpu_options` says how if the function has them.

    >>> for_cpu("auto", False, "bfs")
    'auto'
    """
    if not isinstance(wanted, str):
        raise TypeError(f"lists={wanted!r} is not text: choose one of {', '.join(CHOICES)}")
    if wanted not in CHOICES:
        raise ValueError(f"lists={wanted!r} is unknown: choose one of {', '.join(CHOICES)}")
    if on_gpu and wanted != "auto":
        raise ValueError(
            f"{function}: lists={wanted!r} is for the CPU, and this call runs on a GPU: "
            + (
                'leave it out, or give gpu_options=GpuOptions(placement="packed")'
                if options
                else "leave it out (edges of A.to(ps.pinned) stay in host memory), or give device='cpu'"
            )
        )
    return wanted
