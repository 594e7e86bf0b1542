"""Krylov solvers on the CPU: penstock against SciPy, PETSc (1 and 2 MPI ranks) and pyamg, to the same tolerance, every
result verified by its true residual.

    python bench/solve_cpu.py --petsc-python /usr/bin/python3    # bench/results/solve_cpu.json
    python bench/solve_cpu.py --cases laplacian --size 64 --repeats 3
    python bench/solve_cpu.py --quick                            # toy inputs

PETSc runs as a process of its own under mpirun, in the Python that has petsc4py (often the system's; PETSC_DIR may have
to name its folder); without --petsc-python it is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from lib.solving import residual_check
from rivals.solve import MAKERS, PETSC_MULTIGRID, Problem, UnsupportedError, petsc

# (method, preconditioner)
LAPLACIAN = [("cg", "none"), ("cg", "jacobi"), ("pipecg", "jacobi"), ("cg", "ic0"), ("bicgstab", "none"),
             ("gmres", "ilu0"), ("cg", "amg")]  # fmt: skip
_SYMMETRIC = [("cg", "jacobi"), ("cg", "ic0"), ("cg", "amg")]
# The file, its cases, and the shift without which its factors break down.
SPD = {
    "G2_circuit": (_SYMMETRIC, 0.0),
    "bodyy5": (_SYMMETRIC, 0.0),
    "bcsstk14": (_SYMMETRIC, 0.01),
    "bcsstk18": (_SYMMETRIC, 0.05),
    "t2dah_e": (_SYMMETRIC, 0.05),
}
GENERAL = {
    "trilinos-nsjac": ([("gmres", "ilu0"), ("bicgstab", "ilu0")], 0.0),
    "trilinos-modified": ([("gmres", "ilu0"), ("bicgstab", "ilu0")], 0.0),
    "trilinos-circuit1": ([("gmres", "ilu0")], 0.1),
    "sherman5": ([("gmres", "ilu0"), ("bicgstab", "ilu0")], 0.0),
    "xenon1": ([("gmres", "ilu0"), ("bicgstab", "ilu0")], 0.1),
}
RTOL, RESTART, MAXITER = 1e-8, 30, 3000


def petsc_names(args: argparse.Namespace, precond: str) -> list[str]:
    """A contestant for each number of ranks and, as multigrid, for each method that PETSc has."""
    kinds = [f"_{kind}" for kind in PETSC_MULTIGRID] if precond == "amg" else [""]
    return [f"petsc_{r}{kind}" for r in args.petsc_ranks for kind in kinds]


def run_case(
    name: str,
    csr: Any,
    method: str,
    precond: str,
    shift: float,
    args: argparse.Namespace,
    settings: harness.Settings,
    report: Report,
) -> None:
    b = np.ones(csr.shape[0]) if name.startswith("laplacian") else csr @ np.ones(csr.shape[0])
    problem = Problem(csr, b, method, precond, args.rtol, RESTART, args.maxiter, shift)
    title = f"{name} {method}" + ("" if precond == "none" else f" + {precond}")
    with contextlib.ExitStack() as stack:
        contestants = []
        for key in [*MAKERS, *petsc_names(args, precond)]:
            if args.contestants and key not in args.contestants.split(","):
                continue
            try:
                if key in MAKERS:
                    contestants.append(MAKERS[key](problem))
                elif args.petsc_python:
                    ranks, *kind = key.split("_")[1:]
                    contestants.append(
                        stack.enter_context(petsc(args.petsc_python, int(ranks), problem, *kind))
                    )
            except (ImportError, RuntimeError) as e:
                if key.startswith("penstock"):
                    raise
                report.skip(key, str(e))
            except ValueError as e:  # a factor that does not exist: said by its maker
                report.skip(f"{key} {title}", str(e))
            except UnsupportedError as e:
                report.skip(f"{key} {method} {precond}", str(e))
        case = harness.Case(
            name=title,
            check=residual_check(csr, b, args.rtol),
            about={"matrix": name, "method": method, "preconditioner": precond, "shift": shift,
                   "rtol": args.rtol, "rows": csr.shape[0], "nnz": int(csr.nnz)},
        )  # fmt: skip
        entry = harness.measure(case, contestants, settings)
    for key, result in entry["results"].items():
        result["iterations"] = problem.iterations.get(key)
        result |= problem.more.get(key, {})
        if key in problem.setup_shares and "median" in result:
            result["setup_seconds"] = (
                statistics.median(problem.setup_shares[key]) * result["median"]
            )
        if result["iterations"] and "median" in result:
            result["seconds_per_iteration"] = result["median"] / result["iterations"]
            result["setup_and_solve"] = result["median"] + (result.get("prepare_seconds") or 0)
    entry["ratio_per_iteration"] = None if precond == "amg" else per_iteration(entry["results"])
    add(report, entry)
    print(_line(entry), flush=True)


def per_iteration(results: dict[str, Any]) -> float | None:
    """Best rival's time an iteration / ours; multigrid's iterations are no measure."""
    times = {k: r["seconds_per_iteration"] for k, r in results.items()
             if r["status"] == "ok" and "seconds_per_iteration" in r and k != "pyamg"}  # fmt: skip
    rivals = [t for k, t in times.items() if results[k]["role"] == "rival"]
    return min(rivals) / times["penstock"] if rivals and "penstock" in times else None


def add(report: Report, entry: dict[str, Any]) -> None:
    """A case that nobody solves is a finding about the matrix, not a failure of the benchmark."""
    if entry["results"] and all(r["status"] != "ok" for r in entry["results"].values()):
        report.skip(entry["case"], "nobody reached the tolerance in the iterations allowed")
        return
    report.add(entry)


def _line(entry: dict[str, Any]) -> str:
    cells = [
        f"{key} {r['median'] * 1e3:.3g} ms ({r['iterations']} x {r['seconds_per_iteration'] * 1e3:.3g})"
        for key, r in entry["results"].items()
        if "seconds_per_iteration" in r
    ]
    return f"{entry['case']}: " + ", ".join(cells)


def inputs(args: argparse.Namespace, report: Report) -> Any:
    """(name, SciPy CSR, cases, shift)"""
    from penstock import generate

    groups = args.cases.split(",")
    edge = 12 if args.quick else args.size
    if {"all", "laplacian"} & set(groups):
        csr = matrices.with_values(generate.laplacian((edge, edge, edge)))
        yield f"laplacian{edge}", csr, LAPLACIAN, 0.0
    if args.quick:
        return
    files = matrices.data_files()
    wanted = {**(SPD if {"all", "spd"} & set(groups) else {}),
              **(GENERAL if {"all", "general"} & set(groups) else {})}  # fmt: skip
    wanted |= {k: v for k, v in {**SPD, **GENERAL}.items() if k in groups}
    for name, (cases, shift) in wanted.items():
        if name not in files:
            report.skip(name, "not in the data folder: set PENSTOCK_DATA")
            continue
        import penstock as ps

        yield name, matrices.with_values(ps.load(files[name])), cases, shift


def table(report: Report) -> None:
    rows = []
    for case in report.data["cases"]:
        results, best = case["results"], case["best_rival"]
        cells = [case["case"]]
        for name in ("penstock", best):
            r = results.get(name, {})
            each = r.get("seconds_per_iteration")
            cells += [f"{each * 1e3:.3g}" if each else "-", str(r.get("iterations", "-"))]
            cells.append(f"{r['median'] * 1e3:.4g}" if "median" in r else "-")
        cells.append(best or "-")
        ratio, each = case["ratios"].get("penstock"), case["ratio_per_iteration"]
        cells += [f"{ratio:.2f}" if ratio else "-", f"{each:.2f}" if each else "-"]
        rows.append(cells)
    header = [
        "case",
        "ours ms/it",
        "its",
        "ms",
        "rival ms/it",
        "its",
        "ms",
        "best rival",
        "ratio",
        "ratio/it",
    ]
    show_table(
        "Solves to the same tolerance, set-up apart (with multigrid included); ratio = best rival's time / ours",
        header,
        rows,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cases", default="all", help="laplacian, spd, general, names of matrices, or all"
    )
    parser.add_argument(
        "--methods", default="", help="such as cg:none,gmres:ilu0; all where it is empty"
    )
    parser.add_argument("--size", type=int, default=128, help="edge of the 3-D Laplacian")
    parser.add_argument("--rtol", type=float, default=RTOL)
    parser.add_argument("--maxiter", type=int, default=MAXITER)
    parser.add_argument("--contestants", default="", help="names; all where it is empty")
    parser.add_argument(
        "--petsc-python", help="a Python that has petsc4py; PETSc is left out without"
    )
    parser.add_argument("--petsc-ranks", type=int, nargs="*", default=[1, 2])
    add_options(parser, turn_seconds=0.2)
    args = parser.parse_args()
    threads = args.threads or len(os.sched_getaffinity(0))
    import penstock as ps

    ps.set_num_threads(threads)
    known = {*MAKERS, *petsc_names(args, ""), *petsc_names(args, "amg")}
    if args.contestants and (unknown := set(args.contestants.split(",")) - known):
        parser.error(
            f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(sorted(known))}"
        )
    try:
        settings = harness.Settings(
            args.repeats, 0.0 if args.quick else args.turn_seconds, warm_turns=False
        )
    except ValueError as e:
        parser.error(str(e))
    about = {**vars(settings), "rtol": args.rtol, "restart": RESTART, "maxiter": args.maxiter}
    report = Report("solve_cpu", args, about, threads)
    for name, csr, cases, shift in inputs(args, report):
        for method, precond in cases:
            if args.methods and f"{method}:{precond}" not in args.methods.split(","):
                continue
            needs = shift if precond in ("ilu0", "ic0") else 0.0
            run_case(name, csr, method, precond, needs, args, settings, report)
    report.write()
    table(report)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
