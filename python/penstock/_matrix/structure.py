"""What makes a matrix from matrices without a product: sums, masks, order of rows, scaling, permutations.

`Structure` is the part of csr_array that has these as methods. Every result is new and in memory; what does not change
is shared with the matrix that it comes from, which stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array, as_type, checked, result_dtype
from penstock._choices import semiring_named
from penstock._matrix.names import Guarded, as_kind

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Structure"]

# What the core joins entries by, for a semiring of numbers that adds by this function of NumPy.
_JOINS = {np.add: "plus", np.maximum: "max", np.minimum: "min"}


def _order(a: csr_array) -> tuple[bool, bool]:
    """(sorted, canonical), looked up once."""
    if a._derived.row_order is None:
        a._derived.row_order = _core.row_order(a._core)
    return a._derived.row_order


def _made(like: csr_array, core: Any, *, canonical: bool = False) -> csr_array:
    out = type(like)._wrap(core)
    if canonical:
        out._derived.row_order = (True, True)
    return out


def _canonical(a: csr_array) -> Any:
    return a._core if _order(a)[1] else _core.sort_rows(a._core, True)


def _sorted(a: csr_array) -> Any:
    return a._core if _order(a)[0] else _core.sort_rows(a._core, False)


def _alike(a: csr_array, b: csr_array) -> tuple[csr_array, csr_array]:
    """Both with the type that NumPy promotes them to; two patterns stay patterns."""
    if a.dtype == b.dtype:
        return a, b
    dtype = result_dtype(a.dtype, b.dtype)
    return a.astype(dtype), b.astype(dtype)


def _check_shapes(a: csr_array, b: csr_array, what: str) -> None:
    if a.shape != b.shape:
        raise ValueError(f"{what}: the shapes {a.shape} and {b.shape} differ")


def join(a: csr_array, b: Any, op: str, what: str) -> csr_array:
    b = as_kind(type(a), b, what)
    _check_shapes(a, b, what)
    if op == "minus" and a.dtype == b.dtype == np.bool_:
        raise TypeError(
            "A - B of two patterns has no sign to show: A.mask(B, complement=True) is what A has and B has not"
        )
    a, b = _alike(a.without_duplicates(), b.without_duplicates())
    return _made(a, _core.join(a._core, b._core, op), canonical=True)


def _is_zero(number: Any) -> bool:
    return isinstance(number, (int, float, complex, np.number)) and number == 0


def _factors(values: Any, length: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    values = as_array(values)
    if values.shape not in ((), (length,)):
        raise ValueError(f"{name} has shape {values.shape}: give one number, or {length} of them")
    return np.broadcast_to(values, (length,))


def as_permutation(p: Any, n: int, name: str) -> np.ndarray:
    """n integers, int64 and contiguous; their values are looked at by the core."""
    p = as_array(p)
    if p.shape != (n,) or (n and p.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} has dtype {p.dtype} and shape {p.shape}: give a permutation, "
            f"the integers 0 .. {n - 1} in any order"
        )
    return np.ascontiguousarray(p, dtype=np.int64)


class Structure(Guarded):
    """The methods of csr_array that need no product."""

    def _me(self) -> csr_array:
        return self  # type: ignore[return-value]

    # Entry by entry

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
        kind, a = semiring_named(semiring), self._me()
        if kind.boolean:
            a, b = a.astype(bool), as_kind(type(a), B, "A.add(B)").astype(bool)
            both = join(a, b, "plus", "A + B")
            # Where both have an entry, one and one may be nothing.
            return both if kind.sums(True, True) else both.mask(a.mask(b), complement=True)
        if kind.sums not in _JOINS:
            raise TypeError(
                f"no sum of matrices over {semiring}: the core does not join entries by {kind.sums}"
            )
        return join(a, B, _JOINS[kind.sums], "A + B")

    def __add__(self, B: Any) -> Any:
        return self._me() if _is_zero(B) else join(self._me(), B, "plus", "A + B")

    def __radd__(self, B: Any) -> Any:
        if _is_zero(B):
            return self._me()
        return join(as_kind(type(self), B, "B + A"), self, "plus", "B + A")

    def __sub__(self, B: Any) -> Any:
        return self._me() if _is_zero(B) else join(self._me(), B, "minus", "A - B")

    def __rsub__(self, B: Any) -> Any:
        if _is_zero(B):
            return -self._me()
        return join(as_kind(type(self), B, "B - A"), self, "minus", "B - A")

    def multiply(self, B: Any) -> csr_array:
        """A times B entry by entry (Hadamard's product): what both store. `A * B` is the same.

        B is a sparse matrix of A's shape, or a number. A pattern counts as ones, so that A times a pattern is
        `A.mask(pattern)`; two patterns make a pattern. Rows are sorted and duplicates added up first. Products that
        are 0 stay stored.
        """
        a = self._me()
        if np.ndim(B) == 0 and isinstance(B, (int, float, complex, np.number, np.bool_)):
            return a._scaled(B)
        b = as_kind(type(a), B, "A.multiply(B)")
        _check_shapes(a, b, "A.multiply(B)")
        dtype = a.dtype if a.dtype == b.dtype else result_dtype(a.dtype, b.dtype)
        if a.dtype == np.bool_ and dtype != np.bool_:
            a, b = b, a  # of products with one the order does not matter
        if b.dtype == np.bool_:
            return a.mask(b)
        a, b = _alike(a.without_duplicates(), b.without_duplicates())
        return _made(a, _core.multiply_entries(a._core, b._core), canonical=True)

    def mask(self, M: Any, complement: bool = False) -> csr_array:
        """A's entries where M stores one, explicit zeros of M included; with `complement`, where M does not.

        M is a sparse matrix of A's shape and any type. On patterns: the intersection, or the difference; `A + M` is
        the union. Rows are sorted and duplicates added up first.

        >>> import penstock as ps
        >>> A = ps.csr_array(([1.0, 2.0], ([0, 1], [0, 1])), shape=(2, 2))
        >>> M = ps.csr_array(([True], ([1], [1])), shape=(2, 2))
        >>> A.mask(M).data, A.mask(M, complement=True).data
        (array([2.]), array([1.]))
        """
        a, m = self._me(), as_kind(type(self), M, "A.mask(M)")
        _check_shapes(a, m, "A.mask(M)")
        pattern = _core.pattern(m._core)
        if not _order(m)[1]:
            pattern = _core.sort_rows(pattern, True)
        return _made(a, _core.mask(_canonical(a), pattern, bool(complement)), canonical=True)

    def __abs__(self) -> csr_array:
        """Of every entry, duplicates added up first, as in SciPy; a complex matrix becomes a real one."""
        a = self._me()
        if a.dtype == np.bool_:
            return a
        a = a.without_duplicates()
        return type(a)._from_parts(
            *a.shape,
            a.indptr,
            a.indices,
            np.abs(a.data),
            mapped=a.place == "mapped",
            validate="cheap",
        )

    # What is stored, and in which order

    @property
    def has_sorted_indices(self) -> bool:
        """Whether columns never fall within a row."""
        return _order(self._me())[0]

    @property
    def has_canonical_format(self) -> bool:
        """Whether columns always rise within a row: sorted, and no duplicates."""
        return _order(self._me())[1]

    def sorted_indices(self) -> csr_array:
        """A matrix with every row sorted by column, or this one where it is; duplicates stay, in their order."""
        a = self._me()
        return a if a.has_sorted_indices else _made(a, _sorted(a))

    def without_duplicates(self) -> csr_array:
        """A matrix with every row sorted by column and duplicates added up (in the order of their bits, in double
        precision), or this one where it is so. What SciPy's `sum_duplicates` does in place."""
        a = self._me()
        return a if a.has_canonical_format else _made(a, _canonical(a), canonical=True)

    def without_zeros(self) -> csr_array:
        """A matrix without the entries that are stored as 0, its rows sorted; duplicates are looked at one by one. What
        SciPy's `eliminate_zeros` does in place."""
        a = self._me()
        return _made(a, _core.without_zeros(_sorted(a)), canonical=_order(a)[1])

    def _triangle(self, k: int, upper: bool) -> csr_array:
        """See `tril` and `triu`."""
        a = self._me()
        return _made(a, _core.triangle(_sorted(a), k, upper), canonical=_order(a)[1])

    # Scaling and permutations

    def scale(self, rows: Any = None, cols: Any = None) -> csr_array:
        """diag(rows) A diag(cols): entry (i, j) times rows[i] and cols[j], each a number, a vector or left out.

        The result has NumPy's promoted type, a pattern counts as ones, and integers as float64. Its entries are in A's
        order, and it shares A's row offsets and columns.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]]))
        >>> A.scale(rows=np.array([1.0, 10.0]), cols=0.5).toarray()
        array([[ 0.5,  1. ],
               [ 0. , 20. ]])
        """
        a = self._me()
        r, c = _factors(rows, a.shape[0], "rows"), _factors(cols, a.shape[1], "cols")
        dtype = result_dtype(a.dtype, *(f for f in (rows, cols) if f is not None))
        r, c = (
            None if f is None else as_type(checked(f, dtype, name), dtype, name)
            for f, name in ((r, "rows"), (c, "cols"))
        )
        core = a._core if a.dtype == np.bool_ else a.astype(dtype)._core
        out = _made(a, _core.scale(core, str(dtype), r, c))
        if a._derived.row_order is not None:
            out._derived.row_order = a._derived.row_order
        return out

    def permute(self, rows: Any = None, cols: Any = None) -> csr_array:
        """Entry (i, j) of the result is entry (rows[i], cols[j]) of A, as in `A[rows][:, cols]` of NumPy and SciPy.

        rows and cols are permutations, or left out; `A.permute(p, p)` renumbers the vertices of a graph, so that new
        vertex i is old vertex p[i] (what `ps.reorder` returns). Rows are sorted where cols is given; duplicates stay.
        Raises ValueError that names the first number that is outside or there twice.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> A.permute([1, 0]).toarray()
        array([[3., 4.],
               [1., 2.]])
        >>> A.permute([1, 0], [1, 0]).toarray()
        array([[4., 3.],
               [2., 1.]])
        """
        a = self._me()
        places = None
        if cols is not None:
            q = as_permutation(cols, a.shape[1], "cols")
            places = _core.inverse_permutation(q, a.shape[1], "cols")
        if rows is None:
            if places is None:
                return a
            p = np.arange(a.shape[0], dtype=np.int64)
        else:
            p = as_permutation(rows, a.shape[0], "rows")
            if rows is not cols or a.shape[0] != a.shape[1]:
                _core.inverse_permutation(p, a.shape[0], "rows")  # for its errors
        return _made(a, _core.take_rows(a._core, p, places))

    def _take_rows(self, key: Any) -> csr_array:
        """A[p] for row numbers, negative ones counted from the end, or for a boolean for each row."""
        a, p = self._me(), as_array(key)
        n = a.shape[0]
        if p.size == 0 and p.dtype.kind == "f":
            p = p.astype(np.int64)  # an empty list
        if p.ndim != 1 or p.dtype.kind not in "iub" or (p.dtype == np.bool_ and p.size != n):
            raise IndexError(
                f"rows of dtype {p.dtype} and shape {p.shape}: give integers, or {n} booleans, one for each row"
            )
        p = np.flatnonzero(p) if p.dtype == np.bool_ else p.astype(np.int64, copy=False)
        outside = (p < -n) | (p >= n)
        if outside.any():
            at = int(outside.argmax())
            raise IndexError(f"rows[{at}] = {p[at]} is outside a matrix of {n} rows")
        p = np.where(p < 0, p + n, p) if p.size and p.min() < 0 else np.ascontiguousarray(p)
        return _made(a, _core.take_rows(a._core, p, None))
