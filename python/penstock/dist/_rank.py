"""One rank of `penstock run`: `python _rank.py script.py [args]` or `-m module [args]`, started by mpiexec.

The script runs in a child process, so that somebody is left to say how it died: killed, or left with an exit code.
The parent passes signals on, and kills the child when the launcher has gone. Nothing but the standard library is
imported before the child exists.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import json
import os
import re
import runpy
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

JOB = "PENSTOCK_RUN_JOB"  # "host:folder" of `penstock run`, in which are:
LOCK = "lock"  # held while the launcher lives
REPORT = "reports"  # what has failed, a line a report, which the launcher reads
ERRORS = (
    "stderr"  # a FIFO for the ranks' standard error, past mpiexec, which mixes its own words in
)
RANKS = "ranks"  # process ids, a line a rank
DONE = "done"  # a line for each rank that left with exit code 0
FINISHED = "finished"  # of rank 0, when its script has ended with exit code 0 and nobody told it to
SEGMENTS = "segments"  # names in /dev/shm, where the MPI cannot be told to put them into a folder
TOLD = "penstock-rank-report "  # before a report of a rank on another host, on its standard error
# What Open MPI ends a process with where a partner has gone: MPI_ERR_UNKNOWN, _OTHER, _INTERN and _PROC_FAILED.
_BY_MPI = (14, 16, 17, 75)
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)  # fmt: skip

_PR_SET_PDEATHSIG = 1
_SEGMENT = re.compile(
    r"/dev/shm/((?:mpich_shm|Intel_MPI|vader_segment|sm_segment|psm\d*_shm)\S*)$", re.M
)
_LOOK = 0.25  # seconds between looks at the launcher
_OTHERS_TOO = 0.3  # seconds for others that leave as this rank has, without MPI_Finalize


def _number() -> tuple[int, int]:
    """(rank, size) by the launcher's variables; (0, 1) where it sets none that are known."""
    for rank, size in (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ):
        if os.environ.get(rank, "").isdigit():
            return int(os.environ[rank]), int(os.environ.get(size, "1"))
    return 0, 1


def job_folder() -> str | None:
    """Of the `penstock run` on this host that started this process."""
    host, _, folder = os.environ.get(JOB, "").partition(":")
    return folder if folder and host == socket.gethostname() else None


def _play(words: list[str], orderly: int) -> NoReturn:
    """Runs the script as Python would. An exception, and an exit code that is not 0, end the job. What comes out of
    the pipe `orderly` says that Python ended by itself, not by os._exit or by what MPI does where a partner is lost."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    atexit.register(os.write, orderly, b".")  # the first to be registered is the last to be called
    sys.argv = words[1:] if words[0] == "-m" else words
    code = 0
    try:
        if words[0] == "-m":
            sys.path[0] = os.getcwd()
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        else:
            sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:
        if sys.excepthook is sys.__excepthook__:  # MPI has not been asked for yet
            report_error(*_number(), error)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
    if code == 0:
        sys.exit(0)  # MPI is finalized on the way
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(orderly, b".")
    os._exit(code & 255)  # without MPI_Finalize, which waits for ranks that wait for this one


def report(what: dict[str, Any]) -> bool:
    """Leaves the cause of a failure for `penstock run`; False where nobody will read it. On another host it goes as a
    line of standard error, which mpiexec passes on in pieces of 4 KB: a traceback goes before it, as any text."""
    what = {**what, "at": time.time()}
    folder = job_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            handle = os.open(
                os.path.join(folder, REPORT), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
            )
            with os.fdopen(handle, "w") as out:
                out.write(json.dumps(what) + "\n")
            return True
        return False
    if not os.environ.get(JOB):
        return False
    sys.stderr.write(what.pop("traceback", ""))
    sys.stderr.flush()
    what = {k: v[:900] if isinstance(v, str) else v for k, v in what.items()}
    what["host"] = socket.gethostname()
    with contextlib.suppress(OSError):
        os.write(2, f"{TOLD}{json.dumps(what, ensure_ascii=False)}\n".encode(errors="replace"))
    return True


def first_cause(reports: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Of several failures the one that the others follow from: where one rank ends, the MPI of its partners may end
    theirs, with an exit code. The earliest that is no such exit code, else the earliest; hosts' clocks are trusted."""
    return min(reports, key=lambda r: (r.get("perhaps_by_mpi", False), r["at"]), default=None)


def describe(error: BaseException) -> str:
    """
    >>> describe(ValueError("bad file")), describe(KeyboardInterrupt())
    ('ValueError: bad file', 'KeyboardInterrupt')
    """
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def report_error(rank: int, size: int, error: BaseException) -> None:
    """For `penstock run`, or on standard error; without the frames that started the script."""
    trace = error.__traceback__
    while trace is not None and (
        "runpy" in trace.tb_frame.f_code.co_filename
        or os.path.basename(trace.tb_frame.f_code.co_filename) == os.path.basename(__file__)
    ):
        trace = trace.tb_next
    trace = trace or error.__traceback__
    text = "".join(traceback.format_exception(type(error), error, trace))
    why = describe(error)
    if not report({"rank": rank, "size": size, "why": why, "traceback": text}):
        name = f"rank {rank} of {size} on {socket.gethostname()}"
        print(f"{text}penstock: {name} failed: {why}", file=sys.stderr, flush=True)


