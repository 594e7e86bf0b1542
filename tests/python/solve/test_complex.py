"""Every method of ps.linalg with complex systems: x against SciPy's residual; what refuses them says what to take."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

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


METHODS = ["cg", "pipecg", "minres", "bicgstab", "gmres", "fgmres", "block_cg"]


@pytest.mark.parametrize("M", [None, "jacobi", "chebyshev", "amg"])
@pytest.mark.parametrize("name", METHODS)
def test_solvers_of_this_package(name, M):
    S = hermitian(0.5)
    b = np.stack([B, 2j * B], 1) if name == "block_cg" else B
    x, info = getattr(ps.linalg, name)(ps.csr_array(S), b, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert x.dtype == np.complex128
    assert np.linalg.norm(S @ x - b) <= 1.01e-9 * np.linalg.norm(b)


@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("name", ["bicgstab", "gmres", "fgmres"])
def test_solvers_of_general_systems(name, M):
    S = general()
    x, info = getattr(ps.linalg, name)(ps.csr_array(S), B, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert np.linalg.norm(S @ x - B) <= 1.01e-9 * np.linalg.norm(B)
    assert info.residuals[-1] == pytest.approx(np.linalg.norm(S @ x - B), rel=1e-3)
    assert len(info.residuals) == info.iterations + 1


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_iterations_are_those_of_scipy(name):
    """With scalars of complex numbers, not of their parts: a Krylov space over the reals takes more of them."""
    S = hermitian(0.5) if name == "cg" else general()
    residuals = []

    def heard(x):
        residuals.append(np.linalg.norm(B - S @ x))

    more = {"restart": 10, "callback_type": "x"} if name == "gmres" else {}
    getattr(sla, name)(S, B, rtol=1e-6, atol=0, callback=heard, **more)
    A = ps.csr_array(S)
    _, info = getattr(ps.linalg, name)(
        A, B, rtol=1e-6, **{k: v for k, v in more.items() if k == "restart"}
    )
    assert info == 0
    if name == "gmres":
        ours = info.residuals[10::10]
        np.testing.assert_allclose(ours[:3], residuals[: len(ours)][:3], rtol=1e-6)
    else:
        assert abs(info.iterations - len(residuals)) <= 1
        np.testing.assert_allclose(info.residuals[1:9], residuals[:8], rtol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_single_precision_callbacks_and_guesses(name):
    S = hermitian(0.5).astype(np.complex64)
    b = B.astype(np.complex64)
    b = np.stack([b, b], 1) if name == "block_cg" else b
    heard = []
    more = {"callback_type": "x"} if name in ("gmres", "fgmres") else {}
    x, info = getattr(ps.linalg, name)(
        ps.csr_array(S),
        b,
        x0=b,
        rtol=1e-4,
        M="jacobi",
        callback=lambda x: heard.append(x.copy()),
        **more,
    )
    assert info == 0 and x.dtype == np.complex64 and heard[0].dtype == np.complex64
    assert np.linalg.norm(S @ x - b) <= 1.1e-4 * np.linalg.norm(b)
    assert info.residuals[0] == pytest.approx(np.linalg.norm(b - S @ b, axis=0).max(), rel=1e-4)


def test_one_complex_operand_is_enough():
    S = sp.csr_array(hermitian(0.5).real)
    A = ps.csr_array(S)
    ones = np.ones(N)
    for a, b, more in [
        (A, B, {}),
        (A, ones, {"x0": B}),
        (A, ones, {"M": ps.linalg.Jacobi(A, dtype=np.complex128)}),
        (sla.aslinearoperator(S.astype(complex)), ones, {}),
        (A, B, {"M": ps.linalg.IC0(A)}),
        (A, B, {"M": "ilu0"}),
        (A, ones, {"x0": list(B)}),
    ]:
        for method in ("cg", "gmres"):
            x, info = getattr(ps.linalg, method)(a, b, rtol=1e-8, **more)
            assert info == 0 and x.dtype == np.complex128
            assert np.linalg.norm(S @ x - b) <= 1.01e-8 * np.linalg.norm(b)
    op = sla.LinearOperator((N, N), matvec=lambda x: 1j * x, dtype=np.float64)
    with pytest.raises(TypeError, match="complex numbers for a real vector: give a complex b"):
        ps.linalg.gmres(op, ones)


def test_a_solver_for_many_complex_right_hand_sides():
    S = hermitian(0.5)
    solver = ps.linalg.Solver(ps.csr_array(S), "cg", "jacobi", rtol=1e-8)
    b = np.stack([B, 1j * B, B.conj()], 1)
    X, info = solver.solve(b)
    assert info == 0 and len(info.columns) == 3 and X.dtype == np.complex128
    assert (np.linalg.norm(S @ X - b, axis=0) <= 1.01e-8 * np.linalg.norm(b, axis=0)).all()
    out = np.empty(N, np.complex128)
    x, info = solver(B, out=out)
    assert x is out and np.array_equal(x, X[:, 0])
    np.testing.assert_allclose(X[:, 1], 1j * X[:, 0], atol=1e-7 * np.abs(X).max())
    assert "jacobi" in str(solver.explain()).lower()


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
    with pytest.raises(ValueError, match="Chebyshev: the diagonal entry of row 0 is"):
        ps.linalg.Chebyshev(ps.csr_array(S))


@pytest.mark.parametrize("name", ["ilu0", "ic0", "block_jacobi"])
def test_preconditioners_that_are_real_say_so(name):
    with pytest.raises(TypeError, match="take one of Jacobi, Chebyshev, AMG"):
        ps.linalg.gmres(ps.csr_array(general()), B, M=name)


def test_refinement_is_real_and_says_so():
    A = ps.csr_array(general())
    with pytest.raises(TypeError, match="float64"):
        ps.linalg.refine(A, B)
    real = ps.linalg.Solver(ps.csr_array(general().real), "gmres", inner="float32")
    with pytest.raises(TypeError, match="leave inner out"):
        real(B)
