"""SpMM on one GPU, Y = A X with X and Y row-major on the GPU: penstock against cuSPARSE, in turns.

python bench/spmm_gpu.py                                    # bench/results/spmm_gpu.json
python bench/spmm_gpu.py --matrices rmat22 --columns 128 --dtypes float32 --panels 0,32,64,128
python bench/spmm_gpu.py --matrices "" --data FOLDER        # every *.mtx, *.npz and *.penstock there
python bench/spmm_gpu.py --quick                            # toy inputs

Kernel times by the GPU's clock. `penstock` has its plan (row starts), as cuSPARSE
has its preprocessing; `penstock_pN` takes N columns in one pass over A (--panels), 0 being the library's
choice. `of copy` is the time of a device copy of as many bytes as must move at least, over ours.
"""

from __future__ import annotations

import argparse

import numpy as np
from lib import gpu_cases, harness, matrices_gpu
from rivals import cusparse

from penstock import _core


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--columns", default="32,128", help="widths of X")
    parser.add_argument("--dtypes", default="float64,float32")
    parser.add_argument("--panels", default="0", help="columns of a pass; 0: the library's choice")
    parser.add_argument(
        "--memory", type=float, default=20.0, help="GB that X and Y may take together"
    )


def main() -> int:
    args = gpu_cases.parse(__doc__, configure)
    panels = [int(p) for p in args.panels.split(",")]
    report, settings = gpu_cases.start("spmm_gpu", args)
    cusparse.note(report)
    for name, matrix in matrices_gpu.select(args.matrices, args.data, report.skip):
        for dtype in args.dtypes.split(","):
            a = matrices_gpu.as_core(matrix, dtype)
            placed = _core.to_place(a, "device", args.gpu)
            rows, cols = a.shape
            for k in (int(text) for text in args.columns.split(",")):
                size = np.dtype(dtype).itemsize * k * (rows + cols)
                if size > args.memory * 1e9:
                    report.skip(f"{name} {dtype}, {k} columns", f"X and Y take {size} bytes")
                    continue
                x = np.random.default_rng(7).standard_normal((cols, k), dtype)
                traffic = a.nbytes + size
                case = harness.Case(
                    f"{name} {dtype} {k}",
                    check=matrices_gpu.product_check(a, x),
                    work=2.0 * a.nnz * k,
                    traffic=traffic,
                    about={
                        "matrix": name,
                        "dtype": dtype,
                        "columns": k,
                        "rows": rows,
                        "nnz": a.nnz,
                    },
                )
                who = [gpu_cases.device_copy(traffic, args)]
                for panel in panels:

                    def call(n, panel=panel, placed=placed, x=x):
                        return _core.time_spmm_gpu(placed, x, "plus_times", n, args.gpu, panel)

                    label = "penstock" if panel == 0 else f"penstock_p{panel}"
                    who.append(gpu_cases.timed(label, "ours", call, args.inner))
                who += cusparse.contestants(placed, dtype, x, cusparse.COLUMNS, args, report)
                entry = harness.measure(case, who, settings)
                report.add(entry)
                shown = [
                    f"{n} {r['gflops']:.0f}" for n, r in entry["results"].items() if "gflops" in r
                ]
                print(f"{entry['case']}: " + ", ".join(shown), flush=True)
    report.write()
    ours = tuple("penstock" if p == 0 else f"penstock_p{p}" for p in panels)
    gpu_cases.table(report, "SpMM on a GPU: GFLOP/s; ratio = best rival's time / ours", ours)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
