"""The vectors of fgmres: Arnoldi's basis, the preconditioned vectors beside it, and the small least-squares problem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from penstock.linalg._methods.passes import Product, norm

LOST = 0.7071  # of a vector's norm: what orthogonalising leaves without a second pass (Daniel et al. 1976)


class Cycles:
    """x and a basis of `kept` + 1 vectors, one a row, with the preconditioned ones beside it."""

    def __init__(
        self, a: Product, m: Product | None, b: np.ndarray, x: np.ndarray, kept: int
    ) -> None:
        self._a, self._m, self._b, self._x, self._kept = a, m, b, x, kept
        self._v = np.empty((kept + 1, b.shape[0]), b.dtype)
        self._z = self._v if m is None else np.empty((kept, b.shape[0]), b.dtype)
        self._r = np.empty_like(b)

    def residual(self) -> float:
        """r = b - A x and its norm."""
        self._a(self._x, self._r)
        np.subtract(self._b, self._r, out=self._r)
        return norm(self._r)

    def cycle(self, beta: float, target: float, heard: Callable[[float], None]) -> bool:
        """Up to `kept` steps from the residual r of norm `beta`. False where the space ended before."""
        v, z = self._v, self._z
        np.multiply(self._r, 1 / beta, out=v[0])
        h = np.zeros((self._kept + 1, self._kept), v.dtype)
        whole, steps = True, 0
        for j in range(self._kept):
            if self._m is not None:
                self._m(v[j], z[j])
            self._a(z[j], v[j + 1])
            size = norm(v[j + 1])
            left = self._orthogonalise(j, h, size)
            steps, h[j + 1, j] = j + 1, left
            y, residual = _least_squares(h[: j + 2, : j + 1], beta)
            heard(residual)
            whole = left > 1e-14 * size
            if not whole or not np.isfinite(left) or residual <= target:
                break
            v[j + 1] /= left
        self._x += z[:steps].T @ y
        return whole

    def _orthogonalise(self, j: int, h: np.ndarray, size: float) -> float:
        """Classical Gram-Schmidt of v[j + 1], twice where digits were lost. Returns what is left of its norm."""
        basis, w = self._v[: j + 1], self._v[j + 1]
        left = size
        for _ in range(3):
            before = left
            c = basis.conj() @ w if w.dtype.kind == "c" else basis @ w
            w -= basis.T @ c
            h[: j + 1, j] += c
            left = norm(w)
            if not left < LOST * before or left <= 1e-14 * size:
                break
        return left


def _least_squares(h: np.ndarray, beta: float) -> tuple[np.ndarray, float]:
    """y that makes norm(beta e1 - H y) smallest, and that norm."""
    first = np.zeros(h.shape[0], h.dtype)
    first[0] = beta
    if not np.isfinite(h).all():
        return np.zeros(h.shape[1], h.dtype), np.nan
    y = scipy.linalg.lstsq(h.astype(np.result_type(h.dtype, np.float64)), first)[0]
    return y.astype(h.dtype), float(np.linalg.norm(first - h @ y))
