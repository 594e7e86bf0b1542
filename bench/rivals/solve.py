"""Who takes part in the benchmark of solvers. A maker takes a Problem and returns a Contestant whose
run() solves it once; it raises ImportError where its package is missing, and UnsupportedError where
it has no way to do the case."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from lib.fifo_ranks import FifoRanks
from lib.harness import Contestant


class UnsupportedError(Exception):
    """This contestant has no way to do this case."""


@dataclass
class Problem:
    """A x = b from x = 0. `precond` is none, jacobi, ilu0, ic0 or amg; `iterations` receives what each solve took.
    With multigrid a run() sets up and solves, and `setup_shares` receives what part of it was the set-up."""

    csr: Any
    b: np.ndarray
    method: str
    precond: str
    rtol: float
    restart: int
    maxiter: int
    shift: float = 0.0
    iterations: dict[str, int] = field(default_factory=dict)
    more: dict[str, dict[str, Any]] = field(default_factory=dict)
    setup_shares: dict[str, list[float]] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.csr.shape[0]

    @contextlib.contextmanager
    def run_of(self, name: str) -> Iterator[Callable[[], None]]:
        """A run that sets up, calls what this gives, and solves."""
        moments = [time.perf_counter()]
        yield lambda: moments.append(time.perf_counter())
        begin, ready = moments
        share = (ready - begin) / (time.perf_counter() - begin)
        self.setup_shares.setdefault(name, []).append(share)


def _ours(name: str, problem: Problem, prepare: bool, parts: bool = False) -> Contestant:
    import penstock as ps

    a = ps.csr_array(problem.csr)
    begin = time.perf_counter()
    m: Any = None
    if problem.precond == "jacobi":
        m = ps.linalg.Jacobi(a)
    elif problem.precond != "none":
        if parts:
            m = ps.linalg.BlockJacobi(a, inner="ilu", shift=problem.shift)
        else:
            made = ps.linalg.ILU0 if problem.precond == "ilu0" else ps.linalg.IC0
            m = made(a, shift=problem.shift)
    setup = time.perf_counter() - begin
    how: dict[str, Any] = {"restart": problem.restart} if problem.method == "gmres" else {}
    limit = problem.maxiter // (problem.restart if problem.method == "gmres" else 1)

    def run() -> np.ndarray:
        x, info = getattr(ps.linalg, problem.method)(
            a, problem.b, rtol=problem.rtol, M=m, maxiter=max(limit, 1), prepare=prepare, **how
        )
        problem.iterations[name] = info.iterations
        entries = problem.n * problem.b.itemsize * max(info.iterations, 1)
        problem.more[name] = {"vectors_per_iteration": info.vector_bytes / entries}
        return x

    return Contestant(name, run, role="ours", prepare_seconds=setup)


def _our_multigrid(problem: Problem) -> Contestant:
    import penstock as ps

    a = ps.csr_array(problem.csr)

    def run() -> np.ndarray:
        with problem.run_of("penstock") as is_set_up:
            m = ps.linalg.AMG(a)
            is_set_up()
            x, info = ps.linalg.cg(a, problem.b, rtol=problem.rtol, M=m, maxiter=problem.maxiter)
        problem.iterations["penstock"] = info.iterations
        return x

    return Contestant("penstock", run, role="ours")


def penstock(problem: Problem) -> Contestant:
    if problem.precond == "amg":
        return _our_multigrid(problem)
    return _ours("penstock", problem, True)


def penstock_named(problem: Problem) -> Contestant:
    """M="amg", which decides itself whether it makes levels; the set-up is within the solve."""
    import penstock as ps

    if (problem.method, problem.precond) != ("cg", "amg"):
        raise UnsupportedError("a name decides for multigrid only")
    a = ps.csr_array(problem.csr)

    def run() -> np.ndarray:
        x, info = ps.linalg.cg(a, problem.b, rtol=problem.rtol, M="amg", maxiter=problem.maxiter)
        problem.iterations["penstock_named"] = info.iterations
        return x

    return Contestant("penstock_named", run, role="ours")


def penstock_unprepared(problem: Problem) -> Contestant:
    if problem.precond == "amg":
        raise UnsupportedError("multigrid always prepares its levels")
    return _ours("penstock_unprepared", problem, False)


def penstock_blocks(problem: Problem) -> Contestant:
    if problem.precond not in ("ilu0", "ic0"):
        raise UnsupportedError("block Jacobi is compared where the others factor")
    return _ours("penstock_blocks", problem, True, parts=True)


def scipy(problem: Problem) -> Contestant:
    import scipy.sparse.linalg as sla

    if problem.method == "pipecg":
        raise UnsupportedError("SciPy has no pipelined CG")
    m, setup = None, 0.0
    if problem.precond == "jacobi":
        inverse = 1 / problem.csr.diagonal()
        m = sla.LinearOperator(
            problem.csr.shape, matvec=lambda v: inverse * v, dtype=problem.b.dtype
        )
    elif problem.precond != "none":
        raise UnsupportedError("SciPy has no incomplete factors on the matrix's own pattern")
    how: dict[str, Any] = {"rtol": problem.rtol, "M": m, "maxiter": problem.maxiter}
    if problem.method == "gmres":
        how |= {"restart": problem.restart, "maxiter": problem.maxiter // problem.restart,
                "callback_type": "pr_norm"}  # fmt: skip

    def run() -> np.ndarray:
        steps = [0]

        def count(_: Any) -> None:
            steps[0] += 1

        x, _ = getattr(sla, problem.method)(problem.csr, problem.b, callback=count, **how)
        problem.iterations["scipy"] = steps[0]
        return x

    return Contestant("scipy", run, prepare_seconds=setup)


def pyamg(problem: Problem) -> Contestant:
    """CG with one V cycle of smoothed aggregation: another iteration, the same answer."""
    import pyamg as amg
    import scipy.sparse as sp

    if problem.method != "cg" or problem.precond == "none":
        raise UnsupportedError("multigrid is compared with preconditioned CG")
    csr = sp.csr_matrix(problem.csr)

    def solved(levels: Any) -> np.ndarray:
        norms: list[float] = []
        # Its own test is of the preconditioned norm: a tenth of the tolerance leaves room.
        x = levels.solve(
            problem.b, tol=0.1 * problem.rtol, accel="cg", residuals=norms, maxiter=300
        )
        problem.iterations["pyamg"] = len(norms) - 1
        return x

    def set_up_and_solved() -> np.ndarray:
        with problem.run_of("pyamg") as is_set_up:
            levels = amg.smoothed_aggregation_solver(csr)
            is_set_up()
            return solved(levels)

    if problem.precond == "amg":
        return Contestant("pyamg", set_up_and_solved)
    begin = time.perf_counter()
    levels = amg.smoothed_aggregation_solver(csr)
    setup = time.perf_counter() - begin

    return Contestant("pyamg", lambda: solved(levels), prepare_seconds=setup)


def mpirun_of(python: str) -> str:
    """The launcher of that Python's MPI, which stands beside a system's."""
    return shutil.which("mpirun", path=str(Path(python).parent)) or "mpirun"


class PetscWorker(FifoRanks):
    """PETSc in processes of its own: see petsc/worker.py. `cuts`: the ranks' first rows, and the end."""

    def __init__(
        self, python: str, ranks: int, problem: Problem, cuts: np.ndarray | None = None
    ) -> None:
        def command(folder: Path) -> list[str]:
            root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
            script = str(Path(__file__).parent / "petsc" / "worker.py")
            mpirun = [mpirun_of(python), *root, "--oversubscribe", "-n", str(ranks)]
            return [*mpirun, python, script, str(folder)]

        def fill(folder: Path) -> None:
            csr = problem.csr
            arrays = {"indptr": csr.indptr.astype(np.int64), "indices": csr.indices,
                      "data": csr.data, "b": problem.b}  # fmt: skip
            for name, array in (arrays | ({} if cuts is None else {"cuts": cuts})).items():
                np.save(folder / f"{name}.npy", array)

        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        environment["OMP_NUM_THREADS"] = "1"
        super().__init__("the PETSc worker", ranks, command, fill, environment)


