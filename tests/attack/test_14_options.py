"""Options and traces belong to the block, thread and task that they stand in, and to what is started inside."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps


@pytest.fixture(autouse=True)
def unchanged():
    before = (ps.options.device_memory, ps.options.gpus)
    elsewhere = in_thread(read, contextvars.Context())
    yield
    assert (ps.options.device_memory, ps.options.gpus) == before
    assert in_thread(read, contextvars.Context()) == elsewhere


def read():
    return ps.options.device_memory


def in_thread(function, context=None):
    """What a function returns in a thread of its own; in no block where a context is given."""
    got = []
    run = function if context is None else lambda: context.run(function)
    thread = threading.Thread(target=lambda: got.append(run()))
    thread.start()
    thread.join()
    return got[0]


def test_overlapping_blocks_of_two_threads():
    first, second, done = threading.Event(), threading.Event(), threading.Event()
    seen = []

    def one():
        with ps.options(device_memory="1MB"):
            first.set()
            second.wait()
            seen.append(("one inside", read()))
        seen.append(("one after", read()))
        done.set()

    def two():
        first.wait()
        with ps.options(device_memory="2MB"):
            second.set()
            done.wait()
            seen.append(("two inside", read()))
        seen.append(("two after", read()))

    threads = [threading.Thread(target=f) for f in (one, two)]
    [t.start() for t in threads]
    second.wait()
    assert read() is None
    [t.join() for t in threads]
    assert dict(seen) == {
        "one inside": 10**6,
        "one after": None,
        "two inside": 2 * 10**6,
        "two after": None,
    }
    assert read() is None


def test_many_threads_never_see_each_other():
    wrong = []

    def work(seed):
        rng = random.Random(seed)
        for _ in range(300):
            a, b = rng.randrange(1, 10**6), rng.randrange(4)
            with ps.options(device_memory=a):
                with contextlib.suppress(KeyError), ps.options(gpus=b):
                    if (ps.options.device_memory, ps.options.gpus) != (a, b):
                        wrong.append((seed, a, b))
                    raise KeyError
                if ps.options.device_memory != a or ps.options.gpus is not None:
                    wrong.append((seed, a))
            if read() is not None:
                wrong.append(seed)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        [t.start() for t in threads]
        while any(t.is_alive() for t in threads):
            if read() is not None:
                wrong.append("main")
        [t.join() for t in threads]
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


class Own(threading.Thread):
    def run(self):
        self.got = read()


def test_threads_that_are_started_inside_inherit():
    with ps.options(device_memory="3MB"), ps.options(gpus=0):
        assert in_thread(lambda: (read(), ps.options.gpus)) == (3 * 10**6, 0)
        assert in_thread(lambda: in_thread(read)) == 3 * 10**6  # and theirs
        own = Own()
        own.start()
        late, got = threading.Event(), []
        keeps = threading.Thread(target=lambda: (late.wait(), got.append(read())))
        keeps.start()
        timer = threading.Timer(0.01, lambda: got.append(read()))
        timer.start()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            assert list(pool.map(lambda _: read(), range(4))) == [3 * 10**6] * 4
    late.set()  # the block is left, the threads are not
    [t.join() for t in (own, keeps, timer)]
    assert own.got == 3 * 10**6 and got == [3 * 10**6] * 2
    assert in_thread(read) is None


def test_of_two_threads_with_blocks_each_is_the_parent_of_its_own():
    both, got = threading.Barrier(2), {}

    def work(size):
        with ps.options(device_memory=size):
            both.wait()
            got[size] = in_thread(read)
            both.wait()

    threads = [threading.Thread(target=work, args=(size,)) for size in (111, 222)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert got == {111: 111, 222: 222}


def test_what_a_thread_changes_stays_its_own():
    def child():
        ps.options.device_memory = 7
        with ps.options(device_memory=8):
            pass
        return read()

    with ps.options(device_memory=5):
        assert in_thread(child) == 7 and read() == 5
    pool = concurrent.futures.ThreadPoolExecutor(1)
    assert pool.submit(read).result() is None  # started outside
    with ps.options(device_memory=5):
        assert pool.submit(read).result() is None
        assert pool.submit(contextvars.copy_context().run, read).result() == 5
    pool.shutdown()


def test_a_thread_pool_serves_contexts_from_outside_and_inside():
    async def main():
        with ps.options(device_memory=5):
            assert await asyncio.to_thread(read) == 5  # starts the pool's thread
        assert read() is None
        return await asyncio.to_thread(read)

    assert asyncio.run(main()) is None


def test_tasks_are_apart():
    async def task(size, rounds):
        with ps.options(device_memory=size):
            for _ in range(rounds):
                await asyncio.sleep(0.001)
                assert read() == size
        assert read() is None

    async def main():
        await asyncio.gather(*(task(100 + i, 3 + i) for i in range(8)))
        with ps.options(device_memory=9):
            inside = asyncio.create_task(asyncio.sleep(0.001, 0))
            later = asyncio.create_task(after())
        assert read() is None
        await inside
        return await later

    async def after():
        await asyncio.sleep(0.002)
        return read()

    assert asyncio.run(main()) == 9


def test_ranks_inherit():
    def rank(comm):
        before = read()
        with ps.options(device_memory=1000 + comm.rank):
            comm.barrier()
            inside = read()
            comm.barrier()
        return before, inside, read()

    with ps.options(device_memory=5):
        got = ps.dist.run(rank, ranks=3)
        assert got == [(5, 1000 + i, 5) for i in range(3)] and read() == 5


def test_generators_leave_their_blocks_in_any_order():
    def steps(size):
        with ps.options(device_memory=size):
            yield read()
            yield read()

    one, two = steps(1), steps(2)
    assert [next(one), next(two)] == [1, 2]
    one.close()
    assert read() == 2
    two.close()
    assert read() is None
    with ps.options(device_memory=3):
        held = steps(4)
        next(held)
    held.close()
    assert read() is None


def test_assignments_statements_and_blocks():
    context = contextvars.Context()

    def changes():
        ps.options.gpus = 2  # outside of blocks: for the process
        assert in_thread(lambda: ps.options.gpus, contextvars.Context()) == 2
        with ps.options(gpus=1):
            ps.options.gpus = 0  # in a block: until its end
            ps.options(device_memory=77)
            assert (ps.options.gpus, read()) == (0, 77)
            assert in_thread(lambda: ps.options.gpus, contextvars.Context()) == 2
        assert (ps.options.gpus, read()) == (2, None)
        ps.options.gpus = None
        ps.options(device_memory=88)  # heads no block: for the rest of this context
        assert read() == 88 and in_thread(read) == 88
        ps.options(device_memory=99)
        assert read() == 99 and in_thread(read, contextvars.Context()) is None
        for size in range(1, 5000):
            ps.options(device_memory=size)  # one change in place of another
        with ps.options():
            ps.options.device_memory = 5
        assert read() == 4999
        change = ps.options(device_memory=6)
        for _ in range(2):  # the same block twice, and within itself
            with change, change:
                assert read() == 6
        with pytest.raises(ValueError, match="gpus"):
            ps.options(device_memory=1, gpus=-1)

    context.run(changes)
    assert read() is None


def products(a, x, times):
    for _ in range(times):
        a @ x


def test_traces_collect_what_is_started_inside_and_nothing_else():
    a, x = ps.csr_array(np.eye(4)), np.ones(4)
    stop, busy = threading.Event(), threading.Event()

    def others():
        while not stop.is_set():
            products(a, x, 1)
            busy.set()

    stranger = threading.Thread(target=others)
    stranger.start()
    busy.wait()
    with ps.record() as events:
        products(a, x, 2)
        in_thread(lambda: products(a, x, 3))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda n: products(a, x, n), [1, 1]))
        ps.dist.run(lambda comm: products(a, x, 1), ranks=2)
        time.sleep(0.01)
        assert len(events) == 9
        with ps.record() as inner:
            products(a, x, 1)
        assert (len(events), len(inner)) == (9, 1)
        late = threading.Event()
        thread = threading.Thread(target=lambda: (late.wait(), products(a, x, 1)))
        thread.start()
    late.set()
    thread.join()
    stop.set()
    stranger.join()
    assert len(events) == 9  # what is left collects no more


def test_streaming_of_two_threads_under_limits_of_their_own():
    a, x = ps.generate.rmat(10, 8, seed=1, dtype=np.float64), np.ones(1024)
    wanted, got = a @ x, {}

    def work(size):
        for _ in range(20):
            with ps.options(device_memory=size), ps.record() as t:
                np.testing.assert_allclose(a @ x, wanted, rtol=1e-12)
            got.setdefault(size, set()).add(t[0]["schedule"])

    threads = [threading.Thread(target=work, args=(size,)) for size in ("40KB", "1GB")]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert got == {"40KB": {"streamed"}, "1GB": {"in_core"}}


def test_the_environment_sets_the_process():
    program = (
        "import penstock as ps, threading\n"
        "t = threading.Thread(target=lambda: print(ps.options.device_memory, ps.options.gpus))\n"
        "t.start(); t.join()\n"
        "print(ps.options)"
    )
    env = {**os.environ, "PENSTOCK_DEVICE_MEMORY": "5MB", "PENSTOCK_GPUS": "0"}
    said = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert said.stdout.split("\n")[:2] == ["5000000 0", "options(device_memory=5000000, gpus=0)"]
