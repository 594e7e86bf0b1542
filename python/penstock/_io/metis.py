"""METIS and DIMACS-10 graphs (.graph): `n m [fmt [ncon]]`, then line i lists the neighbours of vertex i.

Edge weights become values. Vertex sizes and weights are checked and left out: a matrix has no place for them.
The format: METIS manual 5.1.0, section 4.1.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import symmetry_fault, to_csr, value_type
from penstock._io._errors import broken, check_cols, check_rows, check_size, count, shown
from penstock._io._lists import Lists
from penstock._io._rows import require_integers, write_lists
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array

EXACT = 2**53


def _header(text: TextFile, extra: str) -> tuple[int, int, str, int]:
    words = text.take_data("%", "the header 'n m [fmt [ncon]]'").split()
    line = text.line - 1
    if len(words) > 4 and extra == "refuse":
        raise text.broken(_what_extra_means(words), line)
    words = words[:4]
    if len(words) < 2:
        raise text.broken(f"the header has {len(words)} numbers, not n m [fmt [ncon]]", line)
    n = count(words[0], "the number of vertices", text.path, line)
    m = count(words[1], "the number of edges", text.path, line)
    fmt = words[2].decode("latin-1").zfill(3) if len(words) > 2 else "000"
    if len(fmt) != 3 or set(fmt) - {"0", "1"}:
        raise text.broken(
            f"fmt {shown(fmt)} is not three digits 0 or 1 (sizes, vertex weights, edge weights)",
            line,
        )
    ncon = (
        count(words[3], "the number of vertex weights", text.path, line, 1 << 20)
        if len(words) > 3
        else int(fmt[1])
    )
    if fmt[1] == "0" and ncon > 0:
        raise text.broken(f"{ncon} weights a vertex, but fmt {fmt} says that there are none", line)
    check_cols(text.path, n, line)
    check_size(text.path, m, "edges", 4, text.at_most, line)
    return n, m, fmt, ncon


def _what_extra_means(words: list[bytes]) -> str:
    n, m, fmt, ncon, *more = (shown(word).strip("'") for word in words[:8])
    weighted = {"0": "no", "1": ""}
    digits = fmt.zfill(3)
    said = ""
    if set(digits) <= {"0", "1"} and len(digits) == 3:
        names = ("sizes of vertices", f"weights of vertices ({ncon} each)", "weights of edges")
        said = ", ".join(
            f"{weighted[d]} {name}".strip() for d, name in zip(digits, names, strict=True)
        )
        said = f": {n} vertices, {m} edges, {said}"
    base = f", base={more[0]} if it is the number of the first vertex" if more[0] in "01" else ""
    return (
        f"the header has {len(words)} numbers, METIS has n m [fmt [ncon]]{said}; {', '.join(more)} would be left over: "
        f"pass extra='ignore' to read the file by the first four{base}"
    )


def _require_text(path: Any) -> None:
    """A .graph may be one of WebGraph's, whose other file is missing."""
    with open(path, "rb") as file:
        head = file.read(64)
    if head[:2] != b"\x1f\x8b" and any(byte < 9 or 13 < byte < 32 or byte > 126 for byte in head):
        raise broken(
            path,
            "is not the text of a METIS graph: if it is one of WebGraph's, put its .properties beside it under the "
            "same name",
        )


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None, base: int = 1,
         extra: str = "refuse") -> csr_array:  # fmt: skip
    """base: the number of the first vertex, 1 in METIS; extra: "ignore" reads a header of over four numbers."""
    if extra not in ("refuse", "ignore") or base not in (0, 1):
        raise ValueError(
            f"base={base!r}, extra={extra!r}: give base 0 or 1, and extra 'refuse' or 'ignore'"
        )
    _require_text(path)
    with TextFile(path) as text:
        n, m, fmt, ncon = _header(text, extra)
        line = text.line - 1
        check_rows(path, n, m, max_rows)
        front = int(fmt[0]) + ncon
        if front:
            check_size(path, n * front, "vertex weights", 2, text.at_most, line)
        lists = Lists(text, "%", n, "vertices")
    if front:
        if (lists.drop_front(front, f"fmt {fmt}") < 0).any():
            raise broken(path, "a vertex weight is negative: METIS has them 0 or more")
        if lists.lengths.size < n:
            raise broken(
                path,
                f"the file ends after {lists.lengths.size} of the {n} lists, which begin with {front} weights each: it "
                "is truncated, or the header is wrong",
                line,
            )
    weights = lists.split_pairs() if fmt[2] == "1" else None
    if lists.values.size != 2 * m:
        raise broken(
            path,
            f"the lists hold {lists.values.size} neighbours, {m} edges make {2 * m}: the file is truncated, or the "
            "count is wrong (every edge is counted once and listed twice)",
            line,
        )
    lists.check_range(n, "neighbour", base)
    # Lists may be missing at the end, where these counts say that they are empty: editors cut blank lines.
    row, col = lists.rows(), lists.values - base
    loop = np.flatnonzero(row == col)
    if loop.size:
        v = int(row[loop[0]])
        raise broken(
            path,
            f"vertex {v + base} lists itself: METIS graphs have no loops, save it as .mtx",
            lists.line_of(v),
        )
    values = None
    if weights is not None:
        if weights.size and max(-int(weights.min()), int(weights.max())) > EXACT:
            raise broken(path, "an edge weight is beyond 2^53: float64 would round it")
        values = weights.astype(value_type("real", dtype))
    a = to_csr(path, n, n, row, col, values)
    if fault := symmetry_fault(a):
        i, j = fault
        raise broken(
            path,
            f"the edge {i + base} - {j + base} is not listed alike at both ends: correct the lists",
            lists.line_of(i),
        )
    return a


def write(path: Any, a: csr_array) -> None:
    """Needs a symmetric matrix with an empty diagonal, and positive integers where there are values."""
    if a.shape[0] != a.shape[1]:
        raise broken(
            path,
            f"a graph is square, the matrix is {a.shape[0]} x {a.shape[1]}: save it as .hgr or .mtx",
        )
    pattern = a.dtype == np.bool_
    if not pattern:
        require_integers(a, path, "a .graph file", 1, EXACT)
    if a.nnz and (a.indices == np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))).any():
        raise broken(
            path, "METIS graphs have no loops, and the diagonal is not empty: save it as .mtx"
        )
    if fault := symmetry_fault(a):
        raise broken(
            path,
            f"METIS graphs are symmetric, but A[{fault[0]}, {fault[1]}] is not: save it as .mtx",
        )
    with atomic_file(path) as file:
        file.write(b"%d %d%s\n" % (a.shape[0], a.nnz // 2, b"" if pattern else b" 001"))
        write_lists(file, a)
