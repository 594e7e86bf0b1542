"""Iterations with their vectors on a GPU: CG on the 3-D Laplacian in core, PageRank on R-MAT graphs that stream.

Beside them, whole solves with multigrid on the GPU, set-up included.

    python bench/solve_gpu.py                                # bench/results/solve_gpu.json
    python bench/solve_gpu.py --edges 128 --scales 24,26 --repeats 5
    python bench/solve_gpu.py --quick                        # toy inputs

Times are of one iteration: the difference of a long and a short run, so that what moves once (b, x) cancels. Those of
multigrid are of a solve to 1e-8 with its set-up.
Bytes are the least that an iteration moves: the matrix once, and the vectors of its product and passes. CuPy's cg takes
turns where it imports; `penstock_arrays` then has b and x on the GPU, as arrays of CuPy. A streamed graph keeps nothing
on the GPU (`keep=False`): what binds is its link.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import harness
from lib.report import Report, add_options, show_table
from lib.solving import per_iteration

import penstock as ps
from penstock import _core

RTOL = {"float32": 1e-4, "float64": 1e-8}
LONG, SHORT = 60, 10  # PageRank's steps


def on_gpu(a: ps.csr_array) -> ps.csr_array:
    return ps.csr_array._wrap(_core.to_place(a._core, "device"))


def bandwidth(nbytes: int) -> float:
    """Bytes a second of copies within the GPU's memory, read and written."""
    return 2 * nbytes / statistics.median(_core.time_copy_gpu(nbytes, "device", "device"))


def penstock_cg(name: str, a: ps.csr_array, b: Any, m: Any, steps: int) -> Any:
    rtol = RTOL[b.dtype.name]

    def solve(count: int) -> Any:
        return ps.linalg.cg(a, b, rtol=0.0, maxiter=count, M=m)

    _, info = solve(steps)
    notes = {
        "vectors": info.vectors,
        "bytes_per_iteration": info.vector_bytes // max(info.iterations, 1) + info.matrix_bytes,
    }

    def once() -> np.ndarray:
        x, _ = ps.linalg.cg(a, b, rtol=rtol, M=m)
        return x if isinstance(x, np.ndarray) else x.get()

    return harness.Contestant(
        name,
        once,
        role="ours",
        timed=per_iteration(solve, 5, 5 + steps),
        notes=notes,
    )


def cupy_cg(cupy: Any, a: ps.csr_array, b: np.ndarray, m: Any, steps: int) -> Any:
    import cupyx.scipy.sparse as csp
    import cupyx.scipy.sparse.linalg as csl

    theirs = csp.csr_matrix(a.to_scipy())
    rhs = cupy.asarray(b)
    tolerance = "rtol" if "rtol" in inspect.signature(csl.cg).parameters else "tol"
    scale = None
    if m is not None:
        inverse = cupy.asarray(1 / a.diagonal())
        scale = csl.LinearOperator(theirs.shape, matvec=lambda r: inverse * r, dtype=rhs.dtype)

    def solve(count: int) -> None:
        csl.cg(theirs, rhs, maxiter=count, M=scale, **{tolerance: 0.0})
        cupy.cuda.Stream.null.synchronize()

    def once() -> np.ndarray:
        x, _ = csl.cg(theirs, rhs, M=scale, maxiter=20_000, **{tolerance: RTOL[b.dtype.name]})
        return x.get()

    return harness.Contestant("cupy", once, timed=per_iteration(solve, 5, 5 + steps))


def residual_check(a: ps.csr_array, b: np.ndarray) -> Callable[[np.ndarray], float]:
    allowed = 1.05 * RTOL[b.dtype.name] * float(np.linalg.norm(b))
    return lambda x: float(np.linalg.norm(b - a @ x)) / allowed


