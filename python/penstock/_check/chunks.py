"""Ranges of whole rows with about as many entries each, for what looks at a matrix piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

CHUNK = 1 << 22  # entries at a time: about 200 MB of intermediate arrays


def row_chunks(indptr: np.ndarray, chunk: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Ranges of rows with about `chunk` entries and at most `chunk` rows each; a longer row is a
    range of its own."""
    rows, first = indptr.size - 1, 0
    while first < rows:
        fits = int(np.searchsorted(indptr, indptr[first] + chunk, side="right")) - 1
        last = min(rows, max(first + 1, fits), first + chunk)
        yield first, last
        first = last
