"""Every method of ps.linalg with complex systems: x against SciPy's residual; what refuses them says what to take."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

N = 300


def hermitian(shift: float) -> sp.csr_array:
    """A chain with phases on its edges, positive definite for shift > 0."""
    phase = np.exp(1j * np.linspace(0.1, 3, N - 1))
    a = sp.diags_array([np.full(N, 2.0 + shift), -phase, -phase.conj()], offsets=[0, 1, -1])
    scale = sp.diags_array(1 + 0.5 * np.sin(np.arange(N)))
    return sp.csr_array(scale @ a @ scale)


def general() -> sp.csr_array:
    a = hermitian(0.5)
    return sp.csr_array(a + 0.3j * sp.eye_array(N) + 0.2 * sp.eye_array(N, k=2))


B = np.random.default_rng(1).standard_normal((N, 2)) @ np.array([1, 1j])


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("name", ["cg", "minres", "bicgstab", "gmres", "fgmres", "block_cg"])
def test_solvers_of_this_package(name, M):
    S = hermitian(0.5)
    b = np.stack([B, 2j * B], 1) if name == "block_cg" else B
    x, info = getattr(ps.linalg, name)(ps.csr_array(S), b, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert x.dtype == np.complex128
    assert np.linalg.norm(S @ x - b) <= 1.01e-9 * np.linalg.norm(b)


@pytest.mark.parametrize("name", ["bicg", "cgs", "qmr", "tfqmr", "lgmres", "gcrotmk"])
def test_solvers_of_scipy(name):
    S = general()
    x, info = getattr(ps.linalg, name)(ps.csr_array(S), B, rtol=1e-8)
    assert info == 0
    assert np.linalg.norm(S @ x - B) <= 1e-7 * np.linalg.norm(B)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares(name):
    S = sp.csr_array(general()[:, :200])
    x = getattr(ps.linalg, name)(ps.csr_array(S), B, 0.0, 1e-12, 1e-12)[0]
    expected = np.linalg.lstsq(S.toarray(), B, rcond=None)[0]
    np.testing.assert_allclose(x, expected, atol=1e-6)


def test_eigenvalues_and_singular_values():
    S = hermitian(0.5)
    exact = np.linalg.eigvalsh(S.toarray())
    A = ps.csr_array(S)
    np.testing.assert_allclose(np.sort(ps.linalg.eigsh(A, 4)[0]), exact[-4:], rtol=1e-8)
    np.testing.assert_allclose(
        np.sort(ps.linalg.eigs(A, 4, which="LM")[0].real), exact[-4:], rtol=1e-8
    )
    u, s, vh = ps.linalg.svds(ps.csr_array(general()), 3)
    assert u.dtype == vh.dtype == np.complex128
    found = np.sort(s)
    np.testing.assert_allclose(
        found, np.sort(np.linalg.svd(general().toarray())[1])[-3:], rtol=1e-8
    )


def test_jacobi():
    S = general()
    m = ps.linalg.Jacobi(ps.csr_array(S))
    assert (m.dtype, m.shape, m.nbytes) == (np.complex128, (N, N), 16 * N)
    np.testing.assert_allclose(m @ B, B / S.diagonal())
    np.testing.assert_allclose(m.matvec(B[:, None]), (B / S.diagonal())[:, None])
    assert ps.linalg.Jacobi(ps.csr_array(S.real), dtype=np.complex64).dtype == np.complex64
    with pytest.raises(ValueError, match="shape"):
        m.matvec(B[:5])
    with pytest.raises(ValueError, match="row 1 is zero"):
        ps.linalg.Jacobi(ps.csr_array(np.array([[1j, 1], [1, 0]])))


@pytest.mark.parametrize("name", ["ilu0", "ic0", "block_jacobi", "chebyshev", "amg"])
def test_preconditioners_that_are_real_say_so(name):
    with pytest.raises(TypeError, match="jacobi"):
        ps.linalg.gmres(ps.csr_array(general()), B, M=name)


def test_methods_that_are_real_say_so():
    A = ps.csr_array(general())
    with pytest.raises(TypeError, match="complex"):
        ps.linalg.pipecg(A, B)
    with pytest.raises(TypeError, match="float64"):
        ps.linalg.refine(A, B)
    with pytest.raises(TypeError, match="real numbers"):
        ps.linalg.AMG(A)
