"""Triangles on one GPU: lifts of real graphs and R-MAT, ours against published programs.

python bench/triangles_gpu.py                                # bench/results/triangles_gpu.json
python bench/triangles_gpu.py --rivals ../grouptc,../trust --temporary /scratch
python bench/triangles_gpu.py --graphs soc-Slashdot0902.npz,rmat20 --edges 5e7
python bench/triangles_gpu.py --quick                        # toy graphs: tests that it runs

A file stands for its random lift of about --edges entries (5 % of the edges go to other copies), made symmetric,
without self loops. `count` is a later call, edges oriented; `first` a call for a graph that the GPU has never seen, and
`first_here` for one whose entries are in its memory: both orient. All are whole calls by the host's clock.
--rivals are programs (rivals/programs.py) that print a line NAME count N kernel_ms T for each method: the time of the
kernels alone, preprocessing aside.
All counts must be equal; small graphs are counted by SciPy, too.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from penstock.csgraph._graph import simple
from rivals import programs

import penstock as ps
from penstock import _core

DEFAULT = "soc-Slashdot0902,fb-Cornell5,cnr-2000,rmat22"
TOY = "rmat8"
COUNTED = 300_000  # entries of graphs that SciPy counts


def graph_of(name: str, args: argparse.Namespace) -> ps.csr_array:
    """A simple, symmetric pattern."""
    if name.startswith("rmat"):
        return simple(ps.generate.rmat(int(name[4:]), seed=1))
    a = ps.load(matrices.data_files().get(name, Path(name)))
    base = simple(ps.csr_array(a.to_scipy().astype(bool)))
    copies = max(1, round(args.edges / base.nnz))
    return simple(ps.generate.lift(base, copies, mix=0.05, seed=1))


def fresh(a: ps.csr_array) -> ps.csr_array:
    """The same arrays, of which nothing is known."""
    return ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, None)


def by_scipy(a: ps.csr_array) -> int:
    below = ps.tril(a, -1).to_scipy().astype(np.int64)
    return int((below @ below).multiply(below).sum())


def run_case(
    name: str, args: argparse.Namespace, settings: harness.Settings, report: Report
) -> None:
    a = graph_of(name, args)
    kept = fresh(a)
    with ps.record() as events:
        total = ps.csgraph.triangle_count(kept, device=args.gpu)
    oriented = events[-1]["oriented"]
    expected = by_scipy(a) if a.nnz <= COUNTED else total
    here: list[ps.csr_array] = []

    def count(graph: ps.csr_array) -> int:
        return ps.csgraph.triangle_count(graph, device=args.gpu)

    def place() -> None:
        here[:] = [fresh(a).to(ps.device(args.gpu))]

    case = harness.Case(
        name,
        lambda found: 0.0 if found == expected else float("nan"),
        work=float(a.nnz) / 2,
        rate="gedges_per_s",
        about={"rows": a.shape[0], "nnz": a.nnz, "triangles": total,
               "renumbered": oriented["renumbered"], "incoming": oriented["incoming"]},
    )  # fmt: skip
    everybody = [
        harness.Contestant("count", lambda: count(kept), "ours"),
        harness.Contestant("first", lambda: count(fresh(a)), "probe"),
        harness.Contestant("first_here", lambda: count(here[0]), "probe", before=place),
    ]
    entry = harness.measure(case, everybody, settings)
    for program in args.rivals:
        for told in programs.run(program, a, None, ("count", "kernel_ms"), args.temporary):
            entry["results"][told.name] = programs.entry(told, expected)
    programs.settle(entry, ["count"])
    report.add(entry)


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        results: dict[str, Any] = case["results"]
        cells = [f"{case['case']} ({case['nnz'] / 1e6:.0f} M)"]
        for who in ("count", "first", "first_here"):
            cells.append(f"{results[who]['median'] * 1e3:.2f}" if "median" in results[who] else "-")
        best = case.get("best_rival")
        cells.append(f"{best} {results[best]['median'] * 1e3:.2f}" if best else "-")
        cells.append(f"{case['ratios']['count']:.2f}" if best else "-")
        rows.append(cells)
    show_table(
        "Triangles on one GPU, ms", ["graph", "count", "first call", "on the GPU", "best rival", "ratio"], rows
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--graphs", help=f"files of graphs, names in the data folder, or rmatN ({DEFAULT})"
    )
    parser.add_argument("--edges", type=float, default=2e8, help="entries of a lift, about (2e8)")
    parser.add_argument("--rivals", type=programs.existing, default=[], help="programs, see above")
    parser.add_argument("--temporary", type=Path, help="where graphs are written for them")
    parser.add_argument("--gpu", type=int, default=0)
    add_options(parser, turn_seconds=0.05)
    args = parser.parse_args()
    if _core.device_count() == 0:
        raise SystemExit(
            "no GPU can be used here; penstock.show_config() and nvidia-smi may tell why"
        )
    threads = args.threads or len(os.sched_getaffinity(0))
    settings = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False)
    report = Report("triangles_gpu", args, vars(settings), threads)
    for name in (args.graphs or (TOY if args.quick else DEFAULT)).split(","):
        run_case(name, args, settings, report)
    report.write()
    table(report)
    return 1 if report.failed() else 0


if __name__ == "__main__":
    raise SystemExit(main())
