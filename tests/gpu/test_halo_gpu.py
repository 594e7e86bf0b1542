"""Distributed matrices on GPUs: every strategy, ranks as threads that share a GPU or have one each."""

import numpy as np
import pytest

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

RANKS = [1, 2, 3, 4]
ON_ONE_GPU = ["sync", "gather", "pinned", "index_standard", "index_pinned", "peer", "peer_packed"]


def gpus() -> int:
    return max(1, _core.device_count())


def random_matrix(rows, cols, per_row, seed, dtype=np.float64):
    """Small integers: sums are exact, whatever their order."""
    rng = np.random.default_rng(seed)
    n = rows * per_row
    r = rng.integers(0, rows, n)
    c = rng.integers(0, cols, n)
    c[: n // 50] = 0  # a column that all ranks want
    v = rng.integers(-4, 5, n).astype(dtype)
    return ps.csr_array((v, (r, c)), shape=(rows, cols))


def product(A, x, ranks, halo, *, times=3, devices=None, **named):
    """A @ x by `ranks` ranks, `times` times with other vectors between; what was chosen."""
    devices = devices or [ps.device(r % gpus()) for r in range(ranks)]

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=devices[comm.rank], halo=halo, **named)
        mine = D.share(x)
        for k in range(times):
            D @ (mine * (k + 2)).astype(mine.dtype)
        y = D @ mine
        return D.collect(y), D.halo["strategy"], D.halo["sent_bytes"]

    return ps.dist.run(work, ranks)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("halo", [*ON_ONE_GPU, "auto"])
def test_every_strategy(halo, ranks):
    A = random_matrix(5003, 5003, 9, seed=ranks)
    x = np.random.default_rng(1).integers(-8, 9, 5003).astype(np.float64)
    expected = A @ x
    for y, used, _ in product(A, x, ranks, halo):
        np.testing.assert_array_equal(y, expected, err_msg=f"halo={halo} ({used}), {ranks} ranks")


@pytest.mark.gpu_small
@pytest.mark.parametrize("halo", ["index_pinned", "peer", "peer_packed"])
def test_small(halo):
    A = random_matrix(257, 257, 5, seed=3)
    x = np.random.default_rng(2).integers(-8, 9, 257).astype(np.float64)
    for y, _, _ in product(A, x, 2, halo, times=2):
        np.testing.assert_array_equal(y, A @ x, err_msg=halo)


@pytest.mark.parametrize("halo", ON_ONE_GPU)
def test_the_bits_of_the_host(halo):
    """Ghosts are moved, never changed: infinities and denormals come out as they went in."""
    n = 1201
    odd = np.array([0x7FF8DEADBEEF0001, 0xFFF0000000000000, 0x0000000000000001], np.uint64)
    bits = np.random.default_rng(5).integers(0, 2**62, n).astype(np.uint64)
    bits[::7] = odd[np.arange(bits[::7].size) % 3]
    x = bits.view(np.float64)
    order = np.random.default_rng(6).permutation(n)
    P = ps.csr_array((np.ones(n), order.astype(np.int32), np.arange(n + 1)), shape=(n, n))

    def work(comm):
        D = ps.dist.csr_array(P, comm, device=ps.device(comm.rank % gpus()), halo=halo)
        C = ps.dist.csr_array(P, comm)
        mine = D.share(x)
        return D.collect(D @ mine), C.collect(C @ mine)

    for ours, cpu in ps.dist.run(work, 3):
        real = ~np.isnan(cpu)
        np.testing.assert_array_equal(ours[real].view(np.uint64), cpu[real].view(np.uint64))
        np.testing.assert_array_equal(np.isnan(ours), np.isnan(cpu))


@pytest.mark.parametrize("halo", ["pinned", "index_standard", "peer", "peer_packed"])
@pytest.mark.parametrize("dtype", [np.float32, np.bool_])
def test_types(halo, dtype):
    A = random_matrix(1500, 1500, 6, seed=8).astype(np.float32)
    if dtype == np.bool_:
        A = A.astype(np.bool_)
    x = np.random.default_rng(3).integers(0, 9, 1500).astype(np.float32)
    for y, _, _ in product(A, x, 3, halo):
        assert y.dtype == np.float32
        np.testing.assert_array_equal(y, A @ x, err_msg=halo)


