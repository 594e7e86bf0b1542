"""`block_cg` and `fgmres`: dependent right-hand sides, preconditioners that change, breakdowns."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from solve_support import general, hermitian, laplacian, residual

import penstock as ps
from penstock import linalg


def block(n, k=8):
    return np.random.default_rng(5).standard_normal((n, k))


@pytest.mark.parametrize("M", [None, "jacobi", "ic0"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_cg_takes_fewer_iterations(M, dtype):
    S, _ = laplacian(dtype=dtype)
    B = block(900).astype(dtype)
    rtol = 1e-9 if dtype == np.float64 else 1e-4
    X, info = linalg.block_cg(S, B, rtol=rtol, M=M)
    assert info == 0 and X.dtype == dtype and X.shape == B.shape and X.flags.c_contiguous
    assert residual(S, X, B) <= 1.1 * rtol and len(info.columns) == 8
    assert all(len(c.residuals) == c.iterations + 1 for c in info.columns)
    assert info.iterations < 0.75 * linalg.cg(S, B, rtol=rtol, M=M)[1].iterations


def test_block_cg_of_one_column_is_cg():
    S, b = laplacian()
    x, info = linalg.block_cg(S, b, rtol=1e-9)
    y, told = linalg.cg(S, b, rtol=1e-9)
    assert x.shape == b.shape and abs(info.iterations - told.iterations) <= 1
    np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-9)


def test_columns_that_depend_on_each_other():
    S, _ = laplacian()
    B = block(900, 4)
    D = np.stack(
        [
            B[:, 0],
            B[:, 0],
            2 * B[:, 0] + B[:, 1],
            B[:, 1],
            0 * B[:, 1],
            1e8 * B[:, 2],
            1e-8 * B[:, 3],
        ],
        axis=1,
    )
    X, info = linalg.block_cg(S, D, rtol=1e-10)
    assert info == 0 and not X[:, 4].any() and info.columns[4].iterations == 0
    used = [0, 1, 2, 3, 5, 6]
    assert residual(S, X[:, used], D[:, used]) <= 1.001e-10
    np.testing.assert_allclose(X[:, 0], X[:, 1], rtol=1e-6, atol=1e-10)
    near = np.stack([B[:, 0], B[:, 0] + 1e-13 * B[:, 1]], axis=1)  # dependent but for rounding
    X, info = linalg.block_cg(S, near, rtol=1e-10)
    assert info == 0 and residual(S, X, near) <= 1.001e-10
    many = block(20, 40)  # more columns than rows
    T = sp.csr_array(sp.diags_array(np.arange(1.0, 21.0)))
    X, info = linalg.block_cg(T, many, rtol=1e-10)
    assert info == 0 and residual(T, X, many) <= 1.001e-10


def test_block_cg_reads_A_once_an_iteration():
    S, _ = laplacian()
    A, B = ps.csr_array(S), block(900)
    with ps.record() as events:
        _, info = linalg.block_cg(A, B, rtol=1e-8)
    assert len(events) <= info.iterations + 3


def test_block_cg_complex_first_guess_operator_and_callback():
    S, b = hermitian(shift=20.0)
    B = np.stack([b, 1j * b[::-1], b.real + 0j], axis=1)
    X, info = linalg.block_cg(ps.csr_array(S), B, rtol=1e-9)
    assert info == 0 and residual(S, X, B) <= 1.001e-9
    S, _ = laplacian(15)
    B = block(225, 3)
    seen = []
    X, info = linalg.block_cg(S, B, rtol=1e-9, callback=lambda x: seen.append(x.copy()))
    assert len(seen) == info.iterations and seen[0].shape == B.shape
    assert linalg.block_cg(S, B, X, rtol=1e-8)[1].iterations == 0
    operator = sla.LinearOperator(S.shape, matvec=lambda v: S @ v, dtype=float)
    inverse = sla.LinearOperator(S.shape, matvec=lambda v: v / 4, dtype=float)
    Y, info = linalg.block_cg(operator, B, rtol=1e-9, M=inverse)
    np.testing.assert_allclose(X, Y, atol=1e-6)
    with ps.options(device_memory="8KiB"):
        Z, info = linalg.block_cg(S, B, rtol=1e-9)
    np.testing.assert_allclose(X, Z, atol=1e-9)


def test_block_cg_says_why_it_ended():
    S, _ = laplacian(10)
    B = block(100, 3)
    _, info = linalg.block_cg(sp.csr_array(np.diag([1.0, -1.0, 2.0])), np.eye(3))
    assert info == -1 and "not positive definite" in info.reason
    _, info = linalg.block_cg(S, B, rtol=1e-12, maxiter=2)
    assert info == 2 and "maxiter" in info.reason
    _, info = linalg.block_cg(S, B, rtol=1e-30)
    assert info > 0 and "stagnated" in info.reason
    E = S.copy()
    E.data[3] = np.nan
    _, info = linalg.block_cg(E, B)
    assert info == -4 and "= nan" in info.reason
    zero = sp.csr_array((4, 4))
    _, info = linalg.block_cg(zero, np.ones((4, 2)))
    assert info == -1 and "row 0 (and 3 more)" in info.reason
    assert all("row 0" in c.reason for c in info.columns)
    _, info = linalg.block_cg(S, B, M=sp.csr_array((100, 100)))
    assert info == -2 and "preconditioner" in info.reason
    with pytest.raises(ValueError, match="no right-hand side"):
        linalg.block_cg(S, np.empty((100, 0)))
    assert linalg.block_cg(sp.csr_array((0, 0)), np.empty((0, 2)))[1] == 0


@pytest.mark.parametrize("M", [None, "jacobi", "ilu0"])
def test_fgmres_is_gmres_where_M_does_not_change(M):
    S, b = general()
    x, info = linalg.fgmres(S, b, rtol=1e-10, M=M)
    _, told = linalg.gmres(S, b, rtol=1e-10, M=M)
    assert info == 0 and residual(S, x, b) <= 1.001e-10
    assert abs(info.iterations - told.iterations) <= 1
    assert len(info.residuals) == info.iterations + 1
    T, c = laplacian(20)
    _, info = linalg.fgmres(T, c, rtol=1e-9, M=M, restart=7)
    _, told = linalg.gmres(T, c, rtol=1e-9, M=M, restart=7)
    assert abs(info.iterations - told.iterations) <= 0.05 * told.iterations + 1


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float32])
def test_fgmres_types(dtype):
    S, b = general()
    S, b = (S, b) if dtype == np.float32 else (S + 1j * S.T, b * (1 + 2j))
    S, b = sp.csr_array(S).astype(dtype), b.astype(dtype)
    rtol = 1e-9 if dtype == np.complex128 else 1e-4
    x, info = linalg.fgmres(S, b, rtol=rtol)
    assert info == 0 and x.dtype == dtype and residual(S, x, b) <= 1.1 * rtol


def test_fgmres_with_a_preconditioner_that_changes():
    S, b = laplacian(40)
    inner = linalg.Solver(S, "cg", "jacobi", rtol=1e-1)
    x, info = linalg.fgmres(S, b, rtol=1e-9, M=inner)
    assert info == 0 and residual(S, x, b) <= 1.001e-9
    assert info.iterations < 0.2 * linalg.gmres(S, b, rtol=1e-9)[1].iterations
    rng = np.random.default_rng(0)
    noisy = sla.LinearOperator(S.shape, lambda v: v * rng.uniform(0.5, 2), dtype=float)
    x, info = linalg.fgmres(S, b, rtol=1e-9, M=noisy)
    assert info == 0 and residual(S, x, b) <= 1.001e-9


def test_fgmres_callbacks_and_ends():
    S, b = laplacian(12)
    norms, seen = [], []
    _, info = linalg.fgmres(S, b, rtol=1e-8, callback=norms.append)
    np.testing.assert_allclose(np.array(norms) * np.linalg.norm(b), info.residuals[1:], rtol=1e-6)
    linalg.fgmres(S, b, rtol=1e-8, callback=seen.append, callback_type="x")
    assert len(seen) == -(-info.iterations // 20)
    _, info = linalg.fgmres(S, b, rtol=1e-12, restart=5, maxiter=2)
    assert info == 2 and info.iterations == 10 and "maxiter" in info.reason
    _, info = linalg.fgmres(S, b, rtol=1e-30)
    assert info > 0 and "stagnated" in info.reason
    _, info = linalg.fgmres(sp.csr_array(np.diag([1.0, 0.0])), np.ones(2))
    assert info == -3 and "singular" in info.reason and info.residual == pytest.approx(1)
    E = S.copy()
    E.data[0] = np.nan
    assert linalg.fgmres(E, b)[1] == -4
    with pytest.raises(ValueError, match="callback_type"):
        linalg.fgmres(S, b, callback_type="legacy")
    turn = sp.csr_array(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    x, info = linalg.fgmres(turn, np.array([1.0, 0.0]), rtol=1e-12)
    assert info == 0 and np.allclose(x, [0, 1])
    assert linalg.fgmres(sp.csr_array((0, 0)), np.empty(0))[1] == 0
