"""cg, pipecg, bicgstab, gmres: `scipy.sparse.linalg`'s signatures over the core's methods."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array, as_type, result_dtype
from penstock._matrix.csr import csr_array
from penstock._product.gpu_vectors import device_operator
from penstock.linalg._complex import is_complex
from penstock.linalg._complex import solve as solve_by_scipy
from penstock.linalg._info import SolveInfo, join, make_info, renumbered
from penstock.linalg._names import by_name
from penstock.linalg._operators import as_matrix, as_op, real_dtype, require_square

Callback = Callable[[np.ndarray], object]


def _vector(value: Any, n: int, dtype: np.dtype, name: str, many: bool) -> np.ndarray:
    """A right-hand side or a guess: (n,), (n, 1), or (n, k) where `many`, as a contiguous array of `dtype`."""
    array = as_array(value)
    fits = array.ndim in (1, 2) and array.shape[0] == n
    if not fits or (array.ndim == 2 and array.shape[1] != 1 and not many):
        shapes = f"({n},) or ({n}, 1)" + (f" or ({n}, k)" if many else "")
        raise ValueError(f"{name} has shape {array.shape}: A is {n} x {n}, so give {shapes}")
    array = as_type(array, dtype, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(n)
    finite = np.isfinite(array)
    if not finite.all():
        at = np.argwhere(~finite)[0]
        where = ", ".join(str(i) for i in at)
        raise ValueError(
            f"{name}[{where}] = {array[tuple(at)]}: {name} must hold finite numbers only"
        )
    return array


def _count(value: Any, default: int, name: str) -> int:
    if value is None:
        return default
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name}={value}: give at least 1")
    return number


def _tolerance(value: Any, name: str) -> float:
    number = -1.0 if value is None or isinstance(value, str) else float(value)
    if not number >= 0:
        raise ValueError(f"{name}={value!r}: give a number, 0 or more")
    return min(number, float(np.finfo(np.float64).max))  # infinity times a zero b is no number


def _preconditioner(m: Any, a: Any, n: int, dtype: np.dtype) -> Any:
    """M as an object with shape and matvec, or None."""
    if m is None:
        return None
    if isinstance(m, str):
        m = by_name(m, a, dtype)
    elif not hasattr(m, "_native_op"):
        m = as_matrix(m)
    if tuple(m.shape) != (n, n):
        raise ValueError(f"M has shape {tuple(m.shape)}, A has {(n, n)}")
    return m


def _guess(x0: Any, rhs: np.ndarray, m: Any, many: bool) -> np.ndarray:
    """The first x, of b's shape: zero, what was given, or M b where x0 is SciPy's word for it."""
    n, dtype = rhs.shape[0], rhs.dtype
    if x0 is None:
        return np.zeros_like(rhs)
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0={x0!r} is unknown: give an array, None, or 'Mb' for M @ b")
        if m is None:
            return rhs.copy()
        columns = [m.matvec(c) for c in (rhs.T if rhs.ndim == 2 else [rhs])]
        return np.stack(columns, axis=-1).reshape(rhs.shape).astype(dtype)
    x = _vector(x0, n, dtype, "x0", many).copy()
    if x.shape != rhs.shape:
        raise ValueError(f"x0 has shape {np.shape(x0)}, b has shape {rhs.shape}: give the same")
    return x


def _solve_complex(
    method: str, A: Any, b: Any, x0: Any, M: Any, maxiter: int | None, **settings: Any
) -> tuple[np.ndarray, SolveInfo] | None:
    """The solution where a complex number is among the operands, or None."""
    a, b = as_matrix(A), as_array(b)
    if not is_complex(a, b, M) and (x0 is None or isinstance(x0, str) or not np.iscomplexobj(x0)):
        return None
    n = require_square(a)
    dtype = np.result_type(np.complex64, result_dtype(b.dtype), *([a.dtype] if a.dtype else []))
    rhs = _vector(b, n, dtype, "b", False)
    m = _preconditioner(M, a, n, np.dtype(dtype))
    settings["rtol"] = _tolerance(settings["rtol"], "rtol")
    settings["atol"] = _tolerance(settings["atol"], "atol")
    if maxiter is not None:
        settings["maxiter"] = _count(maxiter, 1, "maxiter")
    x0 = x0 if x0 is None or isinstance(x0, str) else _vector(x0, n, dtype, "x0", False)
    return solve_by_scipy(method, a, rhs, m, x0=x0, **settings)


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
    dtype = real_dtype(a, b_array)
    rhs = _vector(b_array, n, dtype, "b", many)
    # A Jacobi-like name needs entries, and everything is checked before long work begins.
    limits = {
        "rtol": _tolerance(rtol, "rtol"),
        "atol": _tolerance(atol, "atol"),
        "maxiter": _count(maxiter, 10 * max(n, 1), "maxiter"),
        "restart": restart,
    }
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} is not callable")
    applied = _preconditioner(M, a, n, dtype)
    x = _guess(x0, rhs, applied, many)
    on_device = device_operator(a, dtype) if isinstance(a, csr_array) else None
    op = as_op(a, dtype, prepare) if on_device is None else on_device
    m = None if applied is None else as_op(applied, dtype, True, "M")
    x[..., ~rhs.any(axis=0)] = 0  # of a zero right-hand side, whatever x0: as in SciPy

    def call(iteration: int, residual: float) -> None:
        callback(x, residual, iteration)

    settings: dict[str, Any] = {
        **limits,
        "starts_at_zero": not x.any(),
        "callback": None if callback is None else call,
    }
    if rhs.ndim == 2:
        return x, _solve_columns(op, m, rhs, x, settings)
    if on_device is None:
        return x, make_info(_core.solve(method, op, m, rhs, x, settings), op)
    (result,) = _core.solve_on_device(method, op, m, rhs, x, 1, settings)
    return x, make_info(result, op)


def _solve_columns(
    op: Any, m: Any, rhs: np.ndarray, x: np.ndarray, settings: dict[str, Any]
) -> SolveInfo:
    """Columns one after the other in memory, as the core has them; x receives the result at each callback, too."""
    k = rhs.shape[1]
    if k == 0:
        raise ValueError(f"b has shape {rhs.shape}: there is no right-hand side")
    columns = np.ascontiguousarray(x.T).reshape(-1)

    def bring_back(*at: Any) -> None:
        x[:] = columns.reshape(k, -1).T
        if call is not None:
            call(*at)

    call = settings["callback"]
    if call is not None:
        settings = {**settings, "callback": bring_back}
    b = np.ascontiguousarray(rhs.T).reshape(-1)
    if isinstance(op, _core.DeviceOp):
        results = _core.solve_on_device("cg", op, m, b, columns, k, settings)
    else:
        results = _core.solve_many(op, m, b, columns, k, settings)
    x[:] = columns.reshape(k, -1).T
    return join([make_info(r, op) for r in results])


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
        n x n, symmetric (Hermitian) positive definite, which is not checked. Where a number is complex, SciPy's method
        runs over our products, with one right-hand side; `info.residuals` are then those of the start and of the end.
    b : array of shape (n,), (n, 1) or (n, k)
        k right-hand sides share each product with A, and every one has its own step lengths and tolerance.
    x0 : array of b's shape, optional
        The first guess, not written. Zero where it is None; M @ b where it is "Mb".
    rtol, atol : float
        Done when norm(b - A x) <= max(rtol * norm(b), atol), checked with the x that is returned.
    maxiter : int, optional
        At most this many iterations; 10 n where it is None.
    M : preconditioner, optional
        Near the inverse of A, symmetric positive definite: an object of this package (Jacobi, IC0 ...), its name
        ("jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "amg"), a matrix, or anything with shape and matvec
        (a LinearOperator, pyamg's aspreconditioner()).
    callback : function of x, called after each iteration, optional
        x is the solver's own array, which changes: copy it to keep it.
    prepare : bool
        After a dozen products in core, build the plan that `A.prepare()` builds, where A is large: later products are
        faster, the plan stays with A and takes memory. False leaves A as it is.

    Returns
    -------
    x : array of b's shape ((n,) for (n, 1)), float32 where A and b are, else float64
    info : SolveInfo, an int
        0 converged, > 0 iterations done without converging, < 0 breakdown; `info.reason` says why.

    Raises ValueError for shapes, NaN or infinity in b or x0. What `callback` or a
    LinearOperator raises ends the solve.

    The result has the same bits for any number of threads.

    Where A lies on a GPU, or has a plan for GPUs (`A.prepare(schedule=ps.Streamed())`), all vectors stay on the GPU as
    long as M is None or Jacobi: b goes there once, x comes back once, or after each iteration for a callback. With
    another M, which the CPU applies, and where the GPU's memory does not hold five vectors (six with Jacobi), they are
    in host memory and only the products are the GPU's. `info.vectors` says which it was.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((30, 30))
    >>> x, info = ps.linalg.cg(A, np.ones(900), rtol=1e-8, M="ic0")
    >>> info == 0, bool(np.linalg.norm(A @ x - 1) <= 1e-8 * 30)
    (True, True)
    """
    found = _solve_complex("cg", A, b, x0, M, maxiter, rtol=rtol, atol=atol, callback=callback)
    if found is not None:
        return found
    call = None if callback is None else lambda x, residual, iteration: callback(x)
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
    call = None if callback is None else lambda x, residual, iteration: callback(x)
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
    right. An iteration takes two products. info is -10 where rho, -11 where omega vanishes: gmres then helps. Vectors
    are in host memory; where A lies on a GPU or has a plan for GPUs, products are theirs.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[4.0, 1.0], [-2.0, 3.0]]))
    >>> x, info = ps.linalg.bicgstab(A, np.array([6.0, 4.0]), rtol=1e-12)
    >>> x.round(6), int(info)
    (array([1., 2.]), 0)
    """
    found = _solve_complex(
        "bicgstab", A, b, x0, M, maxiter, rtol=rtol, atol=atol, callback=callback
    )
    if found is not None:
        return found
    call = None if callback is None else lambda x, residual, iteration: callback(x)
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
    if callback is not None and callback_type is None:
        warnings.warn(
            "gmres is called without specifying `callback_type`: callback gets norm(residual) / norm(b) after each "
            "iteration, and maxiter counts iterations; give callback_type='legacy' to say that this is meant, or 'x', "
            "or 'pr_norm'",
            DeprecationWarning,
            stacklevel=2,
        )
    cycle = {"restart": restart, "callback": callback}
    if callback is not None:
        cycle["callback_type"] = callback_type or "legacy"
    found = _solve_complex("gmres", A, b, x0, M, maxiter, rtol=rtol, atol=atol, **cycle)
    if found is not None:
        return found
    n = require_square(A if hasattr(A, "shape") else as_matrix(A))
    kept = min(_count(restart, 20, "restart"), max(n, 1))
    cycles = _count(maxiter, 10 * max(n, 1), "maxiter")
    legacy = callback is not None and callback_type in (None, "legacy")
    limit = cycles if legacy else cycles * kept
    call = None
    if callback is not None:
        scale = float(np.linalg.norm(np.asarray(b, dtype=np.float64))) or 1.0

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
