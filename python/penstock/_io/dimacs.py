"""DIMACS shortest-path graphs (.gr): lines `a source target weight`.

With a line `p sp n m` (9th DIMACS challenge) ids count from 1 and there are n vertices and m arcs. Without one, as some
road tools write them, ids count from 0 and the largest one sets the size. Of arcs given twice the shortest is kept,
because that is what every user of this format means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import Entries, value_type
from penstock._io._errors import MAX_COLS, broken, check_cols, check_rows, check_size, count, shown
from penstock._io._faults import Lines
from penstock._io._polars_text import Columns
from penstock._io._rows import require_integers, write_rows
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None, base: int | None = None,
         duplicates: str = "min") -> csr_array:  # fmt: skip
    with TextFile(path) as text:
        vertices, arcs = _header(text)
        line = text.line - 1
        if base is None:
            base = 0 if vertices is None else 1
        if vertices is not None:
            check_cols(path, vertices, line)
            check_size(path, arcs, "arcs", 8, text.at_most, line)
            check_rows(path, vertices, arcs, max_rows)
        n = MAX_COLS if vertices is None else vertices
        expected = arcs if vertices is not None and text.exact_size else 1 << 20
        entries = Entries(value_type("real", dtype), expected, n)
        hint = "vertices are integers from " + (
            "0 where no line 'p sp n m' comes first" if vertices is None else "1 to n"
        )
        lines = Lines("aijv", base, n, n, hint, "c", whole_numbers=True)
        entries.parse(text, lines, Columns().read, None if vertices is None else arcs)
    if vertices is None:
        if entries.count == 0:
            raise broken(
                path,
                "there are neither a line 'p sp n m' nor arcs: the file is truncated, or not DIMACS",
            )
        n = 1 + max(int(i[: entries.count].max()) for i in (entries.row, entries.col))
        check_rows(path, n, entries.count, max_rows, "renumber the vertices, or ")
    return entries.to_csr(path, n, n, duplicates=duplicates)


def _header(text: TextFile) -> tuple[int | None, int]:
    """(n, m) of the p line, or (None, 0) where arcs come first."""
    text.skip("c")
    line = text.peek().split()
    if line[:1] != [b"p"]:
        return None, 0
    if len(line) != 4 or line[1] != b"sp":
        raise text.broken(f"{shown(b' '.join(line))} is not 'p sp VERTICES ARCS'", text.line)
    n, m = (
        count(w, what, text.path, text.line)
        for w, what in zip(line[2:], ("vertices", "arcs"), strict=True)
    )
    text.take()
    return n, m


def write(path: Any, a: csr_array) -> None:
    """With a p line, ids from 1. Weights must be integers, as the format has it."""
    if a.shape[0] != a.shape[1]:
        raise broken(
            path, f"a graph is square, the matrix is {a.shape[0]} x {a.shape[1]}: save it as .mtx"
        )
    if a.dtype == np.bool_:
        raise broken(
            path,
            "a .gr file needs a weight on every arc: save A.astype(float), or as .graph or .mtx",
        )
    require_integers(a, path, "a .gr file", -(2**53), 2**53)
    with atomic_file(path) as file:
        file.write(b"p sp %d %d\n" % (a.shape[0], a.nnz))
        write_rows(file, a, prefix="a", base=1, integers=True)
