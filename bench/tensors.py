"""The host's time of products with PyTorch's tensors, of a matrix so small that hardly anything else takes time.

python bench/tensors.py                    # bench/results/tensors.json
python bench/tensors.py --device cuda      # queued there; the wait at the end does not count
python bench/tensors.py --quick            # few calls

100 x 100 with 5 entries a row, float32, 16 columns; 100 calls in a row, of which the mean counts. `forward`: X has no
gradient; `forward grad`: it has; `backward`: with the backward pass; `values` and `sddmm`: the same for learned values
and for the sampled product. `penstock operator` is the operator of torch.library, which compiled programs call. The
rival is `torch.sparse.mm`, where PyTorch has the same.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import harness
from lib.report import Report, add_options, show_table

import penstock as ps

try:
    import torch
except ImportError:  # told once the arguments have been read
    torch = None

COLUMNS, CALLS, QUICK = 16, 100, 3
Run = Callable[[], Any]  # a tensor


def waits(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def contestant(name: str, role: str, run: Run, device: str, calls: int) -> harness.Contestant:
    def seconds() -> float:
        run()
        waits(device)
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        spent = time.perf_counter() - begin
        waits(device)
        return spent / calls

    return harness.Contestant(
        name, run, role=role, result=lambda y: y.detach().cpu().numpy(), timed=seconds
    )


def ways(device: str) -> dict[str, tuple[np.ndarray, dict[str, Run]]]:
    """For each case what is right, and who computes it how."""
    host = ps.generate.uniform(100, nnz_per_row=5, seed=4).astype("float32")
    theirs = host.to_torch().to(device)
    a = host if device == "cpu" else host.to(ps.device(torch.device(device).index or 0))
    draw = torch.Generator().manual_seed(1)
    x, g = (torch.randn(100, COLUMNS, generator=draw).to(device) for _ in range(2))
    v = torch.randn(host.nnz, generator=draw).to(device)
    xg, vg = x.clone().requires_grad_(), v.clone().requires_grad_()
    ps.torch.matmul(a, x)  # registers the operators
    where, ops = (a._number, *a.shape, a.nnz), torch.ops.penstock

    def ours(x: torch.Tensor, values: Any = None) -> torch.Tensor:
        return ps.torch.matmul(a, x, values)

    def operator(x: torch.Tensor, values: Any = None) -> torch.Tensor:
        return ops.matmul(x, values, *where, "float32", False, False, "")

    def rival(x: torch.Tensor) -> torch.Tensor:
        return torch.sparse.mm(theirs, x)

    def gradient(of: torch.Tensor, f: Run, g: torch.Tensor) -> Run:
        def run() -> torch.Tensor:
            of.grad = None
            f().backward(g)
            assert of.grad is not None
            return of.grad

        return run

    dense, h = host.toarray(), g.cpu().numpy()
    rows = np.repeat(np.arange(100), np.diff(host.indptr))
    sampled = (
        dense @ x.cpu().numpy(),
        dense.T @ h,
        (h[rows] * x.cpu().numpy()[host.indices]).sum(1),
    )
    weights = ps.csr_array((v.cpu().numpy(), host.indices, host.indptr), shape=host.shape)
    of_sampled = weights.toarray() @ x.cpu().numpy()
    return {
        "forward": (
            sampled[0],
            {
                "penstock": lambda: ours(x),
                "penstock operator": lambda: operator(x),
                "torch.sparse": lambda: rival(x),
            },
        ),
        "forward grad": (
            sampled[0],
            {
                "penstock": lambda: ours(xg),
                "penstock operator": lambda: operator(xg),
                "torch.sparse": lambda: rival(xg),
            },
        ),
        "backward": (
            sampled[1],
            {
                "penstock": gradient(xg, lambda: ours(xg), g),
                "penstock operator": gradient(xg, lambda: operator(xg), g),
                "torch.sparse": gradient(xg, lambda: rival(xg), g),
            },
        ),
        "values": (
            sampled[2],
            {
                "penstock": gradient(vg, lambda: ours(x, vg), g),
                "penstock operator": gradient(vg, lambda: operator(x, vg), g),
            },
        ),
        "sddmm": (
            of_sampled,
            {
                "penstock": gradient(xg, lambda: ps.torch.sddmm(a, xg, x), v),
                "penstock operator": gradient(xg, lambda: ops.sddmm(xg, x, *where), v),
            },
        ),
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="of the tensors: cpu, cuda or cuda:n")
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    if torch is None:
        raise SystemExit("PyTorch is not installed: pip install torch")
    threads = args.threads or 1  # of so small a product
    ps.set_num_threads(threads)
    torch.set_num_threads(threads)
    try:
        settings = harness.Settings(args.repeats, args.turn_seconds)
    except ValueError as e:
        parser.error(str(e))
    report = Report("tensors", args, vars(settings), threads)
    rows = []
    for name, (right, who) in ways(args.device).items():

        def error(y: np.ndarray, right: np.ndarray = right) -> float:
            return float(np.abs(y - right).max() / (1e-5 * np.abs(right).max()))

        case = harness.Case(name, check=error, about={"device": args.device, "columns": COLUMNS})
        calls = QUICK if args.quick else CALLS
        everybody = [
            contestant(way, "rival" if way == "torch.sparse" else "ours", run, args.device, calls)
            for way, run in who.items()
        ]
        entry = harness.measure(case, everybody, settings)
        report.add(entry)
        found = {
            way: f"{1e6 * r['median']:.1f}" for way, r in entry["results"].items() if "median" in r
        }
        rows.append(
            [
                name,
                *(found.get(way, "-") for way in ("penstock", "penstock operator", "torch.sparse")),
            ]
        )
    report.write()
    header = ["case", "ours us", "operator us", "torch.sparse us"]
    show_table(f"Host time of a call, tensors on {args.device}: medians", header, rows)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
