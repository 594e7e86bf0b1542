"""What every method asks of its arguments: right-hand sides, first guesses, counts and tolerances."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array, as_type


def vector(value: Any, n: int, dtype: np.dtype, name: str, many: bool) -> np.ndarray:
    """A right-hand side or a guess: (n,), (n, 1), or (n, k) where `many`, as a contiguous array of `dtype`."""
    array = as_array(value)
    fits = array.ndim in (1, 2) and array.shape[0] == n
    if not fits or (array.ndim == 2 and array.shape[1] != 1 and not many):
        shapes = f"({n},) or ({n}, 1)" + (f" or ({n}, k)" if many else "")
        raise ValueError(f"{name} has shape {array.shape}: A is {n} x {n}, so give {shapes}")
    array = as_type(array, dtype, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(n)
    finite = np.isfinite(array)
    if not finite.all():
        at = np.argwhere(~finite)[0]
        where = ", ".join(str(i) for i in at)
        raise ValueError(
            f"{name}[{where}] = {array[tuple(at)]}: {name} must hold finite numbers only"
        )
    return array


def require_callable(callback: Any) -> None:
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r} is not callable: give a function, or leave it out")


def count(value: Any, default: int, name: str) -> int:
    if value is None:
        return default
    number = operator.index(value)
    if number < 1:
        raise ValueError(f"{name}={value}: give at least 1")
    return number


def tolerance(value: Any, name: str) -> float:
    number = -1.0 if value is None or isinstance(value, str) else float(value)
    if not number >= 0:
        raise ValueError(f"{name}={value!r}: give a number, 0 or more")
    return min(number, float(np.finfo(np.float64).max))  # infinity times a zero b is no number


def guess(x0: Any, rhs: np.ndarray, m: Any, many: bool) -> np.ndarray:
    """The first x, of b's shape: zero, what was given, or M b where x0 is SciPy's word for it."""
    n, dtype = rhs.shape[0], rhs.dtype
    if x0 is None:
        return np.zeros_like(rhs)
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0={x0!r} is unknown: give an array, None, or 'Mb' for M @ b")
        if m is None:
            return rhs.copy()
        columns = [m.matvec(c) for c in (rhs.T if rhs.ndim == 2 else [rhs])]
        return np.stack(columns, axis=-1).reshape(rhs.shape).astype(dtype)
    x = vector(x0, n, dtype, "x0", many).copy()
    if x.shape != rhs.shape:
        raise ValueError(f"x0 has shape {np.shape(x0)}, b has shape {rhs.shape}: give the same")
    return x


def limits_of(rtol: Any, atol: Any, maxiter: Any, n: int, restart: int = 0) -> dict[str, Any]:
    """When the core's methods end."""
    return {
        "rtol": tolerance(rtol, "rtol"),
        "atol": tolerance(atol, "atol"),
        "maxiter": count(maxiter, 10 * max(n, 1), "maxiter"),
        "restart": restart,
    }
