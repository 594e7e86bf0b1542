"""PageRank over the neighbour lists that traversals have on a GPU: when, and the call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.out import as_out
from penstock._matrix.csr import csr_array
from penstock._product.gpu_vectors import plan_for_gpus
from penstock.csgraph._gpu import (
    chosen_gpu,
    chosen_gpus,
    knows_gpu_graph,
    note_link,
    report,
)
from penstock.csgraph._graph import has_symmetric_pattern, readable
from penstock.csgraph._one_way import one_way, settle_one_way
from penstock.csgraph._room import leaves
from penstock.csgraph.gpu_options import GpuOptions, settled
from penstock.csgraph.shortest_paths import pattern

RANK_PART_BYTES = 8  # for each vertex of a part: its entries of the product


@dataclass(frozen=True)
class OnLists:
    """The GPUs whose lists are read, and how."""

    gpus: list[int]
    options: GpuOptions


def chosen(
    graph: csr_array,
    weighted: bool,
    device: Any,
    gpu_options: GpuOptions | None,
    arguments: tuple[Any, ...],
) -> OnLists | None:
    """Where lists are read, None for products, wherever they are done. ValueError for weights, which lists lack."""
    plain = not weighted or graph.dtype == np.bool_
    if device is None and gpu_options is None:
        return _kept(graph, vertex_bytes(arguments)) if plain else None
    gpus = chosen_gpus(graph, device)
    on = settled(gpu_options, "pagerank", bool(gpus))
    if not gpus:
        return None
    if not plain:
        raise ValueError(
            f"pagerank on a GPU that device={device!r} names reads neighbour lists, without weights: give "
            "weighted=False; or leave device out and have products there, by A.prepare(schedule=ps.Streamed())"
        )
    return OnLists(gpus, on)


def _kept(graph: csr_array, needed: int) -> OnLists | None:
    """Packed lists of the edges into each vertex that searches have placed, all of them on a GPU and beside them room
    for the vectors, if products would be streamed or searches of the graph go to a GPU by themselves."""
    lists = graph if graph._derived.symmetric_pattern else graph._derived.transpose
    if lists is None:
        return None
    known = lists._derived.gpu_graph
    if known is None or known[0][1] != "packed" or known[1].facts()["far_bytes"]:
        return None
    gpu = known[0][0]
    share = settle_one_way(lists, [gpu], "packed", True, needed).share
    if not (knows_gpu_graph(lists, [gpu], "packed", share) and leaves(known[1], needed)):
        return None
    plan = plan_for_gpus(graph, 8)
    here = chosen_gpu(graph, None) is not None if plan is None else _streams(plan)
    return OnLists([gpu], GpuOptions(placement="packed")) if here else None


def _streams(plan: Any) -> bool:
    return bool(plan.core.facts()["streamed_bytes"])


def vertex_bytes(arguments: tuple[Any, ...]) -> int:
    """What the vectors take for each vertex; the arguments are those of the core.

    >>> vertex_bytes((None, None, None, 0.85, 1e-4, 100)), vertex_bytes((None, None, None, 0.85, 1e-6, 100))
    (24, 32)
    """
    personalization, dangling, _, _, tol, _ = arguments
    based = personalization is not None or dangling is not None
    return int(_core.rank_vertex_bytes(tol, based))


def ranks(graph: csr_array, on: OnLists, arguments: tuple[Any, ...], given: Any) -> tuple[Any, str]:
    """(the core's result, where its vectors were); `given` is the caller's array for the ranks, or None."""
    symmetric = has_symmetric_pattern(graph)
    lists = graph if symmetric else graph.T.formed()
    how, gpus = on.options, on.gpus
    edges = pattern(readable(graph))
    out = edges._derived.once("weights_out", lambda: _core.out_weights(edges._core))
    to = as_out(given, (graph.shape[0],), np.float64, gpus[:1], "pagerank")
    needed = vertex_bytes(arguments)
    there = one_way(lists, gpus, how.home, how.access == "auto", needed, (RANK_PART_BYTES, needed))
    run = _core.pagerank_lists if len(gpus) == 1 else _core.pagerank_parts
    found, *rest, told = run(
        there, out, *arguments, symmetric, how.access, how.counted, to.at() if to else None
    )
    lists._derived.reads_of_paths += max(0, rest[0] - 1)  # each step reads all; one is counted
    note_link(lists, there, told)
    report("pagerank", there, told)
    return (to.filled(found) if to else found, *rest), f"gpu {gpus[0]}"
