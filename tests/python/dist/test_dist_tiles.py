"""Products of tiles: the same as the whole matrices', however they are cut, dealt and stolen."""

import functools

import numpy as np
import pytest
from dist_support import how_of, matrices, run
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core
from penstock.dist import _matmul

ALGORITHMS = ("auto", "a", "b", "c", "summa")
STEALS = (False, True, "random", "locality")
A = ps.generate.rmat(7, 8, seed=3, dtype=np.float64)


def grids(ranks):
    return [(r, ranks // r) for r in range(1, ranks + 1) if ranks % r == 0]


@st.composite
def factors(draw):
    """A, a B that fits (sparse or dense) and a semiring; values are small integers, so sums are exact in any order."""
    semiring = draw(st.sampled_from(("plus_times", "plus_times", "min_plus", "or_and")))
    dtype = np.bool_ if semiring == "or_and" else draw(st.sampled_from((np.float32, np.float64)))
    a = draw(matrices((dtype,)))
    cols = draw(st.integers(0, 9))
    rng = np.random.default_rng(a.nnz * 31 + cols)
    pattern = semiring == "plus_times" and draw(st.booleans())
    a = with_values(a, np.bool_ if pattern else dtype, rng)
    dense = rng.integers(-4, 5, (a.shape[1], cols))
    if draw(st.booleans()):
        return (
            semiring,
            a,
            (dense > 1).astype(np.uint8) if dtype == np.bool_ else dense.astype(dtype),
        )
    row, col = np.nonzero(dense > draw(st.integers(-4, 4)))
    b = ps.csr_array((dense[row, col].astype(dtype), (row, col)), shape=dense.shape, dtype=dtype)
    return semiring, a, b


def with_values(a, dtype, rng):
    values = rng.integers(-4, 5, a.nnz).astype(dtype)
    data = np.ones(a.nnz, np.bool_) if dtype == np.bool_ else values
    return ps.csr_array((data, a.indices, a.indptr), shape=a.shape, dtype=dtype)


def entries(c):
    """What is stored, with explicit zeros, and the type."""
    if isinstance(c, np.ndarray):
        return c
    return np.asarray(c.indptr), np.asarray(c.indices), np.asarray(c.data), c.dtype


def same(c, wanted):
    np.testing.assert_equal(entries(c), entries(wanted))


def wanted_product(a, b, semiring):
    if isinstance(b, np.ndarray):
        return a.dot(b, semiring=semiring)
    return ps.spgemm(a, b, semiring=semiring)


@given(factors(), st.integers(1, 4), st.data())
@settings(max_examples=120, deadline=None)
def test_products_equal_those_of_whole_matrices(factors, ranks, data):
    semiring, a, b = factors
    grid = data.draw(st.sampled_from(grids(ranks)))
    sizes = [data.draw(st.sampled_from((None, 1, 3, 5, 20))) for _ in range(3)]
    algorithm = data.draw(st.sampled_from(ALGORITHMS))
    steal = False if algorithm == "summa" else data.draw(st.sampled_from(STEALS))
    prefetch = None if algorithm == "summa" else data.draw(st.integers(0, 3))

    def work(comm):
        at = ps.dist.tiled_array(a, comm, sizes[0], sizes[1], grid)
        bt = ps.dist.tiled_array(b, comm, sizes[1], sizes[2], grid)
        c = ps.dist.matmul(
            at, bt, **how_of(algorithm, steal, a.nnz), prefetch=prefetch, semiring=semiring
        )
        return c.collect(), c.times, c.plan().products["i"].size

    found = run(work, ranks)
    wanted = wanted_product(a, b, semiring)
    for c, _, _ in found:
        same(c, wanted)
    assert sum(t["own"] + t["stolen"] for _, t, _ in found) == found[0][2]
    assert sum(t["sent_bytes"] for _, t, _ in found) == sum(
        t["received_bytes"] for _, t, _ in found
    )


@pytest.mark.parametrize("ranks", [1, 3])
def test_sources_give_the_same_tiles(ranks, tmp_path):
    make = functools.partial(ps.generate.rmat, 7, 8, seed=3, dtype=np.float64)
    ps.save(tmp_path / "a.penstock", A)
    ps.save(tmp_path / "a.mtx", A)

    def work(comm):
        sources = {
            "whole": A,
            "root": A if comm.rank == ranks - 1 else None,
            "store": tmp_path / "a.penstock",
            "file": tmp_path / "a.mtx",
            "generator": make,
        }
        for partition in ("balanced", "grid", "bins"):
            sources[partition] = ps.dist.csr_array(A, comm, partition)
        out = {}
        for name, source in sources.items():
            t = ps.dist.tiled_array(source, comm, 50, 30)
            assert t.tiles == (3, 5) and t.nnz == A.nnz == t.tile_nnz.sum() and t.sparse
            out[name] = t.collect()
        return out

    for found in run(work, ranks):
        for name, c in found.items():
            np.testing.assert_allclose(c @ np.eye(128), A @ np.eye(128), err_msg=name)


def test_tiles_are_read_and_written_one_by_one():
    x = np.arange(35.0).reshape(7, 5)

    def work(comm):
        t = ps.dist.tiled_array(x, comm, 3, 2)
        assert np.array_equal(t.get_tile(2, 2), x[6:, 4:]) and t.owner(2, 2) == 0
        comm.barrier()
        if comm.rank == 1:
            t.replace_tile(0, 1, -x[:3, 2:4])
        t.barrier()
        assert np.array_equal(t.get_tile(0, 1), -x[:3, 2:4])
        s = ps.dist.tiled_array(A, comm, 40, 64)
        assert np.array_equal(s.get_tile(3, 1) @ np.eye(64), (A @ np.eye(128))[120:, 64:])
        mine = [(i, j) for i in range(4) for j in range(2) if s.owner(i, j) == comm.rank]
        s.renew_tiles(
            {at: ps.csr_array(s.get_tile(*at).shape, dtype=np.float64) for at in mine[:1]}
        )
        return s.collect() @ np.eye(128), mine[0]

    found = run(work, 4)
    wanted = A @ np.eye(128)
    for _, (i, j) in found:
        wanted[40 * i : 40 * i + 40, 64 * j : 64 * j + 64] = 0
    for c, _ in found:
        assert np.array_equal(c, wanted)


def test_stationary_c_has_the_same_bits_each_time():
    x = np.random.default_rng(1).standard_normal((128, 7))

    def work(comm, algorithm):
        t, y = ps.dist.tiled_array(A, comm), ps.dist.tiled_array(x, comm)
        more = {} if algorithm == "summa" else {"prefetch": 3}
        first = ps.dist.matmul(t, y, **how_of(algorithm)).collect()
        again = ps.dist.matmul(t, y, **how_of(algorithm), **more).collect()
        return np.array_equal(first, again)

    for algorithm in ("c", "summa"):
        assert all(run(work, 4, algorithm))


def test_plans_can_be_read_without_ranks():
    nnz = np.array([4, 0, 2, 5], np.int64)
    a = _core.tile_map(4, 4, 2, 2, (1, 2), "float64", nnz)
    b = _core.tile_map(4, 6, 2, 6, (1, 2), "float64", None)
    p = _matmul.plan(a, b, "a")
    products = p.products
    assert list(zip(products["i"], products["k"], products["j"], strict=True)) == [
        (0, 0, 0),
        (1, 0, 0),
        (1, 1, 0),
    ]
    assert products["owner"].tolist() == [0, 0, 1] and p.skipped == 1 and p.tiles == (2, 2, 1)
    assert products["flops"].tolist() == [48, 24, 60]
    assert products["fetched"].tolist() == [0, 0, 96] and products["sent"].tolist() == [0, 0, 96]
    none = dict.fromkeys(("fetched", "sent", "far_fetched", "far_sent"), 0)
    assert p.loads[0] == none | {"products": 2, "received": 96, "flops": 72.0}
    assert "stationary a: 3 products" in str(p) and "17 more" not in p.text(1)
    assert "2 more products" in p.text(1)
    assert "4 x 4 sparse, 4 tiles (2 x 2)" in repr(a) and "fullest tile 1.82 times" in repr(a)


def test_refusals_say_what_to_do():
    def work(comm, call, error, words):
        with pytest.raises(error, match=words):
            call(comm)
        comm.barrier()  # the ranks can go on

    def product(comm, *args, b=A, rows=None, **kwargs):
        ps.dist.matmul(
            ps.dist.tiled_array(A, comm), ps.dist.tiled_array(b, comm, rows), *args, **kwargs
        )

    cases = [
        (
            lambda c: product(c, "d"),
            ValueError,
            "unknown: choose one of auto, a, b, c, cover; SUMMA",
        ),
        (lambda c: product(c, "c", "x"), ValueError, "steal='x' is unknown"),
        (lambda c: product(c, "summa"), ValueError, "SUMMA is algorithm='summa'"),
        (lambda c: product(c, algorithm="cannon"), ValueError, "choose one of one_sided, summa"),
        (lambda c: product(c, prefetch=-1), ValueError, "prefetch=-1"),
        (lambda c: product(c, seed=0), ValueError, "seed=0 with steal=False.*take steal='loc"),
        (lambda c: product(c, steal="none", seed=7), ValueError, "steal='none' is unknown"),
        (lambda c: product(c, steal=None, seed=7), ValueError, "seed=7 with steal=None"),
        (
            lambda c: product(c, memory=100),
            MemoryError,
            r"rank \d needs about .* products.*more ranks",
        ),
        (lambda c: product(c, rows=10), ValueError, r"tile_rows=\d+ for B"),
        (lambda c: product(c, b=np.ones((5, 2))), ValueError, "A's columns are B's rows"),
        (
            lambda c: product(c, b=np.ones((128, 2), np.float32)),
            ps.NotCompiledError,
            "plus_times with one",
        ),
        (lambda c: ps.dist.matmul(A, A), TypeError, "cut it with ps.dist.tiled_array"),
        (lambda c: ps.dist.tiled_array(A), TypeError, "comm: the ranks"),
        (lambda c: ps.dist.tiled_array(A, c, grid=(3, 3)), ValueError, "grid of 3 x 3"),
        (lambda c: ps.dist.tiled_array(A, c, tile_rows=0), ValueError, "positive"),
        (
            lambda c: ps.dist.tiled_array(A, c, tile_rows=3 + c.rank),
            ValueError,
            "ranks disagree on tile_rows: rank 0 gives 3, rank 1 gives 4",
        ),
        (
            lambda c: ps.dist.tiled_array(np.ones((3, 4 + c.rank)), c),
            ValueError,
            "different matrices",
        ),
        (lambda c: ps.dist.tiled_array(np.ones((3, 4), int), c), TypeError, "use astype"),
        (lambda c: ps.dist.tiled_array(A, c).times, ValueError, "there are no times"),
        (lambda c: ps.dist.tiled_array(A, c).plan(), ValueError, "there is no plan"),
        (lambda c: ps.dist.tiled_array(A, c).get_tile(9, 0), ValueError, "no tile"),
    ]
    for case in cases:
        run(work, 2, *case)


def test_a_failing_rank_stops_the_others():
    def work(comm):
        t = ps.dist.tiled_array(A, comm)
        if comm.rank == 1:
            raise OSError("gone")
        ps.dist.matmul(t, t, "a")

    with pytest.raises(OSError, match="gone"):
        run(work, 3)
