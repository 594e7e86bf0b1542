"""What a solver says beside x."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock._product.gpu_vectors import place_of

# Numbers below 0: SciPy uses -10 and -11 for bicgstab's two; the others are ours.
BREAKDOWNS = {
    "not_positive": -1,
    "bad_preconditioner": -2,
    "singular": -3,
    "not_finite": -4,
    "rho": -10,
    "omega": -11,
}


class SolveInfo(int):
    """SciPy's info, an int: 0 converged, > 0 the iterations done without converging, < 0 breakdown; with more to say.

    Attributes
    ----------
    reason : str
        "converged", or what went wrong, the numbers and the remedy.
    converged : bool
    iterations : int
        Products with A by CG and GMRES, half of them by BiCGStab.
    residuals : ndarray, float64, iterations + 1
        norm(b - A x) of the start and after each iteration, as the recurrence has it; the last one is recomputed.
        With several right-hand sides, of the column that is furthest from its tolerance.
    residual, target : float
        norm(b - A x) of the x returned, computed from it, and what it had to reach.
    seconds : float
    vector_bytes, matrix_bytes : int
        Bytes that passes over vectors moved in all, and that the matrix costs each product: both as counted from the
        algorithm, at least.
    vectors : str
        Whose memory the vectors were in: "cpu", or "gpu 0"; "cpu: ..." where a GPU had no room for them and M, and why.
    preconditioner : str
        What M="amg" made in the place of levels, and why; empty otherwise.
    resumed : int
        The iteration at which a checkpoint was taken up (`ps.dist.linalg`); 0 otherwise.
    columns : tuple of SolveInfo
        With several right-hand sides, one for each; empty otherwise.
    inner_iterations : tuple of int
        Of `refine`: the iterations in float32 of each outer step; `residuals` are then those of the start and after
        each outer step, in float64. Empty otherwise.
    """

    reason: str
    iterations: int
    residuals: np.ndarray
    residual: float
    target: float
    seconds: float
    vector_bytes: int
    matrix_bytes: int
    vectors: str
    resumed: int
    columns: tuple[SolveInfo, ...]
    inner_iterations: tuple[int, ...] = ()
    preconditioner: str = ""

    @property
    def converged(self) -> bool:
        return self == 0

    def __repr__(self) -> str:
        return (
            f"<SolveInfo {int(self)}: {self.reason}; {self.iterations} iterations, "
            f"residual {self.residual:.3g}, {self.seconds:.3g} s>"
        )

    __str__ = __repr__

    def __reduce__(self) -> Any:
        return _restore, (int(self), self.__dict__)


def _restore(number: int, state: dict[str, Any]) -> SolveInfo:
    info = SolveInfo(number)
    info.__dict__.update(state)
    return info


def renumbered(info: SolveInfo, number: int) -> SolveInfo:
    """The same with another number."""
    return _restore(number, dict(info.__dict__))


def make_info(result: dict[str, Any], op: Any) -> SolveInfo:
    """From what the core returns for the operator `op`. A solve that ends without converging after no iteration counts
    as one."""
    stop = result["stop"]
    unfinished = max(1, result["iterations"])
    info = SolveInfo(0 if stop == "converged" else BREAKDOWNS.get(stop, unfinished))
    for name in ("reason", "iterations", "residual", "target", "seconds", "vector_bytes"):
        setattr(info, name, result[name])
    info.residuals = np.asarray(result["residuals"], dtype=np.float64)
    info.matrix_bytes = op.matrix_bytes
    info.vectors = place_of(op) if result.get("vectors_on_device") else "cpu"
    info.columns = ()
    info.resumed = 0
    return info


def told(number: int, a: Any, begin: float, **facts: Any) -> SolveInfo:
    """Of a method in Python that began at `begin` (time.perf_counter).

    `facts` are reason, iterations, residuals, residual, target, and what else differs from none."""
    info = SolveInfo(number)
    info.vector_bytes, info.matrix_bytes = 0, int(getattr(a, "nbytes", 0))
    info.vectors, info.resumed, info.columns = "cpu", 0, ()
    info.seconds = time.perf_counter() - begin
    for name, value in facts.items():
        setattr(info, name, value)
    info.residuals = np.asarray(info.residuals, dtype=np.float64)
    return info


def join(columns: list[SolveInfo]) -> SolveInfo:
    """Of several right-hand sides: the first that broke down, else the one that is furthest from its target."""
    broken = [c for c in columns if c < 0]
    worst = broken[0] if broken else max(columns, key=lambda c: (int(c), c.iterations))
    info = _restore(int(worst), dict(worst.__dict__))
    if len(columns) > 1 and worst != 0:
        info.reason = f"column {columns.index(worst)}: {worst.reason}"
    info.iterations = max(c.iterations for c in columns)
    info.seconds = max(c.seconds for c in columns)
    info.columns = tuple(columns)
    return info
