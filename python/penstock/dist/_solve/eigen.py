"""`ps.dist.linalg.eigsh`: the method of `ps.linalg.eigsh`, with vectors that ranks share out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock.dist._agree import about, agreed, any_rank, total
from penstock.dist._solve.vectors import PartRows, norm_over, vectors_of
from penstock.linalg._checks import vector
from penstock.linalg.eigen import copies, lanczos
from penstock.linalg.eigen.info import EigenInfo
from penstock.linalg.eigen.products import Scaled, element_type, is_whole
from penstock.linalg.eigen.symmetric import DENSE, as_result, checked, no_convergence

_ENDS = ("LM", "LA", "SA", "BE")


class _Products:
    """A x of blocks whose rows are this rank's entries of vectors."""

    def __init__(self, a: Any) -> None:
        self.a, self.dtype = a, element_type(a)
        self.passes = self.columns = 0

    def times(self, x: np.ndarray) -> np.ndarray:
        self.passes += 1
        self.columns += len(x)
        if len(x) == 1:
            return np.asarray(self.a.dot(x[0]), self.dtype)[None]
        y = self.a.dot(np.ascontiguousarray(x.T))
        return np.ascontiguousarray(np.asarray(y, self.dtype).T)


def eigsh(
    A: Any,
    k: int = 6,
    which: str = "LM",
    v0: Any = None,
    ncv: int | None = None,
    maxiter: int | None = None,
    tol: float = 0,
    return_eigenvectors: bool = True,
    rng: int | None = None,
    *,
    block: int = 1,
    return_info: bool = False,
) -> Any:
    """k eigenvalues and eigenvectors of a symmetric A that ranks share out, as `ps.linalg.eigsh`. Collective.

    Thick-restart block Lanczos with an exchange and three sums for a product; eigenvalues that coincide are found as
    often as they are there, but for a probability of about 0.1 %.

    Parameters
    ----------
    A : ps.dist.csr_array
        Real, n x n, rows and columns with the same owners. float32 is computed so, everything else in float64.
    k : whole number, 0 < k < n
    which : "LM" (largest magnitude), "LA", "SA" (largest, smallest), "BE" (half from each end)
    v0 : array of shape (rows owned here,), optional
        This rank's entries of the first vector, on all ranks or on none; random where it is None.
    ncv, maxiter, tol
        As for ps.linalg.eigsh. Where ncv + 2 block > n, every rank makes A as a dense matrix.
    rng : whole number, optional
        Seed; random vectors are the same for a seed, whichever rank has which rows. None is 0.
    block : int
        Vectors that a product multiplies at once, which share its exchange.
    return_info : bool
        Also returns an EigenInfo, as the last of a tuple; but for `seconds` it is the same on all ranks.

    Returns
    -------
    (values, vectors) : ascending values (k,), the same on all ranks, and this rank's entries (rows owned here, k) of
        orthonormal vectors; or the values alone, which descend for which="SA", as SciPy's do

    Raises, on all ranks, ValueError (A not square or not symmetric, other owners of columns, NaN, k, ncv, tol or
    maxiter out of range, arguments that differ between ranks), TypeError (k >= n), SciPy's ArpackNoConvergence, and
    CommError where a rank is lost.

    >>> import penstock as ps
    >>> A = ps.generate.laplacian((30, 30))
    >>> def work(comm):
    ...     D = ps.dist.csr_array(A, comm)
    ...     values, vectors = ps.dist.linalg.eigsh(D, k=3, which="LA")
    ...     return values, D.collect(vectors)
    >>> values, vectors = ps.dist.run(work, 3)[0]
    >>> bool(abs(A @ vectors - vectors * values).max() < 1e-12)
    True
    """
    seed = rng if rng is None or is_whole(rng) else type(rng).__name__
    given = {"k": k, "which": which, "ncv": ncv, "maxiter": maxiter, "tol": tol, "rng": seed}
    with about(A.comm, "ps.dist.linalg.eigsh", **given, block=block):
        return _eigsh(
            A, k, which, v0, ncv, maxiter, tol, return_eigenvectors, rng, block, return_info
        )


