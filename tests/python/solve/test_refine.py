"""`refine`: residuals of float64 from iterations in float32, and reasons where that is not possible."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from solve_support import general, laplacian, residual

import penstock as ps
from penstock import linalg


@pytest.mark.parametrize("solver", ["cg", "pipecg", "bicgstab", "gmres"])
@pytest.mark.parametrize("M", [None, "jacobi", "ilu0"])
def test_reaches_what_float32_cannot(solver, M):
    S, b = general() if solver in ("bicgstab", "gmres") else laplacian()
    M = "ic0" if M == "ilu0" and solver in ("cg", "pipecg") else M
    x, info = linalg.refine(S, b, solver=solver, M=M)
    assert info == 0 and x.dtype == np.float64 and residual(S, x, b) <= 1.001e-12
    assert sum(info.inner_iterations) == info.iterations
    assert len(info.residuals) == len(info.inner_iterations) + 1
    assert info.residual == pytest.approx(residual(S, x, b) * np.linalg.norm(b), rel=0.2)
    assert (np.diff(info.residuals) < 0).all()


def test_the_copy_is_kept_with_the_matrix_and_freed():
    S, b = laplacian()
    A = ps.csr_array(S)
    linalg.refine(A, b)
    copy = A._derived.refined["float32"]
    assert copy.dtype == np.float32 and copy.nnz == A.nnz
    linalg.refine(A, b)
    assert A._derived.refined["float32"] is copy
    A._derived.release()
    assert A._derived.refined is None


def test_first_guess_columns_and_callback():
    S, b = laplacian()
    x, _ = linalg.refine(S, b)
    again, info = linalg.refine(S, b, x)
    assert info.iterations == 0 and info.inner_iterations == ()
    np.testing.assert_array_equal(again, x)
    X, info = linalg.refine(S, np.stack([b, 2 * b, 0 * b], axis=1))
    np.testing.assert_allclose(X[:, 1], 2 * x, rtol=1e-10)
    assert not X[:, 2].any() and len(info.columns) == 3
    seen = []
    _, info = linalg.refine(S, b, callback=lambda x: seen.append(x.copy()))
    assert len(seen) == len(info.inner_iterations)
    np.testing.assert_allclose(
        [np.linalg.norm(S @ v - b) for v in seen], info.residuals[1:], rtol=1e-3, atol=1e-14
    )


def test_tiny_and_huge_right_hand_sides():
    S, b = laplacian()
    for scale in (1e-150, 1e-30, 1e30, 1e150):  # float32 ends at 1e-38 and 1e38
        x, info = linalg.refine(S, scale * b)
        assert info == 0 and residual(S, x / scale, b) <= 2e-12


@pytest.mark.parametrize("limit", [None, "16KiB"])
def test_streamed_products(limit):
    S, b = laplacian()
    with ps.options(device_memory=limit):
        x, info = linalg.refine(S, b, M="jacobi")
    assert info == 0 and residual(S, x, b) <= 1.001e-12


def ill_conditioned(exponent):
    """Symmetric positive definite, with a condition number of 10 ** exponent, no diagonal scaling of which helps."""
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    return sp.csr_array((q * np.geomspace(10.0**-exponent, 1, 60)) @ q.T), rng.standard_normal(60)


def test_a_condition_number_beyond_float32_is_said():
    S, b = ill_conditioned(12)
    x, info = linalg.refine(S, b, maxiter=20000)
    assert info != 0 and not info.converged
    assert "float64" in info.reason or "maxiter" in info.reason
    assert info.residual <= np.linalg.norm(b) * 1.001  # never worse than the start
    assert info.residual == pytest.approx(np.linalg.norm(b - S @ x), rel=1e-6)
    S, b = ill_conditioned(4)
    x, info = linalg.refine(S, b, maxiter=20000)
    assert info == 0 and residual(S, x, b) <= 1.001e-12


def test_limits_and_bad_input():
    S, b = laplacian()
    _, info = linalg.refine(S, b, maxiter=7)
    assert info > 0 and info.iterations == 7 and info.reason.startswith("maxiter")
    _, info = linalg.refine(S, b, rtol=1e-30)
    assert info > 0 and info.reason.startswith("stagnated") and "float64" in info.reason
    with pytest.raises(TypeError, match="A is float32"):
        linalg.refine(S.astype(np.float32), b)
    with pytest.raises(TypeError, match="A is complex128"):
        linalg.refine(S.astype(complex), b)
    with pytest.raises(ValueError, match="which float32 cannot"):
        linalg.refine(S * 1e39, b)
    with pytest.raises(ValueError, match="inner='float8'"):
        linalg.refine(S, b, inner="float8")
    with pytest.raises(ValueError, match="cannot be refined"):
        linalg.refine(S, b, solver="minres")
    E = S.copy()
    E.data[3] = np.nan
    _, info = linalg.refine(E, b)
    assert info == -4 and "= nan" in info.reason
    indefinite = sp.csr_array(np.diag([1.0, -1.0, 2.0]))
    _, info = linalg.refine(indefinite, np.array([1.0, 1.0, 0.0]))
    assert info != 0 and "not positive definite" in info.reason


@pytest.mark.parametrize("file", ["bodyy5.mtx.gz", "t2dah_e.mtx.gz", "bcsstk14.hb.gz"])
def test_real_matrices(file):
    A = ps.load(real_file(file))
    b = A @ np.ones(A.shape[0])
    x, info = linalg.refine(A, b, M="jacobi", maxiter=20000)
    assert info == 0 and residual(A.to_scipy(), x, b) <= 1.01e-12
