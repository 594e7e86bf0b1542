"""Part `gpus` of bench/emogi2020.py: breadth-first search and components on 1 GPU and on several, in turns. Each
reads the lists of a range of the vertices from pinned memory, over its own link."""

from __future__ import annotations

import statistics
from typing import Any

from penstock.csgraph import GpuOptions

from studies.emogi2020.gpu_tables import SEARCHED, name_of
from studies.emogi2020.graphs import Source, budget, spaced, twin
from studies.emogi2020.runs import Run, about
from studies.emogi2020.turns import measure
from studies.emogi2020.ways import ALGORITHMS, Way

_CC_TURNS = 16


def gpus(run: Run, source: Source, seconds: float) -> None:
    """One case for each algorithm; every way's budget is that of each of its GPUs."""
    if run.on_host:
        return run.report.skip("gpus", "there is no GPU")
    counts = run.args.gpus
    if len(counts) < 2:
        return run.report.skip("gpus", f"--gpus {counts[0]}: nothing to compare")
    a = run.shelf.get(source)
    for algorithm in (ALGORITHMS[name] for name in SEARCHED):
        starts = spaced(a, run.args.sources, evenly=False)
        if not starts:
            return run.report.skip(f"gpus {source.name}", "no vertex has an edge")
        if not algorithm.has_source:
            starts = [0] * min(len(starts), _CC_TURNS)
        limit = budget(a, 4 * a.nnz, run.args.share)
        people = [
            Way(name_of(count), "ours", algorithm, twin(a), how(run, count), limit, counts=True)
            for count in counts
        ]
        said = about(run, source, a, algorithm.name, 4 * a.nnz)
        case = f"{algorithm.name} on {'/'.join(map(str, counts))} GPUs {source.name}"
        entry = measure(run, case, a, people, starts, seconds / len(SEARCHED), **said)
        people.clear()
        compare(entry["results"], counts)
        run.add("gpus", entry)
    return None


def how(run: Run, count: int) -> dict[str, Any]:
    device = run.args.gpu if count == 1 else list(range(count))
    return {"device": device, "gpu_options": GpuOptions(placement="pinned")}


def compare(results: dict[str, dict[str, Any]], counts: list[int]) -> None:
    """Speed of each over the fewest GPUs, by medians over the sources that both came to."""
    base = results.get(name_of(min(counts)), {}).get("seconds", [])
    for count in counts:
        r = results.get(name_of(count), {})
        common = min(len(base), len(r.get("seconds", [])))
        if common:
            mine = statistics.median(r["seconds"][:common])
            r["over_fewest"] = statistics.median(base[:common]) / max(mine, 1e-12)
            r["gpu_count"] = count
