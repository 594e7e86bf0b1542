"""SpMM on the CPU, Y = A X with X dense: penstock against SciPy, MKL and SuiteSparse:GraphBLAS.

python bench/spmm_cpu.py                 # everything: bench/results/spmm_cpu.json
python bench/spmm_cpu.py --matrices rmat18 --columns 8,32 --dtypes float32 --orders C,F
python bench/spmm_cpu.py --quick         # toy inputs
"""

from __future__ import annotations

import argparse
import math
import os
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from rivals.spmm import MAKERS, Problem
from rivals.spmv import gather

MATRICES = (
    "rmat16,rmat18,uniform1M,laplacian128,bcsstk32,xenon1,G2_circuit,cnr-2000,web-NotreDame,"
    "soc-Slashdot0902,fb-Cornell5,gowalla-bipartite,road-moscow"
)
OPERATIONS = {"C": "A X", "F": "A X, by columns"}


def spmm_check(csr: Any, x: np.ndarray) -> Any:
    """Against SciPy in float64: three columns, and all columns at once as Y w = A (X w) for signs w.
    The bound is that of any order of summation, (n + 2) eps |A| |x| for n terms (Higham 2002,
    section 3.1), once for the contestant and once for the reference; of Y w, n + k terms."""
    import scipy.sparse as sp

    k = x.shape[1]
    a = sp.csr_array((csr.data.astype(np.float64), csr.indices, csr.indptr), shape=csr.shape)
    absolute = abs(a)
    terms, eps = np.diff(csr.indptr)[:, None], np.finfo(csr.dtype).eps
    signs = np.where(np.random.default_rng(7).random(k) < 0.5, -1.0, 1.0)
    some = sorted({0, k // 2, k - 1})

    def seen(m: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.column_stack([m[:, some].astype(np.float64), m @ w])

    size = np.zeros((csr.shape[1], len(some) + 1))
    size[:, :-1] = np.abs(x[:, some])
    for first in range(0, csr.shape[1], 1 << 16):  # without a second X
        rows = slice(first, first + (1 << 16))
        size[rows, -1] = np.abs(x[rows]).sum(1, dtype=np.float64)
    reference = a @ seen(x, signs)
    more = np.zeros(len(some) + 1)
    more[-1] = k
    bound = 2 * (terms + more + 2) * eps * (absolute @ size)

    def check(y: np.ndarray) -> float:
        if y.shape != (csr.shape[0], k) or y.dtype != csr.dtype:
            raise ValueError(f"result is {y.dtype}{y.shape}, not {csr.dtype}{(csr.shape[0], k)}")
        error = np.abs(seen(y, signs) - reference)
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = np.where(error == 0, 0.0, error / bound)  # NaN stays: wrong
        return float(np.max(excess, initial=0.0))

    return check


def run_case(
    name: str,
    csr: Any,
    columns: int,
    order: str,
    who: list[str],
    threads: int,
    settings: harness.Settings,
    report: Report,
) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((csr.shape[1], columns), dtype=csr.dtype)
    x = np.asarray(x, order=order)
    problem = Problem(csr, x, order, threads)
    contestants = gather(MAKERS, who, problem, OPERATIONS[order], report)
    width = csr.dtype.itemsize
    case = harness.Case(
        name=f"{name} {csr.dtype} {OPERATIONS[order]}, {columns} columns",
        check=spmm_check(csr, x),
        work=2.0 * csr.nnz * columns,
        traffic=csr.nnz * (4 + width) + 8 * (csr.shape[0] + 1) + width * columns * sum(csr.shape),
        about={"matrix": name, "dtype": str(csr.dtype), "operation": OPERATIONS[order],
               "columns": columns, "rows": csr.shape[0], "cols": csr.shape[1],
               "nnz": int(csr.nnz)},
    )  # fmt: skip
    entry = harness.measure(case, contestants, settings)
    report.add(entry)
    cells = [f"{key} {r['gflops']:.2f}" for key, r in entry["results"].items() if "gflops" in r]
    print(f"{entry['case']}: " + ", ".join(cells), flush=True)


def table(report: Report) -> None:
    ours = ("penstock", "penstock_fresh", "penstock_streamed")
    rows = []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        cells = [f"{case['case']} ({case['nnz'] / 1e6:.2f} M)"]
        for name in (*ours, best):
            r = results.get(name, {})
            cells.append(f"{r['gflops']:.2f}" if "gflops" in r else "-")
        cells.append(best or "-")
        cells += [f"{case['ratios'][name]:.2f}" if name in case["ratios"] else "-" for name in ours]
        rows.append(cells)
    means = []
    for name in ours:
        logs = [math.log(c["ratios"][name]) for c in report.data["cases"] if name in c["ratios"]]
        means.append(f"{math.exp(sum(logs) / len(logs)):.2f}" if logs else "-")
    rows.append(["geometric mean", "", "", "", "", "", *means])
    header = ["case (nonzeros)", "ours", "fresh", "streamed", "best rival", "who", "ratio",
              "ratio fresh", "ratio streamed"]  # fmt: skip
    show_table("SpMM: GFLOP/s; ratio = best rival's time / ours", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--matrices", help=f'names, files, "generated", "data" or "all" ({MATRICES})'
    )
    parser.add_argument("--columns", default="32,128", help="widths of X")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--orders", default="C", help="of X and Y. C: row-major, F: column-major")
    parser.add_argument("--contestants", default=",".join(MAKERS))
    parser.add_argument(
        "--memory", type=float, default=4.0, help="GB that X and Y may take together"
    )
    add_options(parser, turn_seconds=0.1)
    args = parser.parse_args()
    who, dtypes, orders = (s.split(",") for s in (args.contestants, args.dtypes, args.orders))
    for given, known in ((who, MAKERS), (dtypes, ("float32", "float64")), (orders, OPERATIONS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    widths = []
    for text in args.columns.split(","):
        if not text.isdigit() or int(text) < 1:
            parser.error(f"--columns {text!r}: give widths of 1 or more")
        widths.append(int(text))
    threads = args.threads or len(os.sched_getaffinity(0))
    try:
        settings = harness.Settings(args.repeats, 0.0 if args.quick else args.turn_seconds)
    except ValueError as e:
        parser.error(str(e))
    names = args.matrices or ("all" if args.quick else MATRICES)
    report = Report("spmm_cpu", args, vars(settings), threads)
    for name, csr in matrices.select(names, args.quick, report.skip):
        for dtype in dtypes:
            for columns in widths:
                size = np.dtype(dtype).itemsize * columns * sum(csr.shape)
                if size > args.memory * 1e9:
                    report.skip(f"{name} {dtype}, {columns} columns", f"X and Y take {size} bytes")
                    continue
                for order in orders:
                    run_case(
                        name, csr.astype(dtype), columns, order, who, threads, settings, report
                    )
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
