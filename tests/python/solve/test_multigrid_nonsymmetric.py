"""Multigrid for convection and diffusion: iterations, the levels against plain formulas, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file

import penstock as ps


def convection(n: int, eps: float, wind: str) -> sp.csr_array:
    """-eps laplace(u) + b . grad(u) on n x n inner points of the unit square, upwind differences."""
    h = 1 / (n + 1)
    x, y = np.meshgrid(np.arange(1, n + 1) * h, np.arange(1, n + 1) * h, indexing="ij")
    if wind == "constant":
        winds = np.full_like(x, np.cos(0.6)), np.full_like(x, np.sin(0.6))
    else:
        winds = 4 * x * (x - 1) * (1 - 2 * y), -4 * y * (y - 1) * (1 - 2 * x)
    number = np.arange(n * n).reshape(n, n)
    parts = [(number, number, 4 * eps / h**2 + sum(abs(b) for b in winds) / h)]
    for b, a, c in (
        (winds[0], np.s_[1:, :], np.s_[:-1, :]),
        (winds[1], np.s_[:, 1:], np.s_[:, :-1]),
    ):
        parts.append((number[a], number[c], (-eps / h**2 - np.maximum(b, 0) / h)[a]))
        parts.append((number[c], number[a], (-eps / h**2 + np.minimum(b, 0) / h)[c]))
    i, j, values = (np.concatenate([p[k].ravel() for p in parts]) for k in range(3))
    return sp.csr_array((values, (i, j)), (n * n, n * n))


def iterations(S, method="gmres", **how) -> int:
    A, b = ps.csr_array(S), np.random.default_rng(0).standard_normal(S.shape[0])
    more = {"restart": 30} if method != "bicgstab" else {}
    M = ps.linalg.AMG(A, symmetry="nonsymmetric", **how)
    x, info = getattr(ps.linalg, method)(A, b, rtol=1e-8, M=M, maxiter=200, **more)
    assert info == 0, info.reason
    assert np.linalg.norm(b - S @ x) <= 1.001e-8 * np.linalg.norm(b)
    return info.iterations


@pytest.mark.parametrize(("wind", "eps", "most"), [
    ("constant", 1e-1, 18), ("constant", 1e-3, 22), ("constant", 1e-5, 24),
    ("recirculating", 1e-1, 18), ("recirculating", 1e-3, 27), ("recirculating", 1e-5, 45),
])  # fmt: skip
def test_iterations_for_weak_and_strong_convection(wind, eps, most):
    S = convection(100, eps, wind)
    v, w = iterations(S), iterations(S, cycle="W")
    assert w <= v and w <= most and v <= 1.5 * most
    if eps == 1e-3:
        assert iterations(S, "bicgstab") <= v and iterations(S, "fgmres") <= v + 1


def test_w_cycles_hardly_grow_with_the_grid():
    small, large = (iterations(convection(n, 1e-2, "recirculating"), cycle="W") for n in (40, 160))
    assert large <= 1.2 * small


def test_a_tenth_of_the_iterations_of_ilu0_on_a_recirculating_flow():
    S = convection(100, 1e-2, "recirculating")
    A, b = ps.csr_array(S), np.random.default_rng(0).standard_normal(10_000)
    _, info = ps.linalg.gmres(A, b, rtol=1e-8, M="ilu0", restart=30, maxiter=8)
    assert info.iterations >= 10 * iterations(S, cycle="W")


@pytest.mark.parametrize("name", ["constant", "recirculating", "file"])
def test_fewer_iterations_than_pyamg(name):
    pyamg = pytest.importorskip("pyamg")
    if name == "file":
        S = sp.csr_array(ps.load(real_file("pyamg-recirc_flow.mtx.gz")).to_scipy())
    else:
        S = convection(60, 1e-3, name)
    theirs = pyamg.smoothed_aggregation_solver(
        sp.csr_matrix((S.data, S.indices.astype(np.int32), S.indptr.astype(np.int32)), S.shape),
        symmetry="nonsymmetric", smooth=("energy", {"krylov": "gmres"}), max_coarse=30,
        presmoother="gauss_seidel_nr", postsmoother="gauss_seidel_nr",
    ).aspreconditioner()  # fmt: skip
    A, b = ps.csr_array(S), np.random.default_rng(0).standard_normal(S.shape[0])
    _, info = ps.linalg.gmres(A, b, rtol=1e-8, M=theirs, restart=30, maxiter=10)
    assert info == 0 and iterations(S, max_coarse=30) <= info.iterations


def test_p_and_the_coarse_matrix_are_those_of_the_paper():
    S = convection(20, 1e-2, "constant")
    M = ps.linalg.AMG(ps.csr_array(S), symmetry="nonsymmetric", max_coarse=20, max_levels=2)
    of = M._hierarchy.aggregates(0)
    t = sp.csr_array((np.ones(400), (np.arange(400), of)))
    t = t @ sp.diags_array(1 / np.sqrt(np.bincount(of)))
    inverse = sp.diags_array(1 / S.diagonal())

    def smoothed(a):
        step, touched = (inverse @ a @ t).toarray(), (abs(a) @ t).toarray() != 0
        at, aq = (a @ t).toarray(), a @ step
        w = np.maximum((at * aq).sum(0) / (aq * aq).sum(0), 0)
        return t.toarray() - np.where(touched, w, np.inf).min(1)[:, None] * step

    p, r = smoothed(S), smoothed(S.T).T
    np.testing.assert_allclose(M._prolongator(0).to_scipy().toarray(), p, atol=1e-12)
    coarse = M._matrix(1).to_scipy().toarray()
    np.testing.assert_allclose(coarse, r @ S @ p, atol=1e-10 * abs(coarse).max())


def test_a_coarsest_level_alone_is_the_inverse_with_rows_exchanged():
    a = np.random.default_rng(4).standard_normal((40, 40))
    np.fill_diagonal(a, 0.01)  # pivots are elsewhere
    M = ps.linalg.AMG(ps.csr_array(sp.csr_array(a)), symmetry="nonsymmetric")
    b = np.arange(40.0)
    np.testing.assert_allclose(a @ (M @ b), b, atol=1e-9)


def test_float32_levels_update_and_singular_matrices():
    S = convection(50, 1e-2, "recirculating")
    assert iterations(S, precision="float32") <= iterations(S) + 5
    A, b = ps.csr_array(S), np.random.default_rng(1).standard_normal(2500)
    M = ps.linalg.AMG(A, symmetry="nonsymmetric")
    before = M @ b
    M.update(ps.csr_array(2 * S))
    np.testing.assert_allclose(2 * (M @ b), before, rtol=1e-9, atol=1e-12)
    closed = sp.csr_array(S - sp.diags_array(S.sum(axis=1)))  # constants are taken to zero
    b = closed @ b
    x, info = ps.linalg.gmres(
        ps.csr_array(closed), b, rtol=1e-6, restart=40, M=ps.linalg.AMG(ps.csr_array(closed), symmetry="nonsymmetric")
    )  # fmt: skip
    assert info == 0 and np.linalg.norm(b - closed @ x) <= 1.01e-6 * np.linalg.norm(b)


def test_a_real_recirculating_flow():
    S = sp.csr_array(ps.load(real_file("pyamg-recirc_flow.mtx.gz")).to_scipy())
    assert iterations(S, max_coarse=30, degree=4) <= 40


def test_what_is_refused():
    S = convection(20, 1e-2, "constant")
    with pytest.raises(ValueError, match="symmetry='nonsymmetric'"):
        ps.linalg.gmres(ps.csr_array(S), np.ones(400), M="amg")
    for how, words in (
        ({"cycle": "K"}, "cycle='K' is for symmetric"),
        ({"smoother": "chebyshev"}, "smoother='chebyshev' is for symmetric"),
        ({"symmetry": "hermitian"}, "symmetry='hermitian' is unknown"),
    ):
        with pytest.raises(ValueError, match=words):
            ps.linalg.AMG(ps.csr_array(S), **{"symmetry": "nonsymmetric", **how})
    S[7, 8] = np.nan
    with pytest.raises(ValueError, match="row 7 holds NaN"):
        ps.linalg.AMG(ps.csr_array(S), symmetry="nonsymmetric")
