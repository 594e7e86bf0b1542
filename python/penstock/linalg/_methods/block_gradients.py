"""block_cg: conjugate gradients for several right-hand sides in one search space (O'Leary 1980).

An iteration reads A once for all columns, and minimises each column's error over the directions of all of them, so that
it takes fewer iterations than columns by themselves. Directions are made orthonormal, and those that depend on the
others are left out, so that no small matrix becomes singular when columns converge or depend on each other (Ji and Li
2017: "A breakdown-free block conjugate gradient method").
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock.linalg._checks import count, guess, require_callable, tolerance, vector
from penstock.linalg._diagnosis import explained
from penstock.linalg._info import BREAKDOWNS, SolveInfo, join
from penstock.linalg._methods.block import Block
from penstock.linalg._methods.block_told import column, columns_of, not_begun, product_of
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import as_matrix, require_square, vector_dtype
from penstock.linalg._system import preconditioner


def block_cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[np.ndarray], object] | None = None,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A X = B for a symmetric (Hermitian) positive definite A and several right-hand sides (O'Leary 1980).

    Parameters as for `cg`, real and complex, and

    b : array of shape (n,), (n, 1) or (n, k)
        Columns share products and search directions. Those that depend on others, or have converged, cost no direction.
        Up to a few dozen columns pay: an iteration takes about 10 n k^2 operations besides the product.
    callback : function of X, called after each iteration, optional

    Returns X of b's shape and info; `info.columns` has one for each column, and `info.residuals` are those of the
    column that is furthest from its tolerance. Every column ends when norm(b - A x) <= max(rtol * norm(b), atol).

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((30, 30))
    >>> B = np.random.default_rng(0).standard_normal((900, 8))
    >>> X, info = ps.linalg.block_cg(A, B, rtol=1e-8)
    >>> one = ps.linalg.cg(A, B, rtol=1e-8)[1]
    >>> info.reason, info.iterations < 0.7 * one.iterations
    ('converged', True)
    """
    require_callable(callback)
    refuse("block_cg", b, x0)
    a, rhs = as_matrix(A), as_array(b)
    n = require_square(a)
    dtype = vector_dtype(a, rhs, M, x0)
    rhs = vector(rhs, n, dtype, "b", True)
    shape = rhs.shape
    if rhs.size == 0 and n > 0:
        raise ValueError(f"b has shape {shape}: there is no right-hand side")
    most = count(maxiter, 10 * max(n, 1), "maxiter")
    rtol, atol = tolerance(rtol, "rtol"), tolerance(atol, "atol")
    m = preconditioner(M, a, n, dtype)
    x = guess(x0, rhs, m, True)
    x[..., ~rhs.any(axis=0)] = 0
    single = rhs.ndim == 1
    begin = time.perf_counter()
    rhs = rhs.reshape(n, 1 if single else shape[1])
    stopped = not_begun(a, begin, rhs, rtol, atol)
    if stopped:
        return np.zeros(shape, dtype), stopped[0] if single else join(stopped)
    targets = np.maximum(rtol * np.linalg.norm(rhs, axis=0), atol)
    run = Block(product_of(a), None if m is None else columns_of(m), rhs, x.reshape(rhs.shape))
    norms = run.restart()
    history, needed = [norms], np.zeros(len(targets), np.int64)
    number, reason, iterations, start = 0, "converged", 0, norms
    while True:
        active = ~(norms <= targets)
        if not active.any():
            norms = history[-1] = run.restart()  # the true residuals
            left = ~(norms <= targets)
            if not left.any():
                break
            if not (norms[left] <= 0.5 * start[left]).all():
                number, reason = iterations, "stagnated"
                break
            start = norms
            continue
        if not np.isfinite(norms).all():
            number, reason = BREAKDOWNS["not_finite"], "not_finite"
            break
        if iterations >= most:
            number, reason = most, "maxiter"
            break
        failed = run.step(active)
        if failed:
            number, reason = BREAKDOWNS[failed], failed
            break
        iterations += 1
        norms = run.norms()
        history.append(norms)
        needed[active] = iterations
        if callback is not None:
            callback(run.x.reshape(shape))
    if number:
        norms = history[-1] = run.restart()
    told_of = [
        column(
            a,
            begin,
            number,
            reason,
            iterations,
            int(needed[j]),
            [h[j] for h in history],
            targets[j],
            run.curvature,
        )
        for j in range(len(targets))
    ]
    x = np.ascontiguousarray(run.x).reshape(shape)
    if single or not told_of:
        info = told_of[0] if told_of else column(a, begin, 0, "converged", 0, 0, [0.0], 0.0, 1.0)
        return x, explained(info, a, "block_cg", rhs, x)
    return x, explained(join(told_of), a, "block_cg", rhs, x)
