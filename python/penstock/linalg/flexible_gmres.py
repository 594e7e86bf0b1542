"""fgmres: flexible GMRES (Saad 1993), whose preconditioner may differ from step to step.

As GMRES with M from the right, but the preconditioned vectors z_j = M_j v_j are kept beside the basis, and x is a
combination of them: M may be a solve of its own, to a tolerance or for a number of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from penstock._arrays.convert import as_array
from penstock.linalg._checks import count, guess, tolerance, vector
from penstock.linalg._diagnosis import explained
from penstock.linalg._info import BREAKDOWNS, SolveInfo, told
from penstock.linalg._operators import as_matrix, require_square
from penstock.linalg._passes import Product, applied, dtype_of, norm, product
from penstock.linalg._system import preconditioner

RESTART = 20
LOST = 0.7071  # of a vector's norm: what orthogonalising leaves without a second pass (Daniel et al. 1976)


def fgmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., object] | None = None,
    callback_type: str = "pr_norm",
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b for a general A by flexible GMRES (Saad 1993): M may change from call to call.

    Parameters and results as for `gmres`, real and complex, with one right-hand side, and

    M : as for `gmres`; also a `Solver`, whose solves need not reach a tolerance, or any object with shape and matvec
        that returns another approximation of A^-1 r each time
    restart : int, optional
        Vectors kept, 20 where it is None, each with its preconditioned one: 2 n numbers.
    callback_type : "pr_norm" or "x"
        Calls with norm(residual) / norm(b) after each iteration, or with x after each cycle.

    >>> import numpy as np, penstock as ps
    >>> A, b = ps.generate.laplacian((30, 30)), np.ones(900)
    >>> inner = ps.linalg.Solver(A, "cg", "jacobi", rtol=1e-2)
    >>> x, info = ps.linalg.fgmres(A, b, rtol=1e-8, M=inner)
    >>> info.reason, info.iterations < 10
    ('converged', True)
    """
    if callback_type not in ("pr_norm", "x"):
        raise ValueError(f"callback_type={callback_type!r} is unknown: choose 'pr_norm' or 'x'")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} is not callable")
    a, rhs = as_matrix(A), as_array(b)
    n = require_square(a)
    dtype = dtype_of(a, rhs, *([] if x0 is None or isinstance(x0, str) else [as_array(x0)]))
    rhs = vector(rhs, n, dtype, "b", False)
    kept = min(count(restart, RESTART, "restart"), max(n, 1))
    cycles = count(maxiter, 10 * max(n, 1), "maxiter")
    scale = norm(rhs)
    target = max(tolerance(rtol, "rtol") * scale, tolerance(atol, "atol"))
    m = preconditioner(M, a, n, dtype)
    x = guess(x0, rhs, m, False) if rhs.any() else np.zeros_like(rhs)
    begin = time.perf_counter()
    run = _Cycles(product(a, dtype, prepare), applied(m, dtype), rhs, x, kept)
    residuals, cycle = [run.residual()], 0

    def heard(residual: float) -> None:
        residuals.append(residual)
        if callback is not None and callback_type == "pr_norm":
            callback(np.float64(residual / (scale or 1.0)))

    number, reason = 0, "converged"
    while not residuals[-1] <= target:
        before = residuals[-1]
        if not np.isfinite(before):
            number = BREAKDOWNS["not_finite"]
            reason = "not finite: numbers overflow, or A, M or b holds NaN or infinity: scale or correct them"
            break
        if cycle == cycles:
            number = cycle
            reason = (
                f"maxiter: {cycle} cycles of {kept} left a residual of {before:.3g}, {target:.3g} was asked for: allow "
                "more, a larger restart, or give a better preconditioner M"
            )
            break
        whole = run.cycle(before, target, heard)
        cycle += 1
        residuals[-1] = run.residual()
        if callback is not None and callback_type == "x":
            callback(x)
        if not whole and not residuals[-1] <= max(target, 0.5 * before):
            number = BREAKDOWNS["singular"]
            reason = (
                f"breakdown: A M maps the Krylov space into itself, and the residual is {residuals[-1]:.3g}, "
                f"{target:.3g} was asked for: A or M is singular, or b is not in the range of A"
            )
            break
        if not residuals[-1] < (1 - 1e-10) * before and np.isfinite(residuals[-1]):
            number = cycle
            reason = (
                f"stagnated: a cycle left the residual at {residuals[-1]:.3g}, {target:.3g} was asked for: take a "
                "larger restart or another M, or a larger rtol where this is rounding"
            )
            break
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
    return x, explained(info, a)


class _Cycles:
    """x and a basis of `kept` + 1 vectors, one a row, with the preconditioned ones beside it."""

    def __init__(
        self, a: Product, m: Product | None, b: np.ndarray, x: np.ndarray, kept: int
    ) -> None:
        self._a, self._m, self._b, self._x, self._kept = a, m, b, x, kept
        self._v = np.empty((kept + 1, b.shape[0]), b.dtype)
        self._z = self._v if m is None else np.empty((kept, b.shape[0]), b.dtype)
        self._r = np.empty_like(b)

    def residual(self) -> float:
        """r = b - A x and its norm."""
        self._a(self._x, self._r)
        np.subtract(self._b, self._r, out=self._r)
        return norm(self._r)

    def cycle(self, beta: float, target: float, heard: Callable[[float], None]) -> bool:
        """Up to `kept` steps from the residual r of norm `beta`. False where the space ended before."""
        v, z = self._v, self._z
        np.multiply(self._r, 1 / beta, out=v[0])
        h = np.zeros((self._kept + 1, self._kept), v.dtype)
        whole, steps = True, 0
        for j in range(self._kept):
            if self._m is not None:
                self._m(v[j], z[j])
            self._a(z[j], v[j + 1])
            size = norm(v[j + 1])
            left = self._orthogonalise(j, h, size)
            steps, h[j + 1, j] = j + 1, left
            y, residual = _least_squares(h[: j + 2, : j + 1], beta)
            heard(residual)
            whole = left > 1e-14 * size
            if not whole or not np.isfinite(left) or residual <= target:
                break
            v[j + 1] /= left
        self._x += z[:steps].T @ y
        return whole

    def _orthogonalise(self, j: int, h: np.ndarray, size: float) -> float:
        """Classical Gram-Schmidt of v[j + 1], twice where digits were lost. Returns what is left of its norm."""
        basis, w = self._v[: j + 1], self._v[j + 1]
        left = size
        for _ in range(3):
            before = left
            c = basis.conj() @ w if w.dtype.kind == "c" else basis @ w
            w -= basis.T @ c
            h[: j + 1, j] += c
            left = norm(w)
            if not left < LOST * before or left <= 1e-14 * size:
                break
        return left


def _least_squares(h: np.ndarray, beta: float) -> tuple[np.ndarray, float]:
    """y that makes norm(beta e1 - H y) smallest, and that norm."""
    first = np.zeros(h.shape[0], h.dtype)
    first[0] = beta
    if not np.isfinite(h).all():
        return np.zeros(h.shape[1], h.dtype), np.nan
    y = scipy.linalg.lstsq(h.astype(np.result_type(h.dtype, np.float64)), first)[0]
    return y.astype(h.dtype), float(np.linalg.norm(first - h @ y))
