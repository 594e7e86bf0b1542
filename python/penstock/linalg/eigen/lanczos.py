"""Block Lanczos with thick restarts (Wu and Simon 2000; blocks after Golub and Underwood 1977).

The projected matrix is kept whole, with every coefficient that orthogonalisation finds, so that what a restart keeps
needs no case of its own: Rayleigh-Ritz and the residuals are exact for the basis at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.linalg.eigen import basis
from penstock.linalg.eigen.rows import Room

LOOK = 10  # blocks from one look at the residuals to the next


def _alone(found: Any) -> Any:
    return found


@dataclass(frozen=True)
class Vectors:
    """Vectors of n entries, of which a process has all, or, as one of several ranks, some.

    `draw(count, dtype, rng)` has its entries of random ones as rows. `agree(numbers)` are those of one rank: what
    LAPACK finds on different processors differs by rounding, and all ranks must go on alike."""

    n: int
    draw: Callable[[int, np.dtype, np.random.Generator], np.ndarray]
    agree: Callable[[Any], Any] = _alone

    @classmethod
    def like(cls, rows: np.ndarray) -> Vectors:
        n = rows.shape[1]
        return cls(n, lambda count, dtype, rng: basis.random_rows(count, n, dtype, rng))


@dataclass
class Ritz:
    """The wanted pairs: vectors are rows, residuals norm(A x - value x) as estimated, and which are small enough.

    `beside` are the pairs that come next, as far as they have got; `invariant`, whether the space that they are of
    was found to be invariant; `complete`, whether a search for missed copies came to its end (`copies`)."""

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    converged: np.ndarray
    restarts: int
    beside: Ritz | None = None
    invariant: bool = False
    complete: bool = True


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


def tolerated(values: np.ndarray, tol: float, norm: float, dtype: np.dtype) -> np.ndarray:
    """The residuals that pairs with these values may have; below 8 eps norm(A) rounding hides what is left. There is no
    other floor, so that a matrix and a multiple of it have the same digits."""
    facts = np.finfo(dtype)
    eps, least = float(facts.eps), float(facts.tiny)  # of a matrix of zeros, too
    return np.maximum(max(tol, eps) * abs(values), max(8 * eps * norm, least))


class Krylov:
    """A basis that grows by blocks of products, up to ncv vectors, orthogonal to the rows of `locked`.

    So it belongs to P A P, where P takes the part of the locked rows away. `outside` has what P took, for residuals.
    """

    def __init__(
        self,
        room: Room,
        start: np.ndarray,
        ncv: int,
        rng: np.random.Generator,
        locked: np.ndarray | None = None,
        agree: Callable[[Any], Any] = _alone,
    ) -> None:
        self._rng, self.ncv, self._agree = rng, ncv, agree
        self.b, n = start.shape
        self._first = 0 if locked is None else len(locked)
        self._rows = room(self._first + ncv + self.b, n, start.dtype)
        if locked is not None:
            self._rows.put(0, locked)
        self._rows.start(self._first, start, 0, rng)
        wide = np.promote_types(start.dtype, np.float64)
        self.projected = np.zeros((ncv, ncv), wide)
        self._outside = np.zeros((self._first, ncv), wide)
        self.size, self._near, self.last = 0, 0, np.zeros((self.b, self.b), wide)
        self.invariant = False

    @property
    def full(self) -> bool:
        return self.size + self.b > self.ncv

    def expand(self, blocks: int) -> int:
        """Up to so many products, as far as there is room; how many."""
        b, first, done = self.b, self._first, 0
        while done < blocks and not self.full:
            old, end = first + self.size, first + self.size + b
            h, r = self._rows.expand(old, end, b, first + self._near, self._rng)
            self.projected[: self.size + b, self.size : self.size + b] = h[first:]
            self._outside[:, self.size : self.size + b] = h[:first]
            self._near, self.size, self.last = self.size, self.size + b, r
            self.invariant |= not r.diagonal().all()
            done += 1
        return done

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ascending Ritz values of P A P, their coefficients, and the norms of their residuals."""
        values, y = np.linalg.eigh(self.projected[: self.size, : self.size], UPLO="U")
        residuals = np.linalg.norm(self.last @ y[self.size - self.b :], axis=0)
        found: tuple[np.ndarray, np.ndarray, np.ndarray] = self._agree((values, y, residuals))
        return found

    def outside(self, y: np.ndarray) -> np.ndarray:
        """Norms of what P takes from the products of these Ritz vectors."""
        return np.linalg.norm(self._outside[:, : self.size] @ y, axis=0)

    def restart(self, values: np.ndarray, y: np.ndarray) -> None:
        """Goes on with these Ritz vectors and the next block."""
        kept, b, first = len(values), self.b, self._first
        self._outside[:, :kept] = self._outside[:, : self.size] @ y
        self._rows.rotate(first, self.size, y)
        self._rows.move(first + self.size, first + kept, b)
        self.projected[:] = 0
        self.projected[range(kept), range(kept)] = values
        self.size, self._near = kept, 0

    def with_products(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The basis' vectors times y, and A times these, by what is known of it; they take the basis' place. Twice y's
        columns are at most the size and a block."""
        t = np.triu(self.projected[: self.size, : self.size])
        t = t + np.triu(t, 1).conj().T
        out, q = self.last @ y[self.size - self.b :], y.shape[1]
        both = np.block([[y, t @ y], [np.zeros_like(out), out]])
        self._rows.rotate(self._first, len(both), both)
        rows = self._rows.get(self._first, self._first + 2 * q)
        return rows[:q], rows[q:]

    def vectors(self, y: np.ndarray) -> np.ndarray:
        """These Ritz vectors; they take the basis' place."""
        self._rows.rotate(self._first, self.size, y)
        return self._rows.get(self._first, self._first + y.shape[1])


def thick_restart(
    room: Room,
    start: np.ndarray,
    k: int,
    which: str,
    ncv: int,
    maxiter: int,
    tol: float,
    rng: np.random.Generator,
    of: Vectors | None = None,
) -> Ritz:
    """The k eigenpairs at the end `which` (LA, SA, LM, BE) of a Hermitian operator, whose products `room`'s rows have.

    `start` has the first block's b vectors, and ncv + b vectors are kept, of which there must not be more than the
    space has. After `maxiter` restarts it returns what it has. Where eigenvalues coincide, it may find fewer of them
    than there are: `copies` looks for the others.
    """
    agree = _alone if of is None else of.agree
    space, restarts = Krylov(room, start, ncv, rng, None, agree), 0
    while True:
        space.expand(LOOK)
        values, y, residuals = space.pairs()
        size = space.size
        best = wanted(values, which, min(k, size))
        allowed = tolerated(values[best], tol, float(abs(values).max()), start.dtype)
        converged = residuals[best] <= allowed
        done = size >= k + space.b and bool(converged.all())
        if done or (space.full and restarts == maxiter):
            many = min(_kept(k, int(converged.sum()), size, space.b), size)
            more = np.setdiff1d(wanted(values, which, max(many, len(best))), best)
            vectors = space.vectors(y[:, np.concatenate([best, more])])
            beside = Ritz(values[more], vectors[len(best) :], residuals[more], more < 0, 0)
            found = values[best], vectors[: len(best)], residuals[best]
            return Ritz(*found, converged, restarts, beside, space.invariant)
        if space.full:
            restarts += 1
            kept = wanted(values, which, _kept(k, int(converged.sum()), size, space.b))
            space.restart(values[kept], y[:, kept])


def _kept(k: int, converged: int, size: int, b: int) -> int:
    """Ritz vectors that a restart keeps: the wanted ones, and some beside, which speed up the wanted ones; but room
    for a block must be left."""
    return max(min(k + max(converged, (size - k) * 2 // 5), size - b), 1)
