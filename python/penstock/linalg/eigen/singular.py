"""`svds`: a few of the largest singular values, by Lanczos on the smaller of A^H A and A A^H."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from penstock.linalg._on_gpu import refuse
from penstock.linalg.eigen import basis, copies
from penstock.linalg.eigen.info import EigenInfo
from penstock.linalg.eigen.products import Products, Scaled, is_whole
from penstock.linalg.eigen.rows import HostRows, Room
from penstock.linalg.eigen.streamed import OnePass
from penstock.linalg.eigen.symmetric import DENSE, first_vector, no_convergence
from penstock.linalg.eigen.tall import tall_qr

_WANTED = (True, False, "u", "vh")


def svds(
    A: Any,
    k: int = 6,
    ncv: int | None = None,
    tol: float = 0,
    which: str = "LM",
    v0: Any = None,
    maxiter: int | None = None,
    return_singular_vectors: bool | str = True,
    solver: str = "arpack",
    rng: Any = None,
    options: Any = None,
    *,
    block: int | None = None,
    schedule: Any = None,
    return_info: bool = False,
) -> Any:
    """k singular values and vectors, as `scipy.sparse.linalg.svds`.

    For `solver="arpack"` and `which="LM"` it is thick-restart block Lanczos on the Gram matrix of A's smaller side,
    which is never formed, and then the singular values of A on the subspace found. As with ARPACK, values below about
    the square root of the precision, times the largest, are inaccurate; `solver="propack"` finds them. That,
    `solver="lobpcg"` and `which="SM"` are SciPy's methods by our products.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape, dtype, matvec and rmatvec; (m, n)
    k : whole number, 0 < k < min(m, n)
    ncv, maxiter, rng, block, return_info : as in `eigsh`, of the Gram matrix
    schedule : as in `csr_array.dot`: of products with A. Those with A^H use a transpose that is formed and kept where A
        is in core. Where A's entries travel, A^H A x is one pass over them, without a transpose.
    tol : float
        0 is the precision of the type; of singular values, squared for the Gram matrix.
    v0 : array of shape (min(m, n),), optional
    return_singular_vectors : True, False, "u" or "vh"

    Returns (u, s, vh): (m, k), ascending (k,), (k, n), None for what was not asked for; s alone for False. u and vh
    have orthonormal columns and rows. Raises as `eigsh` does.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.uniform(200, nnz_per_row=5, seed=1)
    >>> u, s, vh = ps.linalg.svds(A, k=4)
    >>> u.shape, s.shape, vh.shape
    ((200, 4), (4,), (4, 200))
    """
    refuse("svds", k, v0)
    if str(solver).lower() != "arpack" or str(which).upper() != "LM" or options is not None:
        if block is not None or schedule is not None or return_info:
            raise ValueError(
                'block, schedule and return_info belong to our method: solver="arpack", which="LM"'
            )
        from penstock.linalg import scipy_methods  # takes a third of a second

        given = {"ncv": ncv, "tol": tol, "which": which, "v0": v0, "maxiter": maxiter}
        given |= {"solver": solver, "rng": rng, "options": options}
        return scipy_methods.svds(A, k, return_singular_vectors=return_singular_vectors, **given)
    begin = time.perf_counter()
    if return_singular_vectors not in _WANTED:
        raise ValueError(
            f"return_singular_vectors={return_singular_vectors!r}: must be one of {_WANTED}"
        )
    products = Products(A, schedule)
    result = largest(products, k, ncv, tol, v0, maxiter, rng, block)
    u, s, vh, residuals, restarts, b, kept, vectors_on = result
    info = EigenInfo(
        *("block Lanczos on the Gram matrix", products.passes, products.columns, b, kept),
        *(restarts, residuals, products.streams, time.perf_counter() - begin, vectors_on),
    )
    if return_singular_vectors is False:
        return (s, info) if return_info else s
    made = (
        u if return_singular_vectors in (True, "u") else None,
        s,
        vh if return_singular_vectors in (True, "vh") else None,
    )
    return (*made, info) if return_info else made


def largest(
    products: Products, k: int, ncv: Any, tol: float, v0: Any, maxiter: Any, rng: Any, block: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, int, int, str]:
    """(u, s, vh, residuals, restarts, block, vectors kept, where); s ascends."""
    rows, cols = products.shape
    n = min(rows, cols)
    _checked(k, n, ncv, tol, maxiter)
    k = int(k)
    draw = np.random.default_rng(0 if rng is None else rng)
    b = products.block(block, max(n // 8, 1))
    kept = max(int(ncv) if ncv is not None else 2 * k + 20 * b, k + 2 * b)
    whole = n <= DENSE or kept + 2 * b > n
    one_pass = OnePass.of(products, b) if rows >= cols or not (whole or v0 is not None) else None
    wide = rows < cols and one_pass is None
    there, back = products.times, products.adjoint
    if wide:
        there, back = back, there
    first = None if v0 is None else first_vector(v0, n, products.dtype)
    vectors_on = "cpu"
    if whole:  # the smaller side
        right, restarts, kept = np.eye(n, dtype=products.dtype), 0, n
    else:
        start = basis.random_rows(b, cols if one_pass else n, products.dtype, draw)
        if first is not None:
            start[0] = first
        limit = 10 * n if maxiter is None else int(maxiter)
        one = Scaled(there)

        def gram(x: np.ndarray) -> np.ndarray:
            y = back(one(x))
            return y if one.factor == 1 else y * y.dtype.type(one.factor)

        room: Room = partial(HostRows, gram)
        if one_pass:
            room, vectors_on = one_pass.room(3 * (kept + copies.ROOM * b), b)
        found = copies.eigenpairs(
            *(room, start, k, "LA", kept, limit, float(tol) ** 2, draw),
            random=first is None,
        )
        if not (found.complete and found.converged.all()):
            raise no_convergence(found)
        right, restarts = found.vectors, found.restarts
    if one_pass:
        u, s, vh = on_columns(one_pass, right, k)
        residuals = one_pass.residuals(s, vh)
        return u, s, vh, residuals, restarts, b, kept, vectors_on
    u, s, vh = on_subspace(there, right, k)
    residuals = np.linalg.norm(back(np.ascontiguousarray(u.T)) - s[:, None] * vh.conj(), axis=1)
    if wide:
        u, vh = vh.conj().T, u.conj().T
    return u, s, vh, residuals, restarts, b, kept, vectors_on


def on_subspace(times: Any, right: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular triplets of A on the span of the orthonormal rows `right`, ascending."""
    image = times(np.ascontiguousarray(right))
    if not np.isfinite(image).all():
        raise ValueError(
            "a product with A is not finite: A has NaN or infinite entries, or too large ones"
        )
    q, small = np.linalg.qr(image.T)
    u, s, vh = np.linalg.svd(small, full_matrices=False)
    u, s, vh = q @ u[:, :k][:, ::-1], s[:k][::-1], vh[:k][::-1] @ right.conj()
    return u, np.ascontiguousarray(s), vh


