"""A product in NumPy alone, to hold every result of bench/buono2017.py against; and seeded numbers for it."""

from __future__ import annotations

import concurrent.futures
import os
import time
from typing import Any

import numpy as np

_CHUNK = 1 << 22  # entries that one thread works on at a time


def _threads() -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def random_numbers(n: int, seed: int, dtype: Any = np.float64) -> np.ndarray:
    """In [0.5, 1.5), the same for any number of threads. Positive: a sum that misses one entry of 10^10 shows it."""
    out = np.empty(n, dtype)

    def fill(first: int) -> None:
        rng = np.random.default_rng([seed, first // _CHUNK])
        part = out[first : first + _CHUNK]
        rng.random(out=part, dtype=out.dtype)
        part += 0.5

    with _threads() as pool:
        list(pool.map(fill, range(0, n, _CHUNK)))
    return out


class Reference:
    """y = A x in float64 by NumPy alone, every row, and the check of a result against it.

    The bound is that of any order of summation, 2 (n + 2) eps |A| |x| for a row of n terms (Higham 2002, section
    3.1), once for the result and once for the reference."""

    def __init__(self, a: Any, x: np.ndarray) -> None:
        self._indptr, self._indices = a.indptr, a.indices
        self._values = None if a.dtype == np.bool_ else a.data
        self._x, self._dtype = x.astype(np.float64, copy=False), x.dtype
        self._y = np.zeros(a.shape[0])
        signed = self._values is not None and a.nnz and (self._values.min() < 0 or x.min() < 0)
        self._size = np.zeros(a.shape[0]) if signed else self._y
        cuts = self._cuts()
        begin = time.perf_counter()
        with _threads() as pool:
            list(pool.map(self._rows, cuts[:-1], cuts[1:]))
        self.seconds = time.perf_counter() - begin

    def _cuts(self) -> list[int]:
        """Rows that begin chunks: of whole rows, about _CHUNK entries each."""
        rows, nnz = len(self._indptr) - 1, int(self._indptr[-1])
        wanted = np.arange(0, nnz, _CHUNK)
        inner = np.searchsorted(self._indptr, wanted, side="left")
        return sorted({0, rows, *inner.tolist()} - {rows + 1})

    def _rows(self, first: int, last: int) -> None:
        begin, end = int(self._indptr[first]), int(self._indptr[last])
        if begin == end:
            return
        terms = np.take(self._x, self._indices[begin:end])
        if self._values is not None:
            terms *= self._values[begin:end]
        starts = np.asarray(self._indptr[first:last])
        full = np.flatnonzero(np.diff(self._indptr[first : last + 1]))
        self._y[first + full] = np.add.reduceat(terms, starts[full] - begin)
        if self._size is not self._y:
            np.abs(terms, out=terms)
            self._size[first + full] = np.add.reduceat(terms, starts[full] - begin)

    def check(self, y: np.ndarray) -> float:
        """The largest error over its bound, NaN where y has one."""
        if y.shape != self._y.shape or y.dtype != self._dtype:
            raise ValueError(f"result is {y.dtype}{y.shape}, not {self._dtype}{self._y.shape}")

        def worst_of(first: int) -> float:
            part = slice(first, first + _CHUNK)
            terms = np.diff(self._indptr[first : first + len(y[part]) + 1]) + 2
            bound = 2 * terms * np.finfo(self._dtype).eps * self._size[part]
            error = np.abs(y[part].astype(np.float64) - self._y[part])
            with np.errstate(invalid="ignore", divide="ignore"):
                excess = np.where(error == 0, 0.0, error / bound)  # NaN stays
            return float(np.max(excess, initial=0.0))

        with _threads() as pool:
            return float(np.max([0.0, *pool.map(worst_of, range(0, len(y), _CHUNK))]))
