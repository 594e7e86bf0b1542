"""minres: the minimal residual method for symmetric and Hermitian systems, also indefinite ones (Paige and Saunders
1975). A symmetric Lanczos process whose tridiagonal matrix is brought to triangular form by one rotation a step.

SciPy's takes 30 passes over vectors an iteration, in new arrays; this one takes 17 in arrays that stay.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock.linalg._checks import count, guess, require_callable, tolerance, vector
from penstock.linalg._diagnosis import explained
from penstock.linalg._info import BREAKDOWNS, SolveInfo, told
from penstock.linalg._methods.lanczos import Lanczos, Rotation
from penstock.linalg._methods.passes import applied, beyond_range, norm, product
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import as_matrix, require_square, vector_dtype
from penstock.linalg._system import preconditioner

DRIFT = 1e-3  # how far below what was asked for the recurrence goes before it starts again


def minres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    shift: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[np.ndarray], object] | None = None,
    show: bool = False,
    check: bool = False,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves (A - shift I) x = b for a symmetric or Hermitian A, which may be indefinite (Paige and Saunders 1975).

    Parameters and results as for `cg`, with one right-hand side, and SciPy's

    shift : float
    maxiter : int, optional
        At most this many iterations, 5 n where it is None.
    M : symmetric (Hermitian) positive definite, as for `cg`
    show : bool
        Refused: `info` has what SciPy prints.
    check : bool
        Tests by two products that A and M are symmetric; ValueError where they are not.

    Done when norm(b - (A - shift I) x) <= max(rtol * norm(b), atol), computed with the x that is returned; SciPy's
    estimate stops earlier where norm(A) norm(x) exceeds norm(b). A singular A whose range does not hold b ends with
    a least-squares solution, info > 0, and says so: the best of those x whose residuals were computed now and then is
    returned. info is -4 where squares of b's entries are out of range.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.diag([1.0, -2.0, 3.0, -4.0]))
    >>> x, info = ps.linalg.minres(A, np.ones(4), rtol=1e-10)
    >>> x.round(3), info.reason
    (array([ 1.   , -0.5  ,  0.333, -0.25 ]), 'converged')
    """
    if show:
        raise ValueError("show=True prints in SciPy: read info.reason and info.residuals instead")
    refuse("minres", b, x0)
    a, rhs = as_matrix(A), as_array(b)
    n = require_square(a)
    dtype = vector_dtype(a, rhs, M, x0)
    rhs = vector(rhs, n, dtype, "b", False)
    most, atol = count(maxiter, 5 * max(n, 1), "maxiter"), tolerance(atol, "atol")
    target = max(tolerance(rtol, "rtol") * norm(rhs), atol)
    require_callable(callback)
    m = preconditioner(M, a, n, dtype)
    x = guess(x0, rhs, m, False) if rhs.any() else np.zeros_like(rhs)
    begin = time.perf_counter()
    outside = beyond_range(rhs)
    if outside:
        size = norm(rhs)
        facts = {"iterations": 0, "residuals": [size], "residual": size, "target": target}
        return x * 0, told(BREAKDOWNS["not_finite"], a, begin, reason=outside, **facts)
    run = Lanczos(product(a, dtype, prepare), applied(m, dtype), float(shift), rhs, x)
    if check:
        run.require_symmetric()
    residuals, iterations, stop = [run.restart()], 0, ""
    number = 0
    while not stop:
        first, goal = residuals[-1], target
        rotation = Rotation(run.beta, run.scale, run.eps)
        if first <= target:
            stop = "converged"
        elif not np.isfinite(first):
            stop, number = "not finite: numbers overflow, or A or M holds NaN or infinity", -4
        elif not run.beta > 0:
            stop, number = f"M is not positive definite (r.M r = {run.square:.3g}): use another", -2
        else:
            run.keep(first)
        while not stop:
            if iterations >= most:
                stop = (
                    f"maxiter: {most} iterations left a residual of {{:.3g}}, {target:.3g} was asked for: allow more, "
                    "or give a preconditioner M"
                )
                number = iterations
                break
            estimate = run.step(rotation)
            iterations += 1
            residuals.append(estimate)
            if callback is not None:
                callback(x)
            if not np.isfinite(estimate) or not np.isfinite(run.beta) or run.square < 0:
                break
            if estimate <= goal:
                true = run.true_residual()
                residuals[-1] = true
                if true <= target or goal < DRIFT * target:
                    break
                goal = 0.5 * estimate * target / true
            if rotation.least_squares() or rotation.turned() or run.beta == 0:
                break
            if rotation.look() and run.strayed(estimate):
                break
        if not stop:
            last = residuals[-1] = run.again(target)
            if not last <= target and not last <= 0.5 * first:
                number = iterations if np.isfinite(last) else -4
                stop = run.why(last, target)
    residual = run.again(target) if number else residuals[-1]
    residuals[-1] = residual
    info = told(
        number,
        a,
        begin,
        reason=stop.format(residual),
        iterations=iterations,
        residuals=residuals,
        residual=residual,
        target=target,
    )
    return x, explained(info, a)
