"""Where a Krylov method has its vectors: the rows of a NumPy array, or of a basis in a device's memory.

Both have the same functions, so that the method does not know. A block of new vectors lies behind the basis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from penstock import _core
from penstock.linalg.eigen import basis

Times = Callable[[np.ndarray], np.ndarray]


class Rows(Protocol):
    """Room for so many vectors of n entries."""

    def put(self, first: int, vectors: np.ndarray) -> None:
        """Vectors as they are, from a row on."""

    def start(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """`basis.extend` by a block in host memory."""

    def expand(
        self, old: int, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """`basis.extend` by the operator's products with b rows from `old` on."""

    def rotate(self, first: int, size: int, y: np.ndarray) -> None:
        """rows[first : first + q] = y^T rows[first : first + size] for y of shape (size, q)."""

    def move(self, old: int, new: int, b: int) -> None:
        """Rows old, ... become rows new, ..., for new <= old."""

    def get(self, first: int, end: int) -> np.ndarray:
        """Rows in host memory, which may be the basis' own."""


Room = Callable[[int, int, np.dtype], Rows]  # of so many vectors of n entries of that type


class HostRows:
    def __init__(self, times: Times, count: int, n: int, dtype: np.dtype) -> None:
        self._times, self._rows = times, np.empty((count, n), dtype)

    def put(self, first: int, vectors: np.ndarray) -> None:
        self._rows[first : first + len(vectors)] = vectors

    def start(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return basis.extend(self._rows, size, block, near, rng)

    def expand(
        self, old: int, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        return basis.extend(self._rows, size, self._times(self._rows[old : old + b]), near, rng)

    def rotate(self, first: int, size: int, y: np.ndarray) -> None:
        basis.rotate(self._rows[first:], size, y)

    def move(self, old: int, new: int, b: int) -> None:
        self._rows[new : new + b] = self._rows[old : old + b].copy()

    def get(self, first: int, end: int) -> np.ndarray:
        return self._rows[first:end]


class DeviceRows:
    """On the device of `op`, one of the core's DeviceOps, whose products are multiplied by `factor()`. A block has one
    vector. `count(1)` is called for each product."""

    def __init__(
        self, op: Any, factor: Callable[[], float], count: Callable[[int], None], rows: int, n: int
    ) -> None:
        self._op, self._factor, self._count = op, factor, count
        self._dtype = np.dtype(op.dtype)
        self._rows = _kind(self._dtype)(rows, n, op.gpu)
        self._n = n

    @staticmethod
    def bytes(dtype: np.dtype, rows: int, n: int) -> int:
        return int(_kind(np.dtype(dtype)).bytes(rows, n))

    def put(self, first: int, vectors: np.ndarray) -> None:
        self._rows.put(first, np.ascontiguousarray(vectors, self._dtype))

    def start(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        self.put(size, block)
        return self._extended(size, near, rng)

    def expand(
        self, old: int, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        self._count(b)
        self._rows.multiply(self._op, old, size, self._factor())
        return self._extended(size, near, rng)

    def _extended(
        self, size: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        h, before, after = self._rows.orthogonalise(size, near, size)
        basis.require_finite(before)
        kept, r = after**0.5, np.zeros((1, 1), self._dtype)
        if kept <= basis.negligible(before**0.5, self._dtype):
            self._replace(size, rng)
        else:
            r[0, 0] = kept
            self._rows.scale(size, 1 / kept)
        return np.array(h, self._dtype).reshape(size, 1), r

    def _replace(self, size: int, rng: np.random.Generator) -> None:
        """See `basis.another`."""
        self.put(size, basis.random_rows(1, self._n, self._dtype, rng))
        for _ in range(2):
            _, _, after = self._rows.orthogonalise(size, size, size)
            self._rows.scale(size, after**-0.5)

    def rotate(self, first: int, size: int, y: np.ndarray) -> None:
        self._rows.rotate(first, np.ascontiguousarray(y[:size], self._dtype))

    def move(self, old: int, new: int, b: int) -> None:
        for i in range(b):
            self._rows.copy(old + i, new + i)

    def get(self, first: int, end: int) -> np.ndarray:
        made = np.empty((end - first, self._n), self._dtype)
        self._rows.get(first, made)
        return made


def _kind(dtype: np.dtype) -> Any:
    return {"float32": _core.DeviceBasis_float32, "float64": _core.DeviceBasis_float64}[dtype.name]
