"""Block Lanczos with thick restarts (Wu and Simon 2000; blocks after Golub and Underwood 1977).

The projected matrix is kept whole, with every coefficient that orthogonalisation finds, so that what a restart keeps
needs no case of its own: Rayleigh-Ritz and the residuals are exact for the basis at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from penstock.linalg.eigen import basis

LOOK = 10  # blocks from one look at the residuals to the next


@dataclass
class Ritz:
    """The wanted pairs: vectors are rows, residuals norm(A x - value x) as estimated, and which are small enough."""

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    converged: np.ndarray
    restarts: int


def wanted(values: np.ndarray, which: str, count: int) -> np.ndarray:
    """Numbers of the `count` values of that end, of ascending `values`. Of BE, the larger half is at the upper end."""
    n = len(values)
    if which == "LA":
        return np.arange(n - count, n)
    if which == "SA":
        return np.arange(count)
    if which == "BE":
        low = count // 2
        return np.concatenate([np.arange(low), np.arange(n - (count - low), n)])
    return np.sort(np.argsort(-abs(values), kind="stable")[:count])


def thick_restart(
    times: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    k: int,
    which: str,
    ncv: int,
    maxiter: int,
    tol: float,
    rng: np.random.Generator,
) -> Ritz:
    """The k eigenpairs at the end `which` (LA, SA, LM, BE) of a Hermitian operator on rows.

    `start` has the first block's b vectors, and ncv + b vectors are kept, of which there must not be more than the
    space has. After `maxiter` restarts it returns what it has.
    """
    b, n = start.shape
    dtype, eps = start.dtype, float(np.finfo(start.dtype).eps)
    rows = np.empty((ncv + b, n), dtype)
    projected = np.zeros((ncv, ncv), np.promote_types(dtype, np.float64))
    basis.extend(rows, 0, start, 0, rng)
    size, near, restarts = 0, 0, 0
    invariant, before = False, None
    while True:
        until = min(ncv, size + LOOK * b)
        while size + b <= until:
            end = size + b
            h, r = basis.extend(rows, end, times(rows[size:end]), near, rng)
            projected[:end, size:end] = h
            near, size = size, end
            invariant |= not r.diagonal().all()
        values, y = np.linalg.eigh(projected[:size, :size], UPLO="U")
        best = wanted(values, which, min(k, size))
        residuals = np.linalg.norm(r @ y[size - b :], axis=0)
        norm = float(abs(values).max())
        allowed = np.maximum(
            max(tol, eps) * np.maximum(abs(values), eps ** (2 / 3)), 8 * eps * norm
        )
        converged = residuals[best] <= allowed[best]
        full = size + b > ncv
        done = size >= k + b and bool(converged.all())
        if done and invariant:
            # Residuals say nothing of what lies outside of an invariant subspace: a cycle more must find the same.
            done = (
                full
                and before is not None
                and bool(np.all(abs(values[best] - before) <= allowed[best]))
            )
            before = values[best] if full else before
        if done or (full and restarts == maxiter):
            basis.rotate(rows, size, y[:, best])
            return Ritz(values[best], rows[:k], residuals[best], converged, restarts)
        if not full:
            continue
        restarts += 1
        kept = wanted(values, which, _kept(k, int(converged.sum()), size, b))
        basis.rotate(rows, size, y[:, kept])
        rows[len(kept) : len(kept) + b] = rows[size : size + b]
        size, near = len(kept), 0
        projected[:] = 0
        projected[range(size), range(size)] = values[kept]


def _kept(k: int, converged: int, size: int, b: int) -> int:
    """Ritz vectors that a restart keeps: the wanted ones, and some beside, which speed up the wanted ones; but room
    for a block must be left."""
    return max(min(k + max(converged, (size - k) * 2 // 5), size - b), 1)
