"""A cluster in one machine: 4 nodes with 2 ranks each, started by `penstock run` on the first of them, over TCP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import work_matrix
from cluster import Cluster, NotHere
from playing import (
    HEADERS,
    NODES,
    RANKS,
    RANKS_OF_A_NODE,
    RATE,
    made_or_skip,
    of_nodes,
    parts_of,
    play,
)
from switch import BURST

SECONDS = 10.0  # from the end of a rank to that of the job
ROW = 8 * work_matrix.WIDTH  # bytes of a row of a dense factor


@pytest.fixture(scope="module")
def cluster():
    with made_or_skip() as made:
        yield made


@pytest.fixture(scope="module")
def parts(cluster):
    return parts_of(cluster, "cluster/work.py")


def test_nodes_are_apart_and_ranks_know_the_settings(parts):
    ranks = parts["where"]
    assert [r["host"] for r in ranks] == [f"node{k // RANKS_OF_A_NODE}" for k in range(RANKS)]
    for here in range(RANKS):
        for other in range(here):
            together = here // RANKS_OF_A_NODE == other // RANKS_OF_A_NODE
            for what in ("memory", "namespaces"):
                pairs = zip(ranks[here][what], ranks[other][what], strict=True)
                assert {a == b for a, b in pairs} == {together}
    # PENSTOCK_NUM_THREADS, which `penstock run` sets: ssh passes no variables on.
    assert {r["threads"] for r in ranks} == {1}


def judge(ranks, bytes_of):
    """That each node sent so many bytes and little else, no faster than its link; and that it took no eternity."""
    for k in range(NODES):
        found, predicted = ranks[k * RANKS_OF_A_NODE], bytes_of[k]
        assert predicted <= found["sent"] <= HEADERS * predicted + 100_000
        least = (predicted - BURST) / RATE
        assert least <= found["seconds"] < 20 * least + 2


def test_bytes_cross_the_links_at_their_rate(parts):
    assert all(r["right"] for r in parts["link"])
    judge(parts["link"], [RANKS_OF_A_NODE * work_matrix.MESSAGE] * NODES)


def test_products_send_the_entries_that_others_want(parts):
    """Predicted by NumPy from the matrix and the rows of each rank: an entry goes to each rank that wants it, once."""
    rows, columns = work_matrix.entries()
    owner = np.empty(work_matrix.N, np.int64)
    for rank, found in enumerate(parts["halo"]):
        assert found["right"]
        owner[found["rows"]] = rank
    wanted = np.unique(np.stack([owner[rows], columns]), axis=1)  # (rank, entry of x)
    sender, receiver = owner[wanted[1]] // RANKS_OF_A_NODE, wanted[0] // RANKS_OF_A_NODE
    entries = np.bincount(sender[sender != receiver], minlength=NODES)
    judge(parts["halo"], work_matrix.PRODUCTS * 8 * entries)


def rows_that_cross(ranks_of_a_node):
    """Of a dense B that lies on ranks band by band: how many each node sends to others, where those of its ranks that
    want a row get it once."""
    rows, columns = work_matrix.entries(work_matrix.OF_TILES)
    size = -(-work_matrix.N // RANKS)
    sent = np.zeros(NODES, np.int64)
    for first in range(0, RANKS, ranks_of_a_node):
        mine = (rows // size >= first) & (rows // size < first + ranks_of_a_node)
        for owner in range(RANKS):
            if owner // RANKS_OF_A_NODE == first // RANKS_OF_A_NODE:
                continue
            wanted = np.unique(columns[mine & (columns // size == owner)])
            between = wanted[-1] - wanted[0] + 1
            assert 8 * wanted.size >= 7 * between  # all rows between them travel, in one piece
            sent[owner // RANKS_OF_A_NODE] += between
    return sent


def test_rows_that_a_node_shares_cross_once(parts):
    apart, together = parts["c nodes=None"], parts["c nodes=auto"]
    once = ROW * rows_that_cross(RANKS_OF_A_NODE)
    assert apart[0]["right"] and together[0]["right"] and together[0]["planned"] == once.sum()
    for found, predicted in ((apart, ROW * rows_that_cross(1)), (together, once)):
        sent = np.array(of_nodes(found))
        # Open MPI over TCP: the request of a get is once or twice as long as its answer.
        assert (predicted <= sent).all() and sent.sum() <= 3 * HEADERS * predicted.sum() + 400_000
    sent = [sum(of_nodes(found)) for found in (apart, together)]
    assert sent[1] < 0.6 * sent[0], sent


def test_sums_of_a_node_cross_once(parts):
    apart, together = parts["b nodes=None"], parts["b nodes=auto"]
    assert apart[0]["right"] and together[0]["right"]
    sent = [sum(of_nodes(ranks)) for ranks in (apart, together)]
    planned = together[0]["planned"]
    assert planned <= sent[1] <= 3 * HEADERS * planned + NODES * 100_000
    assert sent[1] < 0.8 * sent[0], sent


@pytest.mark.parametrize("part", ["tiles", "solve", "search"])
def test_results_are_right(parts, part):
    assert len(parts[part]) == RANKS and all(r["right"] for r in parts[part])


def test_verbs_and_every_halo(cluster):
    """The script that ranks of one machine pass, too: all calls of a Comm, and products by every strategy."""
    done = play(cluster, "python/dist/mpi/verbs.py")
    assert done.code == 0, done
    assert done.out.startswith(f"{RANKS} ranks of MPI (Open MPI ") and done.out.endswith(" agree\n")


@pytest.mark.parametrize(
    "where, how, code, message",
    [
        ("product", "kill", 137, "was killed by signal 9 (SIGKILL); the others were stopped"),
        ("collective", "raise", 1, "failed: ValueError: no luck"),
        ("solver", "exit", 7, "ended with exit code 7; the others were stopped"),
    ],
)
def test_a_rank_that_ends_on_another_node_is_named_once(cluster, where, how, code, message):
    folder = cluster.folder / how
    folder.mkdir()
    done = play(cluster, "python/dist/mpi/deaths.py", where, how, str(folder), str(RANKS - 1))
    said = [line for line in done.err.splitlines() if "penstock: " in line]
    assert said == [f"penstock: rank {RANKS - 1} of {RANKS} on node{NODES - 1} {message}"], done
    assert done.code == code
    assert done.err.count("Traceback") == (how == "raise")
    assert done.at - float((folder / "died").read_text()) < SECONDS
    for k in range(NODES):
        assert cluster.left(k) == []


def test_a_host_that_is_lost_fails_the_job(cluster):
    """Open MPI's mpiexec then ends with exit code 0."""
    lost = []
    with Cluster(2, RATE, slots=2) as c:

        def lose():
            while not (c.folder / "job").exists():  # the ranks have met
                time.sleep(0.1)
            time.sleep(1)
            lost.append(time.time())
            c.lose(1)

        threading.Thread(target=lose, daemon=True).start()
        nobody = "-1"
        done = play(
            c, "python/dist/mpi/deaths.py", "product", "raise", str(c.folder), nobody, ranks=4
        )
        assert done.code == 1
        assert done.err.splitlines()[-1].startswith(
            "penstock: the ranks were stopped before they had"
        )
        assert done.at - lost[0] < SECONDS
        assert c.left(0) == []


