"""Communities of random lifts on a GPU, beside those of the CPU: seconds of whole calls, and modularity.

python bench/studies/structure/communities.py --folder data
python bench/studies/structure/communities.py --folder data --graphs cnr-2000.mtx.gz --edges 1e8 --no-cpu
python bench/studies/structure/communities.py --folder data --functions leiden

Rows: the default, packed lists and lists as they are, each within 72 bytes a vertex (104 for Leiden), 64 MB and a
quarter of the bytes of the edges (--kept), which start in pinned memory; then the CPU, on all its cores. First call and
median of the later ones. All labels of the GPU are compared with each other: they depend on the graph and the seed
alone. Communities of Leiden are searched, each from its first vertex: they must be connected.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import numpy as np
from packed_lists import simple
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

FIND = {
    "louvain": ps.csgraph.louvain,
    "leiden": ps.csgraph.leiden,
    "label_propagation": ps.csgraph.label_propagation,
}
WAYS = {"default": None, "packed": "packed", "as they are": "pinned"}


def measure(a: ps.csr_array, name: str, calls: int, budget: int, cpu: bool) -> None:
    known, quality = None, 0.0
    for label, placement in WAYS.items():
        on = None if placement is None else GpuOptions(placement=placement)
        seconds = []
        with ps.options(device_memory=budget):
            for _ in range(calls):
                begin = time.perf_counter()
                found = FIND[name](a, seed=1, device=0, gpu_options=on)
                seconds.append(time.perf_counter() - begin)
        same = "" if known is None or np.array_equal(found, known) else "  OTHER LABELS"
        if known is None or same:
            quality = ps.csgraph.modularity(a, found)
            if name == "leiden":
                ps.csgraph.verify_connected_communities(a, found)
        known = found
        print(
            f"  {name:17} {label:12} first {seconds[0]:6.2f} later {median(seconds[1:] or seconds):6.2f} s, "
            f"modularity {quality:.5f}{same}",
            flush=True,
        )
        a._derived.gpu_graph = None
    if cpu:
        begin = time.perf_counter()
        found = FIND[name](a, seed=1, device="cpu")
        spent = time.perf_counter() - begin
        print(
            f"  {name:17} {f'{ps.num_threads()} threads':12} {spent:6.2f} s, modularity "
            f"{ps.csgraph.modularity(a, found):.5f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--graphs", default="cnr-2000.mtx.gz,soc-Slashdot0902.txt.gz")
    parser.add_argument("--edges", type=float, default=1e9)
    parser.add_argument("--functions", default=",".join(FIND))
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--kept", type=float, default=0.25, help="share of the edges' bytes")
    parser.add_argument("--no-cpu", action="store_true", help="the GPU alone")
    args = parser.parse_args()
    for name in args.graphs.split(","):
        one = simple(args.folder / name)
        a = ps.generate.lift(one, max(1, round(args.edges / one.nnz)), seed=1, device=0)
        a = a.to(ps.pinned)
        print(f"{name}: {a.shape[0]:,} vertices, {a.nnz:,} edges")
        for function in args.functions.split(","):
            vertex_bytes = 8 + _core.community_vertex_bytes(function == "leiden")
            budget = vertex_bytes * a.shape[0] + (64 << 20) + int(4 * args.kept * a.nnz)
            print(f"  {budget / 1e6:.0f} MB")
            measure(a, function, args.calls, budget, not args.no_cpu)


if __name__ == "__main__":
    main()
