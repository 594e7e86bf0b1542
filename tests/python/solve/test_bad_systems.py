"""Systems that cannot be solved, and arguments that do not fit: what a stranger is told."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

N = 400
S = sp.csr_array(ps.generate.laplacian((20, 20)).to_scipy().astype(np.float64))
B = np.random.default_rng(0).standard_normal(N)
METHODS = ("cg", "pipecg", "minres", "bicgstab", "gmres", "fgmres")


def with_nan() -> ps.csr_array:
    a = S.copy()
    a.data[7] = np.nan
    return ps.csr_array(a)


def with_zero_row() -> ps.csr_array:
    a = S.tolil()
    a[5, :] = 0
    a[:, 5] = 0
    return ps.csr_array(a.tocsr())


@pytest.mark.parametrize("name", METHODS)
def test_nan_is_named_and_no_limit_is_silent(name):
    method = getattr(ps.linalg, name)
    _, info = method(with_nan(), B, maxiter=50)
    assert info == -4 and "A[2, 1] = nan" in info.reason
    _, info = method(ps.csr_array(S), B, rtol=1e-12, maxiter=2)
    assert info == 2 and "maxiter" in info.reason and "allow more" in info.reason
    _, info = method(with_zero_row(), B, maxiter=20)
    assert info != 0 and "row 5 of A has no entries" in info.reason


def test_minres_ends_with_a_least_squares_solution_of_a_singular_system():
    neumann = sp.csr_array(S - sp.diags_array(S.sum(axis=1)))
    x, info = ps.linalg.minres(ps.csr_array(neumann), B, rtol=1e-8, maxiter=1000)
    assert info != 0 and "A is singular, and b is not in its range" in info.reason
    least = abs(B.sum()) / np.sqrt(N)  # the part of b along the constants
    assert np.linalg.norm(B - neumann @ x) <= 3 * least and info.iterations < 500
    x, info = ps.linalg.minres(ps.csr_array(neumann), B - B.mean(), rtol=1e-8)
    assert info == 0 and np.linalg.norm(B - B.mean() - neumann @ x) <= 1.001e-8 * np.linalg.norm(B)


@pytest.mark.parametrize("name", ["jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "amg"])
def test_preconditioners_name_the_entry_that_is_nan_and_the_empty_row(name):
    b = B
    if name == "jacobi":  # needs the diagonal only
        assert ps.linalg.gmres(with_nan(), b, M=name, maxiter=2)[1] == -4
    else:
        with pytest.raises(ValueError, match=r"A\[2, 1\] = nan|row 2 holds NaN"):
            ps.linalg.gmres(with_nan(), b, M=name)
    with pytest.raises(ValueError, match="row 5"):
        ps.linalg.gmres(with_zero_row(), b, M=name)


def test_a_near_nullspace_that_cannot_be_right():
    A = ps.csr_array(S)
    with pytest.raises(ValueError, match=r"near_nullspace\[:, 1\] is zero"):
        ps.linalg.AMG(A, np.stack([np.ones(N), np.zeros(N)], 1))
    with pytest.raises(TypeError, match="near_nullspace is str: give an array of numbers"):
        ps.linalg.AMG(A, "ones")


def test_counts_of_eigenvalues():
    A = ps.csr_array(S)
    for k in (0, -1, 2.5):
        with pytest.raises(ValueError, match="must be greater than 0, and a whole number"):
            ps.linalg.eigs(A, k)
    for k in (N - 1, N, N + 1):
        with pytest.raises(TypeError, match=r"k must be less than n - 1.*scipy.linalg.eig\("):
            ps.linalg.eigs(A, k=k)


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_types_of_16_bits_name_store_as(name):
    A = ps.csr_array(S.astype(np.float32))
    with pytest.raises(TypeError, match=rf"A.store_as\('{name}'\) rounds values to 16 bits"):
        A.astype(name)
    low = A.store_as(name)
    assert low.to_scipy().dtype == np.float32 and (low @ B.astype(np.float32)).dtype == np.float32
