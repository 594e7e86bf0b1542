"""Norms of a sparse matrix: SciPy's, over the arrays of ours."""

from __future__ import annotations

from typing import Any

from penstock._matrix.changing import of_now
from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import canonical_view

__all__ = ["norm"]


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """The norm of a matrix, or of its rows or columns, as `scipy.sparse.linalg.norm`.

    Parameters
    ----------
    x : csr_array, its transpose, or a SciPy sparse array
        Duplicates are added up first; a pattern counts as ones.
    ord : None or "fro" (Frobenius), 1, -1, inf, -inf, 2 (by singular values); of vectors 0 and other numbers, too
    axis : 0 (of columns), 1 (of rows), or None (of the matrix)

    Returns a number, or an array of one for each column or row. Raises ValueError for other `ord` and `axis`, and
    TypeError for dense arrays: use numpy.linalg.norm.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[3.0, 0.0], [4.0, 1.0]]))
    >>> float(ps.linalg.norm(A, 1)), ps.linalg.norm(A, axis=0)
    (7.0, array([5., 1.]))
    """
    from scipy.sparse.linalg import norm as norm_of_scipy

    x = of_now(x)
    if isinstance(x, Guarded):
        a, turned = x._stored()
        a = a.astype(float) if a.dtype.kind == "b" else a
        x = canonical_view(a).T if turned else canonical_view(a)
    return norm_of_scipy(x, ord, axis)
