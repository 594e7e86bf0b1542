"""Ways to search a graph: algorithm, access pattern, placement, budget. Each is a contestant of bench/emogi2020.py."""

from __future__ import annotations

import gc
import inspect
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from penstock.csgraph import GpuOptions

import penstock as ps
from studies.emogi2020.graphs import budget, twin
from studies.emogi2020.runs import Run


@dataclass(frozen=True)
class Algorithm:
    """`call(a, source, **how)`, which `verify(a, source, result)` checks edge by edge. `baseline`: EMOGI's method."""

    name: str
    function: str  # of ps.csgraph
    baseline: str
    call: Callable[..., Any]
    verify: Callable[[Any, int, Any], None]
    same: Callable[[Any, Any], bool]
    has_source: bool = True

    def parameters(self) -> set[str]:
        return set(inspect.signature(getattr(ps.csgraph, self.function)).parameters)

    def on_gpus(self) -> bool:
        return "device" in self.parameters()


ALGORITHMS = {
    "bfs": Algorithm(
        "bfs", "bfs", "level_synchronous", lambda a, s, **how: ps.csgraph.bfs(a, s, **how),
        lambda a, s, r: ps.csgraph.verify_bfs(a, s, r), np.array_equal),
    "cc": Algorithm(
        "cc", "connected_components", "label_propagation",
        lambda a, _, **how: ps.csgraph.connected_components(a, **how),
        lambda a, _, r: ps.csgraph.verify_components(a, *r),
        lambda x, y: x[0] == y[0] and np.array_equal(x[1], y[1]), has_source=False),
    "sssp": Algorithm(
        "sssp", "sssp", "bellman_ford", lambda a, s, **how: ps.csgraph.sssp(a, s, **how),
        lambda a, s, r: ps.csgraph.verify_sssp(a, s, r), np.array_equal),
}  # fmt: skip


@dataclass
class Found:
    result: Any
    seconds: float  # of the search: by the GPU's clock, without bringing the result to the host
    call: float  # of the call, from Python to Python
    event: dict[str, Any] | None  # what ps.record tells of it


@dataclass
class Way:
    """`role`: "ours", "baseline" or "cpu". `fresh`: a new view of the graph each time, which is `cold`'s time where
    `clock` is "call"."""

    name: str
    role: str
    algorithm: Algorithm
    graph: Any
    how: dict[str, Any]
    device_memory: int | None = None  # None: what is free
    fresh: bool = False
    clock: str = "search"
    most: int | None = None  # sources
    counts: bool = False  # its requests can be counted
    notes: dict[str, Any] = field(default_factory=dict)

    def told(self) -> dict[str, Any]:
        """`how` for a report: the device, and the options that are not defaults."""
        told = {name: value for name, value in self.how.items() if name != "gpu_options"}
        defaults = asdict(GpuOptions())
        given = asdict(self.how.get("gpu_options", GpuOptions()))
        return told | {name: v for name, v in given.items() if v != defaults[name]}

    def search(self, source: int, counted: bool = False) -> Found:
        if self.fresh:
            shared, self.graph = self.graph, None
            self.graph = twin(shared)
            del shared
            gc.collect()
        how = dict(self.how)
        if counted:
            how["gpu_options"] = replace(how.get("gpu_options", GpuOptions()), counted=True)
        with ps.options(device_memory=self.device_memory), ps.record() as events:
            begin = time.perf_counter()
            result = self.algorithm.call(self.graph, source, **how)
            call = time.perf_counter() - begin
        event = next((e for e in reversed(events) if "graph" in e), None)
        if event is None and self.role != "cpu":
            raise RuntimeError("it ran on the CPU: the trace tells of no GPU")
        seconds = call if event is None or self.clock == "call" else event["seconds"]
        return Found(result, seconds, call, event)


def on_cpu(algorithm: Algorithm, a: Any) -> Way:
    how = {"device": "cpu"} if algorithm.on_gpus() else {}
    return Way("cpu", "cpu", algorithm, twin(a), how)


FEW = ("aligned", "ours", "in_core", "cpu")


def ways(
    run: Run, algorithm: Algorithm, a: Any, edge_bytes: int, only: tuple[str, ...] | None = None
) -> list[Way]:
    """Those of figure 9 and ours, the baseline first, or `only` some; the CPU's alone where there is no GPU."""
    cpu = on_cpu(algorithm, a)
    if run.on_host:
        return [cpu]
    if not algorithm.on_gpus():
        run.report.skip(
            f"{algorithm.name} on a GPU", f"csgraph.{algorithm.function} has no device="
        )
        return [cpu]
    limit = budget(a, edge_bytes, run.args.share)
    plain = twin(a)  # a view without a sample or a cache

    def way(
        name: str, role: str, graph: Any, placement: str, within: int | None, **more: Any
    ) -> Way:
        fields = {k: more.pop(k) for k in ("fresh", "most", "counts") if k in more}
        how = {"device": run.args.gpu, "gpu_options": GpuOptions(placement=placement, **more)}
        return Way(name, role, algorithm, graph, how, within, **fields)

    base: dict[str, Any] = {"method": algorithm.baseline}

    def wanted(name: str) -> bool:
        return only is None or name in only

    found = [
        way("aligned", "baseline", plain, "pinned", limit, **base, access="aligned", counts=True),
        way("ours", "ours", twin(a), "pinned", limit, counts=True),
        way("merged", "baseline", plain, "pinned", limit, **base, access="merged", counts=True),
        way("strided", "baseline", plain, "pinned", limit, **base, access="strided", counts=True),
    ]
    if only is not None and "packed" in only:
        found.append(way("packed", "ours", twin(a), "packed", limit, counts=True))
    if only is not None and "default" in only:  # what the library chooses
        found.append(way("default", "ours", twin(a), "auto", limit, counts=True))
    in_core = twin(a)
    found += [
        way("in_core", "ours", in_core, "device", None),
        way("in_core_baseline", "baseline", in_core, "device", None, **base, access="direct"),
    ]
    for name, fields in (
        ("host_alloc", {"most": 8}),
        ("managed_accessed_by", {"most": 8}),
        ("managed_read_mostly", {"fresh": True, "most": 3}),  # its pages come anew each time
    ):
        if wanted(name) and run.memory_for(f"{a.nnz} edges, {name}", 1.1 * edge_bytes):
            found.append(
                way(name, "baseline", twin(a), name, None, **base, access="aligned", **fields)
            )
    return [w for w in [*found, cpu] if wanted(w.name)]
