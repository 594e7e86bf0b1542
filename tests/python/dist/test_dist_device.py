"""Ranks with a device of their own, where the CPU is the device: the code of GPU ranks but for kernels and events."""

import numpy as np
import pytest
import scipy.sparse as sp
from dist_support import solved_twice

import penstock as ps
from penstock import _core

HERE = [
    *["sync", "gather", "pinned", "index_standard", "index_pinned"],
    *["device", "device_indexed", "peer", "peer_packed"],
]


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("halo", [*HERE, "auto"])
def test_every_strategy(halo, ranks):
    A = ps.generate.laplacian((30, 31))
    x = np.random.default_rng(1).integers(-8, 9, A.shape[1]).astype(np.float64)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, halo=halo)
        mine = D.share(x)
        for k in range(3):
            D @ (mine * k)
        assert D.device == ps.host
        return D.collect(D @ mine), D.halo

    for y, times in ps.dist.run(work, ranks):
        np.testing.assert_array_equal(y, A @ x)
        assert times["products"] == 4
        assert times["strategy"] in (HERE if ranks > 1 else [halo])


@pytest.mark.parametrize("partition", ["balanced", "grid", "bins"])
@pytest.mark.parametrize("schedule", [None, ps.Streamed()])
def test_partitions_and_schedules(partition, schedule):
    A = ps.generate.rmat(8, seed=7).astype(np.float64)
    x, w = np.random.default_rng(4).integers(-4, 5, (2, A.shape[1])).astype(np.float64)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, partition=partition, schedule=schedule)
        out = D.share(w, of="y").copy()
        D.dot(D.share(x), out, alpha=2.0, beta=3.0)
        back = D.T @ D.share(w, of="y")  # the CPU's
        return D.collect(out), D.collect(back, of="x")

    for y, back in ps.dist.run(work, 4):
        np.testing.assert_array_equal(y, 2 * (A @ x) + 3 * w)
        np.testing.assert_array_equal(back, A.T @ w)


@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "or_and"])
def test_semirings(semiring):
    A = ps.generate.rmat(7, seed=3)
    x = np.random.default_rng(4).integers(0, 2, A.shape[1])
    x = x.astype(bool) if semiring == "or_and" else x.astype(np.float32)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        C = ps.dist.csr_array(A, comm)
        return D.dot(D.share(x), semiring=semiring), C.dot(C.share(x), semiring=semiring)

    for ours, cpu in ps.dist.run(work, 3):
        assert ours.dtype == cpu.dtype
        np.testing.assert_array_equal(ours, cpu)


