"""Complex systems: SciPy's cg, bicgstab and gmres over our products, until the core's methods know complex numbers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.linalg._diagnosis import explained
from penstock.linalg._info import SolveInfo, told


def is_complex(*operands: Any) -> bool:
    dtypes = [getattr(x, "dtype", None) for x in operands]
    return any(d is not None and np.dtype(d).kind == "c" for d in dtypes)


def solve(
    method: str, a: Any, b: np.ndarray, m: Any, **settings: Any
) -> tuple[np.ndarray, SolveInfo]:
    """`settings` are the method's own arguments. A right-hand side of several columns is solved a column at a time."""
    import scipy.sparse.linalg  # takes a third of a second, which real systems need not pay

    theirs = getattr(scipy.sparse.linalg, method)
    products = 0

    def matvec(x: np.ndarray) -> np.ndarray:
        nonlocal products
        products += 1
        return a.matvec(x.reshape(-1))

    op = scipy.sparse.linalg.LinearOperator(a.shape, matvec=matvec, dtype=a.dtype)
    x0 = settings.get("x0")
    residuals = [
        float(np.linalg.norm(b if x0 is None or isinstance(x0, str) else b - a.matvec(x0)))
    ]
    begin = time.perf_counter()
    x, number = theirs(op, b, M=m, **settings)
    residual = float(np.linalg.norm(b - a.matvec(x.reshape(-1))))
    target = max(settings["rtol"] * float(np.linalg.norm(b)), settings["atol"])
    info = told(
        number,
        a,
        begin,
        reason=_reason(number, residual, target, method),
        iterations=products // 2 if method == "bicgstab" else products,
        residuals=[*residuals, residual],
        residual=residual,
        target=target,
    )
    return x, explained(info, a)


def _reason(number: int, residual: float, target: float, method: str) -> str:
    if number == 0:
        return "converged"
    if number > 0:
        return (
            f"not converged: the residual is {residual:.3g}, {target:.3g} was asked for: allow a larger maxiter, "
            "or give a preconditioner M"
        )
    return f"breakdown of {method} (SciPy's number {number}): try gmres"
