"""Cycles until the residual is small: x += M (b - A x)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock._arrays.device import is_on_gpu
from penstock._matrix.csr import csr_array
from penstock.linalg._checks import count, guess, tolerance, vector
from penstock.linalg._info import SolveInfo, told
from penstock.linalg._operators import vector_dtype

MOST_CYCLES = 100  # by default: multigrid that is right for A takes fewer
GROWN = 1e3  # a residual so many times the smallest is not coming back


def cycles(
    m: Any, a: csr_array, b: Any, x0: Any, rtol: Any, maxiter: Any
) -> tuple[np.ndarray, SolveInfo]:
    if is_on_gpu(b) or is_on_gpu(x0):
        raise TypeError(
            "AMG.solve has its vectors in host memory, and is given an array on a GPU: take the AMG as the M of cg, or "
            "give b in host memory (b.get() of CuPy, b.cpu() of PyTorch)"
        )
    n, dtype = a.shape[0], vector_dtype(a, np.asarray(b), m)
    rhs = vector(b, n, dtype, "b", False)
    target = tolerance(rtol, "rtol") * float(np.linalg.norm(rhs))
    most = count(maxiter, MOST_CYCLES, "maxiter")
    x = guess(x0, rhs, m, False) if rhs.any() else np.zeros_like(rhs)
    begin = time.perf_counter()
    residuals: list[float] = []
    number, reason = 0, "converged"
    while True:
        r = rhs - a.dot(x) if residuals or x.any() else rhs
        residuals.append(float(np.linalg.norm(r)))
        done, last = len(residuals) - 1, residuals[-1]
        if last <= target:
            break
        if not np.isfinite(last) or last > GROWN * min(residuals):
            number = -4 if not np.isfinite(last) else max(1, done)
            reason = (
                f"diverged: the residual grew to {last:.3g} in {done} cycles: take this AMG as the M of cg (cycle='K': "
                "of fgmres), or smoother='l1_jacobi'"
            )
            break
        if done >= most:
            number = done
            reason = (
                f"maxiter: {most} cycles left a residual of {last:.3g}, {target:.3g} was asked for: allow more, or "
                "take this AMG as the M of cg"
            )
            break
        x = x + m.matvec(r).astype(dtype, copy=False)
    info = told(
        number,
        a,
        begin,
        reason=reason,
        iterations=len(residuals) - 1,
        residuals=residuals,
        residual=residuals[-1],
        target=target,
    )
    return x, info
