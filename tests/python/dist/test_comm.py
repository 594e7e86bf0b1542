"""Ranks that are threads: what they say to one another, and how they end."""

import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import penstock as ps
from penstock.dist import CommError, run

RANKS = [1, 2, 3, 4, 8]


@pytest.mark.parametrize("n", RANKS)
def test_results_in_the_order_of_ranks(n):
    def f(comm, a, *, b):
        assert comm.size == n
        assert comm.name == "threads" and comm.one_process
        assert repr(comm) == f"<Comm: rank {comm.rank} of {n}, threads>"
        comm.barrier()
        return a + b + comm.rank

    assert run(f, n, 10, b=5) == [15 + r for r in range(n)]


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 5), (300, 7)])
def test_reductions(n, shape):
    def f(comm):
        rng = np.random.default_rng(comm.rank)
        x = rng.normal(size=shape)
        low = rng.integers(-99, 99, size=shape)
        high = low.copy()
        x, low, high = np.array(x), np.array(low), np.array(high)
        mine = x.copy(), low.copy()
        comm.all_reduce(x)
        comm.all_reduce(low, "min")
        comm.all_reduce(high, op="max")
        return mine, x, low, high

    out = run(f, n)
    wanted = out[0][0][0].copy()
    for mine, *_ in out[1:]:
        wanted = wanted + mine[0]
    for _, x, low, high in out:
        np.testing.assert_array_equal(x, wanted)
        np.testing.assert_array_equal(low, np.min([m[1] for m, *_ in out], axis=0))
        np.testing.assert_array_equal(high, np.max([m[1] for m, *_ in out], axis=0))


def numbers(rank, dtype, shape):
    return np.random.default_rng(rank).integers(0, 100, size=shape).astype(dtype)


@pytest.mark.parametrize("n", RANKS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "c16", "bool", "u1"])
@pytest.mark.parametrize("shape", [(), (4,), (3, 200)])
def test_arrays(n, dtype, shape):
    def f(comm):
        r = comm.rank
        all = comm.all_gather(numbers(r, dtype, shape))
        assert all.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(all, [numbers(k, dtype, shape) for k in range(n)])
        for root in (0, n - 1):
            a = numbers(r, dtype, shape)
            comm.broadcast(a, root)
            np.testing.assert_array_equal(a, numbers(root, dtype, shape))

    run(f, n)


def test_structured_arrays():
    a = np.array([(1, 2.5)], dtype=[("row", "i4"), ("value", "f8")])
    assert all(same(b, a) for b in run(lambda comm: comm.gather(a, 0), 2)[0])


def odd_one(a, b):
    """What rank a has for rank b: sizes, shapes and types all differ."""
    shape = [(), (0,), (a + b,), (b, 3), (1000 + a,)][(a + 2 * b) % 5]
    return numbers(a * 10 + b, ["f8", "i4", "u1", "f4", "c16"][(a + b) % 5], shape)


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b)


@pytest.mark.parametrize("n", RANKS)
def test_arrays_of_any_size(n):
    def f(comm):
        r = comm.rank
        for root in (None, 0, n - 1):
            got = comm.gather(odd_one(r, 0), root)
            if root in (None, r):
                assert all(same(got[k], odd_one(k, 0)) for k in range(n))
            else:
                assert got is None
        for root in (0, n - 1):
            parts = [odd_one(root, k) for k in range(n)] if r == root else None
            assert same(comm.scatter(parts, root), odd_one(root, r))
        got = comm.all_to_all([odd_one(r, k) for k in range(n)])
        assert all(same(got[k], odd_one(k, r)) for k in range(n))

    run(f, n)


@pytest.mark.parametrize("n", RANKS)
def test_objects(n):
    def f(comm):
        r = comm.rank
        mine = {"rank": r, "text": "x" * 1000 * r}
        assert comm.share(mine, n - 1) == {"rank": n - 1, "text": "x" * 1000 * (n - 1)}
        assert comm.share(None) is None
        wanted = [{"rank": k, "text": "x" * 1000 * k} for k in range(n)]
        assert comm.collect(mine) == wanted
        assert comm.collect(mine, root=0) == (wanted if r == 0 else None)

    run(f, n)


