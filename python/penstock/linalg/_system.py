"""A and M, made ready for the core's methods: set up once, used by one solve or by many."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._product.gpu_vectors import device_operator
from penstock.linalg._diagnosis import explained
from penstock.linalg._info import SolveInfo, join, make_info
from penstock.linalg._named import by_name
from penstock.linalg._operators import as_matrix, as_op


def preconditioner(m: Any, a: Any, n: int, dtype: np.dtype) -> Any:
    """M as an object with shape and matvec, or None."""
    if m is None:
        return None
    if isinstance(m, str):
        m = by_name(m, a, dtype)
    elif not hasattr(m, "_native_op"):
        require_operand(m)
        m = as_matrix(m)
    if tuple(m.shape) != (n, n):
        raise ValueError(f"M has shape {tuple(m.shape)}, A has {(n, n)}")
    return m


def require_operand(m: Any) -> None:
    """TypeError for what is neither a matrix nor an operator."""
    if not isinstance(m, (list, tuple)) and not hasattr(m, "shape"):
        raise TypeError(
            f"M={m!r}: give the name of a preconditioner, a matrix, or an object with shape and matvec"
        )


class System:
    """The core's operators of A (`as_matrix`'s result, n x n) and M (what a solver's M may be), for vectors of `dtype`.
    `m` is M as an object with shape and matvec, or None."""

    def __init__(self, a: Any, M: Any, dtype: np.dtype, prepare: bool) -> None:
        self.a, self.dtype, self.n = a, dtype, int(a.shape[0])
        self.m = preconditioner(M, a, self.n, dtype)
        there = isinstance(a, csr_array) and dtype.kind == "f"
        self.on_device = device_operator(a, dtype) if there else None
        self.op = as_op(a, dtype, prepare) if self.on_device is None else self.on_device
        self._m_op = None if self.m is None else as_op(self.m, dtype, True, "M")

    def product(self, x: np.ndarray, y: np.ndarray) -> None:
        """y = A x, by what the planner decides where A has entries and is not the core's operator."""
        if self.on_device is None:
            self.op.apply(x, y)
        else:
            self.a.dot(x, out=y)

    def solve(
        self,
        method: str,
        rhs: np.ndarray,
        x: np.ndarray,
        limits: dict[str, Any],
        callback: Any = None,
    ) -> SolveInfo:
        """`rhs` and `x` are contiguous arrays of `dtype`, (n,) or for cg (n, k); x holds the first guess and receives
        the result. `callback(x, residual, iteration)` is called after each iteration."""
        x[..., ~rhs.any(axis=0)] = 0  # of a zero right-hand side, whatever x0: as in SciPy

        def call(iteration: int, residual: float) -> None:
            callback(x, residual, iteration)

        settings: dict[str, Any] = {
            **limits,
            "starts_at_zero": not x.any(),
            "callback": None if callback is None else call,
        }
        if rhs.ndim == 2:
            info = _solve_columns(self.op, self._m_op, rhs, x, settings)
        elif self.on_device is None:
            info = make_info(_core.solve(method, self.op, self._m_op, rhs, x, settings), self.op)
        else:
            told: list[Any] = _core.solve_on_device(
                method, self.op, self._m_op, rhs, x, 1, settings
            )
            info = make_info(told[0], self.op)
        info.preconditioner = getattr(self.m, "chosen", "")
        return explained(info, self.a, method, rhs, x)


def refined_on_device(a: Any, copy: csr_array, M: Any, at: float) -> System | None:
    """For cg with float64 vectors on a device: products by `copy`, which is `a` in lower precision, and residuals by
    `a` whenever they have come down to a part `at`. None where not both are multiplied there, or M is of the copy."""
    if M is not None and M != "jacobi":
        return None
    dtype = np.dtype(np.float64)
    system = System(a, M, dtype, False)
    low = None if system.on_device is None else device_operator(copy, dtype)
    if low is None or low.gpu != system.on_device.gpu:
        return None
    system.on_device = system.op = _core.with_exact(low, system.on_device, at)
    return system


def _solve_columns(
    op: Any, m: Any, rhs: np.ndarray, x: np.ndarray, settings: dict[str, Any]
) -> SolveInfo:
    """Columns one after the other in memory, as the core has them; x receives the result at each callback, too."""
    k = rhs.shape[1]
    if k == 0:
        raise ValueError(f"b has shape {rhs.shape}: there is no right-hand side")
    columns = np.ascontiguousarray(x.T).reshape(-1)

    def bring_back(*at: Any) -> None:
        x[:] = columns.reshape(k, -1).T
        if call is not None:
            call(*at)

    call = settings["callback"]
    if call is not None:
        settings = {**settings, "callback": bring_back}
    b = np.ascontiguousarray(rhs.T).reshape(-1)
    if isinstance(op, _core.DeviceOp):
        results = _core.solve_on_device("cg", op, m, b, columns, k, settings)
    else:
        results = _core.solve_many(op, m, b, columns, k, settings)
    x[:] = columns.reshape(k, -1).T
    return join([make_info(r, op) for r in results])
