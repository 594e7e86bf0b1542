"""Arenas on GPUs: every verb among threads, on one GPU and on several, and among processes."""

import numpy as np
import pytest
from needed_gpus import needs
from process_ranks import last_line
from transport_verbs import check

import penstock as ps
from penstock import _core
from penstock.dist import _gets

pytestmark = pytest.mark.gpu
ON_ONE = [[0], [0, 0], [0, 0, 0, 0]]
ON_SEVERAL = [[0, 1], [0, 1, 1, 0], [0, 1, 2, 3]]


@pytest.mark.parametrize("gpus", [*ON_ONE, *ON_SEVERAL], ids=str)
def test_every_verb_among_threads(gpus):
    needs(gpus)
    try:
        names = ps.dist.run(lambda comm: check(comm, gpus[comm.rank], "auto"), len(gpus))
    except _core.PlacementError as e:
        if len(set(gpus)) > 1 and "does not reach the memory" in str(e):
            pytest.skip(str(e))
        raise
    assert names == ["peer"] * len(gpus)


@pytest.mark.gpu_small
def test_small():
    assert ps.dist.run(lambda comm: check(comm, 0, "peer", large=False), 2) == ["peer"] * 2


@pytest.mark.parametrize(
    "kind, gpus",
    [("peer", [0, 0])]
    + [(kind, on) for on in ([0, 1], [0, 1, 2, 3]) for kind in ("peer", "auto", "nvshmem")],
    ids=str,
)
def test_every_verb_among_processes(kind, gpus):
    needs(gpus)
    used = last_line("transport_verbs.py", len(gpus), kind, ",".join(map(str, gpus)))
    assert used == kind or (kind == "auto" and used in ("peer", "nvshmem")), used


def test_arenas_outlive_a_rank_that_has_gone():
    def rank(comm):
        t = _core.make_device_transport(comm, 4 << 20, "peer", 0)
        if comm.rank == 1:
            del t
            comm.barrier()
            return None
        comm.barrier()
        t.put(np.full(1 << 18, 3.0), 1, 0)
        out = np.empty(1 << 18)
        t.get(out, 1, 0)
        return out

    assert (ps.dist.run(rank, 2)[0] == 3).all()


def test_a_rank_that_fails_ends_the_others_and_the_gpu_lives():
    def rank(comm):
        t = _core.make_device_transport(comm, 4 << 20, "peer", 0)
        if comm.rank == 1:
            raise KeyError("mine")
        out = np.empty(1 << 18)
        while True:
            t.get(out, 1, 0)

    with pytest.raises(KeyError, match="mine"):
        ps.dist.run(rank, 3)
    test_small()


@pytest.mark.parametrize(
    "kind, gpus, error, message",
    [
        ("peer", [0, 4000], _core.PlacementError, "GPU 4000 does not exist"),
        ("peer", [-1, 0], ValueError, "some on the CPU"),
        ("nvshmem", [0, 0], _core.PlacementError, "threads of one|cannot be opened"),
        ("local", [0, 0], ValueError, "'local' is not one of auto, peer, nvshmem"),
    ],
)
def test_what_cannot_be_made_says_so(kind, gpus, error, message):
    def rank(comm):
        _core.make_device_transport(comm, 64, kind, gpus[comm.rank])

    with pytest.raises(error, match=message):
        ps.dist.run(rank, 2)


def test_memory_that_is_not_there_is_refused_on_all_ranks():
    def rank(comm):
        with pytest.raises(MemoryError, match=r"rank 0: cannot allocate .* on GPU 0"):
            _core.make_device_transport(comm, 1 << 44, "peer", 0)
        return _core.make_device_transport(comm, 64, "peer", 0).name

    assert ps.dist.run(rank, 2) == ["peer"] * 2


def test_gets_are_as_fast_as_copies():
    """The goal, in bench/brock2024.py, is 90 % of the probed copies from 4 MB up, several under way. Measured: 0.94 for
    64 MB, 0.68 for 4 MB, which take as long to start as to travel; below this something broke."""
    needs([0, 1])
    found = _gets.measure_gets([0, 1], 2.0)
    if found is None:
        pytest.skip("GPUs 0 and 1 do not reach each other's memory")
    peer = _core.probe(5.0, [0, 1])["gpus"][0]["peer"]["copy"]
    alone, queued = ({n: n / s for n, s in found[c]} for c in ("gets", "queued"))
    said = f"gets {alone}, 4 under way {queued}, copies {peer:.3g} B/s"
    assert alone[4 << 20] > 0.4 * peer and alone[64 << 20] > 0.8 * peer, said
    assert queued[4 << 20] > 0.6 * peer and queued[64 << 20] > 0.9 * peer, said
    assert found["claim_s"] < 5e-6 and found["gets"][0][1] < 1e-4, found
