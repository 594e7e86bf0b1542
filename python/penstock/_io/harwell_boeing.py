"""Harwell-Boeing and Rutherford-Boeing: assembled matrices, real, integer, complex or pattern, of every symmetry.

Read here rather than by SciPy, which takes only real unsymmetric ones. Columns of a fixed width, as Fortran wrote
them, need no blanks between them. Right-hand sides are left out. The formats: Duff, Grimes, Lewis, "Users' guide for
the Harwell-Boeing sparse matrix collection", 1992; "The Rutherford-Boeing sparse matrix collection", 1997.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from penstock._io._entries import narrowed, to_csr, value_type
from penstock._io._errors import broken, check_cols, check_rows, check_size, count, shown
from penstock._io._scipy_text import read_numbers
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array

MIRRORS = {"u": "none", "r": "none", "s": "symmetric", "z": "skew", "h": "hermitian"}
EXACT = 2**53
_FORMAT = re.compile(
    r"\(\s*(?:(\d+)\s*P\s*,?\s*)?(\d*)\s*([IEDFG])\s*(\d+)(?:\.(\d+)(?:E\d+)?)?\s*\)", re.IGNORECASE
)


class _Format:
    """A Fortran edit descriptor such as (13I6) or (1P,4D20.12): so many fields of a width a line."""

    def __init__(self, word: str, file: Any, line: int) -> None:
        match = _FORMAT.fullmatch(word)
        if match is None:
            raise broken(file, f"the format {shown(word)} is not like (13I6) or (5E15.8)", line)
        scale, per_line, self.kind, width, _ = match.groups()
        self.word, self.per_line, self.width = word, int(per_line or 1), int(width)
        if not (0 < self.width <= 256 and 0 < self.per_line <= 4096):
            raise broken(file, f"the format {shown(word)} has fields or widths out of reason", line)
        self.kind = self.kind.upper()
        if scale and self.kind == "F" and int(scale):
            raise broken(
                file,
                f"the format {shown(word)} scales values by a power of ten: rewrite the file with E",
                line,
            )


def _section(text: TextFile, size: int, form: _Format, what: str, integers: bool) -> np.ndarray:
    """The next `size` numbers."""
    check_size(text.path, size, what, 1, text.at_most)
    first_line, width, per_line = text.line, form.width, form.per_line
    full = per_line * width
    parts: list[np.ndarray] = []
    for first in range(0, size, per_line * 4096):  # a bounded number of lines at a time
        fields = min(per_line * 4096, size - first)
        lines = []
        for k in range(-(-fields // per_line)):
            here = min(per_line, fields - k * per_line)
            line = text.take().rstrip(b"\r\n").expandtabs(8)[: here * width]
            if len(line) <= (here - 1) * width:
                seen = first + k * per_line + -(-len(line) // width)
                raise text.broken(
                    f"{what}: {seen} of {size} numbers are there: the file is truncated",
                    text.line - 1,
                )
            lines.append(line.ljust(full))
        grid = np.frombuffer(b"".join(lines), np.uint8).reshape(len(lines), per_line, width)
        spaced = np.full((len(lines), per_line, width + 1), ord(" "), np.uint8)
        spaced[:, :, :width] = grid
        spaced[:, -1, width] = ord("\n")
        found = _numbers(text, spaced.tobytes(), first_line + first // per_line, integers, form)
        if found.size != fields:
            raise text.broken(f"{what}: {found.size} numbers in {fields} fields of {form.word}",
                              first_line + first // per_line)  # fmt: skip
        parts.append(found)
    return np.concatenate([np.empty(0, np.int64 if integers else np.float64), *parts])


def _numbers(text: TextFile, block: bytes, line: int, integers: bool, form: _Format) -> np.ndarray:
    if integers:
        return read_numbers(text, block, line, True)
    if re.search(rb"[0-9.][+-][0-9]", block):  # an exponent of three digits has no letter
        block = re.sub(rb"(?<=[0-9.])([+-])(?=[0-9])", rb"e\1", block)
    if form.kind != "I" and (
        bare := re.search(rb"(?<![0-9.eEdD+-])[+-]?[0-9]*[1-9][0-9]*(?![0-9.])", block)
    ):
        raise text.broken(
            f"the value {shown(bare[0])} in a field of {form.word} has no decimal point: Fortran would move it by the "
            "format's decimals; write the point",
            line + block.count(b"\n", 0, bare.start()),
        )
    return read_numbers(text, block, line, False)


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None) -> csr_array:
    with TextFile(path) as text:
        text.take()
        cards = text.take().split()
        third, line = text.take().decode("latin-1").split(), text.line - 1
        kind = third[0].lower() if third else ""
        if not re.fullmatch("[ricpqx][usrhz][aex]", kind) or len(third) < 4:
            raise text.broken(
                "is not the line of type, rows, columns and entries of a Harwell-Boeing file", line
            )
        if kind[2] != "a" or kind[0] in "qx":
            raise text.broken(
                f"the type {kind.upper()} is not supported: only assembled matrices (xxA) with values",
                line,
            )
        names = ("the number of rows", "the number of columns", "the number of entries")
        rows, cols, nnz = (count(w, n, path, line) for w, n in zip(third[1:4], names, strict=True))
        check_cols(path, cols, line)
        if kind[1] in "shz" and rows != cols:
            raise text.broken(
                f"a matrix of type {kind.upper()} and {rows} x {cols} is not square", line
            )
        check_rows(path, max(rows, cols), nnz, max_rows)
        if kind[0] == "p" and kind[1] == "z":
            raise text.broken("a skew-symmetric pattern has no signs: write PSA", line)
        if kind[1] == "h" and kind[0] != "c":
            raise text.broken("a hermitian matrix has complex values: write CHA, or type S", line)
        formats = re.findall(r"\([^)]*\)", text.take().decode("latin-1"))
        valued = kind[0] != "p"
        if len(formats) < 2 + valued:
            raise text.broken(
                f"gives {len(formats)} formats, {2 + valued} are needed", text.line - 1
            )
        forms = [_Format(word, path, text.line - 1) for word in formats[: 2 + valued]]
        if len(cards) > 4 and re.fullmatch(rb"0*[1-9][0-9]*", cards[4]):
            text.take()  # about right-hand sides
        indptr = _section(text, cols + 1, forms[0], "column starts", True)
        if indptr[0] != 1 or indptr[-1] != nnz + 1 or (np.diff(indptr) < 0).any():
            raise text.broken(
                f"the column starts do not rise from 1 to {nnz + 1}: the file or its header is damaged"
            )
        row = _section(text, nnz, forms[1], "row numbers", True)
        if nnz and not (row.min() >= 1 and row.max() <= rows):
            bad = int(np.flatnonzero((row < 1) | (row > rows))[0])
            raise text.broken(
                f"row number {row[bad]} of entry {bad + 1} is outside 1 .. {rows}: the file is damaged"
            )
        values = _values(text, kind, nnz, forms[2], dtype) if valued else None
    col = np.repeat(np.arange(cols, dtype=np.int64), np.diff(indptr))
    return to_csr(path, rows, cols, row - 1, col, values, MIRRORS[kind[1]])


def _values(text: TextFile, kind: str, nnz: int, form: _Format, dtype: Any) -> np.ndarray:
    if kind[0] == "c":
        parts = _section(text, 2 * nnz, form, "complex values", False)
        return narrowed(text.path, parts.view(np.complex128), value_type("complex", dtype))
    integers = form.kind == "I"
    values = _section(text, nnz, form, "values", integers)
    if integers and nnz and max(-int(values.min()), int(values.max())) > EXACT:
        raise text.broken("a value is beyond 2^53: float64 would round it")
    return narrowed(text.path, values, value_type("real", dtype))
