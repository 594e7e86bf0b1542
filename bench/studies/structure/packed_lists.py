"""Searches of packed lists beside searches of lists as they are, on random lifts of real graphs (Amit and Linial 2002).

python bench/studies/structure/packed_lists.py --folder data --edges 250e6  # lifts of about so many edges stored
python bench/studies/structure/packed_lists.py --folder data --graphs cnr-2000.mtx.gz --edges 1e9 --roots 12
python bench/studies/structure/packed_lists.py --folder data --gpus 0,1 --kept 0.1  # each GPU takes a tenth

Each lift has copies of a graph; an edge {u, v} joins (u, c) with (v, c + s), where s is 0 for all but --mix of them.
Rows: edges raw in device memory; raw under the budget of 32 bytes a vertex, 64 MB and a quarter of the edges' bytes
(--kept); packed in device memory; packed under that budget. All levels and component counts are compared.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import has_symmetric_pattern

import penstock as ps


def simple(path: Path) -> ps.csr_array:
    """The undirected graph of a file, without loops and repeated edges."""
    a = ps.load(path)
    n = max(a.shape)
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)).astype(np.int64)
    columns = np.asarray(a.indices, np.int64)
    keep = rows != columns
    u, v = rows[keep], columns[keep]
    key = np.unique(np.concatenate([u * n + v, v * n + u]))
    edges = (key // n, key % n)
    return ps.csr_array((np.ones(key.size, bool), edges), shape=(n, n))


def searched(
    a: ps.csr_array, roots: list[int], gpus: list[int], options: GpuOptions, budget: int | None
) -> dict:
    device = gpus if len(gpus) > 1 else gpus[0]
    found, seconds, first, events = [], [], None, None
    with ps.options(device_memory=budget):
        begin = time.perf_counter()
        ps.csgraph.bfs(a, roots[0], device=device, gpu_options=options)
        first = time.perf_counter() - begin
        for root in [roots[0], *roots]:
            with ps.record() as events:
                levels = ps.csgraph.bfs(a, root, device=device, gpu_options=options)
            seconds.append(events[-1]["seconds"])
            found.append((int((levels >= 0).sum()), int(levels.astype(np.int64).sum())))
        parts = []
        for _ in range(4):
            with ps.record() as events:
                count, _labels = ps.csgraph.connected_components(
                    a, device=device, gpu_options=options
                )
            parts.append(events[-1]["seconds"])
        told = events[-1]["graph"]
        read = []
        for root in roots[:2]:
            with ps.record() as events:
                ps.csgraph.bfs(
                    a,
                    root,
                    device=device,
                    gpu_options=GpuOptions(placement=options.placement, counted=True),
                )
            read.append(events[-1]["read"]["bytes"] / (4 * a.nnz))
        steps = [(s["kind"], s["frontier"], s["open"]) for s in events[-1]["steps"]]
    return {
        "bfs_ms": 1e3 * median(seconds[1:]),
        "worst_ms": 1e3 * max(seconds[1:]),
        "first_s": first,
        "cc_ms": 1e3 * median(parts[1:]),
        "read": max(read),
        "found": (found, count),
        "used": told["used_bytes"],
        "far": told["far_bytes"],
        "sample": told["sample_size"],
        "steps": steps,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument(
        "--graphs",
        default="cnr-2000.mtx.gz,web-NotreDame.txt.gz,soc-Slashdot0902.txt.gz,road-moscow.mtx.gz",
    )
    parser.add_argument("--edges", type=float, default=250e6)
    parser.add_argument("--mix", type=float, default=0.05)
    parser.add_argument("--roots", type=int, default=6)
    parser.add_argument("--gpus", default="0", help="0,1: each has a range of the vertices")
    parser.add_argument("--kept", type=float, default=0.25, help="share of the edges' bytes")
    parser.add_argument("--pack-only", action="store_true", help="bits an edge alone; needs no GPU")
    args = parser.parse_args()
    gpus = [int(gpu) for gpu in args.gpus.split(",")]
    for name in args.graphs.split(","):
        if name.startswith("rmat"):
            a = ps.generate.rmat(int(name[4:]), 16, seed=1)
        else:
            one = simple(args.folder / name)
            a = ps.generate.lift(one, max(1, round(args.edges / one.nnz)), mix=args.mix, seed=1)
            has_symmetric_pattern(a)
        n, nnz = a.shape[0], a.nnz
        facts = packed_lists(a).facts()
        bits = 8 * facts["list_bytes"] / nnz
        print(
            f"{name}: {n:,} vertices, {nnz:,} edges; {bits:.2f} bits an edge, {8 * facts['bytes'] / nnz:.2f} "
            f"with heads, {facts['tables']} tables, packed in {facts['seconds']:.2f} s",
            flush=True,
        )
        if args.pack_only:
            continue
        degree = np.diff(a.indptr)
        roots = [
            int(v) for v in np.random.default_rng(2).choice(np.flatnonzero(degree), args.roots)
        ]
        budget = 32 * n + (64 << 20) + int(4 * args.kept * nnz)
        expected = None
        for label, placement, limit in (
            ("raw in core", "device", None),
            ("raw, budget", "pinned", budget),
            ("packed in core", "packed", None),
            ("packed, budget", "packed", budget),
            ("auto, budget", "auto", budget),
        ):
            try:
                got = searched(a, roots, gpus, GpuOptions(placement=placement), limit)
            except Exception as e:  # say it, and go on
                print(f"  {label}: {type(e).__name__}: {e}", flush=True)
                continue
            expected = expected or got["found"]
            same = "" if got["found"] == expected else "  WRONG"
            print(
                f"  {label:15} bfs {got['bfs_ms']:8.2f} worst {got['worst_ms']:8.2f} ms, components "
                f"{got['cc_ms']:7.2f} ms, first {got['first_s']:6.2f} s, link {got['read']:.3f} of the edges, used "
                f"{got['used'] / 1e9:.2f} GB, far {got['far'] / 1e9:.2f} GB, sample {got['sample']}{same}",
                flush=True,
            )
            print(f"    {got['steps']}", flush=True)
            a._derived.gpu_graph = a._derived.gpu_parts = None


if __name__ == "__main__":
    main()
