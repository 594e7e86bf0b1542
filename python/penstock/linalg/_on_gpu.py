"""Right-hand sides on a GPU: what the core's methods take there, and what others say of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.device import DeviceArray, Library, is_on_gpu, library_of
from penstock._arrays.libraries import Jax
from penstock._arrays.out import is_contiguous
from penstock._matrix.csr import csr_array
from penstock._product.gpu_vectors import device_operator
from penstock.linalg._amg.finest import streams
from penstock.linalg._checks import require_callable
from penstock.linalg._info import SolveInfo, make_info
from penstock.linalg._names import METHODS, preconditioner_named
from penstock.linalg._operators import as_op, real_dtype, require_square
from penstock.linalg.multigrid import AMG
from penstock.linalg.preconditioners import Jacobi

_TO_HOST = "b.get() of CuPy, b.cpu() of PyTorch"


def is_there(*vectors: Any) -> bool:
    """Whether one of them is an array on a GPU."""
    return any(is_on_gpu(v) for v in vectors)


def refuse(method: str, *vectors: Any) -> None:
    """Raises TypeError for arrays on a GPU, where `method` has its vectors in host memory."""
    if is_there(*vectors):
        there = ", ".join(name for name, one in METHODS.items() if one.core)
        raise TypeError(
            f"{method} has its vectors in host memory, and is given an array on a GPU: give one in host memory "
            f"({_TO_HOST}); {there} take b and x0 on a GPU"
        )


def solve(
    method: str,
    a: Any,
    b: Any,
    x0: Any,
    M: Any,
    callback: Any,
    settings: dict[str, Any],
    out: Any = None,
) -> tuple[Any, Any]:
    """A method of the core with b on a GPU: x is an array of b's library there, or `out`, which is one. `callback` gets
    x, after each cycle of gmres and after each iteration of others."""
    require_callable(callback)
    if callback is not None and isinstance(library_of(b), Jax):
        raise TypeError(
            "b is an array of JAX, which nobody may write, so that no callback sees x change: leave callback out, or "
            "give b as an array of CuPy or PyTorch"
        )
    library, rhs = _right_hand_side(a, b)
    n = require_square(a)
    op = _operator(a, rhs)
    m = _preconditioner(M, a, rhs)
    guess = _guess(x0, rhs, library, M, n)
    x = _result(out, b, rhs, library, n)
    found = library.look(x)
    assert found is not None

    def call(iteration: int, residual: float) -> None:
        if method != "gmres" or iteration == 0:
            callback(x)

    settings = {
        **settings,
        "starts_at_zero": guess is None,
        "callback": None if callback is None else call,
    }
    stream = library.stream(rhs.gpu)
    told = _core.solve_at(method, op, m, rhs.pointer, found.pointer, guess, stream, settings)
    info: SolveInfo = make_info(told, op)
    return (library.finish(x, rhs.gpu, stream) if out is None else out), info


def _right_hand_side(a: Any, b: Any) -> tuple[Library, DeviceArray]:
    library = library_of(b)
    seen = None if library is None else library.look(b)
    if library is None or seen is None:
        raise TypeError(
            f"x0 is on a GPU, and b is {type(b).__name__} in host memory: give both on the GPU, or both in host memory"
        )
    if not isinstance(a, csr_array):
        raise TypeError(
            f"b is on GPU {seen.gpu}, and A is {type(a).__name__}, which the host applies: give a csr_array on that "
            f"GPU, or b in host memory ({_TO_HOST})"
        )
    if "c" in (seen.dtype.kind, a.dtype.kind):
        raise TypeError(
            f"b is on GPU {seen.gpu}, where solvers are built for real numbers: complex systems are solved with b in "
            f"host memory ({_TO_HOST})"
        )
    n = require_square(a)
    if seen.shape not in ((n,), (n, 1)):
        raise ValueError(
            f"b has shape {seen.shape}: A is {n} x {n}, so give ({n},) or ({n}, 1): on a GPU one right-hand side at a "
            "time"
        )
    wanted = real_dtype(a, seen)
    if wanted != seen.dtype:
        raise TypeError(
            f"b is {seen.dtype} and A {a.dtype}, for which x is {wanted}, and nothing is converted on a GPU: give b in "
            f"{wanted}" + ("" if seen.dtype != np.float32 else ", or A.astype('float32')")
        )
    if not is_contiguous(seen):
        raise ValueError("b is not contiguous: give a copy of it")
    return library, seen


def _result(out: Any, b: Any, rhs: DeviceArray, library: Library, n: int) -> Any:
    if out is None:
        try:
            return library.empty((n,), rhs.dtype, rhs.gpu)
        except TypeError:
            raise TypeError(
                f"b is {type(b).__name__} on GPU {rhs.gpu}, of a library whose arrays cannot be made here: give b as "
                "an array of CuPy or PyTorch, or in host memory"
            ) from None
    seen = library.look(out) if library_of(out) is library else None
    fits = seen is not None and (seen.shape, seen.dtype, seen.gpu) == ((n,), rhs.dtype, rhs.gpu)
    if seen is None or not fits or not is_contiguous(seen) or not seen.writable:
        raise ValueError(
            f"out is {type(out).__name__}, and b is on GPU {rhs.gpu}: give a writable contiguous {rhs.dtype} array of "
            f"b's library there, of shape ({n},)"
        )
    return out


def _operator(a: csr_array, rhs: DeviceArray) -> Any:
    op = device_operator(a, rhs.dtype)
    if op is None:
        raise ValueError(
            f"b is on GPU {rhs.gpu}, and A is in {a.place} memory without a plan for GPUs: give "
            f"A.to(ps.device({rhs.gpu})), call A.prepare(schedule=ps.Streamed()) before, or give b in host memory "
            f"({_TO_HOST})"
        )
    if op.gpu != rhs.gpu:
        where = f"on GPU {op.gpu}" if op.gpu >= 0 else "by a plan in which the CPU takes a part"
        raise ValueError(
            f"b is on GPU {rhs.gpu}, and A is multiplied {where}: give A.to(ps.device({rhs.gpu})), a plan for that "
            f"GPU, or b in host memory ({_TO_HOST})"
        )
    return op


def _preconditioner(M: Any, a: csr_array, rhs: DeviceArray) -> Any:
    if M is None:
        return None
    m = M
    if isinstance(M, str) and (M == "jacobi" or (M == "amg" and has_levels(a))):
        m = preconditioner_named(M)(a, dtype=rhs.dtype)
    if not isinstance(m, (Jacobi, AMG)) or (isinstance(m, AMG) and m.gpu != rhs.gpu):
        name = repr(M) if isinstance(M, str) else type(M).__name__
        raise TypeError(
            f"b is on GPU {rhs.gpu}, and M is {name}, which the CPU applies: there M is None, Jacobi, or an AMG of "
            f"A.to(ps.device({rhs.gpu})); or give b in host memory ({_TO_HOST})"
        )
    if m.shape != a.shape:
        raise ValueError(f"M has shape {m.shape}, A has {a.shape}")
    if m.dtype != rhs.dtype:
        raise TypeError(
            f"M is {m.dtype} and b {rhs.dtype}, and nothing is converted on a GPU: give "
            f"{type(m).__name__}(A, dtype='{rhs.dtype}')"
        )
    return as_op(m, rhs.dtype, True, "M")


def has_levels(a: csr_array) -> bool:
    """Whether an AMG of this matrix is on a GPU."""
    return a.place == "device" or streams(a)


def _guess(x0: Any, rhs: DeviceArray, library: Library, M: Any, n: int) -> int | None:
    """The address of the first x, None for zero."""
    if x0 is None:
        return None
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0={x0!r} is unknown: give an array, None, or 'Mb' for M @ b")
        if M is not None:
            raise ValueError("x0='Mb' with an M is for b in host memory: give M @ b itself")
        return rhs.pointer
    seen = library.look(x0) if library_of(x0) is library else None
    if seen is None or seen.gpu != rhs.gpu:
        raise TypeError(
            f"b is on GPU {rhs.gpu}, and x0 is {type(x0).__name__}, not an array of b's library there: give such a one"
        )
    if seen.shape not in ((n,), (n, 1)) or not is_contiguous(seen):
        raise ValueError(f"x0 has shape {seen.shape}, b has {rhs.shape}: give the same, contiguous")
    if seen.dtype != rhs.dtype:
        raise TypeError(f"x0 is {seen.dtype} and b {rhs.dtype}, and nothing is converted on a GPU")
    return seen.pointer
