"""What a Solver holds: A, M and the core's operators of both, made once; and a solve with them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import result_dtype
from penstock.linalg import _on_gpu
from penstock.linalg._checks import limits_of
from penstock.linalg._info import SolveInfo
from penstock.linalg._names import METHODS, method_named
from penstock.linalg._operators import require_square, vector_dtype
from penstock.linalg._solver.progress import bar
from penstock.linalg._solver.refinement import inner_copy, refined, updated
from penstock.linalg._solver.setup import prepare_products, require_refinable
from penstock.linalg._system import System, preconditioner, refined_on_device


class Ready:
    """`Solver` sets the first nine attributes from its arguments, and calls `_set_up`."""

    method: str
    inner: str | None
    callback: Callable[[np.ndarray], object] | None
    progress: bool
    _prepare: bool
    _maxiter: int | None
    _restart: int
    _tolerances: tuple[float, float]
    _inner_rtol: float

    def _set_up(self, a: Any, M: Any) -> None:
        begin = time.perf_counter()
        n = require_square(a)
        restart = min(self._restart, max(n, 1))
        self._limits = limits_of(*self._tolerances, self._maxiter, n, restart)
        kind = getattr(a, "dtype", None)
        self.dtype = result_dtype(np.float64 if kind is None else kind)
        if self.inner is not None:
            require_refinable(a, self.inner)
        # What products within the iterations multiply by.
        inside = a if self.inner is None else inner_copy(a, self.inner)
        if self._prepare:
            prepare_products(inside)
        applied = preconditioner(M, inside, n, inside.dtype if self.inner else self.dtype)
        self.A, self.shape, self.M, self._inside, self._named = a, (n, n), applied, inside, M
        self._systems: dict[np.dtype, System] = {}
        self._updates: System | None = None
        if self.inner is not None:
            self._within = System(inside, applied, np.dtype(np.float32), self._prepare)
            self._exact = System(a, None, np.dtype(np.float64), self._prepare)
            if self.method == "cg":
                self._updates = refined_on_device(a, inside, M, self._inner_rtol)
        elif METHODS[self.method].core:
            self._system(vector_dtype(a, None, applied))
        self.setup_seconds = time.perf_counter() - begin

    def _by_function(self, rhs: np.ndarray, x0: Any) -> tuple[np.ndarray, SolveInfo]:
        """By the method's function, where it is Python's or SciPy's."""
        rtol, atol = self._tolerances
        more: dict[str, Any] = {"M": self.M, "callback": self.callback, "atol": atol, "rtol": rtol}
        if METHODS[self.method].kept:
            kept = self._limits["restart"]
            more |= {"restart": kept, "callback_type": "x"}
            more["maxiter"] = -(-self._limits["maxiter"] // kept)
        else:
            more["maxiter"] = self._limits["maxiter"]
        return method_named(self.method)(self.A, rhs, x0, **more)

    def _there(self, b: Any, x0: Any, out: Any) -> tuple[Any, Any]:
        """A solve with b on a GPU."""
        if self.inner is not None or not METHODS[self.method].core:
            what = "Solver with inner" if self.inner else f"Solver by {self.method}"
            _on_gpu.refuse(what, b, x0, out)
        if self.progress:
            raise ValueError("progress=True is for b in host memory: leave it out for b on a GPU")
        parts = (self.A, b, x0, self.M, self.callback, self._limits, out)
        return _on_gpu.solve(self.method, *parts)

    def _run(self, rhs: np.ndarray, x: np.ndarray) -> SolveInfo:
        norm = float(np.linalg.norm(rhs)) if self.progress else 0.0
        rtol, atol = self._tolerances
        told = self.callback
        with bar(self.progress, self.method, max(rtol * norm, atol)) as step:

            def call(x: np.ndarray, residual: float, iteration: int) -> None:
                if step is not None:
                    step(iteration, residual)
                # gmres has x at the end of a cycle only, and calls with 0 then
                if told is not None and (self.method != "gmres" or self.inner or iteration == 0):
                    told(x)

            heard = None if step is None and told is None else call
            if self.inner is None:
                return self._system(rhs.dtype).solve(self.method, rhs, x, self._limits, heard)
            before = None
            if self._updates is not None and heard is None:
                before, ended = updated(self._updates, self._exact, rhs, x, self._limits)
                if ended:
                    return before
            parts = (self.method, rhs, x, self._limits, self._inner_rtol, self.inner, heard)
            return refined(self._exact, self._within, *parts, before)

    def _system(self, dtype: np.dtype) -> System:
        if dtype not in self._systems:  # b may be of another type than A
            named = self._named if isinstance(self._named, str) and self._systems else self.M
            self._systems[dtype] = System(self.A, named, dtype, self._prepare)
        return self._systems[dtype]
