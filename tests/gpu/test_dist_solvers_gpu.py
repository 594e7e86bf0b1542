"""Krylov methods and products with several columns over ranks that have a GPU each, or share one."""

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

METHODS = ["cg", "pipecg", "bicgstab", "gmres"]


def on(rank):
    return ps.device(rank % max(1, _core.device_count()))


def problem(method, side=40, dtype=np.float64):
    symmetric = method in ("cg", "pipecg")
    A = (
        ps.generate.laplacian((side, side - 3))
        if symmetric
        else ps.generate.advection_diffusion(side)
    )
    A = ps.csr_array((A.to_scipy() + 0.5 * sp.eye_array(A.shape[0])).astype(dtype))
    return A, np.random.default_rng(1).standard_normal(A.shape[0]).astype(dtype)


def on_gpus(A, b, method, ranks, M=None, halo="peer", x0=None, **named):
    """x and info of every rank."""

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo=halo)
        m = M(D) if callable(M) else M
        guess = None if x0 is None else D.share(x0)
        solve = getattr(ps.dist.linalg, method)
        x, info = solve(D, D.share(b, of="y"), guess, M=m, **named)
        return D.collect(x), info

    results = ps.dist.run(work, ranks)
    for rank, (x, info) in enumerate(results):
        assert info.vectors.startswith("gpu"), f"rank {rank}: vectors on {info.vectors}"
        np.testing.assert_array_equal(x, results[0][0], err_msg=f"rank {rank} has another x")
        np.testing.assert_array_equal(
            info.residuals, results[0][1].residuals, err_msg=f"rank {rank}"
        )
    return results[0]


def check(A, b, x, info, alone, expected, rtol, what):
    assert info == 0, f"{what}: {info}"
    slack = max(2, alone.iterations // 8)  # rounding; BiCGStab amplifies it
    assert abs(info.iterations - alone.iterations) <= slack, f"{what}: {info}, alone {alone}"
    first = min(5, info.iterations)
    tolerance = 1e-8 if x.dtype == np.float64 else 2e-3
    np.testing.assert_allclose(
        info.residuals[:first], alone.residuals[:first], rtol=tolerance, err_msg=what
    )
    residual = np.linalg.norm(A.astype(np.float64) @ x.astype(np.float64) - b) / np.linalg.norm(b)
    assert residual <= (1.01 if x.dtype == np.float64 else 2) * rtol, f"{what}: {residual}"
    np.testing.assert_allclose(x, expected, rtol=0, atol=300 * rtol * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "jacobi", "chebyshev"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_like_one_process(method, M, ranks):
    A, b = problem(method)
    expected, alone = getattr(ps.linalg, method)(A, b, rtol=1e-9, M=M)
    x, info = on_gpus(A, b, method, ranks, M, rtol=1e-9)
    check(A, b, x, info, alone, expected, 1e-9, f"{method}, M={M}, {ranks} ranks")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "jacobi", "chebyshev"])
def test_float32(method, M):
    A, b = problem(method, 30, np.float32)
    expected, alone = getattr(ps.linalg, method)(A, b, rtol=1e-4, M=M)
    x, info = on_gpus(A, b, method, 2, M, rtol=1e-4)
    assert x.dtype == np.float32
    check(A, b, x, info, alone, expected, 1e-4, f"{method}, M={M}")


@pytest.mark.gpu_small
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "chebyshev"])
def test_small(method, M):
    A, b = problem(method, 9)
    expected, alone = getattr(ps.linalg, method)(A, b, rtol=1e-8, M=M)
    x, info = on_gpus(A, b, method, 2, M, rtol=1e-8)
    check(A, b, x, info, alone, expected, 1e-8, f"{method}, M={M}")


@pytest.mark.parametrize("method", METHODS)
def test_the_same_bits_in_every_run(method):
    A, b = problem(method)
    found = {on_gpus(A, b, method, 3, "jacobi", rtol=1e-9)[0].tobytes() for _ in range(4)}
    assert len(found) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("halo", ["index_pinned", "gather", "peer_packed"])
def test_halos(method, halo):
    A, b = problem(method)
    expected, alone = getattr(ps.linalg, method)(A, b, rtol=1e-9)
    x, info = on_gpus(A, b, method, 3, halo=halo, rtol=1e-9)
    check(A, b, x, info, alone, expected, 1e-9, f"{method}, {halo}")


