"""SUMMA's broadcasts: any grid, several tiles in a row of it, empty tiles, whatever carries them."""

import numpy as np
import pytest
from dist_support import run

import penstock as ps

RNG = np.random.default_rng(5)
A = ps.generate.rmat(6, 5, seed=9, dtype=np.float64)
A = ps.csr_array((np.arange(A.nnz) % 7 - 3.0, A.indices, A.indptr), shape=A.shape)
X = RNG.integers(-4, 5, (64, 9)).astype(np.float64)
BAND = ps.generate.banded(64, 3, seed=2)  # tiles off the diagonal are empty


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("grid", [(1, 3), (3, 1), (2, 2)], ids=str)
def test_any_grid(grid, device):
    def work(comm):
        at, bt = (ps.dist.tiled_array(m, comm, 13, 13, grid, device=device) for m in (A, BAND))
        xt = ps.dist.tiled_array(X, comm, 13, 2, grid, device=device)
        dense, sparse = (
            ps.dist.matmul(left, right, algorithm="summa") for left, right in ((at, xt), (bt, at))
        )
        return dense.collect(), sparse.collect() @ np.eye(64), dense.times

    for dense, sparse, times in run(work, grid[0] * grid[1]):
        np.testing.assert_array_equal(dense, A @ X)
        np.testing.assert_allclose(sparse, BAND @ (A @ np.eye(64)), rtol=1e-12, atol=1e-12)
        assert times["broadcasts"] == "threads" and times["fetched_bytes"] > 0
        assert times["sent_bytes"] == times["stolen"] == 0
        assert (times["algorithm"], times["stationary"]) == ("summa", "c")


def test_what_is_fetched_is_counted_once():
    """On a row of two ranks A's tiles travel, and B's lie where they are needed."""

    def work(comm):
        at, xt = (
            ps.dist.tiled_array(A, comm, 32, 32, (1, 2)),
            ps.dist.tiled_array(X, comm, 32, 5, (1, 2)),
        )
        c = ps.dist.matmul(at, xt, algorithm="summa")
        sizes = [[8 * 33 + -(-n // 2) * 8 + 8 * n for n in row] for row in at.tile_nnz]
        others = sum(sizes[i][k] for i in range(2) for k in range(2) if at.owner(i, k) != comm.rank)
        return c.times["fetched_bytes"], others

    for fetched, others in run(work, 2):
        assert fetched == others


@pytest.mark.parametrize(
    "given",
    [
        {"stationary": "c"},
        {"steal": True},
        {"prefetch": 0},
        {"prefetch": 1},
        {"seed": 0},
        {"replicas": 2},
    ],
)
def test_what_lockstep_has_no_room_for_is_refused(given):
    """Also a prefetch of none: nobody asks SUMMA for one."""
    (name,) = given

    def work(comm):
        t = ps.dist.tiled_array(A, comm)
        with pytest.raises(
            ValueError, match=f"{name}=.* with algorithm='summa'.* leave {name} out"
        ):
            ps.dist.matmul(t, t, algorithm="summa", **given)
        comm.barrier()

    run(work, 2)
