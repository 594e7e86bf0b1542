"""Iterations with their vectors on a GPU: CG on the 3-D Laplacian in core, PageRank on R-MAT graphs that stream.

Beside them, whole solves with multigrid on the GPU, set-up included; and solves of matrices that travel at each product
(studies/solve_streamed.py).

    python bench/solve_gpu.py                                # bench/results/solve_gpu.json
    python bench/solve_gpu.py --edges 128 --scales 24,26 --repeats 5
    python bench/solve_gpu.py --quick                        # toy inputs

Times are of one iteration: the difference of a long and a short run, so that what moves once (b, x) cancels. Those of
multigrid are of a solve to 1e-8 with its set-up. Each case has an equal part of the `--minutes` that are left, and
takes fewer turns, but three, where it would need longer. The GPU's iterations are checked by the residual of a whole
solve; the CPU, which takes turns for comparison, by the residual that it reports after a few iterations.
Bytes are the least that an iteration moves: the matrix once, and the vectors of its product and passes. CuPy's cg takes
turns where it imports; `penstock_arrays` then has b and x on the GPU, as arrays of CuPy. A streamed graph keeps nothing
on the GPU (`keep=False`): what binds is its link.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from lib import harness
from lib.report import Report, add_options, show_table
from lib.solving import per_iteration
from studies import solve_streamed

import penstock as ps
from penstock import _core

RTOL = {
    "float32": 1e-4,
    "float64": 1e-8,
}  # of whole solves; iterations are checked by solves to 1e-4
CHECKED = 1e-4
FEW = 10  # iterations of the CPU's check: far from where rounding ends them
LONG, SHORT = 60, 10  # PageRank's steps
TURN_ROWS = {"gpu": 1e9, "cpu": 2e8}  # rows times iterations of a turn: some tenths of a second


def on_gpu(a: ps.csr_array) -> ps.csr_array:
    return ps.csr_array._wrap(_core.to_place(a._core, "device"))


def bandwidth(nbytes: int) -> float:
    """Bytes a second of copies within the GPU's memory, read and written."""
    return 2 * nbytes / statistics.median(_core.time_copy_gpu(nbytes, "device", "device"))


def steps_of(n: int, edge: int, where: str) -> int:
    """Iterations of the long run of a turn."""
    return int(min(4 * edge, max(TURN_ROWS[where] / n, 10)))


def notes_of(info: Any) -> dict[str, Any]:
    each = info.vector_bytes // max(info.iterations, 1) + info.matrix_bytes
    return {"vectors": info.vectors, "bytes_per_iteration": each}


def penstock_cg(name: str, a: ps.csr_array, b: Any, m: Any, steps: int) -> Any:
    def solve(count: int) -> Any:
        return ps.linalg.cg(a, b, rtol=0.0, maxiter=count, M=m)

    def once() -> np.ndarray:
        x, _ = ps.linalg.cg(a, b, rtol=CHECKED, M=m)
        return x if isinstance(x, np.ndarray) else x.get()

    _, info = solve(steps)
    timed = per_iteration(solve, 5, 5 + steps)
    return harness.Contestant(name, once, role="ours", timed=timed, notes=notes_of(info))


def cpu_cg(a: ps.csr_array, b: np.ndarray, m: Any, steps: int) -> Any:
    """A whole solve of 256^3 unknowns takes a CPU a minute: what is checked is the residual that it reports."""

    def solve(count: int) -> Any:
        return ps.linalg.cg(a, b, rtol=0.0, maxiter=count, M=m)

    def told(done: Any) -> float:
        x, info = done
        true = float(np.linalg.norm(b - a.to_scipy() @ x))
        return abs(true - info.residual) / (1e-2 * true)

    _, info = solve(steps)
    timed = per_iteration(solve, 5, 5 + steps)
    return harness.Contestant(
        "penstock_cpu",
        lambda: solve(FEW),
        role="ours",
        check=told,
        timed=timed,
        notes=notes_of(info),
    )


