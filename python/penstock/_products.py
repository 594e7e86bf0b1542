"""Between csr_array and the core: shapes, types, the planner's choice, and the transposed view."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._convert import as_array, as_type, checked, result_dtype
from penstock._explain import Explanation, active
from penstock._schedules import as_schedule, options

if TYPE_CHECKING:
    from penstock._csr import csr_array

__all__ = ["Transposed", "dot", "explain"]

SEMIRINGS = ("plus_times", "min_plus", "max_times", "or_and")


def as_dense(x: Any) -> np.ndarray:
    """The dense factor of a product: `as_array`, with a clear word on sparse ones."""
    if type(x) is np.ndarray:
        return x
    if hasattr(x, "tocsr"):
        raise TypeError("a dense array is needed here: A @ B and spgemm multiply sparse matrices")
    return as_array(x)


def is_sparse(x: Any) -> bool:
    return type(x) is not np.ndarray and hasattr(x, "tocsr")


def sparse_product(a: Any, b: Any) -> csr_array:
    """A @ B of two sparse matrices."""
    from penstock._spgemm import spgemm

    return spgemm(a, b)


def conj(x: np.ndarray) -> np.ndarray:
    return np.conj(x) if x.dtype.kind == "c" else x


def from_left(transposed: Any, x: Any) -> np.ndarray:
    """x A, by A^T."""
    x = as_dense(x)
    if x.ndim in (1, 2) and x.shape[-1] != transposed.shape[1]:
        raise ValueError(
            f"x has shape {x.shape}: x @ A needs {transposed.shape[1]} at the end, the rows of A"
        )
    return transposed.dot(x) if x.ndim == 1 else transposed.dot(x.T).T


def product_type(matrix: np.dtype, x: np.dtype, semiring: str) -> np.dtype:
    if semiring not in SEMIRINGS:
        raise ValueError(f"semiring={semiring!r} is unknown: choose one of {', '.join(SEMIRINGS)}")
    if semiring == "or_and":
        return np.dtype(np.uint8)
    common = matrix == x and matrix.kind != "b"  # then NumPy need not be asked
    dtype = matrix if common else result_dtype(matrix, x)
    if semiring != "plus_times" and dtype.kind == "c":
        raise TypeError(f"{semiring} needs an order, which complex numbers do not have")
    return dtype


_LARGE = 4 << 20  # bytes: from here on pages are worth keeping


def _empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array; a large one in the pages of an earlier result that is gone, aligned to a cache line."""
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return np.empty(shape, dtype)
    return _core.reused_bytes(size).view(dtype).reshape(shape)


def _result(
    shape: tuple[int, ...], dtype: np.dtype, out: Any, beta: Any, x: np.ndarray
) -> np.ndarray:
    if out is None:
        if beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        return _empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is {got}: give an array of {dtype} and shape {shape}")
    if out.ndim == 2 and not _strides_fit(out):
        raise ValueError(
            f"out has strides {out.strides}: give multiples of {dtype.itemsize} bytes, none negative"
        )
    if not (out.flags.c_contiguous or out.ndim == 2) or not out.flags.writeable:
        raise ValueError("out must be C-contiguous and writable")
    if np.may_share_memory(out, x):
        raise ValueError("out overlaps x: give another array")
    return out


def _number(value: Any, dtype: np.dtype, boolean: bool, name: str) -> Any:
    """alpha or beta as the core takes it."""
    if value is None:
        return None
    kinds = "biufc" if boolean or dtype.kind == "c" else "biuf"
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in kinds:
        raise TypeError(
            f"{name}={value!r} is not a number of the result's type, {'bool' if boolean else dtype}"
        )
    return bool(value) if boolean else dtype.type(value).item()


def _strides_fit(x: np.ndarray) -> bool:
    """Whether the core reads and writes a two-dimensional array as it is."""
    return x.flags.aligned and all(s >= 0 and s % x.itemsize == 0 for s in x.strides)


def _run(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    semiring: str,
    transposed: bool,
    call: Any,
) -> Any:
    """`call(x, y, alpha, beta, traced)` for x, one- or two-dimensional, of the types and strides that it wants."""
    x = as_dense(x)
    rows, cols = a.shape[::-1] if transposed else a.shape
    if x.ndim not in (1, 2) or x.shape[0] != cols:
        raise ValueError(
            f"x has shape {x.shape}: a matrix of {rows} x {cols} needs ({cols},) or ({cols}, k)"
        )
    dtype = product_type(a.dtype, x.dtype, semiring)
    boolean = semiring == "or_and"
    if alpha is not None or beta is not None:
        alpha, beta = (_number(v, dtype, boolean, n) for v, n in ((alpha, "alpha"), (beta, "beta")))
    ready = as_type if x.ndim == 1 else checked
    xs = (x != 0).view(np.uint8) if boolean else ready(x, dtype, "x")
    if x.ndim == 1:
        xs = np.ascontiguousarray(xs) if boolean else xs
    elif not boolean and (xs.dtype != dtype or not _strides_fit(xs)):
        xs = np.array(xs, dtype, order="F" if abs(xs.strides[0]) < abs(xs.strides[1]) else "C")
    y = _result((rows, *x.shape[1:]), np.dtype(bool) if boolean else dtype, out, beta, x)
    ys = y.view(np.uint8) if boolean else y
    if x.ndim == 2 and x.shape[1] == 1 and y.flags.c_contiguous:  # a vector, and its kernels
        xs, ys = np.ascontiguousarray(xs[:, 0]), ys.reshape(-1)
    events = active()
    event = call(xs, ys, alpha, beta, events is not None)
    if events is not None:
        events.append(event)
    return y


