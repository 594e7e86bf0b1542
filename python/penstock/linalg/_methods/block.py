"""The vectors of block_cg: residuals and solutions of k columns, and at most k orthonormal directions.

All are stored column by column, as preconditioners and BLAS take them, in memory that is allocated once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

Many = Callable[[np.ndarray, np.ndarray], object]
INDEPENDENT = (
    1e-12  # of the largest eigenvalue of the directions' Gram matrix: what is kept as a direction
)


class Block:
    """`a` and `m` multiply n x k arrays (out as the second argument). `x` is the first guess, and becomes the
    solution."""

    def __init__(self, a: Many, m: Many | None, b: np.ndarray, x: np.ndarray) -> None:
        self._a, self._m = a, m
        self._b, self.x = np.asfortranarray(b), np.array(x, order="F")
        self._r, self._q, self._z, self._one, self._other = (
            np.empty(b.shape, b.dtype, "F") for _ in range(5)
        )
        self._p: np.ndarray | None = None
        self._gemm = scipy.linalg.get_blas_funcs("gemm", dtype=b.dtype)
        self.curvature = 1.0  # the least eigenvalue of P.AP of the last step

    def norms(self) -> np.ndarray:
        """Of the columns' residuals, as the recurrence has them."""
        return np.linalg.norm(self._r, axis=0).astype(np.float64)

    def restart(self) -> np.ndarray:
        """R = B - A X, without directions. Returns the columns' norms."""
        self._a(self.x, self._r)
        np.subtract(self._b, self._r, out=self._r)
        self._p = None
        return self.norms()

    def step(self, active: np.ndarray) -> str:
        """One product, with directions for the `active` columns. Returns what broke down, or nothing."""
        if self._p is None:
            self._p = self._orthonormal(self._preconditioned(active))
            if self._p.shape[1] == 0:
                return "bad_preconditioner"
        p = self._p
        q = self._q[:, : p.shape[1]]
        self._a(p, q)
        small = hermitian(self._inner(p, q))
        if not np.isfinite(small).all():
            return "not_finite"
        values, turn = np.linalg.eigh(small)
        self.curvature = float(values[0])
        if not self.curvature > 0:
            return "not_positive"
        inverse = (turn / values) @ turn.conj().T
        alpha = inverse @ self._inner(p, self._r)
        self._add(self.x, p, alpha)
        self._add(self._r, q, -alpha)
        z = self._preconditioned(active)
        self._add(z, p, -inverse @ self._inner(q, z))
        self._p = self._orthonormal(z)
        if self._p.shape[1] == 0:
            self._p = None  # the next step begins with the residual
        return ""

    def _preconditioned(self, active: np.ndarray) -> np.ndarray:
        z = self._z[:, : int(active.sum())]
        if self._m is None:
            z[...] = self._r if active.all() else self._r[:, active]
        else:
            self._m(self._r if active.all() else np.asfortranarray(self._r[:, active]), z)
        return z

    def _inner(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self._gemm(1.0, x, y, trans_a=2 if x.dtype.kind == "c" else 1)

    def _add(self, y: np.ndarray, x: np.ndarray, small: np.ndarray) -> None:
        """y += x small."""
        found = self._gemm(1.0, x, small.astype(y.dtype), beta=1.0, c=y, overwrite_c=1)
        if not np.may_share_memory(found, y):
            y[...] = found

    def _orthonormal(self, z: np.ndarray) -> np.ndarray:
        """Orthonormal columns that span those of z, without the ones that depend on others: by the eigenvectors of the
        Gram matrix of the columns, each scaled to norm 1."""
        gram = hermitian(self._inner(z, z))
        sizes = np.sqrt(np.abs(np.diag(gram).real))
        scale = np.where((sizes > 0) & np.isfinite(sizes), 1 / np.where(sizes > 0, sizes, 1), 0)
        gram *= np.outer(scale, scale)
        if not np.isfinite(gram).all():
            return z[:, :0]
        values, turn = np.linalg.eigh(gram)
        limit = max(INDEPENDENT, 10 * float(np.finfo(z.dtype).eps)) * max(float(values[-1]), 0.0)
        kept = values > limit
        small = (scale[:, None] * turn[:, kept] / np.sqrt(values[kept])).astype(z.dtype)
        free = self._other if self._p is not None and self._p.base is self._one else self._one
        found = free[:, : small.shape[1]]
        if small.shape[1]:
            result = self._gemm(1.0, z, small, beta=0.0, c=found, overwrite_c=1)
            if not np.may_share_memory(result, found):
                found[...] = result
        return found


def hermitian(small: np.ndarray) -> np.ndarray:
    """Without the rounding that makes it unsymmetric; in double precision."""
    wide = small.astype(np.result_type(small.dtype, np.float64))
    return (wide + wide.conj().T) / 2
