"""fgmres: flexible GMRES (Saad 1993), whose preconditioner may differ from step to step.

As GMRES with M from the right, but the preconditioned vectors z_j = M_j v_j are kept beside the basis, and x is a
combination of them: M may be a solve of its own, to a tolerance or for a number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock.linalg._checks import count, guess, limits_of, require_callable, vector
from penstock.linalg._info import SolveInfo, renumbered
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import as_matrix, require_square, vector_dtype
from penstock.linalg._system import System

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
    require_callable(callback)
    refuse("fgmres", b, x0)
    a, rhs = as_matrix(A), as_array(b)
    n = require_square(a)
    rhs = vector(rhs, n, vector_dtype(a, rhs, M, x0), "b", False)
    kept = min(count(restart, RESTART, "restart"), max(n, 1))
    cycles = count(maxiter, 10 * max(n, 1), "maxiter")
    limits = limits_of(rtol, atol, cycles * kept, n, kept)
    system = System(a, M, rhs.dtype, prepare)
    x = guess(x0, rhs, system.m, False)
    scale = float(np.linalg.norm(rhs)) or 1.0

    def heard(x: np.ndarray, residual: float, iteration: int) -> None:
        if callback_type == "x":
            if iteration == 0:
                callback(x)  # type: ignore[misc]
        elif iteration > 0:
            callback(np.float64(residual / scale))  # type: ignore[misc]

    info = system.solve("fgmres", rhs, x, limits, None if callback is None else heard)
    return x, renumbered(info, -(-int(info) // kept)) if info > 0 else info
