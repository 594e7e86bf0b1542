"""Parts of products of tiles that ranks take from one another: the same product, less waiting."""

import numpy as np
import pytest
from dist_support import how_of, run
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps


def crowded(n, nnz, seed):
    """Most entries are in the first quarter of the rows; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    row = np.minimum((rng.random(nnz) ** 4 * n).astype(int), n - 1)
    key = np.unique(row * n + rng.integers(0, n, nnz))
    return ps.csr_array(
        (rng.integers(1, 4, key.size).astype(float), (key // n, key % n)), shape=(n, n)
    )


LARGE = crowded(3000, 400_000, 1)


@pytest.mark.parametrize("stationary", ["a", "b", "c"])
@pytest.mark.parametrize("steal", [True, "random"])
@pytest.mark.parametrize("sparse", [False, True])
def test_large_products_in_parts_are_right(stationary, steal, sparse):
    A = LARGE
    B = A if sparse else np.random.default_rng(2).integers(0, 3, (3000, 64)).astype(float)

    def work(comm):
        T = ps.dist.tiled_array(A, comm, grid=(4, 1), tile_cols=1500)
        C = ps.dist.matmul(T, ps.dist.tiled_array(B, like=T), **how_of(stationary, steal, 3))
        done = np.array([C.times["own"], C.times["stolen"], C.times["flops"]], float)
        comm.all_reduce(done)
        planned = C.plan().products
        return C.collect(), done, planned["parts"], planned["flops"].sum()

    found = run(work, 4)
    right = A.to_scipy() @ (B.to_scipy() if sparse else B)
    for c, (own, stolen, flops), parts, planned in found:
        got = c.to_scipy() if sparse else c
        assert abs(got - right).max() == 0
        assert own + stolen == parts.sum(), "a part that nobody did, or two"
        assert parts.max() > 4
        assert flops == pytest.approx(planned)


def test_without_thieves_nothing_is_cut():
    def work(comm):
        T = ps.dist.tiled_array(LARGE, comm, grid=(2, 1))
        return (
            ps.dist.matmul(T, ps.dist.tiled_array(np.ones((3000, 48)), like=T), "c").plan().products
        )

    for products in run(work, 2):
        assert np.all(products["parts"] == 1)


def test_where_work_is_even_products_stay_whole():
    """A part reads B's tile again, and nobody would wait for less."""
    even = ps.generate.uniform(3000, nnz_per_row=100, seed=1)
    X = np.ones((3000, 96))

    def work(comm):
        out = []
        for A in (even, LARGE):
            T = ps.dist.tiled_array(A, comm, grid=(2, 1))
            for B in (T, ps.dist.tiled_array(X, like=T)):
                out.append(ps.dist.matmul(T, B, "c", steal="random").plan().products["parts"].max())
        return out

    for even_sparse, even_dense, sparse, dense in run(work, 2):
        assert (even_sparse, even_dense) == (1, 1)
        assert min(sparse, dense) > 4


def test_the_copy_of_a_tile_that_parts_share_is_counted():
    X = np.ones((3000, 96))

    def work(comm):
        T = ps.dist.tiled_array(LARGE, comm, grid=(2, 1))
        B = ps.dist.tiled_array(X, like=T)
        of_c = 1500 * 96 * 8
        ps.dist.matmul(T, B, "c", memory=of_c)
        with pytest.raises(MemoryError, match="1.152 MB of it for a copy of a tile of B"):
            ps.dist.matmul(T, B, "c", steal="random", memory=of_c)
        ps.dist.matmul(T, B, "c", steal="random", memory=2 * of_c)
        return True

    assert all(run(work, 2))


@given(
    st.sampled_from([(2, 1), (2, 2), (3, 1)]),
    st.sampled_from(("a", "b", "c")),
    st.sampled_from((True, "random")),
    st.integers(0, 3),
    st.integers(0, 99),
)
@settings(max_examples=8, deadline=None)
def test_masked_parts_are_right(grid, stationary, steal, prefetch, seed):
    A = crowded(500, 30_000, seed)
    on = crowded(500, 20_000, seed + 1)

    def work(comm):
        T = ps.dist.tiled_array(A, comm, grid=grid)
        how = how_of(stationary, steal, seed)
        return ps.dist.matmul(
            T, T, mask=ps.dist.tiled_array(on, like=T), prefetch=prefetch, **how
        ).collect()

    a = A.to_scipy()
    right = (a @ a).multiply(on.to_scipy() != 0).tocsr()
    for c in run(work, grid[0] * grid[1]):
        assert abs(c.to_scipy() - right).max() == 0


def test_idle_ranks_wait_less():
    """One rank has all the work. Seconds are of a busy machine: the better of some attempts."""
    n = 2000
    rng = np.random.default_rng(1)
    row, col = rng.integers(0, n // 2, 300_000), rng.integers(0, n, 300_000)
    A = ps.csr_array((np.ones(row.size), (row, col)), shape=(n, n))
    X = np.ones((n, 128))

    def work(comm):
        T = ps.dist.tiled_array(A, comm, grid=(2, 1), tile_cols=n)
        B = ps.dist.tiled_array(X, like=T)
        found = []
        for steal in (False, "random"):
            C = ps.dist.matmul(T, B, "c", steal=steal)
            waits = np.array([C.times["imbalance"], float(C.times["stolen"])])
            comm.all_reduce(waits)
            found.append(waits)
        return found

    tries = []
    for _ in range(8):
        (alone, _), (helped, stolen) = run(work, 2)[0]
        tries.append((alone, helped, stolen))
        if stolen > 0 and helped < 0.5 * alone:
            return
    raise AssertionError(f"waiting alone, with thieves, parts stolen: {tries}")


def test_parts_are_equally_much_work():
    def work(comm):
        T = ps.dist.tiled_array(LARGE, comm, grid=(2, 2), tile_cols=3000)
        return (
            ps.dist.matmul(T, ps.dist.tiled_array(np.ones((3000, 64)), like=T), "c", True)
            .plan()
            .products
        )

    products = run(work, 4)[0]
    each = products["flops"] / products["parts"]
    cut = products["parts"] > 1
    assert cut.any()
    assert each[cut].max() < 2 * each[cut].min()
