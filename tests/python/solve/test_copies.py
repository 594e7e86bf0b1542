"""Eigenvalues that coincide: `eigsh` and `svds` find as many of them as there are, for every tolerance."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import eigsh, svds
from penstock.linalg.eigen import basis, copies, lanczos
from penstock.linalg.eigen.rows import HostRows

import penstock as ps


def spectrum(kind, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(300, 900))
    if kind == "all double":
        values = np.repeat(rng.random(n // 2), 2)
    elif kind == "all triple":
        values = np.repeat(rng.random(n // 3), 3)
    elif kind == "grid":
        one = 2 - 2 * np.cos(np.pi * np.arange(1, int(np.sqrt(n)) + 1) / (int(np.sqrt(n)) + 1))
        values = (one[:, None] + one).ravel()
    elif kind == "doubles in front":
        values = rng.random(n)
        values[-10:] = np.repeat(1 + rng.random(5) * rng.choice([0.01, 0.1, 1, 10]), 2)
    else:  # a value forty times in front
        values = rng.random(n)
        values[-41:] = np.append(np.full(40, 2.0), 3)
    return np.sort(values)


KINDS = ["all double", "all triple", "grid", "doubles in front", "forty"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [0, 1e-10, 1e-6])
def test_as_often_as_they_are_there(kind, tol):
    for seed in range(3):
        values = spectrum(kind, seed)
        A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
        for k in (2, 5, 8):
            found, vectors = eigsh(A, k=k, which="LA", tol=tol)
            slack = 1e-12 + 10 * tol
            np.testing.assert_allclose(found, values[-k:], rtol=0, atol=slack * values[-1])
            assert abs(vectors.T @ vectors - np.eye(k)).max() < 1e-12
            residuals = np.linalg.norm(A @ vectors - vectors * found, axis=0)
            assert residuals.max() <= (1e-13 + 2 * tol) * values[-1] * 10


@pytest.mark.parametrize("which", ["SA", "LM", "BE"])
@pytest.mark.parametrize("block", [1, 3])
def test_at_every_end(which, block):
    values = spectrum("all triple", 7) - 0.3
    A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
    order = {"SA": values, "LM": values[np.argsort(-abs(values), kind="stable")]}
    wanted = np.concatenate([values[:4], values[-4:]]) if which == "BE" else order[which][:8]
    found = eigsh(A, k=8, which=which, block=block, return_eigenvectors=False, tol=1e-8)
    ordered = np.sort(wanted)[::-1] if which == "SA" else np.sort(wanted)  # as SciPy's, alone
    np.testing.assert_allclose(found, ordered, atol=1e-7)


def test_more_copies_than_a_search_keeps_vectors():
    values = np.sort(np.repeat(np.random.default_rng(2).random(200), 2))
    A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
    found = eigsh(A, k=100, which="LA", return_eigenvectors=False, tol=1e-9)
    np.testing.assert_allclose(found, values[-100:], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.complex128])
def test_in_every_type(dtype):
    values = spectrum("doubles in front", 3)[-300:]
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((300, 300))
    q = np.linalg.qr(
        raw + 1j * rng.standard_normal(raw.shape) if np.dtype(dtype).kind == "c" else raw
    )[0]
    A = (q * values) @ q.conj().T
    found = eigsh(((A + A.conj().T) / 2).astype(dtype), k=6, which="LA", tol=1e-4)[0]
    np.testing.assert_allclose(found, values[-6:], rtol=2e-3)


def test_singular_values():
    values = spectrum("all double", 1)
    A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
    for tol in (0, 1e-4):
        s = svds(A, k=6, tol=tol, return_singular_vectors=False)
        np.testing.assert_allclose(s, values[-6:], rtol=1e-8)


def test_a_first_vector_that_is_an_eigenvector_hides_nothing():
    values = np.linspace(0, 1, 400)
    A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
    for k in (1, 3):
        found = eigsh(A, k=k, which="LA", v0=np.eye(400)[7], return_eigenvectors=False)
        np.testing.assert_allclose(found, values[-k:], atol=1e-13)


def test_without_the_search_copies_are_missed():
    """What the search is for: the method alone finds one copy of each."""
    values = spectrum("all double", 0)
    rng = np.random.default_rng(0)
    start = basis.random_rows(1, len(values), np.dtype(float), rng)
    method = (partial(HostRows, lambda x: x * values), start, 4, "LA", 28, 1000, 1e-8, rng)
    alone = lanczos.thick_restart(*method)
    assert abs(alone.values - values[-4:]).max() > 1e-4
    np.testing.assert_allclose(copies.eigenpairs(*method).values, values[-4:], atol=1e-12)


def test_the_search_costs_few_passes():
    A = ps.generate.laplacian((30, 7, 11)).astype(np.float64)
    found, _, info = eigsh(A, k=8, which="LA", return_info=True)
    rng = np.random.default_rng(0)
    start, passes = basis.random_rows(1, A.shape[0], np.dtype(float), rng), []
    room = partial(HostRows, lambda x: passes.append(1) or (A @ x[0])[None])
    lanczos.thick_restart(room, start, 8, "LA", 36, 1000, 0.0, rng)
    assert info.passes < 1.5 * len(passes)
    np.testing.assert_allclose(found, np.linalg.eigvalsh(A.toarray())[-8:], rtol=1e-12)
