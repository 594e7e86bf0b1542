"""One-sided verbs from Python, among threads; under mpiexec in test_mpi.py."""

from __future__ import annotations

import gc
import runpy
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock import _core


def rows(*numbers):
    return np.array(numbers, np.int32)


VERBS = Path(__file__).parents[2] / "gpu" / "transport_verbs.py"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_bytes_claims_and_sums(ranks):
    def rank(comm):
        t = _core.make_transport(comm, 4000)
        me = t.rank
        assert (t.name, t.size, t.arena_bytes) == ("local", ranks, 4000)
        assert repr(t) == f"<Transport: local, rank {me} of {ranks}, 4000 bytes each>"
        arena = t.arena()
        assert arena.dtype == np.uint8 and arena.shape == (4000,) and not arena.any()
        t.barrier()
        t.put(np.arange(12, dtype=np.int16).reshape(3, 4) + me, (me + 1) % ranks, 101)
        t.barrier()
        out = np.empty((3, 4), dtype=np.int16)
        for r in range(ranks):
            t.get(out, r, 101)
            np.testing.assert_array_equal(
                out, np.arange(12).reshape(3, 4) + (r + ranks - 1) % ranks
            )
        some = np.zeros((3, 4), dtype=np.int16)
        t.get_rows(some, ranks - 1, 101, 8, rows(0, 2))
        np.testing.assert_array_equal(some[[0, 2]], out[[0, 2]])
        t.get_rows(some, 0, 101, 8, rows())
        assert not some[1].any()
        claimed = [t.fetch_add(0, 8) for _ in range(50)]
        assert t.compare_swap(me, 16, 0, 7) == 0 and t.compare_swap(me, 16, 0, 9) == 7
        t.store(me, 24, -(2**62))
        t.barrier()
        assert t.load((me + 1) % ranks, 24) == -(2**62) and t.load(me, 16) == 7
        for r in range(ranks):
            t.accumulate(np.full(20, me + 1.0), r, 800)
            t.accumulate(np.full(20, me + 1, dtype=np.float32), r, 1000)
        t.barrier()
        total = ranks * (ranks + 1) / 2
        assert (arena[800:960].view(np.float64) == total).all()
        assert (arena[1000:1080].view(np.float32) == total).all()
        return claimed

    claimed = np.concatenate(ps.dist.run(rank, ranks))
    np.testing.assert_array_equal(np.sort(claimed), np.arange(50 * ranks))


def test_an_arena_lives_as_long_as_its_view():
    def rank(comm):
        t = _core.make_transport(comm, 1 << 20)
        arena = t.arena()
        t.put(np.full(1 << 17, 3.0), (comm.rank + 1) % comm.size, 0)
        t.barrier()
        del t
        gc.collect()
        assert (arena.view(np.float64) == 3).all()

    ps.dist.run(rank, 2)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda t: t.get(np.empty(9), 0, 0), ValueError, "get: 72 bytes at 0 of rank 0 lie outside its arena of 64"),
        (lambda t: t.get_rows(np.empty(9), 0, 0, 8, rows(1, 8)), ValueError, "72 bytes at 0 of rank 0 lie outside"),
        (lambda t: t.get_rows(np.empty(2), 0, 0, 8, rows(0, 2)), ValueError, "exceed the 16 bytes of the array"),
        (lambda t: t.get_rows(np.empty(8), 0, 0, 8, rows(3, 2)), ValueError, "from 0 on that ascend"),
        (lambda t: t.get_rows(np.empty(8), 0, 0, 8, rows(-1, 2)), ValueError, "from 0 on that ascend"),
        (lambda t: t.get_rows(np.empty(8), 0, 0, 0, rows(1)), ValueError, "of rows with bytes"),
        (lambda t: t.put(np.empty(1), 5, 0), ValueError, "put: there is no rank 5 among 2"),
        (lambda t: t.get(np.empty((4, 4))[:, 1], 0, 0), ValueError, "contiguous"),
        (lambda t: t.put(np.array([None]), 0, 0), ValueError, "Python objects"),
        (lambda t: t.fetch_add(1, 4), ValueError, "must start at a multiple of 8"),
        (lambda t: t.accumulate(np.ones(3, dtype=np.int32), 0, 0), TypeError, "accumulate"),
        (lambda t: t.accumulate(np.ones(9), 0, 0), ValueError, "9 numbers of 8 bytes do not fit"),
        (lambda t: t.accumulate(np.ones(1), 0, 12), ValueError, "must start at a multiple of 8"),
    ],
)  # fmt: skip
def test_wrong_places_are_named(call, error, message):
    def rank(comm):
        t = _core.make_transport(comm, 64)
        with pytest.raises(error, match=message):
            call(t)
        t.barrier()  # nobody else is disturbed

    ps.dist.run(rank, 2)


def test_a_kind_that_ranks_cannot_do():
    with pytest.raises(ValueError, match="transport 'rdma' is not one of auto, local, mpi_rma"):
        ps.dist.run(lambda comm: _core.make_transport(comm, 64, "rdma"), 2)
    with pytest.raises(Exception, match="'mpi_rma' is for ranks of MPI, and these are threads"):
        ps.dist.run(lambda comm: _core.make_transport(comm, 64, "mpi_rma"), 2)


@pytest.mark.parametrize("ranks", [1, 3])
def test_the_cpu_in_the_place_of_gpus(ranks):
    """What tests/gpu checks on GPUs; 0.2 s."""
    check = runpy.run_path(str(VERBS))["check"]
    names = ps.dist.run(lambda comm: check(comm, -1, "auto", large=False), ranks)
    assert names == ["peer"] * ranks


def test_wrong_places_of_arenas_in_gpus():
    def rank(comm):
        t = _core.make_device_transport(comm, 64)
        assert t.gpu == -1 and not t.arena().any()
        for call in (
            lambda: t.fetch(60, 0, 0, 8),
            lambda: t.send(-1, 0, 0, 1),
            lambda: t.fetch(0, 0, 0, -1),
            lambda: t.accumulate_from(0, 9, True, 0, 0),
            lambda: t.accumulate_from(4, 1, True, 0, 0),
        ):
            with pytest.raises(ValueError, match=r"arena of 64 bytes|multiple of their size"):
                call()
        with pytest.raises(_core.PlacementError, match="NVSHMEM|nvshmem"):
            _core.make_device_transport(comm, 64, "nvshmem")

    ps.dist.run(rank, 2)


def test_calibrating_measures_gets_and_claims():
    facts = ps.dist.run(lambda comm: ps.dist.calibrate(comm, seconds=0.02), 2)[1]
    found = facts["one_sided"]
    assert found["transport"] == "local" and list(found["gets"]) == ["inside"]
    sizes, times = zip(*found["gets"]["inside"], strict=True)
    assert sizes[0] == 8 and sizes[-1] == 16 << 20 and min(times) > 0 and times[-1] > times[0]
    assert 0 < found["claim_s"]["inside"] < 1e-3 and found["claim_at_once_s"] > 0
    alone = ps.dist.run(lambda comm: ps.dist.calibrate(comm, seconds=0.02), 1)[0]
    assert alone["one_sided"] is None
