"""fgmres: flexible GMRES (Saad 1993), whose preconditioner may differ from step to step.

As GMRES with M from the right, but the preconditioned vectors z_j = M_j v_j are kept beside the basis, and x is a
combination of them: M may be a solve of its own, to a tolerance or for a number of iterations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock.linalg._checks import count, guess, tolerance, vector
from penstock.linalg._diagnosis import explained
from penstock.linalg._info import BREAKDOWNS, SolveInfo, told
from penstock.linalg._methods.arnoldi import Cycles
from penstock.linalg._methods.passes import applied, dtype_of, norm, product
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import as_matrix, require_square
from penstock.linalg._system import preconditioner

RESTART = 20


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
    refuse("fgmres", b, x0)
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
    run = Cycles(product(a, dtype, prepare), applied(m, dtype), rhs, x, kept)
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
