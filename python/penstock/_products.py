"""Between csr_array and the core: shapes, types, the planner's choice, and the transposed view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._convert import as_type, result_dtype
from penstock._explain import Explanation, human_bytes, note
from penstock._schedules import as_schedule, options

if TYPE_CHECKING:
    from penstock._csr import csr_array

__all__ = ["Transposed", "dot", "explain", "human_bytes"]

SEMIRINGS = ("plus_times", "min_plus", "max_times", "or_and")


def as_dense(x: Any) -> np.ndarray:
    """A NumPy array from an array, a list, or any CPU object with `__dlpack__`."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "tocsr") or hasattr(x, "_core"):
        raise TypeError(
            "the product of two sparse matrices is not built in: A.to_scipy() @ B.to_scipy() computes it with SciPy"
        )
    if hasattr(x, "__dlpack__") and not isinstance(x, np.generic):
        return np.from_dlpack(x)
    return np.asarray(x)


def product_type(matrix: np.dtype, x: np.dtype, semiring: str) -> np.dtype:
    if semiring not in SEMIRINGS:
        raise ValueError(f"semiring={semiring!r} is unknown: choose one of {', '.join(SEMIRINGS)}")
    if semiring == "or_and":
        return np.dtype(np.uint8)
    dtype = result_dtype(matrix, x)
    if semiring != "plus_times" and dtype.kind == "c":
        raise TypeError(f"{semiring} needs an order, which complex numbers do not have")
    return dtype


def _result(shape: tuple[int, ...], dtype: np.dtype, out: Any, beta: Any, x: np.ndarray) -> np.ndarray:
    if out is None:
        if beta is not None:
            raise ValueError("beta is given without out: there is nothing to add to")
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ValueError(f"out is {got}: give an array of {dtype} and shape {shape}")
    if not out.flags.c_contiguous or not out.flags.writeable:
        raise ValueError("out must be C-contiguous and writable")
    if np.may_share_memory(out, x):
        raise ValueError("out overlaps x: give another array")
    return out


def _run(a: csr_array, x: Any, out: Any, alpha: Any, beta: Any, semiring: str, transposed: bool, call: Any) -> Any:
    x = as_dense(x)
    rows, cols = a.shape[::-1] if transposed else a.shape
    if x.ndim not in (1, 2) or x.shape[0] != cols:
        raise ValueError(f"x has shape {x.shape}: a matrix of {rows} x {cols} needs ({cols},) or ({cols}, k)")
    dtype = product_type(a.dtype, x.dtype, semiring)
    boolean = semiring == "or_and"
    xs = (x != 0).astype(np.uint8) if boolean else as_type(x, dtype, "x")
    y = _result((rows, *x.shape[1:]), np.dtype(bool) if boolean else dtype, out, beta, x)
    ys = y.view(np.uint8) if boolean else y
    if x.ndim == 1:
        note(call(np.ascontiguousarray(xs), ys, alpha, beta))
        return y
    for j in range(x.shape[1]):  # one vector at a time
        column = np.ascontiguousarray(ys[:, j]) if beta is not None else np.empty(rows, ys.dtype)
        note(call(np.ascontiguousarray(xs[:, j]), column, alpha, beta))
        ys[:, j] = column
    return y


def dot(
    a: csr_array, x: Any, out: Any, alpha: Any, beta: Any, schedule: Any, algorithm: str, semiring: str
) -> np.ndarray:
    def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any) -> Any:
        how = _lower(a, x.dtype.itemsize, schedule)
        return _core.product(a._core, x, y, how, algorithm, semiring, alpha, beta)

    return _run(a, x, out, alpha, beta, semiring, False, call)


def _lower(a: csr_array, entry_bytes: int, schedule: Any) -> Any:
    if schedule is None:
        return _core.choose(a._core, entry_bytes, options.device_memory or 0)
    return as_schedule(schedule)._lower()


def explain(a: csr_array, dtype: np.dtype, schedule: Any) -> Explanation:
    how = _lower(a, dtype.itemsize, schedule)
    plan = _core.price(a._core, how, dtype.itemsize, options.device_memory or 0)
    return Explanation(**plan, flops=2 * a.nnz)


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
        """y = alpha A^T x + beta out; x has A's rows, y its columns. See `csr_array.dot`."""

        def call(x: np.ndarray, y: np.ndarray, alpha: Any, beta: Any) -> Any:
            return _core.product_transposed(self._base._core, x, y, semiring, alpha, beta)

        return _run(self._base, x, out, alpha, beta, semiring, True, call)

    def __matmul__(self, x: Any) -> Any:
        return self.dot(x)

    def __rmatmul__(self, x: Any) -> np.ndarray:
        x = np.asarray(x)
        return self._base.dot(x) if x.ndim == 1 else self._base.dot(x.T).T

    def matvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        return self.dot(x.reshape(-1)).reshape((-1, 1) if x.ndim == 2 else (-1,))

    def rmatvec(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x)
        y = np.conj(self._base.dot(np.conj(x.reshape(-1))))
        return y.reshape((-1, 1) if x.ndim == 2 else (-1,))

    def to_scipy(self) -> Any:
        """A `scipy.sparse.csc_array` that shares what `csr_array.to_scipy` shares."""
        return self._base.to_scipy().T

    def toarray(self) -> np.ndarray:
        return self._base.toarray().T
