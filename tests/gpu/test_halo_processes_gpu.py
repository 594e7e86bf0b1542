"""Halo exchange between processes with a GPU each: CUDA IPC, NCCL, NVSHMEM, MPI, and through host memory."""

import pytest
from process_ranks import last_line

from penstock import _core

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "strategy",
    ["auto", "index_pinned", "sync", "peer", "peer_packed", "nccl", "nvshmem", "device"],
)
def test_every_strategy_among_processes(strategy, ranks):
    if _core.device_count() < ranks:
        pytest.skip(f"{ranks} GPUs are needed")
    used = last_line("halo_ranks.py", ranks, strategy, ",".join(map(str, range(ranks))))
    if strategy != "auto":
        assert used.startswith(strategy) or (strategy == "peer" and used == "peer_packed"), used
