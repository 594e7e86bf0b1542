"""Eigenvalues and singular values on the CPU: penstock against SciPy (ARPACK, PROPACK) and scikit-learn, interleaved,
every result verified by its true residuals, or, of approximations, by the error of the low-rank matrix they make.

    python bench/eigen.py                  # bench/results/eigen.json
    python bench/eigen.py --cases bcsstk18 --repeats 3
    python bench/eigen.py --gpu 0 --cases eigsh --out bench/results/eigen_gpu.json     # beside CuPy
    python bench/eigen.py --quick          # toy inputs

Accurate ones run to the precision of float64 (tol=0), with each library's own defaults.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.harness import Contestant
from lib.report import Report, add_options, show_table

SYMMETRIC = ["bcsstk18", "bodyy5", "t2dah_e", "bcsstk32", "G2_circuit", "fb-Cornell5"]
SINGULAR = ["gowalla-bipartite", "lp_ken_11", "fb-Cornell5"]
ALLOWED = 1e-12  # of residuals, as a part of the largest value


def eigen_check(csr: Any, k: int) -> Callable[[Any], float]:
    """The largest residual, and the loss of orthogonality, as multiples of what is allowed."""

    def check(result: Any) -> float:
        values, vectors = result
        if vectors.shape != (csr.shape[0], k):
            raise ValueError(f"vectors have shape {vectors.shape}")
        residual = np.linalg.norm(csr @ vectors - vectors * values, axis=0).max()
        turned = abs(vectors.T @ vectors - np.eye(k)).max()
        return float(max(residual / abs(values).max(), turned) / ALLOWED)

    return check


def singular_check(csr: Any, k: int) -> Callable[[Any], float]:
    def check(result: Any) -> float:
        u, s, vh = result
        if u.shape != (csr.shape[0], k):
            raise ValueError(f"u has shape {u.shape}")
        residual = np.linalg.norm(csr @ vh.T - u * s, axis=0).max()
        other = np.linalg.norm(csr.T @ u - vh.T * s, axis=0).max()
        return float(max(residual, other) / s.max() / (1000 * ALLOWED))

    return check


def captured(csr: Any, k: int, least: float) -> Callable[[Any], float]:
    """Of an approximation: the part of the k largest values' squares that it misses, against what is allowed."""

    def check(result: Any) -> float:
        u = result[0]
        got = float(np.sum((csr.T @ u) ** 2))
        return float((1 - got / least) / 0.05) if got < least else 0.0

    return check


def eigenvalues(csr: Any, k: int, info: dict[str, Any], gpu: int | None) -> list[Contestant]:
    import scipy.sparse.linalg as sla

    import penstock as ps

    a = ps.csr_array(csr)

    def ours(name: str, block: int | None, a: Any = a) -> Contestant:
        def run() -> Any:
            *result, told = ps.linalg.eigsh(a, k=k, which="LA", block=block, return_info=True)
            info[name] = {"passes": told.passes, "columns": told.columns, "block": told.block,
                          "vectors_on": told.vectors_on}  # fmt: skip
            return result

        return Contestant(name, run, role="ours")

    def arpack() -> Any:
        passes = [0]

        def matvec(x: np.ndarray) -> np.ndarray:
            passes[0] += 1
            return csr @ x

        operator = sla.LinearOperator(csr.shape, matvec=matvec, dtype=csr.dtype)
        result = sla.eigsh(operator, k=k, which="LA")
        info["scipy_arpack"] = {"passes": passes[0]}
        return result

    if gpu is not None:
        return [
            ours("penstock", None, a.to(ps.device(gpu))),
            ours("penstock_cpu", None),
            *cupy_eigenvalues(csr, k, gpu),
        ]
    return [
        ours("penstock", None),
        ours("penstock_blocks_of_4", 4),
        Contestant("scipy_arpack", arpack),
    ]


def cupy_eigenvalues(csr: Any, k: int, gpu: int) -> list[Contestant]:
    """With its result in host memory, as ours; none where it is not installed."""
    try:
        import cupy
        import cupyx.scipy.sparse as csp
        import cupyx.scipy.sparse.linalg as csl
    except ImportError:
        return []
    with cupy.cuda.Device(gpu):
        theirs = csp.csr_matrix(csr)

    def run() -> Any:
        with cupy.cuda.Device(gpu):
            values, vectors = csl.eigsh(theirs, k=k, which="LA")
            return values.get(), vectors.get()

    return [Contestant("cupy", run)]


def singular_values(csr: Any, k: int, info: dict[str, Any]) -> list[Contestant]:
    import scipy.sparse.linalg as sla

    import penstock as ps

    a = ps.csr_array(csr)

    def run() -> Any:
        *result, told = ps.linalg.svds(a, k=k, return_info=True)
        info["penstock"] = {"passes": told.passes, "columns": told.columns, "block": told.block}
        return result

    return [
        Contestant("penstock", run, role="ours"),
        Contestant("scipy_arpack", lambda: sla.svds(csr, k=k)),
        Contestant("scipy_propack", lambda: sla.svds(csr, k=k, solver="propack")),
    ]


