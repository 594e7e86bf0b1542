"""What the readers of binary files share: numbers taken from a file only where it has them, and compressed rows."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from penstock._io._entries import transposed
from penstock._io._errors import broken, check_cols, check_rows
from penstock._matrix.csr import csr_array


class Numbers:
    """A file of plain numbers, read from its begin to its end."""

    def __init__(self, path: Any) -> None:
        self.path = path
        self._file = open(path, "rb")  # noqa: SIM115 (with Numbers(...) closes it)
        self.size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Numbers:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    @property
    def at(self) -> int:
        return self._file.tell()

    def take(self, dtype: Any, count: int, what: str) -> np.ndarray:
        """The next `count` numbers in the machine's byte order, which must be there."""
        kind, at = np.dtype(dtype), self.at
        if count * kind.itemsize > self.size - at:
            raise broken(
                self.path,
                f"byte {at}: {count * kind.itemsize} bytes are needed for {what}, the file has {self.size - at} more: "
                "it is truncated, or its header is wrong",
            )
        found = np.fromfile(self._file, kind, count)
        if found.size != count:
            raise broken(self.path, f"byte {at}: the file was cut while it was read: read it again")
        return found.astype(kind.newbyteorder("="), copy=False)

    def skip(self, bytes_: int) -> None:
        self._file.seek(bytes_, os.SEEK_CUR)

    def end(self, what: str) -> None:
        """Refuses bytes behind the last number."""
        if self.at != self.size:
            raise broken(
                self.path,
                f"byte {self.at}: the file goes on for {self.size - self.at} bytes behind {what}: it is damaged, or "
                "its header is wrong",
            )


def needed(module: str, what: str, extra: str) -> Any:
    """A package that only some readers want."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} need {package}: pip install 'penstock-sparse[{extra}]'"
        ) from error


def offsets_of(path: Any, ends: np.ndarray, entries: int, what: str) -> np.ndarray:
    """Row offsets, checked as far as lengths of arrays depend on them."""
    if ends.size and (int(ends[0]) != 0 or int(ends[-1]) != entries):
        raise broken(
            path,
            f"{what} run from {int(ends[0])} to {int(ends[-1])}, not from 0 to {entries}: the file is damaged",
        )
    return ends


def compressed(path: Any, kind: str, shape: tuple[int, int], indptr: np.ndarray, indices: np.ndarray,
               values: np.ndarray | None, max_rows: int | None = None) -> csr_array:  # fmt: skip
    """The matrix of rows ("csr") or columns ("csc") of entries; every offset and index is checked."""
    rows, cols = shape
    check_cols(path, cols)
    check_rows(path, rows, indices.size, max_rows)
    if kind == "csc":
        check_cols(path, rows)
    lines, width = (rows, cols) if kind == "csr" else (cols, rows)
    if indptr.ndim != 1 or indptr.size != lines + 1:
        raise broken(
            path, f"has {indptr.size} offsets, {lines} lines need {lines + 1}: the file is damaged"
        )
    try:
        if values is None:
            a = csr_array._from_parts(
                lines, width, indptr.astype(np.int64, copy=False), _columns(indices, width), None
            )
        else:
            a = csr_array((values, indices, indptr), shape=(lines, width), copy=False)
        return transposed(a) if kind == "csc" else a
    except (ValueError, TypeError, OverflowError) as error:
        raise broken(path, str(error)) from error


def _columns(indices: np.ndarray, width: int) -> np.ndarray:
    """As int32, where that changes none of them."""
    if indices.dtype != np.int32 and indices.size:
        low, high = int(indices.min()), int(indices.max())
        if low < 0 or high >= width:
            raise ValueError(f"column {low if low < 0 else high} is outside 0 .. {width - 1}")
    return np.ascontiguousarray(indices, np.int32)
