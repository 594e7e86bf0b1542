"""Samples, walks and rows of features on one GPU, for tensors of PyTorch, beside the CPU's and PyTorch's own.

python bench/studies/sampling/sample_gpu.py                      # R-MAT 22, features of 4 GiB
python bench/studies/sampling/sample_gpu.py --scale 24 --gib 16 --parts gather,walks
python bench/studies/sampling/sample_gpu.py --quick              # toy inputs

Whole calls by the host's clock, until the GPU has come to the end; medians of 9 turns, in which contestants alternate.
`device`: the graph is in the GPU's memory, `pinned`: in pinned memory. Seeds and starts have edges. PyTorch Geometric's
NeighborSampler takes part where pyg-lib or torch-sparse is installed. The link's rate is that of a copy of 256 MiB.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import penstock as ps

LENGTH = 80
TURNS = 9
WIDTH = 128  # float32 a row of features
Run = Callable[[], Any]


def seconds(contestants: dict[str, Run]) -> dict[str, float]:
    """Median of each, after a first call that is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(TURNS + 1):
        for name, run in contestants.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            torch.cuda.synchronize()
            if turn:
                spent[name].append(time.perf_counter() - begin)
    return {name: statistics.median(s) for name, s in spent.items()}


def show(what: str, work: float, unit: str, found: dict[str, float]) -> None:
    told = ", ".join(
        f"{name} {s * 1e3:.3f} ms ({work / s:.4g} {unit})" for name, s in found.items()
    )
    print(f"{what}: {told}", flush=True)


def pyg_sampler(a: ps.csr_array, seeds: Any) -> Run | None:
    try:
        from torch_geometric.data import Data
        from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

        row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
        edges = torch.from_numpy(np.stack([a.indices.astype(np.int64), row]))
        sampler = NeighborSampler(Data(edge_index=edges, num_nodes=a.shape[0]), [10, 10])
        given = NodeSamplerInput(None, seeds.cpu())
        sampler.sample_from_nodes(given)
    except ImportError as why:
        print(f"PyTorch Geometric's sampler cannot take part: {why}", flush=True)
        return None
    return lambda: sampler.sample_from_nodes(given)


def samples(places: dict[str, ps.csr_array], some: Callable[[int], Any], quick: bool) -> None:
    for k in (1, 64 if quick else 8192, 128 if quick else 65536):
        seeds = some(k)
        pinned = places["pinned"]
        draw = partial(ps.sample.neighbors, fanouts=[10, 10])
        contestants: dict[str, Run] = {name: partial(draw, a, seeds) for name, a in places.items()}
        contestants["CPU"] = partial(draw, pinned, seeds.cpu().numpy(), device="cpu")
        rival = pyg_sampler(pinned, seeds) if k == 8192 else None
        if rival is not None:
            contestants["PyTorch Geometric"] = rival
        edges = draw(pinned, seeds).edges.numel()
        show(f"10, 10 of {k} seeds, {edges} edges", edges / 1e6, "M edges/s", seconds(contestants))


def walks(places: dict[str, ps.csr_array], some: Callable[[int], Any], quick: bool) -> None:
    starts = some(100 if quick else 1 << 20)
    for what, how in (
        ("uniform", {}),
        ("restart=0.15", {"restart": 0.15}),
        ("p=0.5 q=2", {"p": 0.5, "q": 2.0}),
        ("p=4 q=0.25", {"p": 4.0, "q": 0.25}),
    ):
        walk = partial(ps.sample.random_walks, starts=starts, length=LENGTH, **how)
        found = seconds({name: partial(walk, a) for name, a in places.items()})
        show(f"walks, {what}", starts.numel() * LENGTH / 1e6, "M steps/s", found)


def gathers(gib: float, quick: bool) -> None:
    rows = int(gib * 2**30) // (4 * WIDTH)
    x = torch.ones(rows, WIDTH).pin_memory()
    piece = x.view(-1)[: 1 << 26]
    there = torch.empty_like(piece, device="cuda")
    (link,) = seconds({"copy": partial(there.copy_, piece, non_blocking=True)}).values()
    rate = 4 * piece.numel() / link
    print(f"link: {rate / 1e9:.1f} GB/s", flush=True)
    for part in (rows // 16, rows // 4, rows):
        for k in (64, 128) if quick else (1 << 13, 1 << 15, 1 << 17, 1 << 20):
            ids = torch.randint(0, part, (k,), device="cuda")
            ordered = ids.sort().values
            read = partial(ps.sample.gather, x[:part])
            found = seconds({"random": partial(read, ids), "in order": partial(read, ordered)})
            size = 4 * WIDTH * part >> 20
            show(f"{k} rows of {size} MiB pinned", 4 * WIDTH * k / rate, "of the link", found)
    on_host = ids.cpu()
    found = seconds({"PyTorch's x[ids].cuda()": lambda: x[on_host].cuda()})
    show(f"{k} rows", 4 * WIDTH * k / rate, "of the link", found)
    y = x.cuda()
    found = seconds(
        {
            "penstock": partial(ps.sample.gather, y, ids),
            "x[ids]": partial(y.__getitem__, ids),
            "index_select": partial(torch.index_select, y, 0, ids),
        }
    )
    show(f"{k} rows on the GPU", 4 * WIDTH * k / 1e9, "GB/s", found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=22, help="of the R-MAT graph")
    parser.add_argument("--gib", type=float, default=4, help="of the features")
    parser.add_argument("--parts", default="samples,walks,gather")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    parts = args.parts.split(",")
    print(f"{torch.cuda.get_device_name(0)}, {ps.num_threads()} threads", flush=True)
    if "samples" in parts or "walks" in parts:
        a = ps.generate.rmat(10 if args.quick else args.scale, seed=1, device=0)
        places = {"device": a, "pinned": a.to(ps.pinned)}
        print(f"{a.shape[0]} vertices, {a.nnz} edges", flush=True)
        torch.manual_seed(1)
        used = torch.from_numpy(np.flatnonzero(np.diff(places["pinned"].indptr))).cuda()

        def some(k: int) -> Any:
            return used[torch.randint(0, used.numel(), (k,), device="cuda")]

        if "samples" in parts:
            samples(places, some, args.quick)
        if "walks" in parts:
            walks(places, some, args.quick)
    if "gather" in parts:
        gathers(0.26 if args.quick else args.gib, args.quick)


if __name__ == "__main__":
    main()