@pytest.mark.parametrize("restart", [1, 2, 3, 5, 8, 13, 30])
def test_gmres_with_every_size_of_group(restart):
    """The basis is walked in groups of eight, four, two and one vectors."""
    A, b = problem("gmres", 15)
    maxiter = max(2, 60 // restart)
    named = {"rtol": 1e-9, "restart": restart, "maxiter": maxiter}
    expected, alone = ps.linalg.gmres(A, b, **named)
    x, info = on_gpus(A, b, "gmres", 2, **named)
    assert info.iterations == alone.iterations, (info, alone)
    np.testing.assert_allclose(info.residuals, alone.residuals, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_guesses_zero_and_ranks_without_rows(method):
    A, b = problem(method, 12)
    x, _ = getattr(ps.linalg, method)(A, b, rtol=1e-12)
    again, info = on_gpus(A, b, method, 2, x0=x, rtol=1e-8)
    assert info.iterations == 0
    np.testing.assert_array_equal(again, x)
    nothing, info = on_gpus(A, 0 * b, method, 2, x0=x, rtol=1e-8)
    assert info == 0 and not nothing.any()
    three = ps.csr_array(np.array([[4.0, 1, 0], [1, 4, 1], [0, 1, 4]]))
    few, info = on_gpus(three, np.array([1.0, 2, 3]), method, 4, M="jacobi", rtol=1e-12)
    assert info == 0, info
    np.testing.assert_allclose(three @ few, [1, 2, 3], rtol=1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_breakdowns(method):
    """The same stop as with vectors on the host."""
    n = 64
    A = ps.csr_array(sp.diags_array([np.where(np.arange(n) % 2, 1.0, -1.0)], offsets=[0]))
    b = np.ones(n)
    _, alone = getattr(ps.linalg, method)(A, b, rtol=1e-10, maxiter=30)
    _, info = on_gpus(A, b, method, 2, rtol=1e-10, maxiter=30)
    assert int(info) == int(alone), (info, alone)
    assert info.reason.split(":")[0] == alone.reason.split(":")[0]


@pytest.mark.parametrize("method", METHODS)
def test_vectors_that_stay_on_the_gpu(method):
    torch = pytest.importorskip("torch")
    A, b = problem(method)
    expected, _ = getattr(ps.linalg, method)(A, b, rtol=1e-9, M="chebyshev")

    def work(comm):
        where = on(comm.rank)
        D = ps.dist.csr_array(A, comm, device=where, halo="peer")
        mine = torch.as_tensor(D.share(b, of="y"), device=f"cuda:{where.ordinal}")
        x, info = getattr(ps.dist.linalg, method)(D, mine, rtol=1e-9, M="chebyshev")
        assert x.device == mine.device and info == 0, (x.device, info)
        return D.collect(x.cpu().numpy())

    for x in ps.dist.run(work, 2):
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("method", METHODS)
def test_checkpoints_and_callbacks(method, tmp_path):
    """A solve that stops goes on to the same bits, and after one with vectors on the host."""
    A, b = problem(method, 24)
    cycles = method == "gmres"

    def work(comm, device, folder, maxiter=None):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank) if device else None, **halo_of(device))
        named = {"checkpoint": tmp_path / folder, "checkpoint_every": 5} if folder else {}
        named |= {"restart": 7, "callback_type": "x"} if cycles else {}
        seen = []
        named["callback"] = lambda x: seen.append(np.array(x))
        solve = getattr(ps.dist.linalg, method)
        x, info = solve(D, D.share(b, of="y"), rtol=1e-9, maxiter=maxiter, **named)
        assert info.vectors.startswith("gpu" if device else "cpu"), info.vectors
        np.testing.assert_array_equal(x, seen[-1], err_msg="the callback saw another x")
        return D.collect(x), info

    def halo_of(device):
        return {"halo": "peer"} if device else {}

    whole, alone = ps.dist.run(work, 2, True, None)[0]
    for first in (True, False):
        _, stopped = ps.dist.run(work, 2, first, f"{first}", 1 if cycles else 9)[0]
        assert stopped > 0, stopped
        x, info = ps.dist.run(work, 2, True, f"{first}")[0]
        assert info == 0 and info.resumed == (7 if cycles else 9), (info, info.resumed)
        if first:
            np.testing.assert_array_equal(x, whole)
            np.testing.assert_array_equal(info.residuals, alone.residuals)
        np.testing.assert_allclose(x, whole, rtol=0, atol=1e-6 * np.abs(whole).max())


def integers(rows, columns, seed=3):
    return np.random.default_rng(seed).integers(-4, 5, (rows, columns)).astype(np.float64)


@pytest.mark.parametrize("columns", [1, 2, 3, 8, 33, 130])
@pytest.mark.parametrize(
    "halo", ["gather", "pinned", "index_standard", "index_pinned", "peer", "peer_packed"]
)
def test_several_columns(halo, columns):
    A = ps.csr_array(ps.generate.rmat(10, seed=5).to_scipy().astype(np.float64))
    X = integers(A.shape[1], columns)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo=halo)
        mine = D.share(X)
        D @ (2 * mine)
        y = D @ mine
        assert D.halo["products"] == 2, "multiplied elsewhere"
        return D.collect(y)

    for ranks in (1, 2, 4):
        for y in ps.dist.run(work, ranks):
            np.testing.assert_array_equal(
                y, A @ X, err_msg=f"{halo}, {columns} columns, {ranks} ranks"
            )


