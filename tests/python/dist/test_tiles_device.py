"""Tiles on devices, with the CPU as the device: the same products as in host memory."""

import numpy as np
import pytest
from dist_support import how_of, run

import penstock as ps
from penstock import _core

A = ps.generate.rmat(6, 6, seed=4, dtype=np.float64)
A = ps.csr_array((np.arange(A.nnz) % 9 - 4.0, A.indices, A.indptr), shape=A.shape)
X = np.random.default_rng(2).integers(-4, 5, (64, 10)).astype(np.float64)
KINDS = [(a, s) for a in "abc" for s in (False, "locality", "random")] + [("summa", False)]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_algorithm(ranks):
    def work(comm):
        at, xt = (ps.dist.tiled_array(m, comm, 20, n, device="cpu") for m, n in ((A, 20), (X, 4)))
        assert (at.transport, at.device) == ("peer", ps.host) and "host" in at.explain()
        out = []
        for stationary, steal in KINDS:
            dense = ps.dist.matmul(at, xt, **how_of(stationary, steal))
            sparse = ps.dist.matmul(at, at, **how_of(stationary, steal))
            assert dense.device == sparse.device == ps.host
            out.append((dense.collect(), sparse.collect()))
        return out

    square = A @ A
    for found in run(work, ranks):
        for kind, (dense, sparse) in zip(KINDS, found, strict=True):
            np.testing.assert_array_equal(dense, A @ X, err_msg=str(kind))
            for part in ("indptr", "indices", "data"):
                got, wanted = (np.asarray(getattr(m, part)) for m in (sparse, square))
                np.testing.assert_array_equal(got, wanted, err_msg=f"{kind}: {part}")


def test_tiles_are_read_and_written_from_the_host():
    def work(comm):
        x = ps.dist.tiled_array(X, comm, 16, 5, device=["cpu", ps.host])
        if comm.rank == 1:
            x.replace_tile(0, 0, -X[:16, :5])
        x.barrier()
        s = ps.dist.tiled_array(
            ps.dist.csr_array(A, comm), tile_rows=32, tile_cols=32, device="cpu"
        )
        mine = next((i, j) for i in range(2) for j in range(2) if s.owner(i, j) == comm.rank)
        s.renew_tiles({mine: ps.csr_array((32, 32), dtype=np.float64)} if comm.rank else {})
        return x.collect(), x.get_tile(0, 0), s.collect() @ np.eye(64), mine

    found = run(work, 2)
    wanted = A @ np.eye(64)
    i, j = found[1][3]
    wanted[32 * i : 32 * i + 32, 32 * j : 32 * j + 32] = 0
    for x, tile, s, _ in found:
        assert np.array_equal(tile, -X[:16, :5]) and np.array_equal(x[16:], X[16:])
        assert np.array_equal(s, wanted)


@pytest.mark.parametrize(
    ("named", "error", "text"),
    [
        ({"device": "cpu", "transport": "local"}, ValueError, "auto, peer, nvshmem"),
        ({"transport": "peer"}, ValueError, "auto, local, mpi_rma"),
        ({"device": ["cpu"]}, ValueError, "each of the 2 ranks"),
        ({"device": ["cpu", None]}, ValueError, "all ranks have tiles on a device"),
        ({"device": ps.pinned}, ValueError, "number of a GPU"),
        ({"device": 99}, (_core.NotCompiledError, _core.PlacementError), "99"),
        ({"device": "cpu", "transport": "nvshmem"}, Exception, "nvshmem"),
    ],
)
def test_refusals_name_the_remedy(named, error, text):
    with pytest.raises(error, match=text):
        run(lambda comm: ps.dist.tiled_array(A, comm, **named), 2)


def test_both_factors_are_on_one_device():
    def work(comm):
        at, xt = ps.dist.tiled_array(A, comm, device="cpu"), ps.dist.tiled_array(X, comm)
        ps.dist.matmul(at, xt, "c")

    with pytest.raises(ValueError, match="give both the same device="):
        run(work, 2)


def test_semirings_without_a_product_on_devices():
    def work(comm):
        at, xt = (ps.dist.tiled_array(m, comm, device="cpu") for m in (A, X))
        ps.dist.matmul(at, xt, "c", semiring="min_plus")

    with pytest.raises(_core.NotCompiledError, match="without device="):
        run(work, 2)


def test_copies_of_c_add_up_and_masks_are_refused():
    def work(comm):
        at = ps.dist.tiled_array(A, comm, 16, 16, device="cpu")
        c = ps.dist.matmul(at, at, "c", replicas=2)
        with pytest.raises(_core.NotCompiledError, match="cannot be masked"):
            ps.dist.matmul(at, at, "c", mask=at)
        with pytest.raises(ValueError, match="without device="):
            ps.dist.matmul(at, at, "c", out="nowhere.penstock")
        return c.collect() @ np.eye(64)

    for found in run(work, 4):
        np.testing.assert_array_equal(found, A @ A @ np.eye(64))
