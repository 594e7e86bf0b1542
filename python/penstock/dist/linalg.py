"""Krylov solvers, preconditioners and eigenvalues over a `ps.dist.csr_array`: `penstock.linalg`, shared out by ranks.

Every rank calls the same function with its own entries of b and gets its own entries of x; `info` is the same on all.
Sums have the same bits on every rank, so that all take the same decisions; against one rank they differ by rounding.

>>> import numpy as np, penstock as ps
>>> A = ps.generate.laplacian((30, 30))
>>> def work(comm):
...     D = ps.dist.csr_array(A, comm)
...     x, info = ps.dist.linalg.cg(D, np.ones(len(D.rows)), rtol=1e-8, M="schwarz")
...     return D.collect(x), int(info)
>>> x, info = ps.dist.run(work, 3)[0]
>>> info, bool(np.linalg.norm(A @ x - 1) <= 1.001e-8 * 30)
(0, True)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import as_array
from penstock.dist._agree import about, agreed, any_rank, total
from penstock.dist._checkpoint import Checkpoint, checksum
from penstock.dist._precondition.amg import AMG
from penstock.dist._preconditioners import (
    IC0,
    ILU0,
    AdditiveSchwarz,
    BlockJacobi,
    Chebyshev,
    Jacobi,
)
from penstock.dist._solve.columns import of_cycles, require_callback_type, solve_columns
from penstock.dist._solve.eigen import eigsh
from penstock.dist._solve.given import preconditioner
from penstock.dist._solve_gpu import (
    can_stay,
    described,
    kind_of,
    refuse_beside,
    solve_beside,
    why_no_room,
)
from penstock.linalg._checks import count, tolerance, vector
from penstock.linalg._info import SolveInfo, make_info
from penstock.linalg._names import METHODS
from penstock.linalg._operators import PREPARE_AFTER, real_dtype

__all__ = [
    "AMG",
    "IC0",
    "ILU0",
    "AdditiveSchwarz",
    "BlockJacobi",
    "Chebyshev",
    "Jacobi",
    "SolveInfo",
    "bicgstab",
    "cg",
    "eigsh",
    "fgmres",
    "gmres",
    "pipecg",
]

Callback = Callable[[np.ndarray], object]
EVERY = 100  # iterations from one checkpoint to the next
# M that are the same whoever owns which rows, by the names of their kinds.
_OF_ANY_OWNERS = {"none", *(kind.__name__.lower() for kind in (Jacobi, Chebyshev))}


def _solve(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Any,
    prepare: bool,
    checkpoint: Any,
    checkpoint_every: int,
    restart: int | None = None,
    legacy: bool = False,
    many: bool = False,
) -> tuple[np.ndarray, SolveInfo]:
    """`callback(x, residual, iteration, norm of b)` is called after each iteration."""
    call = about(
        A.comm,
        f"ps.dist.linalg.{method}",
        rtol=rtol,
        atol=atol,
        maxiter=maxiter,
        M=None if M is None else kind_of(M),
        restart=restart,
        b=f"columns {getattr(b, 'shape', ())[1:]}",
        checkpoint=None if checkpoint is None else str(checkpoint),
        checkpoint_every=checkpoint_every,
    )
    with call:
        return _solve_alike(
            method,
            A,
            b,
            x0,
            rtol,
            atol,
            maxiter,
            M,
            callback,
            prepare,
            checkpoint,
            checkpoint_every,
            restart,
            legacy,
            many,
        )


def _solve_alike(
    method: str,
    A: Any,
    b: Any,
    x0: Any,
    rtol: float,
    atol: float,
    maxiter: int | None,
    M: Any,
    callback: Any,
    prepare: bool,
    checkpoint: Any,
    checkpoint_every: int,
    restart: int | None,
    legacy: bool,
    many: bool,
) -> tuple[np.ndarray, SolveInfo]:
    """_solve of arguments that are the same on all ranks."""
    on_device, beside = can_stay(A, b, x0, M, callback, checkpoint)
    if not METHODS[method].core:
        refuse_beside(method, beside)
        on_device = False
    if beside:
        return solve_beside(method, A, b, x0, rtol, atol, maxiter, M, restart)
    comm, n, owned = A.comm, max(A.shape[0], 1), len(A.rows)
    path = None if checkpoint is None else os.fspath(checkpoint)

    def check() -> dict[str, float]:
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"A has shape {A.shape}: a solver needs a square matrix")
        vector(b, owned, real_dtype(A, as_array(b)), "b", many)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback={callback!r} is not callable")
        if path is not None and not path:  # would be the current folder
            raise ValueError(f"checkpoint={path!r} is empty: give the name of a folder, or None")
        if path is not None and as_array(b).ndim == 2 and as_array(b).shape[1] != 1:
            raise ValueError(
                "checkpoint= keeps the state of one right-hand side: solve b's columns one by one"
            )
        columns = as_array(b).shape[1] if as_array(b).ndim == 2 else 1
        if columns == 0:
            raise ValueError(f"b has shape {as_array(b).shape}: there is no right-hand side")
        return {
            "checkpoint_every": count(checkpoint_every, EVERY, "checkpoint_every"),
            "rtol": tolerance(rtol, "rtol"),
            "atol": tolerance(atol, "atol"),
            "maxiter": count(maxiter, 10 * n, "maxiter"),
            "restart": min(count(restart, 20, "restart"), n),
        }

    given = agreed(comm, check)
    # float64 where it is on some rank, and the rest of what no rank can tell alone.
    wide, guess, legacy = any_rank(
        comm, [real_dtype(A, as_array(b)) == np.float64, x0 is not None, legacy]
    )
    dtype = np.dtype(np.float64 if wide else np.float32)

    def vectors() -> tuple[np.ndarray, np.ndarray]:
        rhs = vector(b, owned, dtype, "b", many)
        x = np.zeros_like(rhs) if x0 is None else vector(x0, owned, dtype, "x0", many).copy()
        if x.shape != rhs.shape:
            raise ValueError(f"x0 has shape {np.shape(x0)}, b has {rhs.shape}: give the same")
        return rhs, x

    rhs, x = agreed(comm, vectors)
    not_zero = any_rank(comm, rhs.any(axis=0))
    x[..., ~not_zero if rhs.ndim == 2 else not not_zero[0]] = 0  # whatever x0: as in SciPy
    norm = np.sqrt(total(comm, float(np.vdot(rhs.astype(np.float64), rhs.astype(np.float64)))))

    kept, no_room = int(given["restart"]), ""
    m: Any = None
    if on_device:
        op, m = A._gpu, described(M, A, dtype, method)
        no_room = why_no_room(m, A, dtype, method, kept)
        on_device = not no_room
    if not on_device:
        op = _core.dist_op(A._core, dtype.name, PREPARE_AFTER if prepare else -1)
        m = m["op"] if no_room else preconditioner(M, A, dtype, method in ("cg", "pipecg"))
    settings: dict[str, Any] = {
        "rtol": given["rtol"],
        "atol": given["atol"],
        "maxiter": int(given["maxiter"]) * (kept if METHODS[method].kept and not legacy else 1),
        "restart": kept,
        "starts_at_zero": not (guess and any_rank(comm, x.any())[0]),
        "callback": None,
        "checkpoint_every": 0,
    }
    if callback is not None:
        settings["callback"] = lambda iteration, residual: callback(x, residual, iteration, norm)
    if rhs.ndim == 2:
        return x, solve_columns(A, op, m, rhs, x, settings)
    states = None
    if path is not None:
        rows = np.asarray(A.rows, dtype=np.int64)
        about = {
            "method": method,
            "M": "none" if M is None else kind_of(M),
            "rows": A.shape[0],
            "nonzeros": int(A.nnz),
            "dtype": dtype.name,
            "restart": kept if METHODS[method].kept else 0,
            "checksum of b": checksum(comm, rows, rhs),
        }
        tied = method in ("cg", "pipecg") and about["M"].lower() not in _OF_ANY_OWNERS
        states = Checkpoint(comm, path, rows, about, tied)
        settings.update(
            checkpoint_every=int(given["checkpoint_every"]), save=states.save, load=states.load
        )
    if on_device:
        info = A._gpu.solve(method, rhs, x, m, settings)
    else:
        (result,) = _core.dist_solve(method, A._core, op, m, rhs, x, 1, settings)
        info = make_info(result, op)
        info.vectors += f": {no_room}" if no_room else ""
    if states is not None:
        info.resumed = states.resumed
        if info.converged:
            states.remove()
    return x, info


def _plain(callback: Callback | None) -> Any:
    if callback is None or not callable(callback):
        return callback
    return lambda x, residual, iteration, norm: callback(x)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = EVERY,
) -> tuple[np.ndarray, SolveInfo]:
    """Solves A x = b by conjugate gradients, for a symmetric positive definite A that ranks share out. Collective.

    Where A is on GPUs, all vectors are, too, for one right-hand side with M None or of this module; otherwise, and
    where a GPU has no room for M, the CPU computes. `info.vectors` says which, and why there is no room. So for all
    methods of this module.

    Parameters
    ----------
    A : ps.dist.csr_array
        Real, n x n, rows and columns with the same owners; that it is symmetric is not checked.
    b : array of shape (rows owned here,), (.., 1) or (.., k)
        This rank's entries, in the order of A.rows. k right-hand sides share each product and its exchange. May be on
        A's GPU (DLPack), without callback and checkpoint; x is then beside it.
    x0 : array of b's shape, optional
        This rank's entries of the first guess; zero where it is None, also on some ranks only.
    rtol, atol, maxiter
        As for ps.linalg.cg: of the whole vectors. The same on all ranks.
    M : preconditioner, optional
        One of this module (AdditiveSchwarz, IC0, Jacobi ...), its name ("jacobi", "block_jacobi", "ilu0", "ic0",
        "chebyshev", "amg", "schwarz"), another ps.dist.csr_array, or what turns this rank's entries of r into those of
        z: a matrix or an object with shape (rows owned here, rows owned here) and matvec.
    callback : function of x, called after each iteration, optional
        With this rank's entries, which change: copy them to keep them. May be given on some ranks only. What it raises
        on one rank ends the solve on all.
    prepare : bool
        As for ps.linalg.cg, of each rank's own block.
    checkpoint : path of a folder, optional
        Every `checkpoint_every` iterations, and when maxiter is reached, all ranks write their entries of the state
        there; what is there always is one whole state. A later call with the same matrix, b, method and M goes on from
        it, with any number of ranks and any partition; with the same ones, to the same bits. x0 is then not used.
        The state is removed when a solve converges, and with it the folder, where the solve had made it and nothing
        else is in it. Checksums tell whether it is whole. All ranks need to see it (a shared file system).

    Returns
    -------
    x : array of b's shape, float32 where A and b are on all ranks, else float64: this rank's entries
    info : SolveInfo, the same on all ranks but for seconds, vector_bytes and matrix_bytes, which are this rank's
        info.resumed is the iteration that a checkpoint let it go on from, 0 without.

    Raises, on all ranks, ValueError for shapes, NaN or infinity in b or x0, arguments that differ between ranks, and a
    checkpoint of another solve or one that is damaged; OSError where a checkpoint cannot be written; CommError where a
    rank is lost.
    """
    return _solve(
        "cg",
        A,
        b,
        x0,
        rtol,
        atol,
        maxiter,
        M,
        _plain(callback),
        prepare,
        checkpoint,
        checkpoint_every,
        many=True,
    )


def pipecg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = EVERY,
) -> tuple[np.ndarray, SolveInfo]:
    """Pipelined conjugate gradients (Ghysels and Vanroose 2014, algorithm 4): `cg`'s parameters and results, one
    right-hand side.

    One sum over all ranks an iteration, which travels while M and A are applied; `cg` has two that it waits for, and
    moves fewer bytes. Its recurrences lose more digits; the true residual is checked at the end.
    """
    return _solve(
        "pipecg",
        A,
        b,
        x0,
        rtol,
        atol,
        maxiter,
        M,
        _plain(callback),
        prepare,
        checkpoint,
        checkpoint_every,
    )


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callback | None = None,
    prepare: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = EVERY,
) -> tuple[np.ndarray, SolveInfo]:
    """Stabilised biconjugate gradients (van der Vorst 1992) for a general A that ranks share out: `cg`'s parameters
    with one right-hand side. M is applied from the right; `info` as ps.linalg.bicgstab's."""
    return _solve(
        "bicgstab",
        A,
        b,
        x0,
        rtol,
        atol,
        maxiter,
        M,
        _plain(callback),
        prepare,
        checkpoint,
        checkpoint_every,
    )


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., object] | None = None,
    callback_type: str | None = None,
    prepare: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = EVERY,
) -> tuple[np.ndarray, SolveInfo]:
    """Restarted GMRES (Saad and Schultz 1986) for a general A that ranks share out: `cg`'s parameters with one
    right-hand side, and restart, maxiter and callback_type as ps.linalg.gmres has them.

    "x" calls back with this rank's entries. maxiter counts iterations where some rank gives a callback of type
    "legacy", cycles otherwise. States are kept at the end of the first cycle that ends `checkpoint_every` iterations or
    more after the one before.
    """

    def check() -> None:
        if callback_type not in (None, "x", "pr_norm", "legacy"):
            raise ValueError(
                f"callback_type={callback_type!r} is unknown: choose 'x', 'pr_norm' or 'legacy'"
            )

    agreed(A.comm, check)
    legacy = callback is not None and callback_type in (None, "legacy")
    wanted = of_cycles(callback, callback_type == "x")
    return _solve(
        "gmres",
        A,
        b,
        x0,
        rtol,
        atol,
        maxiter,
        M,
        wanted,
        prepare,
        checkpoint,
        checkpoint_every,
        restart=restart,
        legacy=legacy,
    )


def fgmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., object] | None = None,
    callback_type: str = "pr_norm",
    prepare: bool = True,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = EVERY,
) -> tuple[np.ndarray, SolveInfo]:
    """Flexible GMRES (Saad 1993): `gmres`'s parameters, for an M that may be another map each time, such as
    AMG(A, cycle="K"). Vectors are in host memory, also where A is on GPUs; 2 `restart` of them are kept.

    A state has x and its residual, as gmres's. What M remembers is not in it.
    """
    require_callback_type(A.comm, callback_type)
    wanted = of_cycles(callback, callback_type == "x")
    return _solve(
        "fgmres",
        A,
        b,
        x0,
        rtol,
        atol,
        maxiter,
        M,
        wanted,
        prepare,
        checkpoint,
        checkpoint_every,
        restart=restart,
    )
