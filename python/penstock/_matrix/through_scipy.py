"""SciPy's code over our arrays: where no product is timed, SciPy's own methods are the implementation.

`view` is a matrix as SciPy sees it, over the same entries, and `back` takes what SciPy returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import VALUE_TYPES

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

# SciPy looks at its own arrays for 20 us: those of small matrices are kept. Of a larger matrix the row offsets, and a
# pattern's values, would take memory for good.
_KEPT_NNZ = 1 << 16
_CHECKED_NNZ = 1 << 14  # up to here looking at all entries is faster than at samples of them


def view(a: csr_array) -> Any:
    """A `scipy.sparse.csr_array` over a's entries, for reading alone: it may be the same one each time."""
    known = a._derived.scipy_view
    if known is not None:
        return known
    made = a.to_scipy()
    made.indptr.flags.writeable = made.data.flags.writeable = False
    if max(a.nnz, a.shape[0]) <= _KEPT_NNZ:
        a._derived.scipy_view = made
    return made


def canonical_view(a: csr_array) -> Any:
    """The same with rows sorted and duplicates added up: SciPy would do that in place, and these arrays are not
    written."""
    made = view(a.without_duplicates())
    made.has_canonical_format = made.has_sorted_indices = True
    return made


def back(kind: type[csr_array], result: Any) -> Any:
    """What SciPy returns, as it is, but for a sparse array of two dimensions: that is a csr_array."""
    if getattr(result, "ndim", 0) != 2 or not hasattr(result, "tocsr"):
        return result
    result = result.tocsr()
    data, indices, indptr = result.data, result.indices, result.indptr
    rows, cols = result.shape
    nnz = int(indptr[-1])
    if data.dtype not in VALUE_TYPES or data.size != nnz or cols >= 2**31:
        return kind(result, copy=False)
    indptr, indices = indptr.astype(np.int64, copy=False), indices.astype(np.int32, copy=False)
    check = "all" if nnz <= _CHECKED_NNZ else "cheap"
    return kind._from_parts(rows, cols, indptr, indices, data, validate=check)


def with_values(a: csr_array, values: np.ndarray) -> csr_array:
    """Other values, of a stored type, for a's entries; a is canonical."""
    check = "all" if values.size <= _CHECKED_NNZ else "cheap"
    mapped = a.place == "mapped"
    made = type(a)._wrap(
        _core.Matrix.from_arrays(*a.shape, a.indptr, a.indices, values, mapped, check, "the matrix")
    )
    made._derived.row_order = a._derived.row_order
    return made


def as_scipy(value: Any) -> Any:
    """An argument as SciPy takes it: a csr_array or a transpose becomes a view of it."""
    stored = getattr(value, "_stored", None)
    if stored is None:
        return value
    a, turned = stored()
    return view(a).T if turned else view(a)
