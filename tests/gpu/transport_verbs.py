"""Every one-sided verb of a transport whose arenas are on GPUs, checked by each rank: among threads by
test_transport_gpu.py, and as a program (kind, then the GPU of each rank) among processes."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from penstock import _core

WORDS = 2 << 20  # bytes that words may lie in: what is copied here lies behind them
LARGE = 9_000_003  # bytes: more than passes through a buffer at once


def pattern(rank, size, salt=0):
    return np.random.default_rng([rank, size, salt]).integers(0, 256, size, dtype=np.uint8)


def check_bytes(t, comm, what, sizes):
    """Host memory and arenas, either way, at odd places."""
    me, n = comm.rank, comm.size
    following, before = (me + 1) % n, (me - 1) % n
    first, second = WORDS + 3, WORDS + sizes[-1] + 8
    for size in sizes:
        t.put(pattern(me, size), me, first)
        t.put(pattern(me, size, 1), following, second)
        t.barrier()
        out = np.empty(size, dtype=np.uint8)
        for r in range(n):
            t.get(out, r, first)
            np.testing.assert_array_equal(out, pattern(r, size), f"{what}: get {size} from {r}")
        t.get(out, me, second)
        np.testing.assert_array_equal(out, pattern(before, size, 1), f"{what}: put {size} here")
        t.barrier()
        t.wait(t.fetch(second, following, first, size))
        t.get(out, me, second)
        np.testing.assert_array_equal(
            out, pattern(following, size), f"{what}: fetch {size} to the arena"
        )
        t.barrier()
        t.wait(t.send(first, following, second, size))
        t.barrier()
        t.get(out, me, second)
        np.testing.assert_array_equal(out, pattern(before, size), f"{what}: send {size}")
        t.barrier()


def check_many_under_way(t, comm, what):
    """Copies of both streams at once, waited for in another order than that in which they began."""
    me, n, each, large = comm.rank, comm.size, 1000, 300_000
    t.put(pattern(me, 40 * each), me, WORDS)
    t.put(pattern(me, large, 2), me, WORDS + (1 << 20))
    t.barrier()
    landing, far = WORDS + (2 << 20), WORDS + (5 << 19)
    small = [t.fetch(landing + k * each, k % n, WORDS + k * each, each) for k in range(40)]
    bulk = [t.fetch(far + k * large, k % n, WORDS + (1 << 20), large) for k in range(8)]
    for ticket in [*reversed(small), *bulk[1::2], *bulk[::2]]:
        t.wait(ticket)
        assert t.test(ticket), f"{what}: ticket {ticket} was waited for"
    out = np.empty(40 * each, dtype=np.uint8)
    t.get(out, me, landing)
    wanted = [pattern(k % n, 40 * each)[k * each : (k + 1) * each] for k in range(40)]
    np.testing.assert_array_equal(out, np.concatenate(wanted), f"{what}: 40 small gets")
    out = np.empty(8 * large, dtype=np.uint8)
    t.get(out, me, far)
    wanted = [pattern(k % n, large, 2) for k in range(8)]
    np.testing.assert_array_equal(out, np.concatenate(wanted), f"{what}: 8 large gets")
    ticket = t.fetch(landing, (me + 1) % n, WORDS, each)
    while not t.test(ticket):
        pass
    t.barrier()


def check_words(t, comm, what, turns):
    me, n, claims = comm.rank, comm.size, 300
    claimed = []
    while (k := t.fetch_add(n - 1, 64)) < claims:
        claimed.append(k)
    t.barrier()
    everyone = np.concatenate(comm.gather(np.array(claimed, dtype=np.int64)))
    assert sorted(everyone.tolist()) == list(range(claims)), f"{what}: claims lost or doubled"
    assert t.compare_swap(me, 72, 0, 7) == 0 and t.compare_swap(me, 72, 0, 9) == 7
    numbers = np.empty(100, dtype=np.int64)
    for turn in range(1, turns + 1):
        t.put(np.full(100, me + turn), (me + 1) % n, WORDS + 128)
        t.store((me + 1) % n, 80, turn)
        while t.load(me, 80) != turn:
            pass
        t.get(numbers, me, WORDS + 128)
        assert (numbers == (me - 1) % n + turn).all(), f"{what}: turn {turn}: a store came first"
        t.barrier()
    for wrong in ((0, WORDS), (n, 0), (0, 4), (-1, 0)):
        try:
            t.load(*wrong)
        except ValueError:
            continue
        raise AssertionError(f"{what}: {wrong} is no word")
    t.barrier()


def check_sums(t, comm, what, count):
    """Exact, since they are integers; all ranks add to all ranks at once."""
    me, n = comm.rank, comm.size
    for dtype in (np.float32, np.float64):
        size = np.dtype(dtype).itemsize
        to, mine = WORDS, WORDS + 8 * count
        values = (np.arange(count) % 1000 + me).astype(dtype)
        t.put(np.zeros(count, dtype), me, to)
        t.put(values, me, mine)
        t.barrier()
        for r in range(n):
            t.accumulate(values, (me + r) % n, to)
            t.accumulate(values[:5], (me + r) % n, to + size)
            t.accumulate_from(mine, count, dtype == np.float64, (me + r) % n, to)
        t.barrier()
        sums = np.empty(count, dtype)
        t.get(sums, me, to)
        wanted = 2 * (n * (np.arange(count) % 1000) + n * (n - 1) // 2)
        wanted[1:6] += n * np.arange(5) + n * (n - 1) // 2
        np.testing.assert_array_equal(sums, wanted.astype(dtype), f"{what}: sums of {dtype}")
        t.barrier()


def check(comm, gpu, kind, large=True):
    """All of it; the transport's name."""
    what = f"{kind}, rank {comm.rank} of {comm.size}, GPU {gpu}"
    arena = (42 if large else 7) << 20
    t = _core.make_device_transport(comm, arena + 1, kind, gpu)
    assert (t.rank, t.size, t.gpu, t.arena_bytes) == (comm.rank, comm.size, gpu, arena + 8), what
    if gpu >= 0:
        with pytest.raises(_core.PlacementError, match=r"get\(\) copies from it"):
            t.arena()
    whole = np.ones(arena + 8, dtype=np.uint8)
    t.get(whole, (comm.rank + 1) % comm.size, 0)
    assert not whole.any(), f"{what}: an arena is zero at first"
    t.barrier()
    check_bytes(t, comm, what, (1, 7, 65_536, 65_537, *([LARGE] if large else [])))
    check_many_under_way(t, comm, what)
    check_words(t, comm, what, turns=20)
    check_sums(t, comm, what, 2_300_001 if large else 1001)
    check_made_again(comm, gpu, kind, what)
    name = t.name
    del t
    gc.collect()
    return name


