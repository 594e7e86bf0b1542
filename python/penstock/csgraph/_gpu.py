"""When a traversal runs on a GPU, and what is kept of its graph there."""

from __future__ import annotations

import operator
from typing import Any

from penstock import _core
from penstock._csr import csr_array
from penstock._explain import active
from penstock._schedules import options
from penstock.csgraph._incoming import edges_in

# A smaller graph's traversal takes about a millisecond on the CPU, and a GPU's first one not less.
_SMALL = 1 << 20


def chosen_gpu(graph: csr_array, device: Any) -> int | None:
    """The GPU that a traversal of `graph` runs on, or None for the CPU.

    device: None lets the graph decide: a GPU where its arrays are in pinned, managed or device memory, or where
    `options.device_memory` is set, and where the graph is not small. "cpu", a number, or `ps.device(n)`.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True], ([0], [1])), shape=(2, 2))
    >>> chosen_gpu(A, None), chosen_gpu(A, "cpu")
    (None, None)
    """
    usable = 0 if getattr(options, "gpus", None) == 0 else _core.device_count()
    if device is None:
        if usable == 0:
            return None
        if graph.place == "device":
            return 0
        wanted = graph.place in ("pinned", "managed") or options.device_memory is not None
        return 0 if wanted and graph.nnz + graph.shape[0] >= _SMALL else None
    if isinstance(device, str):
        if device == "cpu":
            return None
        raise ValueError(f'device={device!r} is unknown: give "cpu", the number of a GPU, or None')
    if getattr(device, "memory", "device") != "device":
        return None
    number = operator.index(getattr(device, "ordinal", device))
    if not 0 <= number < usable:
        count = f"{usable} GPUs are" if usable != 1 else "1 GPU is"
        raise ValueError(
            f'device={device!r}: {count} usable here (penstock doctor); "cpu" computes on the CPU'
        )
    return number


def gpu_graph(graph: csr_array, gpu: int, placement: str = "auto", share: int = 1) -> Any:
    """The graph as the traversals of one GPU see it, kept with it as long as they ask for the same placement and the
    same budget (`options.device_memory`, of which this graph may take one part in `share`)."""
    budget = (options.device_memory or 0) // share
    if budget == 0 and share > 1:  # neither may take all that is free
        budget = _core.gpu_info(gpu)["memory_bytes"] * 9 // 10 // share
    key = (gpu, placement, budget)
    known = graph._derived.get("gpu_graph")
    if known is None or known[0] != key:
        graph._derived.pop("gpu_graph", None)
        known = key, _core.gpu_graph(graph._core, gpu, placement, budget)
        graph._derived["gpu_graph"] = known
    return known[1]


def gpu_graphs(graph: csr_array, gpu: int, placement: str) -> tuple[Any, Any]:
    """(edges, reversed edges): both the same where the pattern is symmetric, None for the second where nobody has
    formed it. The two share the budget."""
    reversed_edges = None if graph.place == "device" else edges_in(graph)
    if graph._derived.get("symmetric_pattern"):
        own = gpu_graph(graph, gpu, placement)
        return own, own
    if reversed_edges is None:
        return gpu_graph(graph, gpu, placement), None
    transposed = graph.T.formed()
    return gpu_graph(graph, gpu, placement, 2), gpu_graph(transposed, gpu, placement, 2)


def report(kernel: str, graph: Any, told: dict[str, Any]) -> None:
    """Tells `ps.trace` what a traversal did."""
    events = active()
    if events is None:
        return
    facts = graph.facts()
    in_core = facts["placement"] == "device"
    read = told.get("read")
    events.append(
        {
            "schedule": "in_core" if in_core else "zero_copy",
            "kernel": kernel,
            "gpu": facts["gpu"],
            "link_bytes": 0 if in_core or read is None else read["bytes"],
            "edge_bytes": 4 * facts["edges"],
            "graph": facts,
            **told,
        }
    )
