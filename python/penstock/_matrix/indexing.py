"""Reading by integers, slices, masks and index arrays, as SciPy reads, and the refusal to write."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from penstock import _core
from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import as_scipy, back, view

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Indexed"]

_ALL = slice(None)


def _integer(key: Any) -> int | None:
    """The number that a key is, arrays of no dimension included; None for other keys, and for True and False."""
    if isinstance(key, (bool, np.bool_)) or (isinstance(key, np.ndarray) and key.ndim):
        return None
    try:
        return operator.index(key)
    except TypeError:
        return None


def _in_range(i: int, n: int, what: str) -> int:
    if not -n <= i < n:
        raise IndexError(f"index ({i}) out of range: the matrix has {n} {what}")
    return i + n if i < 0 else i


def _row_numbers(key: Any, n: int) -> np.ndarray | None:
    """The rows that a one-dimensional key of integers or booleans names, or None for another key."""
    if not isinstance(key, (list, tuple, range, np.ndarray)):
        return None
    try:
        p = np.asarray(key)
    except ValueError:  # rows of different lengths
        return None
    if p.ndim != 1:
        return None
    if p.size == 0 and p.dtype.kind == "f":
        p = p.astype(np.int64)  # an empty list
    if p.dtype == np.bool_:
        return np.flatnonzero(p) if p.size == n else None
    if p.dtype.kind not in "iu":
        return None  # which SciPy refuses, or `_by_scipy`
    p = p.astype(np.int64, copy=False)
    outside = (p < -n) | (p >= n)
    if outside.any():
        at = int(outside.argmax())
        raise IndexError(f"rows[{at}] = {p[at]} is outside a matrix of {n} rows")
    return np.where(p < 0, p + n, p) if p.size and p.min() < 0 else np.ascontiguousarray(p)


def _rows(a: csr_array, key: Any) -> csr_array | None:
    """A[key] for a slice, or for what `_row_numbers` takes."""
    if isinstance(key, slice):
        first, last, step = key.indices(a.shape[0])
        if step == 1:
            return type(a)._wrap(a._core.row_range(first, max(first, last)))
        numbers = np.arange(first, last, step, dtype=np.int64)
    else:
        found = _row_numbers(key, a.shape[0])
        if found is None:
            return None
        numbers = found
    return type(a)._wrap(_core.take_rows(a._core, numbers, None))


def _row(a: csr_array, i: int) -> tuple[np.ndarray, np.ndarray]:
    """Values and columns of row i, in memory of their own."""
    first, last = int(a.indptr[i]), int(a.indptr[i + 1])
    return a.data[first:last].copy(), a.indices[first:last].copy()


def _vector(a: csr_array, i: int, cols: slice) -> Any:
    """A[i, cols] as SciPy's array of one dimension."""
    import scipy.sparse as sp

    (data, indices), n = _row(a, i), a.shape[1]
    if cols != _ALL:
        first, last, step = cols.indices(n)
        n = len(range(first, last, step))
        ahead = (indices - first) * (1 if step > 0 else -1)
        places, between = np.divmod(ahead, abs(step))
        keep = (ahead >= 0) & (places < n) & (between == 0)
        data, indices = data[keep], places[keep]
    return sp.coo_array((data, (indices,)), shape=(n,))


def _entry(a: csr_array, i: int, j: int) -> Any:
    first, last = int(a.indptr[i]), int(a.indptr[i + 1])
    return a.data[first:last][a.indices[first:last] == j].sum(dtype=a.dtype)


