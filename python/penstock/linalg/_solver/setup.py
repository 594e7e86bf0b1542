"""What `Solver` makes ready: the products' plan; and what it asks of a second matrix and of memory for results."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._matrix.csr import csr_array
from penstock._plan.decision import on_cpu
from penstock._plan.schedules import options
from penstock.linalg._amg.place import same_entries
from penstock.linalg._checks import require_callable
from penstock.linalg._names import METHODS, method_named
from penstock.linalg._operators import WORTH_A_PLAN, multiplied_here


def prepare_products(a: Any) -> None:
    """Builds the plan of products in core on the CPU, where `a` is multiplied there and large enough."""
    if not isinstance(a, csr_array) or a.nnz < WORTH_A_PLAN or a.dtype.kind != "f":
        return
    if multiplied_here(a) and on_cpu(a, options.device_memory).usual:
        a.prepare()


def require_method(
    method: str, inner: str | None, inner_rtol: Any, restart: Any, callback: Any
) -> None:
    """Arguments of a Solver that do not go together."""
    method_named(method)
    if inner is not None and not METHODS[method].core:
        known = ", ".join(name for name, one in METHODS.items() if one.core)
        raise ValueError(f"method={method!r} cannot be refined: choose one of {known}")
    if inner is None and inner_rtol is not None:
        raise ValueError(f"inner_rtol={inner_rtol} is for refinement: give inner='float32', too")
    if restart is not None and not METHODS[method].kept:
        raise ValueError(f"restart={restart} is for gmres and fgmres, not {method}")
    require_callable(callback)


def require_refinable(a: Any, inner: str) -> None:
    if not isinstance(a, csr_array) or a.dtype != np.float64:
        what = f"{a.dtype}" if isinstance(a, csr_array) else f"a {type(a).__name__}"
        raise TypeError(
            f"inner={inner!r} refines matrices with float64 entries, and A is {what}: leave inner out"
        )


def same_pattern(a: Any, other: Any) -> None:
    """ValueError where `other` has entries at other places than `a`."""
    if tuple(a.shape) != tuple(other.shape):
        raise ValueError(
            f"A has shape {tuple(other.shape)}, the Solver's has {tuple(a.shape)}: make a new Solver"
        )
    if not isinstance(a, csr_array) or not isinstance(other, csr_array) or a is other:
        return
    if not same_entries(a, other):
        raise ValueError("A has another pattern than the Solver's matrix: make a new Solver")


def writable(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """`out` as the memory of a result. ValueError where it does not fit."""
    fits = isinstance(out, np.ndarray) and out.shape == shape and out.dtype == dtype
    if not fits or not out.flags.c_contiguous or not out.flags.writeable:
        what = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out)
        raise ValueError(
            f"out is {what}: give a writable C-contiguous {dtype} array of shape {shape}"
        )
    return out


def copied(x: np.ndarray, out: Any) -> np.ndarray:
    writable(out, x.shape, x.dtype)[...] = x
    return out
