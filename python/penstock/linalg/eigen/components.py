"""Principal components of a sparse matrix, whose centred form would be dense and is never made."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from penstock.linalg._methods.passes import norm
from penstock.linalg.eigen.products import Products
from penstock.linalg.eigen.singular import largest
from penstock.linalg.eigen.symmetric import DENSE

__all__ = ["PrincipalComponents", "pca"]


NOTICED = 64  # times the precision: what rounding may take of a product without another tolerance


class PrincipalComponents(NamedTuple):
    """`scores` (m, k), the coordinates of the rows; `components` (k, n), orthonormal rows; `explained_variance` (k,),
    descending; `singular_values` (k,) of the centred matrix; `mean` (n,) of the rows."""

    scores: np.ndarray
    components: np.ndarray
    explained_variance: np.ndarray
    singular_values: np.ndarray
    mean: np.ndarray


class Centred(Products):
    """Products with A - 1 mean^T: two inner products beside those with A."""

    def __init__(self, a: Any, schedule: Any = None) -> None:
        super().__init__(a, schedule)
        ones = np.ones((1, self.shape[0]), self.dtype)
        self.mean = super().adjoint(ones)[0].conj() / self.shape[0]
        if not np.isfinite(self.mean).all():
            raise ValueError("the mean of A's rows is not finite: A has NaN or infinite entries")

    def lost(self) -> float:
        """What rounding takes of a product with the difference, as a part of it."""
        w = np.random.default_rng(0).standard_normal((1, self.shape[1])).astype(self.dtype)
        taken = norm(self.mean) * float(np.sqrt(self.shape[0]))
        left = norm(self.times(w)[0]) / norm(w[0])
        eps = float(np.finfo(self.dtype).eps)
        return eps * taken / left if left > 0 else 0.0

    def times(self, x: np.ndarray) -> np.ndarray:
        return super().times(x) - (x @ self.mean)[:, None]

    def adjoint(self, x: np.ndarray) -> np.ndarray:
        return super().adjoint(x) - x.sum(axis=1)[:, None] * self.mean.conj()


def pca(
    A: Any,
    n_components: int,
    *,
    tol: float = 0,
    maxiter: int | None = None,
    rng: Any = None,
    block: int | None = None,
    schedule: Any = None,
) -> PrincipalComponents:
    """The principal components of A's rows, which are samples: the leading singular vectors of A - 1 mean^T.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape, dtype, matvec and rmatvec; (m, n), m > 1
    n_components : int, 0 < n_components < min(m, n)
    tol, maxiter, rng, block, schedule : as in `svds`

    Returns PrincipalComponents, the first of the largest variance; signs are such that the entry of largest magnitude
    of each component is positive. Variances divide by m - 1. Raises as `svds` does.

    A product with A - 1 mean^T is the difference of two: with means far above the deviations it has lost digits. A
    RuntimeWarning says so where more than half of them are lost; store A without most of its means then, or in float64.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.uniform(300, nnz_per_row=5, seed=1)
    >>> found = ps.linalg.pca(A, 3)
    >>> found.scores.shape, bool(abs(found.scores.mean(axis=0)).max() < 1e-12)
    ((300, 3), True)
    """
    products = Centred(A, schedule)
    m, lost = products.shape[0], products.lost()
    eps = float(np.finfo(products.dtype).eps)
    if lost > np.sqrt(eps) and min(products.shape) > DENSE:
        warnings.warn(
            f"the means of A's columns are so far above the deviations that rounding takes {lost:.1g} of a product "
            "with the difference: subtract a constant from the columns of A first, or use float64",
            RuntimeWarning,
            stacklevel=2,
        )
    # No smaller residual can be asked for; of the Gram matrix it is tol squared.
    if lost > NOTICED * eps:
        tol = max(tol, float(np.sqrt(4 * lost)))
    u, s, vh, *_ = largest(products, n_components, None, tol, None, maxiter, rng, block)
    u, s, vh = u[:, ::-1], s[::-1].copy(), vh[::-1]
    top = vh[np.arange(len(s)), abs(vh).argmax(axis=1)]
    turn = top / abs(top)
    components, scores = vh / turn[:, None], u * (s * turn)
    return PrincipalComponents(scores, components, s**2 / (m - 1), s, products.mean)