@pytest.mark.parametrize("semiring", ["min_plus", "or_and"])
def test_semirings_scales_and_out(semiring):
    A = random_matrix(900, 900, 5, seed=4)
    rng = np.random.default_rng(9)
    x = rng.integers(0, 2, 900).astype(bool if semiring == "or_and" else np.float64)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo="peer")
        return D.collect(np.asarray(D.dot(D.share(x), semiring=semiring)))

    for y in ps.dist.run(work, 3):
        np.testing.assert_array_equal(y, A.dot(x, semiring=semiring))

    v, w = rng.integers(-3, 4, (2, 900)).astype(np.float64)

    def scaled(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo="index_pinned")
        out = D.share(w, of="y").copy()
        D.dot(D.share(v), out, alpha=2.0, beta=-3.0)
        return D.collect(out)

    for y in ps.dist.run(scaled, 4):
        np.testing.assert_array_equal(y, 2 * (A @ v) - 3 * w)


@pytest.mark.parametrize("partition", ["balanced", "grid", "bins"])
@pytest.mark.parametrize("halo", ["index_pinned", "peer"])
def test_partitions(partition, halo):
    """grid and bins split rows: sums of foreign rows come back to their owners."""
    A = ps.generate.rmat(11, seed=7).astype(np.float64)
    x = np.random.default_rng(4).integers(-4, 5, A.shape[1]).astype(np.float64)
    for y, _, _ in product(A, x, 4, halo, partition=partition):
        np.testing.assert_array_equal(y, A @ x, err_msg=f"{partition}, {halo}")


def test_ranks_without_rows_and_without_ghosts():
    A = random_matrix(3, 3, 2, seed=1)
    for halo in ON_ONE_GPU:
        for y, _, _ in product(A, np.array([1.0, -2.0, 3.0]), 4, halo):
            np.testing.assert_array_equal(y, A @ np.array([1.0, -2.0, 3.0]), err_msg=halo)
    n = 64
    eye = ps.csr_array((np.ones(n), np.arange(n, dtype=np.int32), np.arange(n + 1)), shape=(n, n))
    for halo in [*ON_ONE_GPU, "auto"]:
        for y, _, sent in product(eye, np.arange(64.0), 3, halo):
            np.testing.assert_array_equal(y, np.arange(64.0), err_msg=halo)
            assert sent == 0


def test_streamed_local_block():
    A = ps.generate.laplacian((90, 91))
    x = np.random.default_rng(4).integers(-4, 5, A.shape[1]).astype(np.float64)
    for y, _, _ in product(A, x, 2, "peer", schedule=ps.Streamed()):
        np.testing.assert_array_equal(y, A @ x)


@pytest.mark.parametrize("halo", ["peer", "peer_packed", "index_pinned"])
def test_many_products_do_not_mix(halo):
    """x is overwritten as soon as a product returns: a neighbour that still read it would show."""
    A = ps.generate.laplacian((200, 200))
    rng = np.random.default_rng(2)
    vectors = rng.integers(-8, 9, (40, A.shape[1])).astype(np.float64)
    expected = [A @ v for v in vectors]

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo=halo)
        buffer = D.share(vectors[0]).copy()
        wrong = []
        for k, v in enumerate(vectors):
            buffer[:] = D.share(v)
            y = D @ buffer
            buffer[:] = np.nan
            if not np.array_equal(y, D.share(expected[k], of="y")):
                wrong.append(k)
        return wrong

    for rank, wrong in enumerate(ps.dist.run(work, 4)):
        assert not wrong, f"rank {rank}: products {wrong} of 40 are wrong"


