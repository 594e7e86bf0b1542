"""M="amg" where levels made of constants would not help: one level, and Jacobi as long as that is enough."""

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from penstock.linalg import AMG, Solver, cg, minres
from penstock.linalg._amg.one_level import far_from_constants

import penstock as ps


def mass(n=40):
    """Of bilinear elements: constants are far from its nullspace, and it is well conditioned."""
    line = sp.diags_array([1 / 6, 2 / 3, 1 / 6], offsets=[-1, 0, 1], shape=(n, n))
    return ps.csr_array(sp.csr_array(sp.kron(line, line)))


def plate(n=40):
    """A stiff one: the square of a Laplacian with a sign that turns constants into its roughest vector."""
    L = ps.generate.laplacian((n, n)).to_scipy()
    signs = sp.diags_array(np.where(np.add.outer(np.arange(n), np.arange(n)) % 2, -1.0, 1).ravel())
    return ps.csr_array(sp.csr_array(signs @ (L @ L) @ signs))


def solved(A, b, x, info, rtol=1e-8):
    assert info == 0
    assert np.linalg.norm(A @ x - b) <= rtol * np.linalg.norm(b) * (1 + 1e-6)
    assert len(info.residuals) == info.iterations + 1


def test_well_conditioned_ones_are_solved_by_jacobi():
    A = mass()
    b = np.random.default_rng(0).standard_normal(1600)
    x, info = cg(A, b, rtol=1e-8, M="amg")
    solved(A, b, x, info)
    assert "one level, Jacobi: A takes constants to" in info.preconditioner
    assert info.iterations <= cg(A, b, rtol=1e-8, M="jacobi")[1].iterations


def test_others_go_on_with_incomplete_factors():
    A = plate()
    b = np.random.default_rng(0).standard_normal(1600)
    seen = []
    x, info = cg(A, b, rtol=1e-8, M="amg", callback=lambda x: seen.append(x.copy()))
    solved(A, b, x, info)
    assert "one level, IC(0) with shift=" in info.preconditioner
    assert info.iterations < cg(A, b, rtol=1e-8, M="jacobi")[1].iterations
    np.testing.assert_allclose(seen[-1], x)
    with_levels = cg(A, b, rtol=1e-8, M=AMG(A))[1]
    assert with_levels == 0 and with_levels.preconditioner == ""


def test_limits_count_both_parts():
    A, b = plate(), np.random.default_rng(0).standard_normal(1600)
    whole = cg(A, b, rtol=1e-8, M="amg")[1]
    for limit in (1, 5, 16, 20, whole.iterations - 1):
        x, info = cg(A, b, rtol=1e-8, M="amg", maxiter=limit)
        assert info == limit and info.iterations == limit
        assert info.residual == pytest.approx(np.linalg.norm(A @ x - b))
    solved(A, b, *cg(A, b, rtol=1e-8, M="amg", maxiter=whole.iterations))
    x, info = cg(A, b, x0=x, rtol=1e-8, M="amg")
    solved(A, b, x, info)


def test_iterations_and_residuals_are_those_that_were_seen():
    A, b = plate(), np.random.default_rng(0).standard_normal(1600)
    for x0, start in (
        (None, np.linalg.norm(b)),
        (np.ones(1600), np.linalg.norm(b - A @ np.ones(1600))),
    ):
        for limit in (10, 40, 10_000):
            seen = []
            _, info = cg(A, b, x0=x0, rtol=1e-8, M="amg", maxiter=limit, callback=seen.append)
            assert len(seen) == info.iterations == len(info.residuals) - 1 <= limit
            assert info.residuals[0] == pytest.approx(start)
            assert info == 0 or f"{limit} iterations" in info.reason


def test_a_solver_and_other_methods_take_the_factors():
    A, b = plate(20), np.random.default_rng(0).standard_normal(400)
    solver = Solver(A, "cg", "amg", rtol=1e-8)
    assert "amg: one level, IC(0) with shift=" in str(solver.explain())
    x, info = solver(b)
    assert info == 0 and "one level" in info.preconditioner
    solver.update(ps.csr_array(2 * A.to_scipy()))
    np.testing.assert_allclose(solver(b)[0], x / 2, atol=1e-6 * abs(x).max())
    x, info = minres(A, b, rtol=1e-8, M="amg")
    np.testing.assert_allclose(A @ x, b, atol=1e-6 * np.linalg.norm(b))


@pytest.mark.parametrize(
    "A",
    [
        ps.generate.laplacian((40, 40)),
        ps.generate.laplacian((12, 12, 12)),
        ps.generate.laplacian((40, 40)).astype(np.float32),
        mass(17),  # a dense factor
        ps.csr_array(mass().to_scipy().astype(complex)),
        ps.csr_array(sp.csr_array(-mass().to_scipy())),
        ps.csr_array(sp.csr_array(sp.triu(mass().to_scipy()))),  # not symmetric: refused by AMG
    ],
)
def test_levels_are_made_elsewhere(A):
    dtype = np.result_type(A.dtype, np.float32)
    assert far_from_constants(A, dtype) is None


@pytest.mark.parametrize("name", ["bcsstk14", "bcsstk18", "bodyy5", "t2dah_e"])
def test_real_ones_take_one_level_and_circuits_do_not(name):
    A = ps.load(real_file(f"{name}.{'hb' if name == 'bcsstk14' else 'mtx'}.gz"))
    assert far_from_constants(A, A.dtype) > 0.5
    b = A @ np.ones(A.shape[0])
    x, info = cg(A, b, rtol=1e-8, M="amg", maxiter=3000)
    solved(A, b, x, info)
    assert info.iterations <= cg(A, b, rtol=1e-8, M="jacobi", maxiter=3000)[1].iterations
