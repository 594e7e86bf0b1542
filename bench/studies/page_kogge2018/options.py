"""The options of bench/page_kogge2018.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from lib.paper_runs import numbers, words
from lib.report import file_options

from studies.page_kogge2018.paper import RANKS, TABLE_1

PARTS = ("mad", "threads", "ranks", "mpi", "shaped", "oracle")


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=words(PARTS), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument(
        "--matrices",
        type=words(tuple(TABLE_1)),
        help="some of the paper's 25 (all; four where --quick)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="of the paper's matrices, by name, in any format; missing ones get stand-ins",
    )
    parser.add_argument(
        "--shrink", type=int, help="rows of a stand-in are the paper's over this (8; --quick: 256)"
    )
    parser.add_argument(
        "--ranks", type=numbers, help="of measured rows (1,2,4,8 up to twice the CPUs)"
    )
    parser.add_argument(
        "--network",
        default="fdr-infiniband",
        help="that the part oracle prices; a preset or a measured file",
    )
    parser.add_argument("--repeats", type=int, default=15, help="turns of each; the median counts")
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="matrices are left out to keep to it"
    )
    file_options(parser, "page_kogge2018")
    parser.add_argument("--plots", type=Path, help="folder for the figures")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes: tests that it runs, measures nothing"
    )
    return parser


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace, cpus: int) -> None:
    """Fills in what depends on the machine."""
    few = ["atmosmodd", "rajat30", "consph", "human_gene1"]
    args.matrices = args.matrices or (few if args.quick else list(TABLE_1))
    args.matrices = [name for name in TABLE_1 if name in args.matrices]
    args.shrink = args.shrink or (256 if args.quick else 8)
    args.ranks = sorted(set(args.ranks or [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= 2 * cpus]))
    args.oracle_ranks = list(RANKS)
    if min(args.ranks) < 1 or args.repeats < 1 or args.shrink < 1 or not args.minutes > 0:
        parser.error("--ranks, --repeats, --shrink and --minutes are positive")
    if args.folder and not args.folder.is_dir():
        parser.error(f"--folder {args.folder}: no such folder")
