"""Searches and components of one graph on several GPUs beside one, in turns: lists as they are, packed, and by default.

The lists are divided: each GPU has a range of the vertices, and the budget that one GPU has alone.
"""

from __future__ import annotations

import statistics
from typing import Any

from lib.paper_tables import Report, Table, Target, good, number, target
from penstock.csgraph import GpuOptions

from studies.emogi2020.graphs import budget, twin
from studies.emogi2020.runs import Run
from studies.emogi2020.ways import Algorithm, Way

SEARCHED = ("bfs", "cc")  # shortest paths run on one GPU
# a row of one GPU -> (what it is called, where its lists are)
WAYS = {
    "default": ("default", "auto"),
    "packed": ("packed", "packed"),
    "ours": ("as they are", "pinned"),
}
GOAL = 1.6  # times as fast as one GPU that reads over the link
_READS = (
    0.01  # of the edges' bytes: what one GPU reads over the link at least, to count for the goal
)


def name_of(way: str) -> str:
    """The row of several GPUs beside `way`, that of one."""
    return f"{way}_gpus"


def ways(run: Run, algorithm: Algorithm, a: Any, edge_bytes: int) -> list[Way]:
    """A row beside each of one GPU's; none without --gpus."""
    if run.on_host or not run.args.gpus or algorithm.name not in SEARCHED:
        return []
    limit = budget(a, edge_bytes, run.args.share)
    return [
        Way(name_of(way), "ours", algorithm, twin(a),
            {"device": list(run.args.gpus), "gpu_options": GpuOptions(placement=placement)}, limit, counts=True)
        for way, (_, placement) in WAYS.items()
    ]  # fmt: skip


def compare(results: dict[str, dict[str, Any]], count: int) -> None:
    """Adds `gpu_count` and `one_over`: one GPU's time over theirs, by medians of the roots that both came to."""
    for way in WAYS:
        one, all_of_them = (results.get(n, {}).get("seconds", []) for n in (way, name_of(way)))
        common = min(len(one), len(all_of_them))
        if common:
            theirs = statistics.median(all_of_them[:common])
            results[name_of(way)] |= {
                "gpu_count": count,
                "one_over": statistics.median(one[:common]) / max(theirs, 1e-12),
            }


def _pairs(data: Report) -> list[tuple[dict[str, Any], str, dict[str, Any], dict[str, Any]]]:
    """(case, way, one GPU's result, that of several) of all that are compared."""
    return [
        (case, way, good(case, way), good(case, name_of(way)))
        for case in data["cases"]
        for way in WAYS
        if "one_over" in good(case, name_of(way)) and "median" in good(case, way)
    ]


def host_bytes(case: dict[str, Any], r: dict[str, Any]) -> float | None:
    """Bytes of the lists that stayed in host memory; None where that is not known."""
    if r.get("placement") == "pinned" and "kept_share" in r:
        return case["edge_bytes"] * (1 - r["kept_share"])
    return {"device": 0, "packed": r.get("far_bytes", 0)}.get(r.get("placement", ""))


def _over_link(case: dict[str, Any], one: dict[str, Any]) -> bool:
    """Does one GPU read over the link? Where its reads were not counted: are there lists that it would have to read?"""
    read = one.get("read", {}).get("amplification")
    return read >= _READS if read is not None else bool(host_bytes(case, one))


def targets(data: Report) -> list[Target]:
    """Of rows whose one GPU reads over the link; nothing where there are no rows of several GPUs."""
    pairs = _pairs(data)
    if not pairs or data["quick"]:
        return []
    rows = [(f"{case['case']}, {WAYS[way][0]}", r["one_over"]) for case, way, one, r in pairs
            if _over_link(case, one)]  # fmt: skip
    return [target("Several GPUs over one that reads over the link", GOAL, rows)]


def tables(data: Report) -> list[Table]:
    """Milliseconds; "in host memory": GB of the lists that no GPU has."""

    def ms(r: dict[str, Any]) -> str:
        return f"{1e3 * r['median']:.3g} ({1e3 * r['max']:.3g})"

    rows = [
        [
            case["case"], WAYS[way][0], ms(one), number(host_bytes(case, one), ".3g", 1e-9),
            f"{r['gpu_count']}", ms(r), number(host_bytes(case, r), ".3g", 1e-9), number(r["one_over"], ".2f"),
        ]
        for case, way, one, r in _pairs(data)
    ]  # fmt: skip
    header = ["case", "lists", "one GPU", "in host memory, GB", "GPUs", "all of them", "in host memory, GB",
              "one over all"]  # fmt: skip
    title = "Several GPUs beside one, each within the budget: ms, the worst root in brackets"
    return [(title, header, rows)] if rows else []
