"""Products y = A x for bench/buono2017.py: prepared by schedules or algorithms, timed against one another,
verified row by row, each with its prediction and its trace."""

from __future__ import annotations

import copy
import gc
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from lib import harness

import penstock as ps
from studies.buono2017 import matrices
from studies.buono2017.reference import random_numbers
from studies.buono2017.runs import Run


def vector(run: Run, n: int, dtype: Any) -> np.ndarray:
    """Host memory for x or y: pinned where there is a GPU, so that it travels at the speed of the link."""
    return np.empty(n, dtype) if run.on_host else ps.empty(n, dtype, place=ps.pinned)


def gpu_library(run: Run) -> Any:
    """CuPy, for vectors on a GPU; None, and said, where there is none."""
    if run.on_host:
        return None
    try:
        import cupy
    except ImportError:
        run.report.skip("vectors on the GPU", "CuPy is not installed")
        return None
    return cupy


def trace_of(who: harness.Contestant) -> dict[str, Any]:
    """What one more product did. RuntimeError where it had a plan and went another way."""
    with ps.record() as events:
        who.run()
    if "schedule" in who.notes and not events[-1].get("devices"):
        raise RuntimeError(f"its plan was not used, but {events[-1]['schedule']}")
    return events[-1]


@dataclass
class Prepared:
    """A matrix with one plan, under one budget. The plan goes with it."""

    matrix: Any
    algorithm: str
    budget: int | None
    seconds: float  # to get ready
    predicted: float  # seconds of a product

    def into(self, x: Any, y: Any) -> Any:
        with ps.options(device_memory=self.budget):
            return self.matrix.dot(x, out=y, algorithm=self.algorithm)


class Product:
    """One matrix with its vectors and the reference of its result; makes contestants and measures them."""

    def __init__(self, run: Run, a: Any, name: str) -> None:
        self.run, self.a, self.name = run, a, name
        dtype = np.dtype(np.float64) if a.dtype == np.bool_ else a.dtype
        self.x, self.y = vector(run, a.shape[1], dtype), vector(run, a.shape[0], dtype)
        self.x[:] = random_numbers(a.shape[1], 5, dtype)
        self.reference = run.shelf.reference(a, self.x)
        self._packed: Any = None  # once for all plans of this matrix

    def case(self, **about: Any) -> harness.Case:
        a = self.a
        kind = "pattern" if a.dtype == np.bool_ else str(a.dtype)
        return harness.Case(
            self.name, self.reference.check, 2.0 * a.nnz, a.nbytes + self.x.nbytes + self.y.nbytes,
            about={"dtype": kind, "rows": a.shape[0], "cols": a.shape[1], "nnz": a.nnz,
                   "matrix_bytes": a.nbytes, "reference_seconds": self.reference.seconds, **about},
        )  # fmt: skip

    def prepared(
        self,
        schedule: Any = None,
        algorithm: str = "auto",
        budget: int | None = None,
        products: int = 100,
        x: Any = None,
    ) -> Prepared:
        """By a schedule, or by an algorithm of the CPU. `x`: like the vectors that follow, for the prediction."""
        on_cpu, x = schedule is None, self.x if x is None else x
        budget = budget or ps.options.device_memory
        mine = matrices.unprepared(self.a) if on_cpu else copy.copy(self.a)
        if self._packed is not None:
            mine._derived.packed = self._packed
        begin = time.perf_counter()
        with ps.options(device_memory=budget):
            if on_cpu:
                mine.prepare(algorithm)
            else:
                mine.prepare(schedule=schedule, products=products)
            seconds = time.perf_counter() - begin
            predicted = mine.explain(x, schedule=ps.InCore() if on_cpu else schedule).seconds
        self._packed = mine._derived.packed or self._packed
        return Prepared(mine, algorithm, budget, seconds, predicted)

    def contestant(
        self, name: str, schedule: Any = None, *, role: str = "ours", **how: Any
    ) -> harness.Contestant:
        """A product, vectors in host memory; `how` as of `prepared`."""
        ready = self.prepared(schedule, **how)
        return harness.Contestant(
            name, lambda: ready.into(self.x, self.y), role, prepare_seconds=ready.seconds,
            reset=lambda: self.y.fill(np.nan),
            notes={"predicted_seconds": ready.predicted, **({"schedule": str(schedule)} if schedule else {})},
        )  # fmt: skip

    def in_a_row(
        self, name: str, schedule: Any, library: Any, times: int, budget: int | None = None
    ) -> harness.Contestant:
        """One of `times` products, each result the next x; vectors on the GPU where there is a library for them.
        Verified is one product."""
        at = [vector(self.run, len(self.x), self.x.dtype) for _ in range(2)]
        if library:
            at = [library.empty(len(self.x), self.x.dtype) for _ in range(2)]
        ready = self.prepared(schedule, budget=budget, products=times, x=at[0])

        def put(x: np.ndarray) -> None:
            if library:
                at[0].set(x)
            else:
                np.copyto(at[0], x)

        def once() -> np.ndarray:
            put(self.x)
            at[1].fill(np.nan)
            y = ready.into(at[0], at[1])
            return y.get() if library else y

        def timed() -> float:
            put(self.x)
            if library:
                library.cuda.runtime.deviceSynchronize()
            begin = time.perf_counter()
            for i in range(times):
                ready.into(at[i % 2], at[1 - i % 2])
            if library:
                library.cuda.runtime.deviceSynchronize()
            return (time.perf_counter() - begin) / times

        notes = {"predicted_seconds": ready.predicted, "schedule": str(schedule)}
        return harness.Contestant(
            name, once, "ours", timed=timed, prepare_seconds=ready.seconds, notes=notes
        )

    def measure(
        self, wanted: dict[str, dict[str, Any]], seconds: float, **about: Any
    ) -> dict[str, Any]:
        """One case of contestants by name, as `contestant` makes them, or `in_a_row` where `times` is given;
        with a trace of one more product of each. For want of memory they are left out, and named; another error
        is a failure."""
        people, failed = [], {}
        for name, how in wanted.items():
            try:
                people.append(
                    self.in_a_row(name, **how) if "times" in how else self.contestant(name, **how)
                )
            except MemoryError as e:
                self.run.report.skip(f"{self.name}: {name}", str(e))
            except Exception as e:
                reason = f"{type(e).__name__}: {e}"
                failed[name] = {"role": "ours", "status": "failed", "reason": reason}
        entry = harness.measure(self.case(**about), people, self.run.settings(seconds))
        entry["results"] |= failed
        for who in people:
            result = entry["results"][who.name]
            if result["status"] == "ok":
                try:
                    result["trace"] = trace_of(who)
                except RuntimeError as e:
                    result |= {"status": "failed", "reason": str(e)}
        people.clear()
        self._packed = None
        gc.collect()
        return entry
