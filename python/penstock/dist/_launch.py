"""Starting ranks: the command line of an mpiexec, the signals that are passed on, and how a job ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from penstock._core import CommError
from penstock.dist import _job, _mpi_find, _rank, _stderr

_RANK = Path(_rank.__file__)


def _cores() -> int:
    """Physical cores that this process may use: what launchers count as slots."""
    cores = set()
    for cpu in os.sched_getaffinity(0):
        folder = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            cores.add(folder.joinpath("core_cpus_list").read_text())
        except OSError:
            cores.add(str(cpu))
    return len(cores)


def command(
    mpi: _mpi_find.Mpi, ranks: int, threads: int | None
) -> tuple[list[str], dict[str, str]]:
    """mpiexec with its options, and what to add to the environment.

    Every rank has `threads` threads and as many cores; by default the cores are shared out. Under a batch system the
    allocation is the site's and nothing is set but what was asked for.
    """
    mpiexec = mpi.tool("mpiexec", "mpirun")
    if mpiexec is None:
        raise CommError(
            f"{mpi.libmpi} has no mpiexec beside it or on the PATH: install the MPI's launcher"
        )
    words, more = [mpiexec, "-n", str(ranks)], {"PENSTOCK_MPI": str(mpi.libmpi)}
    batch = any(name in os.environ for name in ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"))
    cores = _cores()
    if threads is not None or not batch:
        more["PENSTOCK_NUM_THREADS"] = str(
            threads or os.environ.get("PENSTOCK_NUM_THREADS") or max(1, cores // ranks)
        )
    if mpi.flavour == "openmpi":
        if os.geteuid() == 0:
            words.append("--allow-run-as-root")
        if not batch:
            each = int(more["PENSTOCK_NUM_THREADS"])
            if ranks > cores:
                words += ["--oversubscribe", "--bind-to", "none"]
            elif ranks * each > cores:
                words += ["--bind-to", "none"]
            elif each > 1:
                words += ["--map-by", f"slot:PE={each}", "--bind-to", "core"]
        if mpi.in_python:
            more |= {"OMPI_MCA_osc": "^ucx", "PMIX_MCA_psec": "native"}  # both warn without need
    else:
        more["UCX_LOG_LEVEL"] = "error"  # its warnings at the end of a job that failed say nothing
    return words, {
        k: v for k, v in more.items() if k == "PENSTOCK_NUM_THREADS" or k not in os.environ
    }


class _Signals:
    """Passes signals on to the ranks while it is entered; what is still there after `grace` seconds, or at a second
    signal, is killed. Signals that this process ignores, nohup's say, stay ignored."""

    def __init__(self, job: _job.Job, grace: float) -> None:
        self._job = job
        self._end = threading.Timer(grace, job.end)
        self._end.daemon = True
        self._before: dict[int, Any] = {}
        self.first: int | None = None

    def __enter__(self) -> _Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                if (before := signal.getsignal(number)) not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        self._end.cancel()
        for number, before in self._before.items():
            signal.signal(number, before)

    def _heard(self, number: int, _: FrameType | None) -> None:
        if self.first is not None:
            self._job.end()
            return
        self.first = number
        self._end.start()
        self.pass_on()

    def pass_on(self) -> None:
        """To all ranks; where none has begun, the job ends at once."""
        if self.first is None:
            return
        ranks = _rank.noted(str(self._job.folder), _rank.RANKS)
        if not ranks:
            self._job.end()
        for pid in set(ranks) & set(self._job.processes()):
            with contextlib.suppress(OSError):
                os.kill(pid, self.first)


def _reports(file: Path) -> list[dict[str, Any]]:
    """Of ranks on this host; a line that was cut off is none."""
    found: list[dict[str, Any]] = []
    with contextlib.suppress(OSError):
        for line in file.read_text().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def _memory(job: _job.Job) -> dict[str, str]:
    """Where Open MPI puts its files and shared memory: what it leaves behind when it is killed is then the job's."""
    more = {"PRTE_MCA_prte_local_tmpdir_base": str(job.folder)}
    if job.shared is not None:
        for part in ("btl_sm", "osc_sm", "osc_rdma"):
            more[f"OMPI_MCA_{part}_backing_directory"] = str(job.shared)
    return {k: v for k, v in more.items() if k not in os.environ}


