"""Ranks that are threads of this process, and the ranks that the program was started with."""

from __future__ import annotations

import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock import _core
from penstock._arguments import integer
from penstock._core import Comm, CommError

__all__ = ["Comm", "CommError", "run", "world"]

T = TypeVar("T")

_SECONDS_TO_BEGIN = 5.0  # for a thread; it takes microseconds
_SECONDS_TO_STOP = 10.0  # for other ranks after Ctrl-C, before they are left to themselves
_INT = -(2**31), 2**31 - 1

_reduce = Comm.all_reduce


def _all_reduce(self: Comm, values: Any, op: str = "sum") -> None:
    try:
        _reduce(self, values, op)
    except TypeError:
        given = f"{type(values).__name__} {values!r}"
        if isinstance(values, np.ndarray):
            given = f"an array of {values.dtype}"
            given += "" if values.flags.c_contiguous else ", not contiguous"
            given += "" if values.flags.writeable else ", read-only"
        raise TypeError(
            f"all_reduce: values is {given}, op is {op!r}: give a C-contiguous NumPy array of float64 or int64, which "
            "gets the result, and the name of an operation"
        ) from None


_all_reduce.__doc__ = _reduce.__doc__
# Where no overload of the core fits, its own error tells neither the argument nor its value.
Comm.all_reduce = _all_reduce  # type: ignore[method-assign,assignment]


class _Begun(threading.Event):
    """Python's Thread.start() waits without end for a thread that has no memory to begin."""

    def wait(self, timeout: float | None = None) -> bool:
        if super().wait(_SECONDS_TO_BEGIN if timeout is None else timeout):
            return True
        raise MemoryError(f"it did not begin in {_SECONDS_TO_BEGIN:g} s")


def _start(thread: threading.Thread, rank: int, ranks: int) -> None:
    thread._started = _Begun()  # type: ignore[attr-defined]
    try:
        thread.start()
    except (RuntimeError, MemoryError) as error:
        if "shutdown" in str(error):  # Python 3.12, where functions run at exit
            raise RuntimeError(
                f"no thread for rank {rank} of {ranks}: Python starts none while the program ends ({error}): call run "
                "before, or take ranks=1"
            ) from None
        raise MemoryError(
            f"no thread for rank {rank} of {ranks} ({error}): take fewer ranks, or raise the limits on memory and on "
            "processes (ulimit -v, ulimit -u)"
        ) from None


class _Ranks:
    """What the ranks of one `run` came to."""

    def __init__(self, comms: list[Comm], threads: int) -> None:
        self.comms = comms
        self.threads = threads  # of each rank
        self.results: list[Any] = [None] * len(comms)
        self.errors: list[tuple[int, BaseException]] = []  # in the order in which they happened

    def play(self, rank: int, f: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> None:
        comm = self.comms[rank]
        try:
            with _core.ThreadsHere(self.threads):
                self.results[rank] = f(comm, *args, **kwargs)
        except BaseException as e:
            self.errors.append((rank, e))
            comm.fail(f"{type(e).__name__}: {e}" if str(e) else type(e).__name__)
        finally:
            _core.leave(comm)

    def first_error(self) -> tuple[int, BaseException] | None:
        """The first that is not the echo of another rank's."""
        causes = [e for e in self.errors if not isinstance(e[1], CommError)]
        return (causes or self.errors or [None])[0]


def run(
    f: Callable[..., T],
    ranks: int,
    *args: Any,
    timeout: float | None = None,
    threads_per_rank: int | None = None,
    **kwargs: Any,
) -> list[T]:
    """Calls `f(comm, *args, **kwargs)` once a rank, on threads of this process.

    Parameters
    ----------
    f : callable
        What each rank does. Its first argument is the rank's `Comm`. Arguments are the same objects on all ranks.
    ranks : int
        Rank 0 runs on the calling thread, every other one on a thread of its own.
    timeout : float, optional
        Seconds that a rank waits for others before it gives up; by default PENSTOCK_COMM_TIMEOUT, or 300.
    threads_per_rank : int, optional
        Threads for each rank's own products; by default the ranks share those of the process equally.

    Returns
    -------
    list
        What each rank returned.

    Raises
    ------
    Exception
        The first exception of any rank, with a note that names the rank. It stops the other ranks at their next call
        of `comm`, and is raised when all have stopped. Ctrl-C does the same.
    CommError
        Where ranks wait for one another in vain.
    MemoryError
        Where there is no thread for a rank; those that had begun are stopped.
    ValueError, TypeError
        For numbers of ranks or threads that cannot be, or are no integers.
    RuntimeError
        Where two ranks or more begin while the program ends (atexit): Python 3.12 starts no threads then.

    Examples
    --------
    >>> import penstock as ps
    >>> ps.dist.run(lambda comm, x: x + comm.rank, 3, 10)
    [10, 11, 12]
    """
    ranks = integer(ranks, "ranks", _INT[0], _INT[1])  # the core knows how many there may be
    comms = _core.threads_group(ranks, timeout or 0.0)
    if threads_per_rank is None:
        threads_per_rank = max(1, _core.num_threads() // ranks)
    threads_per_rank = integer(threads_per_rank, "threads_per_rank", _INT[0], _INT[1])
    group = _Ranks(comms, threads_per_rank)
    threads = [
        threading.Thread(
            target=contextvars.copy_context().run,
            args=(group.play, rank, f, args, kwargs),
            name=f"penstock rank {rank}",
            daemon=True,
        )
        for rank in range(1, ranks)
    ]
    try:
        for rank, thread in enumerate(threads, 1):
            _start(thread, rank, ranks)
        group.play(0, f, args, kwargs)
        for thread in threads:
            thread.join()
    except BaseException as e:  # Ctrl-C while waiting for the others, or no more threads to be had
        group.errors.insert(0, (0, e))
        group.comms[0].fail(type(e).__name__)
        for thread in threads:
            if thread.is_alive():
                thread.join(_SECONDS_TO_STOP)
    error = group.first_error()
    if error is None:
        return group.results
    try:
        if hasattr(error[1], "add_note"):  # Python 3.11
            error[1].add_note(f"raised by rank {error[0]} of {ranks}")
        raise error[1]
    finally:  # the exception knows this frame and those of `play`, which must not know it
        group.errors.clear()
        del error


# What mpiexec of Open MPI, of MPICH and its kin, and srun set for each process that they start. SLURM_NTASKS is not
# among them: a batch script sees it too.
_LAUNCHERS = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK")


def launched_under_mpi() -> bool:
    """Whether this process was started as one of several ranks, by what its launcher left in the environment."""
    several = os.environ.get("SLURM_STEP_NUM_TASKS", "1") != "1"
    return several or any(name in os.environ for name in _LAUNCHERS)


def world(comm: Any = None) -> Comm:
    """All ranks that this program was started with.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional
        The ranks of this communicator instead.

    Returns
    -------
    Comm
        MPI's ranks where a launcher started this process (`penstock run -n 4 script.py`, mpiexec, srun); else one rank.
    """
    if comm is None and not launched_under_mpi():
        return _core.threads_group(1)[0]
    # It looks for the MPI of this machine, which ranks that are threads do not need.
    from penstock.dist import _mpi

    return _mpi.world(comm)
