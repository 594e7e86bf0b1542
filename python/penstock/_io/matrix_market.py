"""Matrix Market: coordinate and array files of every field and symmetry, packed or not.

The banner and the size line are read here and held to the size of the file before anything is allocated; the body
goes through SciPy's reader, and what that one lets pass is looked for first. The format: Boisvert, Pozo, Remington,
"The Matrix Market exchange formats", NISTIR 5935, 1996.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import (
    Body,
    Entries,
    diagonal_fault,
    first_lost,
    to_csr,
    too_large,
    value_type,
)
from penstock._io._errors import MAX_COLS, check_cols, check_rows, check_size, count, shown
from penstock._io._faults import Lines
from penstock._io._rows import row_slabs
from penstock._io._scipy_text import read_entries, read_numbers, read_places, read_plain_file
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array

HINT = "the size line or this line is wrong"
FIELDS = {
    "real": "v",
    "double": "v",
    "integer": "n",
    "unsigned-integer": "n",
    "complex": "vw",
    "pattern": "",
}
MIRRORS = {
    "general": "none",
    "symmetric": "symmetric",
    "skew-symmetric": "skew",
    "hermitian": "hermitian",
}
LAYOUTS = ("coordinate", "array")


def _banner(text: TextFile) -> tuple[str, str, str]:
    line = text.take()
    words = line.decode("latin-1").split()
    if not words or words[0].lower() != "%%matrixmarket":
        raise text.broken(
            f"the file starts with {shown(line)}, not with '%%MatrixMarket': put a banner such as "
            "'%%MatrixMarket matrix coordinate real general' in front, or pass format=",
            1,
        )
    if len(words) != 5:
        raise text.broken(
            f"the banner has {len(words)} words, not 5: %%MatrixMarket matrix LAYOUT FIELD SYMMETRY",
            1,
        )
    choices = (("matrix",), LAYOUTS, tuple(FIELDS), tuple(MIRRORS))
    kinds = ("object", "layout", "field", "symmetry")
    for word, kind, known in zip(words[1:], kinds, choices, strict=True):
        if word.lower() not in known:
            raise text.broken(
                f"the banner's {kind} {shown(word)} is not one of: {', '.join(known)}", 1
            )
    layout, field, symmetry = (word.lower() for word in words[2:])
    if symmetry == "hermitian" and field != "complex":
        raise text.broken(
            f"a hermitian matrix of field {field}: write symmetric, or field complex", 1
        )
    if field == "pattern" and symmetry == "skew-symmetric":
        raise text.broken("a skew-symmetric pattern has no signs: write symmetric", 1)
    if field == "pattern" and layout == "array":
        raise text.broken("a pattern has no array layout: write coordinate", 1)
    return layout, field, symmetry


class Header(NamedTuple):
    layout: str
    field: str
    symmetry: str
    rows: int
    cols: int
    entries: int | None  # None: an array
    line: int  # of the sizes

    @property
    def values(self) -> str:
        """The kind that `value_type` wants."""
        return self.field if self.field in ("pattern", "complex") else "real"


def _header(text: TextFile, most: int = MAX_COLS) -> Header:
    layout, field, symmetry = _banner(text)
    sizes = text.take_data("%", "the size line").split()
    line = text.line - 1
    names = ("rows", "columns", "number of entries")[: 3 if layout == "coordinate" else 2]
    if len(sizes) != len(names):
        raise text.broken(
            f"the size line has {len(sizes)} numbers: {layout} needs {', '.join(names)}", line
        )
    rows, cols, *more = (
        count(n, f"the {name}", text.path, line) for n, name in zip(sizes, names, strict=True)
    )
    check_cols(text.path, cols, line, most)
    if symmetry != "general" and rows != cols:
        raise text.broken(f"a {symmetry} matrix of {rows} x {cols} is not square", line)
    return Header(layout, field, symmetry, rows, cols, more[0] if more else None, line)


def _coordinates(text: TextFile, head: Header, dtype: Any, max_rows: int | None) -> Body:
    assert head.entries is not None
    columns = FIELDS[head.field]
    check_size(text.path, head.entries, "entries", 4 + 2 * len(columns), text.at_most, head.line)
    check_rows(text.path, head.rows, head.entries, max_rows)
    lines = Lines("ij" + columns, 1, head.rows, head.cols, HINT, "%")
    return Body(lines, lambda: read_entries, lambda: read_places, value_type(head.values, dtype),
                (head.rows, head.cols), head.entries, MIRRORS[head.symmetry], True, text.taken, text.line)  # fmt: skip


def body(text: TextFile, most: int = MAX_COLS) -> Body | None:
    """What the header says of the lines of entries; None for an array. With more than `most` columns it is refused; and
    where most is beyond the usual, no number of rows is too large for so few entries."""
    head = _header(text, most)
    if head.entries is None:
        return None
    return _coordinates(
        text, head, None, head.rows if max(head.rows, head.cols) > MAX_COLS else None
    )


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None) -> csr_array:
    with TextFile(path) as text:
        head = _header(text)
        rows, cols, promised = head.rows, head.cols, head.entries
        if promised is None:
            return _read_array(
                text, rows, cols, FIELDS[head.field], head.symmetry, value_type(head.values, dtype), max_rows
            )  # fmt: skip
        found = _coordinates(text, head, dtype, max_rows)
        whole = read_plain_file(text, found.lines, promised, head.symmetry == "general")
        expected = 0 if whole else promised if text.exact_size else min(promised, 1 << 20)
        entries = Entries(found.values, expected, rows)
        if whole:
            k, wide = entries.adopt(*whole), whole[2]
            if k is not None and wide is not None and found.values is not None:
                _refuse(path, too_large(wide[k], found.values), k * len(found.lines.columns))
        else:
            entries.parse(text, found.lines, read_entries, promised)
    here = slice(0, entries.count)
    values = None if entries.values is None else entries.values[here]
    _check_diagonal(path, found.mirror, entries.row[here], entries.col[here], values,
                    lambda k: k * len(found.lines.columns))  # fmt: skip
    return entries.to_csr(path, rows, cols, found.mirror)


def _read_array(text: TextFile, rows: int, cols: int, columns: str, symmetry: str, values: np.dtype,
                max_rows: int | None) -> csr_array:  # fmt: skip
    """Columns one after the other; of a symmetric matrix from the diagonal down, of a skew one from below it."""
    skip = {"general": None, "symmetric": 0, "hermitian": 0, "skew-symmetric": 1}[symmetry]
    size = rows * cols if skip is None else (rows + 1 - 2 * skip) * rows // 2
    line = text.line - 1
    check_size(text.path, size, "values", 2 * len(columns), text.at_most, line)
    check_rows(text.path, rows, size, max_rows)
    places, found, numbers = [], [], 0
    half = None  # of a complex value, where a block ends between its parts
    for block, first_line in text.blocks():
        data = read_numbers(text, block, first_line, columns == "n", "%").astype(
            np.float64, copy=False
        )
        if columns == "vw":
            data = data if half is None else np.concatenate([[half], data])
            half = data[-1] if data.size % 2 else None
            data = data[: data.size // 2 * 2].view(np.complex128)
        if numbers + data.size > size:
            raise text.broken(
                f"more values than the {size} of a {symmetry} {rows} x {cols} array", text.line
            )
        nonzero = np.flatnonzero(data)
        places.append(nonzero + numbers)
        with np.errstate(over="ignore"):
            found.append(data[nonzero].astype(values, copy=False))
        if (k := first_lost(data[nonzero], found[-1])) is not None:
            _refuse(
                text.path, too_large(data[nonzero][k], values), int(places[-1][k]) * len(columns)
            )
        numbers += data.size
    if numbers < size or half is not None:
        raise text.broken(
            f"the file ends after {numbers} of the {size} values of a {symmetry} {rows} x {cols} array: it is "
            "truncated, or the size is wrong",
            line,
        )
    place = np.concatenate([np.empty(0, np.int64), *places])
    if skip is None:
        col, row = np.divmod(place, max(rows, 1))
    else:
        lengths = np.arange(rows - skip, -skip, -1, dtype=np.int64)[:rows].clip(0)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        col = np.searchsorted(starts, place, side="right") - 1
        row = place - starts[col] + col + skip
    value = np.concatenate([np.empty(0, values), *found])
    _check_diagonal(text.path, MIRRORS[symmetry], row, col, value,
                    lambda k: int(place[k]) * len(columns))  # fmt: skip
    return to_csr(text.path, rows, cols, row, col, value, MIRRORS[symmetry])


def _check_diagonal(path: Any, mirror: str, row: np.ndarray, col: np.ndarray, values: np.ndarray | None,
                    word: Callable[[int], int]) -> None:  # fmt: skip
    """Refuses entries that are not their own mirror, with the line: that of a word of the body, from 0, which `word`
    gives for an entry."""
    if (fault := diagonal_fault(mirror, row, col, values)) is None:
        return
    k, problem = fault
    _refuse(path, problem, word(k))


def _refuse(path: Any, problem: str, word: int) -> NoReturn:
    """With the line of a word of the body, from 0."""
    with TextFile(path) as again:
        _header(again)
        raise again.broken(problem, again.line_of_word("%", word))


def write(path: Any, a: csr_array) -> None:
    """A general coordinate file; numbers are the shortest that read back to the same value."""
    import scipy.sparse as sp
    from scipy.io import mmwrite

    kind = "pattern" if a.dtype == np.bool_ else "complex" if a.dtype.kind == "c" else "real"
    rows, cols = a.shape
    index = np.int32 if rows < 2**31 else np.int64
    with atomic_file(path) as file:
        file.write(
            f"%%MatrixMarket matrix coordinate {kind} general\n%\n{rows} {cols} {a.nnz}\n".encode()
        )
        for first, last in row_slabs(a):
            here = slice(int(a.indptr[first]), int(a.indptr[last]))
            row = np.repeat(
                np.arange(first, last, dtype=index), np.diff(a.indptr[first : last + 1])
            )
            slab = sp.coo_array((a.data[here], (row, a.indices[here])), shape=a.shape)
            text = io.BytesIO()
            mmwrite(text, slab, field="pattern" if kind == "pattern" else None, symmetry="general")
            text.seek(0)
            for _ in range(3):  # a header of its own
                text.readline()
            file.write(text.getbuffer()[text.tell() :])