def cg_case(edge: int, dtype: str, precond: str, cupy: Any, settings: Any) -> dict[str, Any]:
    if precond not in ("none", "jacobi"):
        raise SystemExit(f"--preconds {precond}: give some of none, jacobi and amg")
    a = ps.generate.laplacian((edge,) * 3).astype(dtype)
    b = np.random.default_rng(1).standard_normal(a.shape[0]).astype(dtype)
    m = ps.linalg.Jacobi(a) if precond == "jacobi" else None
    steps = 4 * edge
    case = harness.Case(
        name=f"cg laplacian{edge} {dtype}" + (" + jacobi" if m else ""),
        check=residual_check(a, b),
        work=2.0 * a.nnz,
        about={"matrix": f"laplacian{edge}", "method": "cg", "preconditioner": precond,
               "dtype": dtype, "rows": a.shape[0], "nnz": a.nnz},
    )  # fmt: skip
    everybody = [
        penstock_cg("penstock", on_gpu(a), b, m, steps),
        penstock_cg("penstock_cpu", a, b, m, steps),
    ]
    if cupy:
        everybody.append(penstock_cg("penstock_arrays", on_gpu(a), cupy.asarray(b), m, steps))
        everybody.append(cupy_cg(cupy, a, b, m, steps))
    return harness.measure(case, everybody, settings)


def amg_case(edge: int, cupy: Any, settings: Any) -> dict[str, Any]:
    """Seconds from A on the GPU to x there, in float64: the set-up of multigrid with levels of either precision and the
    solve; and cg without M."""
    a = ps.generate.laplacian((edge,) * 3)
    b = np.random.default_rng(1).standard_normal(a.shape[0])
    there, rhs = on_gpu(a), b if cupy is None else cupy.asarray(b)
    case = harness.Case(
        name=f"solve laplacian{edge} + amg",
        check=residual_check(a, b),
        work=2.0 * a.nnz,
        about={"matrix": f"laplacian{edge}", "method": "cg", "preconditioner": "amg",
               "dtype": "float64", "rows": a.shape[0], "nnz": a.nnz},
    )  # fmt: skip

    def multigrid(precision: str) -> Any:
        m = ps.linalg.AMG(there, precision=precision)
        return ps.linalg.cg(there, rhs, rtol=RTOL["float64"], M=m)

    ways: dict[str, Callable[[], Any]] = {
        "penstock": lambda: multigrid("float64"),
        "penstock_float32_levels": lambda: multigrid("float32"),
        "penstock_cg": lambda: ps.linalg.cg(there, rhs, rtol=RTOL["float64"]),
    }
    everybody = []
    for name, solve in ways.items():
        _, info = solve()
        everybody.append(
            harness.Contestant(
                name,
                lambda solve=solve: solve()[0],
                role="ours",
                result=lambda x: x if isinstance(x, np.ndarray) else x.get(),
                notes={"iterations": info.iterations, "vectors": info.vectors},
            )
        )
    if cupy:
        everybody.append(harness.Contestant("cupy", cupy_cg(cupy, a, b, None, 4).run))
    return harness.measure(case, everybody, settings)


def rank_check(
    a: ps.csr_array, start: np.ndarray, change: float, by_cpu: bool
) -> Callable[[np.ndarray], float]:
    """Against the same steps on the CPU; or, quicker, one more step may not change the ranks by more than the last."""
    if by_cpu:
        alone = ps.csr_array._wrap(a._core)  # without a plan for GPUs
        expected = ps.csgraph.pagerank(
            alone, tol=0.0, max_iter=SHORT, nstart=start, return_info=True
        )[0]
        return lambda ranks: float(np.abs(ranks - expected).sum()) / 1e-9

    def step(ranks: np.ndarray) -> float:
        try:
            ps.csgraph.verify_pagerank(a, ranks, tol=change)
        except ValueError:
            return float("inf")
        return 0.0

    return step