def _report_end(how: str, code: int, perhaps_by_mpi: bool = False) -> None:
    """For a rank that can no longer speak."""
    rank, size = _number()
    what = {"rank": rank, "size": size, "ended": how, "code": code}
    if not report({**what, "perhaps_by_mpi": perhaps_by_mpi}):
        name = f"rank {rank} of {size} on {socket.gethostname()}"
        print(f"penstock: {name} {how}", file=sys.stderr, flush=True)


def _note(name: str, *lines: object) -> None:
    """Adds to a list in the job's folder."""
    folder = job_folder()
    if folder is not None:
        with contextlib.suppress(OSError), open(os.path.join(folder, name), "a") as file:
            file.write("".join(f"{line}\n" for line in lines))


def note_segments() -> None:
    """When MPI has begun: shared memory of this process's that it leaves behind where it is killed."""
    if job_folder() is not None:
        with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
            _note(SEGMENTS, *set(_SEGMENT.findall(maps.read())))


def remove_segments() -> None:
    """Of a process that MPI has started alone by mistake: Open MPI leaves its shared memory behind."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for name in set(_SEGMENT.findall(maps.read())):
            with contextlib.suppress(OSError):
                os.unlink(f"/dev/shm/{name}")


def noted(folder: str, name: str) -> list[int]:
    """The processes in such a list."""
    try:
        with open(os.path.join(folder, name)) as file:
            return [int(line) for line in file]
    except (OSError, ValueError):
        return []


def _ended(status: int, told_to: bool, orderly: int) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if not told_to:
            _report_end(f"was killed by signal {-code} ({signal.Signals(-code).name})", 128 - code)
        os._exit(128 - code)
    if code and not told_to:
        by_mpi = code in _BY_MPI and not _by_itself(orderly)
        _report_end(f"ended with exit code {code}", code, by_mpi)
    if code == 0 and not told_to:
        _left_with_0(orderly)
        if _number()[0] == 0:
            _note_finished()
    os._exit(code)


def _note_finished() -> None:
    """Tells `penstock run` that rank 0 has ended well, and thus all ranks have met at the end."""
    if job_folder() is not None:
        _note(FINISHED, os.getpid())
    elif os.environ.get(JOB):
        with contextlib.suppress(OSError):
            os.write(2, f"{TOLD}{json.dumps(FINISHED)}\n".encode())


def _by_itself(orderly: int) -> bool:
    """Whether Python ended, and nobody ended it."""
    with contextlib.suppress(BlockingIOError):
        return bool(os.read(orderly, 1))
    return False


def _left_with_0(orderly: int) -> None:
    """mpiexec stops the other ranks where MPI was not finalized, unless they have left by then too."""
    if _by_itself(orderly):
        return
    folder, size = job_folder(), _number()[1]
    if folder is None:
        return
    _note(DONE, os.getpid())
    if len(noted(folder, DONE)) < size:
        time.sleep(_OTHERS_TOO)
    if len(noted(folder, DONE)) < size:
        _report_end("ended with exit code 0 before MPI was finalized (by os._exit?)", 1)


def _alone() -> bool:
    """Whether the launcher has gone: what it had locked is free."""
    folder = job_folder()
    if folder is None:
        return False
    try:
        with open(os.path.join(folder, LOCK)) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _settle() -> None:
    """Before the child exists: this rank's standard error, and where its shared memory is."""
    _note(RANKS, os.getpid())
    for name in [n for n in os.environ if n.endswith("_backing_directory")]:
        if not os.path.isdir(os.environ[name]):
            del os.environ[name]  # the launcher's, on another host
    folder = job_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            handle = os.open(
                os.path.join(folder, f"{ERRORS}{_number()[0]}"), os.O_WRONLY | os.O_NONBLOCK
            )
            os.set_blocking(handle, True)
            os.dup2(handle, 2)
            os.close(handle)


def _listen(heard: Iterable[int]) -> int:
    """A pipe with a byte for each of these signals. Python's sigtimedwait invents signals where a process is stopped
    for longer than it would have waited (CPython 3.11), and suspended jobs are."""
    ears, written = os.pipe()
    os.set_blocking(ears, False)
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for number in heard:
        signal.signal(number, lambda *_: None)
    return ears


def _heard(ears: int) -> bytes:
    """The signals since the last call; waits for one, at most _LOOK seconds."""
    select.select([ears], [], [], _LOOK)
    with contextlib.suppress(BlockingIOError):
        return os.read(ears, 1 << 12)
    return b""


def main(words: list[str]) -> NoReturn:
    _settle()
    ignored = [n for n in PASSED_ON if signal.getsignal(n) == signal.SIG_IGN]  # nohup's, say
    heard = {*PASSED_ON, signal.SIGCHLD}.difference(ignored)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heard)
    orderly, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(orderly)
        _play(words, write)
    os.close(write)
    os.set_blocking(orderly, False)
    ears = _listen(heard)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, heard)
    told_to = False
    while True:
        told = _heard(ears)
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _ended(status, told_to, orderly)
        for number in set(told) - {signal.SIGCHLD}:
            told_to = True
            os.kill(child, number)
        if not told and _alone():
            os.kill(child, signal.SIGKILL)
            os._exit(128 + signal.SIGKILL)


if __name__ == "__main__":
    main(sys.argv[1:])
