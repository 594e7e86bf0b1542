"""What the benchmarks of products on a GPU share: options, contestants timed by the GPU's clock, tables."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lib import harness, matrices_gpu
from lib.report import Report, add_options, show_table
from penstock import _core


def parse(doc: str, configure: Callable[[argparse.ArgumentParser], None]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--matrices",
        help=f'names as in "{matrices_gpu.DEFAULT}" (that list), or files; "" for none',
    )
    parser.add_argument("--data", type=Path, help="a folder: all its *.mtx and *.penstock too")
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--inner", type=int, default=3, help="runs of a turn; their median counts")
    configure(parser)
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    if _core.device_count() == 0:
        raise SystemExit(
            "no GPU can be used here; penstock.show_config() and nvidia-smi may tell why"
        )
    if args.matrices is None:
        args.matrices = matrices_gpu.TOY if args.quick else matrices_gpu.DEFAULT
    if args.inner < 1:
        parser.error(f"--inner {args.inner}: give at least 1")
    return args


def start(name: str, args: argparse.Namespace) -> tuple[Report, harness.Settings]:
    settings = harness.Settings(args.repeats, 0.0)
    report = Report(name, args, {**vars(settings), "inner": args.inner}, args.threads)
    return report, settings


def timed(
    name: str, role: str, call: Callable[[int], tuple[list[float], np.ndarray]], inner: int
) -> harness.Contestant:
    """`call(repeats)` gives the seconds of each kernel call and the product."""
    return harness.Contestant(
        name,
        run=lambda: call(1)[1],
        role=role,
        timed=lambda: statistics.median(call(inner)[0]),
    )


def device_copy(traffic: float, args: argparse.Namespace) -> harness.Contestant:
    """The yardstick: a copy on the device that reads and writes as many bytes as the product at least does."""
    size = max(int(traffic) // 2 // 4 * 4, 4)

    def seconds() -> float:
        return statistics.median(
            _core.time_copy_gpu(size, "device", "device", args.inner, args.gpu)
        )

    return harness.Contestant(
        "device copy", run=seconds, role="probe", timed=seconds, check=lambda _: 0.0
    )


def table(report: Report, title: str, ours: tuple[str, ...]) -> None:
    rows = []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        cells = [f"{case['case']} ({case['nnz'] / 1e6:.1f} M)"]
        for name in (*ours, best):
            r = results.get(name, {})
            cells.append(f"{r['gflops']:.0f}" if "gflops" in r else "-")
        first = results.get(ours[0], {})
        fraction = first.get("fraction_of_probe")
        cells += [best or "-", f"{fraction:.2f}" if fraction else "-"]
        cells += [f"{case['ratios'][name]:.2f}" if name in case["ratios"] else "-" for name in ours]
        rows.append(cells)
    means = []
    for name in ours:
        logs = [math.log(c["ratios"][name]) for c in report.data["cases"] if name in c["ratios"]]
        means.append(f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else "-")
    rows.append(["geometric mean", *[""] * (len(ours) + 3), *means])
    header = ["case (nonzeros)", *ours, "best rival", "who", "of copy"]
    show_table(title, [*header, *(f"ratio {name}" for name in ours)], rows)