def _for_other_hosts(mpi: _mpi_find.Mpi, environment: dict[str, str]) -> list[str]:
    """What has Open MPI's mpiexec give ranks on other hosts our variables and PYTHONPATH; other MPIs give them all."""
    if mpi.flavour != "openmpi":
        return []
    names = sorted(
        name for name in environment if name.startswith("PENSTOCK_") or name == "PYTHONPATH"
    )
    return [word for name in names for word in ("-x", name)]


def run(
    words: list[str], ranks: int, threads: int | None = None, grace: float = 1.5
) -> tuple[int, str | None]:
    """Runs a script (or -m module) with its arguments on so many ranks.

    SIGINT, SIGTERM, SIGHUP and SIGQUIT are passed on to them; `grace` seconds later, or at a second signal, those that
    are still there are killed. When this returns, and if this process is killed, the job's processes, folders and
    shared memory are gone.

    Returns
    -------
    int
        The exit code: 0, 1 where a rank raised, 128 + n where signal n killed one or was passed on, else the script's.
    str or None
        Which rank failed first, and of what; its traceback has been written to standard error.
    """
    if words[0] != "-m" and not Path(words[0]).is_file():
        raise FileNotFoundError(f"{words[0]}: there is no such script")
    mpi = _mpi_find.find()
    _mpi_find.plugin(mpi)  # compiled once, not by all ranks
    front, more = command(mpi, ranks, threads)
    job = _job.Job(_rank.JOB)
    try:
        variable, value = job.mark
        environment = {**os.environ, **more, variable: value}
        if mpi.flavour == "openmpi":
            environment |= _memory(job)
        line = [*front, *_for_other_hosts(mpi, environment), sys.executable, str(_RANK), *words]
        with _Signals(job, grace) as signals:
            errors = _stderr.Errors(job.folder, ranks)
            code = _play(line, environment, errors, job, signals)
            return _told(code, errors.complaints, ranks, job, signals.first)
    finally:
        job.close()


def _play(
    line: list[str], environment: dict[str, str], errors: _stderr.Errors, job: _job.Job, signals: _Signals
) -> int:  # fmt: skip
    """mpiexec's exit code. Nothing of the job runs any more on this host."""
    try:
        job.guard()
        process = subprocess.Popen(
            line, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
        )
        assert process.stderr is not None
        errors.start(process.stderr)
        signals.pass_on()  # one that came before there was anybody
        code = -1
        try:
            code = process.wait()
        finally:
            if code or signals.first is not None:
                job.end()
                process.wait()
    finally:
        errors.close()
    return code


def _told(
    code: int, complaints: _stderr.Complaints, ranks: int, job: _job.Job, told: int | None
) -> tuple[int, str | None]:
    """The exit code of a job, and what to say of it."""
    if told is not None:
        name = signal.Signals(told).name
        return 128 + told, None if told == signal.SIGINT else f"stopped by {name}"
    folder = str(job.folder)
    finished = complaints.finished or bool(_rank.noted(folder, _rank.FINISHED))
    if (code == 0 and finished) or len(_rank.noted(folder, _rank.DONE)) == ranks:
        return 0, None
    cause = _rank.first_cause([*_reports(job.folder / _rank.REPORT), *complaints.reports])
    if cause is None or cause.get("perhaps_by_mpi"):
        _stderr.show(complaints.held)  # a host that was lost, say
    if code == 0 and (cause is None or cause.get("perhaps_by_mpi")):
        # Open MPI's mpiexec ends with 0 where it loses a host.
        return 1, "the ranks were stopped before they had ended: a host was lost?"
    if cause is None:
        return (code if code >= 0 else 128 - code), None
    where = f" on {cause['host']}" if "host" in cause else ""
    who = f"rank {cause['rank']} of {cause['size']}{where}"
    if "ended" in cause:
        return int(cause["code"]), f"{who} {cause['ended']}; the others were stopped"
    _stderr.show([cause.get("traceback", "")])
    return 1, f"{who} failed: {cause['why']}"
