"""Shortest paths from packed lists on a GPU: when they are read, and the lists with the lengths of the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._neighbours import packed_lists
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import (
    Home,
    holds,
    pack_seconds,
    room_of_each,
    room_there,
    sizes_of_packed,
)
from penstock.csgraph.gpu_options import GpuOptions

# What the CPU takes to put the length of an edge into its packed list, on one thread.
_LENGTH_SECONDS = 15e-9


def path_lists(graph: csr_array, weights: Any) -> Any:
    """Packed lists with the lengths of the edges, made once and kept with the graph; those without where every edge
    counts 1. `weights`: the core's verdict on them. ValueError, with the remedy, for lengths that cannot be packed.

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


def _held(graph: csr_array) -> Any:
    derived = graph._derived
    return derived.packed_lists if graph.dtype == np.bool_ else derived.packed_paths


def _bits(graph: csr_array, weights: Any) -> int | None:
    return 0 if graph.dtype == np.bool_ else weights.packed_bits


def pack_paths_seconds(graph: csr_array) -> float:
    """What packing the lists and their lengths takes, once; 0 where that is done.

    >>> A = csr_array(([8.0, 11.0], ([0, 1], [1, 0])), shape=(2, 2))
    >>> 0 < pack_paths_seconds(A) < 1e-3
    True
    """
    if _held(graph) is not None:
        return 0.0
    lengths = 0.0 if graph.dtype == np.bool_ else _LENGTH_SECONDS * graph.nnz
    return pack_seconds(graph) + lengths / _core.num_threads()


def sizes_of_packed_paths(graph: csr_array, weights: Any) -> dict[str, int]:
    """As `sizes_of_packed`, with the lengths, for the function that places graphs; ValueError where they cannot be
    packed."""
    held = _held(graph)
    sizes = sizes_of_packed(graph) | {"distance_bytes": 4}
    if held is not None:
        return sizes | {"packed_bytes": int(held.facts()["bytes"])}
    bits = _bits(graph, weights)
    if bits is None:
        weights.require_packed()
    return sizes | {"packed_bytes": sizes["packed_bytes"] + -(-graph.nnz * (bits or 0) // 8)}


def settle_paths(graph: csr_array, gpu: int, how: GpuOptions, weights: Callable[[], Any]) -> Home:
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
    if fits("packed", **sizes_of_packed_paths(graph, told)):
        return Home("packed", "the lists exceed the budget as they are, and fit it packed", 1)
    return auto("packed lists are no gain: they exceed the budget, too")


def note_link(graph: csr_array, there: Any, told: dict[str, Any]) -> None:
    """Adds up what searches take whose lists come over the link, until they are packed."""
    if _held(graph) is None and there.facts()["placement"] == "pinned":
        graph._derived.path_link_seconds += told["seconds"]
