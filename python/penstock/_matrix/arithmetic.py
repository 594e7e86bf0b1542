"""`+ - * / **`, and the same entry by entry: with sparse matrices by the core, with dense ones and numbers as SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array, as_type, checked_dtype, result_dtype
from penstock._choices import semiring_named
from penstock._matrix.names import Guarded, as_kind
from penstock._matrix.structure import alike, check_shapes, made
from penstock._matrix.through_scipy import as_scipy, back, view, with_values

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Arithmetic"]

# What the core joins entries by, for a semiring of numbers that adds by this function of NumPy.
_JOINS = {np.add: "plus", np.maximum: "max", np.minimum: "min"}
_NUMBERS = (int, float, complex, np.number, np.bool_)


def is_number(value: Any) -> bool:
    return isinstance(value, _NUMBERS) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _dense(value: Any) -> np.ndarray | None:
    """An array or lists as an array; None for what is neither."""
    if isinstance(value, (np.ndarray, list, tuple, range)):
        array = np.asarray(value)
        return None if array.dtype.kind not in "biufc" else array
    return None


def _finite(a: csr_array) -> bool:
    return a.dtype == np.bool_ or a.place == "device" or bool(np.isfinite(a.data).all())


def _join(a: csr_array, b: Any, op: str, what: str) -> csr_array:
    b = as_kind(type(a), b, what)
    check_shapes(a, b, what)
    if op == "minus" and a.dtype == b.dtype == np.bool_:
        raise TypeError(
            "A - B of two patterns has no sign to show: A.mask(B, complement=True) is what A has and B has not"
        )
    a, b = alike(a.without_duplicates(), b.without_duplicates())
    if a.place == "device" or b.place == "device":
        return made(a, _joined_on_gpu(a, b, op, what), canonical=True)
    return made(a, _core.join(a._core, b._core, op), canonical=True)


def _joined_on_gpu(a: csr_array, b: csr_array, op: str, what: str) -> Any:
    """The sum or difference of two matrices on one GPU."""
    gpus = [_core.ordinal(m._core) if m.place == "device" else -1 for m in (a, b)]
    if gpus[0] != gpus[1]:
        raise _core.PlacementError(
            f"{what}: A is in {_where(a)} and B in {_where(b)}: move one to the other, with A.to(ps.host) or "
            "B.to(ps.device(n))"
        )
    if op not in ("plus", "minus") or a.dtype.kind == "c":
        raise _core.PlacementError(
            f"{what} by {op} of {a.dtype} is not computed on a GPU, where there are sums of float32, float64 and "
            "patterns: do it on the host, with A.to(ps.host)"
        )
    other = b if op == "plus" else -b
    return _core.add_rows_gpu(a._core, 0, other._core, 0, gpus[0])


def _where(a: csr_array) -> str:
    on = f" of GPU {_core.ordinal(a._core)}" if a.place == "device" else ""
    return f"{a.place} memory{on}"


def _plus(A: Arithmetic, b: Any, op: str, left: bool) -> Any:
    """A + b or A - b, or with `left` b + A or b - A."""
    what = "{1} {2} {0}" if left else "{0} {2} {1}"
    what = what.format("A", "B", "+" if op == "plus" else "-")
    if hasattr(b, "tocsr"):
        a, b = A._matrix(), as_kind(type(A._matrix()), b, what)
        return _join(b, a, op, what) if left else _join(a, b, op, what)
    if is_number(b):
        if b != 0:
            raise NotImplementedError(
                f"{what} with the number {b} has no entry that is 0: add it to the stored ones, "
                "ps.csr_array((A.data + number, A.indices, A.indptr), A.shape), or to A.toarray()"
            )
        return -A if left and op == "minus" else A
    dense = _dense(b) if isinstance(b, np.ndarray) else None  # of lists SciPy makes no sums
    if dense is None:
        return NotImplemented
    array = A.toarray()  # type: ignore[attr-defined]
    if dense.ndim > 2:
        raise ValueError(
            f"{what}: a matrix of shape {array.shape} and an array of shape {dense.shape}"
        )
    if op == "plus":
        return array + dense
    return dense - array if left else array - dense


class Arithmetic(Guarded):
    """The operators of csr_array, and the methods that say more than they can."""

    # Sums

    def add(self, B: Any, semiring: str = "plus_times") -> csr_array:
        """A + B over a semiring: an entry that only one of them stores is kept as it is.

        B has A's shape: a csr_array, a transpose or a SciPy sparse array. Values are added, or with "min_plus" the
        smaller is kept, with "max_times" the larger. The result has NumPy's promoted type; two patterns make a
        pattern, their union, over any semiring; "or_and" makes one of any two matrices, of the entries that are not 0.
        Rows are sorted and duplicates added up first (a pattern's count once). Unlike SciPy's, the result keeps zeros
        where sums cancel: what is stored depends on what A and B store alone (`without_zeros` drops them).

        >>> import penstock as ps
        >>> A = ps.csr_array(([1.0, 2.0], ([0, 1], [0, 1])), shape=(2, 2))
        >>> B = ps.csr_array(([5.0, 1.0], ([0, 1], [1, 1])), shape=(2, 2))
        >>> A.add(B).toarray()
        array([[1., 5.],
               [0., 3.]])
        >>> A.add(B, "min_plus").data
        array([1., 5., 1.])
        """
        kind, a = semiring_named(semiring), self._matrix()
        if kind.boolean:
            a, b = a.astype(bool), as_kind(type(a), B, "A.add(B)").astype(bool)
            both = _join(a, b, "plus", "A + B")
            # Where both have an entry, one and one may be nothing.
            return both if kind.sums(True, True) else both.mask(a.mask(b), complement=True)
        if kind.sums not in _JOINS:
            raise TypeError(
                f"no sum of matrices over {semiring}: the core does not join entries by {kind.sums}"
            )
        return _join(a, B, _JOINS[kind.sums], "A + B")

    def __add__(self, B: Any) -> Any:
        return _plus(self, B, "plus", False)

    def __radd__(self, B: Any) -> Any:
        return _plus(self, B, "plus", True)

    def __sub__(self, B: Any) -> Any:
        return _plus(self, B, "minus", False)

    def __rsub__(self, B: Any) -> Any:
        return _plus(self, B, "minus", True)

    # Products entry by entry

    def _scaled(self, factor: Any) -> csr_array:
        a = self._matrix()
        if a.place == "device":
            return a.scale(rows=factor)
        dtype = result_dtype(np.result_type(a.dtype, factor))
        return with_values(a, as_type(np.multiply(a.data, factor, dtype=dtype), dtype, "product"))

    def multiply(self, other: Any) -> Any:
        """A times B entry by entry (Hadamard's product): what both store. `A * B` is the same.

        `other` is B, a sparse matrix, a dense array or a number; shapes are broadcast as in NumPy, and the result is
        sparse. A pattern counts as ones, so that A times a pattern is `A.mask(pattern)`; two patterns make a pattern.
        Rows are sorted and duplicates added up first. Products that are 0 stay stored where two sparse matrices have
        one shape. NaN or infinity times an entry that the other does not store is NaN, as in SciPy.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]]))
        >>> A.multiply(np.array([10.0, 1.0])).toarray()
        array([[10.,  2.],
               [ 0.,  4.]])
        """
        found = self._times(other)
        if found is NotImplemented:
            kind = (
                f"an array of {other.dtype}"
                if isinstance(other, np.ndarray)
                else type(other).__name__
            )
            raise TypeError(
                f"A.multiply(B) takes a sparse matrix, an array or a number, not {kind}"
            )
        return found

    def _times(self, B: Any) -> Any:
        a = self._matrix()
        if isinstance(B, _NUMBERS):
            return a._scaled(B)
        if not hasattr(B, "tocsr"):
            dense = _dense(B)
            return NotImplemented if dense is None else _times_dense(a, dense)
        if len(B.shape) != 2 or B.shape != a.shape:
            return back(type(a), view(a).multiply(as_scipy(B)))
        b = as_kind(type(a), B, "A.multiply(B)")
        dtype = a.dtype if a.dtype == b.dtype else result_dtype(a.dtype, b.dtype)
        if a.dtype == np.bool_ and dtype != np.bool_:
            a, b = b, a  # of products with one the order does not matter
        if not (_finite(a) and _finite(b)):  # NaN and infinity times what is not stored is NaN
            return back(type(a), view(a.without_duplicates()) * view(b.without_duplicates()))
        if b.dtype == np.bool_:
            return a.mask(b)
        a, b = alike(a.without_duplicates(), b.without_duplicates())
        return made(a, _core.multiply_entries(a._core, b._core), canonical=True)

    def __mul__(self, B: Any) -> Any:
        """`multiply`; float32 times a Python float stays float32, as in NumPy."""
        return self._times(B)

    def __imul__(self, B: Any) -> Any:
        """`A * B`; of a number in A's type, as in SciPy."""
        return self._of_its_type(B) if is_number(B) else self._times(B)

    def __rmul__(self, B: Any) -> Any:
        if hasattr(B, "tocsr"):
            import scipy.sparse as sp

            if isinstance(B, sp.spmatrix):  # whose * is the product of matrices
                return B @ self
        return self._times(B)

    def __truediv__(self, divisor: Any) -> Any:
        """By a number or a dense array, a sparse matrix; by a sparse matrix a dense array, with NaN where neither
        stores an entry, as in SciPy."""
        if is_number(divisor):
            a = self._matrix()
            inverse = 1.0 / (divisor[()] if isinstance(divisor, np.ndarray) else divisor)
            if a.dtype.kind != "c":
                a = a.astype(np.float64)  # as SciPy, which multiplies by the inverse, too
            return a._scaled(inverse)
        if hasattr(divisor, "tocsr"):
            a = self._matrix().without_duplicates()
            return view(a.astype(result_dtype(a.dtype))) / as_scipy(divisor)
        dense = _dense(divisor)
        return NotImplemented if dense is None else self._times(np.true_divide(1.0, dense))

    def __rtruediv__(self, B: Any) -> Any:
        """A sparse B over A is a dense array, as in SciPy; a number or an array over A is an error there and here."""
        if hasattr(B, "tocsr"):
            a = self._matrix()
            return as_scipy(B) / view(a.astype(result_dtype(a.dtype)))
        if is_number(B) or _dense(B) is not None:
            raise TypeError(
                "B / A of a sparse A is infinite or NaN wherever A stores no entry: use B / A.toarray(), or B / A.data "
                "for the stored ones"
            )
        return NotImplemented

    def __itruediv__(self, divisor: Any) -> Any:
        """`A / divisor`; of a number in A's type, as in SciPy."""
        if is_number(divisor):
            return self._of_its_type(1.0 / divisor)
        return self.__truediv__(divisor)

    def _of_its_type(self, number: Any) -> csr_array:
        """A times number in A's type, which must be able to hold it: else NumPy's TypeError."""
        a = self._matrix()
        if a.place == "device":
            return self._times(number)
        values = a.data.copy()
        values *= number
        return with_values(a, values)

    def __neg__(self) -> csr_array:
        a = self._matrix()
        if a.dtype.kind == "c" and a.place != "device":
            return with_values(a, np.negative(a.data))  # infinity times -1 + 0j is NaN
        return self._scaled(-1)

    # Powers

    def power(self, n: Any, dtype: Any = None) -> csr_array:
        """Every stored entry to the power n, a number that is greater than 0; `A ** n` is the same. For a product of
        matrices use A @ A. `dtype` is what values are converted to first."""
        a = self._matrix().without_duplicates()
        if not is_number(n):
            raise NotImplementedError(f"A ** n: n is a {type(n).__name__}, give a number")
        if n == 0:
            raise NotImplementedError(
                "A ** 0 is 1 wherever no entry is stored: use np.ones(A.shape)"
            )
        if not isinstance(n, (complex, np.complexfloating)) and n < 0:
            raise ValueError(
                f"A ** {n} is infinite wherever no entry is stored: A.data ** {n} is of the stored ones"
            )
        values = (
            a.data.astype(result_dtype(a.dtype) if dtype is None else checked_dtype(dtype)) ** n
        )
        return with_values(a, as_array(values).astype(result_dtype(values.dtype), copy=False))

    def __pow__(self, n: Any) -> Any:
        known = is_number(n) or isinstance(n, np.ndarray)  # to others Python leaves the answer
        return self.power(n) if known else NotImplemented


def _times_dense(a: csr_array, dense: np.ndarray) -> Any:
    """A times an array entry by entry: a vector for the rows or the columns by the core, others by SciPy."""
    if dense.ndim == 0:
        return a._scaled(dense[()])
    rows, cols = a.shape
    if dense.shape in ((cols,), (1, cols)):
        return a.scale(cols=dense.reshape(-1))
    if dense.shape == (rows, 1):
        return a.scale(rows=dense.reshape(-1))
    wanted = result_dtype(a.dtype, dense.dtype)
    if dense.dtype.kind != "c":
        wanted = np.empty(0, wanted).real.dtype
    known = dense.astype(wanted, copy=False)
    return back(type(a), view(a.without_duplicates()).multiply(known))
