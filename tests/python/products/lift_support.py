"""What a random lift is, checked by brute force: nothing here knows how it is made."""

from __future__ import annotations

from typing import Any

import numpy as np


def entries(a: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, column, value) of every stored entry, in the order of the arrays."""
    row = np.repeat(np.arange(a.shape[0], dtype=np.int64), np.diff(a.indptr))
    values = np.ones(a.nnz) if a.dtype == bool else np.asarray(a.data)
    return row, a.indices.astype(np.int64), values


def sort_entries(row: np.ndarray, column: np.ndarray, value: np.ndarray) -> list[np.ndarray]:
    order = np.lexsort((value.imag, value.real, column, row))
    return [x[order] for x in (row, column, value)]


def verify_lift(a: Any, lifted: Any, copies: int) -> np.ndarray:
    """Asserts that `lifted` covers `a`; returns by how many copies each entry of a tidy `a` moves, in a's order."""
    n = a.shape[0]
    assert lifted.shape == (n * copies, n * copies)
    assert lifted.dtype == a.dtype
    assert lifted.nnz == a.nnz * copies
    row, column, value = entries(a)
    up_row, up_column, up_value = entries(lifted)
    assert up_column.min(initial=0) >= 0
    assert up_column.max(initial=-1) < n * copies
    # Degrees stay, in both directions.
    np.testing.assert_array_equal(
        np.bincount(up_row, minlength=n * copies), np.tile(np.bincount(row, minlength=n), copies)
    )
    np.testing.assert_array_equal(
        np.bincount(up_column, minlength=n * copies),
        np.tile(np.bincount(column, minlength=n), copies),
    )
    # A covering: the row of (v, c) projects to the row of v, one to one, values and duplicates included.
    tiled = [np.tile(x, copies) for x in (row, column, value)]
    tiled[0] = tiled[0] + np.repeat(np.arange(copies), a.nnz) * n
    projected = sort_entries(up_row, up_column % max(n, 1), up_value)
    for got, want in zip(projected, sort_entries(*tiled), strict=True):
        np.testing.assert_array_equal(got, want)
    # Rows are sorted.
    same_row = np.diff(up_row) == 0
    assert (np.diff(up_column)[same_row] >= 0).all()
    # Of a tidy matrix every entry moves by one number of copies, whichever copy it begins in.
    key = row * n + column
    if np.unique(key).size < key.size:
        return np.empty(0, np.int64)
    shift = (up_column // n - up_row // n) % copies
    order = np.lexsort((up_row // n, up_row % n * n + up_column % n))
    shifts = shift[order].reshape(-1, copies)
    assert (shifts == shifts[:, :1]).all()
    found = np.empty(a.nnz, np.int64)
    found[np.argsort(key, kind="stable")] = shifts[:, 0]
    return found
