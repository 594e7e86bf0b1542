"""csr_array in scipy.sparse.linalg: nothing but its names makes it fit."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import penstock as ps


def spd(n=400):
    return sp.csr_array(sp.diags_array([-1.0, 2.2, -1.0], offsets=[-1, 0, 1], shape=(n, n)))


def general(rows=300, cols=200, dtype=float, seed=1):
    rng = np.random.default_rng(seed)
    S = sp.random_array((rows, cols), density=0.05, format="csr", rng=rng)
    S = S + sp.eye_array(rows, cols)
    if np.dtype(dtype).kind == "c":
        S = S + 1j * sp.random_array((rows, cols), density=0.05, format="csr", rng=rng)
    return sp.csr_array(S.astype(dtype))


@pytest.fixture(params=["plain", "planned", "streamed"])
def prepared(request):
    """The products that a solver calls run by rows, by a plan, or through a ring."""

    def make(S):
        A = ps.csr_array(S)
        if request.param == "planned" and A.dtype.kind == "f":
            A.prepare("blocked")
        return A

    if request.param == "streamed":
        with ps.options(device_memory="8KiB"):
            yield make
    else:
        yield make


@pytest.mark.parametrize("solver", [sla.cg, sla.gmres, sla.bicgstab, sla.minres])
def test_solvers(prepared, solver):
    S = spd()
    b = np.random.default_rng(0).standard_normal(400)
    A = prepared(S)
    with ps.record() as t:
        x, info = solver(A, b, rtol=1e-10)
    assert info == 0 and len(t) > 5
    np.testing.assert_allclose(S @ x, b, atol=1e-8 * np.linalg.norm(b))


def test_eigsh(prepared):
    S = spd()
    found = sla.eigsh(
        prepared(S), k=4, v0=np.random.default_rng(1).random(400), return_eigenvectors=False
    )
    np.testing.assert_allclose(np.sort(found), np.linalg.eigvalsh(S.toarray())[-4:], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("transposed", [False, True])
def test_svds(prepared, dtype, transposed):
    S = general(dtype=dtype)
    A = prepared(S)
    A = A.T if transposed else A
    found = sla.svds(A, k=3, rng=np.random.default_rng(0), return_singular_vectors=False)
    np.testing.assert_allclose(
        np.sort(found), np.linalg.svd(S.toarray(), compute_uv=False)[2::-1], rtol=1e-8
    )


def test_eigs_lsqr_lsmr_and_expm_multiply(prepared):
    S = general(200, 200)
    A = prepared(S)
    largest = sla.eigs(A, k=1, v0=np.ones(200), return_eigenvectors=False)
    wanted = np.linalg.eigvals(S.toarray())
    np.testing.assert_allclose(abs(largest[0]), abs(wanted).max(), rtol=1e-9)
    R = general()
    b = np.random.default_rng(3).standard_normal(300)
    exact = np.linalg.lstsq(R.toarray(), b)[0]
    for solver in (sla.lsqr, sla.lsmr):
        np.testing.assert_allclose(
            solver(prepared(R), b, atol=1e-13, btol=1e-13)[0], exact, atol=1e-7
        )
    operator = sla.aslinearoperator(A)
    got = sla.expm_multiply(operator, np.ones(200), traceA=A.diagonal().sum())
    np.testing.assert_allclose(got, sla.expm_multiply(S, np.ones(200)), rtol=1e-9)


@pytest.mark.parametrize("dtype", [bool, np.float32, np.float64, np.complex64, np.complex128])
def test_linear_operator_products(dtype):
    S = general(30, 20).astype(dtype) if np.dtype(dtype).kind != "c" else general(30, 20, dtype)
    rng = np.random.default_rng(2)
    for A, D in ((ps.csr_array(S), S.toarray() * 1.0), (ps.csr_array(S).T, S.T.toarray() * 1.0)):
        operator = sla.aslinearoperator(A)
        rows, cols = A.shape
        x = rng.standard_normal(cols) + 1j * rng.standard_normal(cols)
        X, Y = np.stack([x, 2 * x], 1), np.ones((rows, 3)) * 1j
        near = dict(rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(operator @ x, D @ x, **near)
        np.testing.assert_allclose(A.matvec(x[:, None]), (D @ x)[:, None], **near)
        np.testing.assert_allclose(operator @ X, D @ X, **near)
        np.testing.assert_allclose(A.matmat(X), D @ X, **near)
        np.testing.assert_allclose(operator.H @ Y, D.conj().T @ Y, **near)
        np.testing.assert_allclose(A.rmatmat(Y), D.conj().T @ Y, **near)
        np.testing.assert_allclose(A.rmatvec(Y[:, :1]), D.conj().T @ Y[:, :1], **near)
        np.testing.assert_allclose(A.rmatvec(Y[:, 0]), D.conj().T @ Y[:, 0], **near)
