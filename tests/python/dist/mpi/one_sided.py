"""Every one-sided verb of a transport, checked by each rank."""

import gc

import numpy as np
import pytest

import penstock as ps
from penstock import _core

CLAIMS = 3000


def check_tiles(comm):
    a = ps.generate.rmat(8, 8, seed=3, dtype=np.float64)
    x = np.arange(256 * 5.0).reshape(256, 5)
    t, y = ps.dist.tiled_array(a, comm, 40, 40), ps.dist.tiled_array(x, comm, 40)
    for how in (
        {"stationary": "a"},
        {"stationary": "c"},
        {"stationary": "b", "steal": "random"},
        {"stationary": "c", "steal": True},
        {"algorithm": "summa"},
    ):
        c = ps.dist.matmul(t, y, **how)
        np.testing.assert_allclose(c.collect(), a @ x)
        d = ps.dist.matmul(t, t, **how)
        assert d.transport == "mpi_rma"
        np.testing.assert_allclose(d.collect() @ x, a @ (a @ x))
    rows = ps.dist.tiled_array(a, comm, grid=(comm.size, 1))
    wide = np.arange(256 * 40.0).reshape(256, 40)
    z = ps.dist.tiled_array(wide, like=rows)
    for how in (
        {"stationary": "c"},
        {"stationary": "cover"},
        {"stationary": "cover", "steal": True},
    ):
        np.testing.assert_allclose(ps.dist.matmul(rows, z, **how).collect(), a @ wide)
    # Parts of products, where the first rank has most of the work.
    large = ps.generate.rmat(12, 24, seed=5, dtype=np.float64)
    large = large[np.argsort(-np.diff(large.indptr), kind="stable")]
    cut = ps.dist.tiled_array(large, comm, grid=(comm.size, 1))
    many = np.random.default_rng(5).random((4096, 400))
    for steal in (True, "random"):
        c = ps.dist.matmul(cut, ps.dist.tiled_array(many, like=cut), "c", steal=steal)
        np.testing.assert_allclose(c.collect(), large @ many)
        done, parts = np.array([c.times["own"] + c.times["stolen"]]), c.plan().products["parts"]
        comm.all_reduce(done)
        assert done[0] == parts.sum() > parts.size
        d = ps.dist.matmul(cut, cut, "c", steal=steal)
        np.testing.assert_allclose(d.collect() @ many, large @ (large @ many))
    # Single rows of a sparse B, of which near ones travel as one range; among them are empty ones.
    sparse = ps.generate.rmat(11, 4, seed=3, dtype=np.float64)
    tiles = ps.dist.tiled_array(sparse, comm, 400, 400)
    some = np.random.default_rng(4).random((2048, 3))
    for stays in "ac":
        d = ps.dist.matmul(tiles, tiles, stays)
        np.testing.assert_allclose(d.collect() @ some, sparse @ (sparse @ some))
        assert d.times["fetched_bytes"] <= d.plan().loads[comm.rank]["fetched"]
    for how in ("a", "b", "c", "cover"):  # nodes of two ranks, and of one
        c = ps.dist.matmul(rows, z, how, nodes=2)
        np.testing.assert_allclose(c.collect(), a @ wide)
        assert c.times["far_fetched_bytes"] <= c.plan().loads[comm.rank]["far_fetched"]
        if how != "cover":
            d = ps.dist.matmul(rows, rows, how, nodes=2)
            np.testing.assert_allclose(d.collect() @ wide, a @ (a @ wide))


