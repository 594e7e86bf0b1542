"""What block_cg multiplies by, and what it says of each column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock.linalg._info import BREAKDOWNS, SolveInfo, told
from penstock.linalg._methods.passes import beyond_range, norm


def product_of(a: Any) -> Callable[[np.ndarray, np.ndarray], object]:
    if isinstance(a, csr_array):
        return lambda p, q: a.dot(p, out=q)
    return columns_of(a)


def columns_of(m: Any) -> Callable[[np.ndarray, np.ndarray], object]:
    """Of an object that has matvec alone; the core's are called without a copy. Columns are contiguous."""
    native = getattr(m, "_native_op", None)

    def call(r: np.ndarray, z: np.ndarray) -> None:
        for j in range(r.shape[1]):
            if native is not None and native.dtype == z.dtype.name:
                native.apply(r[:, j], z[:, j])
                continue
            z[:, j] = np.asarray(m.matvec(r[:, j])).reshape(-1)

    return call


def not_begun(a: Any, begin: float, rhs: np.ndarray, rtol: float, atol: float) -> list[SolveInfo]:
    """What is said of the columns where one of them has squares that over- or underflow; empty where none has."""
    reasons = [beyond_range(np.ascontiguousarray(b)) for b in rhs.T]
    if not any(reasons):
        return []
    sizes = [norm(np.ascontiguousarray(b)) for b in rhs.T]
    return [
        told(
            BREAKDOWNS["not_finite"],
            a,
            begin,
            reason=reason or "not begun: another column of b is out of range",
            iterations=0,
            residuals=[size],
            residual=size,
            target=max(rtol * size, atol),
        )
        for size, reason in zip(sizes, reasons, strict=True)
    ]


def column(
    a: Any,
    begin: float,
    number: int,
    reason: str,
    done: int,
    needed: int,
    residuals: list[float],
    target: float,
    curvature: float,
) -> SolveInfo:
    """What is said of one column: it converged if its residual did, whatever ended the others."""
    residual = float(residuals[-1])
    if residual <= target:
        number, reason = 0, "converged"
    wanted = f"the residual is {residual:.3g}, {target:.3g} was asked for"
    words = {
        "converged": "converged",
        "stagnated": f"stagnated: {wanted}: the tolerance is beyond rounding",
        "maxiter": f"maxiter: {wanted} after {done} iterations: allow more, or give a better preconditioner M",
        "not_finite": "not finite: numbers overflow, or A or M holds NaN or infinity: scale or correct them",
        "not_positive": (
            f"breakdown: an eigenvalue of P.AP is {curvature:.3g}: the matrix is not positive definite; use minres, "
            "bicgstab or gmres"
        ),
        "bad_preconditioner": "breakdown: M r vanishes or is not positive: use another preconditioner",
    }
    last = needed if number == 0 else done
    return told(
        number if number <= 0 else max(number, 1),
        a,
        begin,
        reason=words[reason],
        iterations=last,
        residuals=[*residuals[:last], residual] if last < len(residuals) else residuals,
        residual=residual,
        target=float(target),
    )
