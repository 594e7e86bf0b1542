"""Entries (row, column, value) on their way from a file to a csr_array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._errors import MAX_COLS, broken, shown
from penstock._io._faults import Lines, Unreadable
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array

# Takes a block and what its lines hold; gives row, column, values and what the
# first row and column are called, or raises Unreadable.
Reader = Callable[[bytes, Lines], tuple[np.ndarray, np.ndarray, "np.ndarray | None", int]]
DUPLICATES = ("sum", "min", "max", "keep")


@dataclass(frozen=True)
class Body:
    """The lines of entries of a text file, as its header describes them."""

    lines: Lines
    reader: Callable[[], Reader]  # one a walk over the lines
    places: Callable[[], Reader]  # the same without values, which it need not look at
    values: np.dtype | None  # None: a pattern
    shape: tuple[int, int] | None  # None: the largest number tells
    promised: int | None  # entries
    mirror: str
    alone: bool  # whether the readers keep to the thread that calls them, several of which may
    first: int  # byte of the first line behind the header, and its number
    line: int


def value_type(kind: str, dtype: Any) -> np.dtype | None:
    """How to hold values while reading: kind is "pattern", "real" or "complex"; None for no values. Narrow types are
    read as such, so that a float32 matrix never exists in float64."""
    if kind == "pattern":
        return None
    wide = np.dtype(np.complex128 if kind == "complex" else np.float64)
    narrow = np.dtype(np.complex64 if kind == "complex" else np.float32)
    return narrow if dtype is not None and np.dtype(dtype) == narrow else wide


def first_lost(wide: np.ndarray, narrow: np.ndarray) -> int | None:
    """The first value that is finite in the wider type and not in the narrower one."""
    if narrow.dtype.itemsize >= wide.dtype.itemsize or not np.isinf(narrow).any():
        return None
    parts = 2 if narrow.dtype.kind == "c" else 1
    given, held = (np.ascontiguousarray(v).view(v.real.dtype) for v in (wide, narrow))
    lost = np.flatnonzero(np.isinf(held) & np.isfinite(given))
    return int(lost[0]) // parts if lost.size else None


def too_large(value: Any, dtype: np.dtype) -> str:
    """What to say of a value that `first_lost` finds."""
    wide = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    return f"value {value} is too large for {dtype}: read it as {wide}, or scale the values"


def narrowed(file: Any, values: np.ndarray, dtype: np.dtype | None, first: int = 0) -> np.ndarray:
    """The values in the type that `value_type` gives. ValueError for a finite one that it does not hold, with its
    number, counted from `first`."""
    assert dtype is not None
    with np.errstate(over="ignore"):
        held = np.ascontiguousarray(values, dtype)
    if (k := first_lost(values, held)) is not None:
        raise broken(file, f"entry {first + k}: {too_large(values[k], held.dtype)}")
    return held


class Entries:
    """Arrays that grow as blocks of text are parsed into them."""

    def __init__(
        self, values: np.dtype | None, expected: int, rows: int, cols: int = MAX_COLS
    ) -> None:
        self.row, self.col = (
            np.empty(expected, np.int32 if extent <= MAX_COLS else np.int64)
            for extent in (rows, cols)
        )
        self.values = None if values is None else np.empty(expected, values)
        self.count = 0

    def _make_room(self, more: int) -> None:
        needed = self.count + more
        if needed <= self.row.size:
            return
        size = max(needed, self.row.size * 3 // 2)
        for array in (self.row, self.col, self.values):
            if array is not None:
                array.resize(
                    size, refcheck=False
                )  # no view of them is ever handed out before the end

    def parse(
        self, text: TextFile, lines: Lines, read: Reader, promised: int | None = None
    ) -> None:
        """Reads the rest of the file; where the header promised a number of entries, holds it to that."""
        header = text.line - 1
        for block, first_line in text.blocks():
            try:
                row, col, values, base = read(block, lines)
                check_range(row, base, lines.rows)
                check_range(col, base, lines.cols)
            except Unreadable as error:
                raise lines.fault(block, text.path, first_line, str(error)) from error
            found = row.size
            if promised is not None and self.count + found > promised:
                line = first_line + lines.line_of(block, promised - self.count)
                raise text.broken(too_many(promised), line)
            self._make_room(found)
            here = slice(self.count, self.count + found)
            np.subtract(row, base, out=self.row[here], casting="unsafe")
            np.subtract(col, base, out=self.col[here], casting="unsafe")
            if self.values is not None and found:
                with np.errstate(over="ignore"):
                    self.values[here] = values
                if (k := first_lost(values, self.values[here])) is not None:
                    problem = too_large(values[k], self.values.dtype)
                    raise text.broken(problem, first_line + lines.line_of(block, k))
            self.count += found
        if promised is not None and self.count < promised:
            raise text.broken(too_few(self.count, promised), header)

    def adopt(self, row: np.ndarray, col: np.ndarray, values: np.ndarray | None) -> int | None:
        """Takes arrays that hold all entries, counted from 0. Returns the first one whose value is finite, and too
        large for the type here."""
        self.row, self.col, self.count = row, col.astype(np.int32, copy=False), row.size
        if self.values is not None and values is not None:
            with np.errstate(over="ignore"):
                self.values = values.astype(self.values.dtype, copy=False)
            return first_lost(values, self.values)
        return None

    def to_csr(
        self, file: Any, rows: int, cols: int, mirror: str = "none", duplicates: str = "sum"
    ) -> csr_array:
        row, col = self.row[: self.count], self.col[: self.count]
        values = None if self.values is None else self.values[: self.count]
        return to_csr(file, rows, cols, row, col, values, mirror, duplicates)


def too_many(promised: int) -> str:
    return f"more entries than the {promised} that the header promises: correct one"


def too_few(count: int, promised: int) -> str:
    return (
        f"the file ends after {count} of the {promised} entries that the header promises: it is truncated, or the "
        "count is wrong"
    )


def diagonal_fault(
    mirror: str, row: np.ndarray, col: np.ndarray, values: np.ndarray | None, base: int = 0
) -> tuple[int, str] | None:
    """The first entry on the diagonal that is not its own mirror, and what to say of it."""
    if mirror not in ("skew", "hermitian") or values is None:
        return None
    wrong = values.imag != 0 if mirror == "hermitian" else values != 0
    at = np.flatnonzero(np.asarray(row == col) & wrong)
    if not at.size:
        return None
    k = int(at[0])
    where = f"on the diagonal, at row {int(row[k]) - base}"
    if mirror == "skew":
        return k, (
            f"a nonzero {where}: a skew-symmetric matrix has zeros there; drop the entry or read the matrix as general"
        )
    return k, (
        f"{shown(str(values[k]))} {where}: a hermitian matrix has real numbers there; correct it or read the matrix as "
        "general"
    )


def check_range(index: np.ndarray, base: int, extent: int) -> None:
    if index.size and not base <= int(index.min()) <= int(index.max()) < extent + base:
        raise Unreadable("an index is out of range")


def to_csr(file: Any, rows: int, cols: int, row: np.ndarray, col: np.ndarray, values: np.ndarray | None,
           mirror: str = "none", duplicates: str = "sum") -> csr_array:  # fmt: skip
    """`_core.coo_to_csr`, with the file's name on its errors and a choice of what becomes of duplicates."""
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates={duplicates!r}: choose one of {', '.join(DUPLICATES)}")
    try:
        matrix = _core.coo_to_csr(rows, cols, row, col, values, duplicates == "sum", mirror)
    except ValueError as error:
        raise broken(file, str(error)) from error
    merge = duplicates in ("min", "max") or (duplicates == "keep" and values is None)
    return _merged(csr_array._wrap(matrix), duplicates) if merge else csr_array._wrap(matrix)


