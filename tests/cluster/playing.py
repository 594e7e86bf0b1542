"""How tests of the cluster start ranks on it, and read what rank 0 printed."""

from __future__ import annotations

import json
import sys
from typing import Any

import mpi_jobs
import node
import pytest
from cluster import ROOT, Cluster, Done, NotHere
from work_matrix import RANKS_OF_A_NODE

NODES = 4
RANKS = NODES * RANKS_OF_A_NODE
RATE = 12.5e6  # bytes a second: 100 Mbit/s
HEADERS = 1.15  # Ethernet, IP and TCP, acknowledgements and what ranks say besides, of the bytes themselves, at most


def made_or_skip() -> Cluster:
    try:
        return Cluster(NODES, RATE, slots=RANKS_OF_A_NODE)
    except NotHere as why:
        pytest.skip(f"no cluster in this machine: {why}")


def play(cluster: Cluster, script: str, *words: str, ranks: int = RANKS) -> Done:
    """`penstock run` on the first node; ranks give way to one another, for they share the cores of one machine."""
    line = mpi_jobs.command(ranks, ROOT / "tests" / script, *words)
    return cluster.run(
        0, line, timeout=200,
        PRTE_MCA_plm_ssh_agent=f"{sys.executable} {node.__file__}",
        PRTE_MCA_prte_default_hostfile=str(cluster.folder / "nodes"),
        OMPI_MCA_mpi_yield_when_idle="1",
        PENSTOCK_CACHE=str(cluster.folder / "cache"),
    )  # fmt: skip


def parts_of(cluster: Cluster, script: str) -> dict[str, list[dict[str, Any]]]:
    """What the ranks of a script found, part by part, each as a list with a dict of every rank."""
    done = play(cluster, script)
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    return {line["part"]: line["ranks"] for line in lines}


def of_nodes(ranks: list[dict[str, Any]]) -> list[int]:
    """What each node sent."""
    return [r["sent"] for r in ranks[::RANKS_OF_A_NODE]]
