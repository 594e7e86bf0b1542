"""Rows of a matrix as text, a slab at a time: a mapped matrix larger than memory is written as well as any."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from penstock._io._errors import broken
from penstock._io._polars_text import polars
from penstock._matrix.csr import csr_array

SLAB = 1 << 20  # entries, some 20 MB of text


def row_slabs(a: csr_array, entries: int = SLAB) -> list[tuple[int, int]]:
    """Ranges of rows of about so many entries (and at most as many rows)."""
    slabs, first = [], 0
    while first < a.shape[0]:
        last = int(np.searchsorted(a.indptr, a.indptr[first] + entries, side="right")) - 1
        last = min(max(last, first + 1), first + entries, a.shape[0])
        slabs.append((first, last))
        first = last
    return slabs


def write_rows(file: BinaryIO, a: csr_array, *, prefix: str = "", separator: str = " ", base: int = 0,
               integers: bool = False) -> None:  # fmt: skip
    """A line an entry, `[prefix] row column [value]`, by polars: values are the shortest that read back to the same."""
    pl = polars()
    for first, last in row_slabs(a):
        here = slice(int(a.indptr[first]), int(a.indptr[last]))
        row = np.repeat(np.arange(first + base, last + base), np.diff(a.indptr[first : last + 1]))
        table = pl.DataFrame({"i": row, "j": a.indices[here].astype(np.int64) + base})
        if a.dtype != np.bool_:
            table = table.with_columns(
                v=a.data[here].astype(np.int64) if integers else a.data[here]
            )
        if prefix:
            table = table.select(pl.lit(prefix).alias("prefix"), pl.all())
        table.write_csv(file, include_header=False, separator=separator)


def write_lists(file: BinaryIO, a: csr_array, base: int = 1) -> None:
    """A line a row, `column [value] column [value] ...`; values are integers."""
    for first, last in row_slabs(a):
        start = a.indptr[first : last + 1].tolist()
        numbers = a.indices[start[0] : start[-1]].astype(np.int64) + base
        width = 1
        if a.dtype != np.bool_:
            width = 2
            numbers = np.column_stack(
                [numbers, a.data[start[0] : start[-1]].astype(np.int64)]
            ).ravel()
        words = list(map(str, numbers.tolist()))
        at = [width * (k - start[0]) for k in start]
        file.write("".join([" ".join(words[i:k]) + "\n" for i, k in pairwise(at)]).encode())


def require_integers(a: csr_array, path: Any, what: str, low: int, high: int) -> None:
    """Refuses to write values that a format of integers would change."""
    for first in range(0, a.nnz, SLAB):
        part = a.data[first : first + SLAB]
        good = (
            (part == np.floor(part)) & (part >= low) & (part <= high)
            if part.dtype.kind == "f"
            else None
        )
        if good is None:
            raise broken(
                path,
                f"{what} holds integers, the matrix is {a.dtype}: take .astype(bool), or another format",
            )
        if not good.all():
            bad = part[~good][0]
            raise broken(
                path,
                f"{what} holds integers {low} .. {high}, but a value is {bad}: choose another format",
            )
