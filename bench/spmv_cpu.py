"""SpMV on the CPU: penstock against SciPy, MKL and SuiteSparse:GraphBLAS; also A^T x, and streamed
against in core.

    python bench/spmv_cpu.py                 # everything: bench/results/spmv_cpu.json
    python bench/spmv_cpu.py --matrices rmat18,cnr-2000 --dtypes float32 --out some.json
    python bench/spmv_cpu.py --quick         # toy inputs
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from rivals.spmv import MAKERS, Problem, gather

OPERATIONS = {"ax": "A x", "atx": "A^T x"}


def spmv_check(csr: Any, x: np.ndarray, transposed: bool) -> Any:
    """Against SciPy in float64, within the rounding bound of any order of summation: (n + 2) eps
    |A| |x| for a sum of n terms (Higham 2002, section 3.1), once for the contestant and once for
    the reference."""
    import scipy.sparse as sp

    a = sp.csr_array((csr.data.astype(np.float64), csr.indices, csr.indptr), shape=csr.shape)
    terms = np.bincount(csr.indices, minlength=csr.shape[1]) if transposed else np.diff(csr.indptr)
    absolute = sp.csr_array((np.abs(a.data), csr.indices, csr.indptr), shape=csr.shape)
    if transposed:
        a, absolute = a.T, absolute.T
    reference = a @ x.astype(np.float64)
    bound = 2 * (terms + 2) * np.finfo(csr.dtype).eps * (absolute @ np.abs(x.astype(np.float64)))

    def check(y: np.ndarray) -> float:
        if y.shape != reference.shape or y.dtype != csr.dtype:
            raise ValueError(f"result is {y.dtype}{y.shape}, not {csr.dtype}{reference.shape}")
        error = np.abs(y - reference)
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = np.where(error == 0, 0.0, error / bound)  # NaN stays: wrong
        return float(np.max(excess, initial=0.0))

    return check


def run_case(
    name: str,
    csr: Any,
    operation: str,
    who: list[str],
    threads: int,
    settings: harness.Settings,
    report: Report,
) -> None:
    transposed = operation == "atx"
    x = (
        np.random.default_rng(4)
        .standard_normal(csr.shape[0 if transposed else 1])
        .astype(csr.dtype)
    )
    problem = Problem(csr, x, transposed, threads)
    contestants = gather(MAKERS, who, problem, OPERATIONS[operation], report)
    width = csr.dtype.itemsize
    case = harness.Case(
        name=f"{name} {csr.dtype} {OPERATIONS[operation]}",
        check=spmv_check(csr, x, transposed),
        work=2.0 * csr.nnz,
        traffic=csr.nnz * (4 + width) + 8 * (csr.shape[0] + 1) + width * sum(csr.shape),
        about={"matrix": name, "dtype": str(csr.dtype), "operation": OPERATIONS[operation],
               "rows": csr.shape[0], "cols": csr.shape[1], "nnz": int(csr.nnz)},
    )  # fmt: skip
    entry = harness.measure(case, contestants, settings)
    times = {key: r["median"] for key, r in entry["results"].items() if r["status"] == "ok"}
    if "penstock_streamed" in times and "penstock" in times:
        entry["streamed_ratio"] = times["penstock"] / times["penstock_streamed"]
    report.add(entry)
    print(_line(entry), flush=True)


def _line(entry: dict[str, Any]) -> str:
    cells = [
        f"{key} {r['gflops']:.2f}"
        for key, r in entry["results"].items()
        if "gflops" in r and r["role"] != "probe"
    ]
    return f"{entry['case']}: " + ", ".join(cells)


def table(report: Report) -> None:
    ours = ("penstock", "penstock_prepared")
    rows = []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        cells = [f"{case['case']} ({case['nnz'] / 1e6:.2f} M)"]
        for name in (*ours, best):
            r = results.get(name, {})
            cells.append(f"{r['gflops']:.2f}" if "gflops" in r else "-")
        cells.append(best or "-")
        cells += [f"{case['ratios'][name]:.2f}" if name in case["ratios"] else "-" for name in ours]
        fraction = results.get("penstock", {}).get("fraction_of_probe")
        cells.append(f"{fraction:.0%}" if fraction else "-")
        cells.append(f"{case['streamed_ratio']:.2f}" if "streamed_ratio" in case else "-")
        for name in ("penstock_prepared", "mkl_optimized"):
            calls = results.get(name, {}).get("prepare_calls")
            cells.append(f"{calls:.0f}" if calls is not None else "-")
        rows.append(cells)
    header = ["case (nonzeros)", "ours", "prepared", "best rival", "who", "ratio", "ratio prepared",
              "of read", "streamed/in core", "prepare: ours", "MKL"]  # fmt: skip
    show_table(
        "SpMV: GFLOP/s; ratio = best rival's time / ours; preparation in SpMVs", header, rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--matrices", default="all", help='names, files, "generated", "data" or "all"'
    )
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--operations", default="ax,atx", help="ax: A x, atx: A^T x")
    parser.add_argument("--contestants", default=",".join(MAKERS))
    add_options(parser, turn_seconds=0.05)
    args = parser.parse_args()
    who, dtypes, operations = (
        s.split(",") for s in (args.contestants, args.dtypes, args.operations)
    )
    for given, known in ((who, MAKERS), (dtypes, ("float32", "float64")), (operations, OPERATIONS)):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(known)}")
    threads = args.threads or len(os.sched_getaffinity(0))
    try:
        settings = harness.Settings(args.repeats, 0.0 if args.quick else args.turn_seconds)
    except ValueError as e:
        parser.error(str(e))
    report = Report("spmv_cpu", args, vars(settings), threads)
    for name, csr in matrices.select(args.matrices, args.quick, report.skip):
        for dtype in dtypes:
            for operation in operations:
                run_case(name, csr.astype(dtype), operation, who, threads, settings, report)
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
