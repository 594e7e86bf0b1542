"""Whether ranges of predicted times hold products of matrices that they were not chosen for, and what meetings add.

python bench/oracle_ranges.py                          # reads bench/results/page_kogge2018.json, measures nothing
python bench/oracle_ranges.py FILE                     # another result of bench/page_kogge2018.py

First table: measured products in the range of their kind of job (docs/scaling.md), and in one of others' quantiles, all
matrices but their own. Second one, where sums are gathered at rank 0: predictions within 15 % and beyond 30 %, without
the measured time of the ranks' meetings and with it (the same in results that were made before it was measured).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from lib.results import read
from penstock.dist._network import SPREAD

RESULTS = Path(__file__).parent / "results" / "page_kogge2018.json"
TAIL = 0.035  # on either side: nine of ten, with some for matrices that are like none before
CLOSE, FAR = 1.15, 1.3
GATHERED = "balanced"  # the paper's name for what is gathered


def job_of(case: dict[str, Any]) -> str:
    """A key of SPREAD, on the two cores of these results."""
    if case["part"] == "shaped":
        return "several nodes"
    if case["ranks"] == 1:
        return "one rank"
    return "ranks that share cores" if case["ranks"] > 2 else "a core for each rank"


def products(path: Path) -> list[dict[str, Any]]:
    """Of y = A x: what, measured and predicted seconds."""
    found = []
    for case in read(path)["cases"]:
        for layout, r in case["results"].items():
            if r.get("predicted_seconds") and r.get("median"):
                found.append({"matrix": case["matrix"], "job": job_of(case), "layout": layout,
                              "ranks": f"{case['ranks']} {'processes' if case['part'] == 'mpi' else 'threads'}",
                              "measured": r["median"], "predicted": r["predicted_seconds"],
                              "meeting": r.get("predicted_meeting") or 0.0})  # fmt: skip
    return found


def held_out(rows: list[dict[str, Any]]) -> tuple[int, float]:
    """How many lie in the range of the other matrices, and how wide these are: last over first."""
    ratio = np.array([r["measured"] / r["predicted"] for r in rows])
    matrix = np.array([r["matrix"] for r in rows])
    inside, widths = 0, []
    for name in set(matrix):
        low, high = np.quantile(ratio[matrix != name], [TAIL, 1 - TAIL])
        here = ratio[matrix == name]
        inside += int(((low <= here) & (here <= high)).sum())
        widths.append(high / low)
    return inside, float(np.mean(widths))


def close(rows: list[dict[str, Any]], limit: float, meeting: bool) -> int:
    """How many are within a factor."""
    found = 0
    for r in rows:
        ratio = r["measured"] / (r["predicted"] - (0.0 if meeting else r["meeting"]))
        found += max(ratio, 1 / ratio) <= limit
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=RESULTS)
    rows = products(parser.parse_args().file)
    print(f"{'job':24}{'products':>9}{'in range':>9}{'width':>7}{'held out':>9}{'width':>7}")
    for job in dict.fromkeys(r["job"] for r in rows):
        some = [r for r in rows if r["job"] == job]
        low, high = SPREAD[job]
        inside = sum(low <= r["measured"] / r["predicted"] <= high for r in some)
        others, width = held_out(some)
        print(f"{job:24}{len(some):9}{inside:9}{high / low:7.2f}{others:9}{width:7.2f}")
    print(
        f"\n{'gathered at rank 0':24}{'products':>9}{'close':>9}{'far':>5}{'us':>7}{'close':>9}{'far':>5}"
    )
    gathered = [r for r in rows if r["layout"] == GATHERED and r["job"] != "several nodes"]
    for ranks in ("2 threads", "4 threads"):
        some = [r for r in gathered if r["ranks"] == ranks]
        told = [
            f"{close(some, CLOSE, m):9}{len(some) - close(some, FAR, m):5}" for m in (False, True)
        ]
        met = 1e6 * float(np.median([r["meeting"] for r in some])) if some else 0.0
        print(f"{ranks:24}{len(some):9}{told[0]}{met:7.0f}{told[1]}")


if __name__ == "__main__":
    main()