_KSP = {"cg": "cg", "pipecg": "pipecg", "bicgstab": "bcgs", "gmres": "gmres"}
_PC = {
    "none": ("none", ""),
    "jacobi": ("jacobi", ""),
    "ilu0": ("bjacobi", "ilu"),
    "ic0": ("bjacobi", "icc"),
    "gamg": ("gamg", ""),
    "hypre": ("hypre", ""),
}
PETSC_MULTIGRID = ("gamg", "hypre")


@contextlib.contextmanager
def petsc(python: str, ranks: int, problem: Problem, multigrid: str = "") -> Iterator[Contestant]:
    """With several ranks, ILU(0) and ICC(0) are block Jacobi's, a block a rank, as PETSc has them by default.
    `multigrid`: one of `PETSC_MULTIGRID`, hypre being its BoomerAMG, all with the options that they come with."""
    name = f"petsc_{ranks}" + (f"_{multigrid}" if multigrid else "")
    if problem.shift:
        raise UnsupportedError("the shifts of PETSc's factors are others")
    worker = PetscWorker(python, ranks, problem)
    try:
        pc, sub = _PC[multigrid or problem.precond]

        def set_up() -> float:
            return worker.ask(do="setup", ksp=_KSP[problem.method], pc=pc, sub=sub, rtol=problem.rtol,
                              restart=problem.restart, maxiter=problem.maxiter)["seconds"]  # fmt: skip

        setup = 0.0 if multigrid else set_up()

        def run() -> None:
            problem.iterations[name] = worker.ask(do="solve")["iterations"]

        def set_up_and_run() -> None:
            with problem.run_of(name) as is_set_up:
                set_up()
                is_set_up()
                run()

        def fetch(_: Any) -> np.ndarray:
            worker.ask(do="fetch")
            return np.load(worker.folder / "x.npy")

        yield Contestant(
            name, set_up_and_run if multigrid else run, result=fetch, prepare_seconds=setup
        )
    finally:
        worker.close()


MAKERS: dict[str, Callable[[Problem], Contestant]] = {
    "penstock": penstock,
    "penstock_named": penstock_named,
    "penstock_unprepared": penstock_unprepared,
    "penstock_blocks": penstock_blocks,
    "scipy": scipy,
    "pyamg": pyamg,
}
