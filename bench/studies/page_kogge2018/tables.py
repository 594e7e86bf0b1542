"""The tables of bench/page_kogge2018.py: the paper's rows and ours side by side, from a report."""

from __future__ import annotations

import statistics
from typing import Any

from lib.paper_tables import Report, Table, good, number, of_part

from studies.page_kogge2018 import paper

MEASURED = ("ranks", "mpi", "shaped")
TITLES = {
    "ranks": "Figures 5 to 7 and 9, ranks that are threads",
    "mpi": "Figures 5 to 7 and 9, ranks that are processes",
    "shaped": "Two ranks over a link made slow",
}


def named(case: dict[str, Any]) -> str:
    return case["matrix"] + ("*" if case["stand_in"] else "")


def spread(data: Report, method: str) -> tuple[float, float, float] | None:
    """Least, median and most MAD over matrices and numbers of ranks."""
    found = [v for c in of_part(data, "mad") for v in c["mad"][method].values()]
    return (min(found), statistics.median(found), max(found)) if found else None


def mad(data: Report) -> list[Table]:
    rows = []
    for method, theirs in paper.MAD.items():
        got = spread(data, method)
        if got:
            rows.append(
                [method, *(f"{v:.2e}" for pair in zip(theirs, got, strict=True) for v in pair)]
            )
    header = [
        "distribution",
        "paper: least",
        "ours",
        "paper: median",
        "ours",
        "paper: most",
        "ours",
    ]
    suite = [
        [named(c), f"{c['rows']:,}", f"{c['nnz']:,}", f"{c['per_row']:.1f}", f"{c['paper_per_row']:.1f}",
         c["stand_in"] or "the paper's", *(f"{c['mad'][m][p]:.2e}" for m in paper.MAD for p in ("16", "64"))]
        for c in of_part(data, "mad")
    ]  # fmt: skip
    names = ["matrix", "rows", "nonzeros", "a row", "paper", "what it is", "naive 16", "naive 64",
             "balanced 16", "balanced 64"]  # fmt: skip
    tables: list[Table] = []
    if rows:
        tables.append(("MAD (V-C, V-D), of nnz, 4 to 121 ranks", header, rows))
        tables.append(("Table I and MAD; * a stand-in", names, suite))
    return tables


def threads(data: Report) -> list[Table]:
    cases = of_part(data, "threads")
    counts = sorted({r["threads"] for c in cases for r in c["results"].values()})
    rows = [[named(c), *(number(good(c, str(n)).get("gflops")) for n in counts)] for c in cases]
    header = ["matrix", *(f"{n} thread{'s' * (n > 1)}" for n in counts)]
    return [("Figure 4: GFLOP/s of one rank", header, rows)] if rows else []


def measured(data: Report, part: str) -> list[Table]:
    rows = []
    for case in of_part(data, part):
        for name in case["results"]:
            r = good(case, name)
            if "median" in r:
                rows.append([named(case), f"{case['ranks']}", name, number(r["gflops"]),
                             number(r["median"], ".4g", 1e3), number(r["compute"], ".4g", 1e3),
                             number(r["communicate"], ".4g", 1e3),
                             number(r["ratio"], ".2f"), number(r["predicted_seconds"], ".4g", 1e3),
                             number(r["predicted_over_measured"], ".2f"),
                             number(r["predicted_over_fastest"], ".2f"), r["halo"],
                             case.get("link", "-")])  # fmt: skip
    header = ["matrix", "ranks", "layout", "GFLOP/s", "ms", "comp ms", "comm ms", "comm/comp", "predicted ms",
              "pred/meas", "pred/fastest", "halo", "link"]  # fmt: skip
    header = header if part == "shaped" else header[:-1]
    rows = rows if part == "shaped" else [r[:-1] for r in rows]
    return [(TITLES[part], header, rows)] if rows else []


def ratio(p: dict[str, Any]) -> float:
    """Communication over computation of a prediction, whose time is the sum of both."""
    return float(p["communicate"] / (p["seconds"] - p["communicate"]))


def oracle(data: Report) -> list[Table]:
    """Where scaling stops for the paper's cluster, beside its bands (VI-C), and the ratio at 4 ranks (VI-B)."""
    rows = []
    for c in of_part(data, "oracle"):
        at = {(p["layout"], p["ranks"]): p for p in c["predictions"]}
        theirs = paper.STOPS[paper.band(c["paper_per_row"])]
        four = [
            ratio(p) if (p := at.get((name, paper.DOMINATES))) else None
            for name in ("grid_reduce", "bins_gather")
        ]
        rows.append([named(c), f"{c['per_row']:.1f}", f"{theirs}", *(f"{c['stops'][n]}" for n in
                     ("bins_gather", "grid_reduce", "balanced")), *(number(v, ".2f") for v in four),
                     f"{c['recommended']['layout']} on {c['recommended']['ranks']}"])  # fmt: skip
    header = ["matrix", "a row", "paper stops at", "balanced (theirs)", "naive", "ours", "ratio at 4, naive",
              "balanced", "recommended"]  # fmt: skip
    name = data["settings"]["network"]
    return (
        [(f"Figures 6, 7 and 9, predicted on {name}: ranks where scaling stops", header, rows)]
        if rows
        else []
    )


def tables(data: Report) -> list[Table]:
    found = [*mad(data), *threads(data)]
    for part in MEASURED:
        found += measured(data, part)
    return [*found, *oracle(data)]
