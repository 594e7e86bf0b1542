"""cg(M="amg") of a matrix for which levels would not help: with Jacobi as long as that is about to converge, and else
with incomplete factors from where it has come. Right-hand sides that Jacobi solves in a few dozen iterations, as smooth
ones, are then solved before factors are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.linalg._amg.one_level import OneLevel, why
from penstock.linalg._info import SolveInfo, renumbered
from penstock.linalg._methods.passes import norm
from penstock.linalg._system import System

LOOK = 8  # iterations between two looks at the residuals; the first is after two of them
MOST = 40  # further iterations that may be ahead: about what factors cost and theirs take


class _TooSlow(Exception):
    """Ends a solve."""


def solve(
    a: Any,
    dtype: np.dtype,
    rhs: np.ndarray,
    x: np.ndarray,
    limits: dict[str, Any],
    callback: Callable[..., object] | None,
    far: float,
    prepare: bool,
) -> SolveInfo:
    """As `System.solve`; x holds the first guess and receives the result."""
    begin = time.perf_counter()
    start = rhs - np.asarray(a.dot(x)) if x.any() else rhs
    norms = [float(norm(start))]
    target = max(limits["rtol"] * float(norm(rhs)), limits["atol"])

    def watch(x: np.ndarray, residual: float, iteration: int) -> None:
        if callback is not None:
            callback(x, residual, iteration)
        norms.append(residual)
        looks = iteration % LOOK == 0 and 2 * LOOK <= iteration < limits["maxiter"]
        if looks and _ahead(norms, target) > MOST:
            raise _TooSlow

    try:
        info = System(a, "jacobi", dtype, prepare).solve("cg", rhs, x, limits, watch)
        info.preconditioner = why("Jacobi", far)
        return info
    except _TooSlow:
        done = len(norms) - 1  # the first is of the guess

    def go_on(x: np.ndarray, residual: float, iteration: int) -> None:
        if callback is not None and iteration > 0:
            callback(x, residual, iteration + done)

    left = max(limits["maxiter"] - done, 0)
    info = System(a, OneLevel.of(a, dtype, far) or "amg", dtype, prepare).solve(
        "cg", rhs, x, {**limits, "maxiter": left}, None if callback is None else go_on
    )
    info.iterations += done
    info.residuals = np.concatenate([norms, info.residuals[1:]])
    info.seconds = time.perf_counter() - begin
    info.reason = info.reason.replace(f"{left} iterations", f"{left + done} iterations")
    return renumbered(info, int(info) + done) if info > 0 else info


def _ahead(norms: list[float], target: float) -> float:
    """Iterations that are left, by how the last ones went."""
    if norms[-1] <= target:
        return 0.0
    gained = np.log(norms[-1 - LOOK] / norms[-1])
    return LOOK * np.log(norms[-1] / target) / gained if gained > 0 and target > 0 else np.inf