def rank_case(scale: int, codec: str, keep: bool, settings: Any, by_cpu: bool) -> dict[str, Any]:
    """float64 throughout: a start and a tolerance below float32's ask for it. tol=0 never ends early."""
    a = ps.generate.rmat(scale, 16, seed=1)
    a.prepare(schedule=ps.Streamed(device=0, codec=codec, keep=keep), products=LONG)
    n = a.shape[0]
    start = np.full(n, 1 / n)

    def run(count: int) -> Any:
        return ps.csgraph.pagerank(a, tol=0.0, max_iter=count, nstart=start, return_info=True)

    _, info = run(SHORT)
    check = rank_check(a, start, info["change"], by_cpu)
    plan = a._derived.stream_plans[0]
    streamed = [p.facts["streamed_bytes"] for p in plan.values()][-1]
    name = f"pagerank rmat{scale} {codec}" + ("" if keep else " streamed")
    case = harness.Case(
        name=name,
        check=check,
        work=2.0 * a.nnz,
        about={"matrix": f"rmat{scale}", "method": "pagerank", "codec": codec, "keep": keep,
               "rows": n, "nnz": a.nnz},
    )  # fmt: skip
    notes = {
        "vectors": info["vectors"],
        "link_bytes_per_iteration": streamed,
        "bytes_per_nonzero": streamed / a.nnz,
        "bytes_per_iteration": streamed + 7 * 8 * n,  # a step reads 4 vectors and writes 1; x, y
    }
    ours = harness.Contestant(
        "penstock",
        lambda: run(SHORT)[0],
        role="ours",
        timed=per_iteration(run, SHORT, LONG),
        notes=notes,
    )
    return harness.measure(case, [ours], settings)


def finish(entry: dict[str, Any], rate: float, report: Report) -> None:
    for result in entry["results"].values():
        if "median" in result and "bytes_per_iteration" in result:
            result["gb_per_s"] = result["bytes_per_iteration"] / result["median"] / 1e9
            if result["vectors"] != "cpu":
                result["fraction_of_device_copy"] = result["gb_per_s"] * 1e9 / rate
    report.add(entry)


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        for name, r in case["results"].items():
            if "median" not in r:
                continue
            rows.append(
                [case["case"], name, r.get("vectors", ""), f"{r['median'] * 1e3:.3f}",
                 f"{r['gflops']:.1f}", f"{r.get('gb_per_s', 0):.0f}",
                 f"{r.get('fraction_of_device_copy', 0):.2f}"]
            )  # fmt: skip
    header = ["case", "who", "vectors", "ms", "GFLOP/s", "GB/s", "of device copy"]
    show_table("Iterations with vectors on a GPU, and solves with multigrid", header, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, turn_seconds=0.0)
    parser.add_argument("--edges", default="64,128,256", help="of the Laplacian's cube")
    parser.add_argument(
        "--preconds",
        default="none,jacobi,amg",
        help="of the Laplacians: iterations; amg: whole solves",
    )
    parser.add_argument("--scales", default="22,24,26", help="of the R-MAT graphs")
    parser.add_argument("--codecs", default="packed,raw")
    parser.add_argument(
        "--check-scale", type=int, default=24, help="largest R-MAT graph whose ranks the CPU checks"
    )
    args = parser.parse_args()
    if _core.device_count() == 0:
        raise SystemExit("no GPU can be used here; penstock.show_config() may tell why")
    if args.threads:
        ps.set_num_threads(args.threads)
    edges, scales, preconds = args.edges, args.scales, args.preconds.split(",")
    if args.quick:
        edges, scales = "12", "10"
    settings = harness.Settings(repeats=args.repeats, turn_seconds=0.0, warm_turns=False)
    rate = bandwidth(1 << (20 if args.quick else 30))
    given = {"edges": edges, "scales": scales, "rtol": RTOL, "device_copy_bytes_per_s": rate}
    report = Report("solve_gpu", args, given, ps.num_threads())
    try:
        import cupy
    except ImportError as e:
        cupy = None
        report.skip("cupy", str(e))
    for edge in (int(e) for e in edges.split(",") if e):
        for dtype in ("float64", "float32"):
            for precond in preconds:
                if precond != "amg":
                    finish(cg_case(edge, dtype, precond, cupy, settings), rate, report)
        if "amg" in preconds:
            finish(amg_case(edge, cupy, settings), rate, report)
    for scale in (int(s) for s in scales.split(",") if s):
        for codec in args.codecs.split(","):
            for keep in (False, True):
                by_cpu = scale <= args.check_scale
                finish(rank_case(scale, codec, keep, settings, by_cpu), rate, report)
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
