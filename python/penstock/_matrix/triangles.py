"""`tril` and `triu`: the entries on one side of a diagonal."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.construct import check_format
from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_matrix

__all__ = ["tril", "triu"]


def tril(A: Any, k: int = 0, format: str | None = None) -> csr_array:
    """The entries on and below the k-th diagonal, those (i, j) with j - i <= k; rows sorted.

    >>> import numpy as np, penstock as ps
    >>> ps.tril(ps.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))).toarray()
    array([[1., 0.],
           [3., 4.]])
    """
    return _triangle(A, k, False, "tril", format)


def triu(A: Any, k: int = 0, format: str | None = None) -> csr_array:
    """The entries on and above the k-th diagonal, those (i, j) with j - i >= k; rows sorted."""
    return _triangle(A, k, True, "triu", format)


def _triangle(A: Any, k: int, upper: bool, what: str, format: str | None) -> csr_array:
    check_format(what, format)
    if not isinstance(k, (int, np.integer)):
        raise TypeError(f"k={k!r}: the number of a diagonal is an integer")
    a = csr_array(A) if isinstance(A, (np.ndarray, list)) else as_matrix(A, what)
    return a._triangle(
        max(-(2**62), min(2**61, int(k))), upper
    )  # beyond every matrix is far enough
