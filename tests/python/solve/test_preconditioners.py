"""Preconditioners: against dense factors, in SciPy's solvers and beside pyamg's, zero pivots, bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from penstock.linalg import _named
from test_solvers import NAMES, assert_solved, general, laplacian, right_hand_side, spd

from penstock import linalg


def test_pyamg_and_scipy_preconditioners():
    A = laplacian(40, 40)
    S, b = A.to_scipy(), right_hand_side(1600)
    ilu = sla.spilu(sp.csc_array(S))
    M = sla.LinearOperator(S.shape, matvec=ilu.solve, dtype=np.float64)
    x, info = linalg.bicgstab(A, b, rtol=1e-9, M=M)  # spilu's pivots are not symmetric
    assert_solved(A, x, b, info, 1e-9)
    pyamg = pytest.importorskip("pyamg")
    amg = pyamg.smoothed_aggregation_solver(sp.csr_matrix(S)).aspreconditioner()
    x, info = linalg.cg(A, b, rtol=1e-9, M=amg)
    assert_solved(A, x, b, info, 1e-9)
    assert info.iterations < 25


@pytest.mark.parametrize("name", NAMES)
def test_preconditioners_in_scipy(name):
    A = laplacian(20, 20)
    b = right_hand_side(400)
    M = _named.by_name(name, A, np.dtype(float))
    assert M.shape == (400, 400) and M.dtype == np.float64 and M.nbytes > 0
    assert name.replace("_", "") in repr(M).lower()
    x, code = sla.cg(A, b, rtol=1e-9, M=M)
    assert code == 0 and np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    _, info = linalg.cg(A, b, rtol=1e-9, M=M)
    _, plain = linalg.cg(A, b, rtol=1e-9)
    assert info.iterations <= plain.iterations
    v = right_hand_side(400, 9)
    np.testing.assert_allclose(b @ (M @ v), v @ (M @ b), rtol=1e-9)  # symmetric
    np.testing.assert_array_equal((M @ np.stack([b, v], 1))[:, 1], M.matvec(v))
    with pytest.raises(ValueError, match="shape"):
        M.matvec(np.ones(3))


def dense_ilu0(D):
    """Row by row, on the pattern, as the books have it."""
    F, pattern = D.copy(), D != 0
    for i in range(len(D)):
        for k in range(i):
            if pattern[i, k]:
                F[i, k] /= F[k, k]
                for j in range(k + 1, len(D)):
                    if pattern[i, j]:
                        F[i, j] -= F[i, k] * F[k, j]
    return np.tril(F, -1) + np.eye(len(D)), np.triu(F)


def test_incomplete_factors_are_right():
    D = general(40).toarray()
    L, U = dense_ilu0(D)
    r = right_hand_side(40)
    np.testing.assert_allclose(linalg.ILU0(D) @ r, np.linalg.solve(L @ U, r), rtol=1e-10)
    D = spd(40).toarray()
    L, U = dense_ilu0(D)  # of a symmetric matrix U = D L^T: the same factors
    np.testing.assert_allclose(linalg.IC0(D) @ r, np.linalg.solve(L @ U, r), rtol=1e-10)
    np.testing.assert_allclose(linalg.IC0(np.tril(D)) @ r, linalg.IC0(D) @ r)
    blocks = [D[i : i + 10, i : i + 10] for i in range(0, 40, 10)]
    wanted = np.concatenate(
        [np.linalg.solve(d, r[10 * i : 10 * i + 10]) for i, d in enumerate(blocks)]
    )
    np.testing.assert_allclose(linalg.BlockJacobi(D, 10) @ r, wanted, rtol=1e-10)
    np.testing.assert_allclose(linalg.BlockJacobi(D, blocks=4) @ r, wanted, rtol=1e-10)
    cut = sp.block_diag(blocks).toarray()
    np.testing.assert_allclose(
        linalg.BlockJacobi(D, blocks=4, inner="ilu") @ r, linalg.ILU0(cut) @ r, rtol=1e-12
    )
    shifted = D + 0.1 * np.diag(abs(D).max(axis=1))
    np.testing.assert_allclose(linalg.ILU0(D, shift=0.1) @ r, linalg.ILU0(shifted) @ r, rtol=1e-10)


def test_levels_and_rows_agree():
    """Large enough for level scheduling; a tridiagonal matrix has no levels and is factored exactly."""
    A = laplacian(30, 30, 30)
    M = linalg.ILU0(A)
    r = right_hand_side(A.shape[0])
    z = M @ r
    S = A.to_scipy()
    np.testing.assert_allclose(z, linalg.IC0(A) @ r, rtol=1e-9, atol=1e-12)
    # (L + D) D^-1 (D + U) with D from the recurrence of a 7-point stencil
    d = np.zeros((30, 30, 30))
    for i, j, k in np.ndindex(30, 30, 30):
        before = [
            d[i - 1, j, k] if i else 0,
            d[i, j - 1, k] if j else 0,
            d[i, j, k - 1] if k else 0,
        ]
        d[i, j, k] = 6 - sum(1 / v for v in before if v)
    d = sp.diags_array(d.ravel())
    lower, upper = sp.tril(S, -1), sp.triu(S, 1)
    w = d @ z + upper @ z
    np.testing.assert_allclose(w + lower @ (w / d.diagonal()), r, atol=1e-10)
    T = laplacian(20_000)
    x = linalg.ILU0(T) @ r[:20_000]
    np.testing.assert_allclose(T @ x, r[:20_000], atol=1e-5)


def test_zero_pivots_name_the_row():
    D = np.array([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="row 1 "):
        linalg.Jacobi(D)
    singular = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    with pytest.raises(ValueError, match=r"row 1 .*shift"):
        linalg.ILU0(singular)
    with pytest.raises(ValueError, match=r"row 1 .*shift"):
        linalg.IC0(D)
    with pytest.raises(ValueError, match=r"rows 0 \.\. 1 .*shift"):
        linalg.BlockJacobi(singular, 2)
    for M in (linalg.ILU0(singular, shift=0.1), linalg.BlockJacobi(singular, 2, shift=0.1)):
        assert np.isfinite(M @ np.ones(3)).all()
    with pytest.raises(ValueError, match="positive definite"):
        linalg.Chebyshev(np.diag([1.0, -2.0, 3.0]))
    missing = sp.csr_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2))
    with pytest.raises(ValueError, match="row 0 "):
        linalg.ILU0(missing)


def test_preconditioners_refuse_nonsense():
    A = laplacian(10)
    for wrong in (dict(block_size=0), dict(block_size=11), dict(blocks=99), dict(block_size=2, blocks=2),
                  dict(inner="qr"), dict(shift=-1)):  # fmt: skip
        with pytest.raises(ValueError, match="give|choose"):
            linalg.BlockJacobi(A, **wrong)
    with pytest.raises(ValueError, match="degree"):
        linalg.Chebyshev(A, 0)
    with pytest.raises(ValueError, match="eigenvalues"):
        linalg.Chebyshev(A, eigenvalues=(2, 1))
    with pytest.raises(TypeError, match="entries"):
        linalg.Jacobi(sla.aslinearoperator(A.to_scipy()))
    with pytest.raises(ValueError, match="square"):
        linalg.ILU0(sp.csr_array((2, 3)))
    with pytest.raises(TypeError, match="real|jacobi"):
        linalg.ILU0(sp.eye_array(3) * 1j)


def test_chebyshev_without_entries():
    A = laplacian(30, 30)
    M = linalg.Chebyshev(sla.aslinearoperator(A.to_scipy()), 4)
    assert M.eigenvalues[1] > 7.9  # the largest eigenvalue is close to 8
    x, info = linalg.cg(A, np.ones(900), rtol=1e-9, M=M)
    assert_solved(A, x, np.ones(900), info, 1e-9)
