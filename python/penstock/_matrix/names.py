"""What a csr_array and its transpose answer where Python, NumPy and programs written for SciPy expect an array: entry
by entry, or an error that names the remedy, and never an answer that means something else."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Guarded"]

# SciPy's methods that change their matrix -> what makes another one
_IN_PLACE = {
    "eliminate_zeros": "without_zeros()",
    "sort_indices": "sorted_indices()",
    "sum_duplicates": "without_duplicates()",
    "setdiag": "with_diagonal(values, k)",
    "resize": "resized(rows, cols)",
}
# Names of SciPy's matrices that its arrays have not either -> what to write for arrays
_OF_MATRICES = {
    "getrow": "A[i:i+1]",
    "getcol": "A[:, j:j+1]",
    "getnnz": "A.nnz, np.diff(A.indptr) for rows, np.bincount(A.indices, minlength=A.shape[1]) for columns, or "
    "A.count_nonzero(axis)",
    "getH": "A.conj().T",
    "H": "A.conj().T",
    "A": "A.toarray()",
    "get_shape": "A.shape",
    "set_shape": "A.reshape(shape)",
    "getformat": "A.format",
    "getmaxprint": "A.maxprint",
    "asfptype": "A itself, whose values are floating point, or A.astype(float) of a pattern",
}
_SYMBOLS = {
    operator.eq: "==",
    operator.ne: "!=",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
}


def as_kind(kind: type, b: Any, what: str) -> Any:
    """`b` as a matrix of class `kind` (csr_array): itself, its transpose formed, or made of a SciPy sparse array."""
    if isinstance(b, Guarded):
        return b._matrix()
    if hasattr(b, "tocsr"):
        return kind(b)
    raise TypeError(
        f"{what} takes a sparse matrix, not {type(b).__name__}: for a dense one use A.toarray() and NumPy"
    )


def compare(a: Any, b: Any, op: Callable[[Any, Any], Any]) -> Any:
    """op(a, b) entry by entry: a pattern for a number or a sparse b, a dense array for a dense one."""
    if isinstance(b, (list, tuple)):
        b = np.asarray(b)
    if isinstance(b, np.ndarray) and b.ndim:
        return op(a.toarray(), np.asarray(b))
    number = isinstance(b, (int, float, complex, np.number, np.bool_, np.ndarray))
    if not number and not hasattr(b, "tocsr"):
        return NotImplemented  # of None and texts Python says that they are something else
    ordered = op not in (operator.eq, operator.ne)
    if ordered and "c" in (a.dtype.kind, np.result_type(b if number else b.dtype).kind):
        raise TypeError(f"A {_SYMBOLS[op]} B: complex numbers have no order")
    if number:
        return _with_number(a._matrix().without_duplicates(), np.asarray(b)[()], op)
    if a.shape != b.shape:
        raise ValueError(f"A {_SYMBOLS[op]} B: the shapes {a.shape} and {b.shape} differ")
    if op(0, 0):
        raise TypeError(
            f"A {_SYMBOLS[op]} B is True wherever neither stores an entry: ask (A != B).nnz == 0 whether they are "
            "equal, or compare A.toarray()"
        )
    mine = a._matrix().without_duplicates()
    other = as_kind(type(mine), b, "a comparison").without_duplicates()
    return type(mine)(op(mine.to_scipy(), other.to_scipy()))


def _with_number(a: csr_array, number: Any, op: Callable[[Any, Any], Any]) -> csr_array:
    if op(a.dtype.type(0), number):
        symbol = _SYMBOLS[op]
        raise TypeError(
            f"A {symbol} {number} is True wherever no entry is stored: compare the stored ones, A.data {symbol} "
            f"{number}, or A.toarray()"
        )
    keep = op(a.data, number)
    before = np.zeros(keep.size + 1, np.int64)
    np.cumsum(keep, out=before[1:])
    parts = before[a.indptr], a.indices[keep], None
    return type(a)._from_parts(*a.shape, *parts, validate="all" if a.nnz < 1 << 14 else "cheap")


_OPERATORS = {"__matmul__", "__mul__", "__truediv__"} | {f"__{op.__name__}__" for op in _SYMBOLS}


def _asked_by_operator_of_scipy() -> bool:
    """Whether SciPy's S @ A, S * A, S != A and so on ask for an array: where SciPy finds that there is none it leaves
    the answer to A, but does not where looking raises."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(3):
        if frame is None or not str(frame.f_globals.get("__name__")).startswith("scipy.sparse."):
            return False
        if frame.f_code.co_name in _OPERATORS:
            return True
        frame = frame.f_back
    return False


