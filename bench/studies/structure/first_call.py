"""Where the time of a graph's first search on a GPU goes, beside one pass of its columns over the link.

python bench/studies/structure/first_call.py --folder data --edges 300e6
python bench/studies/structure/first_call.py --folder data --profile  # kernels and copies, by PyTorch's profiler
python bench/studies/structure/first_call.py --folder data --gpus 0,1 # each packs its range of the vertices

Random lifts in pinned memory (Amit and Linial 2002), and what each costs: a copy of offsets and columns; packing alone,
by sizes of pieces and by what the host waits for; the first ten searches of a graph that the GPU has never seen.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import scipy.sparse as sp
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import has_symmetric_pattern

import penstock as ps
from penstock import _core

PACKED = GpuOptions(placement="packed")


def base_of(path: Path) -> ps.csr_array:
    """The undirected graph of a file, without loops and repeated edges."""
    a = sp.load_npz(path) if path.suffix == ".npz" else ps.load(path).to_scipy()
    n = max(a.shape)
    a = a.tocoo()
    keep = a.row != a.col
    u, v = a.row[keep].astype(np.int64), a.col[keep].astype(np.int64)
    key = np.unique(np.concatenate([u * n + v, v * n + u]))
    return ps.csr_array((np.ones(key.size, bool), np.divmod(key, n)), shape=(n, n))


def forget(a: ps.csr_array) -> None:
    a._derived.gpu_graph = a._derived.gpu_parts = a._derived.packed_lists = None


def pack(a: ps.csr_array, gpus: list[int], piece: int) -> dict:
    if len(gpus) > 1:
        return dict(_core.gpu_parts(a._core, gpus, "packed").facts())
    return dict(_core.gpu_graph(a._core, gpus[0], "packed", 0, piece_bytes=piece).facts())


def timed(work) -> float:
    begin = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - begin)


def searches(a: ps.csr_array, gpus: list[int], roots: list[int], options: GpuOptions) -> None:
    device = gpus if len(gpus) > 1 else gpus[0]
    forget(a)
    for number, root in enumerate(roots):
        with ps.record() as told:
            took = timed(partial(ps.csgraph.bfs, a, root, device=device, gpu_options=options))
        event = told[-1]
        if number not in (0, 1, 9):
            continue
        graph = event["graph"]
        print(
            f"    search {number + 1}: call {took:7.2f} ms, search {1e3 * event['seconds']:6.2f}, back "
            f"{1e3 * event.get('copy_seconds', 0):5.2f}, made {1e3 * graph['build_seconds']:6.2f} (packed "
            f"{1e3 * graph['pack_seconds']:6.2f}), sample {1e3 * graph['sample_seconds']:6.2f} "
            f"({graph['sample_size']}, {graph['sample_kind']})",
            flush=True,
        )


def profiled(work) -> None:
    """Sums of kernels and copies, and the first ones in their order."""
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.zeros(1, device="cuda")
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        work()
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    device.sort(key=lambda e: e["ts"])
    start = device[0]["ts"]
    sums: dict[str, list[float]] = defaultdict(list)
    for e in device:
        sums[short(e["name"])].append(e["dur"] / 1e3)
    span = (device[-1]["ts"] + device[-1]["dur"] - start) / 1e3
    print(f"    profile: {span:.2f} ms from the first to the last")
    for name, took in sorted(sums.items(), key=lambda kv: -sum(kv[1]))[:12]:
        print(f"      {sum(took):8.2f} ms in {len(took):5}, most {max(took):6.3f}: {name}")
    line = [
        f"{(e['ts'] - start) / 1e3:.2f}+{e['dur'] / 1e3:.2f} {short(e['name'])[:14]}/{e['args'].get('stream')}"
        for e in device
        if e["dur"] > 15
    ]
    for at in range(0, min(len(line), 48), 6):
        print("      " + " | ".join(line[at : at + 6]))


def short(name: str) -> str:
    for word in ("SizeLists", "SizeLong", "WriteLists", "WriteLong", "PlaceLists", "PlaceGroups"):
        if word in name:
            return word
    return name.split("<")[0].removeprefix("void ")[-40:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--graphs", default="cnr-2000.npz,soc-Slashdot0902.npz")
    parser.add_argument("--edges", type=float, default=300e6)
    parser.add_argument("--gpus", default="0", help="0,1: each has a range of the vertices")
    parser.add_argument("--pieces", default="0,16,64", help="MB of columns; 0: what is usual")
    parser.add_argument("--place", default="pinned")
    parser.add_argument("--samples", action="store_true", help="what samples of packed lists take")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    gpus = [int(gpu) for gpu in args.gpus.split(",")]
    for name in args.graphs.split(","):
        one = base_of(args.folder / name)
        a = ps.generate.lift(one, max(1, round(args.edges / one.nnz)), mix=0.05, seed=1)
        has_symmetric_pattern(a)
        a = a.to(args.place)
        n, nnz = a.shape[0], a.nnz
        raw = median(
            1e3 * _core.gpu_graph(a._core, gpus[0], "device", 0).facts()["build_seconds"]
            for _ in range(3)
        )
        print(
            f"{name}: {n:,} vertices, {nnz:,} edges; columns at 55 GB/s {4 * nnz / 55e6:.2f} ms; offsets and "
            f"columns copied in {raw:.2f} ms",
            flush=True,
        )
        for piece in [int(p) for p in args.pieces.split(",")]:
            runs = [pack(a, gpus, piece << 20) for _ in range(4)]
            best = sorted(runs[1:], key=lambda f: f["pack_seconds"])[1]
            parts = {k: round(1e3 * v, 2) for k, v in best["pack_parts"].items()}
            print(
                f"    pieces of {piece:3} MB: first {1e3 * runs[0]['pack_seconds']:.2f}, then "
                f"{1e3 * best['pack_seconds']:.2f} ms ({best['packed_by']}, build {1e3 * best['build_seconds']:.2f}): "
                f"{parts}",
                flush=True,
            )
        rng = np.random.default_rng(2)
        roots = [int(v) for v in rng.choice(np.flatnonzero(np.diff(a.indptr)), 10)]
        for _ in range(2):  # a process locks pages for results, and loads kernels, once
            searches(a, gpus, roots, PACKED)
        if args.samples:
            print("    without a sample:")
            searches(a, gpus, roots, GpuOptions(placement="packed", sample=0))
            there = _core.gpu_graph(a._core, gpus[0], "packed", 0)
            for kind in ("first", "highest_degree"):
                there.make_sample(4, kind)
                print(f"    sample {kind}: {1e3 * there.facts()['sample_seconds']:.2f} ms")
            del there
        if args.profile:
            profiled(partial(pack, a, gpus, 0))
        forget(a)


if __name__ == "__main__":
    main()