def test_vectors_that_stay_on_the_gpu():
    torch = pytest.importorskip("torch")
    A = ps.generate.laplacian((120, 121))
    x = np.random.default_rng(2).integers(-8, 9, A.shape[1]).astype(np.float64)

    def work(comm):
        gpu = comm.rank % gpus()
        D = ps.dist.csr_array(A, comm, device=ps.device(gpu), halo="peer")
        mine = torch.as_tensor(D.share(x), device=f"cuda:{gpu}")
        for k in range(5):
            D @ (mine * k)
        y = D @ mine
        assert y.device == mine.device
        return D.collect(y.cpu().numpy())

    for y in ps.dist.run(work, 2):
        np.testing.assert_array_equal(y, A @ x)


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg(ranks, dtype, M):
    A = ps.generate.laplacian((63, 65)).astype(dtype)
    b = np.random.default_rng(1).standard_normal(A.shape[0]).astype(dtype)
    rtol = 1e-4 if dtype == np.float32 else 1e-9
    expected, alone = ps.linalg.cg(A, b, rtol=rtol, M=M)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo="peer")
        x, info = ps.dist.linalg.cg(D, D.share(b, of="y"), rtol=rtol, M=M)
        return D.collect(x), info

    results = ps.dist.run(work, ranks)
    for x, info in results:
        assert info.vectors.startswith("gpu"), info.vectors
        assert info == 0, info
        slack = 1 if dtype == np.float64 else 1 + alone.iterations // 50
        assert abs(info.iterations - alone.iterations) <= slack, (info, alone)
        assert info.residual <= info.target
        np.testing.assert_allclose(x, expected, rtol=0, atol=300 * rtol * np.abs(expected).max())
    assert len({(i.iterations, i.residual) for _, i in results}) == 1, "ranks differ"


def test_cg_has_the_same_bits_in_every_run():
    A = ps.generate.laplacian((70, 71))
    b = np.random.default_rng(1).standard_normal(A.shape[0])

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo="peer")
        return D.collect(ps.dist.linalg.cg(D, D.share(b, of="y"), rtol=1e-9)[0])

    assert len({ps.dist.run(work, 2)[0].tobytes() for _ in range(4)}) == 1


def test_times_are_counted():
    A = ps.generate.laplacian((100, 100))

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(0), halo="index_standard")
        x = np.ones(D.local_shape[1])
        for _ in range(9):
            D @ x
        first = D.halo
        D.clear_times()
        return first, D.halo

    for t, cleared in ps.dist.run(work, 2):
        assert t["products"] == 9
        assert t["strategy"] == "index_standard"
        assert t["sent_bytes"] == 9 * 100 * 8
        assert t["messages"] == 9
        assert 0 < t["local"] < t["seconds"]
        assert t["pack"] > 0 and t["copy"] > 0
        assert cleared["products"] == 0 and cleared["seconds"] == 0


def test_a_rank_that_fails_ends_the_others():
    A = ps.generate.laplacian((50, 50))

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.device(comm.rank % gpus()), halo="peer")
        x = np.ones(D.local_shape[1])
        for k in range(10):
            if comm.rank == 1 and k == 4:
                raise KeyError("mine")
            D @ x

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            ps.dist.run(work, 3)
    x = np.ones(A.shape[1])
    for y, _, _ in product(A, x, 3, "peer"):  # the GPU is still usable
        np.testing.assert_array_equal(y, A @ x)


def test_nccl_needs_a_gpu_for_each_rank():
    A = ps.generate.laplacian((60, 61))
    x = np.random.default_rng(2).integers(-8, 9, A.shape[1]).astype(np.float64)
    with pytest.raises((_core.PlacementError, RuntimeError), match=r"share a GPU|cannot be opened"):
        product(A, x, 2, "nccl", devices=[ps.device(0)] * 2)
    if gpus() < 2:
        return
    try:
        found = product(A, x, 2, "nccl", times=6)
    except _core.PlacementError as e:
        pytest.skip(str(e))
    for y, used, _ in found:
        assert used == "nccl"
        np.testing.assert_array_equal(y, A @ x)


def test_what_cannot_work_here_says_so():
    A = ps.generate.laplacian((10, 10))
    x = np.ones(100)
    for halo, why in [
        ("nvshmem", "threads of one|cannot be opened"),
        ("device", "PENSTOCK_GPU_AWARE"),
    ]:
        with pytest.raises(_core.PlacementError, match=why):
            product(A, x, 2, halo)
    with pytest.raises(ValueError, match="index_pinned"):
        product(A, x, 2, "isend")
