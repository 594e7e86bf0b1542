"""What the paper reports: Cardellini, Fanfarillo, Filippone, "Sparse Matrix Computations on Clusters with GPGPUs", HPCS
2014. Its throughputs, GFLOP/s in float64 with ELL-G as the local kernel, are in plots alone; of them the text tells the
order, which is what stands here beside ours.

Figures 1 and 2: CINECA Jazz, nodes of 2 Xeon X5650 and 2 Fermi S2050, QDR InfiniBand. Figures 3 to 5: EC2 CG1, 2 Xeon
X5570 and 2 M2050, 10 Gbit/s. Figure 6: EC2 G2, one GK104 a node.
"""

from __future__ import annotations

# Our names -> the paper's. `device_indexed` is its Open MPI: a derived type on GPU memory.
STRATEGIES = {
    "sync": "Sync",
    "gather": "Scatter/Gather",
    "pinned": "Pinned",
    "index_standard": "IndexStandard",
    "index_pinned": "IndexPinned",
    "device_indexed": "Open MPI",
}
OURS = ("device", "peer", "peer_packed", "nccl", "nvshmem", "auto")

# Section VI-A: MB/s from CPU to GPU, of each of two GPUs. Those of one node share its PCIe, those of two nodes do not.
BANDWIDTH = {
    "1-2": {"pageable": 3034.9287, "pinned": 3614.0933},
    "2-1": {"pageable": 3457.4, "pinned": 5510.7},
}

# (ranks, GPUs) of one host -> the scenario of the paper that it stands for. No network is involved here.
SCENARIOS = {
    (2, 1): "1-2: two processes share a link",
    (2, 2): "2-1: each process has a link of its own",
    (4, 4): "2-2",
    (8, 8): "4-2",
}
FIGURES = {
    (2, 1): "figures 1(a) and 3",
    (2, 2): "figures 2(a) and 4",
    (4, 4): "figure 5",
    (8, 8): "figure 2(b)",
}


def scenario(ranks: int, gpus: int) -> str:
    """What the paper calls it.

    >>> scenario(2, 1), scenario(3, 3)
    ('1-2: two processes share a link', '-')
    """
    return SCENARIOS.get((ranks, gpus), "-")


def weak_edge(base: int, count: int) -> int:
    """N of the pdeN whose share on each of `count` GPUs has the size of pde`base`.

    >>> [weak_edge(160, n) for n in (1, 2, 4, 8)]
    [160, 202, 254, 320]
    """
    return round(base * count ** (1 / 3))


def shown(strategy: str) -> str:
    """
    >>> shown("index_pinned"), shown("peer")
    ('index_pinned (IndexPinned)', 'peer')
    """
    return f"{strategy} ({STRATEGIES[strategy]})" if strategy in STRATEGIES else strategy
