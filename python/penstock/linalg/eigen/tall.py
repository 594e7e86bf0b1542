"""Orthonormal columns of arrays with many rows, by products of matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from penstock.linalg.eigen import basis

_EVEN = 3.0  # the condition up to which one factor is enough
_DIGITS = 100  # of the square root of the precision: the least diagonal of a Cholesky factor


def tall_qr(image: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """image = Q R: a function that gives Q y for a small y, and R. ValueError for NaN.

    By Cholesky's factors of image^H image, twice where columns are not nearly orthonormal, as once leaves the square of
    the condition; by Householder's reflections where that has too few digits."""
    first = _cholesky(image)
    if first is None:
        basis.require_finite(image)
        q, r = np.linalg.qr(image)
        return q.__matmul__, r
    if np.linalg.cond(first) < _EVEN:
        return lambda y: image @ np.linalg.solve(first, y), first
    half = image @ np.linalg.inv(first)
    second = _cholesky(half)
    if second is None:
        q, r = np.linalg.qr(half)
        return q.__matmul__, r @ first
    return lambda y: half @ np.linalg.solve(second, y), second @ first


def _cholesky(image: np.ndarray) -> np.ndarray | None:
    """R of image^H image = R^H R, or None where its digits would not do."""
    gram = image.conj().T @ image
    if not np.isfinite(gram).all():
        return None
    try:
        r = np.linalg.cholesky(gram).conj().T
    except np.linalg.LinAlgError:
        return None
    size = abs(r.diagonal())
    least = _DIGITS * np.sqrt(np.finfo(image.dtype).eps)
    return r if size.min() > least * size.max() else None
