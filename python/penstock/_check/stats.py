"""What a matrix looks like: degrees, order, bandwidth, symmetry, bytes per format, and where its
entries lie.

Everything is computed over ranges of whole rows, so that besides a few vectors of one entry a row
or a column only `chunk` entries (or the longest row) are in memory at a time: a matrix mapped from
a file may be larger than RAM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from penstock._check.chunks import CHUNK, row_chunks
from penstock._check.symmetry import EXACT_LIMIT, Symmetry, symmetry

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

NPY_HEADER = 128  # bytes before the numbers of a .npy file
Tell = Callable[[float], None]


@dataclass(frozen=True)
class Degrees:
    """Entries per row or per column. `histogram[0]` counts the empty ones, `histogram[k]` those
    with 2^(k-1) .. 2^k - 1 entries."""

    min: int
    median: float
    mean: float
    max: int
    empty: int
    histogram: tuple[int, ...]


@dataclass(frozen=True)
class Stats:
    """Of one matrix; counts are of stored entries, explicit zeros and duplicates included."""

    rows: int
    cols: int
    nnz: int
    dtype: str
    row_degrees: Degrees
    col_degrees: Degrees
    lower_bandwidth: int  # the largest i - j of an entry, at least 0
    upper_bandwidth: int  # the largest j - i
    diagonal: int  # positions of the main diagonal that hold an entry
    sorted: bool  # columns never decrease within a row
    duplicates: int  # entries beyond the first at the same position
    zeros: int  # explicit zeros
    not_finite: int  # NaN or infinite values
    smallest: float  # by absolute value, over nonzero finite values; 0 where there are none
    largest: float
    symmetry: Symmetry
    bytes: dict[str, int]
    density: np.ndarray = field(repr=False)  # entries per cell of a grid laid over the matrix


def degrees(counts: np.ndarray) -> Degrees:
    """The distribution of an array of counts.

    >>> import numpy as np
    >>> degrees(np.array([0, 1, 2, 3, 8]))
    Degrees(min=0, median=2.0, mean=2.8, max=8, empty=1, histogram=(1, 1, 2, 0, 1))
    """
    if counts.size == 0:
        return Degrees(0, 0.0, 0.0, 0, 0, ())
    # frexp's exponent of an integer n is the number of its bits: 0 for 0, k for 2^(k-1) .. 2^k - 1
    histogram = np.bincount(np.frexp(counts.astype(np.float64))[1])
    return Degrees(
        int(counts.min()),
        float(np.median(counts)),
        float(counts.mean()),
        int(counts.max()),
        int(histogram[0]),
        tuple(int(n) for n in histogram),
    )


def format_bytes(
    rows: int, cols: int, nnz: int, itemsize: int, longest: int, stored: int
) -> dict[str, int]:
    """Bytes of the matrix in several formats, from counts alone; a pattern has itemsize 0.

    "ell" is the format of cardellini-2014 (section 2, ELL-G): every row padded to the longest one,
    and an array of row lengths.
    """
    arrays = 3 if itemsize else 2
    return {
        "csr": stored,
        "coo": nnz * (4 + (4 if rows <= 2**31 else 8) + itemsize),
        "ell": rows * (longest * (4 + itemsize) + 4),
        "store": stored + arrays * NPY_HEADER,
    }


@dataclass
class _Tally:
    """What one pass over the entries adds up."""

    col_counts: np.ndarray
    density: np.ndarray
    lower: int = 0
    upper: int = 0
    diagonal: int = 0
    sorted: bool = True
    duplicates: int = 0
    zeros: int = 0
    not_finite: int = 0
    smallest: float = np.inf
    largest: float = 0.0

    def values(self, values: np.ndarray) -> None:
        size = np.abs(values)
        self.zeros += values.size - int(np.count_nonzero(values))
        finite = size[np.isfinite(size)]
        self.not_finite += size.size - finite.size
        self.largest = max(self.largest, float(finite.max(initial=0)))
        self.smallest = min(self.smallest, float(finite.min(where=finite > 0, initial=np.inf)))

    def order(self, row: np.ndarray, col: np.ndarray) -> None:
        """`row` counts from 0 within the chunk, so that row * cols + col fits 64 bits."""
        same_row, step = row[1:] == row[:-1], np.diff(col)
        if np.any(same_row & (step < 0)):
            self.sorted = False
            key = np.sort(row * np.int64(self.col_counts.size) + col)
            self.duplicates += int(np.count_nonzero(key[1:] == key[:-1]))
        else:
            self.duplicates += int(np.count_nonzero(same_row & (step == 0)))

    def places(self, row: np.ndarray, col: np.ndarray, shape: tuple[int, int]) -> None:
        offset = col - row
        self.upper = max(self.upper, int(offset.max()))
        self.lower = max(self.lower, -int(offset.min()))
        on = row[offset == 0]  # rows come in order, so duplicates on the diagonal are neighbours
        self.diagonal += int(np.unique(on).size)
        self.col_counts += np.bincount(col, minlength=self.col_counts.size)
        high, wide = self.density.shape
        cell = (row * high // shape[0]) * wide + col.astype(np.int64) * wide // shape[1]
        self.density += np.bincount(cell, minlength=high * wide).reshape(high, wide)


def describe(
    a: csr_array,
    grid: tuple[int, int] = (256, 256),
    chunk: int = CHUNK,
    symmetry_limit: int = EXACT_LIMIT,
    tell: Tell | None = None,
) -> Stats:
    """All of the above for one matrix.

    Parameters
    ----------
    grid : (int, int)
        The most cells of `density`, down and across; fewer where the matrix has fewer rows or
        columns.
    chunk : int
        Entries in memory at a time.
    symmetry_limit : int
        Above this number of entries symmetry is decided by hashing (see `penstock._check.symmetry`).
    tell : function of a fraction between 0 and 1, optional
        Called as the work goes on.

    >>> import numpy as np, penstock as ps
    >>> s = describe(ps.csr_array(np.array([[2.0, 1.0], [0.0, 3.0]])))
    >>> s.upper_bandwidth, s.lower_bandwidth, s.diagonal, s.symmetry.kind
    (1, 0, 2, 'none')
    """
    rows, cols = a.shape
    indptr, indices, nnz = a.indptr, a.indices, a.nnz
    pattern = a.dtype == np.bool_
    cells = (min(max(grid[0], 1), rows), min(max(grid[1], 1), cols))
    tally = _Tally(np.zeros(cols, np.int64), np.zeros(cells, np.int64))
    for first, last in row_chunks(indptr, chunk):
        lo, hi = int(indptr[first]), int(indptr[last])
        if hi == lo:
            continue
        lengths = np.diff(indptr[first : last + 1])
        local = np.repeat(np.arange(last - first, dtype=np.int64), lengths)
        col = indices[lo:hi]
        tally.order(local, col)
        tally.places(local + first, col, a.shape)
        if not pattern:
            tally.values(a.data[lo:hi])
        if tell:
            tell(0.7 * hi / nnz)
    by_row = degrees(np.diff(indptr))
    found = symmetry(
        a, tally.sorted and not tally.duplicates, bool(tally.duplicates), symmetry_limit, chunk
    )
    if tell:
        tell(1.0)
    itemsize = 0 if pattern else a.dtype.itemsize
    if pattern:
        tally.smallest = tally.largest = 1.0 if nnz else 0.0
    return Stats(
        rows=rows,
        cols=cols,
        nnz=nnz,
        dtype="pattern" if pattern else str(a.dtype),
        row_degrees=by_row,
        col_degrees=degrees(tally.col_counts),
        lower_bandwidth=tally.lower,
        upper_bandwidth=tally.upper,
        diagonal=tally.diagonal,
        sorted=tally.sorted,
        duplicates=tally.duplicates,
        zeros=tally.zeros,
        not_finite=tally.not_finite,
        smallest=tally.smallest if np.isfinite(tally.smallest) else 0.0,
        largest=tally.largest,
        symmetry=found,
        bytes=format_bytes(rows, cols, nnz, itemsize, by_row.max, a.nbytes),
        density=tally.density,
    )
