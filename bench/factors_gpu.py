"""Preconditioners of a rank's own block on its GPU: an application against the CPU's and a product, and cg with them.

    python bench/factors_gpu.py                              # bench/results/factors_gpu.json
    python bench/factors_gpu.py --edges 128 --repeats 5
    python bench/factors_gpu.py --quick                      # toy inputs; without a GPU, on the CPU as a device

An application's time is the difference of a long and a short row of them. `levels` are the steps of the solve with L:
what bounds it where they are many. cg runs to rtol 1e-8 with all vectors on the GPU; M is made before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib import harness
from lib.report import Report, add_options, show_table

import penstock as ps
from penstock import _core

RTOL = 1e-8
dl = ps.dist.linalg
KINDS: dict[str, Callable[[Any], Any]] = {
    "ic0": dl.IC0,
    "ilu0": dl.ILU0,
    "ilu0 in 64 blocks": lambda D: dl.BlockJacobi(D, blocks=64, inner="ilu"),
    "dense blocks of 4": dl.BlockJacobi,
    "dense blocks of 32": lambda D: dl.BlockJacobi(D, 32),
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "none": lambda D: None,
    "jacobi": dl.Jacobi,
    "chebyshev": dl.Chebyshev,
    **{name: make for name, make in KINDS.items() if name != "ilu0"},
}


def matrices(edges: list[int], rows: int) -> Iterator[tuple[str, ps.csr_array]]:
    """Levels of every width: cubes, a square, a line, and random rows."""
    for edge in edges:
        yield f"laplacian{edge}^3", ps.generate.laplacian((edge,) * 3)
    side = int(rows**0.5)
    yield f"laplacian{side}^2", ps.generate.laplacian((side, side))
    yield "line", ps.generate.laplacian((rows,))
    rng = np.random.default_rng(4)
    at = rng.integers(0, rows, (2, 4 * rows))
    S = sp.coo_array((rng.uniform(-1, 0, 4 * rows), (at[0], at[1])), shape=(rows, rows)).tocsr()
    S = S + S.T
    yield "random", ps.csr_array(sp.csr_array(S + sp.diags_array(np.abs(S).sum(axis=1) + 0.01)))


def per_time(run: Callable[[int], Any], short: int, long: int) -> Callable[[], float]:
    def seconds(count: int) -> float:
        begin = time.perf_counter()
        run(count)
        return time.perf_counter() - begin

    def timed() -> float:  # a pause of the machine falls on one of two
        few, many = (min(seconds(count), seconds(count)) for count in (short, long))
        return (many - few) / (long - short)

    return timed


def apply_case(name: str, kind: str, D: Any, settings: Any, long: int) -> dict[str, Any]:
    M = KINDS[kind](D)
    op, core = M._native_op, D._gpu._core
    r = np.random.default_rng(1).standard_normal(D.shape[0])
    expected = M @ r
    allowed = 1e-9 * float(np.abs(expected).max())
    z, y, host = np.empty_like(r), np.empty_like(r), np.empty_like(r)

    def on_gpu(count: int) -> np.ndarray:
        _core.dist_gpu_apply(core, op, r, z, count)
        return z

    def on_cpu(count: int) -> np.ndarray:
        for _ in range(count):
            op.apply(r, host)
        return host

    def product(count: int) -> None:
        _core.dist_gpu_product(core, r, y, "plus_times", None, None, count)

    case = harness.Case(
        name=f"{name} {kind}",
        check=lambda v: 0.0 if v is None else float(np.abs(v - expected).max()) / allowed,
        about={"matrix": name, "preconditioner": kind, "rows": D.shape[0], "nnz": int(D.nnz),
               "levels": None if M.levels is None else M.levels[0], "bytes": M.nbytes},
    )  # fmt: skip
    run = harness.Contestant
    everybody = [
        run("penstock", lambda: on_gpu(1), role="ours", timed=per_time(on_gpu, 1, long)),
        run(
            "penstock_cpu",
            lambda: on_cpu(1),
            role="ours",
            timed=per_time(on_cpu, 1, long if D.shape[0] < 1000 else 5),
        ),
        run("product", lambda: product(1), role="probe", timed=per_time(product, 1, long)),
    ]
    return harness.measure(case, everybody, settings)


def solve_case(name: str, D: Any, settings: Any) -> dict[str, Any]:
    b = np.random.default_rng(1).standard_normal(D.shape[0])
    allowed = 1.05 * RTOL * float(np.linalg.norm(b))
    everybody = []
    for kind, make in MAKERS.items():
        M = make(D)

        def solve(M: Any = M) -> Any:
            return dl.cg(D, b, rtol=RTOL, M=M)

        info = solve()[1]
        notes = {"vectors": info.vectors, "iterations": info.iterations}
        everybody.append(harness.Contestant(kind, lambda f=solve: f()[0], role="ours", notes=notes))
    case = harness.Case(
        name=f"cg {name}",
        check=lambda x: float(np.linalg.norm(b - D.dot(x))) / allowed,
        about={"matrix": name, "method": "cg", "rows": D.shape[0], "nnz": int(D.nnz)},
    )
    return harness.measure(case, everybody, settings)


def table(report: Report) -> None:
    applied = []
    for case in report.data["cases"]:
        if "preconditioner" not in case:
            continue
        ms = {who: 1e3 * r["median"] for who, r in case["results"].items() if "median" in r}
        if len(ms) == 3:
            applied.append(
                [case["case"], str(case["rows"]), str(case["levels"] or ""), f"{ms['penstock']:.4f}",
                 f"{ms['penstock_cpu']:.4f}", f"{ms['product']:.4f}",
                 f"{ms['penstock'] / ms['product']:.1f}"]
            )  # fmt: skip
    header = ["M", "rows", "levels", "GPU, ms", "CPU, ms", "product, ms", "M / product"]
    show_table("One application", header, applied)
    solved = [
        [case["case"], who, r["vectors"], str(r["iterations"]), f"{1e3 * r['median']:.1f}"]
        for case in report.data["cases"]
        for who, r in case["results"].items()
        if "method" in case and "median" in r
    ]
    show_table("cg to 1e-8", ["case", "M", "vectors", "iterations", "ms"], solved)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, turn_seconds=0.0)
    parser.add_argument("--edges", default="64,128,200", help="of the Laplacian's cube")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the other matrices")
    args = parser.parse_args()
    gpu = _core.device_count() > 0
    if not gpu and not args.quick:
        raise SystemExit("no GPU can be used here; penstock.show_config() may tell why")
    if args.threads:
        ps.set_num_threads(args.threads)
    edges = [8] if args.quick else [int(e) for e in args.edges.split(",") if e]
    rows, long = (400, 301) if args.quick else (args.rows, 21)
    settings = harness.Settings(repeats=args.repeats, turn_seconds=0.0, warm_turns=False)
    given = {"edges": edges, "rows": rows, "rtol": RTOL, "device": "gpu" if gpu else "cpu"}
    report = Report("factors_gpu", args, given, ps.num_threads())

    def work(comm: Any) -> None:
        for name, a in matrices(edges, rows):
            D = ps.dist.csr_array(a, comm, device=ps.device(0) if gpu else ps.host)
            D @ np.zeros(D.shape[1])  # plans and exchanges are made
            for kind in KINDS:
                report.add(apply_case(name, kind, D, settings, long))
            if name != "line":  # as many iterations as rows without a good M
                report.add(solve_case(name, D, settings))

    ps.dist.run(work, 1)
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