@pytest.mark.parametrize("partition", ["grid", "bins"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_rows_that_are_shared(partition, dtype):
    A = ps.csr_array(ps.generate.rmat(9, seed=7).to_scipy().astype(dtype))
    X, Y = integers(A.shape[1], 5).astype(dtype), integers(A.shape[0], 5, 4).astype(dtype)

    def work(comm):
        D = ps.dist.csr_array(
            A, comm, device=on(comm.rank), halo="index_pinned", partition=partition
        )
        out = D.share(Y, of="y").copy()
        D.dot(D.share(X), out, alpha=2.0, beta=-1.0)
        return D.collect(out)

    for y in ps.dist.run(work, 4):
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, 2 * (A @ X) - Y, err_msg=partition)


@pytest.mark.gpu_small
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "or_and"])
def test_columns_small(semiring):
    A = ps.generate.rmat(7, seed=2)
    X = np.random.default_rng(1).integers(0, 2, (A.shape[1], 3))
    X = X.astype(bool) if semiring == "or_and" else X.astype(np.float64)
    expected = A.dot(X, semiring=semiring)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo="peer")
        return D.collect(D.dot(D.share(X), semiring=semiring))

    for y in ps.dist.run(work, 2):
        np.testing.assert_array_equal(y, expected)


def test_columns_that_stay_on_the_gpu():
    torch = pytest.importorskip("torch")
    A = ps.generate.laplacian((50, 51))
    X = integers(A.shape[1], 6)

    def work(comm):
        where = on(comm.rank)
        D = ps.dist.csr_array(A, comm, device=where, halo="peer")
        mine = torch.as_tensor(D.share(X), device=f"cuda:{where.ordinal}")
        y = D @ mine
        assert y.device == mine.device and tuple(y.shape) == (len(D.rows), 6)
        return D.collect(y.cpu().numpy())

    for y in ps.dist.run(work, 2):
        np.testing.assert_array_equal(y, A @ X)


@pytest.mark.parametrize("columns", [(), (1,), (4,), (33,)])
@pytest.mark.parametrize("partition", ["contiguous", "balanced", "grid", "bins"])
@pytest.mark.parametrize("halo", ["index_pinned", "peer"])
def test_transposed(halo, partition, columns):
    A = ps.csr_array(ps.generate.rmat(9, seed=5).to_scipy().astype(np.float64))
    rng = np.random.default_rng(8)
    X, Y = rng.integers(-4, 5, (2, A.shape[0], *columns)).astype(np.float64)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo=halo, partition=partition)
        mine, out = D.share(X, of="y"), D.share(Y).copy()
        y = D.T @ mine
        D @ out  # the other way between
        D.T.dot(mine, out, alpha=2.0, beta=-1.0)
        assert D.halo["products"] == 3, "multiplied elsewhere"
        return D.collect(y, of="x"), D.collect(out, of="x")

    for ranks in (1, 2, 4):
        for y, out in ps.dist.run(work, ranks):
            what = f"{halo}, {partition}, {columns} columns, {ranks} ranks"
            np.testing.assert_array_equal(y, A.T @ X, err_msg=what)
            np.testing.assert_array_equal(out, 2 * (A.T @ X) - Y, err_msg=what)


@pytest.mark.gpu_small
@pytest.mark.parametrize("semiring", ["plus_times", "min_plus", "or_and"])
def test_transposed_small(semiring):
    A = ps.generate.rmat(7, seed=2)
    x = np.random.default_rng(1).integers(0, 2, A.shape[0])
    x = x.astype(bool) if semiring == "or_and" else x.astype(np.float32)
    expected = A.T.dot(x, semiring=semiring)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo="peer", partition="grid")
        return D.collect(D.T.dot(D.share(x, of="y"), semiring=semiring), of="x")

    for y in ps.dist.run(work, 4):
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("shape", [(40, 700), (700, 40), (5, 3)])
def test_rectangles(shape):
    """With fewer rows or columns than ranks, too."""
    rng = np.random.default_rng(4)
    n = 4 * max(shape)
    at = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    A = ps.csr_array((rng.integers(-4, 5, n).astype(np.float32), at), shape=shape)
    X, Z = integers(shape[1], 3).astype(np.float32), integers(shape[0], 3).astype(np.float32)

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=on(comm.rank), halo="index_standard")
        forward, back = D @ D.share(X), D.T @ D.share(Z, of="y")
        one = D.T @ D.share(Z[:, 0], of="y")
        return D.collect(forward), D.collect(back, of="x"), D.collect(one, of="x")

    for ranks in (1, 3, 8):
        for forward, back, one in ps.dist.run(work, ranks):
            np.testing.assert_array_equal(forward, A @ X, err_msg=f"{shape}, {ranks} ranks")
            np.testing.assert_array_equal(back, A.T @ Z, err_msg=f"{shape}, {ranks} ranks")
            np.testing.assert_array_equal(one, A.T @ Z[:, 0], err_msg=f"{shape}, {ranks} ranks")
