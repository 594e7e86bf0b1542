"""hMETIS hypergraphs (.hgr): `nets cells [fmt]`, then line i lists the cells of net i, from 1.

The matrix is nets x cells, a pattern. Weights of nets and cells are checked and left out. The format: hMETIS manual
1.5, section 4.1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import to_csr
from penstock._io._errors import broken, check_cols, check_rows, count, shown
from penstock._io._lists import Lists
from penstock._io._rows import write_lists
from penstock._io._text import TextFile
from penstock._matrix.csr import csr_array


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None) -> csr_array:
    with TextFile(path) as text:
        words = text.take_data("%", "the header 'nets cells [fmt]'").split()
        line = text.line - 1
        if len(words) not in (2, 3):
            raise text.broken(f"the header has {len(words)} numbers, not nets cells [fmt]", line)
        nets, cells = (
            count(w, what, path, line) for w, what in zip(words, ("nets", "cells"), strict=False)
        )
        fmt = words[2].decode("latin-1").zfill(2) if len(words) == 3 else "00"
        if fmt not in ("00", "01", "10", "11"):
            raise text.broken(
                f"fmt {shown(fmt)} is not 1 (weights of nets), 10 (of cells) or 11", line
            )
        check_cols(path, cells, line)
        # A net takes a line, so the number of lines is checked against the header once they are counted.
        if nets > text.at_most:
            raise text.broken(
                f"{nets} nets need as many lines, the file has at most {text.at_most} bytes", line
            )
        lines = nets + cells if fmt[0] == "1" else nets
        lists = Lists(text, "%", lines, "nets" if fmt[0] == "0" else "nets and cells")
    if lists.lengths.size < lines:
        raise broken(
            path,
            f"the file has {lists.lengths.size} of {lines} lines: it is truncated, or the header is wrong",
            line,
        )
    if fmt[0] == "1":
        one = np.flatnonzero(lists.lengths[nets:] != 1)
        if one.size:
            raise broken(
                path,
                "a line of cell weights does not hold one number",
                lists.line_of(nets + int(one[0])),
            )
        lists.values = lists.values[: lists.values.size - cells]
        lists.lengths = lists.lengths[:nets]
    if fmt[1] == "1":
        lists.drop_front(1, f"fmt {fmt}")
    lists.check_range(cells, "cell")
    check_rows(path, nets, lists.values.size, max_rows)
    return to_csr(path, nets, cells, lists.rows(), lists.values - 1, None)


def write(path: Any, a: csr_array) -> None:
    if a.dtype != np.bool_:
        raise broken(
            path,
            f"a .hgr file holds no values, the matrix is {a.dtype}: save A.astype(bool), or as .mtx",
        )
    with atomic_file(path) as file:
        file.write(b"%d %d\n" % a.shape)
        write_lists(file, a)
