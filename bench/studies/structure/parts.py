"""One algorithm on one lift: in core and within the budget on a GPU, on the CPU, libraries and programs beside them."""

from __future__ import annotations

import gc
from typing import Any

from lib import harness

from studies.emogi2020 import rivals as programs
from studies.emogi2020.graphs import Source, spaced
from studies.emogi2020.runs import Run, about
from studies.emogi2020.turns import measure
from studies.emogi2020.ways import ALGORITHMS, FEW, ways
from studies.structure import rivals

_TURNS_WITHOUT_SOURCE = 7


def search(run: Run, name: str, source: Source, seconds: float) -> None:
    """Adds the case of an algorithm: "bfs", "cc" or "sssp"."""
    algorithm = ALGORITHMS[name]
    a = run.shelf.get(source)
    if name == "sssp":
        if not run.memory_for(f"sssp {source.name}", 4.2 * a.nnz):
            return
        a = run.shelf.get(source, weighted=True)
    edge_bytes = (5 if name == "sssp" else 4) * a.nnz  # weights of 8 to 72 take one byte
    starts = spaced(a, run.args.sources, evenly=False)
    if not starts:
        run.report.skip(f"{name} {source.name}", "no vertex has an edge")
        return
    if not algorithm.has_source:
        starts = [0] * min(run.args.sources, _TURNS_WITHOUT_SOURCE)
    some = (*FEW, "packed")
    everybody = [*ways(run, algorithm, a, edge_bytes, some), *rivals.ways(run, algorithm, a)]
    folders = bool(run.args.emogi) + bool(run.args.gap)
    said = about(run, source, a, name, edge_bytes)
    said |= {"copies": said.pop("scale"), "mix": run.args.mix}
    if run.rate("h2d"):
        said["pass_seconds"] = edge_bytes / run.rate("h2d")
    entry = measure(
        run, f"{name} {source.name}", a, everybody, starts, seconds / (1 + folders), **said
    )
    everybody.clear()
    gc.collect()
    if folders:
        programs.add(run, entry, algorithm, source, a, starts, evenly=False)
    for r in entry["results"].values():
        if r["role"] == "cpu":
            r["role"] = "ours"
        if "max" in r:
            r["worst"] = r["max"] / r["median"]
    entry |= harness.compare(entry["results"])
    run.add(name, entry)


def table(cases: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """(header, rows): milliseconds, the worst root in brackets."""
    header = [
        "case",
        "entries, M",
        "in core",
        "budget",
        "over",
        "packed",
        "baseline",
        "CPU",
        "best rival",
        "who",
    ]
    header.append("a pass")
    rows = []
    for case in cases:
        good = {n: r for n, r in case["results"].items() if r["status"] == "ok" and "median" in r}

        def ms(name: str | None, good: dict[str, Any] = good) -> str:
            r = good.get(name or "")
            return f"{1e3 * r['median']:.3g} ({1e3 * r['max']:.3g})" if r else "-"

        both = [good[name]["median"] for name in ("ours", "in_core") if name in good]
        rows.append([
            case["case"], f"{case['nnz'] / 1e6:.3g}", ms("in_core"), ms("ours"),
            f"{both[0] / both[1]:.2f}" if len(both) == 2 else "-", ms("packed"), ms("aligned"), ms("cpu"),
            ms(case["best_rival"]), case["best_rival"] or "-",
            f"{1e3 * case['pass_seconds']:.3g}" if "pass_seconds" in case else "-",
        ])  # fmt: skip
    return header, rows
