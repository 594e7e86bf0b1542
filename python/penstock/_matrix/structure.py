"""What makes a matrix from matrices without a product: masks, order of rows, scaling, permutations, diagonals.

`Structure` is the part of csr_array that has these as methods. Every result is new and in memory; what does not change
is shared with the matrix that it comes from, which stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_type, checked, result_dtype
from penstock._arrays.tensors import host_array
from penstock._choices import SHORT_FLOATS, one_of
from penstock._matrix.names import Guarded, as_kind

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Structure"]


def _order(a: csr_array) -> tuple[bool, bool]:
    """(sorted, canonical), looked up once."""
    if a._derived.row_order is None:
        a._derived.row_order = _core.row_order(a._core)
    return a._derived.row_order


def made(like: csr_array, core: Any, *, canonical: bool = False) -> csr_array:
    out = type(like)._wrap(core)
    if canonical:
        out._derived.row_order = (True, True)
    return out


def _canonical(a: csr_array) -> Any:
    return a._core if _order(a)[1] else _core.sort_rows(a._core, True)


def _sorted(a: csr_array) -> Any:
    return a._core if _order(a)[0] else _core.sort_rows(a._core, False)


def alike(a: csr_array, b: csr_array) -> tuple[csr_array, csr_array]:
    """Both with the type that NumPy promotes them to; two patterns stay patterns."""
    if a.dtype == b.dtype:
        return a, b
    dtype = result_dtype(a.dtype, b.dtype)
    return a.astype(dtype), b.astype(dtype)


def check_shapes(a: csr_array, b: csr_array, what: str) -> None:
    if a.shape != b.shape:
        raise ValueError(f"{what}: the shapes {a.shape} and {b.shape} differ")


def _factors(values: Any, length: int, name: str) -> np.ndarray | None:
    if values is None:
        return None
    values = host_array(values, name)
    if values.shape not in ((), (length,)):
        raise ValueError(f"{name} has shape {values.shape}: give one number, or {length} of them")
    return np.broadcast_to(values, (length,))


def as_permutation(p: Any, n: int, name: str) -> np.ndarray:
    """n integers, int64 and contiguous; their values are looked at by the core."""
    p = host_array(p, name)
    if p.shape != (n,) or (n and p.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} has dtype {p.dtype} and shape {p.shape}: give a permutation, "
            f"the integers 0 .. {n - 1} in any order"
        )
    return np.ascontiguousarray(p, dtype=np.int64)


class Structure(Guarded):
    """The methods of csr_array that need no product."""

    # Where entries are

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
        a = self._matrix()
        m = as_kind(type(a), M, "A.mask(M)")
        check_shapes(a, m, "A.mask(M)")
        pattern = _core.pattern(m._core)
        if not _order(m)[1]:
            pattern = _core.sort_rows(pattern, True)
        return made(a, _core.mask(_canonical(a), pattern, bool(complement)), canonical=True)

    # What is stored, and in which order

    @property
    def has_sorted_indices(self) -> bool:
        """Whether columns never fall within a row."""
        return _order(self._matrix())[0]

    @property
    def has_canonical_format(self) -> bool:
        """Whether columns always rise within a row: sorted, and no duplicates."""
        return _order(self._matrix())[1]

    def sorted_indices(self) -> csr_array:
        """A matrix with every row sorted by column, or this one where it is; duplicates stay, in their order."""
        a = self._matrix()
        return a if a.has_sorted_indices else made(a, _sorted(a))

    def without_duplicates(self) -> csr_array:
        """A matrix with every row sorted by column and duplicates added up (in the order of their bits, in double
        precision), or this one where it is so. What SciPy's `sum_duplicates` does in place."""
        a = self._matrix()
        return a if a.has_canonical_format else made(a, _canonical(a), canonical=True)

    def without_zeros(self) -> csr_array:
        """A matrix without the entries that are stored as 0, its rows sorted; duplicates are looked at one by one. What
        SciPy's `eliminate_zeros` does in place."""
        a = self._matrix()
        return made(a, _core.without_zeros(_sorted(a)), canonical=_order(a)[1])

    def _triangle(self, k: int, upper: bool) -> csr_array:
        """See `tril` and `triu`."""
        a = self._matrix()
        return made(a, _core.triangle(_sorted(a), k, upper), canonical=_order(a)[1])

    # Scaling and permutations

    def scale(self, rows: Any = None, cols: Any = None) -> csr_array:
        """diag(rows) A diag(cols): entry (i, j) times rows[i] and cols[j], each a number, a vector or left out.

        The result has NumPy's promoted type, a pattern counts as ones, and integers as float64. Its entries are in A's
        order, and it shares A's row offsets and columns. Vectors on a GPU are copied to the host first.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]]))
        >>> A.scale(rows=np.array([1.0, 10.0]), cols=0.5).toarray()
        array([[ 0.5,  1. ],
               [ 0. , 20. ]])
        """
        a = self._matrix()
        r, c = _factors(rows, a.shape[0], "rows"), _factors(cols, a.shape[1], "cols")
        # A number leaves the type as it is, so that it is asked for before it became a vector.
        given = (v if np.isscalar(v) else f for v, f in ((rows, r), (cols, c)))
        dtype = result_dtype(a.dtype, *(each for each in given if each is not None))
        r, c = (
            None if f is None else as_type(checked(f, dtype, name), dtype, name)
            for f, name in ((r, "rows"), (c, "cols"))
        )
        core = a._core if a.dtype == np.bool_ else a.astype(dtype)._core
        out = made(a, _core.scale(core, str(dtype), r, c))
        if a._derived.row_order is not None:
            out._derived.row_order = a._derived.row_order
        return out

    def store_as(self, dtype: str) -> csr_array:
        """The matrix with values rounded to "bfloat16" or "float16": wherever it is packed, a value takes 2 bytes.

        Each value goes to the nearest one of that type, ties to the even one, and `dtype` of the result stays float32
        or float64: products multiply the rounded values, and have vectors and sums in that type, so that they are exact
        products of the rounded matrix to the sums' precision. bfloat16 has 8 bits of precision and the range of
        float32, float16 11 bits and numbers from 6e-8 to 65504.

        The packed form finds by itself that 2 bytes hold all values: plans with codec="packed", or "auto" where that
        travels faster, in core on a GPU (`InCore(device=0, kernel="packed")`), and stores that are saved with
        packed=True or "only". The arrays of this matrix itself stay as wide as `dtype`.

        Raises ValueError that names the row of the first entry that overflows, becomes zero or is not finite;
        TypeError where the matrix is neither float32 nor float64; PlacementError for a matrix on a GPU.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 1 / 3], [0.0, 100.1]])).store_as("bfloat16")
        >>> A.dtype.name, A.toarray().tolist()
        ('float64', [[1.0, 0.333984375], [0.0, 100.0]])
        """
        one_of("dtype", dtype, SHORT_FLOATS)
        a = self._matrix()
        if a.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"store_as({dtype!r}) rounds float32 and float64, and A is {a.dtype}: convert it with astype first"
            )
        if a.place == "device":
            raise _core.PlacementError(
                f"store_as({dtype!r}) rounds on the CPU, and A is in a GPU's memory: do it with A.to(ps.host)"
            )
        out = made(a, _core.rounded(a._core, dtype))
        out._derived.row_order = a._derived.row_order
        return out.to("pinned") if a.place == "pinned" else out

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
        a = self._matrix()
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
        return made(a, _core.take_rows(a._core, p, places))

    # Diagonals

    def with_diagonal(self, values: Any, k: int = 0) -> csr_array:
        """A matrix with other entries on its k-th diagonal, zeros stored: what SciPy's `setdiag` does in place.

        `values` is a number, or an array whose first entries are taken; where it is shorter than the diagonal, the rest
        of that stays. Rows are sorted and duplicates added up first. Raises ValueError for a k outside the matrix.

        >>> import numpy as np, penstock as ps
        >>> A = ps.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
        >>> A.with_diagonal([7.0, 8.0]).toarray()
        array([[7., 2.],
               [3., 8.]])
        """
        a, values = self._matrix(), host_array(values, "values")
        rows, cols = a.shape
        if (k > 0 and k >= cols) or (k < 0 and -k >= rows):
            raise ValueError(
                f"k={k} exceeds matrix dimensions: diagonals are {1 - rows} .. {cols - 1}"
            )
        if values.ndim > 1:
            raise ValueError(f"values has shape {values.shape}: give a number, or one dimension")
        n = min(rows + min(k, 0), cols - max(k, 0))
        n = n if values.ndim == 0 else min(n, values.size)
        dtype = a.dtype if a.dtype == values.dtype else result_dtype(a.dtype, values)
        first = max(-k, 0)
        indptr = np.clip(np.arange(rows + 1, dtype=np.int64) - first, 0, n)
        indices = np.arange(max(k, 0), max(k, 0) + n, dtype=np.int32)
        entries = as_type(
            checked(np.broadcast_to(values, values.shape or (n,))[:n], dtype, "values"),
            dtype,
            "values",
        )
        diagonal = type(a)((entries, indices, indptr), shape=a.shape, copy=False)
        if a.place == "device":
            diagonal = diagonal.to(f"device:{_core.ordinal(a._core)}")
        places = type(a)._wrap(_core.pattern(diagonal._core))
        return a.mask(places, complement=True).add(diagonal)