METHODS = ["cg", "pipecg", "bicgstab", "gmres"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "jacobi", "chebyshev"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_solvers_are_the_hosts(method, M, ranks):
    symmetric = method in ("cg", "pipecg")
    A = ps.generate.laplacian((13, 12)) if symmetric else ps.generate.advection_diffusion(12)
    A = A.to_scipy() + sp.eye_array(A.shape[0])
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    partition = "grid" if ranks == 4 else "contiguous"
    x, info, y, told = solved_twice(ps.csr_array(A), b, ranks, method, M, partition, rtol=1e-8)
    assert info == told == 0, (info, told)
    # BiCGStab amplifies rounding: sums are taken in another order.
    slack = max(1, told.iterations // 20) if method == "bicgstab" else 0
    assert abs(info.iterations - told.iterations) <= slack, (info, told)
    assert info.residual <= info.target and info.target == pytest.approx(told.target)
    early = min(6, info.iterations)
    np.testing.assert_allclose(info.residuals[:early], told.residuals[:early], rtol=1e-9)
    np.testing.assert_allclose(x, y, rtol=0, atol=1e-7 * np.abs(y).max())


@pytest.mark.parametrize("M", [None, "jacobi"])
def test_cg(M):
    A = ps.generate.laplacian((21, 20))
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    expected, alone = ps.linalg.cg(A, b, rtol=1e-9, M=M)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        mine = D.share(b, of="y")
        x, info = ps.dist.linalg.cg(D, mine, rtol=1e-9, M=M)
        _, more = ps.dist.linalg.cg(D, mine, x, rtol=1e-8, M=M)
        assert more.iterations == 0
        return D.collect(x), info

    for x, info in ps.dist.run(work, 3):
        assert info == 0 and abs(info.iterations - alone.iterations) <= 1
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_what_is_wrong_is_said_on_all_ranks():
    A = ps.generate.laplacian((6, 6))

    def work(comm, extra=0, **named):
        D = ps.dist.csr_array(A, comm, device=ps.host, **named)
        return D @ np.ones(D.local_shape[1] + extra)

    with pytest.raises(ValueError, match="this rank owns"):
        ps.dist.run(work, 2, extra=1)
    with pytest.raises(ValueError, match="index_pinned"):
        ps.dist.run(work, 2, halo="isend")
    for halo in ("nccl", "nvshmem"):
        with pytest.raises((_core.NotCompiledError, _core.PlacementError), match="rank 0"):
            ps.dist.run(work, 2, halo=halo)
    with pytest.raises(ValueError, match="in core or streamed"):
        ps.dist.run(work, 2, schedule=ps.ZeroCopy())
    for how in (ps.Streamed(codec="packed"), ps.Streamed(block=4096), ps.InCore(device=0)):
        with pytest.raises(ValueError, match="nothing else is chosen: give ps"):
            ps.dist.run(work, 2, schedule=how)


@pytest.mark.parametrize("halo", HERE)
@pytest.mark.parametrize("partition", ["contiguous", "grid"])
def test_several_columns(halo, partition):
    A = ps.csr_array(ps.generate.rmat(7, seed=5).to_scipy().astype(np.float64))
    rng = np.random.default_rng(8)
    X, Y = rng.integers(-4, 5, (2, A.shape[1], 3)).astype(np.float64)
    expected = A @ X

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, halo=halo, partition=partition)
        mine = D.share(X)
        D @ mine[:, :2].copy()  # other exchanges, of other sizes
        D @ mine[:, 0].copy()
        y = D @ mine
        assert D.halo["products"] == 3, "multiplied elsewhere"
        out = np.asfortranarray(D.share(Y, of="y"))
        D.dot(np.asfortranarray(mine), out, alpha=2.0, beta=-1.0)
        assert (D @ np.empty((len(mine), 0))).shape == (len(D.rows), 0)
        return D.collect(y), D.collect(out)

    for ranks in (1, 2, 4):
        for y, out in ps.dist.run(work, ranks):
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(out, 2 * expected - Y)


@pytest.mark.parametrize("semiring", ["min_plus", "or_and"])
def test_several_columns_of_semirings(semiring):
    A = ps.generate.rmat(6, seed=3)
    X = np.random.default_rng(4).integers(0, 2, (A.shape[1], 5))
    X = X.astype(bool) if semiring == "or_and" else X.astype(np.float32)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        C = ps.dist.csr_array(A, comm)
        ours, cpu = (M.dot(M.share(X), semiring=semiring) for M in (D, C))
        assert D.halo["products"] == 1
        return ours, cpu

    for ours, cpu in ps.dist.run(work, 3):
        assert ours.dtype == cpu.dtype
        np.testing.assert_array_equal(ours, cpu)


def test_columns_of_a_streamed_block_are_the_hosts():
    A = ps.generate.laplacian((20, 20))
    X = np.random.default_rng(4).integers(-4, 5, (A.shape[1], 3)).astype(np.float64)

    def work(comm):
        how = ps.Streamed() if comm.rank == 1 else None
        D = ps.dist.csr_array(A, comm, device=ps.host, schedule=how)
        return D.collect(D @ D.share(X))

    for y in ps.dist.run(work, 3):
        np.testing.assert_array_equal(y, A @ X)


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("partition", ["contiguous", "grid", "bins"])
def test_transposed(partition, columns):
    A = ps.csr_array(ps.generate.rmat(7, seed=5).to_scipy().astype(np.float64))
    rng = np.random.default_rng(8)
    X, Y = rng.integers(-4, 5, (2, A.shape[0], *columns)).astype(np.float64)
    expected = A.T @ X

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, partition=partition)
        mine, out = D.share(X, of="y"), D.share(Y).copy()
        y = D.T @ mine
        D @ out  # the other way between
        D.T.dot(mine, out, alpha=2.0, beta=-1.0)
        assert D.halo["products"] == 3, "multiplied elsewhere"
        return D.collect(y, of="x"), D.collect(out, of="x")

    for ranks in (1, 2, 3, 4):
        for y, out in ps.dist.run(work, ranks):
            np.testing.assert_array_equal(y, expected)
            np.testing.assert_array_equal(out, 2 * expected - Y)


@pytest.mark.parametrize("semiring", ["min_plus", "or_and"])
def test_transposed_semirings(semiring):
    A = ps.generate.rmat(6, seed=3)
    x = np.random.default_rng(4).integers(0, 2, A.shape[0])
    x = x.astype(bool) if semiring == "or_and" else x.astype(np.float32)

    def work(comm):
        found = []
        for device in (ps.host, None):
            D = ps.dist.csr_array(A, comm, device=device, partition="grid")
            found.append(D.T.dot(D.share(x, of="y"), semiring=semiring))
        return found

    for ours, cpu in ps.dist.run(work, 4):
        assert ours.dtype == cpu.dtype
        np.testing.assert_array_equal(ours, cpu)


