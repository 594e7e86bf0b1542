"""SUMMA on GPUs: broadcasts by NCCL where each rank has a GPU, through pinned memory where they share one."""

import numpy as np
import pytest
from needed_gpus import needs

import penstock as ps

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(300)]


def matrix(rows, cols, per_row, seed, dtype=np.float64):
    """Small integers: sums are exact in any order. Half of the columns of the upper half are empty: so are tiles."""
    rng = np.random.default_rng(seed)
    r, c = rng.integers(0, rows, rows * per_row), rng.integers(0, cols, rows * per_row)
    c = np.where(r < rows // 2, c // 2, c)
    A = ps.csr_array((np.ones(r.size), (r, c)), shape=(rows, cols))
    return ps.csr_array(
        (rng.integers(1, 5, A.nnz).astype(dtype), A.indices, A.indptr), shape=A.shape
    )


def product(devices, a, b, sizes, grid=None, turns=1):
    def work(comm):
        at = ps.dist.tiled_array(a, comm, sizes[0], sizes[1], grid, device=devices)
        bt = ps.dist.tiled_array(b, comm, sizes[1], sizes[2], grid, device=devices)
        found = []
        for _ in range(turns):
            c = ps.dist.matmul(at, bt, algorithm="summa")
            found.append((c.collect(), c.times))
        return found

    return ps.dist.run(work, len(devices), timeout=120)


CASES = [
    ([0], None),
    ([0, 0], None),
    ([0] * 4, (2, 2)),
    ([0, 1], (1, 2)),
    ([0, 1], (2, 1)),
    ([0, 1, 2, 3], (2, 2)),
]


@pytest.mark.parametrize(("devices", "grid"), CASES, ids=str)
@pytest.mark.parametrize("sparse", [False, True], ids=["spmm", "spgemm"])
def test_products(devices, grid, sparse):
    needs(devices)
    own = len(set(devices)) == len(devices)
    by = "nccl" if own else "pinned"
    A = matrix(1203, 1100, 6, 1)
    B = (
        matrix(1100, 900, 5, 2)
        if sparse
        else np.random.default_rng(3).integers(-4, 5, (1100, 37)).astype(float)
    )
    sizes = (300, 250, 225) if sparse else (300, 250, 10)
    wanted = ps.spgemm(A, B) if sparse else A @ B
    for rank, turns in enumerate(product(devices, A, B, sizes, grid, turns=3)):
        for c, times in turns:
            if len(devices) > 1:
                assert times["broadcasts"] == by, f"rank {rank}: {times}"
            if not sparse:
                np.testing.assert_array_equal(c, wanted, err_msg=f"rank {rank}")
                continue
            for part in ("indptr", "indices", "data"):
                got, expected = (np.asarray(getattr(m, part)) for m in (c, wanted))
                np.testing.assert_array_equal(got, expected, err_msg=f"rank {rank}: {part}")


def test_the_same_bits_each_time():
    A, X = (
        matrix(4000, 4000, 9, 4, np.float32),
        np.random.default_rng(5).random((4000, 64), np.float32),
    )

    def work(comm):
        at, xt = (
            ps.dist.tiled_array(m, comm, 1000, s, device=[0, 0]) for m, s in ((A, 1000), (X, 64))
        )
        return [ps.dist.matmul(at, xt, algorithm="summa").collect() for _ in range(2)]

    for first, second in ps.dist.run(work, 2, timeout=120):
        np.testing.assert_array_equal(first, second)
        np.testing.assert_allclose(first, A @ X, rtol=1e-4)


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
def test_large_tiles(devices):
    """Broadcasts of 160 MB, whose staging memory or NCCL's channels are used again and again."""
    needs(devices)
    A = matrix(40_000, 40_000, 4, 6)
    X = np.random.default_rng(7).integers(-3, 4, (40_000, 1024)).astype(float)
    for c, times in (turns[0] for turns in product(devices, A, X, (20_000, 20_000, 512), (2, 1))):
        np.testing.assert_array_equal(c, A @ X)
        assert times["fetched_bytes"] >= 160_000_000


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
def test_a_rank_that_fails_stops_the_other(devices):
    needs(devices)
    A = matrix(400, 400, 5, 8)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 50, 50, device=devices)
        ps.dist.matmul(at, at, algorithm="summa")
        if comm.rank == 1:
            raise RuntimeError("gone fishing")
        ps.dist.matmul(at, at, algorithm="summa")

    with pytest.raises(RuntimeError, match="gone fishing"):
        ps.dist.run(work, 2, timeout=60)
    for turns in product(devices, A, A, (50, 50, 50)):  # and NCCL is well afterwards
        np.testing.assert_array_equal(turns[0][0].data, ps.spgemm(A, A).data)
