"""Preconditioners of each rank's own block with vectors on a device, which the CPU plays: levels, tasks and launches
are those of a GPU, and the numbers those of the host's."""

import functools

import dist_support
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve_triangular

import penstock as ps
from penstock import _core
from penstock.dist import _solve_gpu

METHODS = ["cg", "pipecg", "bicgstab", "gmres"]
dl = ps.dist.linalg
KINDS = {
    "ilu0": "ilu0",
    "ic0": "ic0",
    "block_jacobi": "block_jacobi",
    "blocks of 7": lambda D: dl.BlockJacobi(D, 7),
    "blocks with factors": lambda D: dl.BlockJacobi(D, blocks=3, inner="ilu"),
    "shifted": lambda D: dl.IC0(D, shift=0.05),
    "schwarz": "schwarz",
    "added": lambda D: dl.AdditiveSchwarz(D, "ic0", combine="added"),
    "weighted": lambda D: dl.AdditiveSchwarz(D, "ilu0", combine="weighted"),
}


def matrix(name):
    if name == "laplacian":
        return ps.generate.laplacian((9, 8, 7))
    if name == "chain":  # every row waits for the one before
        n = 1500
        return ps.csr_array(sp.diags_array([-1.0, 2.1, -1.0], offsets=[-1, 0, 1], shape=(n, n)))
    S = sp.random_array((900, 900), density=0.006, rng=np.random.default_rng(4), format="csr")
    S = S + S.T
    return ps.csr_array(sp.csr_array(S + sp.diags_array(np.abs(S).sum(axis=1) + 0.5)))


solved_twice = functools.partial(dist_support.solved_twice, form="op")