def approximations(csr: Any, k: int, info: dict[str, Any]) -> list[Contestant]:
    import penstock as ps

    a = ps.csr_array(csr)
    everybody = [
        Contestant("penstock", lambda: ps.linalg.randomized_svd(a, k, n_iter=4), role="ours"),
        Contestant(
            "penstock_krylov", lambda: ps.linalg.block_krylov_svd(a, k, n_iter=2), role="ours"
        ),
    ]
    try:
        from sklearn.utils.extmath import randomized_svd
    except ImportError:
        return everybody
    run = lambda: randomized_svd(csr, k, n_iter=4, random_state=0)  # noqa: E731
    return [*everybody, Contestant("sklearn_randomized", run)]


def cases(args: argparse.Namespace, report: Report) -> Any:
    """(title, matrix's name, kind, k, SciPy CSR)"""
    import penstock as ps

    if args.quick:
        csr = matrices.with_values(ps.generate.laplacian((12, 13)))
        for kind, k in (("eigsh", 4), ("svds", 4), ("randomized", 4)):
            yield "laplacian", kind, k, csr
        return
    files = matrices.data_files()
    wanted = [("eigsh", 10, name) for name in SYMMETRIC]
    wanted += [("svds", args.k, name) for name in SINGULAR]
    wanted += [("randomized", args.k, name) for name in SINGULAR]
    chosen = args.cases.split(",")
    for kind, k, name in wanted:
        if args.cases != "all" and not {kind, name, f"{kind}:{name}"} & set(chosen):
            continue
        if name not in files:
            report.skip(name, "not in the data folder: set PENSTOCK_DATA")
            continue
        csr = matrices.with_values(ps.load(files[name]))
        if kind == "eigsh" and abs(csr - csr.T).max() > 0:
            csr = csr + csr.T  # random values of a pattern
            csr.sort_indices()
        yield name, kind, k, csr


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cases", default="all", help="eigsh, svds, randomized, names of matrices, KIND:NAME"
    )
    parser.add_argument("-k", type=int, default=50, help="singular values")
    parser.add_argument("--gpu", type=int, help="eigsh of a matrix on this GPU, beside CuPy")
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    threads = args.threads or len(os.sched_getaffinity(0))
    import penstock as ps

    if args.gpu is not None and args.gpu >= ps._core.device_count():
        parser.error(f"--gpu {args.gpu}: {ps._core.device_count()} GPUs can be used here")
    ps.set_num_threads(threads)
    try:
        settings = harness.Settings(args.repeats, args.turn_seconds, warm_turns=False, seconds=15.0)
    except ValueError as e:
        parser.error(str(e))
    report = Report("eigen", args, vars(settings), threads)
    makers = {
        "eigsh": partial(eigenvalues, gpu=args.gpu),
        "svds": singular_values,
        "randomized": approximations,
    }
    for name, kind, k, csr in cases(args, report):
        info: dict[str, Any] = {}
        make = makers[kind]
        if kind == "randomized":
            best = ps.linalg.svds(ps.csr_array(csr), k=k, return_singular_vectors=False)
            check = captured(csr, k, float(np.sum(best**2)))
        else:
            check = (eigen_check if kind == "eigsh" else singular_check)(csr, k)
        case = harness.Case(
            name=f"{kind} {name}",
            check=check,
            about={"matrix": name, "kind": kind, "k": k, "rows": csr.shape[0],
                   "cols": csr.shape[1], "nnz": int(csr.nnz)},
        )  # fmt: skip
        entry = harness.measure(case, make(csr, k, info), settings)
        for who, more in info.items():
            entry["results"][who] |= more
        report.add(entry)
        print(_line(entry), flush=True)
    report.write()
    header = ["case", "ours ms", "best rival ms", "best rival", "ratio"]
    show_table(
        "Whole calls; ratio = best rival's time / ours",
        header,
        [_row(c) for c in report.data["cases"]],
    )
    return 1 if report.failed() or not report.data["cases"] else 0


def _line(entry: dict[str, Any]) -> str:
    cells = [
        f"{who} {r['median'] * 1e3:.4g} ms" + (f" ({r['passes']} passes)" if "passes" in r else "")
        for who, r in entry["results"].items()
        if "median" in r
    ]
    return f"{entry['case']}: " + ", ".join(cells)


def _row(entry: dict[str, Any]) -> list[str]:
    results, best = entry["results"], entry["best_rival"]
    times = [
        f"{results[who]['median'] * 1e3:.4g}" if "median" in results.get(who, {}) else "-"
        for who in ("penstock", best)
    ]
    ratio = entry["ratios"].get("penstock")
    return [entry["case"], *times, best or "-", f"{ratio:.2f}" if ratio else "-"]


if __name__ == "__main__":
    raise SystemExit(main())
