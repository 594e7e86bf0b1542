"""Edge lists: SNAP .txt, .tsv, .csv, GAPBS .el and .wel. One edge a line, `source target [weight]`.

Ids are integers. Lines that start with # or % are comments; our own writer puts the shape into one, because a list of
edges cannot say that the last vertices have none.
"""

from __future__ import annotations

import os
import re
from typing import Any

from penstock._arrays.convert import check_shape
from penstock._io._atomic import atomic_file
from penstock._io._entries import Body, Entries, Reader, value_type
from penstock._io._errors import MAX_COLS, broken, check_rows, shown
from penstock._io._faults import Lines
from penstock._io._polars_text import Columns
from penstock._io._rows import require_integers, write_rows
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array

COMMENTS = "#%"
_NOTE = b"# shape "
_SHAPE = re.compile(rb"# shape (\d{1,19}) (\d{1,19})\s*$")
_INTEGER = re.compile(rb'"?[+-]?\d+"?')


def body(text: TextFile, *, dtype: Any = None, directed: bool = True, base: int = 0,
         shape: tuple[int, int] | None = None, columns: tuple[int, ...] | None = None, separator: str | None = None,
         header: bool | None = None, most: int = MAX_COLS) -> Body:  # fmt: skip
    """What the first lines say of all of them. Options: see `penstock.load`; `most` rows and columns may be noted."""
    noted = _skip_comments(text, most)
    first = text.peek().strip()
    if separator is None:
        separator = next((c for c in ",;" if c.encode() in first), "")
    elif len(separator) != 1 or separator.isalnum():
        raise ValueError(
            f"separator={separator!r}: give one character such as ',', or None for any blanks"
        )
    separator = "" if separator in " \t" else separator
    fields = _split(first, separator)
    if header is None:
        csv = _suffix(text.path) in (".csv", ".tsv")
        header = csv and not any(_INTEGER.fullmatch(field) for field in fields)
    if header and first:
        text.take()
        noted = _skip_comments(text, most) or noted
        fields = _split(text.peek().strip(), separator)
    letters = _letters(text, fields, columns) if fields else "ij"
    shape = noted if shape is None else check_shape(shape)
    if not fields and shape is None:
        raise text.broken("there are no edges: pass shape= for a graph without any")
    rows, cols = shape or (most, most)
    hint = f"node ids must be integers from {base}" + (
        " to the shape's last" if shape else f" to {_power(most)} - 2"
    )
    hint += "; see base=, shape=, columns= and header="
    if shape is None and most == MAX_COLS:
        hint += "; ps.dist.csr_array reads larger ones"
    # Without a shape, ids may go up to the largest column that there can be, in the file's own counting.
    lines = Lines(letters, base, rows, cols, hint, COMMENTS, separator, whole_numbers=True)

    def reader() -> Reader:
        return Columns().read

    values = value_type("real" if "v" in letters else "pattern", dtype)
    mirror = "none" if directed else "symmetric"
    return Body(lines, reader, reader, values, shape, None, mirror, False, text.taken, text.line)


def settled(path: Any, shape: tuple[int, int] | None, largest: int, entries: int, max_rows: int | None = None,
            ) -> tuple[int, int]:  # fmt: skip
    """The shape, by the largest id where none is known."""
    if shape is None:
        check_rows(path, largest + 1, entries, max_rows, "renumber the ids, or ")
        return largest + 1, largest + 1
    check_rows(path, shape[0], entries, max_rows)
    return shape


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None, directed: bool = True, base: int = 0,
         shape: tuple[int, int] | None = None, columns: tuple[int, ...] | None = None, separator: str | None = None,
         header: bool | None = None, duplicates: str = "sum") -> csr_array:  # fmt: skip
    """Options: see `penstock.load`."""
    with TextFile(path) as text:
        found = body(text, dtype=dtype, directed=directed, base=base, shape=shape, columns=columns,
                     separator=separator, header=header)  # fmt: skip
        lines = text.at_most // max(len(text.peek()), 4) if text.exact_size else 1 << 20
        entries = Entries(found.values, lines + 1024, found.lines.rows)
        entries.parse(text, found.lines, found.reader())
    largest = max(
        (int(i[: entries.count].max()) for i in (entries.row, entries.col) if entries.count),
        default=-1,
    )
    known = settled(path, found.shape, largest, entries.count, max_rows)
    if not directed and known[0] != known[1]:
        raise broken(path, f"directed=False needs a square shape, not {known[0]} x {known[1]}")
    return entries.to_csr(path, *known, found.mirror, duplicates)