def check(x, info, y, told, rtol):
    assert info == told == 0, (info, told)
    assert abs(info.iterations - told.iterations) <= max(1, told.iterations // 20), (info, told)
    early = min(5, info.iterations)
    near = 1e-8 if x.dtype == np.float64 else 1e-3
    np.testing.assert_allclose(info.residuals[:early], told.residuals[:early], rtol=near)
    np.testing.assert_allclose(x, y, rtol=0, atol=100 * rtol * np.abs(y).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_solvers_are_the_hosts(method, kind, ranks):
    A = matrix("laplacian")
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    check(*solved_twice(A, b, ranks, method, KINDS[kind], rtol=1e-8), 1e-8)


@pytest.mark.parametrize("name", ["chain", "random"])
@pytest.mark.parametrize("kind", ["ilu0", "ic0", "blocks of 7", "schwarz", "added"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_matrices(name, kind, ranks):
    A = matrix(name)
    b = np.random.default_rng(2).standard_normal(A.shape[0])
    for method in ("cg", "gmres"):
        check(*solved_twice(A, b, ranks, method, KINDS[kind], rtol=1e-8), 1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["ilu0", "ic0", "block_jacobi", "schwarz"])
def test_float32(method, kind):
    A = matrix("laplacian").astype(np.float32)
    b = np.random.default_rng(1).standard_normal(A.shape[0]).astype(np.float32)
    x, info, y, told = solved_twice(A, b, 2, method, kind, rtol=1e-4)
    assert x.dtype == np.float32
    check(x, info, y, told, 1e-4)


def test_a_matrix_that_is_not_symmetric():
    A = ps.generate.advection_diffusion(20)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    for method in ("bicgstab", "gmres"):
        for kind in ("ilu0", "block_jacobi", "blocks with factors", "schwarz"):
            check(*solved_twice(A, b, 3, method, KINDS[kind], rtol=1e-8), 1e-8)


def test_m_serves_several_solves():
    """On the device it is kept; a solver's own part is not."""
    A = matrix("laplacian")
    b = np.random.default_rng(1).standard_normal(A.shape[0])

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        M = dl.IC0(D)
        return [dl.cg(D, D.share(b, of="y"), M=M)[0].tobytes() for _ in range(3)]

    for found in ps.dist.run(work, 2):
        assert len(set(found)) == 1


HALOS = ["sync", "gather", "pinned", "index_standard", "index_pinned", "peer", "peer_packed"]


@pytest.mark.parametrize("halo", [*HALOS, "device", "device_indexed"])
@pytest.mark.parametrize("combine", ["restricted", "weighted", "added"])
def test_schwarz_by_every_exchange(halo, combine):
    """There and back: to the bits of the host's, which adds up in the same order."""
    A = matrix("random")
    r = np.random.default_rng(3).standard_normal(A.shape[0])

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host, halo=halo, partition="balanced")
        M = dl.AdditiveSchwarz(D, "ilu0", combine=combine)
        mine = D.share(r, of="y")
        z = np.empty_like(mine)
        for times in (1, 3):
            _core.dist_gpu_apply(D._gpu._core, M._native_op, mine, z, times)
            np.testing.assert_array_equal(z, M @ mine)
            D @ D.share(r)  # exchanges between
        return True

    for ranks in (1, 2, 5):
        assert all(ps.dist.run(work, ranks))


def test_schwarz_of_another_matrix_is_the_hosts():
    """Its exchanges are not those of A."""
    A = matrix("laplacian")
    b = np.ones(A.shape[0])

    def work(comm):
        D, E = (ps.dist.csr_array(A, comm, device=ps.host) for _ in range(2))
        D._gpu.solve = None
        x, info = dl.cg(D, D.share(b, of="y"), M=dl.AdditiveSchwarz(E, "ic0"), rtol=1e-8)
        return D.collect(x), info

    for x, info in ps.dist.run(work, 2):
        assert info == 0
        np.testing.assert_allclose(A @ x, b, rtol=0, atol=1e-6)


def test_ranks_without_rows():
    A = ps.csr_array(np.array([[4.0, 1, 0], [1, 4, 1], [0, 1, 4]]))
    for method in METHODS:
        for M in ("ilu0", "ic0", "block_jacobi", "schwarz"):
            x, info, _, _ = solved_twice(A, np.array([1.0, 2, 3]), 5, method, M, rtol=1e-12)
            assert info == 0, info
            np.testing.assert_allclose(A @ x, [1, 2, 3], rtol=1e-10)


@pytest.mark.parametrize(
    "told", [["", "GPU 1 is full", ""], ["", "GPU 1 is full", "GPU 2 is full"]]
)
def test_where_a_gpu_has_no_room(monkeypatch, told):
    """All ranks solve with vectors of the host, and say why; with vectors on the GPU they raise."""
    A = matrix("laplacian")
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    made, spares = [], []
    by_name = _solve_gpu.by_name
    monkeypatch.setattr(_solve_gpu, "by_name", lambda *a: made.append(a[0]) or by_name(*a))

    def work(comm, method):
        D = ps.dist.csr_array(A, comm, device=ps.host)

        def keep(core, op, spare):
            spares.append((len(D.rows), spare))
            return told[at[id(core)]]

        at[id(D._gpu._core)] = comm.rank
        if comm.rank == 0:
            monkeypatch.setattr(_core, "dist_gpu_keep", keep)
        comm.barrier()
        x, info = getattr(dl, method)(D, D.share(b, of="y"), rtol=1e-8, M="ilu0")
        with pytest.raises(MemoryError, match="rank 1: GPU 1 is full; with b in host memory"):
            _solve_gpu.solve_beside(method, D, D.share(b, of="y"), None, 1e-8, 0, 9, "ilu0", 5)
        return D.collect(x), info

    for method in ("cg", "gmres"):
        at = {}
        expected, _ = ps.linalg.cg(A, b, rtol=1e-10)
        for x, info in ps.dist.run(work, 3, method):
            assert info == 0 and info.vectors == "cpu: rank 1: GPU 1 is full", info.vectors
            np.testing.assert_allclose(x, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert made == ["ilu0"] * 12, "factors were made again for the host"
    for rows, spare in spares:
        assert spare >= 8 * rows * 12


def test_levels():
    """The longest chain of rows that wait for each other, in each triangle."""
    shapes = {"laplacian": (9, 8, 7), "chain": (1500,)}
    for name, shape in shapes.items():
        A = matrix(name)
        expected = sum(shape) - len(shape) + 1
        for kind in (dl.ILU0, dl.IC0):
            levels = ps.dist.run(
                lambda comm, A, kind: kind(ps.dist.csr_array(A, comm)).levels, 1, A, kind
            )
            assert levels == [(expected, expected)], (name, kind)
    A = matrix("chain")
    pieces = ps.dist.run(
        lambda comm: dl.BlockJacobi(ps.dist.csr_array(A, comm), blocks=10, inner="ilu").levels, 1
    )
    assert pieces == [(150, 150)]
    assert ps.dist.run(lambda c: dl.BlockJacobi(ps.dist.csr_array(A, c)).levels, 1) == [None]


def test_faults_are_raised_on_all_ranks():
    A = ps.csr_array(sp.diags_array([np.r_[np.ones(5), 0.0, np.ones(4)]], offsets=[0]))

    def work(comm, M):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        with pytest.raises(ValueError, match="shift|has no entries"):
            dl.gmres(D, np.ones(len(D.rows)), M=M)
        other = dl.ILU0(ps.dist.csr_array(ps.generate.laplacian((30,)), comm))
        with pytest.raises(ValueError, match="rows"):
            dl.gmres(D, np.ones(len(D.rows)), M=other)
        return True

    for M in ("ilu0", "ic0", "block_jacobi"):
        assert all(ps.dist.run(work, 3, M))


def test_ilu0_of_a_pattern_without_fill_is_exact():
    """Against SciPy: for a tridiagonal matrix ILU(0) is LU, so that M b solves at once."""
    A = matrix("chain")
    b = np.random.default_rng(3).standard_normal(A.shape[0])

    def work(comm):
        D = ps.dist.csr_array(A, comm, device=ps.host)
        return D.collect(dl.bicgstab(D, D.share(b, of="y"), M="ilu0", rtol=1e-12)[0])

    S = A.to_scipy().toarray()
    L = np.linalg.cholesky(S)
    half = spsolve_triangular(sp.csr_array(L), b, lower=True)
    expected = spsolve_triangular(sp.csr_array(L.T), half, lower=False)
    np.testing.assert_allclose(ps.dist.run(work, 1)[0], expected, rtol=0, atol=1e-9)