def cupy_cg(
    cupy: Any, theirs: Any, a: ps.csr_array, b: np.ndarray, m: Any, steps: int, rtol: float
) -> Any:
    import cupyx.scipy.sparse.linalg as csl

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
        x, _ = csl.cg(theirs, rhs, M=scale, maxiter=20_000, **{tolerance: rtol})
        return x.get()

    return harness.Contestant("cupy", once, timed=per_iteration(solve, 5, 5 + steps))


class Cube:
    """A Laplacian here and on the GPU, and as CuPy has it."""

    def __init__(self, edge: int, dtype: str, cupy: Any, wide: ps.csr_array | None = None) -> None:
        self.edge, self.dtype = edge, dtype
        a = ps.generate.laplacian((edge,) * 3) if wide is None else wide
        self.a = a.astype(dtype)
        self.there = on_gpu(self.a)
        self.b = np.random.default_rng(1).standard_normal(a.shape[0]).astype(dtype)
        self.rhs = self.b if cupy is None else cupy.asarray(self.b)
        self.theirs = None
        if cupy is not None:
            import cupyx.scipy.sparse as csp

            self.theirs = csp.csr_matrix(self.a.to_scipy())


def residual_check(a: ps.csr_array, b: np.ndarray, rtol: float) -> Callable[[np.ndarray], float]:
    allowed = 1.05 * rtol * float(np.linalg.norm(b))
    return lambda x: float(np.linalg.norm(b - a @ x)) / allowed


def cg_case(cube: Cube, precond: str, cupy: Any, settings: Any) -> dict[str, Any]:
    a, b, edge, n = cube.a, cube.b, cube.edge, cube.a.shape[0]
    m = ps.linalg.Jacobi(a) if precond == "jacobi" else None
    steps = steps_of(n, edge, "gpu")
    case = harness.Case(
        name=f"cg laplacian{edge} {cube.dtype}" + (" + jacobi" if m else ""),
        check=residual_check(a, b, CHECKED),
        work=2.0 * a.nnz,
        about={"matrix": f"laplacian{edge}", "method": "cg", "preconditioner": precond,
               "dtype": cube.dtype, "rows": n, "nnz": a.nnz},
    )  # fmt: skip
    everybody = [
        penstock_cg("penstock", cube.there, b, m, steps),
        cpu_cg(a, b, m, steps_of(n, edge, "cpu")),
    ]
    if cupy:
        everybody.append(penstock_cg("penstock_arrays", cube.there, cube.rhs, m, steps))
        everybody.append(cupy_cg(cupy, cube.theirs, a, b, m, steps, CHECKED))
    return harness.measure(case, everybody, settings)


def amg_case(cube: Cube, cupy: Any, settings: Any) -> dict[str, Any]:
    """Seconds from A on the GPU to x there, in float64: the set-up of multigrid with levels of either precision and the
    solve; and cg without M."""
    a, b, there, rhs, edge = cube.a, cube.b, cube.there, cube.rhs, cube.edge
    case = harness.Case(
        name=f"solve laplacian{edge} + amg",
        check=residual_check(a, b, RTOL["float64"]),
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
        run = cupy_cg(cupy, cube.theirs, a, b, None, 4, RTOL["float64"]).run
        everybody.append(harness.Contestant("cupy", run))
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


def rank_case(
    graph: ps.csr_array, scale: int, codec: str, keep: bool, by_cpu: bool, settings: Any
) -> dict[str, Any]:
    """float64 throughout: a start and a tolerance below float32's ask for it. tol=0 never ends early."""
    a = ps.csr_array._wrap(graph._core)  # with a plan of its own
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
                 f"{r.get('gflops', 0):.1f}", f"{r.get('gb_per_s', 0):.0f}",
                 f"{r.get('fraction_of_device_copy', 0):.2f}"]
            )  # fmt: skip
    header = ["case", "who", "vectors", "ms", "GFLOP/s", "GB/s", "of device copy"]
    show_table("Iterations with vectors on a GPU, and solves with multigrid", header, rows)


