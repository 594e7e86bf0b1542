"""Where a Krylov method has its vectors: the rows of a NumPy array, or of a basis in a device's memory.

Both have the same functions, so that the method does not know. A block of new vectors lies behind the basis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

    def multiply(self, old: int, new: int, b: int) -> None:
        """Rows new, ..., new + b - 1 become the products of rows old, ..."""

    def renew(self, b: int, rng: np.random.Generator) -> None:
        """Rows 0, ..., b - 1 become their products, orthonormal."""

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

    def multiply(self, old: int, new: int, b: int) -> None:
        self._rows[new : new + b] = self._times(self._rows[old : old + b])

    def renew(self, b: int, rng: np.random.Generator) -> None:
        self._rows[:b] = basis.orthonormal(self._times(self._rows[:b]))

    def rotate(self, first: int, size: int, y: np.ndarray) -> None:
        basis.rotate(self._rows[first:], size, y)

    def move(self, old: int, new: int, b: int) -> None:
        self._rows[new : new + b] = self._rows[old : old + b].copy()

    def get(self, first: int, end: int) -> np.ndarray:
        return self._rows[first:end]


@dataclass(frozen=True)
class ThroughGpu:
    """A x, or with `normal` A^T A x of the matrix times `factor`, for vectors in the memory of a device."""

    matrix: Any
    ring: Any
    gpu: int
    dtype: np.dtype
    normal: bool
    factor: float = 1.0

    @property
    def place(self) -> str:
        return f"gpu {self.gpu}" if self.gpu >= 0 else "cpu"

    def multiply(self, rows: Any, old: int, new: int, count: int, factor: float) -> None:
        """By `factor`, too."""
        rows.multiply_streamed(
            *(self.matrix, self.ring, old, new, count, self.factor * factor, self.normal)
        )


class DeviceRows:
    """On the device of `op`, whose products are multiplied by `factor()`: one of the core's DeviceOps, for blocks of
    one vector, or a ThroughGpu, which takes a block at once. `count(b)` is called for each product."""

    def __init__(
        self, op: Any, factor: Callable[[], float], count: Callable[[int], None], rows: int, n: int
    ) -> None:
        self._op, self._factor, self._count = op, factor, count
        self._dtype = np.dtype(op.dtype)
        self._rows = _kind(self._dtype)(rows, n, op.gpu)
        self._n = n

    @staticmethod
    def bytes(dtype: np.dtype, rows: int, n: int, b: int = 0) -> int:
        """Of the vectors, and of what a product of b of them at once needs beside."""
        kind = _kind(np.dtype(dtype))
        return int(kind.bytes(rows, n) + kind.block_bytes(b, n))

    def put(self, first: int, vectors: np.ndarray) -> None:
        self._rows.put(first, np.ascontiguousarray(vectors, self._dtype))

    def start(
        self, size: int, block: np.ndarray, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        self.put(size, block)
        return self._extended(size, len(block), near, rng)

    def expand(
        self, old: int, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        self.multiply(old, size, b)
        return self._extended(size, b, near, rng)

    def renew(self, b: int, rng: np.random.Generator) -> None:
        self.multiply(0, 0, b)
        self._extended(0, b, 0, rng)

    def multiply(self, old: int, new: int, b: int) -> None:
        self._count(b)
        if isinstance(self._op, ThroughGpu):
            self._op.multiply(self._rows, old, new, b, self._factor())
        else:
            self._rows.multiply(self._op, old, new, self._factor())

    def home(self, y: np.ndarray) -> None:
        """y = A times as many rows as it has columns, for a ThroughGpu's A."""
        self._rows.multiply_home(self._op.matrix, self._op.ring, y)

    def _extended(
        self, size: int, b: int, near: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        h, r = np.zeros((size, b), self._dtype), np.zeros((b, b), self._dtype)
        for c in range(b):
            at = size + c
            found, before, after = self._rows.orthogonalise(at, near, at)
            basis.require_finite(before)
            h[:, c], r[:c, c] = found[:size], found[size:]
            kept = after**0.5
            if kept <= basis.negligible(before**0.5, self._dtype):
                self._replace(at, rng)
            else:
                r[c, c] = kept
                self._rows.scale(at, 1 / kept)
        return h, r

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
