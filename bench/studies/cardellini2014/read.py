"""What a report of bench/cardellini2014.py says, for its tables, figures and goals."""

from __future__ import annotations

import statistics
from typing import Any

from lib.paper_tables import Report, good, of_part

Case = dict[str, Any]


def present(cases: list[Case]) -> list[str]:
    """Contestants that were right somewhere, in the order of the report."""
    names = [n for c in cases for n in c["results"] if "median" in good(c, n)]
    return list(dict.fromkeys(names))


def scenarios(cases: list[Case]) -> dict[tuple[int, int], list[Case]]:
    found: dict[tuple[int, int], list[Case]] = {}
    for case in cases:
        found.setdefault((case["ranks"], case["gpus"]), []).append(case)
    return found


def where(ranks: int, gpus: int) -> str:
    """
    >>> where(2, 1), where(2, 0)
    ('2 ranks, 1 GPU', '2 ranks')
    """
    return f"{ranks} ranks" + (f", {gpus} GPU{'s' if gpus > 1 else ''}" if gpus > 0 else "")


def best(case: Case, role: str, key: str = "gflops") -> tuple[str, float] | None:
    """The largest number of that role's contestants."""
    right = [(n, good(case, n)) for n in case["results"]]
    found = [(n, r[key]) for n, r in right if r.get("role") == role and r.get(key) is not None]
    return max(found, key=lambda pair: pair[1], default=None)


def alone(case: Case) -> float | None:
    """GFLOP/s of one GPU: all strategies do the same there, nothing."""
    return statistics.median([good(case, n)["gflops"] for n in present([case])] or [0.0]) or None


def efficiency(data: Report, role: str) -> dict[tuple[int, int], float]:
    """(base, count) -> speed a GPU of the best of that role over the speed of one GPU."""
    cases = {(c["base"], c["count"]): c for c in of_part(data, "weak")}
    found = {}
    for (base, count), case in cases.items():
        first, mine = alone(cases.get((base, 1), {"results": {}})), best(case, role)
        if first and mine and count > 1:
            found[base, count] = mine[1] / count / first
    return found
