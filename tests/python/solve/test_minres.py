"""`minres`: symmetric and Hermitian systems, indefinite and singular, against SciPy's results."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from solve_support import hermitian, laplacian, residual

import penstock as ps
from penstock import linalg


@pytest.mark.parametrize("M", [None, "jacobi", "ic0", "chebyshev"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_positive_definite_systems(M, dtype):
    S, b = laplacian(dtype=dtype)
    rtol = 1e-10 if dtype == np.float64 else 1e-4
    x, info = linalg.minres(S, b, rtol=rtol, M=M)
    assert info == 0 and x.dtype == dtype and residual(S, x, b) <= 1.1 * rtol
    assert len(info.residuals) == info.iterations + 1
    assert info.residual == pytest.approx(np.linalg.norm(b - S @ x), rel=0.1)
    if M is None:
        assert (np.diff(info.residuals) <= 1e-9 * info.residuals[0]).all()


def test_scipys_iterations_and_indefinite_shifts():
    S, b = laplacian(20)
    for shift in (0.0, 2.5, -1.0):
        x, info = linalg.minres(S, b, rtol=1e-9, shift=shift)
        T = sp.csr_array(S - shift * sp.eye_array(400))
        assert info == 0 and residual(T, x, b) <= 1.001e-9
        seen = []
        y, _ = sla.minres(S, b, rtol=1e-13, shift=shift, callback=seen.append)
        np.testing.assert_allclose(x, y, atol=1e-6 * abs(y).max())
        norms = [np.linalg.norm(b - T @ v) for v in seen]
        first = next(i for i, v in enumerate(norms, 1) if v <= info.target)
        assert abs(info.iterations - first) <= 0.02 * first + 2


@pytest.mark.parametrize("shift", [0.0, 20.0])
def test_hermitian_systems(shift):
    S, b = hermitian(shift=shift)
    x, info = linalg.minres(ps.csr_array(S), b, rtol=1e-9, maxiter=5000)
    assert info == 0 and x.dtype == np.complex128 and residual(S, x, b) <= 1.001e-9


def test_first_guess_operators_and_callback():
    S, b = laplacian(15)
    x, _ = linalg.minres(S, b, rtol=1e-11)
    again, info = linalg.minres(S, b, x, rtol=1e-10)
    assert info.iterations == 0
    np.testing.assert_array_equal(again, x)
    assert linalg.minres(S, b, "Mb", rtol=1e-9, M="ic0")[1] == 0
    operator = sla.LinearOperator(S.shape, matvec=lambda v: S @ v, dtype=float)
    seen = []
    y, info = linalg.minres(operator, b, rtol=1e-11, callback=lambda v: seen.append(v.copy()))
    np.testing.assert_allclose(x, y, atol=1e-9)
    assert len(seen) == info.iterations
    np.testing.assert_array_equal(seen[-1], y)
    zero, info = linalg.minres(S, 0 * b, np.ones_like(b))
    assert info == 0 and not zero.any()
    assert linalg.minres(sp.csr_array((0, 0)), np.empty(0))[1] == 0


def test_singular_systems():
    n = 60
    N = sp.lil_array(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)))
    N[0, 0] = N[n - 1, n - 1] = 1
    S = sp.csr_array(N)
    b = np.random.default_rng(0).standard_normal(n)
    x, info = linalg.minres(S, b - b.mean(), rtol=1e-9)
    assert info == 0 and residual(S, x, b - b.mean()) <= 1.001e-9
    x, info = linalg.minres(S, b, rtol=1e-9)
    assert info > 0 and "not in its range" in info.reason
    assert np.linalg.norm(b - S @ x) == pytest.approx(np.sqrt(n) * abs(b.mean()), rel=1e-3)
    Z = sp.csr_array(np.diag([1.0, 2.0, 0.0, 3.0]))
    x, info = linalg.minres(Z, np.ones(4), rtol=1e-8)
    assert info > 0 and "singular" in info.reason and "row 2" in info.reason
    assert np.linalg.norm(x) < 10


def test_bad_input():
    S, b = laplacian(10)
    general = sp.csr_array(S + sp.triu(S, 1))
    with pytest.raises(ValueError, match="non-symmetric matrix"):
        linalg.minres(general, b, check=True)
    assert linalg.minres(S, b, check=True)[1] == 0
    _, info = linalg.minres(general, b, rtol=1e-12)
    assert info > 0 and info.reason
    _, info = linalg.minres(S, b, M=-sp.eye_array(100))
    assert info == -2 and "positive definite" in info.reason
    _, info = linalg.minres(S, b, rtol=1e-30)
    assert info > 0 and info.reason.startswith("stagnated")
    _, info = linalg.minres(S, b, rtol=1e-12, maxiter=3)
    assert info == 3 and info.reason.startswith("maxiter")
    E = S.copy()
    E.data[3] = np.inf
    _, info = linalg.minres(E, b)
    assert info == -4 and "= inf" in info.reason
    with pytest.raises(ValueError, match="show=True"):
        linalg.minres(S, b, show=True)
    with pytest.raises(ValueError, match="square"):
        linalg.minres(sp.csr_array((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match=r"b\[2\]"):
        linalg.minres(S, np.where(np.arange(100) == 2, np.nan, b))
