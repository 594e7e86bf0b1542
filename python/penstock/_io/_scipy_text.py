"""Blocks of text through SciPy's Matrix Market reader: lines of entries, and numbers alone.

Each block is given to it as a general file of its own, so that a symmetric matrix is not mirrored into a second copy,
memory stays bounded, and a refusal is known to lie in this block.
"""

from __future__ import annotations

import contextlib
import io
import mmap
import threading
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from penstock._io._faults import EXACT, Lines, Unreadable, fault_among_numbers
from penstock._io._text import TextFile, count_lines
from penstock._io._tidy import (
    c_numbers,
    infinities,
    is_plain,
    one_a_line,
    plain_lines,
    tidied,
    without_words,
)

FIELDS = {"": "pattern", "v": "real", "n": "integer", "vw": "complex"}


_lock = threading.Lock()
_alone = [0, 0]  # who is inside one_thread(), and how many threads there were before


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Inside, SciPy parses on the thread that calls it, in the whole process. For several readers of small blocks: it
    would start as many threads as there are processors, for each block. R-MAT 20, 1 GB, on two ranks and processors:
    each computes for 5.5 s instead of 8.5."""
    from scipy.io import _fast_matrix_market as scipy_reader

    with _lock:
        if _alone[0] == 0:
            _alone[1], scipy_reader.PARALLELISM = scipy_reader.PARALLELISM, 1
        _alone[0] += 1
    try:
        yield
    finally:
        with _lock:
            _alone[0] -= 1
            if _alone[0] == 0:
                scipy_reader.PARALLELISM = _alone[1]


def _mmread(layout: str, field: str, sizes: str, body: bytes) -> Any:
    from scipy.io import mmread

    head = f"%%MatrixMarket matrix {layout} {field} general\n{sizes}\n".encode()
    try:
        return mmread(io.BytesIO(b"".join((head, body))))
    except (ValueError, OverflowError) as error:
        raise Unreadable(f"SciPy's reader says: {str(error)[:200]}") from error


def _prepared(tidy: bytes, columns: str) -> bytes:
    """Tidy text in plain form; refuses what cannot be brought to it."""
    body = c_numbers(tidy)
    if not is_plain(without_words(body) if "v" in columns else body, columns):
        raise Unreadable("a line does not hold just the numbers expected")
    return body


def _check_values(values: np.ndarray, column: str, block: bytes) -> None:
    if (
        column == "n"
        and values.size
        and not -EXACT <= int(values.min()) <= int(values.max()) <= EXACT
    ):
        raise Unreadable("an integer is beyond 2^53")
    with np.errstate(over="ignore", invalid="ignore"):
        finite = column != "v" or np.isfinite(values.sum())
    if not finite:
        parts = values.view(np.float64)
        if np.count_nonzero(np.isinf(parts)) != infinities(block):
            raise Unreadable("a number is too large for float64")


class _General(io.RawIOBase):
    """A file whose header is replaced."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        super().__init__()
        self._head, self._file = head, file

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        return head or self._file.read(size)


def _all_plain(file: BinaryIO, columns: str, promised: int) -> bool:
    """Whether the rest of a file is as many plain lines as promised; the last one may lack its newline."""
    at = file.tell()
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        end = max(at, whole.rfind(b"\n") + 1)
        tail = whole[end:]
        with memoryview(whole) as view, view[at:end] as lines:
            found = plain_lines(lines, columns)
    last = plain_lines(tail + b"\n", columns) if tail else 0
    return min(found, last) >= 0 and found + last == promised


def read_plain_file(
    text: TextFile, lines: Lines, promised: int, as_is: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
    """All entries, counted from 0, of a file that is not packed and is plain throughout; None for any other. Nothing is
    copied: SciPy reads from the file itself; where not as_is, with a banner that says general."""
    if not text.exact_size or promised == 0:
        return None
    numbers = lines.columns[2:]
    head = f"%%MatrixMarket matrix coordinate {FIELDS[numbers]} general\n"
    head += f"{lines.rows} {lines.cols} {promised}\n"
    with open(text.path, "rb", buffering=0) as file:
        file.seek(text.taken)
        if not _all_plain(file, lines.columns, promised):
            return None
        from scipy.io import mmread

        file.seek(text.taken)
        try:
            # By its name, a file is read a quarter faster than through Python.
            direct = as_is and not text.name.endswith((".gz", ".bz2"))
            found = mmread(text.name if direct else _General(head.encode(), file))
            if found.shape != (lines.rows, lines.cols) or found.nnz != promised:
                return None
            if numbers:
                _check_values(found.data, numbers[0], b"")
        except (ValueError, OverflowError, Unreadable):
            return None
    return found.row, found.col, found.data if numbers else None


def read_entries(
    block: bytes, lines: Lines, values: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
    """(row, column, values or None, what the first row and column are called) of lines `i j [v [w]]`. Without values,
    how large they are is not looked at."""
    columns = lines.columns
    body = block if block.endswith(b"\n") else block + b"\n"
    if not is_plain(body, columns):
        body = tidied(block, lines.comments)
        if body == b"\n":
            none = np.empty(0, np.int32)
            return none, none, None, 0
        body = _prepared(body, columns)
    numbers = columns[2:] if values else ""  # SciPy passes over what else is on a line
    sizes = f"{lines.rows} {lines.cols} {count_lines(body)}"
    found = _mmread("coordinate", FIELDS[numbers], sizes, body)
    if numbers:
        _check_values(found.data, numbers[0], body)
    return found.row, found.col, found.data if numbers else None, 0


def read_places(
    block: bytes, lines: Lines
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
    """As read_entries, without values."""
    return read_entries(block, lines, values=False)


def read_numbers(
    text: TextFile, block: bytes, line: int, integers: bool, comments: str = ""
) -> np.ndarray:
    """All numbers of a block that starts at a line, however many stand on each; int64 or float64."""
    try:
        return _numbers(block, integers, comments)
    except Unreadable as error:
        raise fault_among_numbers(block, integers, comments, text.path, line, str(error)) from error


def _numbers(block: bytes, integers: bool, comments: str) -> np.ndarray:
    column = "n" if integers else "v"
    body = one_a_line(block, comments)
    if body == b"\n":
        return np.empty(0, np.int64 if integers else np.float64)
    if not is_plain(body, column):
        body = _prepared(body, column)
    values = np.ravel(_mmread("array", FIELDS[column], f"{count_lines(body)} 1", body))
    _check_values(values, column, body)
    return values
