"""The parts of bench/emogi2020.py that search a graph: BFS (figures 5, 7, 8, 9 and 10), components and shortest paths
(figure 11), one cold search, PageRank, and a road-like grid."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import time
from typing import Any

import numpy as np
from lib import harness
from lib.solving import per_iteration

import penstock as ps
from studies.emogi2020 import rivals
from studies.emogi2020.gpus import gpus
from studies.emogi2020.graphs import Source, budget, spaced, twin
from studies.emogi2020.runs import Run, about
from studies.emogi2020.turns import measure
from studies.emogi2020.ways import ALGORITHMS, FEW, ways

_COLD = 3  # searches
_LONG, _SHORT = 30, 6  # PageRank's steps
_CC_TURNS = 16


def chosen(run: Run, source: Source) -> tuple[str, ...] | None:
    return FEW if source.scale > run.args.every_way_to else None


def traversal(run: Run, part: str, source: Source, seconds: float) -> None:
    """All ways in turns, then the public programs where their folders are given."""
    algorithm = ALGORITHMS[part]
    a = run.shelf.get(source, weighted=part == "sssp")
    edge_bytes = (5 if part == "sssp" else 4) * a.nnz  # weights of 8 to 72 take one byte
    if algorithm.has_source:
        starts = spaced(a, run.args.sources, evenly=run.args.emogi is not None)
    else:
        starts = [0] * min(run.args.sources, _CC_TURNS)
    if not starts:
        return run.report.skip(f"{part} {source.name}", "no vertex has an edge")
    some = chosen(run, source)
    people = ways(run, algorithm, a, edge_bytes, some)
    said = about(run, source, a, part, edge_bytes)
    folders = 0 if some else bool(run.args.emogi) + bool(run.args.gap)
    mine = seconds / (1 + folders)
    entry = measure(run, f"{part} {source.name}", a, people, starts, mine, **said)
    people.clear()
    gc.collect()  # of GPU memory and copies of edges, which the programs may need
    if folders:
        rivals.add(run, entry, algorithm, source, a, starts)
    run.add(part, entry)
    return None


def bfs(run: Run, source: Source, seconds: float) -> None:
    traversal(run, "bfs", source, seconds)


def cc(run: Run, source: Source, seconds: float) -> None:
    traversal(run, "cc", source, seconds)


def sssp(run: Run, source: Source, seconds: float) -> None:
    if run.memory_for(f"sssp {source.name}", 4.2 * run.shelf.get(source).nnz):
        traversal(run, "sssp", source, seconds)


def cold(run: Run, source: Source, seconds: float) -> None:
    """One search of a graph that no GPU has seen, whole calls: offsets go up, the sample is built. The pages of the
    edges are locked already. Beside it the baseline, cold as well and warm."""
    a, bfs_ = run.shelf.get(source), ALGORITHMS["bfs"]
    if run.on_host:
        return run.report.skip("cold", "there is no GPU")
    everybody = {w.name: w for w in ways(run, bfs_, a, 4 * a.nnz, FEW)}
    if "ours" not in everybody:
        return run.report.skip("cold", "no search on GPUs")
    warm = everybody["aligned"]
    fresh = {"fresh": True, "clock": "call", "counts": False}
    people = [
        dataclasses.replace(everybody["ours"], graph=twin(a), name="ours_cold", notes={}, **fresh),
        dataclasses.replace(warm, graph=twin(a), name="aligned_cold", notes={}, **fresh),
        dataclasses.replace(warm, counts=False, notes={}),
    ]
    everybody.clear()
    starts = spaced(a, _COLD, evenly=False)
    said = about(run, source, a, "bfs", 4 * a.nnz)
    run.add("cold", measure(run, f"cold bfs {source.name}", a, people, starts, seconds, **said))
    return None


def road(run: Run, source: Source, seconds: float) -> None:
    """High diameter: thousands of levels of few vertices. Without the baseline, which looks at every vertex in each."""
    a, algorithm = run.shelf.get(source), ALGORITHMS["bfs"]
    people = ways(run, algorithm, a, 4 * a.nnz, ("ours", "in_core", "cpu"))
    starts = spaced(a, min(run.args.sources, _CC_TURNS), evenly=False)
    said = about(run, source, a, "bfs", 4 * a.nnz)
    run.add("road", measure(run, f"bfs {source.name}", a, people, starts, seconds, **said))


def pagerank(run: Run, source: Source, seconds: float) -> None:
    """Seconds of one pass in float64, vectors on the GPU: all edges travel packed, or those that the budget does not
    keep; on the CPU. The bound is the bytes that travel over the probed link."""
    a = run.shelf.get(source)
    n, begin = a.shape[0], time.monotonic()
    limit = budget(a, 4 * a.nnz, run.args.share) + 7 * 8 * n  # and its vectors
    where = "cpu" if run.on_host else run.args.gpu
    start, results, packed = np.full(n, 1 / n), dict[str, Any](), (None, None)
    for name, keep, memory in (
        ("packed", False, None),
        ("packed_kept", True, limit),
        ("cpu", None, None),
    ):
        if time.monotonic() - begin > seconds and results:
            run.report.skip(f"pagerank {source.name}: {name}", "its share of --minutes is spent")
            continue
        mine, role = twin(a), "cpu" if keep is None else "ours"
        mine._derived.packed, mine._derived.packed_nnz = packed  # encoded once
        try:
            with ps.options(device_memory=memory, **({"gpus": 0} if keep is None else {})):
                results[name] = {"role": role, "status": "ok", "device_memory": memory}
                results[name] |= _ranked(run, a, mine, where, keep, start)
            packed = mine._derived.packed, mine._derived.packed_nnz
        except MemoryError as e:
            results.pop(name, None)
            run.report.skip(f"pagerank {source.name}: {name}", str(e))
        except ValueError as e:
            results[name] |= {"status": "wrong", "reason": str(e)}
    entry = {"case": f"pagerank {source.name}", **about(run, source, a, "pagerank", 4 * a.nnz),
             "results": results, "best_rival": None, "ratios": {}, "ratios_of_minima": {}}  # fmt: skip
    run.add("pagerank", entry)


def _ranked(
    run: Run, a: Any, mine: Any, where: int | str, keep: bool | None, start: np.ndarray
) -> dict[str, Any]:
    """ValueError where one more step, done on the CPU edge by edge, changes the ranks by more than the last."""
    more: dict[str, Any] = {}
    if keep is not None:
        schedule = ps.Streamed(device=where, codec="packed", keep=keep)
        begin = time.perf_counter()
        mine.prepare(schedule=schedule, products=_LONG)
        more["prepare_seconds"] = time.perf_counter() - begin
        more["predicted_seconds"] = mine.explain(start, schedule=schedule).seconds

    def ranks(count: int) -> Any:
        return ps.csgraph.pagerank(mine, tol=0.0, max_iter=count, nstart=start, return_info=True)

    found, info = ranks(_SHORT)
    ps.csgraph.verify_pagerank(a, found, tol=info["change"])
    timed = per_iteration(ranks, _SHORT, _LONG)
    seconds = [max(timed(), 1e-9) for _ in range(3)]
    if keep is not None:
        plan = [*mine._derived.stream_plans[0].values()][-1]
        more |= {"streamed_bytes": plan.facts["streamed_bytes"], "kept_bytes": plan.facts["kept_bytes"],
                 "bytes_per_nonzero": plan.facts["streamed_bytes"] / max(a.nnz, 1)}  # fmt: skip
        link = run.rate("h2d")
        if link and more["streamed_bytes"]:
            more["bound_seconds"] = more["streamed_bytes"] / link
            more["over_bound"] = statistics.median(seconds) / more["bound_seconds"]
        more["predicted_over_measured"] = more["predicted_seconds"] / statistics.median(seconds)
    vectors = info.get("vectors", "cpu")
    return {"error": 0.0, **harness.summary(seconds), "vectors": vectors, **more}


PARTS = {"bfs": bfs, "cold": cold, "cc": cc, "sssp": sssp, "gpus": gpus, "pagerank": pagerank,
         "road": road}  # fmt: skip
