"""Sums, means, extremes and counts of a matrix, along its axes or over all of it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._arrays.convert import result_dtype
from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import canonical_view, view

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Reduced"]


def as_axis(axis: Any) -> int | None:
    """0, 1, or None for both, of what SciPy and NumPy take: -2 .. 1, None, or a tuple of these."""
    if axis is None:
        return None
    try:
        each = [operator.index(n) for n in (axis if isinstance(axis, tuple) else (axis,))]
    except TypeError:
        raise TypeError(f"axis={axis!r}: axis must be an integer, or a tuple of them") from None
    if not all(-2 <= n < 2 for n in each):
        raise ValueError(f"axis={axis}: axis out of range, a matrix has axes 0 and 1")
    if len({n % 2 for n in each}) != len(each) or not each:
        raise ValueError(f"axis={axis}: give one axis, or both of them")
    return None if len(each) == 2 else each[0] % 2


def _written(result: Any, out: Any) -> Any:
    if out is None:
        return result
    shape = np.shape(result)
    if not isinstance(out, np.ndarray) or out.shape != shape:
        raise ValueError(
            f"output parameter: out has the wrong shape and dimensions {np.shape(out)}, the result has {shape}"
        )
    out[...] = result
    return out


def _sums(a: csr_array, axis: int, wide: np.dtype) -> np.ndarray:
    if a.place == "device":
        return _sums_on_gpu(a, axis, wide)
    if a.dtype == np.bool_:
        if axis == 1:
            return np.diff(a.indptr)
        return np.bincount(a.indices, minlength=a.shape[1]).astype(np.int64, copy=False)
    ones = np.ones(a.shape[axis], dtype=result_dtype(wide))
    sums = a.dot(ones) if axis == 1 else a.T.dot(ones)
    if sums.dtype.kind == "c" and not np.isfinite(sums).all():  # infinity times 1 + 0j is NaN
        sums.real, sums.imag = (_sums(part, axis, ones.real.dtype) for part in (a.real, a.imag))
    return sums


def _total(a: csr_array, dtype: Any) -> Any:
    if a.place == "device":
        return _sums(a, 1, a.dtype if dtype is None else np.result_type(a.dtype, dtype)).sum()
    return a.data.sum(dtype=dtype)


def _mean_on_gpu(a: csr_array, axis: int | None, dtype: Any) -> Any:
    count = a.shape[0] * a.shape[1] if axis is None else a.shape[axis]
    result = (np.float64 if a.dtype == np.bool_ else a.dtype) if dtype is None else np.dtype(dtype)
    with np.errstate(divide="ignore", invalid="ignore"):  # of an empty matrix NaN, as in SciPy
        return np.divide(a.sum(axis=axis), count).astype(result)[()]


def _sums_on_gpu(a: csr_array, axis: int, wide: np.dtype) -> np.ndarray:
    """The same for a matrix on a GPU; along columns by its transpose, which is formed there and kept."""
    rows = a if axis == 1 else a.T.formed()
    if a.dtype == np.bool_:
        return np.diff(rows._core.offsets_on_host())
    dtype = result_dtype(wide)
    return rows.astype(dtype).dot(np.ones(rows.shape[1], dtype=dtype))


class Reduced(Guarded):
    """The methods of csr_array that make few numbers of many. Where an axis is taken, it may be 0, 1, -1, -2, both as a
    tuple, or None for all entries."""

    def _along(self, axis: Any) -> tuple[csr_array, int | None]:
        """The matrix that is stored, and the axis of it."""
        axis = as_axis(axis)
        a, turned = self._stored()
        return a, 1 - axis if turned and axis is not None else axis

    def sum(self, axis: Any = None, dtype: Any = None, out: np.ndarray | None = None) -> Any:
        """Of all entries, or along an axis: (cols,) for 0, (rows,) for 1. A pattern is counted: int64, duplicates each.
        Added up in `dtype` where it is wider than the matrix's, and returned in it; written to `out`, too, where that
        is given.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]]))
        >>> A.sum(axis=0), A.sum(axis=1)
        (array([1., 6.]), array([3., 4.]))
        """
        a, axis = self._along(axis)
        total: Any
        if axis is None:
            total = np.int64(a.nnz) if a.dtype == np.bool_ else _total(a, dtype)
        else:
            total = _sums(a, axis, a.dtype if dtype is None else np.result_type(a.dtype, dtype))
        if dtype is not None:
            total = np.asarray(total).astype(dtype)[()]
        return _written(total, out)

    def mean(self, axis: Any = None, dtype: Any = None, out: np.ndarray | None = None) -> Any:
        """Of all rows * cols entries, stored or not, or along an axis; a pattern counts as ones."""
        a, axis = self._along(axis)
        if a.place == "device":
            return _written(_mean_on_gpu(a, axis, dtype), out)
        return _written(view(a).mean(axis, dtype), out)

    def trace(self, offset: int = 0) -> Any:
        """The sum of the diagonal `offset`."""
        a, turned = self._stored()
        return a.diagonal(-offset if turned else offset).sum()

    # The next six are SciPy's: stored zeros count as entries, what is not stored as 0.

    def _extreme(self, name: str, axis: Any, out: Any, explicit: bool) -> Any:
        a, axis = self._along(axis)
        return getattr(canonical_view(a), name)(axis=axis, out=out, explicit=explicit)

    def max(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """The largest entry; with `explicit`, of the stored ones. Along an axis: a `scipy.sparse.coo_array` of one
        dimension, as in SciPy. NaN where there is one."""
        return self._extreme("max", axis, out, explicit)

    def min(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """The smallest entry, as `max`."""
        return self._extreme("min", axis, out, explicit)

    def nanmax(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """The largest entry that is not NaN, as `max`."""
        return self._extreme("nanmax", axis, out, explicit)

    def nanmin(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """The smallest entry that is not NaN, as `max`."""
        return self._extreme("nanmin", axis, out, explicit)

    def _place(self, name: str, axis: Any, out: Any, explicit: bool) -> Any:
        a, axis = self._along(axis)
        if axis is None:
            a = self._matrix()  # the place counts along its rows
        return getattr(canonical_view(a), name)(axis=axis, out=out, explicit=explicit)

    def argmax(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """Where the largest entry is, the first of equal ones: i * cols + j, or along an axis an array of numbers of
        rows or columns."""
        return self._place("argmax", axis, out, explicit)

    def argmin(self, axis: Any = None, out: None = None, *, explicit: bool = False) -> Any:
        """Where the smallest entry is, as `argmax`."""
        return self._place("argmin", axis, out, explicit)

    # Counts

    @property
    def size(self) -> int:
        """Stored entries, as `nnz`."""
        return self._stored()[0].nnz

    def count_nonzero(self, axis: Any = None) -> Any:
        """Entries that are not 0, duplicates added up first; along an axis: an array."""
        a, axis = self._along(axis)
        return canonical_view(a).count_nonzero(axis)

    def nonzero(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, cols) of the entries that are not 0."""
        a, turned = self._stored()
        rows, cols = view(a).nonzero()
        if not turned:
            return rows, cols
        order = np.argsort(cols, kind="stable")  # by rows of the transpose
        return cols[order], rows[order]