class Clock:
    """Shares the minutes among the cases, and says what each took."""

    def __init__(self, minutes: float, cases: int, repeats: int) -> None:
        self.end, self.left, self.repeats = time.monotonic() + 60 * minutes, cases, repeats

    def settings(self) -> Any:
        """Half of a case's part is for turns: the rest is for getting ready and for checks."""
        part = max(self.end - time.monotonic(), 0.0) / max(self.left, 1)
        self.left -= 1
        return harness.Settings(
            repeats=self.repeats, turn_seconds=0.0, warm_turns=False, seconds=part / 2
        )

    def run(self, report: Report, rate: float, case: Callable[..., Any], *of: Any) -> None:
        begin = time.monotonic()
        entry = case(*of, self.settings())
        entry["seconds"] = round(time.monotonic() - begin, 1)
        finish(entry, rate, report)
        told = {who: r.get("median", r["status"]) for who, r in entry["results"].items()}
        words = ", ".join(
            f"{who} {m:.4g} s" if isinstance(m, float) else f"{who} {m}" for who, m in told.items()
        )
        print(
            f"{entry['case']} ({entry['turns']} turns, {entry['seconds']} s): {words}",
            file=sys.stderr,
        )


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, turn_seconds=0.0)
    parser.add_argument("--edges", default="64,128,256", help="of the Laplacian's cube")
    parser.add_argument(
        "--preconds",
        default="none,jacobi,amg",
        help="of the Laplacians: iterations; amg: whole solves",
    )
    parser.add_argument("--scales", default="22,24,26", help="of the R-MAT graphs")
    parser.add_argument(
        "--streamed", default="96", help="edges of cubes that travel in whole solves"
    )
    parser.add_argument("--codecs", default="packed,raw")
    parser.add_argument("--minutes", type=float, default=9.0, help="fewer turns to keep to it (9)")
    parser.add_argument(
        "--check-scale", type=int, default=24, help="largest R-MAT graph whose ranks the CPU checks"
    )
    return parser


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def main() -> int:
    args = options().parse_args()
    preconds = args.preconds.split(",")
    if not set(preconds) <= {"none", "jacobi", "amg"}:
        raise SystemExit(f"--preconds {args.preconds}: give some of none, jacobi and amg")
    if not args.minutes > 0:
        raise SystemExit(f"--minutes {args.minutes}: give a positive number")
    if _core.device_count() == 0:
        raise SystemExit("no GPU can be used here; penstock.show_config() may tell why")
    if args.threads:
        ps.set_num_threads(args.threads)
    edges, scales, streamed = (numbers(of) for of in (args.edges, args.scales, args.streamed))
    if args.quick:
        edges, scales, streamed = [12], [10], [12]
    iterated, codecs = [p for p in preconds if p != "amg"], args.codecs.split(",")
    cases = (
        len(edges) * (2 * len(iterated) + ("amg" in preconds))
        + 2 * len(scales) * len(codecs)
        + 3 * len(streamed)
    )
    clock = Clock(args.minutes, cases, args.repeats)
    rate = bandwidth(1 << (20 if args.quick else 30))
    given = {"edges": edges, "scales": scales, "streamed": streamed, "rtol": RTOL,
             "rtol_of_checks": CHECKED, "device_copy_bytes_per_s": rate,
             "minutes": args.minutes}  # fmt: skip
    report = Report("solve_gpu", args, given, ps.num_threads())
    try:
        import cupy
    except ImportError as e:
        cupy = None
        report.skip("cupy", str(e))
    for edge in streamed:
        for shift in (1e-2, 0.3):
            clock.run(report, rate, solve_streamed.refine_case, edge, shift)
        clock.run(report, rate, solve_streamed.amg_case, edge)
    for scale in scales:
        graph = ps.generate.rmat(scale, 16, seed=1)
        by_cpu = scale <= args.check_scale
        for codec in codecs:
            for keep in (False, True):
                clock.run(report, rate, rank_case, graph, scale, codec, keep, by_cpu)
        del graph
    for edge in edges:
        cube = None
        for dtype in ("float64", "float32"):
            cube = Cube(edge, dtype, cupy, None if cube is None else cube.a)
            for precond in iterated:
                clock.run(report, rate, cg_case, cube, precond, cupy)
            if "amg" in preconds and dtype == "float64":
                clock.run(report, rate, amg_case, cube, cupy)
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
