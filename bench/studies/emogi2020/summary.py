"""The goals of bench/emogi2020.py, met or missed, and what it says at its end."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, of_part, target
from lib.paper_tables import show as show_all

from studies.emogi2020 import gpu_tables as several
from studies.emogi2020 import paper
from studies.emogi2020.tables import TITLES, TRAVERSALS, tables

Rows = list[tuple[str, float]]

# One H200: milliseconds at most, and speed over the baseline at least.
TIMES = {("bfs", "kron25"): (16, 10), ("bfs", "kron27"): (38, 17), ("bfs", "uniform26"): (15, None),
         ("cc", "kron25"): (12, 20), ("cc", "kron27"): (35, 45), ("cc", "uniform26"): (25, None),
         ("sssp", "kron25"): (110, 3.5)}  # fmt: skip
BFS_GTEPS = 55  # at kron27


def rows(data: Report, part: str, name: str, key: str, graph: str | None = None) -> Rows:
    """(case, number) of a way, where it was measured."""
    return [(c["case"], good(c, name)[key]) for c in of_part(data, part)
            if good(c, name).get(key) is not None and graph in (None, c.get("graph"))]  # fmt: skip


def over(data: Report, part: str, name: str, other: str) -> Rows:
    """Time of one way over that of another."""
    return [(c["case"], good(c, name)["median"] / good(c, other)["median"]) for c in of_part(data, part)
            if "median" in good(c, name) and "median" in good(c, other)]  # fmt: skip


def faster_than(data: Report, program: str, part: str, name: str) -> Rows:
    """Speed of ours over a public program: in this run, else (R-MAT 25 alone) over its time on one H200 before."""
    found = over(data, part, program, name)
    seconds = paper.H200[program, part]
    if not any(case.endswith(paper.H200_GRAPH) for case, _ in found):
        mine = rows(data, part, name, "median", paper.H200_GRAPH)
        found += [(f"{case}, its time from before", seconds / median) for case, median in mine]
    return found


def targets(data: Report) -> list[Target]:
    """At toy sizes and without a GPU these mean nothing: they are listed as not measured."""
    if data["quick"] or data["settings"]["on_host"]:
        data = {**data, "cases": []}
    found = []
    for part in TRAVERSALS:
        found.append(target(f"{TITLES[part]}: the baseline's time over EMOGI's", 1.05,
                            over(data, part, "aligned", "emogi"), most=True))  # fmt: skip
    for (part, graph), (ms, speed) in TIMES.items():
        times = [(case, 1e3 * s) for case, s in rows(data, part, "ours", "median", graph)]
        found.append(target(f"{TITLES[part]}, {graph}: ms", ms, times, most=True))
        if speed:
            gain = rows(data, part, "ours", "speedup", graph)
            found.append(target(f"{TITLES[part]}, {graph}: speed over the baseline", speed, gain))
    found.append(
        target(
            "Breadth-first search, kron27: GTEPS",
            BFS_GTEPS,
            rows(data, "bfs", "ours", "gteps", "kron27"),
        )
    )
    cold = [(c["case"], good(c, "ours_cold")["median"] / good(c, "aligned")["median"]) for c in of_part(data, "cold")
            if "median" in good(c, "ours_cold") and "median" in good(c, "aligned")]  # fmt: skip
    found.append(
        target(
            "one cold search, sample included: time over the warm baseline's", 1.0, cold, most=True
        )
    )
    found.append(target("PageRank, all edges travelling: a pass over the link's time", 1.05,
                        rows(data, "pagerank", "packed", "over_bound"), most=True))  # fmt: skip
    found += [target(f"{TITLES[part]}: time over ours in core", 1.3, over(data, part, "ours", "in_core"), most=True)
              for part in ("bfs", "cc")]  # fmt: skip
    found.append(target("Breadth-first search in core: speed over EMOGI's in core", 2.0,
                        faster_than(data, "emogi_in_core", "bfs", "in_core")))  # fmt: skip
    found += [target(f"{TITLES[part]}: speed over GAP on the CPU", 1.0, faster_than(data, "gap", part, "ours"))
              for part in TRAVERSALS]  # fmt: skip
    found.append(
        target("road-like grid: speed over the CPU", 1.0, over(data, "road", "cpu", "ours"))
    )
    found += several.targets(data)
    kept = [row for part in TRAVERSALS for row in rows(data, part, "ours", "kept_share")]
    found.append(target("edges kept on the GPU, of their bytes", 0.25, kept, most=True))
    return found


def show(data: Report) -> None:
    if data["settings"]["on_host"]:
        print("\nNo GPU here: rows of the CPU alone. They test the program, and measure nothing.")
    show_all(data, tables(data) + several.tables(data))
