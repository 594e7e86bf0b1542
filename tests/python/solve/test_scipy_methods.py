"""What ps.linalg takes from SciPy: every name against SciPy's own result, complex systems, and x0="Mb"."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from penstock.linalg import scipy_methods

import penstock as ps
from penstock import linalg

SOLVERS = ("bicg", "cgs", "gcrotmk", "lgmres", "lsmr", "lsqr", "minres", "qmr", "tfqmr")


@pytest.fixture(scope="module")
def system():
    A = ps.generate.laplacian((12, 12))
    return A, A.to_scipy(), np.random.default_rng(7).random(144)


def test_every_name_is_public_and_scipys():
    for name in (*scipy_methods.BY_PRODUCTS, *scipy_methods.BY_ENTRIES):
        assert name in linalg.__all__ and callable(getattr(linalg, name))
        assert hasattr(sla, name) and name in getattr(linalg, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = linalg.nothing


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers(system, name):
    A, S, b = system
    named = {"atol": 1e-13, "btol": 1e-13} if name in ("lsqr", "lsmr") else {"rtol": 1e-10}
    for matrix in (A, A.T):
        x = getattr(linalg, name)(matrix, b, **named)[0]
        np.testing.assert_allclose(x, getattr(sla, name)(S, b, **named)[0], rtol=1e-6, atol=1e-9)


def test_solvers_take_our_preconditioners(system):
    A, S, b = system
    steps = []
    x, info = linalg.cgs(A, b, rtol=1e-10, M=linalg.IC0(A), callback=steps.append)
    plain = []
    linalg.cgs(A, b, rtol=1e-10, callback=plain.append)
    assert info == 0 and len(steps) < len(plain)
    np.testing.assert_allclose(S @ x, b, atol=1e-7)


def test_eigenvalues_and_singular_values(system):
    A, S, _ = system
    dense = np.linalg.eigvalsh(S.toarray())
    np.testing.assert_allclose(np.sort(linalg.eigsh(A, k=4)[0]), dense[-4:], rtol=1e-8)
    np.testing.assert_allclose(np.sort(linalg.eigsh(A, k=4, sigma=0)[0]), dense[:4], rtol=1e-8)
    np.testing.assert_allclose(np.sort(linalg.eigs(A, k=3)[0].real), dense[-3:], rtol=1e-8)
    np.testing.assert_allclose(np.sort(linalg.svds(A, k=3)[1]), dense[-3:], rtol=1e-8)
    X = np.random.default_rng(1).random((144, 3))
    values, _ = linalg.lobpcg(A, X, M=linalg.IC0(A), largest=False, maxiter=100, tol=1e-8)
    np.testing.assert_allclose(np.sort(values), dense[:3], rtol=1e-6)
    assert linalg.onenormest(A) == pytest.approx(abs(S.toarray()).sum(axis=0).max())


def test_what_reads_entries(system):
    A, S, b = system
    dense = S.toarray()
    for solve in (linalg.spsolve(A, b), linalg.factorized(A)(b), linalg.splu(A).solve(b)):
        np.testing.assert_allclose(dense @ solve, b)
    np.testing.assert_allclose(np.tril(dense) @ linalg.spsolve_triangular(ps.tril(A), b), b)
    assert np.linalg.norm(dense @ linalg.spilu(A).solve(b) - b) < 0.1 * np.linalg.norm(b)
    for result, expected in (
        (linalg.inv(A), np.linalg.inv(dense)),
        (linalg.matrix_power(A, 3), np.linalg.matrix_power(dense, 3)),
        (linalg.expm(A), sla.expm(S).toarray()),
    ):
        assert isinstance(result, ps.csr_array)
        np.testing.assert_allclose(result.toarray(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(linalg.expm_multiply(A, b), sla.expm_multiply(S, b))
    assert linalg.norm(A) == pytest.approx(np.linalg.norm(dense))


def complex_system(kind):
    rng = np.random.default_rng(3)
    S = sp.random_array((60, 60), density=0.1, rng=rng) + 1j * sp.random_array(
        (60, 60), density=0.1, rng=rng
    )
    S = S + S.conj().T if kind == "hermitian" else S
    S = sp.csr_array(S + 12 * sp.eye_array(60))
    return S, rng.random(60) + 1j * rng.random(60)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_systems(name, dtype):
    S, b = complex_system("hermitian" if name == "cg" else "general")
    A, b = ps.csr_array(S.astype(dtype)), b.astype(dtype)
    rtol = 1e-4 if dtype == np.complex64 else 1e-10
    calls = []
    named = {"callback": calls.append} | ({"callback_type": "x"} if name == "gmres" else {})
    x, info = getattr(linalg, name)(A, b, rtol=rtol, **named)
    assert info == 0 and info.converged and info.reason == "converged" and calls
    assert x.dtype == dtype and np.linalg.norm(S @ x - b) <= 2 * rtol * np.linalg.norm(b)
    assert info.residual == info.residuals[-1] <= 2 * info.target and info.iterations > 0
    _, info = getattr(linalg, name)(
        A, b, rtol=1e-6, maxiter=1, **({"restart": 1} if name == "gmres" else {})
    )
    assert info > 0 and "allow more" in info.reason
    x, info = getattr(linalg, name)(A, b.real, rtol=rtol, M=sp.eye_array(60) / 12)
    assert info == 0 and np.linalg.norm(S @ x - b.real) <= 2 * rtol * np.linalg.norm(b.real)
    with pytest.raises(ValueError, match=r"b\[1\]"):
        getattr(linalg, name)(A, np.where(np.arange(60) == 1, np.nan, b))
    with pytest.raises(ValueError, match="rtol=-1"):
        getattr(linalg, name)(A, b, rtol=-1)


@pytest.mark.parametrize("M", [None, "ic0"])
def test_x0_may_be_Mb(system, M):
    A, S, b = system
    x, info = linalg.cg(A, b, "Mb", rtol=1e-10, M=M)
    assert info == 0 and np.linalg.norm(S @ x - b) <= 1e-10 * np.linalg.norm(b)
    first = b if M is None else linalg.IC0(A).matvec(b)
    assert info.residuals[0] == pytest.approx(np.linalg.norm(b - S @ first))