def on_columns(
    one_pass: OnePass, right: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`on_subspace` of a matrix with many rows."""
    q, r = tall_qr(one_pass.columns(right.T))
    u, s, vh = np.linalg.svd(r, full_matrices=False)
    return q(u[:, :k][:, ::-1]), np.ascontiguousarray(s[:k][::-1]), vh[:k][::-1] @ right.conj()


def _checked(k: Any, n: int, ncv: Any, tol: Any, maxiter: Any) -> None:
    if n == 0:
        raise ValueError("`A` must not be empty.")
    if not is_whole(k) or not 0 < k < n:
        raise ValueError(
            f"`k` must be an integer satisfying `0 < k < min(A.shape)`: k={k}, min(A.shape)={n}; for all singular "
            "values use scipy.linalg.svd(A.toarray())"
        )
    if ncv is not None and (int(ncv) != ncv or not k < ncv < n):
        raise ValueError(f"`ncv` must be an integer satisfying `k < ncv < min(A.shape)`: ncv={ncv}")
    if not (np.isfinite(tol) and tol >= 0):
        raise ValueError(f"`tol` must be a non-negative floating point value: tol={tol!r}")
    if maxiter is not None and (int(maxiter) != maxiter or maxiter <= 0):
        raise ValueError(f"`maxiter` must be a positive integer: maxiter={maxiter!r}")