def test_split():
    def f(comm):
        part = comm.split(comm.rank % 2, key=-comm.rank)
        return part.rank, part.size, part.collect(comm.rank)

    assert run(f, 5) == [
        (2, 3, [4, 2, 0]), (1, 2, [3, 1]), (1, 3, [4, 2, 0]), (0, 2, [3, 1]), (0, 3, [4, 2, 0]),
    ]  # fmt: skip


def test_products_on_ranks():
    """Kernels and the pool of threads, called from all ranks at once."""
    A = ps.generate.rmat(10, seed=1)
    x = np.random.default_rng(0).normal(size=A.shape[1])
    wanted = A @ x

    def f(comm):
        for _ in range(20):
            comm.barrier()
            np.testing.assert_array_equal(A @ x, wanted)

    run(f, 4)


@pytest.mark.parametrize("culprit", [0, 1, 3])
def test_the_first_exception_is_raised_and_names_its_rank(culprit):
    echoes = []

    def f(comm):
        if comm.rank == culprit:
            time.sleep(0.02)
            raise ZeroDivisionError("no such thing")
        try:
            while True:
                comm.barrier()
        except CommError as e:
            echoes.append(str(e))
            raise

    with pytest.raises(ZeroDivisionError, match="no such thing") as caught:
        run(f, 4)
    if sys.version_info >= (3, 11):
        assert caught.value.__notes__ == [f"raised by rank {culprit} of 4"]
    assert echoes == [f"rank {culprit} failed: ZeroDivisionError: no such thing"] * 3


def test_an_exception_outside_calls_waits_for_the_others():
    done = []

    def f(comm):
        if comm.rank == 0:
            raise KeyError("a")
        time.sleep(0.05)
        done.append(comm.rank)

    with pytest.raises(KeyError):
        run(f, 3)
    assert sorted(done) == [1, 2]


def test_a_rank_may_fail_by_word():
    def f(comm):
        if comm.rank == 1:
            comm.fail("the disk is full")
        else:
            comm.barrier()

    with pytest.raises(CommError, match="rank 1 failed: the disk is full"):
        run(f, 2)


def test_a_rank_that_returns_is_not_waited_for():
    began = time.monotonic()
    with pytest.raises(CommError, match="rank 0 .*waits in barrier for rank 1, which has ended"):
        run(lambda comm: comm.barrier() if comm.rank == 0 else None, 2)
    assert time.monotonic() - began < 10


def test_timeout(monkeypatch):
    go_on = threading.Event()

    def f(comm):
        if comm.rank == 1:
            go_on.wait(30)
            return
        try:
            comm.all_reduce(np.ones(3))
        finally:
            go_on.set()

    text = r"waited 0.1 s in all_reduce\(sum\) for rank 1"
    with pytest.raises(CommError, match=text):
        run(f, 2, timeout=0.1)
    monkeypatch.setenv("PENSTOCK_COMM_TIMEOUT", "0.1")
    go_on.clear()
    with pytest.raises(CommError, match=text):
        run(f, 2)
    monkeypatch.setenv("PENSTOCK_COMM_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="PENSTOCK_COMM_TIMEOUT=soon is not a positive number"):
        run(f, 2)


def test_disagreement():
    with pytest.raises(ValueError, match="ranks disagree: rank 0 calls barrier"):
        run(lambda comm: comm.barrier() if comm.rank == 0 else comm.all_reduce(np.ones(1)), 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c: c.all_reduce(np.ones(3), "mean"), ValueError, "'mean' is not one of"),
        (lambda c: c.all_reduce(np.ones(3, np.float32)), TypeError, "an array of float32"),
        (lambda c: c.all_reduce(np.ones((3, 3)).T[:2]), TypeError, "not contiguous"),
        (lambda c: c.broadcast(np.ones((3, 2)).T), ValueError, "C-contiguous"),
        (lambda c: c.broadcast(np.ones(3), 1), ValueError, "no rank 1 among 1"),
        (lambda c: c.broadcast(np.broadcast_to(1.0, 3)), ValueError, "read-only|not writable|contiguous"),
        (lambda c: c.all_gather(np.array([{}])), ValueError, "Python objects"),
        (lambda c: c.gather(np.array([{}])), ValueError, "Python objects"),
        (lambda c: c.scatter([]), ValueError, "0 arrays were given for 1"),
        (lambda c: c.scatter([np.array(["a", {}])]), ValueError, "Python objects"),
        (lambda c: c.all_to_all([1, 2]), ValueError, "2 arrays were given for 1"),
        (lambda c: c.split(-1), ValueError, "negative"),
    ],
)  # fmt: skip
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        run(call, 1)


