"""Rows of a matrix as text, a slab at a time: a mapped matrix larger than memory is written as well as any."""

from __future__ import annotations

from typing import Any, BinaryIO

import numpy as np

from penstock import _core
from penstock._csr import csr_array

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


def write_rows(file: BinaryIO, a: csr_array, **how: Any) -> None:
    """`how` is `_core.format_rows`' lists, prefix, separator and base."""
    for first, last in row_slabs(a):
        file.write(_core.format_rows(a._core, first, last, **how))


def require_integers(a: csr_array, path: Any, what: str, low: int, high: int) -> None:
    """Refuses to write values that a format of integers would change."""
    from penstock._io._errors import broken

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
