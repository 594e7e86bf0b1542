"""The table and the goals of the part `gpus` of bench/emogi2020.py: searches on one GPU and on several."""

from __future__ import annotations

from lib.paper_tables import Report, Table, Target, good, number, of_part, target

from studies.emogi2020.tables import TITLES

SEARCHED = ("bfs", "cc")
# Speed over one GPU at kron27: the goal of four GPUs.
_GOAL_GPUS, _GOAL_GRAPH, _GOAL_SPEED = 4, "kron27", 2.0


def name_of(count: int) -> str:
    return f"gpus_{count}"


def tables(data: Report) -> list[Table]:
    rows = []
    for case in of_part(data, "gpus"):
        for name in case["results"]:
            r = good(case, name)
            if "median" in r:
                rows.append([case["algorithm"], case["graph"], f"{r['gpu_count']}", number(r["median"], ".4g", 1e3),
                             number(r.get("over_fewest"), ".2f"), number(r.get("gteps"), ".3g"),
                             number(r.get("read", {}).get("amplification"), ".3f"), f"{r['sources']}"])  # fmt: skip
    header = [
        "",
        "graph",
        "GPUs",
        "ms",
        "speed over fewest",
        "GTEPS",
        "bytes / edge bytes",
        "sources",
    ]
    return [("Several GPUs, edges in pinned memory: medians", header, rows)] if rows else []


def targets(data: Report) -> list[Target]:
    found = []
    for algorithm in SEARCHED:
        rows = [(case["case"], r["over_fewest"]) for case in of_part(data, "gpus")
                if (case["algorithm"], case["graph"]) == (algorithm, _GOAL_GRAPH)
                and good(case, name_of(1)) and (r := good(case, name_of(_GOAL_GPUS)))]  # fmt: skip
        what = f"{TITLES[algorithm]}, {_GOAL_GRAPH}: speed of {_GOAL_GPUS} GPUs over one"
        found.append(target(what, _GOAL_SPEED, rows))
    return found
