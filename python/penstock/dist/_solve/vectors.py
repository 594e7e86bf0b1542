"""Vectors of a Krylov method that ranks share out: of each, a rank has the entries of its rows.

Small numbers are summed over all ranks, with the same bits on each, so all go on alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.dist._agree import total
from penstock.linalg.eigen import basis
from penstock.linalg.eigen.lanczos import Vectors
from penstock.linalg.eigen.rows import HostRows, Times

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def normals(seed: int, rows: np.ndarray) -> np.ndarray:
    """Normally distributed numbers, one for each number of a row, whichever rank asks: by SplitMix64 (Steele, Lea,
    Flood 2014) and Box and Muller (1958).

    >>> alone, parts = normals(7, np.arange(5)), [normals(7, np.arange(i, 5)) for i in (0, 3)]
    >>> bool((alone == parts[0]).all() and (alone[3:] == parts[1]).all())
    True
    """
    draws = np.arange(2, dtype=np.uint64)[:, None] + 2 * np.asarray(rows, np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (draws + np.uint64(1)) * _GOLDEN
        for shift, factor in _ROUNDS:
            z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
        z ^= z >> np.uint64(31)
    u = ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(np.sqrt(-2 * np.log(u[0])) * np.cos(2 * np.pi * u[1]))


def vectors_of(a: Any) -> Vectors:
    """Those of a square ps.dist.csr_array, whose rows and columns have the same owners."""
    comm, rows = a.comm, np.asarray(a.rows)

    def draw(count: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
        seeds = rng.integers(2**63, size=count)
        made = [normals(int(seed), rows) for seed in seeds]
        return np.array(made, dtype).reshape(count, rows.size)

    return Vectors(a.shape[0], draw, lambda numbers: comm.share(numbers, root=0))


def norm_over(comm: Any, v: np.ndarray) -> float:
    wide = v.astype(np.float64, copy=False)
    return float(np.sqrt(total(comm, float(np.vdot(wide, wide)))))


class PartRows(HostRows):
    """Of each vector this rank's `n` entries. Inner products are summed over the ranks of `comm`."""

    def __init__(
        self, comm: Any, of: Vectors, times: Times, count: int, n: int, dtype: np.dtype
    ) -> None:
        super().__init__(times, count, n, dtype)
        self._comm, self._of = comm, of

    def start(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._extended(size, block, near, rng)

    def expand(
        self, old: int, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return self._extended(size, self._times(self._rows[old : old + b]), near, rng)

    def _extended(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """As `basis.extend`: three messages for a block of one vector."""
        rows = self._rows
        h = np.zeros((size, len(block)), rows.dtype)
        h[near:], squares = self._project_out(rows[near:size], block)
        basis.require_finite(squares)
        h += self._project_out(rows[:size], block)[0]
        r = basis.finish(
            *(rows, size, block, h, basis.negligible(np.sqrt(squares), rows.dtype)),
            *(self._norms(block), lambda part, v: self._project_out(part, v)[0]),
            *(lambda v: self._norms(v[None])[0], lambda part: self._another(len(part), rng)),
        )
        return h, r

    def _project_out(self, part: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Takes the part's rows away from `vectors`: the coefficients, and the squares of their norms before."""
        mine = basis.coefficients(part, vectors)
        both = self._sum(np.concatenate([mine.ravel(), self._squares(vectors)]))
        h = both[: mine.size].reshape(mine.shape).astype(part.dtype)
        basis.subtract(part, h, vectors)
        return h, both[mine.size :]

    @staticmethod
    def _squares(vectors: np.ndarray) -> np.ndarray:
        """Of this rank's entries."""
        return np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)

    def _norms(self, vectors: np.ndarray) -> np.ndarray:
        return np.sqrt(self._sum(self._squares(vectors)))

    def _sum(self, numbers: np.ndarray) -> np.ndarray:
        made = np.ascontiguousarray(numbers, np.float64)
        self._comm.all_reduce(made, "sum")
        return made

    def _another(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """As `basis.another`, of the first `size` rows."""
        v = self._of.draw(1, self._rows.dtype, rng)
        for _ in range(3):
            self._project_out(self._rows[:size], v)
            v /= self._norms(v)[0]
        return np.asarray(v[0])
