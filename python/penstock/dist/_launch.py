"""Starting ranks: the command line of an mpiexec, and what is shown of its complaints."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from penstock._core import CommError
from penstock.dist import _mpi_find, _rank

_RANK = Path(_rank.__file__)
_OPEN_MPI_RULE = re.compile(r"-{60,}$")
_OPEN_MPI_WORDS = re.compile(r"\b(prterun|prte|mpirun|mpiexec|MPI_ABORT|Primary job)\b")
_MPICH_WORDS = re.compile(
    r"={20}|=   |YOUR APPLICATION TERMINATED|This typically refers|Please see the FAQ|Abort\(\d+\) on node"
)


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


class Complaints:
    """The launcher's standard error, line by line. Its own banners are held back: they are shown only where nothing
    better is known of a failure."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self._block: list[str] = []

    def feed(self, line: str) -> list[str]:
        """The lines to show now."""
        line = line.replace("\0", "")
        rule = _OPEN_MPI_RULE.match(line.strip()) is not None
        if self._block or rule:
            self._block.append(line)
            if (rule and len(self._block) > 1) or len(self._block) > 30:
                block, self._block = self._block, []
                if not _OPEN_MPI_WORDS.search("".join(block)):
                    return block
                self.held += block
            return []
        if _MPICH_WORDS.match(line):
            self.held.append(line)
            return []
        return [line]

    def rest(self) -> list[str]:
        """What was held back, and a block that never ended."""
        return self.held + self._block


def _show(stream: IO[str], complaints: Complaints) -> None:
    for line in stream:
        for shown in complaints.feed(line):
            sys.stderr.write(shown)
            sys.stderr.flush()


def _cause(file: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found


def run(words: list[str], ranks: int, threads: int | None = None) -> tuple[int, str | None]:
    """Runs a script (or -m module) with its arguments on so many ranks.

    Returns
    -------
    int
        The exit code: 0, 1 where a rank raised, 128 + n where signal n killed one, 130 after Ctrl-C, else the script's.
    str or None
        Which rank failed first, and of what; its traceback has been written to standard error.
    """
    if words[0] != "-m" and not Path(words[0]).is_file():
        raise FileNotFoundError(f"{words[0]}: there is no such script")
    mpi = _mpi_find.find()
    _mpi_find.plugin(mpi)  # compiled once, not by all ranks
    front, more = command(mpi, ranks, threads)
    with tempfile.TemporaryDirectory(prefix="penstock-run-") as folder:
        report = Path(folder) / "first"
        environment = {
            **os.environ,
            **more,
            _rank.REPORT: f"{socket.gethostname()}:{report}",
        }
        line = [*front, sys.executable, str(_RANK), *words]
        process = subprocess.Popen(
            line, stderr=subprocess.PIPE, text=True, errors="replace", env=environment
        )
        complaints = Complaints()
        reader = threading.Thread(target=_show, args=(process.stderr, complaints), daemon=True)
        reader.start()
        interrupted = False
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:  # the launcher has it too, and ends its ranks
                interrupted = True
        reader.join(5)
        cause = _cause(report)
    if interrupted:
        return 130, None  # the command line says so
    if code == 0 or cause is None:
        sys.stderr.write("".join(complaints.rest()))
        return (code if code >= 0 else 128 - code), None
    who = f"rank {cause['rank']} of {cause['size']}"
    if "ended" in cause:
        return int(cause["code"]), f"{who} {cause['ended']}; the others were stopped"
    sys.stderr.write(cause["traceback"])
    return 1, f"{who} failed: {cause['why']}"
