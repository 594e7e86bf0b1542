"""PageRank, triangles and betweenness from packed lists beside those from lists as they are, on random lifts.

python bench/studies/structure/packed_algorithms.py --folder data --edges 300e6
python bench/studies/structure/packed_algorithms.py --folder data --graphs cnr-2000.mtx.gz --edges 1e9 --calls 7

Rows: lists raw in device memory; raw and packed under the budget of 32 bytes a vertex, 64 MB and a quarter of the
edges' bytes (--kept); and PageRank by products that stream under that budget. Milliseconds of whole calls, the first
one and the median of the later ones. PageRank ends at a change of 1e-4; betweenness is that of 4 sources. All results
are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from packed_lists import simple
from penstock.csgraph import GpuOptions

import penstock as ps

CALLS: dict[str, Callable[..., Any]] = {
    "bfs": lambda a, **how: ps.csgraph.bfs(a, 5, **how),
    "pagerank": lambda a, **how: ps.csgraph.pagerank(a, tol=1e-4, **how),
    "betweenness": lambda a, **how: ps.csgraph.betweenness_centrality(a, k=4, **how),
    "triangles": lambda a, **how: ps.csgraph.triangle_count(a, **how),
}


def timed(call: Callable[[], Any], calls: int) -> tuple[Any, list[float], dict[str, Any]]:
    """(the last result, milliseconds of each call, what the last one told)"""
    seconds = []
    for _ in range(calls):
        with ps.record() as events:
            begin = time.perf_counter()
            got = call()
            seconds.append(1e3 * (time.perf_counter() - begin))
    return got, seconds, events[-1] if events else {}


def told(event: dict[str, Any]) -> str:
    facts = event.get("graph", {})
    sizes = ", ".join(
        f"{name} {facts.get(name + '_bytes', 0) / 1e6:.0f} MB" for name in ("edge", "far", "used")
    )
    more = f", {event['steps']} steps" if isinstance(event.get("steps"), int) else ""
    oriented = event.get("oriented")
    if oriented:
        more += (
            f", oriented in {1e3 * oriented['seconds']:.0f} ms, {oriented['bytes'] / 1e6:.0f} MB"
        )
    return f"{facts.get('placement')}: {sizes}; {1e3 * event.get('seconds', 0):.2f} ms on the GPU{more}"


def unlike(got: Any, expected: Any) -> str:
    right = np.isclose(got, expected, rtol=1e-2, atol=1e-9)
    if np.all(right):
        return ""
    at = int(np.flatnonzero(~np.ravel(right))[0])
    values = np.ravel(got)[at], np.ravel(expected)[at]
    return f"  WRONG: {int(np.sum(~right))} differ, the first is {at}: {values[0]}, not {values[1]}"


def measure(a: ps.csr_array, budget: int, calls: int, until: float) -> None:
    expected: dict[str, Any] = {}
    for label, placement, limit in (
        ("raw in core", "device", None),
        ("packed, budget", "packed", budget),
        ("raw, budget", "pinned", budget),
    ):
        with ps.options(device_memory=limit):
            for name, call in CALLS.items():
                if time.monotonic() > until:
                    continue
                how = GpuOptions(placement=placement)
                try:
                    got, ms, event = timed(
                        lambda call=call, how=how: call(a, device=0, gpu_options=how), calls
                    )
                except Exception as e:  # say it, and go on
                    print(f"  {label:14} {name:12} {type(e).__name__}: {e}", flush=True)
                    continue
                same = unlike(got, expected.setdefault(name, got))
                print(
                    f"  {label:14} {name:12} first {ms[0]:8.1f} later {median(ms[1:]):8.1f} ms; {told(event)}{same}",
                    flush=True,
                )
        a.release()
    with ps.options(device_memory=budget):
        if time.monotonic() < until:
            a.prepare(schedule=ps.Streamed())
            got, ms, _ = timed(lambda: ps.csgraph.pagerank(a, tol=1e-4), calls)
            same = unlike(got, expected.setdefault("pagerank", got))
            print(
                f"  products       pagerank     first {ms[0]:8.1f} later {median(ms[1:]):8.1f} ms{same}"
            )
    a.release()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--graphs", default="cnr-2000.mtx.gz,soc-Slashdot0902.txt.gz")
    parser.add_argument("--edges", type=float, default=300e6)
    parser.add_argument("--calls", type=int, default=8)
    parser.add_argument("--kept", type=float, default=0.25, help="share of the edges' bytes")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after so many")
    args = parser.parse_args()
    until = time.monotonic() + args.seconds
    for name in args.graphs.split(","):
        one = simple(args.folder / name)
        a = ps.generate.lift(one, max(1, round(args.edges / one.nnz)), seed=1, device=0)
        a = a.to(ps.pinned)
        budget = 32 * a.shape[0] + (64 << 20) + int(4 * args.kept * a.nnz)
        print(
            f"{name}: {a.shape[0]:,} vertices, {a.nnz:,} edges, budget {budget / 1e6:.0f} MB",
            flush=True,
        )
        measure(a, budget, args.calls, until)


if __name__ == "__main__":
    main()