def _eigsh(
    A: Any,
    k: int,
    which: str,
    v0: Any,
    ncv: int | None,
    maxiter: int | None,
    tol: float,
    return_eigenvectors: bool,
    rng: int | None,
    block: int,
    return_info: bool,
) -> Any:
    begin, comm = time.perf_counter(), A.comm
    which = str(which).upper()
    first: np.ndarray | None = agreed(
        comm, lambda: _looked_at(A, k, which, v0, ncv, maxiter, tol, rng, block)
    )
    some = any_rank(comm, [v0 is not None, v0 is None])
    if some.all():
        raise ValueError(
            "v0 is given on some ranks and not on others: give all of them their entries"
        )
    k, n = int(k), int(A.shape[0])
    products, of = _Products(A), vectors_of(A)
    draw = np.random.default_rng(0 if rng is None else int(rng))
    b = max(1, min(int(block), n // 8))
    ncv = 2 * k + 20 * b if ncv is None else max(int(ncv), k + 2 * b)
    _require_symmetric(products, of, draw)
    if first is not None and not total(comm, float(abs(first).sum())) > 0:
        raise ValueError("v0 is zero on all ranks: give numbers that are not all zero")
    if n <= DENSE or ncv + 2 * b > n:
        found, method, b, ncv = _dense(products, k, which), "dense", min(n, b), n
    else:
        method = "thick-restart block Lanczos"
        start = of.draw(b, products.dtype, draw)
        if first is not None:
            start[0] = first
        scaled = Scaled(products.times, partial(norm_over, comm))
        room = partial(_rows, comm, of, scaled)
        limit = 10 * n if maxiter is None else int(maxiter)
        found = copies.eigenpairs(
            room, start, k, which, ncv, limit, float(tol), draw, random=first is None, of=of
        )
        if scaled.factor != 1:
            values, residuals = found.values / scaled.factor, found.residuals / scaled.factor
            found = replace(found, values=values, residuals=residuals)
    if not (found.complete and found.converged.all()):
        raise no_convergence(found)
    counts = products.passes, products.columns, b, ncv, found.restarts
    info = EigenInfo(method, *counts, found.residuals, False, time.perf_counter() - begin)
    return as_result(
        found, products.dtype, which, return_eigenvectors, info if return_info else None
    )


def _rows(
    comm: Any, of: lanczos.Vectors, times: Callable[..., Any], count: int, n: int, dtype: np.dtype
) -> PartRows:
    return PartRows(comm, of, times, count, n, dtype)


def _looked_at(
    A: Any,
    k: Any,
    which: str,
    v0: Any,
    ncv: Any,
    maxiter: Any,
    tol: Any,
    rng: Any,
    block: Any,
) -> np.ndarray | None:
    """v0 as it is computed with, after what every rank can check alone."""
    if which not in _ENDS:
        others = (
            ": solve with A by ps.dist.linalg.cg for the smallest ones" if which == "SM" else ""
        )
        raise ValueError(f"which={which!r}: must be one of {' '.join(_ENDS)}{others}")
    checked(A.shape, k, ncv, maxiter, tol)
    if not is_whole(block) or block < 1:
        raise ValueError(f"block={block!r}: give a number of vectors, at least 1")
    if rng is not None and (not is_whole(rng) or rng < 0):
        raise ValueError(
            f"rng={rng!r}: give a seed that is the same on all ranks, a whole number of 0 or more"
        )
    if not np.array_equal(np.asarray(A.rows), np.asarray(A.cols)):
        raise ValueError(
            "rows and columns of A have different owners: share A out with the same partition for both"
        )
    if v0 is None:
        return None
    return np.asarray(vector(v0, len(A.rows), element_type(A), "v0", False))


def _require_symmetric(products: _Products, of: lanczos.Vectors, rng: np.random.Generator) -> None:
    """As `ps.linalg.eigsh` asks: <x, A y> = <A x, y> for a random x and y."""
    comm = products.a.comm
    x = of.draw(2, products.dtype, rng)
    y = products.times(x)
    if any_rank(comm, not np.isfinite(y).all())[0]:
        raise ValueError(
            "a product with A is not finite: A has NaN or infinite entries, or too large ones"
        )
    x, y = x.astype(np.float64), y.astype(np.float64)
    one, other = total(comm, float(x[0] @ y[1])), total(comm, float(y[0] @ x[1]))
    scale = norm_over(comm, x[0]) * norm_over(comm, y[1])
    if abs(one - other) > np.sqrt(np.finfo(products.dtype).eps) * scale:
        raise ValueError("A is not symmetric: give A + A.T if that is meant")


def _dense(products: _Products, k: int, which: str) -> lanczos.Ritz:
    """By LAPACK on rank 0, where the matrix is small, or a basis would be as large as the space."""
    a = products.a
    rows, n = np.asarray(a.rows), a.shape[0]
    unit = (np.arange(n)[:, None] == rows).astype(products.dtype)
    full = a.collect(products.times(unit).T)
    found = agreed(a.comm, lambda: np.linalg.eigh(full) if a.comm.rank == 0 else None)
    values, vectors = a.comm.share(found, root=0)
    best = lanczos.wanted(values, which, k)
    values, vectors = values[best], vectors[:, best]
    residuals = np.linalg.norm(full @ vectors - vectors * values, axis=0)
    return lanczos.Ritz(values, vectors[rows].T, residuals, np.ones(k, bool), 0)