def test_threads_of_ranks():
    before = ps.num_threads()
    ps.set_num_threads(5)
    try:
        assert run(lambda comm: ps.num_threads(), 2) == [2, 2]
        assert run(lambda comm: ps.num_threads(), 8) == [1] * 8
        assert run(lambda comm: ps.num_threads(), 2, threads_per_rank=3) == [3, 3]
        assert run(lambda comm: run(lambda inner: ps.num_threads(), 2), 2, threads_per_rank=4) == [
            [2, 2],
            [2, 2],
        ]
        run(lambda comm: ps.set_num_threads(comm.rank + 1), 2)  # a rank's own
        assert ps.num_threads() == 5
        with pytest.raises(ValueError, match="0 is not between 1"):
            run(lambda comm: None, 2, threads_per_rank=0)
    finally:
        ps.set_num_threads(before)


def test_wrong_numbers_of_ranks():
    for n in (0, -1, 10**6):
        with pytest.raises(ValueError, match="ranks"):
            run(lambda comm: None, n)
    with pytest.raises(ValueError, match="negative"):
        run(lambda comm: None, 1, timeout=-1.0)


def test_a_trace_sees_every_rank():
    A = ps.generate.rmat(6, seed=1)
    x = np.ones(A.shape[1])
    with ps.record() as events:
        run(lambda comm: A @ x, 3)
    assert len(events) == 3


def test_an_exception_does_not_keep_what_ranks_had():
    class Thing:
        pass

    things = []

    def f(comm):
        thing = Thing()
        things.append(weakref.ref(thing))
        raise LookupError(comm.rank)

    gc.disable()
    try:
        with contextlib.suppress(LookupError):
            run(f, 3)
        assert [ref() for ref in things] == [None] * 3
    finally:
        gc.enable()


def test_world_is_one_rank():
    comm = ps.dist.world()
    assert (comm.rank, comm.size) == (0, 1)
    comm.barrier()


INTERRUPTED = """
import os, time
import penstock as ps

def f(comm):
    part = comm.split(min(comm.rank, 1))
    os.write(1, b"started\\n")
    {body}

try:
    ps.dist.run(f, 3)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "body",
    [
        "comm.barrier() if comm.rank != 1 else time.sleep(1)",  # rank 0 waits
        "time.sleep(60 if comm.rank == 0 else 0); comm.barrier()",  # rank 0 is busy
        "while comm.rank: part.barrier()",  # rank 0 is done
    ],
)
def test_ctrl_c(body):
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.format(body=body)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    for _ in range(3):
        assert program.stdout.readline() == "started\n"
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=30)
    assert out == "interrupted\n", err


def test_arguments_of_another_type_are_named():
    for how, words in [((1.5,), "ranks=1.5 is not an integer"), ((True,), "ranks=True is not")]:
        with pytest.raises(TypeError, match=words):
            run(lambda comm: None, *how)
    with pytest.raises(TypeError, match="threads_per_rank=1.5 is not an integer"):
        run(lambda comm: None, 1, threads_per_rank=1.5)
    for values, words in [
        (2, "int 2"),
        (np.ones(2, np.float32), "an array of float32"),
        (np.ones((4, 4))[:, ::2], "an array of float64, not contiguous"),
    ]:
        with pytest.raises(
            TypeError, match=f"all_reduce: values is .*{words}.*give a C-contiguous"
        ):
            run(lambda comm, v: comm.all_reduce(v), 1, values)
