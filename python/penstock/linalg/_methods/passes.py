"""Vectors of the methods that are written in Python: operators as functions (x, y), and passes in pieces.

A pass walks pieces of a few thousand entries, which stay in a cache between the operations of the pass, and which BLAS
adds up on this thread: sums have the same bits for any number of threads, and no second pool of threads is woken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock._matrix.csr import csr_array
from penstock.linalg._operators import as_op, matrix_op, multiplied_here

PIECE = 8192  # entries; from 10,000 on OpenBLAS starts threads
Product = Callable[[np.ndarray, np.ndarray], object]


def pieces(*vectors: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Views of the vectors' pieces, side by side."""
    n = vectors[0].shape[0]
    return [tuple(v[i : i + PIECE] for v in vectors) for i in range(0, n, PIECE)]


def axpy_of(dtype: np.dtype) -> Callable[..., Any]:
    """axpy(x, y, a=alpha): y += alpha x, for contiguous pieces of `dtype`."""
    from scipy.linalg import get_blas_funcs  # takes a fifth of a second, and cg needs none

    return get_blas_funcs("axpy", dtype=dtype)


def dot(parts: Iterable[tuple[np.ndarray, ...]]) -> complex:
    """The sum of conj(x) y over pieces (x, y)."""
    return sum((complex(np.vdot(x, y)) for x, y in parts), 0j)


def norm(x: np.ndarray) -> float:
    """Of any finite entries: where their squares over- or underflow, of x divided by its largest one."""
    square = sum(float(np.vdot(v, v).real) for (v,) in pieces(x))
    if in_range(square, x.dtype):
        return float(np.sqrt(square))
    largest = float(abs(x).max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    return largest * float(np.linalg.norm(x.astype(np.result_type(x, np.float64)) / largest))


def in_range(square: float, dtype: np.dtype) -> bool:
    """Whether a sum of squares has lost nothing to overflow or underflow."""
    facts = np.finfo(dtype)
    return float(facts.tiny) / float(facts.eps) <= square <= float(facts.max)


def beyond_range(b: np.ndarray) -> str:
    """Why a method cannot begin with b: squares of its entries over- or underflow. Empty where it can."""
    size, one = norm(b), np.zeros((), b.dtype).real.dtype
    if size == 0 or float(np.finfo(one).tiny) <= size * size <= float(np.finfo(one).max):
        return ""
    return f"not finite: norm(b) = {size:.3g}, whose square is beyond {one}: divide b by {size:.0e}, multiply x by it"


def product(a: Any, dtype: np.dtype, prepare: bool) -> Product:
    """y = A x for `as_matrix`'s result: by the core's operator where products are the CPU's, which builds a plan after
    a dozen of them, else as the planner decides."""
    if not isinstance(a, csr_array):
        return _called(a.matvec, "A.matvec")
    if multiplied_here(a) and a.shape[0] == a.shape[1]:
        return matrix_op(a, dtype, prepare).apply
    return lambda x, y: a.dot(x, out=y)


def applied(m: Any, dtype: np.dtype) -> Product | None:
    """y = M x for what `preconditioner` returned."""
    if m is None:
        return None
    native = getattr(m, "_native_op", None)
    if native is not None and native.dtype == dtype.name:
        return native.apply
    if isinstance(m, csr_array):
        return as_op(m, dtype, True, "M").apply
    return _called(m.matvec, "M.matvec")


def _called(matvec: Any, name: str) -> Product:
    def call(x: np.ndarray, y: np.ndarray) -> None:
        value = as_array(matvec(x.copy()))
        if value.shape not in (y.shape, (*y.shape, 1)):
            raise ValueError(f"{name} returned an array of shape {value.shape}, not {y.shape}")
        if value.dtype.kind == "c" and y.dtype.kind != "c":
            raise TypeError(f"{name} returned complex numbers for a real vector: give a complex b")
        y[:] = value.reshape(y.shape)

    return call
