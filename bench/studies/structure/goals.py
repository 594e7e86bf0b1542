"""The goals of bench/structure.py, met or missed: each kind of graph has its own, and all are about the default.

They are computed from the rows, also for the results page, so that reports of before are judged by the goals of now.
Goals in milliseconds are for one size of graph on one H200; graphs of other sizes have no such goal.
"""

from __future__ import annotations

from typing import Any

from lib.paper_tables import Report, Target, good, target

from studies.emogi2020.summary import Rows, over, rows

# kind -> (what its graphs are called, the entries for which the milliseconds are, algorithm -> milliseconds)
MILLISECONDS: dict[str, tuple[str, float, dict[str, float]]] = {
    "lift": ("lifts of 1 G entries", 1e9, {"bfs": 7, "cc": 4, "sssp": 30}),
    "road": ("road-like lifts of 0.27 G entries", 0.27e9, {"bfs": 35, "cc": 15, "sssp": 70}),
    "dense": ("dense products of 2.6 G entries", 2.6e9, {"bfs": 40}),
}
ROADS = ("road", "geo")  # of many levels: a road network, and random geometric graphs
OVER_IN_CORE, WORST = (
    1.6,
    2.5,
)  # breadth-first search of lifts: the median, the worst root, over in core's median
PACKED_PASS = 1.0  # the worst root of dense products, in passes of their packed lists over the link
PASSES, SECOND = 1.3, 1.2  # of a first call, in passes of the link; of a second one, in later ones


def kind(data: Report, case: dict[str, Any]) -> str:
    """Which goals a case has: "lift", "road", or "dense" (a report has nothing but products, or none)."""
    if data["settings"].get("denser"):
        return "dense"
    return "road" if case["kind"] in ROADS else "lift"


def targets(data: Report, titles: dict[str, str]) -> list[Target]:
    """At toy sizes and without a GPU these mean nothing: they are listed as not measured."""
    if data["quick"] or data["settings"]["on_host"]:
        data = {**data, "cases": []}
    of_kind = {k: [c for c in data["cases"] if kind(data, c) == k] for k in MILLISECONDS}
    found = []
    for name, (what, entries, goals) in MILLISECONDS.items():
        sized = [c for c in of_kind[name] if 0.9 * entries <= c["nnz"] <= 1.2 * entries]
        for part, most in goals.items():
            seconds = rows({**data, "cases": sized}, part, "default", "median")
            times = [(case, 1e3 * s) for case, s in seconds]
            found.append(target(f"{titles[part]}, {what}: ms", most, times, most=True))
    bfs = titles["bfs"]
    slower = over({**data, "cases": of_kind["lift"]}, "bfs", "default", "in_core")
    found.append(target(f"{bfs}, lifts: over in core", OVER_IN_CORE, slower, most=True))
    worst = _worst_over_in_core(of_kind["lift"])
    what = f"{bfs}, lifts: the worst root over in core's median"
    found.append(target(what, WORST, worst, most=True))
    what = f"{bfs}, dense products: the worst root, in packed passes"
    found.append(target(what, PACKED_PASS, _packed_passes(of_kind["dense"]), most=True))
    first, second = _calls(data)
    found.append(target("First call, passes of the link", PASSES, first, most=True))
    found.append(target("Second call over later ones", SECOND, second, most=True))
    return found


def _worst_over_in_core(cases: list[dict[str, Any]]) -> Rows:
    """The worst root of the default over the median of the same roots in core."""
    return [(c["case"], good(c, "default")["max"] / good(c, "in_core")["median"]) for c in cases
            if c["part"] == "bfs" and "max" in good(c, "default") and "median" in good(c, "in_core")]  # fmt: skip


def _packed_passes(cases: list[dict[str, Any]]) -> Rows:
    """The worst root of the default over the time in which all packed lists would cross the link once."""
    found = []
    for case in cases:
        lists = sum(good(case, "packed").get(k) or 0 for k in ("edge_bytes", "far_bytes"))
        if case["part"] == "bfs" and lists and "max" in good(case, "default") and case.get("pass_seconds"):  # fmt: skip
            seconds = case["pass_seconds"] * lists / case["edge_bytes"]
            found.append((case["case"], good(case, "default")["max"] / seconds))
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
