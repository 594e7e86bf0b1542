"""The goals of bench/structure.py, met or missed: the default within the budget beside what is in core."""

from __future__ import annotations

from lib.paper_tables import Report, Target, good, target

from studies.emogi2020.summary import Rows, over, rows

OVER_IN_CORE, WORST = 1.6, 2.5  # of breadth-first searches: the median, the worst root
MILLISECONDS = {"bfs": 7, "cc": 4, "sssp": 30}  # of about 1 G entries on one H200
PASSES, SECOND = 1.3, 1.2  # of a first call, in passes of the link; of a second one, in later ones


def targets(data: Report, titles: dict[str, str]) -> list[Target]:
    """At toy sizes and without a GPU these mean nothing: they are listed as not measured."""
    if data["quick"] or data["settings"]["on_host"]:
        data = {**data, "cases": []}
    found = []
    for part, title in titles.items():
        times = [(case, 1e3 * s) for case, s in rows(data, part, "default", "median")]
        found.append(target(f"{title}: ms", MILLISECONDS[part], times, most=True))
    slower = over(data, "bfs", "default", "in_core")
    found.append(target("Breadth-first search over in core", OVER_IN_CORE, slower, most=True))
    worst = rows(data, "bfs", "default", "worst")
    found.append(target("Its worst root over the median", WORST, worst, most=True))
    first, second = _calls(data)
    found.append(target("First call, passes of the link", PASSES, first, most=True))
    found.append(target("Second call over later ones", SECOND, second, most=True))
    return found


def _calls(data: Report) -> tuple[Rows, Rows]:
    first, second = [], []
    for case in data["cases"]:
        r = good(case, "default")
        if case.get("pass_seconds") and "cold_call" in r:
            first.append((case["case"], r["cold_call"] / case["pass_seconds"]))
        if r.get("call") and "second_call" in r:
            second.append((case["case"], r["second_call"] / r["call"]))
    return first, second
