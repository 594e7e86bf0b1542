"""Multigrid over ranks for matrices that are not symmetric, and the K cycle: as in one process."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from dist_support import run, solved_by_amg
from penstock.dist.linalg import AMG

import penstock as ps

RANKS = (1, 2, 4)


def convection(n: int, eps: float = 1e-2) -> sp.csr_array:
    """-eps laplace(u) + wind . grad(u) with upwind differences on n x n points; the wind turns."""
    d = sp.diags_array([np.full(n, 2.0), -np.ones(n - 1), -np.ones(n - 1)], offsets=[0, 1, -1])
    eye = sp.eye_array(n)
    back = sp.diags_array([np.ones(n), -np.ones(n - 1)], offsets=[0, -1])
    h = 1 / (n + 1)
    x, y = (
        v.ravel()
        for v in np.meshgrid(np.arange(1, n + 1) * h, np.arange(1, n + 1) * h, indexing="ij")
    )
    u, v = 4 * x * (1 - x) * (2 * y - 1), -4 * y * (1 - y) * (2 * x - 1)
    S = eps / h**2 * (sp.kron(d, eye) + sp.kron(eye, d))
    for wind, along in ((u, lambda m: sp.kron(m, eye)), (v, lambda m: sp.kron(eye, m))):
        S = S + sp.diags_array(np.maximum(wind, 0) / h) @ along(back)
        S = S + sp.diags_array(np.maximum(-wind, 0) / h) @ along(back.T)
    return sp.csr_array(S)


@pytest.mark.parametrize("cycle", ["V", "W"])
@pytest.mark.parametrize("method", ["gmres", "bicgstab"])
def test_nonsymmetric_levels_and_cycles_are_those_of_one_process(method, cycle):
    S = convection(36)
    how = {"symmetry": "nonsymmetric", "cycle": cycle, "max_coarse": 30}
    M = ps.linalg.AMG(ps.csr_array(S), **how)
    b = np.random.default_rng(3).standard_normal((2, S.shape[0]))[0]
    told = getattr(ps.linalg, method)(ps.csr_array(S), b, rtol=1e-8, M=M)[1]
    assert len(M.levels) > 2
    for n in RANKS:
        _, info, levels, (r, z) = solved_by_amg(n, S, method=method, rows_per_rank=100, **how)
        assert [level[:2] for level in levels] == [tuple(level) for level in M.levels]
        assert levels[0].ranks == n and levels[-1].ranks == 1
        expected = M @ r
        assert np.abs(z - expected).max() <= 1e-9 * np.abs(expected).max()
        assert abs(info.iterations - told.iterations) <= (1 if method == "bicgstab" else 0)


def test_nonsymmetric_blocks_vectors_and_any_partition():
    S = sp.csr_array(sp.kron(convection(20), np.array([[2.0, 0.3], [-0.2, 1.5]])))
    n = S.shape[0]
    near = np.tile(np.eye(2), (n // 2, 1))
    M = ps.linalg.AMG(ps.csr_array(S), near, symmetry="nonsymmetric", block_size=2, max_coarse=40)
    b = np.random.default_rng(3).standard_normal((2, n))[0]
    told = ps.linalg.gmres(ps.csr_array(S), b, rtol=1e-8, M=M)[1]
    owners = np.repeat(np.arange(n // 2) * 3 // (n // 2), 2)
    how = {"symmetry": "nonsymmetric", "block_size": 2, "max_coarse": 40, "rows_per_rank": 60}
    _, info, levels, _ = solved_by_amg(3, S, near, owners, "gmres", **how)
    assert [level[:2] for level in levels] == [tuple(level) for level in M.levels]
    assert info.iterations == told.iterations
    mixed = np.repeat(np.random.default_rng(5).integers(0, 3, n // 2), 2)
    _, info, _, _ = solved_by_amg(3, S, near, mixed, "gmres", **how)
    assert info.iterations <= 1.3 * told.iterations + 1


def test_update_keeps_the_aggregates():
    S = convection(24)
    T = sp.csr_array(S + 5 * sp.eye_array(S.shape[0]))
    b = np.random.default_rng(3).standard_normal(S.shape[0])

    def work(comm):
        D, E = (ps.dist.csr_array(ps.csr_array(m), comm) for m in (S, T))
        M = AMG(D, symmetry="nonsymmetric", max_coarse=30)
        before = M.levels
        M.update(E)
        x, info = ps.dist.linalg.gmres(E, E.share(b), rtol=1e-8, M=M)
        return E.collect(x), info, [a.rows for a in before] == [a.rows for a in M.levels]

    x, info, same = run(work, 3)[0]
    assert info == 0 and same and np.linalg.norm(b - T @ x) <= 1.001e-8 * np.linalg.norm(b)


def test_a_k_cycle_is_that_of_one_process_and_goes_with_fgmres():
    S = sp.csr_array(ps.generate.laplacian((34, 33)).to_scipy().astype(np.float64))
    how = {"cycle": "K", "max_coarse": 20}
    M = ps.linalg.AMG(ps.csr_array(S), **how)
    b = np.random.default_rng(3).standard_normal((2, S.shape[0]))[0]
    told = ps.linalg.fgmres(ps.csr_array(S), b, rtol=1e-8, M=M)[1]
    for n in RANKS:
        _, info, levels, (r, z) = solved_by_amg(n, S, method="fgmres", rows_per_rank=100, **how)
        assert [level[:2] for level in levels] == [tuple(level) for level in M.levels]
        expected = M @ r
        assert np.abs(z - expected).max() <= 1e-9 * np.abs(expected).max()
        assert info.iterations == told.iterations


def test_fgmres_over_ranks_without_m_is_gmres_and_calls_back():
    S = convection(16)
    A, b = ps.csr_array(S), np.random.default_rng(3).standard_normal(256)

    def work(comm):
        D = ps.dist.csr_array(A, comm)
        heard = []
        x, info = ps.dist.linalg.fgmres(D, D.share(b), rtol=1e-8, restart=30, callback=heard.append)
        y, other = ps.dist.linalg.gmres(D, D.share(b), rtol=1e-8, restart=30)
        return (
            np.array_equal(x, y),
            int(info),
            info.iterations == other.iterations == len(heard),
            heard[-1],
        )

    for same, number, counted, last in run(work, 2):
        assert same and number == 0 and counted and last <= 1e-8
    with pytest.raises(ValueError, match="callback_type='legacy' is unknown"):
        run(
            lambda comm: ps.dist.linalg.fgmres(
                ps.dist.csr_array(A, comm), b, callback_type="legacy"
            ),
            1,
        )


def test_what_is_refused_names_the_remedy():
    A = ps.csr_array(convection(12))

    def work(comm, **how):
        return AMG(ps.dist.csr_array(A, comm), **how)

    with pytest.raises(ValueError, match="symmetry='nonsymmetric'"):
        run(work, 2)
    for how in ({"cycle": "K"}, {"smoother": "chebyshev"}):
        with pytest.raises(ValueError, match="is for symmetric matrices"):
            run(lambda comm, how=how: work(comm, symmetry="nonsymmetric", **how), 2)
    with pytest.raises(ValueError, match="symmetry='skew' is unknown"):
        run(lambda comm: work(comm, symmetry="skew"), 2)