def read(a: csr_array, key: Any) -> Any:
    """See `Indexed.__getitem__`."""
    if key is Ellipsis:
        return a
    if type(key) is tuple and len(key) != 2:
        return _by_scipy(a, key)
    rows, cols = key if type(key) is tuple and len(key) == 2 else (key, _ALL)
    if cols is Ellipsis:
        cols = _ALL
    i = None if isinstance(rows, slice) else _integer(rows)
    if i is None:
        if not (isinstance(rows, slice) or isinstance(cols, slice)):
            return _by_scipy(a, key)  # arrays of rows and of columns: entry by entry
        whole = isinstance(cols, slice) and cols == _ALL
        if not whole and isinstance(rows, slice) and rows == _ALL:
            return _by_scipy(a, (_ALL, cols))
        part = _rows(a, rows)
        if part is None:
            return _by_scipy(a, key)
        return part if whole else _by_scipy(part, (_ALL, cols))
    j = None if isinstance(cols, slice) else _integer(cols)
    if j is not None:
        i, j = _in_range(i, a.shape[0], "rows"), _in_range(j, a.shape[1], "columns")
        return _entry(a, i, j)
    if cols is None or isinstance(cols, tuple):
        return _by_scipy(a, key)
    i = _in_range(i, a.shape[0], "rows")
    if isinstance(cols, slice):
        return _vector(a, i, cols)
    return _by_scipy(type(a)._wrap(a._core.row_range(i, i + 1)), (0, cols))


def _checked(key: Any) -> Any:
    """One index as SciPy takes it; numbers with a fraction are refused, which SciPy would round."""
    if isinstance(key, (slice, int)) or key is None:
        return key
    if isinstance(key, (list, float, np.floating, np.ndarray)):
        array = np.asarray(key)
        if array.dtype.kind in "fc" and array.size:
            raise IndexError(f"an index of dtype {array.dtype}: give integers or booleans")
        return key
    return as_scipy(key)


def _by_scipy(a: csr_array, key: Any) -> Any:
    if type(key) is tuple and sum(each is not None and each is not Ellipsis for each in key) > 2:
        raise IndexError(f"A[{key!r}] has too many indices: a matrix has two axes")
    key = tuple(map(_checked, key)) if type(key) is tuple else _checked(key)
    return back(type(a), view(a)[key])


class Indexed(Guarded):
    """The methods of csr_array that read parts of it."""

    def __getitem__(self, key: Any) -> Any:
        """A part of the matrix, by SciPy's rules: integers, slices with steps, index arrays, masks, `...`, `None`.

        A[i:j] shares the entries; A[i:j:step] and A[p] copy the rows that an array of numbers or booleans names. These
        are read by all threads; columns and single entries by SciPy, in one pass over the rows that are asked for.
        What has two dimensions is a csr_array, A[i, j] is a number, A[rows, cols] and A[mask] are dense arrays, and
        A[i] and A[:, j] are SciPy's coo_arrays of one dimension, for Penstock has none of its own. Raises IndexError
        that names the index.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.arange(12.0).reshape(3, 4))
        >>> A[::2, 1:3].toarray()
        array([[ 1.,  2.],
               [ 9., 10.]])
        >>> A[1].toarray(), A[[0, 2], [3, 1]]
        (array([4., 5., 6., 7.]), array([3., 9.]))
        """
        return read(self._matrix(), key)

    def __iter__(self) -> Iterator[Any]:
        """The rows, each as SciPy's csr_array of one dimension."""
        import scipy.sparse as sp

        a = self._matrix()
        for i in range(a.shape[0]):
            data, indices = _row(a, i)
            yield sp.csr_array((data, indices, np.array([0, data.size])), shape=a.shape[1:])

    def __contains__(self, value: Any) -> NoReturn:
        raise TypeError(
            "x in A says nothing of a sparse array: ask (A.data == x).any(), or A.shape"
        )

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError(
            "A[...] = value would change the matrix, and a csr_array never changes: make a new one, by "
            "ps.csr_array((data, indices, indptr)), A.with_diagonal(values, k), A.mask(M, complement=True) + B, or "
            "S = A.to_scipy().copy(), S[...] = value and ps.csr_array(S)"
        )

    def __delitem__(self, key: Any) -> NoReturn:
        raise TypeError(
            "rows and columns of a sparse array are not deleted: read the others, A[rows]"
        )
