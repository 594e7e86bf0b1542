"""Low-rank approximations in a fixed number of passes: randomized subspace iteration, block Krylov, and PCA."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.linalg.eigen import basis
from penstock.linalg.eigen.info import EigenInfo
from penstock.linalg.eigen.lanczos import Krylov
from penstock.linalg.eigen.products import Products, is_whole
from penstock.linalg.eigen.streamed import OnePass
from penstock.linalg.eigen.tall import tall_qr


def randomized_svd(
    A: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int | str = "auto",
    rng: Any = None,
    schedule: Any = None,
    return_info: bool = False,
) -> Any:
    """The largest singular values and vectors, approximately (Halko, Martinsson and Tropp 2011, algorithms 4.4, 5.1).

    A random block of n_components + n_oversamples vectors is multiplied by A and A^H in turn, with orthonormalisation
    in between: 2 n_iter + 2 passes over A, each for the whole block; n_iter + 2 where A's entries travel, as both
    products are then made in one pass. Names are scikit-learn's.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape, dtype, matvec and rmatvec; (m, n)
    n_components : int, 1 to min(m, n)
    n_oversamples : int, at least 0
        More make the result closer to the best one.
    n_iter : int, at least 0, or "auto"
        "auto" is 7 where fewer than a tenth of the singular values are asked for, else 4, as in scikit-learn.
    rng : seed or numpy.random.Generator, optional
        Results are the same for a seed; None is seed 0.
    schedule : as in `csr_array.dot`, of products with A
    return_info : bool
        Also returns an EigenInfo.

    Returns (u, s, vh), (m, k), descending (k,) and (k, n). Raises ValueError for numbers out of range, and where A has
    NaN. For accurate values use `svds`; `block_krylov_svd` is closer for the same passes.

    >>> import penstock as ps
    >>> A = ps.generate.uniform(300, nnz_per_row=8, seed=1)
    >>> u, s, vh = ps.linalg.randomized_svd(A, 5)
    >>> u.shape, bool(s[0] >= s[4])
    ((300, 5), True)
    """
    begin = time.perf_counter()
    products = Products(A, schedule)
    k, width, steps = _sizes(products, n_components, n_oversamples, n_iter)
    method, draw = "randomized subspace iteration", _draw(rng)
    x = basis.random_rows(width, products.shape[1], products.dtype, draw)
    one_pass = OnePass.of(products, width)
    if one_pass:
        room, where = one_pass.room(width, width)
        rows = room(width, x.shape[1], x.dtype)
        rows.start(0, x, 0, draw)
        for _ in range(steps):
            rows.renew(width, draw)
        x = rows.get(0, width).copy()
        rows.multiply(0, 0, width)
        z = rows.get(0, width)
        return _finish_in_one(products, one_pass, x, z, k, begin, method, where, return_info)
    for _ in range(steps):
        x = basis.orthonormal(products.adjoint(basis.orthonormal(products.times(x))))
    q = basis.orthonormal(products.times(x))
    return _finish(products, q, k, width, begin, method, return_info)


def block_krylov_svd(
    A: Any,
    n_components: int,
    *,
    n_oversamples: int = 10,
    n_iter: int = 3,
    rng: Any = None,
    schedule: Any = None,
    return_info: bool = False,
) -> Any:
    """As `randomized_svd`, but from all blocks A x, (A A^H) A x, ... together (Musco and Musco 2015, algorithm 2).

    It makes as many passes, comes much closer in each, and keeps n_iter + 1 blocks of vectors of length
    m. Arguments and results are those of `randomized_svd`.

    >>> import penstock as ps
    >>> A = ps.generate.uniform(300, nnz_per_row=8, seed=1)
    >>> s = ps.linalg.block_krylov_svd(A, 5, n_iter=8)[1]
    >>> bool(abs(s[0] / ps.linalg.svds(A, k=5)[1][-1] - 1) < 1e-6)
    True
    """
    begin = time.perf_counter()
    products = Products(A, schedule)
    k, width, steps = _sizes(products, n_components, n_oversamples, n_iter)
    draw, one_pass = _draw(rng), OnePass.of(products, width)
    x = basis.random_rows(width, products.shape[1], products.dtype, draw)
    if one_pass and (steps + 2) * width <= min(products.shape):
        room, where = one_pass.room((steps + 2) * width, width)
        space = Krylov(room, x, (steps + 1) * width, draw)
        space.expand(steps + 1)
        best = _leading(space, width, products.dtype)
        if best is not None:
            x, z = space.with_products(best)
            return _finish_in_one(
                products, one_pass, x, z, k, begin, "block Krylov", where, return_info
            )
        x = basis.random_rows(width, products.shape[1], products.dtype, draw)
    blocks = [basis.orthonormal(products.times(x))]
    for _ in range(steps):
        y = products.adjoint(blocks[-1])  # near 1, so that products of two stay in range
        blocks.append(basis.orthonormal(products.times(y / (abs(y).max() or 1))))
    q = basis.orthonormal(np.concatenate(blocks))
    return _finish(products, q, k, width, begin, "block Krylov", return_info)


def _sizes(products: Products, k: Any, more: Any, steps: Any) -> tuple[int, int, int]:
    most = min(products.shape)
    if not is_whole(k) or not 1 <= k <= most:
        raise ValueError(f"n_components={k!r}: give a whole number from 1 to min(A.shape) = {most}")
    if not is_whole(more) or more < 0:
        raise ValueError(f"n_oversamples={more!r}: give a whole number, at least 0")
    if steps == "auto":
        steps = 7 if k < 0.1 * most else 4
    if not is_whole(steps) or steps < 0:
        raise ValueError(f'n_iter={steps!r}: give a whole number, at least 0, or "auto" for 7 or 4')
    return int(k), min(int(k + more), most), int(steps)


def _draw(rng: Any) -> np.random.Generator:
    return np.random.default_rng(0 if rng is None else rng)


def _finish_in_one(
    products: Products,
    one_pass: OnePass,
    x: np.ndarray,
    z: np.ndarray,
    k: int,
    begin: float,
    method: str,
    where: str,
    told: bool,
) -> Any:
    """As `_finish` for the q of A x = q r, where z are the rows (f A)^H (f A) x: q^H A is then known by one more pass.
    It is r on the rows of x, which are orthonormal, and r^-H z^H beside them."""
    f = one_pass.factor
    even = _evened(
        x, z
    )  # A x times this has nearly orthonormal columns, so that q is found by few passes over them
    q, r = tall_qr(one_pass.columns(x.T @ even))
    r = f * np.linalg.solve(even.T, r.T).T
    u, s, vh = np.linalg.svd(r)
    beside = z - (z @ x.conj().T) @ x
    beside -= (beside @ x.conj().T) @ x
    known = s > np.sqrt(np.finfo(x.dtype).eps) * s[0]  # in smaller ones beside has no digits
    part = np.divide(1, s, out=np.zeros_like(s), where=known)
    small = u @ (s[:, None] * (vh @ x.conj()) + part[:, None] * (vh @ beside.conj()))
    v, r = tall_qr(small.conj().T)  # q^H A, times f
    right, s, left = np.linalg.svd(r, full_matrices=False)
    u, s, vh = q(left[:k].conj().T), s[:k] / f, v(right[:, :k]).conj().T
    if not told:
        return u, s, vh
    left, width = one_pass.columns(vh.conj().T), len(x)
    residuals = np.linalg.norm(left - u * s, axis=0)
    info = EigenInfo(
        *(method, products.passes, products.columns, width, width, 0, residuals),
        *(products.streams, time.perf_counter() - begin, where),
    )
    return u, s, vh, info


def _evened(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """The inverse of the Cholesky factor of x^H z, or 1 where it has none."""
    gram = x.conj() @ z.T
    try:
        return np.linalg.inv(np.linalg.cholesky((gram + gram.conj().T) / 2).conj().T)
    except np.linalg.LinAlgError:
        return np.eye(len(x), dtype=x.dtype)


def _leading(space: Krylov, width: int, dtype: np.dtype) -> np.ndarray | None:
    """Coefficients of `width` orthonormal vectors c of the basis X for which A c spans the leading left singular
    vectors of A that the range of A X has: A^H A X = X T + the next block times `last`. None where so many singular
    values are not to be told from rounding, as their squares are."""
    t = np.triu(space.projected[: space.size, : space.size])
    d, v = np.linalg.eigh(t + np.triu(t, 1).conj().T)
    good = d > 64 * np.finfo(dtype).eps * d[-1]
    if good.sum() < width:
        return None
    d, v = np.sqrt(d[good]), v[:, good]
    out = space.last @ v[space.size - space.b :] / d
    w = np.linalg.eigh(np.diag(d**2) + out.conj().T @ out)[1][:, -width:]
    return np.linalg.qr((v / d) @ w)[0]


def _finish(
    products: Products, q: np.ndarray, k: int, width: int, begin: float, method: str, told: bool
) -> Any:
    """The singular values of A on the left subspace whose orthonormal basis q's rows are."""
    small = products.adjoint(q).conj()  # q^H A
    v, s, w = np.linalg.svd(small.T, full_matrices=False)
    u, s, vh = q.T @ w[:k].T, s[:k], v[:, :k].T
    if not told:
        return u, s, vh
    left = products.times(np.ascontiguousarray(vh.conj()))
    residuals = np.linalg.norm(left - s[:, None] * u.T, axis=1)
    info = EigenInfo(
        *(method, products.passes, products.columns, width, len(q), 0, residuals),
        *(products.streams, time.perf_counter() - begin),
    )
    return u, s, vh, info
