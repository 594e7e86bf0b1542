"""cg, pipecg, bicgstab, gmres: `scipy.sparse.linalg`'s signatures over the core's methods."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock.linalg import _cg_by_jacobi, _on_gpu
from penstock.linalg._amg.one_level import far_from_constants
from penstock.linalg._checks import count, guess, limits_of, require_callable, vector
from penstock.linalg._info import SolveInfo, renumbered
from penstock.linalg._operators import as_matrix, require_square, vector_dtype
from penstock.linalg._system import System

Callback = Callable[[np.ndarray], object]


def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Any,
    prepare: bool,
    restart: int = 0,
    many: bool = False,
) -> tuple[np.ndarray, SolveInfo]:
    """`callback(x, residual, iteration)` is called after each iteration."""
    a = as_matrix(A)
    n = require_square(a)
    b_array = as_array(b)
    dtype = vector_dtype(a, b_array, M, x0)
    rhs = vector(b_array, n, dtype, "b", many)
    # A Jacobi-like name needs entries, and everything is checked before long work begins.
    limits = limits_of(rtol, atol, maxiter, n, restart)
    if (
        method == "cg"
        and rhs.ndim == 1
        and isinstance(M, str)
        and M == "amg"
        and not isinstance(x0, str)
    ):
        far = far_from_constants(a, dtype)
        if far is not None:
            x = guess(x0, rhs, None, many)
            return x, _cg_by_jacobi.solve(a, dtype, rhs, x, limits, callback, far, prepare)
    system = System(a, M, dtype, prepare)
    x = guess(x0, rhs, system.m, many)
    return x, system.solve(method, rhs, x, limits, callback)


def _of_x(callback: Any) -> Any:
    """What the core calls, for a callback that gets x alone."""
    require_callable(callback)
    return None if callback is None else lambda x, residual, iteration: callback(x)


def _there(
    A: Any,
    b: Any,
    x0: Any,
    M: Any,
    callback: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    restart: int = 0,
) -> tuple[Any, ...]:
    """What `_on_gpu.solve` takes beside the method."""
    a = as_matrix(A)
    return a, b, x0, M, callback, limits_of(rtol, atol, maxiter, require_square(a), restart)


def _gmres_there(
    A: Any,
    b: Any,
    x0: Any,
    M: Any,
    callback: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    restart: int | None,
) -> tuple[Any, SolveInfo]:
    n = require_square(A if hasattr(A, "shape") else as_matrix(A))
    kept = min(count(restart, 20, "restart"), max(n, 1))
    limit = count(maxiter, 10 * max(n, 1), "maxiter") * kept
    x, info = _on_gpu.solve(
        "gmres", *_there(A, b, x0, M, callback, rtol, atol, limit, restart=kept)
    )
    return x, renumbered(info, -(-int(info) // kept)) if info > 0 else info


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b by conjugate gradients (hestenes-1952), for a symmetric positive definite A.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape and matvec (a LinearOperator)
        n x n, symmetric (Hermitian, where it is complex) positive definite, which is not checked.
    b : array of shape (n,), (n, 1) or (n, k)
        k right-hand sides share each product with A, and every one has its own step lengths and tolerance. Or an array
        of CuPy or PyTorch of shape (n,) or (n, 1) on the GPU where A is multiplied; see below.
    x0 : array of b's shape, optional
        The first guess, not written. Zero where it is None; M @ b where it is "Mb".
    rtol, atol : float
        Done when norm(b - A x) <= max(rtol * norm(b), atol), checked with the x that is returned.
    maxiter : int, optional
        At most this many iterations; 10 n where it is None.
    M : preconditioner, optional
        Near the inverse of A, symmetric positive definite: an object of this package (Jacobi, IC0 ...), its name
        ("jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "amg": `info.preconditioner` says where it took one
        level, as more would not help), a matrix, or anything with shape and matvec
        (a LinearOperator, pyamg's aspreconditioner()).
    callback : function of x, called after each iteration, optional
        x is the solver's own array, which changes: copy it to keep it.
    prepare : bool
        After a dozen products in core, build the plan that `A.prepare()` builds, where A is large: later products are
        faster, the plan stays with A and takes memory. False leaves A as it is.

    Returns
    -------
    x : array of b's shape ((n,) for (n, 1)), float32 where A and b are, else float64; complex64 or complex128 where A,
        b, x0 or M is complex; where b is on a GPU, an array of b's library there
    info : SolveInfo, an int
        0 converged, > 0 iterations done without converging, < 0 breakdown; `info.reason` says why.

    Raises ValueError for shapes, NaN or infinity in b or x0, and for a b on a GPU where A is not; TypeError for a b on
    a GPU in another type than x's, and with an M that the CPU applies. What `callback` or a LinearOperator raises ends
    the solve.

    The result has the same bits for any number of threads.

    Where A lies on a GPU, or has a plan for GPUs (`A.prepare(schedule=ps.Streamed())`), all vectors stay on the GPU as
    long as M is None, Jacobi, or an AMG of a matrix there: b goes there once, x comes back once, or after each
    iteration for a callback. With another M, which the CPU applies, and where the GPU's memory does not hold five
    vectors (six with M), they are in host memory and only the products are the GPU's. `info.vectors` says which it was.

    With b (and x0) on that GPU, no vector leaves it: x is an array of b's library there. Work that the library has
    queued on its current stream comes before the solve, and what it queues later sees x; a callback finds x current.
    The call returns when the solve has ended. Three vectors are taken beside b and x (four with M); MemoryError
    where they do not fit.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((30, 30))
    >>> x, info = ps.linalg.cg(A, np.ones(900), rtol=1e-8, M="ic0")
    >>> info == 0, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 30)
    (True, True)
    """
    if _on_gpu.is_there(b, x0):
        return _on_gpu.solve("cg", *_there(A, b, x0, M, callback, rtol, atol, maxiter))
    call = _of_x(callback)
    return _solve("cg", A, b, x0, rtol, atol, maxiter, M, call, prepare, many=True)


