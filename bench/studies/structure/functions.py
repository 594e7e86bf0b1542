"""First and later calls of searches, components and shortest paths: by default, packed, raw, all on the GPU.

python bench/studies/structure/functions.py --folder data --graphs cnr-2000.npz,bipartite --edges 300e6

Random lifts in pinned memory with lengths 8 to 72, the same both ways, within 32 bytes a vertex, 64 MB and a quarter of
the raw edges' bytes. `bipartite` and `friends` are made: ends by a power law, 20 and 85 edges a vertex. Calls are whole
ones, in ms; what the CPU finds out about a graph once (symmetry, weights) is measured before. Results of all homes are
compared.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from first_call import base_of
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import has_symmetric_pattern, symmetric_weights
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps

HOMES = {"default": None, "packed": "packed", "raw": "pinned", "in core": "device"}


def made(name: str) -> ps.csr_array:
    rng = np.random.default_rng(7)
    left, right, edges = (20_000, 12_000, 320_000) if name == "bipartite" else (4_000, 0, 170_000)
    ends = rng.zipf(1.6, 4 * edges)
    ends = ends[ends < (right or left)][:edges]
    u = rng.permutation(np.arange(ends.size) % left)
    v = left + ends if right else rng.permutation(left)[ends]
    n = left + right
    keep = u != v
    key = np.unique(np.concatenate([u * n + v, v * n + u])[np.tile(keep, 2)])
    return ps.csr_array((np.ones(key.size, bool), np.divmod(key, n)), shape=(n, n))


def with_lengths(a: ps.csr_array) -> ps.csr_array:
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)).astype(np.int64)
    columns = np.asarray(a.indices, np.int64)
    mixed = (np.minimum(rows, columns) * 2654435761 + np.maximum(rows, columns) * 40503) >> 7
    values = (8 + mixed % 65).astype(np.float32)
    return ps.csr_array._from_parts(*a.shape, np.asarray(a.indptr), np.asarray(a.indices), values)


def called(
    a: ps.csr_array, function: str, root: int, options: GpuOptions
) -> tuple[float, dict, Any]:
    begin = time.perf_counter()
    with ps.record() as events:
        if function == "components":
            found = ps.csgraph.connected_components(a, device=0, gpu_options=options)[0]
        else:
            search = ps.csgraph.bfs if function == "bfs" else ps.csgraph.sssp
            found = search(a, root, device=0, gpu_options=options)
    took = 1e3 * (time.perf_counter() - begin)
    if function != "components":
        reached = found >= 0 if function == "bfs" else np.isfinite(found)
        found = float(found[reached].sum(dtype=np.float64))
    return took, events[-1], found


def row(
    a: ps.csr_array, home: str, roots: list[int], budget: int, expected: dict, calls: int
) -> None:
    options = GpuOptions() if HOMES[home] is None else GpuOptions(placement=HOMES[home])
    derived, text = a._derived, []
    derived.release_gpu()
    derived.link_seconds = derived.path_link_seconds = derived.link_calls = 0
    with ps.options(device_memory=None if home == "in core" else budget):
        for function in ("bfs", "components", "sssp", "components", "bfs"):
            took, search, event, wrong = [], [], {}, 0
            for root in [roots[0], *roots[:calls]]:
                one, event, found = called(a, function, root, options)
                took.append(one)
                search.append(1e3 * event["seconds"])
                wrong += found != expected.setdefault((function, root), found)
            g = event["graph"]
            text.append(
                f"    {home:8} {function:10} first {took[0]:7.2f}, then {median(took[1:]):7.2f} (on the GPU "
                f"{median(search[1:]):7.2f}, worst {max(search[1:]):7.2f}): {g['placement']}, by {g['packed_by']} "
                f"in {1e3 * g['pack_seconds']:.1f}, far {g['far_bytes'] / 1e6:.0f} MB, sample {g['sample_size']}, "
                f"used {g['used_bytes'] / 1e6:.0f} of {g['budget'] / 1e6:.0f}{'  WRONG' if wrong else ''}"
            )
    print("\n".join(text), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--graphs", default="cnr-2000.npz,soc-Slashdot0902.npz,bipartite,friends")
    parser.add_argument("--edges", type=float, default=300e6)
    parser.add_argument("--homes", default=",".join(HOMES))
    parser.add_argument("--calls", type=int, default=5)
    args = parser.parse_args()
    for name in args.graphs.split(","):
        one = made(name) if name in ("bipartite", "friends") else base_of(args.folder / name)
        copies = max(1, round(args.edges / one.nnz))
        a = ps.generate.lift(with_lengths(one), copies, mix=0.05, seed=1, device=0).to("pinned")
        n, nnz = a.shape[0], a.nnz
        facts = [has_symmetric_pattern, symmetric_weights, weights_of]
        took = []
        for fact in facts:
            begin = time.perf_counter()
            fact(a)
            took.append(f"{fact.__name__} {1e3 * (time.perf_counter() - begin):.0f} ms")
        print(
            f"{name}: {n:,} vertices, {nnz:,} edges; columns at 55 GB/s {4 * nnz / 55e6:.1f} ms; {', '.join(took)}"
        )
        rng = np.random.default_rng(2)
        roots = [int(v) for v in rng.choice(np.flatnonzero(np.diff(a.indptr)), 12)]
        budget, expected = 32 * n + (64 << 20) + nnz, {}
        for home in args.homes.split(","):
            row(a, home, roots, budget, expected, args.calls)


if __name__ == "__main__":
    main()