def test_packets_are_late():
    """A refused connection takes a packet there and one back."""
    delay = 0.05
    text = (
        "import socket, sys, time; begun = time.monotonic()\n"
        "try: socket.create_connection(('node1', 9), 20)\n"
        "except ConnectionRefusedError: print(time.monotonic() - begun)\n"
    )
    try:
        made = Cluster(2, RATE, delay)
    except NotHere as why:
        pytest.skip(f"no late packets in this machine: {why}")
    with made:
        done = made.run(0, [sys.executable, "-c", text], timeout=30)
    assert 2 * delay <= float(done.out) < 2 * delay + 5, done


def test_nothing_is_left_of_a_cluster(cluster):
    """Also where the process that made it is killed: its nodes end, and their namespaces with them."""
    text = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from cluster import Cluster\n"
        "with Cluster(2) as c: print(c.folder, flush=True); time.sleep(60)\n"
    )
    for number in (signal.SIGINT, signal.SIGKILL):
        made = subprocess.Popen(
            [sys.executable, "-c", text, str(Path(__file__).parent)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        folder = made.stdout.readline().strip()
        assert folder, "no cluster"
        begun = time.monotonic()
        made.send_signal(number)
        made.wait(20)
        while (left := nodes_of(folder)) and time.monotonic() < begun + 10:
            time.sleep(0.05)
        assert not left
        assert not os.path.exists(folder)


def nodes_of(folder):
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        if folder.encode() in words:
            found.append(words)
    return found