def pipecg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Pipelined conjugate gradients (Ghysels and Vanroose 2014, algorithm 4): `cg`'s parameters and results, one
    right-hand side.

    One reduction an iteration, which overlaps the product: for many ranks with a slow network. On one machine `cg`
    moves fewer bytes and is faster. Its recurrences lose more digits; the true residual is checked at the end.
    """
    if _on_gpu.is_there(b, x0):
        return _on_gpu.solve("pipecg", *_there(A, b, x0, M, callback, rtol, atol, maxiter))
    call = _of_x(callback)
    return _solve("pipecg", A, b, x0, rtol, atol, maxiter, M, call, prepare)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b for a general A by stabilised biconjugate gradients (van der Vorst 1992).

    Parameters and results as for `cg`, with one right-hand side; A and M need not be symmetric. M is applied from the
    right. An iteration takes two products. info is -10 where rho, -11 where omega vanishes: gmres then helps.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[4.0, 1.0], [-2.0, 3.0]]))
    >>> x, info = ps.linalg.bicgstab(A, np.array([6.0, 4.0]), rtol=1e-12)
    >>> x.round(6), int(info)
    (array([1., 2.]), 0)
    """
    if _on_gpu.is_there(b, x0):
        return _on_gpu.solve("bicgstab", *_there(A, b, x0, M, callback, rtol, atol, maxiter))
    call = _of_x(callback)
    return _solve("bicgstab", A, b, x0, rtol, atol, maxiter, M, call, prepare)


def gmres(
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
    callback_type: str | None = None,
    prepare: bool = True,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b for a general A by restarted GMRES (Saad and Schultz 1986).

    Parameters as for `cg`, with one right-hand side, and

    restart : int, optional
        Vectors kept, n numbers each; 20 where it is None. More of them converge in fewer iterations.
    maxiter : int, optional
        Restart cycles, 10 n where it is None; iterations where callback_type is "legacy", as in SciPy.
    callback_type : "x", "pr_norm" or "legacy" (None is "legacy")
        "x" calls with x after each cycle; the others with norm(residual) / norm(b) after each iteration.

    M is applied from the right, so that the residuals are those of A x = b; SciPy applies it from the left.
    `info.iterations` counts products; info itself, where x did not converge, counts what maxiter does.
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(
            f"callback_type={callback_type!r} is unknown: choose 'x', 'pr_norm' or 'legacy'"
        )
    require_callable(callback)
    if callback is not None and callback_type is None:
        warnings.warn(
            "gmres is called without specifying `callback_type`: callback gets norm(residual) / norm(b) after each "
            "iteration, and maxiter counts iterations; give callback_type='legacy' to say that this is meant, or 'x', "
            "or 'pr_norm'",
            DeprecationWarning,
            stacklevel=2,
        )
    if _on_gpu.is_there(b, x0):
        if callback is not None and callback_type != "x":
            raise ValueError(
                f"callback_type={callback_type!r} is for b in host memory: give callback_type='x' for b on a GPU"
            )
        return _gmres_there(A, b, x0, M, callback, rtol, atol, maxiter, restart)
    n = require_square(A if hasattr(A, "shape") else as_matrix(A))
    kept = min(count(restart, 20, "restart"), max(n, 1))
    cycles = count(maxiter, 10 * max(n, 1), "maxiter")
    legacy = callback is not None and callback_type in (None, "legacy")
    limit = cycles if legacy else cycles * kept
    call = None
    if callback is not None:
        scale = float(np.linalg.norm(np.asarray(b))) or 1.0

        def call(x: np.ndarray, residual: float, iteration: int) -> None:
            if callback_type == "x":
                if iteration == 0:
                    callback(x)
            elif iteration > 0:
                callback(np.float64(residual / scale))

    x, info = _solve("gmres", A, b, x0, rtol, atol, limit, M, call, prepare, restart=kept)
    if info > 0 and not legacy:
        info = renumbered(info, -(-int(info) // kept))
    return x, info
