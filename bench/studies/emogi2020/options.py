"""The options of bench/emogi2020.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from lib.paper_runs import numbers, words
from lib.report import file_options

from penstock import _core
from studies.emogi2020.paper import SOURCES

PARTS = ("toy", "bfs", "cold", "cc", "sssp", "gpus", "pagerank", "road")


def lifts(text: str) -> list[tuple[str, int]]:
    """
    >>> lifts("web*200,a.mtx*3")
    [('web', 200), ('a.mtx', 3)]
    """
    found = []
    for word in text.split(","):
        name, _, copies = word.rpartition("*")
        if not (name and copies.isdigit() and int(copies) > 0):
            raise argparse.ArgumentTypeError(f"{word}: say how many copies, as web*200")
        found.append((name, int(copies)))
    return found


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=words(PARTS), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument("--scales", type=numbers, help="of the Kronecker (R-MAT) graphs (25,27)")
    parser.add_argument("--uniform", type=numbers, help="scales of the uniform graphs (26)")
    parser.add_argument("--weighted", type=numbers, help="scales of those with SSSP (25, 26)")
    parser.add_argument("--lifts", type=lifts, default=[], metavar="NAME*COPIES,...",
                        help="of graphs as bench/structure.py names them, or of files")  # fmt: skip
    parser.add_argument("--road", type=int, help="edge of the road-like grid (4096)")
    parser.add_argument("--sources", type=int, default=SOURCES, help="of the searches (64)")
    parser.add_argument(
        "--counted", type=int, default=4, help="searches whose requests are counted"
    )
    parser.add_argument(
        "--verify", type=int, default=2, help="searches verified edge by edge; all are compared"
    )
    parser.add_argument("--share", type=float, default=0.25,
                        help="of the edges' bytes that the GPU may keep beside the vertices' arrays")  # fmt: skip
    parser.add_argument("--every-way-to", type=int, default=30, metavar="SCALE",
                        help="larger graphs: the baseline, ours, in core and the CPU alone")  # fmt: skip
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--gpus", type=numbers, help="how many, for the part gpus (1 and all)")
    parser.add_argument("--minutes", type=float, default=9.0,
                        help="fewer sources, then fewer parts, to keep to it")  # fmt: skip
    parser.add_argument(
        "--folder", type=Path, help="of real graphs, in any format that penstock reads"
    )
    parser.add_argument(
        "--emogi", type=Path, help="where EMOGI's programs are built: adds their columns"
    )
    parser.add_argument(
        "--gap", type=Path, help="where GAP's programs are built: adds their columns"
    )
    parser.add_argument(
        "--temporary", type=Path, help="where graphs are written for these programs"
    )
    file_options(parser, "emogi2020")
    parser.add_argument("--plots", type=Path, help="folder for the figures")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes: tests that it runs, measures nothing"
    )
    return parser


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace) -> bool:
    """Fills in what depends on the machine; whether there is no GPU."""
    present = _core.device_count()
    small = args.quick or present == 0

    def default(given: list[int] | None, toy: list[int], full: list[int]) -> list[int]:
        return given if given is not None else toy if small else full

    args.scales = default(args.scales, [12], [25, 27])
    args.uniform = default(args.uniform, [12], [26])
    args.weighted = default(args.weighted, [12], [25, 26])
    args.road = (64 if small else 4096) if args.road is None else args.road
    if any(not 1 <= scale <= 30 for scale in [*args.scales, *args.uniform, *args.weighted]):
        parser.error("scales are 1 to 30")
    if min(args.sources, args.road) < 1 or not args.minutes > 0 or not args.share >= 0:
        parser.error("--sources, --road and --minutes are positive, --share is not negative")
    if args.verify < 1 or args.counted < 0:
        parser.error("--verify is positive, --counted not negative")
    if present and not 0 <= args.gpu < present:
        parser.error(f"--gpu {args.gpu}: {present} GPUs are usable here")
    everyone = sorted({1, present}) if present else [1]
    args.gpus = sorted(set(args.gpus)) if args.gpus else everyone
    if args.gpus[0] < 1 or args.gpus[-1] > max(present, 1):
        parser.error(f"--gpus {','.join(map(str, args.gpus))}: {present} GPUs are usable here")
    if args.emogi and args.gpu:
        parser.error(f"--gpu {args.gpu}: EMOGI's programs run on GPU 0 alone")
    for name in ("folder", "emogi", "gap", "temporary"):
        path = getattr(args, name)
        if path and not path.is_dir():
            parser.error(f"--{name} {path}: no such folder")
    return present == 0