def dot(
    a: csr_array,
    x: Any,
    out: Any,
    alpha: Any,
    beta: Any,
    schedule: Any,
    algorithm: str,
    semiring: str,
) -> np.ndarray:
    how = None if schedule is None else as_schedule(schedule)._lower()

    def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
        limit = options.device_memory or 0
        core = _core.product if x.ndim == 1 else _core.product_columns
        return core(a._core, x, y, how, algorithm, semiring, alpha, beta, limit, traced)

    return _run(a, x, out, alpha, beta, semiring, False, call)


def _lower(a: csr_array, entry_bytes: int, schedule: Any) -> Any:
    if schedule is None:
        return _core.choose(a._core, entry_bytes, options.device_memory or 0)
    return as_schedule(schedule)._lower()


def explain(a: csr_array, dtype: np.dtype, columns: int, schedule: Any) -> Explanation:
    width = dtype.itemsize * columns
    how = _lower(a, width, schedule)
    plan = _core.price(a._core, how, width, options.device_memory or 0)
    return Explanation(**plan, flops=2 * a.nnz * columns)


def form(a: csr_array) -> csr_array:
    """A^T, its rows sorted; duplicates stay, in the order of A's arrays."""
    return type(a)._wrap(_core.transpose(a._core))


class Transposed:
    """A^T as a view of A: shape, dtype, `@` and the products of `scipy.sparse.linalg`, nothing copied."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, base: csr_array) -> None:
        self._base = base

    @property
    def shape(self) -> tuple[int, int]:
        return self._base.shape[::-1]

    @property
    def dtype(self) -> np.dtype:
        return self._base.dtype

    @property
    def nnz(self) -> int:
        return self._base.nnz

    @property
    def T(self) -> csr_array:
        return self._base

    def __repr__(self) -> str:
        return f"<transpose of {self._base!r}>"

    def dot(
        self,
        x: Any,
        *,
        out: np.ndarray | None = None,
        alpha: complex | None = None,
        beta: complex | None = None,
        semiring: str = "plus_times",
    ) -> np.ndarray:
        """y = alpha A^T x + beta out; x has A's rows, y its columns. See `csr_array.dot`.

        A^T is not formed: entries of y are added to as A is read. For a two-dimensional x, a transpose that `formed`
        has made is used instead, which is faster."""
        formed = self._base._derived.get("transpose")
        if formed is not None and np.ndim(x) == 2:
            return dot(formed, x, out, alpha, beta, None, "auto", semiring)

        def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any, traced: bool) -> Any:
            vector = x.ndim == 1
            core = _core.product_transposed if vector else _core.product_columns_transposed
            return core(self._base._core, x, y, semiring, alpha, beta, traced)

        return _run(self._base, x, out, alpha, beta, semiring, True, call)

    def __matmul__(self, x: Any) -> Any:
        return sparse_product(self, x) if is_sparse(x) else self.dot(x)

    def __rmatmul__(self, x: Any) -> Any:
        return sparse_product(x, self) if is_sparse(x) else from_left(self._base, x)

    def matvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        return self.dot(x.reshape(-1)).reshape((-1, 1) if x.ndim == 2 else (-1,))

    def rmatvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        y = conj(self._base.dot(conj(x.reshape(-1))))
        return y.reshape((-1, 1) if x.ndim == 2 else (-1,))

    def matmat(self, x: np.ndarray) -> np.ndarray:
        return self.dot(x)

    def rmatmat(self, x: np.ndarray) -> np.ndarray:
        return conj(self._base.dot(conj(np.asarray(x))))

    def formed(self) -> csr_array:
        """A^T as a csr_array of its own, columns ascending in each row; made once and kept with A."""
        if "transpose" not in self._base._derived:
            self._base._derived["transpose"] = form(self._base)
        return self._base._derived["transpose"]

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csc_array` that shares what `csr_array.to_scipy` shares."""
        return self._base.to_scipy().T

    def toarray(self) -> np.ndarray:
        return self._base.toarray().T

    def tocsr(self) -> Any:
        """The transpose formed, as a `scipy.sparse.csr_array`."""
        return self.to_scipy().tocsr()