@pytest.mark.parametrize("method", METHODS)
def test_callbacks_see_x(method):
    A = ps.generate.laplacian((8, 9))
    b = np.random.default_rng(1).standard_normal(A.shape[0])

    def work(comm, device):
        D = ps.dist.csr_array(A, comm, device=device)
        seen = []
        named = {"callback_type": "x"} if method == "gmres" else {}
        named["callback"] = lambda x: seen.append(D.collect(np.array(x)))
        x, info = getattr(ps.dist.linalg, method)(D, D.share(b, of="y"), rtol=1e-8, **named)
        assert D.device is None or D.halo["products"] > info.iterations, "multiplied elsewhere"
        np.testing.assert_array_equal(D.collect(x), seen[-1])
        return seen

    ours, cpu = (ps.dist.run(work, 2, device)[0] for device in (ps.host, None))
    assert len(ours) == len(cpu)
    for x, y in zip(ours[:5], cpu[:5], strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-9 * np.abs(y).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("M", "every", "restart", "stop"), [(None, 5, 7, 9), ("jacobi", 5, 7, 9), ("ilu0", 3, 4, 5)]
)
def test_checkpoints(method, M, every, restart, stop, tmp_path):
    """A solve goes on where another one stopped: to the same bits, also after the host's methods, and in the host's;
    and among other ranks, whose blocks make another M."""
    A = ps.generate.laplacian((12, 13))
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    cycles = method == "gmres"

    def work(comm, device, folder, maxiter=None):
        D = ps.dist.csr_array(A, comm, device=device)
        named = {"checkpoint": tmp_path / folder, "checkpoint_every": every} if folder else {}
        named |= {"restart": restart} if cycles else {}
        solve = getattr(ps.dist.linalg, method)
        x, info = solve(D, D.share(b, of="y"), rtol=1e-9, M=M, maxiter=maxiter, **named)
        assert device is None or D.halo["products"] > 0, "multiplied elsewhere"
        return D.collect(x), info

    whole, alone = ps.dist.run(work, 2, ps.host, None)[0]
    for first, then, ranks in [
        (ps.host, ps.host, 2),
        (None, ps.host, 2),
        (ps.host, None, 2),
        (ps.host, ps.host, 3),
    ]:
        folder = f"{first is None}{then is None}{ranks}"
        _, stopped = ps.dist.run(work, 2, first, folder, 1 if cycles else stop)[0]
        assert stopped > 0
        x, info = ps.dist.run(work, ranks, then, folder)[0]
        assert info == 0 and info.resumed == (restart if cycles else stop)
        if first is then and ranks == 2:
            np.testing.assert_array_equal(x, whole)
            np.testing.assert_array_equal(info.residuals, alone.residuals)
        if ranks == 2:
            assert abs(info.iterations - alone.iterations) <= 2
        else:
            assert info.iterations <= info.resumed + alone.iterations + 3
        np.testing.assert_allclose(x, whole, rtol=0, atol=1e-6 * np.abs(whole).max())


@pytest.mark.parametrize("device", ["cpu", ps.host])
def test_the_cpu_as_a_device_has_two_names(device):
    a = ps.generate.laplacian((6, 6))

    def work(comm):
        d = ps.dist.csr_array(a, comm, device=device)
        return d.device, d.collect(d @ d.share(np.arange(36.0)))

    for where, y in ps.dist.run(work, 2):
        assert where == ps.host
        np.testing.assert_allclose(y, a @ np.arange(36.0))


def test_a_device_that_is_none_is_refused():
    for device, error in (("gpu", ValueError), (-1, ValueError), (ps.pinned, TypeError)):
        with pytest.raises(error, match=r"dist.csr_array\(device="):
            ps.dist.run(lambda comm, d=device: ps.dist.csr_array(np.eye(4), comm, device=d), 1)


@pytest.mark.parametrize("shape", [(40, 9), (600,), (7, 8, 9)], ids=str)
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus"])
def test_rows_beside_inner_ones(shape, ranks, semiring):
    """Of a stencil cut in order most rows need no ghosts: these and the others are multiplied apart."""
    A = ps.generate.laplacian(shape, dtype=np.float64)
    x, w = np.random.default_rng(4).integers(-4, 5, (2, A.shape[0])).astype(np.float64)
    two = np.stack([x, w], axis=1)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, halo="peer")
        mine, found = D.share(x), []
        out = D.share(w, of="y").copy()
        for _ in range(3):
            D.dot(mine, out, semiring=semiring, alpha=2.0, beta=1.0)
            found.append(D.collect(out).copy())
        columns = D @ np.ascontiguousarray(np.stack([mine, D.share(w)], axis=1))
        times = D.halo
        return found, D.collect(columns), D.collect(D.T @ mine, of="x"), times

    for found, columns, back, times in ps.dist.run(work, ranks):
        wanted = w.copy()
        for y in found:
            wanted = A.dot(x, out=wanted.copy(), semiring=semiring, alpha=2.0, beta=1.0)
            np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(columns, A @ two)
        np.testing.assert_array_equal(back, A.T @ x)
        assert times["exchange"] >= 0 and times["halo"] >= 0
