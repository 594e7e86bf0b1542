"""SciPy's Krylov solvers, with preconditioners by name, and an info of 0 only where the true residual is small.

`bicg`, `cgs`, `qmr` and `tfqmr` test the residual of a recurrence, which rounding takes away from b - A x. They begin
again from x where the two differ. SciPy's `tfqmr` with an M solves another system than A x = b; here M is applied from
the right.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from penstock._matrix.names import Guarded
from penstock.linalg._checks import require_callable, tolerance
from penstock.linalg._on_gpu import refuse
from penstock.linalg._operators import as_matrix, require_square, vector_dtype
from penstock.linalg._system import preconditioner, require_operand
from penstock.linalg.multigrid import AMG
from penstock.linalg.preconditioners import IC0, Chebyshev, Jacobi, Preconditioner

NAMES = ("bicg", "cgs", "gcrotmk", "lgmres", "qmr", "tfqmr")
ADJOINT = ("bicg", "qmr")  # also multiply by the adjoint of M
BEGINNINGS = 10  # from the x before, at most
PROGRESS = 0.5  # of the residual before: what a beginning must reach to be followed by another
ROUNDING = 1e-6  # of the tolerance: what the two ways to compute a residual may differ by


def operator(value: Any) -> Any:
    """SciPy's operator for a matrix of ours; what is not ours stays as it is."""
    return scipy.sparse.linalg.aslinearoperator(value) if isinstance(value, Guarded) else value


def applied(M: Any, A: Any, b: Any, method: str) -> Any:
    """M as SciPy takes it: a name becomes a preconditioner of A, one of ours gets its adjoint where `method` asks."""
    if M is None:
        return None
    if isinstance(M, str):
        a = as_matrix(A)
        dtype = vector_dtype(a, None if b is None else np.asarray(b))
        M = preconditioner(M, a, require_square(a), dtype)
    if isinstance(M, Preconditioner) and method in ADJOINT:
        return _with_adjoint(M, method)
    require_operand(M)
    return operator(M)


def _with_adjoint(m: Preconditioner, method: str) -> Any:
    """A LinearOperator that also has M^H, where that is known."""
    if isinstance(m, Jacobi):
        return scipy.sparse.linalg.LinearOperator(
            m.shape, m.matvec, lambda x: m.matvec(np.conj(x)).conj(), dtype=m.dtype
        )
    hermitian = isinstance(m, (IC0, Chebyshev)) or (isinstance(m, AMG) and m.hermitian)
    if not hermitian:
        raise TypeError(
            f"{method} multiplies by the adjoint of M, which {type(m).__name__} does not give: take M='jacobi' (for a "
            "symmetric A also 'ic0', 'chebyshev' or 'amg'), an object with matvec and rmatvec, or bicgstab, which "
            "takes any M"
        )
    return scipy.sparse.linalg.LinearOperator(m.shape, m.matvec, m.matvec, dtype=m.dtype)


def _identity(A: Any) -> Any:
    return scipy.sparse.linalg.aslinearoperator(scipy.sparse.eye_array(A.shape[0]))


def solver(name: str) -> Callable[..., Any]:
    """SciPy's solver of that name over our products."""
    theirs = getattr(scipy.sparse.linalg, name)
    signature = inspect.signature(theirs)

    @functools.wraps(theirs)
    def method(*args: Any, **named: Any) -> Any:
        refuse(name, *args, *named.values())
        given = dict(signature.bind(*args, **named).arguments)
        require_callable(given.get("callback"))
        A, b = given.pop("A"), given.pop("b")
        for key in ("M", "M1", "M2"):
            if key in given:
                given[key] = applied(given[key], A, b, name)
        if (given.get("M1") is None) != (given.get("M2") is None):  # SciPy's qmr takes both or none
            given = {"M1": _identity(A), "M2": _identity(A)} | {
                key: value for key, value in given.items() if value is not None
            }
        return _solved(theirs, A, b, given)

    method.__doc__ = (
        f"SciPy's `scipy.sparse.linalg.{name}` with products by A: arguments and results are documented there.\n\n"
        "M may also be a preconditioner of this package or its name. info is 0 only where norm(b - A x) <= max(rtol * "
        "norm(b), atol) holds for the x returned: where the recurrence's residual is small and this one is not, the "
        "method begins again from x, and info > 0 counts the iterations where that does not help. Complexity and "
        "types are SciPy's."
    )
    method.__module__ = "penstock.linalg.scipy_methods"
    return method


