"""`Solver`: one set-up for many right-hand sides, the same results as the methods, updates and predictions."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from penstock.linalg import _names
from solve_support import general, hermitian, laplacian, residual

import penstock as ps
from penstock import linalg


@pytest.mark.parametrize("method", list(_names.METHODS))
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_every_method_solves_what_its_function_solves(method, M):
    S, b = laplacian()
    solver = linalg.Solver(S, method, M, rtol=1e-9)
    x, info = solver(b)
    y, told = getattr(linalg, method)(S, b, rtol=1e-9, M=M)
    assert info == told == 0 and info.iterations == told.iterations
    np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
    assert residual(S, x, b) <= 1.001e-9
    np.testing.assert_array_equal(solver(b)[0], x)  # nothing is left of the first
    column, _ = solver(b[:, None])
    assert column.shape == b.shape
    B = np.random.default_rng(3).standard_normal((len(b), 3))
    X, info = solver.solve(B)
    assert X.shape == B.shape and len(info.columns) == 3 and residual(S, X, B) <= 1.001e-9
    np.testing.assert_array_equal(solver(B)[0], X)
    assert solver.solve(B[:, :1])[0].shape == (len(b), 1)


@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres", "minres", "fgmres", "block_cg"])
def test_complex_systems(method):
    S, b = hermitian(shift=20.0)
    solver = linalg.Solver(ps.csr_array(S), method, rtol=1e-9)
    x, info = solver(b)
    assert info == 0 and residual(S, x, b) <= 2e-9
    X, info = solver.solve(np.stack([b, 1j * b], axis=1))
    np.testing.assert_allclose(X[:, 1], 1j * X[:, 0], rtol=1e-6, atol=1e-9)
    real, info = linalg.Solver(S.real, method, rtol=1e-9)(b)  # a complex b alone
    assert info == 0 and residual(S.real, real, b) <= 2e-9


def test_memory_of_the_caller_and_first_guesses():
    S, b = laplacian()
    solver = linalg.Solver(S, "cg", "ic0", rtol=1e-9)
    x, _ = solver(b)
    out = np.full_like(b, np.nan)
    y, info = solver(b, out=out)
    assert y is out and info == 0
    np.testing.assert_array_equal(out, x)
    again, info = solver(b, x0=out, out=out)
    assert again is out and info.iterations == 0
    X = np.empty((len(b), 2), order="C")
    found, _ = solver.solve(np.stack([b, b], axis=1), out=X)
    assert found is X and residual(S, X[:, 1], b) <= 1e-9
    minres = linalg.Solver(S, "minres", rtol=1e-9)
    assert minres(b, out=out)[0] is out
    for wrong in (
        np.empty(3),
        np.empty(len(b), np.float32),
        [0.0] * len(b),
        np.empty(2 * len(b))[::2],
    ):
        for one in (solver, minres):
            with pytest.raises(ValueError, match="out is"):
                one(b, out=wrong)
    single, info = linalg.Solver(S.astype(np.float32), "cg", "jacobi", rtol=1e-4)(b)
    assert single.dtype == np.float64 and info == 0  # b is float64, as for cg
    assert linalg.Solver(S.astype(np.float32))(b.astype(np.float32))[0].dtype == np.float32


def test_update_takes_the_same_pattern_with_other_values():
    S, b = laplacian()
    for M in (None, "ic0", "jacobi"):
        solver = linalg.Solver(S, "cg", M, rtol=1e-10)
        solver(b)
        T = S + 3 * sp.eye_array(S.shape[0], format="csr")
        solver.update(T)
        x, info = solver(b)
        assert residual(sp.csr_array(T), x, b) <= 1e-10
        assert info.iterations == linalg.cg(T, b, rtol=1e-10, M=M)[1].iterations
    given = linalg.Solver(S, "cg", linalg.IC0(S), rtol=1e-10)
    with pytest.raises(ValueError, match="given as an object"):
        given.update(T)
    given.update(T, linalg.IC0(T))
    assert residual(sp.csr_array(T), given(b)[0], b) <= 1e-10
    with pytest.raises(ValueError, match="another pattern"):
        given.update(sp.csr_array(S @ S))
    with pytest.raises(ValueError, match="shape"):
        given.update(sp.eye_array(4, format="csr"))


def test_an_M_with_an_update_keeps_its_own():
    S, b = laplacian()

    class Scaling:
        shape, dtype, updates = S.shape, np.dtype(float), 0

        def matvec(self, r):
            return r / 4

        def update(self, A):
            assert isinstance(A, ps.csr_array)
            self.updates += 1

    M = Scaling()
    solver = linalg.Solver(S, "cg", M, rtol=1e-9)
    solver.update(S * 2)
    assert (
        M.updates == 1 and solver.M is M and residual(sp.csr_array(S * 2), solver(b)[0], b) <= 1e-9
    )


def test_explain_counts_bytes_and_predicts_seconds():
    A = ps.generate.laplacian((48, 48, 48))
    solver = linalg.Solver(A, "cg", "ic0")
    found = solver.explain()
    assert found.preconditioner_bytes == solver.M.nbytes > 0
    assert found.vector_bytes == 12 * 8 * A.shape[0]
    assert 0 < found.product_seconds < found.seconds and found.setup_seconds > 0
    assert found.measured_setup_seconds == solver.setup_seconds > 0
    assert "ic0" in str(found) and "ms predicted" in str(found)
    twice = linalg.Solver(A, "bicgstab").explain()
    assert twice.product_seconds == pytest.approx(2 * found.product_seconds)
    assert twice.preconditioner == "none" and twice.setup_seconds == 0
    plain = linalg.Solver(A, prepare=False)
    with ps.options(device_memory="1MiB"):
        streamed = linalg.Solver(ps.csr_array(A.to_scipy()), inner="float32").explain()
    assert streamed.matrix_bytes == A.astype(np.float32).nbytes < A.nbytes
    assert streamed.outer is not None and streamed.product.schedule == "streamed"
    assert plain.explain().matrix_bytes <= A.nbytes
    operator = linalg.Solver(sla.aslinearoperator(A.to_scipy())).explain()
    assert operator.product is None and "object" in str(operator)


def test_callbacks_and_the_bar(monkeypatch):
    S, b = laplacian()
    for method in ("cg", "minres", "gmres", "fgmres", "block_cg"):
        seen = []
        _, info = linalg.Solver(
            S, method, callback=lambda x, s=seen: s.append(x.copy()), rtol=1e-6
        )(b)
        assert seen and residual(S, seen[-1], b) <= 1e-5
        if method in ("cg", "minres", "block_cg"):
            assert len(seen) == info.iterations
    from penstock.linalg._solver import progress

    drawn = []
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    fraction = progress.fraction
    monkeypatch.setattr(progress, "fraction", lambda *a: drawn.append(fraction(*a)) or drawn[-1])
    _, info = linalg.Solver(S, progress=True, rtol=1e-6)(b)
    assert len(drawn) == info.iterations and drawn[-1] > 0.9 and drawn == sorted(drawn)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    drawn.clear()
    linalg.Solver(S, progress=True)(b)
    assert not drawn


def test_bad_input():
    S, b = laplacian(5)
    for named, match in (
        ({"method": "magic"}, "choose one of cg, pipecg"),
        ({"M": "magic"}, "choose one of jacobi"),
        ({"restart": 5}, "gmres and fgmres"),
        ({"inner": "float8"}, "inner='float8'"),
        ({"inner_rtol": 1e-2}, "inner='float32'"),
        ({"method": "minres", "inner": "float32"}, "cannot be refined"),
        ({"rtol": -1}, "rtol"),
        ({"maxiter": 0}, "maxiter"),
    ):
        with pytest.raises(ValueError, match=match):
            linalg.Solver(S, **named)
    with pytest.raises(TypeError, match="callback"):
        linalg.Solver(S, callback=3)
    with pytest.raises(ValueError, match="square"):
        linalg.Solver(sp.csr_array((3, 4)))
    solver = linalg.Solver(S)
    with pytest.raises(ValueError, match=r"b\[3\]"):
        solver(np.where(np.arange(25) == 3, np.nan, b))
    with pytest.raises(ValueError, match="B has shape"):
        solver.solve(b)
    with pytest.raises(ValueError, match="B has shape"):
        solver.solve(np.empty((25, 0)))
    G, c = general()
    _, info = linalg.Solver(G, "bicgstab", maxiter=1, rtol=1e-12)(c)
    assert info > 0 and "maxiter" in info.reason
