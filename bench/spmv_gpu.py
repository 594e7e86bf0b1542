"""SpMV on one GPU: penstock's kernels against cuSPARSE in turns, and whole calls from host memory.

python bench/spmv_gpu.py                                # bench/results/spmv_gpu.json
python bench/spmv_gpu.py --matrices rmat24,laplacian256 --dtypes float64,pattern
python bench/spmv_gpu.py --matrices "" --data FOLDER    # every *.mtx, *.npz and *.penstock there
python bench/spmv_gpu.py --quick                        # toy inputs

Kernel times by the GPU's clock, x and y on the GPU. `penstock` has its plan (row starts, or whole rows a tile),
as cuSPARSE has its preprocessing; `penstock_unplanned` finds them in every call; `penstock_ell_g` is the ELL-G
format, where rows are even enough for it. With --calls also whole products with x and y in ordinary host
memory: in core, streamed and zero-copy. `of copy` is the time of a device copy of as many bytes as must move at
least, over ours.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from lib import gpu_cases, harness, matrices_gpu
from lib.report import Report
from rivals import cusparse

from penstock import _core

OURS = ("penstock", "penstock_unplanned", "penstock_ell_g")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dtypes", default="float64,float32,pattern", help="of the values")
    parser.add_argument("--calls", action="store_true", help="time whole calls too")


def whole_calls(
    a: Any, placed: Any, x: np.ndarray, args: argparse.Namespace
) -> list[harness.Contestant]:
    pinned = _core.to_place(a, "pinned")
    y = np.zeros(a.shape[0], x.dtype)
    who = []
    for name, matrix, how in (
        ("call_in_core", placed, _core.in_core(args.gpu)),
        ("call_streamed", pinned, _core.streamed([args.gpu])),
        ("call_zero_copy", pinned, _core.zero_copy(args.gpu)),
    ):

        def run(matrix=matrix, how=how):
            _core.product(matrix, x, y, how)
            return y

        who.append(harness.Contestant(name, run, role="call", reset=lambda: y.fill(np.nan)))
    return who


def contestants(
    a: Any, dtype: str | None, x: np.ndarray, traffic: float, args: Any, report: Report, name: str
) -> list[harness.Contestant]:
    placed = _core.to_place(a, "device", args.gpu)

    def kernel(planned: bool) -> Any:
        return lambda n: _core.time_spmv_gpu(placed, x, "plus_times", n, args.gpu, planned)

    who = [
        gpu_cases.device_copy(traffic, args),
        gpu_cases.timed("penstock", "ours", kernel(True), args.inner),
        gpu_cases.timed("penstock_unplanned", "ours", kernel(False), args.inner),
    ]
    try:
        ell = _core.to_ell_g(a).to_place("device", args.gpu)
    except ValueError as e:
        report.skip(f"ELL-G, {name}", str(e))
    else:

        def ell_g(n: int) -> Any:
            return _core.time_spmv_ell_g_gpu(ell, x, "plus_times", n, args.gpu)

        who.append(gpu_cases.timed("penstock_ell_g", "ours", ell_g, args.inner))
    who += cusparse.contestants(placed, dtype, x, cusparse.VECTOR, args, report)
    return who + (whole_calls(a, placed, x, args) if args.calls else [])


def main() -> int:
    args = gpu_cases.parse(__doc__, configure)
    report, settings = gpu_cases.start("spmv_gpu", args)
    cusparse.note(report)
    for name, matrix in matrices_gpu.select(args.matrices, args.data, report.skip):
        for text in args.dtypes.split(","):
            dtype = None if text == "pattern" else text
            a = matrices_gpu.as_core(matrix, dtype)
            vector = np.dtype(dtype or "float64")
            rows, cols = a.shape
            x = np.random.default_rng(7).standard_normal(cols).astype(vector)
            traffic = a.nbytes + (rows + cols) * vector.itemsize
            case = harness.Case(
                f"{name} {text}",
                check=matrices_gpu.product_check(a, x),
                work=2.0 * a.nnz,
                traffic=traffic,
                about={"matrix": name, "dtype": text, "rows": rows, "nnz": a.nnz},
            )
            who = contestants(a, dtype, x, traffic, args, report, name)
            entry = harness.measure(case, who, settings)
            report.add(entry)
            shown = [f"{n} {r['gflops']:.0f}" for n, r in entry["results"].items() if "gflops" in r]
            print(f"{entry['case']}: " + ", ".join(shown), flush=True)
    report.write()
    gpu_cases.table(report, "SpMV on a GPU: GFLOP/s; ratio = best rival's time / ours", OURS)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