def check(comm):
    n, me = comm.size, comm.rank
    t = _core.make_transport(comm, 100_001, "mpi_rma")
    assert (t.name, t.rank, t.size, t.arena_bytes) == ("mpi_rma", me, n, 100_008), t
    arena = t.arena()
    assert arena.ctypes.data % 64 == 0 and not arena.any()
    t.barrier()
    # bytes, at odd places
    mine = np.random.default_rng(me).random(5000)
    arena[64 : 64 + mine.nbytes] = mine.view(np.uint8)
    t.put(np.arange(7, dtype=np.uint8) + me, (me + 1) % n, 50_001)
    t.barrier()
    assert arena[50_001:50_008].tolist() == [(me - 1) % n + k for k in range(7)]
    for r in range(n):
        theirs = np.empty(5000)
        t.get(theirs, r, 64)
        np.testing.assert_array_equal(theirs, np.random.default_rng(r).random(5000))
        for row_bytes in (8, 24, 4000):  # the numbers as rows: single ones come, the others stay
            some, per = np.zeros(5000), row_bytes // 8
            rows = np.unique(np.random.default_rng(7).integers(0, 5000 // per, 300)).astype(
                np.int32
            )
            t.get_rows(some, r, 64, row_bytes, rows)
            entries = (rows[:, None] * per + np.arange(per)).ravel()
            np.testing.assert_array_equal(some[entries], theirs[entries])
            some[entries] = 0
            assert not some.any()
        # ranges of bytes, from places that do not ascend to others that do not
        starts = np.random.default_rng(8).permutation(200)[:150] * 200
        lengths = np.random.default_rng(9).integers(0, 190, 150)
        out, wanted = np.zeros(40_000, np.uint8), np.zeros(40_000, np.uint8)
        for to, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            wanted[200 * to : 200 * to + length] = theirs.view(np.uint8)[start : start + length]
        t.get_ranges(out, r, 64, np.stack([starts, 200 * np.arange(150), lengths], axis=1))
        np.testing.assert_array_equal(out, wanted)
    # claims
    claimed = []
    while (k := t.fetch_add(n - 1, 8)) < CLAIMS:
        claimed.append(k)
    assert claimed == sorted(claimed)
    everyone = np.concatenate(comm.gather(np.array(claimed, dtype=np.int64)))
    assert sorted(everyone.tolist()) == list(range(CLAIMS))
    assert t.load(n - 1, 8) == CLAIMS + n
    # a lock of compare_swap; what it guards is read and written by gets and puts
    count = np.empty(1000, dtype=np.int64)
    for _ in range(50):
        while t.compare_swap(0, 16, 0, me + 1) != 0:
            pass
        t.get(count, n // 2, 60_000)
        count += np.arange(1000)
        t.put(count, n // 2, 60_000)
        assert t.compare_swap(0, 16, me + 1, 0) == me + 1
    t.barrier()
    t.get(count, n // 2, 60_000)
    np.testing.assert_array_equal(count, 50 * n * np.arange(1000))
    # what was put before a store is there when that is loaded
    for turn in range(1, 51):
        t.put(np.full(100, me + turn), (me + 1) % n, 70_000)
        t.store((me + 1) % n, 24, turn)
        while t.load(me, 24) != turn:
            pass
        assert (arena[70_000:70_800].view(np.int64) == (me - 1) % n + turn).all()
        t.barrier()
    # sums, more than travel at once
    for dtype in (np.float32, np.float64):
        t.barrier()
        arena[64:] = 0
        t.barrier()
        for r in range(n):
            for _ in range(20):
                t.accumulate(np.arange(900, dtype=dtype) * (me + 1), r, 64)
        t.barrier()
        sums = arena[64 : 64 + 900 * dtype().itemsize].view(dtype)
        np.testing.assert_array_equal(sums, np.arange(900) * (20 * n * (n + 1) // 2))
    t.barrier()
    for wrong in ((n, 0), (0, 100_008), (0, 4), (-1, 0)):
        try:
            t.load(*wrong)
        except ValueError:
            continue
        raise AssertionError(f"{wrong} is no word of an arena")


world = ps.dist.world()
check(world)
check_tiles(world)
# Gets and puts over 64 bytes: as if they exceeded what MPI counts.
check(_core.mpi_comm(0, 60.0, 64))
_core.mpi_comm(0, 60.0)  # the usual limit again
for _ in range(20):  # windows of transports that are gone are freed when the next one is made
    t = _core.make_transport(world, 1 << 20, "mpi_rma")
    t.put(np.ones(8), (world.rank + 1) % world.size, 0)
    t.barrier()
    assert t.arena()[:64].view(float).tolist() == [1] * 8
    del t
    gc.collect()
if world.size > 1:
    with pytest.raises(_core.PlacementError, match="for ranks that are threads: choose mpi_rma"):
        _core.make_device_transport(world, 64)
kept = _core.make_transport(world, 64, "mpi_rma")  # and one that lives to the end
kept.barrier()
times = _core.get_times(kept, 0, world.size - 1, [8, 64], 0.01)
assert min(times) > 0 and _core.claim_time(kept, 0, -1) > 0
if world.rank == 0:
    print(f"{world.size} ranks of {world.name} reach each other's memory")
