"""SpGEMM on one GPU, C = A A with everything on the GPU: penstock against cuSPARSE, in turns.

python bench/spgemm_gpu.py                                  # bench/results/spgemm_gpu.json
python bench/spgemm_gpu.py --matrices rmat16 --dtypes float64 --methods auto,hash,bitmap
python bench/spgemm_gpu.py --matrices "" --data FOLDER      # every *.mtx, *.npz and *.penstock there
python bench/spgemm_gpu.py --quick                          # toy inputs

Times by the GPU's clock, from the call to the finished C: both count C's entries, take memory for C from a
pool and for their workspaces, and compute. A product counts as two flops. `of copy` is the time of a
device copy of as many bytes as A and C have, over ours. Each C is checked as a whole: C x against A (A x)
from the CPU in float64. --programs are others' programs (rivals/programs.py) that print NAME nnzC N
median_ms T, whole calls in float64; they run after the turns.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import gpu_cases, harness, matrices_gpu
from lib.report import Report
from rivals import cusparse, programs

from penstock import _core

DEFAULT = "rmat14,rmat15,rmat16,rmat17,rmat18,laplacian64,laplacian128"
ALGORITHMS = ("default", "alg2", "alg3")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--methods", default="auto", help="of ours: auto, hash, bitmap")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS), help="of cuSPARSE")
    parser.add_argument("--programs", type=programs.existing, default=[], help="rivals, see above")
    parser.add_argument("--memory", type=float, default=60.0, help="GB that C may take")


def check_of(a: Any, products: np.ndarray, dtype: str, gpu: int) -> Callable[[Any], float]:
    """Values are positive, and so is x: an entry of C x errs by few roundings for each of its products, in any
    order; twice, for C and for C x."""
    wide = matrices_gpu.as_wide(a)
    x = np.random.default_rng(7).random(a.shape[1]) + 0.5
    expected = wide.dot(wide.dot(x))
    allowed = 8 * np.finfo(dtype).eps * (2 + np.sqrt(products)) * expected

    def check(c: Any) -> float:
        y = np.full(a.shape[0], np.nan, dtype)
        _core.product(c, x.astype(dtype), y, _core.in_core(gpu))
        error = np.abs(y.astype(np.float64) - expected)
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = np.where(error == 0, 0.0, error / allowed)
        return float("nan") if np.isnan(excess).any() else float(np.max(excess, initial=0.0))

    return check


def ours(placed: Any, dtype: str, method: str, args: argparse.Namespace) -> harness.Contestant:
    def seconds() -> float:
        times = _core.time_spgemm_gpu(
            placed, placed, "plus_times", dtype, args.inner, args.gpu, method
        )
        return statistics.median(times)

    return harness.Contestant(
        "penstock" if method == "auto" else f"penstock_{method}",
        run=lambda: _core.spgemm_gpu(placed, placed, "plus_times", dtype, args.gpu, method),
        role="ours",
        timed=seconds,
    )


def rivals(placed: Any, args: argparse.Namespace, report: Report) -> list[harness.Contestant]:
    if report.data["machine"]["cusparse"] is None:
        return []
    if why := cusparse.why_not("float64", placed.nnz):
        report.skip("cuSPARSE", why)
        return []
    return [
        gpu_cases.timed(
            f"cusparse_{name}",
            "rival",
            lambda n, name=name: _core.time_cusparse_spgemm_gpu(placed, placed, name, n, args.gpu),
            args.inner,
        )
        for name in args.algorithms.split(",")
    ]


def add_programs(
    result: dict[str, Any], a: Any, nnz: int, args: argparse.Namespace, report: Report
) -> None:
    """Those that keep the memory of C between calls (`reused`) are no rivals, but a yardstick."""
    values = np.ones(a.nnz) if a.values is None else a.values
    for program in args.programs:
        try:
            found = programs.run(program, a, values, ("nnzC", "median_ms"))
        except OSError as e:
            report.skip(f"{result['case']}, {program.name}", str(e))
            continue
        for told in found:
            name = f"{program.name}_{told.name}"
            role = "probe" if "reused" in told.name else "rival"
            result["results"][name] = programs.entry(told, nnz, role)
    if args.programs:
        programs.settle(result, [n for n, r in result["results"].items() if r["role"] == "ours"])


def main() -> int:
    args = gpu_cases.parse(__doc__, configure)
    if args.matrices == matrices_gpu.DEFAULT:
        args.matrices = DEFAULT
    methods = args.methods.split(",")
    report, settings = gpu_cases.start("spgemm_gpu", args)
    cusparse.note(report)
    for name, matrix in matrices_gpu.select(args.matrices, args.data, report.skip):
        for dtype in args.dtypes.split(","):
            a = matrices_gpu.as_core(matrix, dtype)
            if a.values is not None and np.min(a.values, initial=0.0) < 0:
                values = np.abs(np.asarray(a.values))  # so that errors are relative to sums
                a = _core.Matrix.from_arrays(*a.shape, a.indptr, a.indices, values)
            placed = _core.to_place(a, "device", args.gpu)
            counted = _core.spgemm_products_gpu(placed, placed, args.gpu)
            entry = 4 + np.dtype(dtype).itemsize
            try:
                limit = int(args.memory * 1e9)
                c = _core.spgemm_gpu(placed, placed, dtype=dtype, gpu=args.gpu, memory=limit)
            except MemoryError as e:
                report.skip(f"{name} {dtype}", str(e))
                continue
            nnz = c.nnz
            del c
            traffic = a.nbytes + nnz * entry + 8 * (a.shape[0] + 1)
            case = harness.Case(
                f"{name} {dtype}",
                check=check_of(a, counted["per_row"], dtype, args.gpu),
                work=2.0 * counted["products"],
                traffic=traffic,
                about={
                    "matrix": name,
                    "dtype": dtype,
                    "rows": a.shape[0],
                    "nnz": a.nnz,
                    "products": counted["products"],
                    "nnz_c": nnz,
                },
            )
            who = [gpu_cases.device_copy(traffic, args)]
            who += [ours(placed, dtype, method, args) for method in methods]
            who += rivals(placed, args, report)
            result = harness.measure(case, who, settings)
            if dtype == "float64":
                add_programs(result, a, nnz, args, report)
            report.add(result)
            shown = [
                f"{n} {r['gflops']:.1f}" for n, r in result["results"].items() if "gflops" in r
            ]
            print(f"{result['case']}: " + ", ".join(shown), flush=True)
    report.write()
    names = tuple("penstock" if m == "auto" else f"penstock_{m}" for m in methods)
    gpu_cases.table(report, "SpGEMM on a GPU: GFLOP/s; ratio = best rival's time / ours", names)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
