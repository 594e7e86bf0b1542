"""Solves of ranks that have a GPU: whether all vectors can stay there, and what M is to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._product.device_vectors import _dtype
from penstock._product.operands import on_gpu
from penstock.dist._agree import agreed, any_rank
from penstock.dist._precondition.named import by_name, in_host_memory
from penstock.linalg._checks import count, tolerance
from penstock.linalg._info import SolveInfo

__all__ = [
    "can_stay",
    "described",
    "kind_of",
    "refuse_beside",
    "solve_beside",
    "why_no_room",
]

VECTORS = 14  # at most, that cg, pipecg and bicgstab take, with b, x and what M takes


def kind_of(m: Any) -> str:
    return m if isinstance(m, str) else type(m).__name__


def can_stay(a: Any, b: Any, x0: Any, m: Any, callback: Any, checkpoint: Any) -> tuple[bool, bool]:
    """Whether all vectors can stay where the matrix is, and whether some are there already: all ranks say the same."""
    if a._gpu is None:
        return False, False
    there = on_gpu(b) or on_gpu(x0)
    here = getattr(b, "ndim", 0) == 1 and not (there and not (callback is checkpoint is None))
    made = getattr(m, "_on_device", None)
    if made is not None and here:
        wide = a.dtype == np.float64 or _dtype(b) != np.float32
        shared = getattr(m, "_exchanges_as", None)
        here = m.dtype == (np.float64 if wide else np.float32) and (shared is None or shared is a)
    else:
        here = here and (m is None or (isinstance(m, str) and not in_host_memory(m)))
    not_here, any_there = any_rank(a.comm, [not here, there])
    return not not_here, not not_here and any_there


def refuse_beside(method: str, there: bool) -> None:
    """For methods whose vectors are in host memory. `there`: b or x0 is on a GPU, on some rank."""
    if there:
        raise TypeError(
            f"{method} over ranks has its vectors in host memory, and b or x0 is on a GPU: give them in host memory "
            "(b.get() of CuPy, b.cpu() of PyTorch), or take gmres"
        )


def solve_beside(
    method: str,
    a: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    m: Any,
    restart: int | None,
) -> tuple[Any, SolveInfo]:
    """Of vectors that are on the GPU, on some rank; x is beside b."""
    n = max(a.shape[0], 1)

    def check() -> dict[str, float]:
        if a.shape[0] != a.shape[1]:
            raise ValueError(f"A has shape {a.shape}: a solver needs a square matrix")
        return {
            "rtol": tolerance(rtol, "rtol"),
            "atol": tolerance(atol, "atol"),
            "maxiter": count(maxiter, 10 * n, "maxiter"),
            "restart": min(count(restart, 20, "restart"), n),
        }

    given = agreed(a.comm, check)
    wide = any_rank(a.comm, a.dtype == np.float64 or _dtype(b) != np.float32)[0]
    dtype = np.dtype(np.float64 if wide else np.float32)
    rhs, x, guess = a._gpu.vectors(b, x0, dtype)
    kept = int(given["restart"])
    settings = {
        **given,
        "maxiter": int(given["maxiter"]) * (kept if method == "gmres" else 1),
        "restart": kept,
        "starts_at_zero": not guess,
        "callback": None,
        "checkpoint_every": 0,
    }
    form = described(m, a, dtype, method)
    no_room = why_no_room(form, a, dtype, method, kept)
    if no_room:
        raise MemoryError(f"{no_room}; with b in host memory the CPU solves")
    return x, a._gpu.solve(method, rhs, x, form, settings)


def described(m: Any, a: Any, dtype: np.dtype, method: str) -> dict[str, Any] | None:
    """What M, made here where it is a name, says of itself: enough to apply it on a device. Collective."""
    if isinstance(m, str):
        m = by_name(m, a, dtype, method in ("cg", "pipecg"))
    return None if m is None else m._on_device


def why_no_room(
    form: dict[str, Any] | None, a: Any, dtype: np.dtype, method: str, restart: int
) -> str:
    """Copies M to the GPUs. "" where all ranks' have room for it beside the vectors, else the same reason on all.
    Collective."""
    if form is None or "op" not in form:
        return ""
    vectors = VECTORS + (restart if method == "gmres" else 0)
    spare = vectors * len(a.rows) * dtype.itemsize
    told = agreed(a.comm, lambda: _core.dist_gpu_keep(a._gpu._core, form["op"], spare))
    first = np.array([a.comm.rank if told else a.comm.size], dtype=np.int64)
    a.comm.all_reduce(first, "min")
    if first[0] == a.comm.size:
        return ""
    return f"rank {first[0]}: {a.comm.share(told, root=int(first[0]))}"
