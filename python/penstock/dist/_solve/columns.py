"""Several right-hand sides, and callbacks of methods that have x at the end of a cycle only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock.dist._agree import agreed
from penstock.linalg._info import SolveInfo, join, make_info


def solve_columns(
    a: Any, op: Any, m: Any, rhs: np.ndarray, x: np.ndarray, settings: dict[str, Any]
) -> SolveInfo:
    """Columns one after the other in memory, as the core has them; x receives the result at each callback, too."""
    k = rhs.shape[1]
    columns = np.ascontiguousarray(x.T).reshape(-1)
    call = settings["callback"]

    def bring_back(*at: Any) -> None:
        x[:] = columns.reshape(k, -1).T
        call(*at)

    if call is not None:
        settings = {**settings, "callback": bring_back}
    b = np.ascontiguousarray(rhs.T).reshape(-1)
    results = _core.dist_solve("cg", a._core, op, m, b, columns, k, settings)
    x[:] = columns.reshape(k, -1).T
    return join([make_info(r, op) for r in results])


def of_cycles(callback: Any, with_x: bool) -> Any:
    """What a solve calls after each iteration (and with 0 after each cycle) for gmres's callback."""
    if not callable(callback):
        return callback
    told: Callable[..., object] = callback

    def call(x: np.ndarray, residual: float, iteration: int, norm: float) -> None:
        if with_x:
            if iteration == 0:
                told(x)
        elif iteration > 0:
            told(residual / (norm or 1.0))

    return call


def require_callback_type(comm: Any, given: Any) -> None:
    """Of fgmres. Collective."""

    def check() -> None:
        if given not in ("pr_norm", "x"):
            raise ValueError(f"callback_type={given!r} is unknown: choose 'pr_norm' or 'x'")

    agreed(comm, check)
