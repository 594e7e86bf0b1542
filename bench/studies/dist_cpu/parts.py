"""Products and solves of bench/dist_cpu.py, against PETSc. Each adds a case to the report."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from lib import harness
from lib.report import Report
from lib.solving import residual_check
from rivals.solve import Problem

import penstock as ps
from studies.dist_cpu.crews import our_ranks, petsc_ranks, products, solves


def product_check(csr: Any, x: np.ndarray) -> Any:
    """Over what rounding allows, row by row, whatever the order of summation."""
    right = csr @ x
    size = abs(csr) @ abs(x)
    allowed = 2 * (np.diff(csr.indptr) + 2) * np.finfo(float).eps * size + 1e-300

    def check(y: np.ndarray) -> float:
        if y.shape != right.shape:
            raise ValueError(f"y has shape {y.shape}, not {right.shape}")
        return float(np.max(abs(y - right) / allowed, initial=0.0))

    return check


def about_case(part: str, name: str, csr: Any, ranks: int, **more: Any) -> dict[str, Any]:
    rows, nnz = csr.shape[0], int(csr.nnz)
    return {"part": part, "matrix": name, "rows": rows, "nnz": nnz, "ranks": ranks, **more}


def _rival(stack: contextlib.ExitStack, args: Any, report: Report, name: str, problem: Problem,
           ranks: int | None = None) -> Any:  # fmt: skip
    """PETSc's ranks, or None where there are none."""
    ranks = ranks or args.ranks
    cuts = ps.partition.balanced(ps.csr_array(problem.csr), ranks).row_cuts
    try:
        crew = petsc_ranks(args.petsc_python, problem, np.asarray(cuts), ranks)
    except ImportError as e:
        report.skip("petsc", str(e))
        return None
    stack.callback(crew.close)
    return crew


@contextlib.contextmanager
def _stored(csr: Any) -> Iterator[tuple[str, contextlib.ExitStack]]:
    """A store of the matrix, and what is closed before it goes."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-dist-") as folder,
        contextlib.ExitStack() as stack,
    ):
        store = str(Path(folder) / "a.penstock")
        ps.save(store, ps.csr_array(csr))
        yield store, stack


def spmv(args: Any, report: Report, settings: harness.Settings, name: str, csr: Any) -> None:
    x = np.random.default_rng(5).uniform(-1, 1, csr.shape[1])
    work = 2.0 * csr.nnz
    with _stored(csr) as (store, s):
        everybody = []
        for how in ("mpi", "threads"):
            crew = our_ranks(how, args.ranks, x)
            s.callback(crew.close)
            for prepare in (False, True):
                who = "penstock" + {"mpi": "", "threads": "_threads"}[how] + "_prepared" * prepare
                notes = crew.ask(do="open", name=who, source=store, prepare=prepare)
                notes.pop("seconds")
                everybody.append(products(who, crew, settings.turn_seconds, name=who, notes=notes))
        rival = _rival(s, args, report, name, Problem(csr, x, "", "", 0, 0, 0))
        if rival:
            everybody.append(products("petsc", rival, settings.turn_seconds, "rival"))
        about = about_case("spmv", name, csr, args.ranks)
        case = harness.Case(f"{name} A x", product_check(csr, x), work=work, about=about)
        report.add(harness.measure(case, everybody, settings))


def spgemm(args: Any, report: Report, settings: harness.Settings, name: str, csr: Any) -> None:
    """A A, from tiles and from PETSc's rows; each call allocates its result."""
    x = np.random.default_rng(5).uniform(-1, 1, csr.shape[1])
    right, size = csr @ (csr @ x), abs(csr) @ (abs(csr) @ abs(x))
    longest = int(np.diff(csr.indptr).max(initial=0))
    allowed = 4 * (longest + 2) * np.finfo(float).eps * size + 1e-300
    work = 2 * float(np.diff(csr.indptr)[csr.indices].sum())

    def check(y: np.ndarray) -> float:
        return float(np.max(abs(y - right) / allowed, initial=0.0))

    ranks = args.spgemm_ranks
    with _stored(csr) as (store, s):
        everybody = []
        for how, who in (("mpi", "penstock"), ("threads", "penstock_threads")):
            crew = our_ranks(how, ranks, x)
            s.callback(crew.close)
            notes = crew.ask(do="tiles", source=store)
            notes.pop("seconds")
            notes |= {"algorithm": crew.ask(do="square", calls=1)["algorithm"]}
            everybody.append(products(who, crew, settings.turn_seconds, do="square", notes=notes))
        rival = _rival(s, args, report, name, Problem(csr, x, "", "", 0, 0, 0), ranks)
        if rival:
            everybody.append(products("petsc", rival, settings.turn_seconds, "rival", do="square"))
        about = about_case("spgemm", name, csr, ranks, products=work / 2)
        case = harness.Case(f"{name} A A", check, work=work, about=about)
        report.add(harness.measure(case, everybody, settings))


def cg(args: Any, report: Report, settings: harness.Settings, name: str, csr: Any) -> None:
    laplacian = name.startswith("laplacian")
    b = np.ones(csr.shape[0]) if laplacian else csr @ np.ones(csr.shape[0])
    m = "none" if laplacian else "jacobi"
    problem = Problem(csr, b, "cg", m, args.rtol, 0, args.maxiter)
    steps: dict[str, int] = {}
    with _stored(csr) as (store, s):
        everybody = []
        for how, who in (("mpi", "penstock"), ("threads", "penstock_threads")):
            crew = our_ranks(how, args.ranks, b)
            s.callback(crew.close)
            crew.ask(do="open", name=who, source=store, prepare=False)
            everybody.append(solves(who, crew, settings.turn_seconds, "ours", steps, name=who, rtol=args.rtol,
                                    maxiter=args.maxiter, M=None if m == "none" else m))  # fmt: skip
        rival = _rival(s, args, report, name, problem)
        if rival:
            rival.ask(do="setup", ksp="cg", pc=m, sub="", rtol=args.rtol, restart=0,
                      maxiter=args.maxiter)  # fmt: skip
            everybody.append(solves("petsc", rival, settings.turn_seconds, "rival", steps))
        about = about_case("cg", name, csr, args.ranks, preconditioner=m, rtol=args.rtol)
        case = harness.Case(f"{name} cg", residual_check(csr, b, args.rtol), about=about)
        entry = harness.measure(case, everybody, settings)
    for who, r in entry["results"].items():
        if "median" in r:
            r |= {"iterations": steps[who], "seconds_per_iteration": r["median"] / steps[who]}
    report.add(entry)
