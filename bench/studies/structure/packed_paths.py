"""Shortest paths from packed lists beside those from lists as they are, on random lifts of real graphs.

python bench/studies/structure/packed_paths.py --folder data --edges 250e6  # lifts of about so many edges stored
python bench/studies/structure/packed_paths.py --folder data --graphs cnr-2000.mtx.gz --edges 1e9 --roots 12

Lengths are whole numbers, 8 to 72, the same both ways. Rows: lists raw in device memory; raw under the budget of 32
bytes a vertex, 64 MB and a quarter of the bytes of raw edges with lengths (5 each); packed in device memory; packed
under that budget. All distances are compared.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from statistics import median

import numpy as np
from packed_lists import simple
from penstock.csgraph import GpuOptions
from penstock.csgraph._packed_paths import path_lists
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps


def with_lengths(a: ps.csr_array) -> ps.csr_array:
    """The same edges, with lengths 8 to 72 that both directions share, in float32."""
    values = np.empty(a.nnz, np.float32)
    indptr, columns = np.asarray(a.indptr), np.asarray(a.indices)
    for first in range(0, a.shape[0], 1 << 20):
        last = min(a.shape[0], first + (1 << 20))
        part = slice(int(indptr[first]), int(indptr[last]))
        rows = np.repeat(np.arange(first, last, dtype=np.uint32), np.diff(indptr[first : last + 1]))
        ends = columns[part].view(np.uint32)
        mixed = ((rows ^ ends) * np.uint32(2654435761)) ^ (rows + ends)
        values[part] = 8 + (mixed >> np.uint32(9)) % np.uint32(65)
    return ps.csr_array._from_parts(*a.shape, indptr, columns, values)


def counts(steps: list[dict], edges: int) -> str:
    of, read = Counter(s["kind"] for s in steps), Counter()
    for s in steps:
        read[s["kind"]] += s["edges"]
    return ", ".join(
        f"{n} {kind} ({read[kind] / edges:.2f} of the edges)" for kind, n in of.items()
    )


def measured(a: ps.csr_array, roots: list[int], ways: list, expected: dict) -> None:
    for label, placement, limit in ways:
        options = GpuOptions(placement=placement)
        seconds, wrong, told = [], 0, None
        try:
            with ps.options(device_memory=limit):
                begin = time.perf_counter()
                ps.csgraph.sssp(a, roots[0], device=0, gpu_options=options)
                first = time.perf_counter() - begin
                for root in roots:
                    with ps.record() as events:
                        far = ps.csgraph.sssp(a, root, device=0, gpu_options=options)
                    told = events[-1]
                    seconds.append(told["seconds"])
                    found = (
                        float(far[np.isfinite(far)].sum(dtype=np.float64)),
                        int(np.isfinite(far).sum()),
                    )
                    wrong += found != expected.setdefault(root, found)
                with ps.record() as events:
                    ps.csgraph.sssp(
                        a,
                        roots[0],
                        device=0,
                        gpu_options=GpuOptions(placement=placement, counted=True),
                    )
                read = events[-1]["read"]["bytes"] / (5 * a.nnz)
        except Exception as e:  # say it, and go on
            print(f"  {label}: {type(e).__name__}: {e}", flush=True)
            continue
        facts = told["graph"]
        print(
            f"  {label:15} {1e3 * median(seconds):8.2f} ms, worst {1e3 * max(seconds):8.2f}; first {first:6.2f} s, "
            f"link {read:.3f} of 5 bytes an edge, used {facts['used_bytes'] / 1e9:.2f} GB, "
            f"far {facts['far_bytes'] / 1e9:.2f} GB"
            f"{'  WRONG' if wrong else ''}",
            flush=True,
        )
        print(f"    delta {told['delta']}: {counts(told['steps'], a.nnz)}", flush=True)
        a._derived.gpu_graph = None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--graphs", default="cnr-2000.mtx.gz,soc-Slashdot0902.txt.gz")
    parser.add_argument("--edges", type=float, default=250e6)
    parser.add_argument("--mix", type=float, default=0.05)
    parser.add_argument("--roots", type=int, default=7)
    parser.add_argument("--check", action="store_true", help="compare with the CPU, too")
    args = parser.parse_args()
    for name in args.graphs.split(","):
        one = simple(args.folder / name)
        a = ps.generate.lift(one, max(1, round(args.edges / one.nnz)), mix=args.mix, seed=1)
        a = with_lengths(a)
        n, nnz = a.shape[0], a.nnz
        begin = time.perf_counter()
        facts = path_lists(a, weights_of(a)).facts()
        took = time.perf_counter() - begin
        print(
            f"{name}: {n:,} vertices, {nnz:,} edges; {8 * facts['bytes'] / nnz:.2f} bits an edge, of which lengths "
            f"take {facts['length_bits']}; packed in {took:.2f} s, {facts['seconds']:.2f} s for the lengths",
            flush=True,
        )
        degree = np.diff(a.indptr)
        roots = [
            int(v) for v in np.random.default_rng(2).choice(np.flatnonzero(degree), args.roots)
        ]
        budget = 32 * n + (64 << 20) + 5 * nnz // 4
        expected: dict = {}
        if args.check:
            far = ps.csgraph.sssp(a, roots[0], device="cpu")
            reached = np.isfinite(far)
            expected[roots[0]] = float(far[reached].sum(dtype=np.float64)), int(reached.sum())
        ways = [
            ("raw in core", "device", None),
            ("raw, budget", "pinned", budget),
            ("packed in core", "packed", None),
            ("packed, budget", "packed", budget),
        ]
        measured(a, roots, ways, expected)


if __name__ == "__main__":
    main()