def _suffix(path: Any) -> str:
    name = os.fspath(path).lower().removesuffix(".gz")
    return os.path.splitext(name)[1]


def _split(line: bytes, separator: str) -> list[bytes]:
    return [field.strip() for field in line.split(separator.encode() or None)] if line else []


def _power(most: int) -> str:
    return f"2^{(most + 1).bit_length() - 1}"


def _noted_shape(shape: tuple[int, ...], most: int) -> tuple[int, int]:
    if most > MAX_COLS and max(shape) > MAX_COLS:
        if max(shape) > most:
            raise ValueError(f"shape={shape!r}: rows and columns are at most {most}")
        return shape[0], shape[1]
    return check_shape(shape)


def _skip_comments(text: TextFile, most: int) -> tuple[int, int] | None:
    """Past blank lines and comments; the shape that the last of them notes."""
    noted = None

    def look(lines: bytes, number: int) -> None:
        nonlocal noted
        if number == 1 and lines.lstrip()[:14].lower() == b"%%matrixmarket":
            raise text.broken(
                "this is a Matrix Market file: pass format='matrix-market', or rename it to .mtx", 1
            )
        at = lines.find(_NOTE)
        while at >= 0:
            first = lines.rfind(b"\n", 0, at) + 1
            end = lines.find(b"\n", at) + 1 or len(lines)
            if match := _SHAPE.match(lines[first:end].strip()):
                try:
                    noted = _noted_shape(tuple(int(n) for n in match.groups()), most)
                except ValueError as error:
                    raise text.broken(str(error), number + lines.count(b"\n", 0, first)) from error
            at = lines.find(_NOTE, end)

    text.skip(COMMENTS, look)
    return noted


def _letters(text: TextFile, fields: list[bytes], columns: tuple[int, ...] | None) -> str:
    """What each field of a line is, in the letters of `_faults.Lines`."""
    n = len(fields)
    if columns is None:
        if n not in (2, 3):
            raise text.broken(
                f"the line {shown(b' '.join(fields))} has {n} fields, not 2 or 3: say which are source, target and "
                "weight, such as columns=(0, 1) or columns=(0, 1, 2)",
                text.line,
            )
        columns = tuple(range(n))
    good = (
        len(columns) in (2, 3)
        and len(set(columns)) == len(columns)
        and all(0 <= c < n for c in columns)
    )
    if not good:
        raise text.broken(
            f"columns={columns}: give two or three different ones of 0 .. {n - 1}", text.line
        )
    letters = ["x"] * n
    for letter, c in zip("ijv", columns, strict=False):
        letters[c] = letter
    return "".join(letters)


def write(path: Any, a: csr_array, *, base: int = 0) -> None:
    """Edges in row order: tabs in .tsv and .txt, commas and a header line in .csv, blanks in .el and .wel (which take
    integers only for weights, as their own readers do)."""
    suffix = _suffix(path)
    pattern = a.dtype == "bool"
    if a.dtype.kind == "c":
        raise broken(
            path, f"an edge list has one weight an edge, the matrix is {a.dtype}: save it as .mtx"
        )
    if suffix == ".el" and not pattern:
        raise broken(path, "an .el file holds no weights: name it .wel, or save A.astype(bool)")
    if suffix == ".wel":
        if pattern:
            raise broken(path, "a .wel file needs weights: name it .el, or save A.astype(float)")
        require_integers(a, path, "a .wel file", -(2**31), 2**31 - 1)
    separator = {".csv": ",", ".el": " ", ".wel": " "}.get(suffix, "\t")
    with atomic_file(path) as file:
        if suffix == ".csv":
            file.write(b"source,target\n" if pattern else b"source,target,weight\n")
        elif suffix not in (".el", ".wel"):
            file.write(b"# shape %d %d\n" % a.shape)
        write_rows(file, a, separator=separator, base=base, integers=suffix == ".wel")
