"""Shortest paths from packed lists on a GPU: when they are read, and the lists with the lengths of the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import Home, gpu_pack_seconds
from penstock.csgraph._packing import cpu_packs, pack_seconds, sizes_of_packed
from penstock.csgraph._room import holds, room_of_each, room_there
from penstock.csgraph.gpu_options import GpuOptions

# What the CPU takes to put the length of an edge into its packed list, on one thread.
_LENGTH_SECONDS = 15e-9


def path_lists(graph: csr_array, weights: Any) -> Any:
    """Packed lists with the lengths of the edges, made once by the CPU and kept with the graph; those without where
    every edge counts 1. `weights`: the core's verdict on them. ValueError, with the remedy, for lengths that cannot be
    packed.

    >>> from penstock.csgraph.shortest_paths import weights_of
    >>> A = csr_array(([8.0, 11.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> path_lists(A, weights_of(A)).facts()["length_bits"]
    2
    """
    if graph.dtype == np.bool_:
        return packed_lists(graph)
    weights.require_packed()
    return graph._derived.once(
        "packed_paths", lambda: _core.pack_lengths(packed_lists(graph), graph._core, weights)
    )


def lists_for_gpu(graph: csr_array, weights: Any) -> tuple[Any, Any]:
    """(packed lists with lengths, or None where the GPU packs them; the weights that it packs with them, or None).
    ValueError as `path_lists`, which packs lists that are known not to ascend."""
    held = _held(graph)
    if held is not None:
        return held, None
    if graph.dtype != np.bool_:
        weights.require_packed()
    if cpu_packs(graph):
        return path_lists(graph, weights), None
    return None, None if graph.dtype == np.bool_ else weights


def _held(graph: csr_array) -> Any:
    derived = graph._derived
    return derived.packed_lists if graph.dtype == np.bool_ else derived.packed_paths


def _bits(graph: csr_array, weights: Any) -> int | None:
    return 0 if graph.dtype == np.bool_ else weights.packed_bits


def pack_paths_seconds(graph: csr_array) -> float:
    """What packing the lists and their lengths takes beyond what the next search takes if lists are read where they
    are. A GPU packs while columns and lengths go there once, and a search reads about as many bytes. The CPU packs
    lists that do not ascend.

    >>> A = csr_array(([8.0, 11.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> pack_paths_seconds(A)
    0.0
    """
    if _held(graph) is not None or not cpu_packs(graph):
        return 0.0
    lengths = 0.0 if graph.dtype == np.bool_ else _LENGTH_SECONDS * graph.nnz
    return pack_seconds(graph) + lengths / _core.num_threads()


def first_paths_seconds(graph: csr_array, gpu: int, copied: float, along: int) -> float:
    """What packed lists with lengths take until they are on a GPU: `copied` seconds for lists that somebody has packed,
    or that the CPU has to pack; else a GPU packs while columns go there, and `along` bytes of lengths."""
    if _held(graph) is not None or cpu_packs(graph):
        return copied + pack_paths_seconds(graph)
    return gpu_pack_seconds(graph, gpu, along=along)


def sizes_of_packed_paths(graph: csr_array, weights: Any) -> dict[str, int]:
    """As `sizes_of_packed`, with the lengths; ValueError where they cannot be packed."""
    held = _held(graph)
    sizes = sizes_of_packed(graph)
    if held is not None:
        return sizes | {"packed_bytes": int(held.facts()["bytes"])}
    there = graph._derived.gpu_graph
    if there is not None and there[0][3] and there[1].facts()["placement"] == "packed":
        return sizes | {"packed_bytes": int(there[1].facts()["packed_bytes"])}
    bits = _bits(graph, weights)
    if bits is None:
        weights.require_packed()
    return sizes | {"packed_bytes": sizes["packed_bytes"] + -(-graph.nnz * (bits or 0) // 8)}


def asked_of_room(graph: csr_array, weights: Any, predecessors: bool = False) -> dict[str, Any]:
    """What the function that places graphs is told of packed lists for shortest paths; ValueError as before."""
    sizes = sizes_of_packed_paths(graph, weights)
    return {**sizes, "distance_bytes": 4, "predecessors": predecessors}


def settle_paths(
    graph: csr_array,
    gpu: int,
    how: GpuOptions,
    weights: Callable[[], Any],
    predecessors: bool = False,
) -> Home:
    """Where the lists of a search for shortest paths go; `explain` prints it. Packs nothing; `weights` is called where
    the answer depends on them."""

    def auto(reason: str) -> Home:
        return Home("auto", reason, 1)

    if how.home != "auto":
        return Home(how.home, "asked for", 1)
    if how.access != "auto" or how.method == "bellman_ford" or how.cache is not None:
        return auto("by bytes, for lists as they are")
    if graph.place == "device":
        return auto("the graph is on a GPU")
    price, taken = pack_paths_seconds(graph), graph._derived.path_link_seconds
    if taken < price:
        return auto(
            f"lists that exceed the budget are packed when searches have taken {price:.2g} s over the link, as long as "
            f"packing takes ({taken:.2g} s until now)"
        )
    told = weights()
    if _bits(graph, told) is None:
        return auto("these lengths cannot be packed")
    each = room_of_each([graph], [gpu], 1)

    def fits(placement: str, **sizes: Any) -> bool:
        return holds(room_there(graph, [gpu], each, placement, **sizes))

    if fits("device", along_bytes=told.nbytes):
        return auto("the lists fit the budget as they are")
    packed = room_there(graph, [gpu], each, "packed", **asked_of_room(graph, told, predecessors))
    if holds(packed):
        return Home("packed", "the lists exceed the budget as they are, and fit it packed", 1)
    # A search reads each list about once, wherever it is.
    raw = 4 * graph.nnz + told.nbytes - (packed["budget"] - packed["vertex_bytes"])
    if (
        packed["list_bytes"]
        and packed["used_bytes"] <= packed["budget"]
        and 2 * packed["far_bytes"] < raw
    ):
        return Home("packed", "the lists exceed the budget, and less of them packed", 1)
    return auto("packed lists are no gain: they exceed the budget, too")


def note_link(graph: csr_array, there: Any, told: dict[str, Any]) -> None:
    """Adds up what searches take whose lists come over the link, until they are packed."""
    if _held(graph) is None and there.facts()["placement"] == "pinned":
        graph._derived.path_link_seconds += told["seconds"]
