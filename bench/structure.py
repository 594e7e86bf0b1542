"""Searches of graphs with structure: random lifts of a web, social, bipartite, road, version-history and mesh graph.

python bench/structure.py                                    # about 1 G entries each on a GPU, 20 M on the CPU
python bench/structure.py --graphs web,road --copies 300
python bench/structure.py --graphs my.mtx,rmat25 --edges 1e9 --gap ../gapbs --emogi ../EMOGI --temporary /scratch
python bench/structure.py --graphs web,social --denser 16 --edges 2.6e9 --algorithms bfs
python bench/structure.py --graphs web,social --gpus 0,1 --share 0.1 # two GPUs beside one
python bench/structure.py --graphs geo412000 --copies 54             # a random geometric graph, of many levels
python bench/structure.py --device cpu --edges 2e8
python bench/structure.py --quick                            # toy sizes: tests that it runs

Breadth-first search from 12 random roots, components, and shortest paths with weights 8 to 72. Edges are in pinned
memory; within the budget the GPU may hold 32 bytes a vertex, 64 MB and a quarter (--share) of the edges' bytes; in core
it may hold all. Within the budget: what the library chooses (default), packed lists, lists as they are (ours), and the
paper's method (bench/emogi2020.py); with --gpus the first three once more, on these GPUs together. Beside them ours on
the CPU and, up to 2e8 entries, networkit or SciPy. All take turns, a root for everybody; medians and the worst root are
kept, and results compared exactly.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from lib.paper_runs import probe, words
from lib.paper_tables import show as show_all
from lib.report import Report, file_options
from studies.buono2017.matrices import Unfit
from studies.emogi2020.runs import Run
from studies.structure import goals, graphs, parts, several

import penstock as ps
from penstock import _core

ALGORITHMS = tuple(parts.ALGORITHM_NAMES)
RIVALS = ("networkit", "scipy")
_EDGES = {"gpu": 1e9, "cpu": 2e7, "quick": 2000.0}  # where neither --edges nor --copies is given


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", help=f"kinds, files, rmatN or geoN ({','.join(graphs.KINDS)})")
    parser.add_argument("--algorithms", type=words(ALGORITHMS), default=list(ALGORITHMS))
    parser.add_argument("--rivals", type=words(RIVALS), default=list(RIVALS),
                        help="libraries: the first that is installed (networkit,scipy)")  # fmt: skip
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--copies", type=int, help="of each graph")
    size.add_argument("--edges", type=float, help="entries of each lift, at least (1e9; 2e7 on a CPU)")  # fmt: skip
    parser.add_argument("--mix", type=float, default=0.05, help="edges between copies (0.05)")
    parser.add_argument("--denser", type=int, metavar="DEGREE",
                        help="products with a random graph of this even degree instead of lifts")  # fmt: skip
    parser.add_argument("--sources", type=int, default=12, help="random roots (12)")
    parser.add_argument("--share", type=float, default=0.25,
                        help="of the edges' bytes that the GPU may keep beside the vertices' arrays")  # fmt: skip
    parser.add_argument("--counted", type=int, default=2, help="searches whose reads are counted")
    parser.add_argument("--verify", type=int, default=1, help="searches verified edge by edge")
    parser.add_argument("--device", help='number of a GPU, or "cpu" (0 where there is one)')
    parser.add_argument("--minutes", type=float, default=9.0, help="fewer roots to keep to it (9)")
    parser.add_argument("--emogi", type=Path, help="where EMOGI's programs are built")
    parser.add_argument("--gap", type=Path, help="where GAP's programs are built")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--programs-only", action="store_true",
                        help="few of our ways, 4 roots: the time is for --emogi and --gap")  # fmt: skip
    beside.add_argument("--gpus", type=gpu_numbers, default=[], metavar="0,1,...",
                        help="bfs and cc on these GPUs together, too, the lists divided")  # fmt: skip
    parser.add_argument("--temporary", type=Path, help="where graphs are written for these programs")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="toy sizes: tests that it runs")
    file_options(parser, "structure")
    return parser


def gpu_numbers(text: str) -> list[int]:
    """
    >>> gpu_numbers("0,1")
    [0, 1]
    """
    found = text.split(",")
    if len(found) < 2 or len({*found}) < len(found) or not all(n.isdecimal() for n in found):
        raise argparse.ArgumentTypeError(f"{text}: give the numbers of two GPUs or more, as 0,1")
    return [int(n) for n in found]


def settle(parser: argparse.ArgumentParser, args: argparse.Namespace) -> bool:
    """Fills in what depends on the machine; whether all runs on the CPU."""
    present = _core.device_count()
    if any(gpu >= present for gpu in args.gpus):
        told = ",".join(map(str, args.gpus))
        parser.error(
            f"--gpus {told}: {present} GPUs are usable here; give their numbers, or leave it out"
        )
    first = args.gpus[0] if args.gpus else 0
    device = args.device if args.device is not None else str(first) if present else "cpu"
    on_host = device == "cpu"
    if not on_host and not (device.isdigit() and int(device) < present):
        parser.error(f"--device {device}: {present} GPUs are usable here; give a number, or cpu")
    args.gpu = 0 if on_host else int(device)
    if args.gpus and (on_host or args.gpu not in args.gpus):
        parser.error(f"--device {device}: with --gpus give one of them, or leave it out")
    if args.gpus and not set(args.algorithms) & set(several.SEARCHED):
        parser.error(
            f"--gpus: several GPUs do {' and '.join(several.SEARCHED)}; add one to --algorithms"
        )
    if args.programs_only and not (args.emogi or args.gap):
        parser.error("--programs-only: give --emogi or --gap, the folders of the programs")
    known = graphs.choices(args.quick)
    args.graphs = args.graphs.split(",") if args.graphs else known
    if not args.graphs:
        parser.error("the data folder is not here: set PENSTOCK_DATA, or give --graphs")
    if args.copies is None and args.edges is None:
        args.edges = _EDGES["quick" if args.quick else "cpu" if on_host else "gpu"]
    size = args.edges if args.copies is None else args.copies
    if min(args.sources, args.verify) < 1 or not size > 0:
        parser.error("--sources, --verify, --copies and --edges are positive")
    if not (args.minutes > 0 and args.share >= 0 and 0 <= args.mix <= 1 and args.counted >= 0):
        parser.error("--minutes is positive, --share and --counted not negative, --mix 0 to 1")
    if args.denser is not None and (args.denser < 2 or args.denser % 2):
        parser.error(f"--denser {args.denser}: give an even number, at least 2")
    for name in ("emogi", "gap", "temporary"):
        path = getattr(args, name)
        if path and not path.is_dir():
            parser.error(f"--{name} {path}: no such folder")
    return on_host


def go(run: Run) -> int:
    """Every graph with every algorithm, each within its share of the time. Returns how many broke."""
    faults = 0
    run.weight_left = float(len(run.args.graphs) * len(run.args.algorithms))
    for name in run.args.graphs:
        gpu = None if run.on_host else run.args.gpu
        try:
            a = graphs.base(name, run.args.quick)
            size = run.args.copies, run.args.edges or 0
            if run.args.denser:
                source = graphs.product(name, a, *size, run.args.denser)
            else:
                source = graphs.lifted(name, a, *size, run.args.mix, gpu)
        except (Unfit, ValueError, OSError, ImportError, NotImplementedError) as e:
            run.report.skip(Path(name).name, str(e))
            run.weight_left -= len(run.args.algorithms)
            faults += 1
            continue
        for algorithm in run.args.algorithms:
            share = run.share(1.0)
            run.weight_left -= 1
            if run.memory_for(source.name, 2.2 * source.size):
                work = partial(parts.search, run, algorithm, source, share)
                faults += run.step(algorithm, f"{algorithm} {source.name}", work)
        run.shelf.clear()
    return faults


def main() -> int:
    parser = options()
    args = parser.parse_args()
    on_host, begin = settle(parser, args), time.monotonic()
    settings = {name: getattr(args, name) for name in (
        "graphs", "algorithms", "copies", "edges", "mix", "denser", "sources", "share", "counted", "verify", "minutes",
        "gpus", "programs_only",
    )} | {"on_host": on_host}  # fmt: skip
    settings["graphs"] = [Path(name).name for name in args.graphs]
    report = Report("structure", args, settings, ps.num_threads())
    report.data |= {"probe": probe(on_host, fresh=False), "part_seconds": {}, "load": os.getloadavg()[0]}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="penstock-", dir=args.temporary) as folder:
        run = Run(args, report, on_host, begin + 60 * args.minutes, temporary=Path(folder))
        faults = go(run)
    report.data["seconds"] = time.monotonic() - begin
    report.data["targets"] = goals.targets(report.data, parts.ALGORITHM_NAMES) + several.targets(
        report.data
    )
    report.write()
    show_all(report.data, parts.tables(report.data))
    return int(report.failed() or faults > 0 or not report.data["cases"])


if __name__ == "__main__":
    sys.exit(main())