class Guarded:
    """The part of csr_array and of its transpose that answers for them."""

    __hash__ = object.__hash__  # it never changes: one matrix is one key

    def _matrix(self) -> Any:
        """The csr_array that it is, or the transpose formed."""
        raise NotImplementedError(type(self).__name__)

    def _stored(self) -> tuple[Any, bool]:
        """The csr_array whose entries these are, and whether this is its transpose."""
        raise NotImplementedError(type(self).__name__)

    def __eq__(self, other: object) -> Any:  # type: ignore[override]
        return compare(self, other, operator.eq)

    def __ne__(self, other: object) -> Any:  # type: ignore[override]
        return compare(self, other, operator.ne)

    def __lt__(self, other: Any) -> Any:
        return compare(self, other, operator.lt)

    def __le__(self, other: Any) -> Any:
        return compare(self, other, operator.le)

    def __gt__(self, other: Any) -> Any:
        return compare(self, other, operator.gt)

    def __ge__(self, other: Any) -> Any:
        return compare(self, other, operator.ge)

    def __len__(self) -> int:
        raise TypeError("the length of a sparse array is ambiguous: use .nnz or .shape[0]")

    def __bool__(self) -> bool:
        a, _ = self._stored()
        if a.shape == (1, 1):
            return bool(a[0, 0] != 0)
        raise ValueError("the truth value of a sparse array is ambiguous: compare .nnz with 0")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        if _asked_by_operator_of_scipy():
            none = np.empty((), object)
            none[()] = self
            return none
        raise TypeError(
            "a sparse array is not made dense unasked: use .toarray() for a dense array, or .to_scipy() for SciPy's"
        )

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in (np.array_equal, np.array_equiv):  # these take the error of __array__ for False
            raise TypeError(f"np.{func.__name__} is of dense arrays: ask (A != B).nnz == 0")
        found = getattr(func, "_implementation", None)
        return NotImplemented if found is None else found(*args, **kwargs)

    if not TYPE_CHECKING:  # to type checkers, a name that is not there is an error

        def __getattr__(self, name: str) -> NoReturn:
            why = _why_not(type(self).__name__, name)
            if not name.startswith("_") and hasattr(type(vars(self).get("_base")), name):
                why = f"a transpose has no {name!r}: use A.T.formed().{name}"
            raise AttributeError(why, name=name, obj=self)


def _why_not(kind: str, name: str) -> str:
    if name in _IN_PLACE:
        return f"{name}() would change the matrix, and a {kind} never changes: use B = A.{_IN_PLACE[name]}"
    if name in _OF_MATRICES:
        return f"a {kind} has no {name!r}, as SciPy's arrays: use {_OF_MATRICES[name]}"
    scipy = sys.modules.get("scipy.sparse")
    if scipy is not None and not name.startswith("_") and hasattr(scipy.csr_array, name):
        return f"a {kind} has no {name!r}: SciPy's is A.to_scipy().{name}"
    if not name.startswith("_") and hasattr(np.ndarray, name):
        return f"a {kind} has no {name!r}, which is of dense arrays: use A.toarray().{name}"
    return f"{kind!r} object has no attribute {name!r}"
