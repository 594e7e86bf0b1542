"""Halo exchange between processes with a GPU each: CUDA IPC, NCCL, NVSHMEM, MPI, and through host memory."""

import pytest
from process_ranks import last_line

from penstock import _core

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(
    "strategy",
    ["auto", "index_pinned", "sync", "peer", "peer_packed", "nccl", "nvshmem", "device"],
)
def test_every_strategy_among_processes(strategy):
    if _core.device_count() < 2:
        pytest.skip("two GPUs are needed")
    used = last_line("halo_ranks.py", 2, strategy, "0,1")
    if strategy != "auto":
        assert used.startswith(strategy) or (strategy == "peer" and used == "peer_packed"), used
