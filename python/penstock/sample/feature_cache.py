"""Copies in a GPU's memory of the rows of features that are wanted most often."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._plan.options import parse_bytes
from penstock._plan.report import human_bytes
from penstock._plan.schedules import gpu_count, named_gpu
from penstock.csgraph._graph import readable
from penstock.sample._gather_gpu import rows_of

_SLOT = 4  # bytes a row of the features: where its copy is
_CHUNK = 1 << 24  # edges that are counted at once


class GatherCounts(NamedTuple):
    """What a GPU has read through a `FeatureCache`: rows, those that were found in the cache (`hits`), and bytes
    of rows from features and from the cache."""

    rows: int
    hits: int
    features_bytes: int
    cache_bytes: int


class FeatureCache:
    """Features in pinned memory, of which a GPU keeps copies of the rows that are wanted most often. It stands where
    features do: `ps.sample.gather(cache, ids)`, `ps.pyg.FeatureStore()[None, "x"] = cache`.

    Parameters
    ----------
    features : array of shape (n, ...), pinned
        As `gather` reads them from a GPU. Copies are made at once: a row that is written later may be read as it was.
    budget : bytes, or text such as "4GB"
        What the cache may take of the GPU's memory: 4 bytes for each row of features, and the copies.
    degrees : csr_array of shape (m, n), or numbers of shape (n,)
        How often rows are wanted. Of a graph, how many edges lead to each vertex: `neighbors` draws a vertex about that
        often. Of equal rows the first ones are kept, and those with 0 never.
    device : number of a GPU, `ps.device(n)`, "cpu", optional
        Where the copies are; the first GPU if it is None. With "cpu", or without a GPU, none are made: rows are read
        from features, and `explain` says so.

    Attributes
    ----------
    features : as given
    gpu : int, or None without copies
    rows : np.ndarray, the numbers of the rows that are kept, ascending
    device_bytes : int, what they take of the GPU's memory, slots included

    Raises ValueError for a budget that holds no row, numbers that are negative or not finite, or not one for each row;
    TypeError for features without rows that can be copied; PlacementError, with the remedy, for features that the GPU
    cannot read, or that are in its memory already; MemoryError where the GPU has not as much left.

    >>> import numpy as np, penstock as ps
    >>> x = np.arange(8.0).reshape(4, 2)
    >>> cache = ps.sample.FeatureCache(x, 48, [0, 7, 3, 7], device="cpu")
    >>> ps.sample.gather(cache, [3, 0])
    array([[6., 7.],
           [0., 1.]])
    >>> print(cache.explain())
    4 rows of 16 bytes (64 B): the CPU reads them in place, and nothing is cached
    """

    def __init__(self, features: Any, budget: Any, degrees: Any, device: Any = None) -> None:
        x = rows_of(features)
        wanted = _wanted(degrees, x.shape[0])
        self.features = features
        self.budget = parse_bytes(budget, "budget")
        self.gpu = (0 if gpu_count() else None) if device is None else named_gpu(device)
        self._row_bytes, self._of = x.row_bytes, x.shape[0]
        self._hot: Any = None
        self.rows, self.device_bytes = np.empty(0, np.int64), 0
        if self.gpu is None:
            return
        if x.gpu is not None:
            raise _core.PlacementError(
                f"features are in the memory of GPU {x.gpu}: gather from them, a cache would be a second copy"
            )
        self._keep(x, wanted, self.gpu)

    def _keep(self, x: Any, wanted: np.ndarray, gpu: int) -> None:
        """`gpu`: -1 is the CPU as a device, for tests."""
        slots = _SLOT * self._of
        most = (self.budget - slots) // self._row_bytes if self._row_bytes else 0
        if self._of and self._row_bytes and most < 1:
            raise ValueError(
                f"budget={human_bytes(self.budget)} holds no row: {self._of} slots take {human_bytes(slots)} and a row "
                f"{human_bytes(self._row_bytes)}; give more, or gather from features without a cache"
            )
        self.rows = _hottest(wanted, min(most, 2**31 - 1))
        total = float(wanted.sum(dtype=np.float64))
        self._share = float(wanted[self.rows].sum(dtype=np.float64)) / total if total else 0.0
        self._hot = _core.HotRows(
            x.pointer, self._of, self._row_bytes, x.steps[0] * x.itemsize, self.rows, gpu
        )
        self.device_bytes = slots + self.rows.size * self._row_bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """That of features."""
        shape: tuple[int, ...] = tuple(self.features.shape)
        return shape

    @property
    def dtype(self) -> Any:
        """That of features."""
        return self.features.dtype

    def counts(self) -> GatherCounts:
        """What has been read by a GPU since the cache was made, exactly. It waits until what is queued has been done;
        what is read without copies, and by the CPU, is not counted."""
        rows, hits = (0, 0) if self._hot is None else self._hot.counts()
        return GatherCounts(rows, hits, (rows - hits) * self._row_bytes, hits * self._row_bytes)

    def explain(self) -> str:
        """How many rows are kept, what they take, and what part of what is wanted they are."""
        rows = f"{self._of} rows of {self._row_bytes} bytes ({human_bytes(self._of * self._row_bytes)})"
        if self._hot is None:
            return f"{rows}: the CPU reads them in place, and nothing is cached"
        kept = self.rows.size
        return (
            f"{rows}: GPU {self.gpu} keeps {kept} of them, {human_bytes(kept * self._row_bytes)}, and slots of "
            f"{human_bytes(_SLOT * self._of)}, within {human_bytes(self.budget)}; they are {100 * self._share:.1f} % "
            "of what is wanted by the degrees"
        )

    def _copies_on(self, gpu: int) -> Any:
        """What a call on a GPU reads beside features, or None."""
        if self._hot is None:
            return None
        if gpu != self.gpu:
            raise _core.PlacementError(
                f"the cache is on GPU {self.gpu}, ids on GPU {gpu}: move them, or make a cache with device={gpu}"
            )
        return self._hot


def _wanted(degrees: Any, rows: int) -> np.ndarray:
    if isinstance(degrees, csr_array):
        if degrees.shape[1] != rows:
            raise ValueError(
                f"degrees is a graph of shape {degrees.shape}, but features have {rows} rows: give one with a column "
                "for each row"
            )
        columns = readable(degrees).indices
        found = np.zeros(rows, np.int64)
        for first in range(0, columns.size, max(_CHUNK, rows)):
            found += np.bincount(columns[first : first + max(_CHUNK, rows)], minlength=rows)
        return found
    numbers = np.asarray(degrees)
    if numbers.dtype.kind not in "iuf" or numbers.shape != (rows,):
        raise ValueError(
            f"degrees is {numbers.dtype} of shape {numbers.shape}: give a csr_array, or a number for each of "
            f"{rows} rows"
        )
    bad = np.flatnonzero(~(numbers >= 0) | ~np.isfinite(numbers))
    if bad.size:
        raise ValueError(f"degrees[{bad[0]}]={numbers[bad[0]]} must be finite and at least 0")
    return numbers


def _hottest(wanted: np.ndarray, most: int) -> np.ndarray:
    """The rows with the largest numbers, at most so many and none with 0, ascending."""
    if most < 1:
        return np.empty(0, np.int64)
    used = np.flatnonzero(wanted)
    if used.size <= most:
        return used.astype(np.int64)
    least = np.partition(wanted, wanted.size - most)[wanted.size - most]
    above, equal = np.flatnonzero(wanted > least), np.flatnonzero(wanted == least)
    return np.sort(np.concatenate((above, equal[: most - above.size]))).astype(np.int64)
