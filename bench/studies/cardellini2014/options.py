"""The options of bench/cardellini2014.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from lib.paper_runs import numbers, words
from lib.report import file_options

from penstock import _core
from studies.cardellini2014 import paper
from studies.cardellini2014.vectors import library

PARTS = ("kernel", "copies", "weak", "cg", "exchange", "throughput")


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    strategies = words((*paper.STRATEGIES, *paper.OURS, *(h.name for h in _core.halos())))
    parser.add_argument("--parts", type=words(PARTS), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--sizes", type=numbers, help="N of pdeN (160,240,320,400)")
    parser.add_argument("--weak", type=numbers, help="N of the pdeN on one GPU, for weak (160,254)")
    parser.add_argument(
        "--gpus", type=numbers, help="counts of GPUs, a rank each (1, 2, 4, 8 of those there are)"
    )
    parser.add_argument(
        "--strategies", type=strategies, help="those alone; all where it is not given"
    )
    parser.add_argument("--repeats", type=int, default=7, help="turns of each; the median counts")
    parser.add_argument(
        "--turn-seconds", type=float, default=0.02, help="least timed seconds a turn"
    )
    parser.add_argument(
        "--minutes", type=float, default=8.0, help="fewer turns, then fewer cases, to keep to it"
    )
    file_options(parser, "cardellini2014")
    parser.add_argument("--plots", type=Path, help="folder for the figures")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes: tests that it runs, measures nothing"
    )
    return parser


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace, most: int | None) -> bool:
    """Fills in what depends on the machine; whether the host is the device. `most`: ranks that there can be."""
    present = _core.device_count()
    small = args.quick or present == 0
    args.sizes = args.sizes or ([8, 12] if small else [160, 240, 320, 400])
    args.weak = args.weak or ([8] if small else [160, 254])
    limit = min(present or 8, most or 8)
    args.gpus = args.gpus or [n for n in ((1, 2, 4) if small else (1, 2, 4, 8)) if n <= limit]
    if present and max(args.gpus) > present:
        parser.error(f"--gpus {max(args.gpus)}: {present} GPUs are usable here")
    if most and max(args.gpus) > most:
        parser.error(f"--gpus {max(args.gpus)}: started with {most} ranks")
    if min(args.gpus) < 1 or args.repeats < 1 or not args.minutes > 0 or not args.turn_seconds >= 0:
        parser.error("--gpus, --repeats and --minutes are positive, --turn-seconds is not negative")
    if any(not 2 <= n <= 1000 for n in [*args.sizes, *args.weak]):
        parser.error("--sizes and --weak are 2 to 1000")
    if present and library() is None:
        parser.error("vectors on GPUs need CuPy or PyTorch: pip install cupy-cuda12x")
    return present == 0
