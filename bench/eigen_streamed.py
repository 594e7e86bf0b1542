"""Singular values of a matrix of several times a GPU's budget: seconds against passes times the bytes that travel, at
the link's speed, and against one vector a pass.

    python bench/eigen_streamed.py                       # 8 GB, a budget of 2; bench/results/eigen_streamed.json
    python bench/eigen_streamed.py --rows 1e6 --dtype float32 --repeats 3
    python bench/eigen_streamed.py --quick               # a toy; --device cpu: without a GPU, whose link is then memory

The matrix has `--per-row` random entries a row, in pinned memory. Products A^T A X of a pass are measured, then whole
calls of randomized_svd and block_krylov_svd, whose singular vectors are checked by products in core.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from lib import harness
from lib.harness import Contestant
from lib.paper_runs import probe
from lib.report import Report, add_options, show_table
from penstock.linalg.eigen.products import Products
from penstock.linalg.eigen.streamed import through_gpu

import penstock as ps
from penstock import _core


def tall(args: argparse.Namespace) -> ps.csr_array:
    """Columns whose sizes fall, so that there are singular values to find; sorted rows of distinct columns."""
    m, n, d = int(args.rows), int(args.cols), args.per_row
    rng = np.random.default_rng(11)
    indices, values = np.empty(m * d, np.int32), np.empty(m * d, args.dtype)
    cells = np.arange(d) * (n // d)  # one entry in each stripe of columns
    size = (1 / (1 + np.arange(n) / (0.02 * n))).astype(args.dtype)
    step = max(1, (1 << 24) // d)
    for first in range(0, m, step):
        count = min(step, m - first)
        some = (cells + rng.integers(0, n // d, (count, d), dtype=np.int32)).reshape(-1)
        part = slice(first * d, first * d + len(some))
        indices[part] = some
        values[part] = rng.standard_normal(len(some), np.float32) * size[some]
    indptr = np.arange(m + 1, dtype=np.int64) * d
    return ps.csr_array((values, indices, indptr), shape=(m, n), copy=False)


def singular_check(a: ps.csr_array, digits: float) -> Any:
    """Residuals of A^T u - s v, and orthogonality, as multiples of what is allowed."""

    def check(result: Any) -> float:
        u, s, vh = result[:3]
        wrong = np.linalg.norm(a.T @ u - vh.T * s, axis=0).max() / s.max()
        eye = np.eye(len(s))
        turned = max(abs(u.T @ u - eye).max(), abs(vh @ vh.T - eye).max())
        return float(max(wrong, turned) / digits)

    return check


def one_product(a: ps.csr_array, schedule: Any, gpu: int, b: int, normal: bool) -> Any:
    """A function that multiplies b vectors in the device's memory once, and gives its seconds and bytes."""
    products = Products(a, schedule)
    products.travels_by = lambda: schedule  # type: ignore[method-assign]  # the CPU as the device, too
    op = through_gpu(products, b, b, normal)
    if op is None:
        raise MemoryError(f"{b} vectors do not fit the budget")
    rows = getattr(_core, f"DeviceBasis_{a.dtype.name}")(b, a.shape[1], gpu)
    rows.put(0, np.random.default_rng(0).standard_normal((b, a.shape[1])).astype(a.dtype))

    def run() -> tuple[float, int]:
        begin = time.perf_counter()
        told = rows.multiply_streamed(a._core, op.ring, 0, 0, b, 1e-3, normal)
        return time.perf_counter() - begin, told["copied_bytes"]

    return run


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=2.5e6)
    parser.add_argument("--cols", type=float, default=100e3)
    parser.add_argument("--per-row", type=int, default=256)
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    parser.add_argument("-k", type=int, default=50)
    parser.add_argument("--iter", type=int, default=3, help="n_iter")
    parser.add_argument("--times", type=float, default=4, help="the matrix's size over the budget")
    parser.add_argument("--device", default="0", help='a GPU, or "cpu"')
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    if args.quick:
        args.rows, args.cols, args.per_row, args.k, args.times = 20e3, 500, 10, 5, 0.01
    on_cpu = args.device == "cpu"
    gpu = -1 if on_cpu else int(args.device)
    if gpu >= _core.device_count():
        parser.error(f"--device {gpu}: {_core.device_count()} GPUs can be used here")
    if on_cpu:
        ps.set_num_threads(1)  # one ring
    report = Report("eigen_streamed", args, {"repeats": args.repeats}, ps.num_threads())
    a = tall(args)
    a = a if on_cpu else a.to(ps.pinned)
    schedule = ps.Streamed(device="cpu" if on_cpu else gpu)
    budget = int(a.nbytes / args.times)
    rate = None
    if not on_cpu:
        report.data["probe"] = probe(False, False)
        rate = report.data["probe"]["together"]["1"]["h2d"]
    with ps.options(device_memory=budget):
        width = args.k + 10
        alone = {
            b: [one_product(a, schedule, gpu, b, True)() for _ in range(args.repeats + 1)][1:]
            for b in (1, 8, width)
        }
        seconds = {b: float(np.median([t for t, _ in runs])) for b, runs in alone.items()}
        bytes_a_pass = alone[width][0][1]
        link = bytes_a_pass / rate if rate else seconds[1]
        rows = [
            [
                f"A^T A X, {b} vectors",
                "1",
                f"{t:.4f}",
                f"{t / link:.2f}",
                f"{seconds[1] * b / t:.1f}",
            ]
            for b, t in seconds.items()
        ]
        told: dict[str, Any] = {}

        def call(name: str) -> Contestant:
            method = getattr(ps.linalg, name)

            def run() -> Any:
                begin = time.perf_counter()
                result = method(a, args.k, n_iter=args.iter, schedule=schedule, return_info=True)
                told.setdefault(name, []).append((time.perf_counter() - begin, result[3]))
                return result

            return Contestant(name, run, role="ours")

        digits = 1e-10 if a.dtype == np.float64 else 1e-4
        case = harness.Case(
            name=f"{a.shape[0]} x {a.shape[1]}, k = {args.k}",
            check=singular_check(a, digits),
            about={"nnz": a.nnz, "bytes": a.nbytes, "budget": budget, "dtype": a.dtype.name},
        )
        names = ["randomized_svd", "block_krylov_svd"]
        settings = harness.Settings(args.repeats, 0.0, warm_turns=False)
        entry = harness.measure(case, [call(name) for name in names], settings)
    entry["one_pass"] = {str(b): t for b, t in seconds.items()}
    entry["link_seconds_a_pass"], entry["bytes_a_pass"] = link, bytes_a_pass
    for name in names:
        info = told[name][-1][1]
        median = entry["results"][name].get("median")
        if median is None:  # wrong: the report says so
            continue
        one_by_one = info.columns * seconds[1]
        entry["results"][name] |= {"passes": info.passes, "vectors_on": info.vectors_on,
                                   "over_link": median / (info.passes * link),
                                   "over_one_vector_a_pass": one_by_one / median}  # fmt: skip
        rows.append(
            [name, str(info.passes), f"{median:.4f}", f"{median / (info.passes * link):.2f}",
             f"{one_by_one / median:.1f}"]
        )  # fmt: skip
    report.add(entry)
    show_table(
        "passes x bytes / link is 1; the last column is how often faster than one vector a pass",
        ["what", "passes", "seconds", "over the link", "speed"],
        rows,
    )
    return 1 if report.failed() else 0


if __name__ == "__main__":
    raise SystemExit(main())
