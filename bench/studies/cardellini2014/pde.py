"""The matrices of bench/cardellini2014.py, and their products in NumPy alone.

pdeN is the paper's: an advection-diffusion equation on the unit cube, central differences, N^3 rows of at most 7
entries (section VI), with the coefficients of PSBLAS's pdegen test; the paper prints none. `symmetric` has no
advection, for CG: the same size and pattern. `couplings` has the exchange of pdeN on ranks of two planes and more, the
same messages and bytes, and little else: of each rank its first and last plane, joined with its neighbours'.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import penstock as ps

A, B = 1 / 80, 3**-0.5
SPREAD = {"pde": B, "symmetric": 0.0}  # kind -> advection
BYTES_PER_NONZERO = 12  # a 4-byte column and a float64


def values(ids: np.ndarray) -> np.ndarray:
    """x, in [0.5, 1.5): entry i is the same on whatever rank."""
    mixed = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(11)) * 2.0**-53 + 0.5


def entries(n: int) -> int:
    return 7 * n**3 - 6 * n**2


def couplings(n: int, ranks: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the entries that join ranks: each has two planes of the cube, its first and its last."""
    plane = n * n
    lower = np.concatenate(
        [np.arange(plane) + (2 * r + 1) * plane for r in range(ranks - 1)]
        or [np.empty(0, np.int64)]
    )
    return np.concatenate([lower, lower + plane]), np.concatenate([lower + plane, lower])


def product(
    n: int, first: int, last: int, b: float, x: Callable[[np.ndarray], np.ndarray] = values
) -> np.ndarray:
    """Rows first to last of the stencil times x(ids), by shifted planes."""
    if first == last:
        return np.empty(0)
    plane, h = n * n, 1 / (n + 1)
    low, high = -A / h**2 - b / (2 * h), -A / h**2 + b / (2 * h)
    begin, end = first // plane, -(-last // plane)
    grid = np.zeros((end - begin + 2, n, n))
    at, to = max(begin - 1, 0), min(end + 1, n)
    grid[at - begin + 1 : to - begin + 1] = x(np.arange(at * plane, to * plane)).reshape(-1, n, n)
    inner = grid[1:-1]
    out = 6 * A / h**2 * inner
    out += low * grid[:-2]
    out += high * grid[2:]
    out[:, 1:] += low * inner[:, :-1]
    out[:, :-1] += high * inner[:, 1:]
    out[..., 1:] += low * inner[..., :-1]
    out[..., :-1] += high * inner[..., 1:]
    return out.reshape(-1)[first - begin * plane : last - begin * plane]


def largest_sum(n: int, b: float) -> float:
    """Of |A| |x| in a row, at most."""
    h = 1 / (n + 1)
    return 1.5 * (12 * A / h**2 + 3 * max(b / h - 2 * A / h**2, 0.0))


@dataclass(frozen=True)
class Problem:
    """A matrix that ranks share out in blocks of rows."""

    kind: str  # "pde", "symmetric", "couplings"
    n: int
    ranks: int

    @property
    def label(self) -> str:
        return f"{'pde' if self.kind == 'pde' else self.kind}{self.n}"

    @property
    def rows(self) -> int:
        return 2 * self.ranks * self.n**2 if self.kind == "couplings" else self.n**3

    @property
    def nnz(self) -> int:
        return 2 * (self.ranks - 1) * self.n**2 if self.kind == "couplings" else entries(self.n)

    @property
    def nbytes(self) -> int:
        return self.nnz * BYTES_PER_NONZERO + self.rows * 8

    def generator(self) -> Any:
        """Each rank makes its rows."""
        return functools.partial(ps.generate.advection_diffusion, self.n, b=SPREAD[self.kind])

    def whole(self) -> ps.csr_array:
        if self.kind != "couplings":
            return self.generator()()
        rows, cols = couplings(self.n, self.ranks)
        return ps.csr_array((np.ones(len(rows)), (rows, cols)), shape=(self.rows, self.rows))

    def expected(self, first: int, last: int) -> tuple[np.ndarray, float]:
        """(rows first to last of A x, the error allowed in each): that of any order of summation, 2 (7 + 2) eps |A| |x|
        (Higham 2002, section 3.1)."""
        eps = 18 * np.finfo(np.float64).eps
        if self.kind != "couplings":
            b = SPREAD[self.kind]
            return product(self.n, first, last, b), eps * largest_sum(self.n, b)
        rows, cols = couplings(self.n, self.ranks)
        mine = (rows >= first) & (rows < last)
        y = np.bincount(rows[mine] - first, values(cols[mine]), last - first)
        return y.astype(np.float64), eps * 1.5


class Shelf:
    """One whole matrix at a time, for ranks that share their memory."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._key: Any = None
        self._matrix: Any = None
        self.board: dict[int, Any] = {}  # what the ranks of a yardstick show one another

    def get(self, problem: Problem) -> ps.csr_array:
        key = (problem.kind, problem.n, problem.ranks if problem.kind == "couplings" else None)
        with self._lock:
            if self._key != key:
                self._key = self._matrix = None  # frees its memory first
                self._matrix, self._key = problem.whole(), key
            return self._matrix

    def clear(self) -> None:
        with self._lock:
            self._key = self._matrix = None
