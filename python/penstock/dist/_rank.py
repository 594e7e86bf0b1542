"""One rank of `penstock run`: `python _rank.py script.py [args]` or `-m module [args]`, started by mpiexec.

The script runs in a child process, so that somebody is left to say how it died: killed, or left with an exit code.
Nothing but the standard library is imported before the child exists.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import signal
import socket
import sys
import traceback
from types import FrameType
from typing import Any, NoReturn

REPORT = "PENSTOCK_RUN_REPORT"  # "host:file": `penstock run` reads the first failure there

_PR_SET_PDEATHSIG = 1


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


def _play(words: list[str]) -> NoReturn:
    """Runs the script as Python would. An exception, and an exit code that is not 0, end the job."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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
    os._exit(code & 255)  # without MPI_Finalize, which waits for ranks that wait for this one


def report(what: dict[str, Any]) -> bool | None:
    """Leaves the cause of a failure for `penstock run` on this host: True if it is the first, False if another
    rank's is there already, None where nobody will read it."""
    host, _, file = os.environ.get(REPORT, "").partition(":")
    if not file or host != socket.gethostname():
        return None
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    except OSError:
        return None
    with os.fdopen(handle, "w") as out:
        json.dump(what, out)
    return True


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
    if report({"rank": rank, "size": size, "why": why, "traceback": text}) is None:
        name = f"rank {rank} of {size} on {socket.gethostname()}"
        print(f"{text}penstock: {name} failed: {why}", file=sys.stderr, flush=True)


def _report_end(how: str, code: int) -> None:
    """For a rank that can no longer speak."""
    rank, size = _number()
    if report({"rank": rank, "size": size, "ended": how, "code": code}) is None:
        name = f"rank {rank} of {size} on {socket.gethostname()}"
        print(f"penstock: {name} {how}", file=sys.stderr, flush=True)


def _ended(status: int, told_to: bool) -> NoReturn:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if not told_to:
            _report_end(f"was killed by signal {-code} ({signal.Signals(-code).name})", 128 - code)
        os._exit(128 - code)
    if code and not told_to:
        _report_end(f"ended with exit code {code}", code)
    os._exit(code)


def main(words: list[str]) -> NoReturn:
    child = os.fork()
    if child == 0:
        _play(words)
    told_to = False

    def forward(number: int, _: FrameType | Any) -> None:
        nonlocal told_to
        try:
            done, status = os.waitpid(child, os.WNOHANG)
        except ChildProcessError:  # main() has waited for it this moment, and says how it ended
            return
        if done:  # it died before anybody told it to
            _ended(status, told_to)
        told_to = True
        os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, forward)
    _, status = os.waitpid(child, 0)
    _ended(status, told_to)


if __name__ == "__main__":
    main(sys.argv[1:])