def _merged(a: csr_array, how: str) -> csr_array:
    """Runs of equal columns in a row (coo_to_csr sorts them) made one entry; of a pattern, there is no choice."""
    if a.nnz == 0:
        return a
    first = np.empty(a.nnz, bool)
    first[0] = True
    np.not_equal(a.indices[1:], a.indices[:-1], out=first[1:])
    first[a.indptr[:-1][a.indptr[:-1] < a.nnz]] = True
    starts = np.flatnonzero(first)
    if starts.size == a.nnz:
        return a
    indptr = np.searchsorted(starts, a.indptr)
    values = None
    if a.dtype != np.bool_:
        values = (np.minimum if how == "min" else np.maximum).reduceat(a.data, starts)
    return csr_array._from_parts(*a.shape, indptr.astype(np.int64), a.indices[starts], values)


def transposed(a: csr_array) -> csr_array:
    """The transpose, formed."""
    row = np.repeat(np.arange(a.shape[0], dtype=np.int64), np.diff(a.indptr))
    values = None if a.dtype == np.bool_ else a.data
    return csr_array._wrap(
        _core.coo_to_csr(a.shape[1], a.shape[0], a.indices, row, values, False, "none")
    )


def symmetry_fault(a: csr_array) -> tuple[int, int] | None:
    """A place (i, j) where a square matrix differs from its transpose, or None. Rows must be sorted."""
    b = transposed(a)
    same_values = a.dtype == np.bool_ or np.array_equal(a.data, b.data, equal_nan=True)
    if np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices) and same_values:
        return None
    for i in range(a.shape[0]):
        ours, theirs = (m[i : i + 1] for m in (a, b))
        if ours.nnz and theirs.nnz and ours.nnz == theirs.nnz:
            differ = ours.indices != theirs.indices
            if a.dtype != np.bool_:
                differ |= ours.data != theirs.data
            if differ.any():
                return i, int(ours.indices[np.flatnonzero(differ)[0]])
        elif ours.nnz != theirs.nnz:
            return i, int(
                np.setxor1d(ours.indices, theirs.indices)[0]
            ) if ours.nnz + theirs.nnz else i
    return None
