"""The options of bench/buono2017.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from lib.paper_runs import numbers, words
from lib.report import file_options

from penstock import _core

PARTS = ("transfers", "model", "suite", "profile", "scaling", "codec", "resident", "incore")


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = words(("pattern", "float64"))
    parser.add_argument("--parts", type=words(PARTS), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--scales", type=numbers, help="of R-MAT (25,26)")
    parser.add_argument(
        "--bter", type=numbers, help="scales of BTER, where affordable (the least of --scales)"
    )
    parser.add_argument("--incore", type=numbers, help="scales of R-MAT for incore (22 to 26)")
    parser.add_argument(
        "--values", type=kinds, default=["pattern", "float64"], help="pattern,float64"
    )
    parser.add_argument(
        "--cpu", type=kinds, default=["float64"], help="values for blocking and binning"
    )
    parser.add_argument(
        "--gpus", type=numbers, help="counts of GPUs (1, 2, 4, 8 of those there are)"
    )
    parser.add_argument("--repeats", type=int, default=7, help="turns of each; the median counts")
    parser.add_argument(
        "--minutes", type=float, default=8.0, help="fewer turns, then fewer parts, to keep to it"
    )
    parser.add_argument(
        "--folder", type=Path, help="of real graphs, in any format that penstock reads"
    )
    file_options(parser, "buono2017")
    parser.add_argument("--plots", type=Path, help="folder for the figures")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes: tests that it runs, measures nothing"
    )
    return parser  # fmt: skip


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace) -> bool:
    """Fills in what depends on the machine; whether the host is the device."""
    present = _core.device_count()
    small = args.quick or present == 0
    args.scales = args.scales or ([12, 13] if small else [25, 26])
    args.incore = (
        args.incore if args.incore is not None else ([12] if small else [22, 23, 24, 25, 26])
    )
    args.bter = args.bter if args.bter is not None else [min(args.scales)]
    args.gpus = args.gpus or ([1, 2] if present == 0 else [n for n in (1, 2, 4, 8) if n <= present])
    if present and max(args.gpus) > present:
        parser.error(f"--gpus {max(args.gpus)}: {present} GPUs are usable here")
    if min(args.gpus) < 1 or args.repeats < 1 or not args.minutes > 0:
        parser.error("--gpus, --repeats and --minutes are positive")
    if any(not 1 <= scale <= 30 for scale in [*args.scales, *args.bter, *args.incore]):
        parser.error("scales are 1 to 30")
    if args.folder and not args.folder.is_dir():
        parser.error(f"--folder {args.folder}: no such folder")
    return present == 0