def check_made_again(comm, gpu, kind, what):
    """Transports come and go, and another lives on meanwhile; each begins with zeros."""
    sizes = (100, 4 << 20, 3 << 20, 100, 9 << 20, 4 << 20)
    for size in sizes:
        t = _core.make_device_transport(comm, size, kind, gpu)
        whole = np.ones(t.arena_bytes, dtype=np.uint8)
        t.get(whole, (comm.rank + 1) % comm.size, 0)
        assert not whole.any(), f"{what}: an arena of {size} bytes, made again, is zero"
        t.barrier()
        t.put(whole + 1, (comm.rank + 1) % comm.size, 0)
        t.store(comm.rank, 8, 5)
        t.barrier()
        t.get(whole, comm.rank, 0)
        assert (whole == 1).all() and t.load((comm.rank + 1) % comm.size, 8) == 5, what
        t.barrier()
        del t
        gc.collect()


if __name__ == "__main__":
    from penstock.dist._gpu import _offer

    import penstock as ps

    world = ps.dist.world()
    asked, gpus = sys.argv[1], [int(g) for g in sys.argv[2].split(",")]
    _offer("nvshmem")
    try:
        used = check(world, gpus[world.rank], asked)
    except _core.PlacementError as e:
        used = f"impossible: {e}"
    if world.rank == 0:
        print(used)
