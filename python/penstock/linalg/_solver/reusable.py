"""`Solver`: A and its preconditioner made ready once, for many right-hand sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import as_array
from penstock._choices import REFINED, SHORT_FLOATS, one_of
from penstock.linalg._checks import count, guess, tolerance, vector
from penstock.linalg._info import SolveInfo, join
from penstock.linalg._names import METHODS
from penstock.linalg._on_gpu import is_there, refuse
from penstock.linalg._operators import as_matrix, vector_dtype
from penstock.linalg._solver.ready import Ready
from penstock.linalg._solver.refinement import inner_copy
from penstock.linalg._solver.report import SolverExplanation, explain
from penstock.linalg._solver.setup import copied, require_method, same_pattern, writable

# Of a step of refinement: less costs more steps, more is beyond the inner precision for some matrices.
INNER_RTOL, SHORT_RTOL = 1e-4, 1e-2
RESTART = 20


class Solver(Ready):
    """Solves A x = b for one A and many b. A, the preconditioner and the products' plan are made ready once.

    Parameters
    ----------
    A : csr_array, SciPy sparse array, dense array, or an object with shape and matvec
    method : str
        "cg", "pipecg", "minres", "bicgstab", "gmres", "fgmres" or "block_cg": the function of that name.
    M : preconditioner, its name, or None
        As for `cg`. A name is made into a preconditioner here, and again by `update`.
    rtol, atol, maxiter : as for the method; maxiter counts iterations, of gmres and fgmres, too
    restart : int, optional
        Of gmres and fgmres: vectors kept, 20 where it is None.
    prepare : bool
        Build the plan that `A.prepare()` builds, where products go in core and A is large enough.
    inner : "float32", "bfloat16" or "float16", optional
        Iterative refinement, as `refine` does it.
    inner_rtol : float, optional
        What a step of the refinement reaches; 1e-4 where it is None, 1e-2 for 16 bits.
    callback : function of x, called after each iteration (gmres: each cycle; with `inner`: each outer step), optional
    progress : bool
        A bar on stderr while it is a terminal.

    Attributes: `A`, `M`, `method`, `shape`, `dtype`, and `setup_seconds`, which getting ready took. A Solver has
    `matvec`, so that it can be the M of `fgmres`. Threads that share one must take turns.

    Raises ValueError and TypeError as the methods and preconditioners do.

    >>> import numpy as np, penstock as ps
    >>> solver = ps.linalg.Solver(ps.generate.laplacian((30, 30)), "cg", "ic0", rtol=1e-8)
    >>> x, info = solver(np.ones(900))
    >>> X, info = solver.solve(np.eye(900)[:, :3])
    >>> info.reason, X.shape
    ('converged', (900, 3))
    """

    def __init__(
        self,
        A: Any,
        method: str = "cg",
        M: Any = None,
        *,
        rtol: float = 1e-5,
        atol: float = 0.0,
        maxiter: int | None = None,
        restart: int | None = None,
        prepare: bool = True,
        inner: str | None = None,
        inner_rtol: float | None = None,
        callback: Callable[[np.ndarray], object] | None = None,
        progress: bool = False,
    ) -> None:
        require_method(method, inner, inner_rtol, restart, callback)
        if inner is not None:
            one_of("inner", inner, REFINED)
        self.method, self.inner = method, inner
        self.callback, self.progress = callback, bool(progress)
        self._prepare, self._maxiter = bool(prepare), maxiter
        self._restart = count(restart, RESTART, "restart") if METHODS[method].kept else 0
        self._tolerances = tolerance(rtol, "rtol"), tolerance(atol, "atol")
        usual = SHORT_RTOL if inner in SHORT_FLOATS else INNER_RTOL
        self._inner_rtol = tolerance(usual if inner_rtol is None else inner_rtol, "inner_rtol")
        self._set_up(as_matrix(A), M)

    def __call__(
        self, b: Any, x0: Any = None, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, SolveInfo]:
        """x and info for b of shape (n,), (n, 1) or (n, k).

        x0 is the first guess, as for the method. out, of x's shape and type, receives x and is returned; it may be x0.
        ValueError where it does not fit. In float32 where A and b are, else in float64.

        By the core's methods b may be on the GPU that has A, as for `cg`; x0 and out are then there, too. By cg, and
        with out, nothing is allocated but by the first solve.
        """
        if is_there(b, x0, out):
            return self._there(b, x0, out)
        rhs = as_array(b)
        if rhs.ndim == 2 and rhs.shape[1] != 1:
            return self.solve(rhs, x0, out)
        if not METHODS[self.method].core:
            x, info = self._by_function(rhs, x0)
            return (x if out is None else copied(x, out)), info
        dtype = self._vectors(rhs, x0)
        rhs = vector(rhs, self.shape[0], dtype, "b", False)
        if out is None:
            x = guess(x0, rhs, self.M, False)
        else:
            x = writable(out, rhs.shape, dtype)
            if np.may_share_memory(x, rhs):
                raise ValueError(
                    "out overlaps b, which is read until the end: give out memory of its own, or a copy of b"
                )
            x[:] = 0 if x0 is None else guess(x0, rhs, self.M, False)
        return x, self._run(rhs, x)

    def solve(
        self, B: Any, x0: Any = None, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, SolveInfo]:
        """X and info for B of shape (n, k); `info.columns` has one for each.

        cg shares the products among columns, block_cg also the search directions; other methods, and refinement, take a
        column after the other.
        """
        refuse("Solver", B, x0)
        rhs = as_array(B)
        if rhs.ndim != 2 or rhs.shape[1] == 0:
            raise ValueError(f"B has shape {rhs.shape}: give ({self.shape[0]}, k), k at least 1")
        together = self.method == "block_cg" or (self.method == "cg" and self.inner is None)
        if together and self.method == "cg":
            rhs = vector(rhs, self.shape[0], self._vectors(rhs, x0), "B", True)
            X = guess(x0, rhs, self.M, True)
            info = self._run(rhs, X)
        elif self.method == "block_cg":
            X, info = self._by_function(rhs, x0)
        else:
            first = [
                None if x0 is None or isinstance(x0, str) else as_array(x0)[:, j]
                for j in range(rhs.shape[1])
            ]
            parts = [
                self(rhs[:, j], x0 if isinstance(x0, str) else first[j])
                for j in range(rhs.shape[1])
            ]
            X, info = np.stack([x for x, _ in parts], axis=1), join([i for _, i in parts])
        X = X.reshape(self.shape[0], rhs.shape[1] if rhs.ndim == 2 else 1)
        return (X if out is None else copied(X, out)), info

    def _vectors(self, b: np.ndarray, x0: Any) -> np.dtype:
        """The type of x."""
        dtype = vector_dtype(self.A, b, self.M, x0)
        if self.inner is not None and dtype.kind == "c":
            raise TypeError(
                f"b or x0 is complex, and inner={self.inner!r} refines real systems: leave inner out"
            )
        return dtype

    def matvec(self, r: Any) -> np.ndarray:
        """x for b = r, converged or not: what `fgmres` asks of an M."""
        return self(r)[0]

    def update(self, A: Any, M: Any = None) -> None:
        """Takes a matrix with the same pattern and other values; ValueError where patterns differ.

        An M that was given by name is made again; one with an `update` of its own keeps what depends on the pattern
        alone. Any other that was given as an object is to be given anew.
        """
        a = as_matrix(A)
        same_pattern(self.A, a)
        named = self._named
        keeps = M is None and hasattr(self.M, "update")
        if keeps:
            self.M.update(a if self.inner is None else inner_copy(a, self.inner))
            M = self.M
        elif M is None and self._named is not None and not isinstance(self._named, str):
            raise ValueError("M was given as an object, made of the old values: give M, or a name")
        self._set_up(a, self._named if M is None else M)
        if keeps:
            self._named = named

    def explain(self) -> SolverExplanation:
        """What getting ready and an iteration take, predicted as `A.explain` predicts products, with their bytes."""
        exact = None if self.inner is None else self.A
        restart = self._limits["restart"]
        return explain(
            self._inside, exact, self.method, self._named, self.M, restart, self.setup_seconds
        )

    def __repr__(self) -> str:
        refined = "" if self.inner is None else f", refined from {self.inner}"
        return f"<Solver by {self.method}{refined}, M {self.M}, {self.shape[0]} rows, {self.dtype}>"
