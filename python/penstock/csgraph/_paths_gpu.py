"""Shortest paths on a GPU: what is asked for, and the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.out import Out
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import chosen_gpu, gpu_graph, knows_gpu_graph, report
from penstock.csgraph._graph import readable, symmetric_weights
from penstock.csgraph._packed_paths import lists_for_gpu, note_link, settle_paths
from penstock.csgraph.gpu_options import GpuOptions, settled


@dataclass(frozen=True)
class OnGpu:
    """The GPU that a search runs on, and how it was asked to search."""

    gpu: int
    options: GpuOptions


def chosen(
    graph: csr_array, function: str, device: Any, gpu_options: GpuOptions | None
) -> OnGpu | None:
    """Where and how a search runs, None for the CPU. `function` names it in errors."""
    gpu = chosen_gpu(graph, device)
    on = settled(gpu_options, function, gpu is not None)
    return None if gpu is None else OnGpu(gpu, on)


def may_pull(how: GpuOptions) -> bool:
    """Whether a search reads lists as those of the edges into their vertices, too, where edges have their mirrors."""
    return how.method != "bellman_ford"


def placement_without_room(graph: csr_array, how: GpuOptions, placed: str) -> str | None:
    """Where a graph whose lengths do not fit beside its edges goes instead; None: nowhere, its search is refused."""
    if how.home != "auto" or graph.place == "device" or placed not in ("device", "packed"):
        return None
    return "pinned"


def _placed(graph: csr_array) -> str:
    known = graph._derived.gpu_graph
    return "" if known is None else known[1].facts()["placement"]


def search(
    graph: csr_array,
    weights: Any,
    starts: np.ndarray,
    delta: float,
    limit: float,
    predecessors: bool,
    on: OnGpu,
    to: Out | None = None,
    trees: Out | None = None,
    row: int = 0,
) -> tuple[Any, Any]:
    """(distances, predecessors or None), and `ps.record` is told. With `to` and `trees` on the GPU, None for both: they
    are the rows of these arrays."""
    how = on.options
    symmetric = may_pull(how) and symmetric_weights(graph)

    def run(placement: str, distance_bytes: int) -> tuple[Any, ...]:
        paths = lists_for_gpu(graph, weights) if placement == "packed" else None
        there = gpu_graph(
            graph,
            on.gpu,
            placement,
            paths=paths,
            distance_bytes=distance_bytes,
            predecessors=bool(predecessors),
        )
        found = _core.sssp_gpu(
            there, readable(graph)._core, weights, starts, how.method, how.access, delta, float(limit),
            bool(predecessors), symmetric, how.cache_bytes, how.counted,
            to and to.at(row), to is not None and to.dtype == np.float64, trees and trees.at(row),
        )  # fmt: skip
        return there, *found

    home = settle_paths(graph, on.gpu, how, lambda: weights, bool(predecessors))
    # Distances take 8 bytes where a path has been longer than 2^31 - 1.
    wide = 8 if knows_gpu_graph(graph, [on.gpu], home.placement, distance_bytes=8) else 4
    found, other = None, None
    try:
        found = run(home.placement, wide)
    except (
        MemoryError
    ):  # "auto" made room for edges alone, and not for lengths; or distances are wide
        other = placement_without_room(graph, how, _placed(graph))
        if other is None and home.placement == "packed" and wide == 4:
            other, wide = "packed", 8
        if other is None:
            raise
    if found is None:  # outside the handler, whose exception holds what was on the GPU
        assert other is not None
        found = run(other, wide)
    there, distances, tree, told = found
    note_link(graph, there, told)
    told["edge_bytes"] = (4 + told["weight_bytes"]) * graph.nnz
    report("sssp", there, told)
    return distances, tree
