"""From what users have (csr_array, SciPy sparse, LinearOperator, preconditioner) to the core's operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import result_dtype
from penstock._matrix.changing import of_now
from penstock._matrix.csr import csr_array
from penstock._matrix.transposed import Transposed
from penstock._plan.decision import on_cpu
from penstock._plan.schedules import options

PREPARE_AFTER = 12  # products; see solver/matrix_op.hpp
WORTH_A_PLAN = 1 << 16  # nonzeros; solver/matrix_op.hpp has the same


def as_matrix(a: Any) -> Any:
    """A csr_array where `a` holds entries, those of now where it changes; otherwise the object itself, which must have
    shape and matvec."""
    a = of_now(a)
    if isinstance(a, csr_array):
        return a
    if isinstance(a, Transposed):
        return a.formed()
    if hasattr(a, "tocsr") or isinstance(a, np.ndarray):
        return csr_array(a)
    if hasattr(a, "shape") and hasattr(a, "matvec"):
        return a
    if isinstance(a, (list, tuple)):
        return csr_array(np.asarray(a))
    raise TypeError(
        f"A is {type(a).__name__}: give a csr_array, a SciPy sparse array, a dense array, or an object with shape and "
        "matvec, such as a LinearOperator"
    )


def require_square(a: Any, name: str = "A") -> int:
    shape = tuple(a.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} has shape {shape}: a solver needs a square matrix")
    return int(shape[0])


def real_dtype(a: Any, *others: Any) -> np.dtype:
    """float32 where everything is, else float64; complex numbers are refused."""
    dtypes = [np.dtype(x.dtype) for x in (a, *others) if getattr(x, "dtype", None) is not None]
    dtype = result_dtype(*dtypes) if dtypes else np.dtype(np.float64)
    if dtype.kind == "c":
        raise TypeError(
            "this is built for real numbers: the methods of penstock.linalg solve complex systems on one host"
        )
    return np.dtype(np.float32) if dtype == np.float32 else np.dtype(np.float64)


def is_complex(*operands: Any) -> bool:
    return any(t.kind == "c" for t in _types(*operands))


def _types(*operands: Any) -> list[np.dtype]:
    """Of those that have one, or are lists of numbers."""
    listed = [np.asarray(x) if isinstance(x, (list, tuple)) else x for x in operands]
    return [np.dtype(x.dtype) for x in listed if getattr(x, "dtype", None) is not None]


def vector_dtype(a: Any, *others: Any) -> np.dtype:
    """Of the vectors of a solve: float32 where A and the others are, else float64; where one is complex, complex64 or
    complex128. What has no dtype (None, a name) does not count."""
    if not is_complex(a, *others):
        return real_dtype(a, *others[:1])
    return result_dtype(*_types(a, *others))


def matrix_op(a: csr_array, dtype: np.dtype, prepare: bool) -> Any:
    if a.dtype.kind == "f" and dtype in (np.float32, np.complex64):
        a = a.astype(np.float32)
    how = on_cpu(a, options.device_memory).lowered
    return _core.matrix_op(a._core, dtype.name, how, PREPARE_AFTER if prepare else -1)


def multiplied_here(a: csr_array) -> bool:
    """Whether products are the CPU's."""
    return a.place != "device" and a._derived.stream_plans is None


def function_op(matvec: Any, n: int, dtype: np.dtype, name: str) -> Any:
    """Calls `matvec` with arrays of its own, and checks what it returns."""

    def call(x: np.ndarray, y: np.ndarray) -> None:
        value = np.asarray(matvec(x.copy()))
        if value.shape not in ((n,), (n, 1)):
            raise ValueError(f"{name} returned an array of shape {value.shape}, not ({n},)")
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise TypeError(f"{name} returned complex numbers for a real vector: give a complex b")
        y[:] = value.reshape(n)

    return _core.function_op(n, dtype.name, call)


def as_op(a: Any, dtype: np.dtype, prepare: bool, name: str = "A") -> Any:
    """The core's operator for `as_matrix`'s result, or for anything that M may be."""
    n = require_square(a, name)
    native = getattr(a, "_native_op", None)  # one of our preconditioners
    if native is not None:
        if native.dtype == dtype.name:
            return native
    elif isinstance(a, csr_array) and (dtype.kind != "c" or multiplied_here(a)):
        return matrix_op(a, dtype, prepare)
    return function_op(a.matvec, n, dtype, f"{name}.matvec")
