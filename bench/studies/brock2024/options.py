"""The options of bench/brock2024.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from lib.paper_runs import numbers, words
from lib.report import file_options

from studies.brock2024.gpu_suite import NAMES as GPU_MATRICES
from studies.brock2024.paper import TABLE_1

PARTS = ("balance", "spmm", "spgemm", "oracle", "roofline", "gpus")
MEASURED = ("c", "a", "b", "summa", "c+random", "a+random", "c+locality", "a+locality")
_FEW = (
    "ldoor",
    "reddit",
    "com-Orkut",
    "isolates_subgraph4",
)  # what is measured unless --matrices says more


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=words(PARTS), default=list(PARTS), help=",".join(PARTS))
    parser.add_argument(
        "--matrices", type=words(tuple(TABLE_1)), help="some of the paper's 11 (all)"
    )
    parser.add_argument(
        "--measured",
        type=words(tuple(TABLE_1)),
        default=list(_FEW),
        help="those that are multiplied",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="of the paper's matrices, by name, in any format; missing ones get stand-ins",
    )
    parser.add_argument("--entries", type=int, help="of a stand-in (2,000,000; --quick: 20,000)")
    parser.add_argument("--columns", type=numbers, help="of B (32,128,512; --quick: 8)")
    parser.add_argument(
        "--ranks", type=numbers, help="of measured rows (1,2,4,8,... up to twice the CPUs)"
    )
    parser.add_argument(
        "--algorithms", type=words(MEASURED), default=list(MEASURED), help=",".join(MEASURED)
    )
    parser.add_argument(
        "--gpus",
        type=numbers,
        help="of the part gpus (1,2,4,8, as many as there are); where there is none, the CPU stands for each of them",
    )
    parser.add_argument(
        "--gpu-matrices",
        type=words(GPU_MATRICES),
        default=list(GPU_MATRICES),
        help=",".join(GPU_MATRICES),
    )
    parser.add_argument("--repeats", type=int, default=7, help="turns of each; the median counts")
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="rows are left out to keep to it"
    )
    file_options(parser, "brock2024")
    parser.add_argument("--plots", type=Path, help="folder for the figures")
    parser.add_argument(
        "--quick", action="store_true", help="toy sizes: tests that it runs, measures nothing"
    )
    return parser


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace, cpus: int, gpus: int) -> None:
    """Fills in what depends on the machine."""
    few = ["ldoor", "reddit", "com-Orkut"] if args.quick else list(TABLE_1)
    args.matrices = [name for name in TABLE_1 if name in (args.matrices or few)]
    args.entries = args.entries or (20_000 if args.quick else 2_000_000)
    args.columns = args.columns or ([8] if args.quick else [32, 128, 512])
    args.ranks = sorted(set(args.ranks or [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= 2 * cpus]))
    args.gpus = sorted(set(args.gpus or [n for n in (1, 2, 4, 8) if n <= gpus]))
    bad = (
        min(*args.ranks, *args.gpus, *args.columns, args.repeats, args.entries) < 1
        or not args.minutes > 0
    )
    if bad:
        parser.error("--ranks, --gpus, --columns, --entries, --repeats and --minutes are positive")
    if args.folder and not args.folder.is_dir():
        parser.error(f"--folder {args.folder}: no such folder")
