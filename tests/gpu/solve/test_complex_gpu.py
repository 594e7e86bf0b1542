"""Complex systems whose matrix is on a GPU, or streamed to it: products there, vectors in host memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps

pytestmark = pytest.mark.gpu
N = 400


def hermitian() -> sp.csr_array:
    phase = np.exp(1j * np.linspace(0.1, 3, N - 1))
    return sp.csr_array(
        sp.diags_array([np.full(N, 2.5), -phase, -phase.conj()], offsets=[0, 1, -1])
    )


def there(S: sp.csr_array, how: str) -> ps.csr_array:
    a = ps.csr_array(S)
    if how == "device":
        return a.to(ps.device(0))
    a.prepare(schedule=ps.Streamed(device=0, keep=False))
    return a


@pytest.mark.parametrize("how", ["device", "streamed"])
@pytest.mark.parametrize("M", [None, "jacobi"])
@pytest.mark.parametrize("name", ["cg", "minres", "bicgstab", "gmres", "fgmres", "block_cg"])
def test_solvers(name, M, how):
    S = hermitian()
    b = np.random.default_rng(1).standard_normal((N, 2)) @ np.array([1, 1j])
    b = np.stack([b, 2j * b], 1) if name == "block_cg" else b
    x, info = getattr(ps.linalg, name)(there(S, how), b, rtol=1e-9, M=M)
    assert info == 0, info.reason
    assert np.linalg.norm(S @ x - b) <= 1.01e-9 * np.linalg.norm(b)


@pytest.mark.parametrize("how", ["device", "streamed"])
def test_eigenvalues(how):
    S = hermitian()
    exact = np.linalg.eigvalsh(S.toarray())
    a = there(S, how)
    np.testing.assert_allclose(np.sort(ps.linalg.eigsh(a, 3)[0]), exact[-3:], rtol=1e-8)
    np.testing.assert_allclose(
        np.sort(ps.linalg.svds(a, 3)[1]), np.sort(abs(exact))[-3:], rtol=1e-8
    )


@pytest.mark.parametrize("how", ["device", "streamed"])
@pytest.mark.parametrize("name", ["lsqr", "lsmr", "cgs", "tfqmr"])
def test_scipys(name, how):
    S = hermitian()
    b = np.ones(N) + 0.5j
    x = getattr(ps.linalg, name)(there(S, how), b)[0]
    assert np.linalg.norm(S @ x - b) <= 1e-3 * np.linalg.norm(b)
