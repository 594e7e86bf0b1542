"""`eigsh`: a few eigenvalues of a symmetric or Hermitian matrix."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.schedules import options
from penstock._product.gpu_vectors import device_operator, place_of
from penstock.linalg._methods.passes import dot, norm, pieces
from penstock.linalg._on_gpu import refuse
from penstock.linalg.eigen import basis, copies, lanczos
from penstock.linalg.eigen.info import EigenInfo
from penstock.linalg.eigen.products import Products, Scaled, is_whole
from penstock.linalg.eigen.rows import DeviceRows, HostRows, Room, Rows, ThroughGpu
from penstock.linalg.eigen.streamed import through_gpu

DENSE = 150  # rows, up to which LAPACK is faster
_ENDS = ("LM", "SM", "LA", "SA", "BE")


def eigsh(
    A: Any,
    k: int = 6,
    M: Any = None,
    sigma: float | None = None,
    which: str = "LM",
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
    Minv: Any = None,
    OPinv: Any = None,
    mode: str = "normal",
    rng: Any = None,
    *,
    block: int | None = None,
    schedule: Any = None,
    return_info: bool = False,
) -> Any:
    """k eigenvalues and eigenvectors of a symmetric or Hermitian A, as `scipy.sparse.linalg.eigsh`.

    Thick-restart block Lanczos with products of our own, and a search for copies: eigenvalues that coincide are
    returned as often as they are there, but for a probability of about 0.1 %. With M, sigma, Minv, OPinv, another
    `mode`, or `which="SM"` it is SciPy's method, by our products where A need not be factorized.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape, dtype and matvec; (n, n)
        float32 and complex64 are computed so, complex128 as well, everything else in float64.
    k : whole number, 0 < k < n
    which : "LM" (largest magnitude), "LA", "SA" (largest, smallest), "BE" (half from each end), "SM" (SciPy's)
    v0 : array of shape (n,), optional
        The first vector of the first block. The others, and v0 where it is None, are random.
    ncv : int, k < ncv <= n, optional
        Vectors that are kept: 2 k + 20 for each vector of a block; at least k + 2 blocks.
    maxiter : int, optional
        Restarts; 10 n.
    tol : float
        Ends at norm(A x - value x) <= tol abs(value); 0 is the precision of the type. Residuals below eight times the
        precision times the norm of A are not asked for.
    rng : seed or numpy.random.Generator, optional
        Results are the same for a seed; None is seed 0.
    block : int, optional
        Vectors that a product multiplies at once. One on the CPU, eight where A travels to a GPU: docs/eigen.md has the
        reason.
    schedule : as in `csr_array.dot`, optional
    return_info : bool
        Also returns an EigenInfo, as the last of a tuple.

    Returns (values, vectors), ascending values (k,) and orthonormal vectors (n, k), or the values alone, which descend
    for which="SA", as SciPy's do.

    Raises ValueError (A not square or not Hermitian, NaN in A, k, ncv, tol or maxiter out of range), TypeError
    (k >= n), and SciPy's ArpackNoConvergence, which holds the pairs that have converged.

    >>> import penstock as ps
    >>> A = ps.generate.laplacian((30, 30))
    >>> values, vectors = ps.linalg.eigsh(A, k=3, which="LA")
    >>> bool(abs(A @ vectors - vectors * values).max() < 1e-12)
    True
    """
    refuse("eigsh", k, v0)
    which = str(which).upper()
    if which not in _ENDS:
        raise ValueError(f"which={which!r}: must be one of {' '.join(_ENDS)}")
    theirs = [M, sigma, Minv, OPinv]
    if any(x is not None for x in theirs) or mode != "normal" or which == "SM":
        if block is not None or schedule is not None or return_info:
            raise ValueError(
                "block, schedule and return_info belong to our method: leave out M, sigma, Minv, OPinv, mode and "
                'which="SM", or those three'
            )
        from penstock.linalg import scipy_methods  # takes a third of a second

        given = {"M": M, "sigma": sigma, "which": which, "v0": v0, "ncv": ncv, "maxiter": maxiter}
        given |= {"Minv": Minv, "OPinv": OPinv, "mode": mode, "tol": tol, "rng": rng}
        return scipy_methods.eigsh(A, k, return_eigenvectors=return_eigenvectors, **given)
    begin = time.perf_counter()
    products = Products(A, schedule)
    n = checked(products.shape, k, ncv, maxiter, tol)
    k = int(k)
    draw = np.random.default_rng(0 if rng is None else rng)
    b = products.block(block, max(n // 8, 1))
    ncv = 2 * k + 20 * b if ncv is None else max(int(ncv), k + 2 * b)
    probe = require_hermitian(products, draw)
    first = None if v0 is None else first_vector(v0, n, products.dtype)
    if n <= DENSE or ncv + 2 * b > n:
        found = _dense(products, k, which)
        b, ncv, vectors_on = min(n, b), n, "cpu"
    else:
        start = basis.random_rows(b, n, products.dtype, draw)
        if first is not None:
            start[0] = first
        limit = 10 * n if maxiter is None else int(maxiter)
        scaled = Scaled(products.times)
        room, vectors_on = _room(products, scaled, b, 3 * (ncv + copies.ROOM * b), probe)
        found = copies.eigenpairs(
            room, start, k, which, ncv, limit, float(tol), draw, random=first is None
        )
        if scaled.factor != 1:
            values, residuals = found.values / scaled.factor, found.residuals / scaled.factor
            found = replace(found, values=values, residuals=residuals)
    if not (found.complete and found.converged.all()):
        raise no_convergence(found)
    info = EigenInfo(
        *(
            "dense" if ncv == n else "thick-restart block Lanczos",
            products.passes,
            products.columns,
            b,
            ncv,
            found.restarts,
        ),
        *(found.residuals, products.streams, time.perf_counter() - begin, vectors_on),
    )
    return as_result(
        found, products.dtype, which, return_eigenvectors, info if return_info else None
    )


def as_result(
    found: lanczos.Ritz, dtype: np.dtype, which: str, vectors: bool, info: EigenInfo | None
) -> Any:
    """What eigsh returns."""
    values = found.values.astype(np.zeros((), dtype).real.dtype)
    alone = values[::-1].copy() if which == "SA" else values
    result: tuple[Any, ...] = (values, found.vectors.T) if vectors else (alone,)
    result = result if info is None else (*result, info)
    return result if len(result) > 1 else result[0]


def checked(shape: tuple[int, int], k: Any, ncv: Any, maxiter: Any, tol: Any) -> int:
    n, m = shape
    if n != m:
        raise ValueError(f"expected square matrix (shape={shape}): svds takes any shape")
    if not is_whole(k) or k <= 0:
        raise ValueError(f"k={k!r}: k must be greater than 0, and a whole number")
    if k >= n:
        raise TypeError(
            f"k={k} of {n} eigenvalues: k must be less than n, for all of them use scipy.linalg.eigh(A.toarray())"
        )
    if ncv is not None and not k < ncv <= n:
        raise ValueError(f"ncv must be k<ncv<=n, ncv={ncv}, k={k}, n={n}")
    if maxiter is not None and maxiter <= 0:
        raise ValueError(f"maxiter must be positive, maxiter={maxiter}")
    if not (np.isfinite(tol) and tol >= 0):
        raise ValueError(f"tol={tol!r}: give a finite number that is not negative")
    return n


def first_vector(v0: Any, n: int, dtype: np.dtype) -> np.ndarray:
    v = np.asarray(v0).reshape(-1)
    if v.shape != (n,) or not np.isfinite(v).all() or not v.any():
        raise ValueError(
            f"v0 has shape {np.shape(v0)}: give {n} finite numbers that are not all zero"
        )
    if v.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError("v0 is complex and A is real: give a real v0")
    return v.astype(dtype)


def _room(
    products: Products,
    scaled: Scaled,
    b: int,
    most: int,
    probe: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[Room, str]:
    """Where the vectors are kept, `most` of them at a time: with the device that multiplies them, where they fit into
    half of what is free there, or else in host memory; and its name."""
    here, n = partial(HostRows, scaled), products.shape[0]
    if probe is None or products.dtype.kind != "f":
        return here, "cpu"
    op: Any = through_gpu(products, most, b, False)
    if op is None and b == 1:
        op = device_operator(products.a, products.dtype)
    if op is None:
        return here, "cpu"
    if op.gpu >= 0 and not isinstance(op, ThroughGpu):
        free = options.device_memory or _core.gpu_memory(op.gpu)[0]
        if DeviceRows.bytes(products.dtype, most, n) > free // 2:
            return here, "cpu"
    scaled.look(*probe)

    def there(count: int, n: int, _: np.dtype) -> Rows:
        return DeviceRows(op, lambda: scaled.factor, products.count, count, n)

    return there, place_of(op)


def require_hermitian(
    products: Products, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """A necessary condition, <x, A y> = <A x, y> for a random x and y, for one pass; (vectors, their products).
    Operators are taken at their word."""
    if not isinstance(products.a, csr_array):
        return None
    x = basis.random_rows(2, products.shape[0], products.dtype, rng)
    y = products.times(x)
    if not np.isfinite(y).all():
        raise ValueError(
            "a product with A is not finite: A has NaN or infinite entries, or too large ones"
        )
    one, other = dot(pieces(x[0], y[1])), dot(pieces(y[0], x[1]))
    scale = norm(x[0]) * norm(y[1])
    if abs(one - other) > np.sqrt(np.finfo(products.dtype).eps) * scale:
        kind = "Hermitian" if products.dtype.kind == "c" else "symmetric"
        raise ValueError(
            f"A is not {kind}: use eigs, or A + A.T if that is meant, or svds for singular values"
        )
    return x, y


def _dense(products: Products, k: int, which: str) -> lanczos.Ritz:
    """By LAPACK, where the matrix is small, or a basis would be as large as the space."""
    n = products.shape[0]
    if isinstance(products.a, csr_array):
        full = products.a.toarray().astype(products.dtype)
    else:
        full = products.times(np.eye(n, dtype=products.dtype)).T
    if not np.isfinite(full).all():
        raise ValueError("a product with A is not finite: A has NaN or infinite entries")
    values, vectors = np.linalg.eigh(full)
    best = lanczos.wanted(values, which, k)
    values, vectors = values[best], vectors[:, best]
    residuals = np.linalg.norm(full @ vectors - vectors * values, axis=0)
    return lanczos.Ritz(values, vectors.T, residuals, np.ones(k, bool), 0)


def no_convergence(found: lanczos.Ritz) -> Exception:
    from scipy.sparse.linalg import ArpackNoConvergence

    done = found.converged
    missing = "" if found.complete else ", but others that coincide with them may be missing"
    return ArpackNoConvergence(
        f"No convergence ({found.restarts} restarts, {done.sum()}/{len(done)} eigenvectors converged{missing}): allow "
        "a larger maxiter, ncv or tol",
        found.values[done],
        found.vectors[done].T,
    )
