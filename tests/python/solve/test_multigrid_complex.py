"""AMG of complex matrices: a Laplacian whose edges have phases is unitarily similar to the real one, and as easy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import penstock as ps


def turned(shape: tuple[int, ...], seed: int = 2) -> tuple[sp.csr_array, sp.csr_array, np.ndarray]:
    """L, D^H L D with random phases D, and the vector D^H 1 that stands for constants."""
    L = sp.csr_array(ps.generate.laplacian(shape).to_scipy().astype(np.float64))
    phases = np.exp(2j * np.pi * np.random.default_rng(seed).random(L.shape[0]))
    D = sp.diags_array(phases)
    return L, sp.csr_array(D.conj() @ L @ D), phases.conj()


def right_hand_side(n: int) -> np.ndarray:
    return np.random.default_rng(4).standard_normal((n, 2)) @ np.array([1, 1j])


@pytest.mark.parametrize("shape", [(60, 50), (16, 15, 14)])
def test_iterations_are_about_those_of_the_real_matrix(shape):
    L, A, near = turned(shape)
    n = L.shape[0]
    b = right_hand_side(n)
    real = ps.linalg.AMG(ps.csr_array(L))
    M = ps.linalg.AMG(ps.csr_array(A), near)
    assert M.dtype == np.complex128 and M.levels[0] == (n, A.nnz)
    assert M.levels[1].rows == real.levels[1].rows  # strength is that of the magnitudes
    wanted = ps.linalg.cg(ps.csr_array(L), b.real, rtol=1e-8, M=real)[1].iterations
    for method in ("cg", "gmres", "bicgstab", "fgmres"):
        x, info = getattr(ps.linalg, method)(ps.csr_array(A), b, rtol=1e-8, M=M)
        assert info == 0, info.reason
        assert np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)
        assert info.iterations <= 1.3 * wanted + 1
    x, info = M.solve(b, rtol=1e-8)
    assert info == 0 and np.linalg.norm(b - A @ x) <= 1.001e-8 * np.linalg.norm(b)


def test_without_the_vector_it_needs_more_and_says_what_it_is():
    _, A, near = turned((50, 50))
    b = right_hand_side(2500)
    blind = ps.linalg.cg(ps.csr_array(A), b, rtol=1e-8, M="amg")[1]
    told = ps.linalg.cg(ps.csr_array(A), b, rtol=1e-8, M=ps.linalg.AMG(ps.csr_array(A), near))[1]
    assert blind == 0 and told == 0 and told.iterations < 0.7 * blind.iterations


@pytest.mark.parametrize(
    "how", [{}, {"cycle": "W"}, {"smoother": "l1_jacobi"}, {"precision": "float32"}]
)
def test_m_is_linear_over_complex_numbers_and_hermitian(how):
    _, A, near = turned((40, 30))
    M = ps.linalg.AMG(ps.csr_array(A), near, max_coarse=30, **how)
    x, y = right_hand_side(1200), right_hand_side(1200)[::-1].copy()
    tolerance = 1e-4 if how.get("precision") else 1e-11
    mx, my = M @ x, M @ y
    size = np.linalg.norm(mx)
    assert np.linalg.norm(M @ (1j * x) - 1j * mx) <= tolerance * size
    assert np.linalg.norm(M @ (x + 2j * y) - mx - 2j * my) <= tolerance * size
    assert abs(np.vdot(y, mx) - np.vdot(x, my).conj()) <= tolerance * size * np.linalg.norm(y)
    assert np.vdot(x, mx).real > 0


def test_other_types_updates_and_reports():
    _, A, near = turned((30, 30))
    b = right_hand_side(900)
    low = ps.linalg.AMG(ps.csr_array(A.astype(np.complex64)), near)
    assert low.dtype == np.complex64
    x, info = ps.linalg.cg(
        ps.csr_array(A.astype(np.complex64)), b.astype(np.complex64), rtol=1e-4, M=low
    )
    assert info == 0 and x.dtype == np.complex64
    M = ps.linalg.AMG(ps.csr_array(A), near)
    told = M.explain()
    assert told.bytes > (20 + 48) * A.nnz  # the complex entries, and those of parts
    assert (
        told.levels[0] == (900, A.nnz) and told.cycle_bytes > 20 * A.nnz and "V cycle" in str(told)
    )
    A2 = sp.csr_array(A + 3 * sp.eye_array(900))
    M.update(ps.csr_array(A2))
    x, info = ps.linalg.cg(ps.csr_array(A2), b, rtol=1e-8, M=M)
    assert info == 0 and np.linalg.norm(b - A2 @ x) <= 1.001e-8 * np.linalg.norm(b)


def test_blocks_and_matrices_that_are_not_hermitian():
    _, A, _ = turned((20, 20))
    two = sp.csr_array(sp.kron(A, np.array([[2, 0.5j], [-0.5j, 2]])))
    b = right_hand_side(800)
    M = ps.linalg.AMG(ps.csr_array(two), block_size=2)
    x, info = ps.linalg.cg(ps.csr_array(two), b, rtol=1e-8, M=M)
    assert info == 0 and np.linalg.norm(b - two @ x) <= 1.001e-8 * np.linalg.norm(b)
    skew = sp.csr_array(A + 0.4j * sp.eye_array(400))
    with pytest.raises(ValueError, match="not symmetric"):
        ps.linalg.AMG(ps.csr_array(skew))
    M = ps.linalg.AMG(ps.csr_array(skew), symmetry="nonsymmetric")
    c = b[:400]
    x, info = ps.linalg.gmres(ps.csr_array(skew), c, rtol=1e-8, M=M)
    assert info == 0 and np.linalg.norm(c - skew @ x) <= 1.001e-8 * np.linalg.norm(c)


def test_bad_input():
    _, A, near = turned((10, 10))
    with pytest.raises(TypeError, match="near_nullspace is complex, and A is real"):
        ps.linalg.AMG(ps.generate.laplacian((10, 10)), near)
    bad = A.copy()
    bad.setdiag(-1.0)
    with pytest.raises(ValueError, match="row 0 is"):
        ps.linalg.AMG(ps.csr_array(bad))
    bad = A.tolil()
    bad[7, 7] = np.nan
    with pytest.raises(ValueError, match="row 7 "):
        ps.linalg.AMG(ps.csr_array(bad.tocsr()))
    with pytest.raises(ValueError, match="precision='float64' with complex64"):
        ps.linalg.AMG(ps.csr_array(A.astype(np.complex64)), precision="float64")
