"""Who takes part in bench/dist_cpu.py: our ranks as processes and as threads, and PETSc's; each a program."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from lib.fifo_ranks import FifoRanks
from lib.harness import Contestant
from rivals.solve import PetscWorker, Problem

import penstock as ps

WORKER = Path(__file__).with_name("worker.py")


def our_ranks(how: str, ranks: int, b: np.ndarray | None = None) -> FifoRanks:
    """`how`: "mpi" or "threads"."""

    def command(folder: Path) -> list[str]:
        if how == "threads":
            return [sys.executable, str(WORKER), str(folder), str(ranks)]
        run = [sys.executable, "-m", "penstock", "run", "-n", str(ranks)]
        return [*run, str(WORKER), str(folder)]

    def fill(folder: Path) -> None:
        if b is not None:
            np.save(folder / "b.npy", b)

    package = str(Path(ps.__file__).resolve().parent.parent)
    path = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
    return FifoRanks(
        f"penstock on {ranks} ranks ({how})", ranks, command, fill,
        {**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def products(
    who: str,
    crew: FifoRanks,
    turn_seconds: float,
    role: str = "ours",
    key: str = "seconds",
    do: str = "multiply",
    notes: dict[str, Any] | None = None,
    **command: Any,
) -> Contestant:
    """Products in a row, as many as fill a turn. `key` of the answer: "seconds" of all calls, or "cpu" of one."""
    crew.ask(do=do, calls=1, **command)
    once = crew.ask(do=do, calls=1, **command)["seconds"]
    calls = max(1, math.ceil(turn_seconds / max(once, 1e-6)))

    def timed() -> float:
        answer = crew.ask(do=do, calls=calls, **command)
        return float(answer["cpu"] if key == "cpu" else answer["seconds"] / calls)

    return Contestant(
        who, lambda: crew.ask(do=do, calls=1, **command), role, result=fetcher(crew), timed=timed,
        prepare_seconds=(notes or {}).pop("prepare_seconds", None),
        notes={**(notes or {}), "calls": calls},
    )  # fmt: skip


def fetcher(crew: FifoRanks) -> Callable[[Any], np.ndarray]:
    def fetch(_: Any) -> np.ndarray:
        crew.ask(do="fetch")
        return np.load(crew.folder / "x.npy")

    return fetch


def solves(
    who: str,
    crew: FifoRanks,
    turn_seconds: float,
    role: str,
    iterations: dict[str, int],
    **command: Any,
) -> Contestant:
    """Solves from zero, as many as fill a turn; seconds are of one. The first solve, which is not timed, prepares.
    `iterations` receives what one took."""

    def solve(calls: int) -> float:
        answer = crew.ask(do="solve", calls=calls, **command)
        iterations[who] = answer["iterations"]
        return float(answer["seconds"]) / calls

    solve(1)
    calls = max(1, math.ceil(turn_seconds / max(solve(1), 1e-6)))
    return Contestant(
        who, lambda: solve(1), role, result=fetcher(crew), timed=lambda: solve(calls),
        notes={"calls": calls},
    )  # fmt: skip


def petsc_ranks(python: str | None, problem: Problem, cuts: np.ndarray, ranks: int) -> PetscWorker:
    """PETSc with our rows on each rank."""
    if python is None:
        raise ImportError("--petsc-python does not name a Python that has petsc4py")
    return PetscWorker(python, ranks, problem, cuts)
