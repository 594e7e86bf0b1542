"""Shortest paths on a GPU: what is asked for, and the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import parse_bytes
from penstock.csgraph._gpu import check_names, chosen_gpu, gpu_graph, report

METHODS = ("auto", "near_far", "bellman_ford")


@dataclass(frozen=True)
class OnGpu:
    """What a search on a GPU was asked for; `cache` in bytes, -1 for what the budget leaves."""

    gpu: int
    method: str = "auto"
    access: str = "auto"
    placement: str = "auto"
    cache: int = -1
    counted: bool = False


def chosen(
    graph: csr_array,
    device: Any,
    method: str,
    access: str,
    placement: str,
    cache: Any,
    counted: bool,
) -> OnGpu | None:
    """Where and how a search runs, None for the CPU. Names are checked either way."""
    check_names(METHODS, method=method, access=access, placement=placement)
    room = -1 if cache is None else parse_bytes(cache, "cache")
    gpu = chosen_gpu(graph, device)
    return None if gpu is None else OnGpu(gpu, method, access, placement, room, bool(counted))


def symmetric_weights(graph: csr_array) -> bool:
    """Whether every edge has its mirror with the same length, found once per graph."""
    derived = graph._derived
    known = derived.symmetric_weights
    if known is None:
        known = derived.symmetric_pattern is not False and _core.symmetric_weights(graph._core)
        derived.symmetric_weights = known
    return known


def _in_core(graph: csr_array) -> bool:
    known = graph._derived.gpu_graph
    return known is not None and known[1].facts()["placement"] == "device"


def search(
    graph: csr_array,
    weights: Any,
    starts: np.ndarray,
    delta: float,
    limit: float,
    predecessors: bool,
    on: OnGpu,
) -> tuple[np.ndarray, np.ndarray | None]:
    """(distances, predecessors or None), and `ps.trace` is told."""
    symmetric = on.method != "bellman_ford" and symmetric_weights(graph)

    def run(placement: str) -> tuple[Any, ...]:
        there = gpu_graph(graph, on.gpu, placement)
        found = _core.sssp_gpu(
            there, graph._core, weights, starts, on.method, on.access, delta, float(limit),
            bool(predecessors), symmetric, on.cache, on.counted,
        )  # fmt: skip
        return there, *found

    found = None
    try:
        found = run(on.placement)
    except MemoryError:  # "auto" made room for edges alone, and the lengths no longer fit
        if on.placement != "auto" or graph.place == "device" or not _in_core(graph):
            raise
    if found is None:  # outside the handler, whose exception holds what was on the GPU
        found = run("pinned")
    there, distances, tree, told = found
    told["edge_bytes"] = (4 + told["weight_bytes"]) * graph.nnz
    report("sssp", there, told)
    return distances, tree
