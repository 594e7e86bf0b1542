"""`refine`: solutions to the accuracy of float64, with iterations in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.linalg._info import SolveInfo
from penstock.linalg._solver.reusable import Solver


def refine(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    inner: str = "float32",
    solver: str = "cg",
    M: Any = None,
    rtol: float = 1e-12,
    atol: float = 0.0,
    maxiter: int | None = None,
    restart: int | None = None,
    inner_rtol: float | None = None,
    callback: Callable[[np.ndarray], object] | None = None,
    progress: bool = False,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b by iterative refinement: residuals in float64, corrections by a solver in float32.

    An outer step computes r = b - A x in float64, solves for the correction on a copy of A in float32 to `inner_rtol`,
    and adds it to x. All but a few products then move half the bytes of values: for matrices that are streamed, and
    where memory binds.

    Where A is on a GPU or has a plan for GPUs, `solver="cg"` with M None or "jacobi" is one search with float64 vectors
    there: products are the copy's, and A computes the residual now and then in place of the recurrence's. From float32
    its iterations are about those of float64. With `callback` or `progress` it begins anew at each step, as elsewhere.

    Parameters
    ----------
    A : csr_array, SciPy sparse array or dense array, float64
        Its copy in lower precision is kept with it; `Solver(A, ..., inner="float32").explain()` counts the bytes.
    b, x0 : as for `cg`; b of shape (n,), (n, 1) or (n, k), a column after the other
    inner : "float32", "bfloat16" or "float16"
        What the copy is stored in. Vectors and sums of the inner solves are float32, or float64 in the one search. To
        16 bits values are rounded as by `A.store_as`, and travel packed where A has a plan for GPUs: a quarter of the
        bytes of float64. That is for well-conditioned A: condition numbers up to some hundreds for bfloat16, some
        thousands for float16. Entries out of range are refused.
    solver : "cg", "pipecg", "bicgstab" or "gmres"
        The method of the corrections.
    M : preconditioner of the copy, or its name
        A name is made for float32.
    rtol, atol : float
        Done when norm(b - A x) <= max(rtol * norm(b), atol), in float64. Below about 1e-15 times the condition number
        nothing is reached.
    maxiter : int, optional
        Inner iterations in all; 10 n where it is None.
    inner_rtol : float, optional
        By how much an outer step is to reduce the residual, or by how much it comes down before A computes it anew:
        1e-4 where it is None, 1e-2 for 16 bits.
    callback : function of x, called after each outer step, optional
    restart, progress, prepare : as for `Solver`

    Returns
    -------
    x : float64, of b's shape
    info : SolveInfo
        `info.iterations` counts inner iterations, `info.inner_iterations` has those of each outer step, and
        `info.residuals` the norms in float64, of the start and after each outer step.

    Where a step gains less than a factor of two, refinement ends, and `info.reason` says so: A's condition number with
    M is then above what `inner` can handle (float32: about 1e7). Solve in float64 there. TypeError where A is not
    float64, ValueError where an entry exceeds `inner`, or the largest one is too small for it.

    >>> import numpy as np, penstock as ps
    >>> A, b = ps.generate.laplacian((30, 30)), np.ones(900)
    >>> x, info = ps.linalg.refine(A, b, M="ic0")
    >>> info == 0, bool(np.linalg.norm(A @ x - b) <= 1e-12 * 30), len(info.inner_iterations) <= 4
    (True, True, True)
    """
    made = Solver(
        A,
        solver,
        M,
        rtol=rtol,
        atol=atol,
        maxiter=maxiter,
        restart=restart,
        prepare=prepare,
        inner=inner,
        inner_rtol=inner_rtol,
        callback=callback,
        progress=progress,
    )
    return made(b, x0)
