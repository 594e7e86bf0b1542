"""A matrix in other forms: SciPy's formats, dense arrays, PyTorch, other shapes, text and HTML."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._matrix.names import Guarded
from penstock._matrix.through_scipy import back, view

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Converted"]

_FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


class Converted(Guarded):
    """The methods of csr_array that give it in another form."""

    # Dense

    def toarray(self, order: str | None = None, out: np.ndarray | None = None) -> np.ndarray:
        """Dense; for small matrices. `order` is "C" or "F", or `out` receives the entries, of A's shape and type."""
        a, turned = self._stored()
        if not turned:
            return view(a).toarray(order=order, out=out)
        if out is None and order is None:
            return view(a).toarray().T
        return view(a).T.toarray(order=order, out=out)

    todense = toarray

    # SciPy's formats

    def tocsr(self, copy: bool = False) -> csr_array:
        """The matrix itself; of `A.T` the transpose formed. `to_scipy` gives SciPy's csr_array."""
        return self._matrix().copy() if copy else self._matrix()

    def _as_scipy_of(self, name: str, *args: Any, **how: Any) -> Any:
        a, turned = self._stored()
        # Three of them would add up duplicates in place.
        a = a.without_duplicates() if name in ("tolil", "todok", "todia") else a
        return getattr(view(a).T if turned else view(a), name)(*args, **how)

    def tocsc(self, copy: bool = False) -> Any:
        """A `scipy.sparse.csc_array`: of `A.T` one over A's arrays."""
        return self._as_scipy_of("tocsc", copy)

    def tocoo(self, copy: bool = True) -> Any:
        """A `scipy.sparse.coo_array`."""
        return self._as_scipy_of("tocoo", copy)

    def tobsr(self, blocksize: tuple[int, int] | None = None, copy: bool = True) -> Any:
        """A `scipy.sparse.bsr_array` of blocks of this size, or of one that fits."""
        return self._as_scipy_of("tobsr", blocksize, copy)

    def tolil(self, copy: bool = False) -> Any:
        """A `scipy.sparse.lil_array`."""
        return self._as_scipy_of("tolil", copy)

    def todia(self, copy: bool = False) -> Any:
        """A `scipy.sparse.dia_array`."""
        return self._as_scipy_of("todia", copy)

    def todok(self, copy: bool = False) -> Any:
        """A `scipy.sparse.dok_array`."""
        return self._as_scipy_of("todok", copy)

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """As the method of that name: "csr" (itself), "csc", "coo", "bsr", "dia", "dok", "lil", "array" or "dense"."""
        if format is None:
            return self.copy() if copy else self  # type: ignore[attr-defined]
        if format in ("array", "dense"):
            return self.toarray()
        if format not in _FORMATS:
            raise ValueError(f"format={format!r} is unknown: choose {', '.join(_FORMATS)} or array")
        return getattr(self, f"to{format}")(copy=copy)

    # What SciPy offers for arrays that change

    def check_format(self, full_check: bool = True) -> None:
        """Nothing is left to find: what a matrix is made of was checked then, or is at its first use (`ps.open`)."""

    def prune(self) -> None:
        """Nothing is left to do: a matrix keeps no room behind its entries."""

    # Other shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """The same entries, read along rows ("C") or columns ("F"), in another shape; one length may be -1. Of one
        dimension: SciPy's sparse array."""
        wanted = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        a = self._matrix()
        if tuple(wanted) == a.shape and not copy:
            return self
        return back(type(a), view(a).reshape(tuple(wanted), order=order, copy=copy))

    def resized(self, *shape: Any) -> csr_array:
        """A matrix of another shape: what is outside is cut off, what is new is empty. What SciPy's `resize` does in
        place.

        >>> import numpy as np, penstock as ps
        >>> ps.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]])).resized(1, 3).toarray()
        array([[1., 2., 0.]])
        """
        wanted = shape[0] if len(shape) == 1 else shape
        try:
            rows, cols = (operator.index(n) for n in wanted)
        except (TypeError, ValueError):
            raise ValueError(f"shape={wanted!r}: give two integers, (rows, columns)") from None
        if rows < 0 or not 0 <= cols < 2**31:
            raise ValueError(f"shape={wanted!r}: rows must be 0 or more, columns 0 .. 2^31 - 1")
        a = self._matrix()[:rows]
        a = a[:, :cols] if cols < a.shape[1] else a
        last = np.full(rows - a.shape[0], a.nnz, np.int64)
        indptr = np.concatenate([a.indptr, last])
        return type(a)._from_parts(rows, cols, indptr, a.indices, a._core.values, validate="cheap")

    # As text

    maxprint = 50  # how many entries print(A) shows, as SciPy's

    def __str__(self) -> str:
        """What it is, and its first and last entries, as SciPy prints them."""
        a, turned = self._stored()
        if a.place == "device" or a.nnz == 0:
            return repr(self)
        half = self.maxprint // 2
        numbers = list(range(a.nnz))
        if a.nnz > self.maxprint:
            numbers = [*range(half), *range(a.nnz - half, a.nnz)]
        rows = np.searchsorted(a.indptr, numbers, side="right") - 1
        lines = []
        for k, row in zip(numbers, rows.tolist(), strict=True):
            place = (int(a.indices[k]), row) if turned else (row, int(a.indices[k]))
            lines.append(f"  {place}\t{a.data[k]}")
        if a.nnz > self.maxprint:
            lines.insert(half, "  :\t:")
        return "\n".join([repr(self), "  Coords\tValues", *lines])

    def _repr_html_(self) -> str:
        from penstock._matrix.html import table  # for notebooks alone

        a, turned = self._stored()
        return table(a, turned)
