"""Systems that a method is not made for: symmetric methods and other matrices, singular ones, numbers out of range."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

S = sp.csr_array(ps.generate.laplacian((20, 20)).to_scipy().astype(np.float64))
B = np.random.default_rng(0).standard_normal(400)
SYMMETRIC = ("cg", "pipecg", "minres", "block_cg")


def neumann(side: int, dtype: type = np.float64) -> sp.csr_array:
    """Rows add up to 0: constants are what A takes to zero."""
    a = sp.csr_array(ps.generate.laplacian((side, side)).to_scipy().astype(np.float64))
    return sp.csr_array(a - sp.diags_array(a.sum(axis=1))).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["unit", "ones", "random", "large ones"])
def test_minres_of_a_singular_system_returns_the_least_squares_solution(name, dtype):
    side = 50 if name == "large ones" else 20
    n = side * side
    b = {"unit": np.eye(1, n)[0], "random": np.random.default_rng(1).standard_normal(n)}
    b = b.get(name, np.ones(n)).astype(dtype)
    A = neumann(side, dtype)
    x, info = ps.linalg.minres(ps.csr_array(A), b, rtol=1e-8 if dtype == np.float64 else 1e-4)
    r = b - A @ x
    least = abs(b.sum()) / np.sqrt(n)
    assert info > 0 and "A is singular, and b is not in its range" in info.reason
    assert np.linalg.norm(r) <= least * (1 + 1e-4) and np.linalg.norm(x) <= 1e3 * np.linalg.norm(b)
    assert info.residual == pytest.approx(np.linalg.norm(r), rel=1e-4)
    assert np.linalg.norm(A @ r) <= (1e-5 if dtype == np.float64 else 1e-2) * 8 * least
    assert info.iterations < 300


def test_minres_of_a_chain_keeps_the_x_before_it_grew():
    n = 60
    A = sp.lil_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)))
    A[0, 0] = A[n - 1, n - 1] = 1
    b = np.random.default_rng(0).standard_normal(n)
    x, info = ps.linalg.minres(sp.csr_array(A), b, rtol=1e-9)
    assert info > 0 and "not in its range" in info.reason and abs(x).max() < 1e4


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("kind", ["symmetric", "Hermitian"])
def test_a_matrix_that_is_not_symmetric_is_named(name, kind):
    if kind == "symmetric":
        A, b = sp.csr_array(S + sp.triu(S, 1)), B
    else:
        A, b = sp.csr_array(S + sp.diags_array(1j * np.linspace(0, 3, 400))), B + 0j
    with np.errstate(all="ignore"):
        _, info = getattr(ps.linalg, name)(ps.csr_array(A), b, rtol=1e-8)
    assert info != 0 and f"A is not {kind}" in info.reason
    assert info.reason.endswith("use gmres or bicgstab") and "allow more" not in info.reason
    assert name != "minres" or info.iterations < 100
    assert ps.linalg.gmres(ps.csr_array(A), b, rtol=1e-8, restart=100)[1] == 0


@pytest.mark.parametrize("name", ["cg", "pipecg", "block_cg"])
def test_of_a_singular_system_the_remedy_is_minres_or_lsmr(name):
    for b in (B, np.ones(400)):
        with np.errstate(all="ignore"):
            _, info = getattr(ps.linalg, name)(ps.csr_array(neumann(20)), b, rtol=1e-8)
        assert info != 0 and info.reason.endswith("use minres, which takes both, or lsmr")


@pytest.mark.parametrize("name", ["bicgstab", "gmres", "fgmres"])
def test_general_methods_say_that_b_is_not_in_the_range(name):
    _, info = getattr(ps.linalg, name)(ps.csr_array(neumann(20)), B, rtol=1e-8)
    assert info != 0 and "minres (A symmetric) or lsmr" in info.reason


def test_a_limit_alone_says_nothing_of_the_matrix():
    for name in (*SYMMETRIC, "bicgstab", "gmres"):
        _, info = getattr(ps.linalg, name)(ps.csr_array(S), B, rtol=1e-12, maxiter=3)
        assert info > 0 and "singular" not in info.reason and "symmetric" not in info.reason


@pytest.mark.parametrize("name", SYMMETRIC)
@pytest.mark.parametrize("scale", [1e200, 1e-170, 1e-200])
def test_squares_out_of_range_are_no_convergence(name, scale):
    x, info = getattr(ps.linalg, name)(ps.csr_array(S), B * scale)
    assert info == -4 and not x.any() and "float64" in info.reason
    for fine in (1e120, 1e-120):
        x, info = getattr(ps.linalg, name)(ps.csr_array(S), B * fine, rtol=1e-8)
        assert info == 0 and np.linalg.norm(B - S @ (x / fine)) <= 1e-6


def test_one_column_out_of_range_stops_block_cg():
    X, info = ps.linalg.block_cg(ps.csr_array(S), np.stack([B, B * 1e-200], axis=1))
    assert info == -4 and not X.any() and [int(c) for c in info.columns] == [-4, -4]
    assert "divide b by" in info.columns[1].reason and "another column" in info.columns[0].reason


def test_minres_of_a_matrix_whose_squares_underflow():
    _, info = ps.linalg.minres(ps.csr_array(S * 1e-200), B, rtol=1e-8)
    assert info != 0 and "divide A and b by it" in info.reason
    x, info = ps.linalg.minres(ps.csr_array(S * 1e-100), B, rtol=1e-8)
    assert info == 0 and np.linalg.norm(B - S @ (x * 1e-100)) <= 1e-6


def test_minres_with_nan_in_the_matrix_returns_where_it_began():
    bad = sp.csr_array(sp.diags_array(np.arange(1.0, 9.0)))
    bad.data[3] = np.nan
    for x0 in (None, np.arange(8.0)):
        x, info = ps.linalg.minres(ps.csr_array(bad), np.ones(8), x0=x0)
        assert info != 0 and np.array_equal(x, np.zeros(8) if x0 is None else x0)


def test_small_right_sides_in_float32():
    a = ps.generate.laplacian((20, 20)).astype(np.float32)
    b = np.full(400, 1e-18, np.float32)
    for find in (ps.linalg.minres, ps.linalg.block_cg):
        x, info = find(a, b, rtol=1e-4)
        left = np.linalg.norm(b.astype(float) - a.to_scipy().astype(float) @ x.astype(float))
        assert info == 0 and left <= 1.1e-4 * np.linalg.norm(b.astype(float))
