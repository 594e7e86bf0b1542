"""SciPy's Krylov solvers under our names: the true residual, preconditioners by name, and what a mass matrix costs."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import penstock as ps
from penstock import linalg

A = ps.generate.laplacian((20, 20))
S = sp.csr_array(A.to_scipy().astype(np.float64))
B = np.ones(400)
METHODS = ("bicg", "cgs", "gcrotmk", "lgmres", "tfqmr")


def residual(x):
    return np.linalg.norm(B - S @ x) / np.linalg.norm(B)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("M", [None, "jacobi", "ic0", "amg"])
def test_info_0_means_a_small_residual(name, M):
    steps = []
    x, info = getattr(linalg, name)(A, B, M=M, rtol=1e-8, callback=lambda x: steps.append(x.copy()))
    assert info == 0 and residual(x) <= 1.01e-8 and x.shape == B.shape
    assert np.linalg.norm(steps[-1] - x) <= 1e-6 * np.linalg.norm(x)


def test_tfqmr_with_a_preconditioner_solves_the_system_that_was_given():
    M = linalg.AMG(A)
    x, info = sla.tfqmr(S, B, M=M, rtol=1e-8)
    assert info == 0 and residual(x) > 0.1  # SciPy's own
    for x0 in (None, "Mb", np.arange(400.0)):
        x, info = linalg.tfqmr(A, B, x0, M=M, rtol=1e-8)
        assert info == 0 and residual(x) <= 1.01e-8
    x, info = linalg.tfqmr(A, B[:, None], M=M, rtol=1e-8)
    assert info == 0 and residual(np.ravel(x)) <= 1.01e-8
    assert linalg.tfqmr(A, B, M=M, rtol=1e-8, maxiter=2)[1] == 2
    with pytest.raises(ValueError, match="M has shape"):
        linalg.tfqmr(A, B, M=sp.eye_array(3))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "side"), [("bicg", 6), ("tfqmr", 6), ("bicg", 8)])
def test_a_second_beginning_where_the_recurrence_is_wrong(name, side, seed):
    """Of badly scaled rows SciPy's recurrence reports a residual that b - A x has not."""
    skew = 0.3 if side == 6 else 1.0
    line = sp.diags_array([-1 - skew, 2.0, -1 + skew], offsets=[-1, 0, 1], shape=(side, side))
    scale = 10 ** np.random.default_rng(seed).uniform(-2, 2, side * side)
    M = sp.csr_array(sp.diags_array(scale) @ sp.kronsum(line, line))
    b, asked = np.ones(side * side), 1e-13

    def left(x):
        return np.linalg.norm(b - M @ x) / np.linalg.norm(b)

    theirs, told = getattr(sla, name)(M, b, rtol=asked, maxiter=1000)
    assert told == 0 and left(theirs) > 5 * asked
    x, info = getattr(linalg, name)(M, b, rtol=asked, maxiter=1000)
    assert left(x) < left(theirs)
    assert (info == 0) == (left(x) <= 1.01 * asked)
    assert info >= 0 and info != 1


def test_lobpcg_takes_a_function_as_its_preconditioner():
    X = np.random.default_rng(1).standard_normal((A.shape[0], 3))
    values, _ = linalg.lobpcg(A, X, M=lambda v: v / 4, largest=False, tol=1e-6, maxiter=200)
    expected = np.linalg.eigvalsh(S.toarray())[:3]
    np.testing.assert_allclose(np.sort(values), expected, rtol=1e-6)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("kind", ["ours", "scipy", "dense"])
def test_whole_numbers(name, kind):
    whole = S.astype(np.int64)
    given = {"ours": ps.csr_array(whole), "scipy": whole, "dense": whole.toarray()}[kind]
    x, info = getattr(linalg, name)(given, B, rtol=1e-8)
    assert info == 0 and residual(x) <= 1.01e-8


def test_qmr_takes_one_preconditioner_alone():
    for named in ({"M1": "jacobi"}, {"M2": linalg.AMG(A)}):
        x, info = linalg.qmr(A, B, rtol=1e-8, **named)
        assert info == 0 and residual(x) <= 1.01e-8


def test_what_has_no_adjoint_says_so():
    for M in ("ilu0", "block_jacobi", linalg.AMG(A, cycle="K")):
        with pytest.raises(TypeError, match="adjoint of M.*or bicgstab"):
            linalg.bicg(A, B, M=M)


def test_complex_jacobi_has_its_adjoint():
    C = sp.csr_array(S + sp.diags_array(1j * np.linspace(0, 3, 400)))
    x, info = linalg.bicg(ps.csr_array(C), B + 0j, M="jacobi", rtol=1e-8)
    assert info == 0 and np.linalg.norm(B - C @ x) <= 1.01e-8 * 20


@pytest.mark.parametrize("name", [*METHODS, "cg", "minres", "block_cg"])
def test_arguments_that_do_not_fit_are_named(name):
    method = getattr(linalg, name)
    with pytest.raises(TypeError, match="callback=3 is not callable"):
        method(A, B, callback=3)
    with pytest.raises(TypeError, match="M=3: give the name of a preconditioner"):
        method(A, B, M=3)
    with pytest.raises(ValueError, match="M='nothing' is unknown"):
        method(A, B, M="nothing")


def test_lobpcg_takes_names_and_names_nan():
    X = np.random.default_rng(0).random((400, 3))
    values = linalg.lobpcg(A, X, M="amg", largest=False, tol=1e-6, maxiter=40)[0]
    np.testing.assert_allclose(values, np.linalg.eigvalsh(S.toarray())[:3], rtol=1e-6)
    N = S.copy()
    N.data[4] = np.nan
    for call in (
        lambda: linalg.lobpcg(ps.csr_array(N), X),
        lambda: linalg.eigs(ps.csr_array(N)),
        lambda: linalg.eigsh(ps.csr_array(N), sigma=0.0),
    ):
        with pytest.raises(ValueError, match=r"A\[1, 1\] = nan: A must hold finite numbers only"):
            call()


@pytest.mark.parametrize("name", ["lsmr", "lsqr"])
def test_a_complex_matrix_takes_a_real_right_hand_side(name):
    C = sp.csr_array(S + 1j * sp.eye_array(400))
    x = getattr(linalg, name)(ps.csr_array(C), B, atol=1e-10, btol=1e-10)[0]
    assert np.linalg.norm(C @ x - B) <= 1e-8 * 20


@pytest.mark.parametrize("name", ["eigsh", "eigs"])
def test_a_mass_matrix_is_factorized(name, monkeypatch):
    """SciPy solves with M by its entries: one that has products alone it would solve by an inner GMRES."""
    mass = ps.csr_array(
        sp.csr_array(sp.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(400, 400)))
    )
    made = []
    splu = sla.splu
    arpack = importlib.import_module("scipy.sparse.linalg._eigen.arpack.arpack")
    monkeypatch.setattr(arpack, "splu", lambda m: made.append(m) or splu(m))
    found = np.sort(getattr(linalg, name)(A, 4, M=mass)[0].real)
    assert len(made) == 1 and made[0].format == "csc"
    expected = np.sort(sla.eigsh(S, 4, M=mass.to_scipy().tocsc())[0])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