def _floating(a: Any) -> Any:
    """An operator of whole numbers as one of float64: some of SciPy's methods would convert it, which it cannot."""
    if not isinstance(a, scipy.sparse.linalg.LinearOperator) or np.dtype(a.dtype).kind not in "biu":
        return a
    return scipy.sparse.linalg.LinearOperator(a.shape, a.matvec, a.rmatvec, dtype=np.float64)


def _solved(theirs: Callable[..., Any], A: Any, b: Any, given: dict[str, Any]) -> tuple[Any, int]:
    a = _floating(operator(A))
    product = scipy.sparse.linalg.aslinearoperator(a)
    rhs = np.asarray(b).reshape(-1)
    target = max(
        tolerance(given.get("rtol", 1e-5), "rtol") * float(np.linalg.norm(rhs)),
        tolerance(given.get("atol", 0.0), "atol"),
    )
    run = _from_the_right if theirs.__name__ == "tfqmr" and given.get("M") is not None else _run
    heard, most, done = given.get("callback"), given.get("maxiter"), 0

    def counted(x: Any) -> None:
        nonlocal done
        done += 1
        if heard is not None:
            heard(x)

    given = {**given, "callback": counted}
    best, last = None, np.inf
    for _ in range(BEGINNINGS):
        x, info = run(theirs, product if run is _from_the_right else a, b, given)
        if best is None and info != 0:
            return x, int(info)
        if np.shape(x)[0] != rhs.shape[0]:
            return x, 0
        residual = float(np.linalg.norm(rhs - product.matvec(np.asarray(x).reshape(-1))))
        if residual <= (1 + ROUNDING) * target:
            return x, 0
        progress = residual <= PROGRESS * last
        if best is None or residual < last:
            best, last = x, residual
        if info != 0 or not progress or (most is not None and done >= most):
            break
        given |= {"x0": x, "rtol": 0.0, "atol": PROGRESS * target}
        if most is not None:
            given["maxiter"] = most - done
    return best, max(done, 1)


def _run(theirs: Callable[..., Any], a: Any, b: Any, given: dict[str, Any]) -> tuple[Any, int]:
    return theirs(a, b, **given)


def _from_the_right(
    theirs: Callable[..., Any], a: Any, b: Any, given: dict[str, Any]
) -> tuple[Any, int]:
    """A M y = b - A x0 and x = x0 + M y, so that the residual of the method is that of A x = b."""
    m = scipy.sparse.linalg.aslinearoperator(given["M"])
    if m.shape != a.shape:
        raise ValueError(f"M has shape {tuple(m.shape)}, A has {tuple(a.shape)}")
    rhs, x0, heard = np.asarray(b), given.get("x0"), given["callback"]
    rhs = rhs.reshape(-1).astype(np.result_type(rhs, a.dtype, m.dtype, np.float32))
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0={x0!r} is unknown: give an array, None, or 'Mb' for M @ b")
        x0 = m.matvec(rhs)
    first = np.zeros_like(rhs) if x0 is None else np.asarray(x0).reshape(-1)
    both = scipy.sparse.linalg.LinearOperator(
        a.shape, lambda y: a.matvec(m.matvec(y)), dtype=rhs.dtype
    )
    target = max(
        float(given.get("rtol", 1e-5)) * float(np.linalg.norm(rhs)), float(given.get("atol", 0.0))
    )
    inside = {key: value for key, value in given.items() if key not in ("M", "x0", "rtol", "atol")}
    inside["callback"] = lambda y: heard(first + m.matvec(y))
    y, info = theirs(both, rhs - a.matvec(first), rtol=0.0, atol=target, **inside)
    x = first + m.matvec(y)
    return x.reshape(np.shape(b)) if np.ndim(b) == 1 else x, info
