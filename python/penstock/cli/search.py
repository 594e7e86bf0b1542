"""`penstock bfs` and `penstock sssp`: searches from one vertex or from many, timed one by one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli import device as gpu
from penstock.cli import graph as shared
from penstock.cli import ui


@dataclass
class Search:
    """One kind of search: `run` gives the values and the predecessors (or None), `far` says how far it went."""

    name: str
    column: str
    run: Callable[[Any, int, bool], tuple[np.ndarray, np.ndarray | None]]
    verify: Callable[[Any, int, np.ndarray, np.ndarray | None], None]
    reached: Callable[[np.ndarray], np.ndarray]
    far: Callable[[np.ndarray], Any]
    far_name: str


def _search(
    kind: Search,
    file: Path,
    source: int | None,
    sources: int | None,
    seed: int,
    undirected: bool,
    predecessors: bool,
    verify: bool,
    out: Path | None,
    force: bool,
    threads: int | None,
    repeats: int | None,
    json: bool,
    on: gpu.OnDevice | None = None,
    traced: Callable[[Any, int], dict[str, Any] | None] = lambda graph, start: None,
) -> int:
    on = on or gpu.OnDevice()
    shared.check_result(out, force, sources or 1)
    with ui.progress(2, quiet=json) as step, shared.threads_set(threads) as n, on.limits():
        step.next(f"reading {file.name}")
        graph = shared.read_graph(file)
        degrees, both_ways, prepare = shared.prepared(graph, undirected)
        starts = shared.pick_sources(degrees, source, sources, seed)
        runs, fault, values, tree = [], None, None, None
        times = repeats or (1 if len(starts) > 1 else 5)
        for k, start in enumerate(starts):
            search = functools.partial(kind.run, graph, start, predecessors)
            if k == 0:
                step.next("searching")
                search()  # untimed: forms what later searches find
            (values, tree), seconds = shared.timed(search, times)
            step.within((k + 1) / len(starts))
            reached = kind.reached(values)
            edges = shared.edges_reached(degrees, reached, both_ways)
            found = {
                "source": start,
                "reached": int(reached.sum()),
                kind.far_name: kind.far(values[reached]),
            }
            runs += [shared.Run(s, edges, found) for s in seconds]
            if verify and fault is None:
                wrong = shared.checked(functools.partial(kind.verify, graph, start, values, tree))
                fault = wrong and f"from {start}: {wrong}"
        event = traced(graph, starts[0]) if on.trace and on.usable else None
        if out is not None and values is not None:
            columns = {kind.column: values}
            shared.save_result(out, columns if tree is None else {**columns, "predecessor": tree})
    stats = shared.statistics_of(runs)
    data = {
        "algorithm": kind.name, "undirected": undirected, "threads": n, "sources": len(starts),
        "repeats": times, "seed": seed if sources else None, "prepare_seconds": prepare,
        **stats, "runs": [run.as_dict() for run in runs], **gpu.as_json(on, event),
    }  # fmt: skip
    rows = {**_facts(kind, runs, starts, stats, graph.shape[0], prepare), **gpu.as_rows(on, event)}
    return shared.show(file, graph, json, data, rows, fault, verify, out)


def _facts(
    kind: Search, runs: list[shared.Run], starts: list[int], stats: Any, n: int, prepare: float
) -> dict[str, str]:
    reached = sorted({run.facts["reached"] for run in runs})
    far = sorted({run.facts[kind.far_name] for run in runs})
    span = " to ".join(ui.count(r) for r in dict.fromkeys((reached[0], reached[-1])))
    ends = " to ".join(ui.count(f) for f in dict.fromkeys((far[0], far[-1])))
    origin = f"vertex {starts[0]}" if len(starts) == 1 else f"{len(starts)} random vertices"
    return {
        "search": f"{kind.name} from {origin}",
        "reached": f"{span} of {ui.plural(n, 'vertex', 'vertices')}",
        kind.far_name: ends,
        "time": shared.time_words(stats, len(runs)),
        "rate": shared.rate_words(stats),
        "prepared": f"in {ui.seconds(prepare)}, once a graph",
    }


Predecessors = Annotated[
    bool, typer.Option("--predecessors", help="Also find each vertex's predecessor.")
]
RepeatsOfSource = Annotated[
    int | None,
    typer.Option(min=1, help="Searches from each vertex. [default: 5 from one, else 1]"),
]


def bfs(
    file: shared.File,
    source: shared.Source = None,
    sources: shared.Sources = None,
    seed: shared.Seed = 0,
    undirected: shared.Undirected = False,
    predecessors: Predecessors = False,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: RepeatsOfSource = None,
    device_memory: gpu.DeviceMemory = None,
    access: gpu.AccessOption = None,
    placement: gpu.PlacementOption = None,
    trace: gpu.Traced = False,
    gpus: gpu.GpusOption = None,
    json: ui.Json = False,
) -> int:
    """Breadth-first search: levels, -1 where there is no path. On a GPU where one of its options is given."""
    import penstock as ps
    from penstock import csgraph
    from penstock.csgraph import _graph

    on = gpu.OnDevice(device_memory, access, placement, trace, gpus)
    how = on.arguments()

    def run(graph: Any, start: int, tree: bool) -> tuple[np.ndarray, np.ndarray | None]:
        found = csgraph.bfs(graph, start, directed=not undirected, return_predecessors=tree, **how)
        return found if tree else (found, None)

    def check(graph: Any, start: int, levels: np.ndarray, tree: np.ndarray | None) -> None:
        walked = _graph.undirected(graph) if undirected else graph
        csgraph.verify_bfs(walked, start, levels, tree)

    def traced(graph: Any, start: int) -> dict[str, Any] | None:
        with ps.record() as events:
            csgraph.bfs(graph, start, directed=not undirected, **on.arguments(counted=True))
        return events[0] if events else None

    kind = Search(
        "bfs", "level", run, check, lambda v: v >= 0, lambda v: int(v.max(initial=0)), "depth"
    )
    return _search(
        kind, file, source, sources, seed, undirected, predecessors, verify, out, force, threads,
        repeats, json, on, traced,
    )  # fmt: skip


def sssp(
    file: shared.File,
    source: shared.Source = None,
    sources: shared.Sources = None,
    seed: shared.Seed = 0,
    undirected: shared.Undirected = False,
    predecessors: Predecessors = False,
    delta: Annotated[
        float | None, typer.Option(help="Width of a bucket of delta-stepping. [default: chosen]")
    ] = None,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: RepeatsOfSource = None,
    device_memory: gpu.DeviceMemory = None,
    access: gpu.AccessOption = None,
    placement: gpu.PlacementOption = None,
    trace: gpu.Traced = False,
    json: ui.Json = False,
) -> int:
    """Shortest paths by edge weights (1 where the graph has none): distances, inf where there is no path. On a GPU
    where one of its options is given."""
    import penstock as ps
    from penstock import csgraph

    if delta is not None and not 0 < delta < np.inf:
        raise ui.InputError(f"--delta {delta}: give a positive number")

    on = gpu.OnDevice(device_memory, access, placement, trace)
    walk: dict[str, Any] = {"directed": not undirected, "delta": delta}
    how = on.arguments()

    def run(graph: Any, start: int, tree: bool) -> tuple[np.ndarray, np.ndarray | None]:
        found = csgraph.sssp(graph, start, return_predecessors=tree, **walk, **how)
        return found if tree else (found, None)

    def check(graph: Any, start: int, distances: np.ndarray, tree: np.ndarray | None) -> None:
        csgraph.verify_sssp(_both_ways(graph) if undirected else graph, start, distances, tree)

    def traced(graph: Any, start: int) -> dict[str, Any] | None:
        with ps.record() as events:
            csgraph.sssp(graph, start, **walk, **on.arguments(counted=True))
        return events[0] if events else None

    kind = Search(
        "sssp", "distance", run, check, np.isfinite, lambda v: float(v.max(initial=0)), "farthest"
    )
    return _search(
        kind, file, source, sources, seed, undirected, predecessors, verify, out, force, threads,
        repeats, json, on, traced,
    )  # fmt: skip


def _both_ways(graph: Any) -> Any:
    """Every edge and its mirror as parallel edges, each with its weight: what a verifier of undirected paths sees."""
    import penstock as ps

    row = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
    ends = np.concatenate([row, graph.indices]), np.concatenate([graph.indices, row])
    order = np.argsort(ends[0], kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(ends[0], minlength=graph.shape[0]))])
    values = np.ones(2 * graph.nnz) if graph.dtype == bool else np.tile(graph.data, 2)
    return ps.csr_array((values[order], ends[1][order], indptr), shape=graph.shape)
