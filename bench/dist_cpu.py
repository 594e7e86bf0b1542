"""Matrices that ranks share out, on the CPUs of one host: penstock against PETSc with as many ranks (A x, CG, and A A
of the Laplacian of half the edge), layouts against the naive one, and the memory of each rank over its share.

    python bench/dist_cpu.py --petsc-python /usr/bin/python3       # bench/results/dist_cpu.json, about 15 minutes
    python bench/dist_cpu.py --parts layouts --layout-ranks 64     # on a host with as many cores
    python bench/dist_cpu.py --quick                               # toy inputs

Needs an MPI for `penstock run` in this Python's environment (pip install 'penstock-sparse[mpi]'). PETSc runs
under its own mpirun, in the Python that has petsc4py. All have the same rows on each rank, and the slowest rank counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lib import harness, matrices
from lib.paper_runs import numbers, words
from lib.report import Report, add_options
from studies.dist_cpu import layouts, parts
from studies.dist_cpu.tables import show, targets

import penstock as ps

PARTS = ("spmv", "cg", "spgemm", "layouts", "memory")
SPMV = ("cnr-2000", "bcsstk32", "G2_circuit")
CG = ("G2_circuit", "bodyy5", "t2dah_e")  # those that CG solves with Jacobi
SPGEMM = ("cnr-2000", "bcsstk32", "G2_circuit")


def inputs(args: argparse.Namespace, report: Report, names: list[str]) -> Iterator[tuple[str, Any]]:
    """(name, SciPy CSR) of the Laplacian and of files in the folder."""
    edge = 12 if args.quick else args.size // (2 if names is args.spgemm else 1)
    yield f"laplacian{edge}", matrices.with_values(ps.generate.laplacian((edge, edge, edge)))
    if args.quick:
        return
    files = matrices.data_files()
    for name in names:
        if name in files:
            yield name, matrices.with_values(ps.load(files[name]))
        else:
            report.skip(name, "not in the folder: set --folder or PENSTOCK_DATA")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    say = parser.add_argument
    say("--parts", type=words(PARTS), default=list(PARTS), help=", ".join(PARTS))
    say("--folder", type=Path, help="of matrix files; PENSTOCK_DATA where it is not given")
    say("--spmv", type=lambda t: t.split(","), default=list(SPMV), help="files that are multiplied")
    say("--cg", type=lambda t: t.split(","), default=list(CG), help="files that CG solves")
    say(
        "--spgemm", type=lambda t: t.split(","), default=list(SPGEMM), help="files that are squared"
    )
    say("--ranks", type=int, default=2)
    say("--spgemm-ranks", type=int, default=4)
    say("--size", type=int, default=128, help="edge of the 3-D Laplacian")
    say("--rtol", type=float, default=1e-8)
    say("--maxiter", type=int, default=6000)
    say("--petsc-python", help="a Python that has petsc4py; PETSc is left out without")
    say("--scale", type=int, default=20, help="of the R-MAT graph of the layouts")
    say("--layout-ranks", type=int, default=16)
    say("--layout-comm", choices=("threads", "mpi"), default="threads")
    say("--memory-scales", type=numbers, default=[20, 22], help="R-MAT, files of the least alone")
    add_options(parser, turn_seconds=0.3)
    return parser


def main() -> int:
    parser = options()
    args = parser.parse_args()
    if args.folder:
        os.environ["PENSTOCK_DATA"] = str(args.folder)
    if min(args.ranks, args.layout_ranks, args.spgemm_ranks) < 1 or not args.memory_scales:
        parser.error("give at least one rank and one scale")
    turn = 0.0 if args.quick else args.turn_seconds
    try:
        settings = harness.Settings(args.repeats, turn, warm_turns=False)
    except ValueError as e:
        parser.error(str(e))
    begin = time.monotonic()
    about = {**vars(settings), "parts": args.parts, "ranks": args.ranks, "rtol": args.rtol}
    report = Report("dist_cpu", args, about, args.ranks)
    report.data |= {"part_seconds": {}, "load": os.getloadavg()[0]}
    for part in args.parts:
        started = time.monotonic()
        if part in ("spmv", "cg", "spgemm"):
            for name, csr in inputs(args, report, getattr(args, part)):
                getattr(parts, part)(args, report, settings, name, csr)
        elif part == "layouts":
            layouts.layouts(args, report, settings)
        else:
            layouts.memory(args, report)
        report.data["part_seconds"][part] = time.monotonic() - started
    report.data["targets"] = targets(report.data)
    report.data["seconds"] = time.monotonic() - begin
    report.write()
    show(report.data)
    return int(report.failed() or not report.data["cases"])


if __name__ == "__main__":
    raise SystemExit(main())
