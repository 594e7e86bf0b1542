"""Products of tiles on GPUs of which single rows travel: the results, and the bytes that the CPU's plan counts."""

import numpy as np
import pytest
from needed_gpus import needs

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
DEVICES = [[0, 0], [0, 0, 0, 0], [0, 1], [0, 1, 2, 3]]


def graph(dtype, seed=5):
    """Most tiles of it have entries in some rows and columns only; values are small integers."""
    a = ps.generate.rmat(11, 4, seed=seed, dtype=np.float64)
    values = np.arange(a.nnz) % 5 + 1.0
    return ps.csr_array((values, a.indices, a.indptr), shape=a.shape).astype(dtype)


def moved(comm, c, *what):
    found = np.array([c.times[w] for w in what])
    comm.all_reduce(found)
    return found.tolist()


def spmm(A, X, devices, on_device):
    def work(comm):
        grid = (len(devices), 1)
        at = ps.dist.tiled_array(A, comm, grid=grid, device=devices if on_device else None)
        xt = ps.dist.tiled_array(X, like=at)
        out = []
        for stays in ("c", "a", "b", "cover"):
            for prefetch in (0, 2):
                c = ps.dist.matmul(at, xt, stationary=stays, prefetch=prefetch)
                planned = sum(load["fetched"] + load["sent"] for load in c.plan().loads)
                out.append(
                    ((stays, prefetch), c.collect(), moved(comm, c, "fetched_bytes"), planned)
                )
        return out

    return ps.dist.run(work, len(devices), timeout=120)[0]


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_])
@pytest.mark.parametrize("columns", [8, 37, 130])
def test_spmm_moves_what_the_cpu_moves(devices, dtype, columns):
    needs(devices)
    A = graph(dtype)
    X = np.random.default_rng(1).integers(-4, 5, (A.shape[1], columns))
    X = X.astype(np.float64 if dtype == np.float64 else np.float32)
    wanted = A.to_scipy().astype(X.dtype) @ X
    for here, there in zip(spmm(A, X, devices, True), spmm(A, X, devices, False), strict=True):
        np.testing.assert_array_equal(here[1], wanted, err_msg=str(here[0]))
        assert here[2:] == there[2:], here[0]  # bytes that were fetched, and the plan's


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_])
def test_spgemm_moves_what_the_cpu_moves(devices, dtype):
    needs(devices)
    A, B = graph(dtype), graph(dtype, 6)

    def work(comm, on_device):
        how = {"grid": (len(devices), 1), "device": devices if on_device else None}
        at, bt = (ps.dist.tiled_array(m, comm, **how) for m in (A, B))
        out = []
        for stays in "abc":
            for prefetch in (0, 2):
                c = ps.dist.matmul(at, bt, stationary=stays, prefetch=prefetch)
                out.append(
                    (
                        (stays, prefetch),
                        c.collect(),
                        moved(comm, c, "fetched_bytes", "counted_bytes"),
                    )
                )
        return out

    wanted = ps.spgemm(A, B)
    found = [ps.dist.run(work, len(devices), on, timeout=120)[0] for on in (True, False)]
    for here, there in zip(*found, strict=True):
        for part in ("indptr", "indices", "data"):
            got, expected = (np.asarray(getattr(m, part)) for m in (here[1], wanted))
            np.testing.assert_array_equal(got, expected, err_msg=f"{here[0]} {part}")
        assert here[2] == there[2], here[0]


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_with_entries_in_few_rows(devices, dtype):
    """Of a band a tile beside the diagonal has some in a corner: its sums are made apart."""
    needs(devices)
    A = ps.generate.banded(5_000, [-30, -1, 0, 2, 90], dtype=np.float64, seed=3)
    A = ps.csr_array((np.arange(A.nnz) % 5 - 2.0, A.indices, A.indptr), shape=A.shape).astype(dtype)
    X = np.random.default_rng(1).integers(-4, 5, (A.shape[1], 33)).astype(dtype)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 450, 450, (len(devices), 1), device=devices)
        xt = ps.dist.tiled_array(X, like=at)
        return [ps.dist.matmul(at, xt, stationary=s).collect() for s in ("c", "c", "b", "cover")]

    for c in ps.dist.run(work, len(devices), timeout=120)[0]:
        np.testing.assert_array_equal(c, A @ X)


@pytest.mark.gpu_small
@pytest.mark.parametrize("sparse", [False, True])
def test_small(sparse):
    A = ps.generate.rmat(6, 2, seed=3, dtype=np.float64)
    X = np.random.default_rng(1).integers(-4, 5, (A.shape[1], 9)).astype(np.float64)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(2, 1), device=[0, 0])
        bt = at if sparse else ps.dist.tiled_array(X, like=at)
        kinds = "abc" if sparse else ("a", "b", "c", "cover")
        return [ps.dist.matmul(at, bt, stationary=s).collect() for s in kinds]

    for c in ps.dist.run(work, 2)[0]:
        if sparse:
            assert abs(c.to_scipy() - A.to_scipy() @ A.to_scipy()).max() < 1e-12
        else:
            np.testing.assert_allclose(c, A @ X, atol=1e-12)


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
@pytest.mark.parametrize("row_bytes", [1, 6, 20, 24, 512])
def test_rows_of_any_size_and_place(devices, row_bytes):
    """The numbers, and where the rows go, are in host memory."""
    needs(devices)
    rows = np.unique(np.random.default_rng(2).integers(0, 700, 300)).astype(np.int32)
    size = 700 * row_bytes

    def work(comm):
        t = _core.make_device_transport(comm, size + 8, "peer", devices[comm.rank])
        mine = np.random.default_rng(comm.rank).integers(0, 251, size).astype(np.uint8)
        t.put(mine, comm.rank, 3)
        t.barrier()
        other = (comm.rank + 1) % comm.size
        theirs = np.random.default_rng(other).integers(0, 251, size).astype(np.uint8)
        out = np.zeros(size, np.uint8)
        t.get_rows(out, other, 3, row_bytes, rows)
        wanted = np.zeros((700, row_bytes), np.uint8)
        wanted[rows] = theirs.reshape(700, row_bytes)[rows]
        np.testing.assert_array_equal(out, wanted.ravel())
        t.barrier()
        return True

    assert all(ps.dist.run(work, 2))
