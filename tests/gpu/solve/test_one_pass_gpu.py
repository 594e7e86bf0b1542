"""A^T A X in one pass of the link, and blocks of vectors in a GPU's memory, against products on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import block_krylov_svd, eigsh, randomized_svd, svds

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def matrix(rows: int, cols: int, per_row: int, dtype: type, long: int = 0) -> sp.csr_array:
    """Random; `long` rows are full."""
    rng = np.random.default_rng(5)
    S = sp.random_array((rows, cols), density=per_row / cols, rng=rng)
    return sp.csr_array(sp.vstack([S, np.ones((long, cols))] if long else [S]).astype(dtype))


def check(S: sp.csr_array, width: int, ring: int, dtype: type, normal: bool = True) -> dict:
    """A block of rows times A, or A^T A, by a ring of so many bytes; what the product did."""
    n, eps = S.shape[1], float(np.finfo(dtype).eps)
    A = ps.csr_array(S).to(ps.pinned)
    rows = getattr(_core, f"DeviceBasis_{np.dtype(dtype).name}")(2 * width + 1, n, 0)
    x = np.random.default_rng(0).standard_normal((width, n)).astype(dtype)
    rows.put(1, x)
    schedule = _core.streamed([0], 0, 3, ring)
    told = rows.multiply_streamed(A._core, schedule, 1, width + 1, width, 0.5, normal)
    z = np.empty((width, n), dtype)
    rows.get(width + 1, z)
    wide = x.T.astype(np.float64)
    product = S.astype(np.float64) @ wide
    expected = 0.25 * (S.T.astype(np.float64) @ product) if normal else 0.5 * product
    np.testing.assert_allclose(z.T, expected, atol=500 * eps * abs(expected).max())
    return told


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 4, 8, 13, 16, 20, 32, 60, 130])
def test_blocks_of_every_width(width, dtype):
    told = check(matrix(3000, 700, 9, dtype), width, 1 << 20, dtype)
    assert told["link_bytes"] >= 27_000 * (4 + np.dtype(dtype).itemsize)


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ring", [2048, 20_000, 1 << 20, 48 << 20])
def test_rows_of_a_product_come_home(dtype, ring):
    S = matrix(20_000, 700, 9, dtype, long=3)
    A = ps.csr_array(S).to(ps.pinned)
    rows = getattr(_core, f"DeviceBasis_{np.dtype(dtype).name}")(12, 700, 0)
    x = np.random.default_rng(0).standard_normal((12, 700)).astype(dtype)
    rows.put(0, x)
    y = np.full((20_003, 12), np.nan, dtype)
    told = rows.multiply_home(A._core, _core.streamed([0], 0, 3, ring), y)
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(y, S @ x.T, atol=500 * eps * 30)
    assert told["link_bytes"] >= y.nbytes + S.nnz * (4 + np.dtype(dtype).itemsize)


@pytest.mark.gpu_small
@pytest.mark.parametrize("ring", [2048, 20_000, 1 << 20])
def test_rows_in_pieces(ring):
    check(matrix(300, 500, 6, np.float64, long=3), 9, ring, np.float64)


@pytest.mark.gpu_small
def test_empty_rows_and_patterns():
    S = sp.csr_array((np.ones(5), ([7, 7, 300, 301, 999], [0, 3, 49, 2, 2])), (1000, 50))
    check(S, 5, 1 << 20, np.float64)
    check(sp.csr_array((1000, 50)), 5, 1 << 20, np.float64)
    A = ps.csr_array(matrix(400, 300, 5, np.float64) != 0).to(ps.pinned)
    rows, x = _core.DeviceBasis_float64(6, 300, 0), np.random.default_rng(1).random((6, 300))
    rows.put(0, x)
    rows.multiply_streamed(A._core, _core.streamed([0], 0, 3, 1 << 16), 0, 0, 6, 1.0, True)
    z, P = np.empty_like(x), A.to_scipy().astype(float)
    rows.get(0, z)
    np.testing.assert_allclose(z.T, P.T @ (P @ x.T), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_tiles(dtype):
    told = check(matrix(400_000, 30_000, 20, dtype), 60, 48 << 20, dtype)
    assert told["tiles"] > 3


@pytest.mark.gpu_small
@pytest.mark.parametrize("width", [1, 8])
def test_a_square_matrix_times_a_block(width):
    check(
        sp.csr_array(ps.generate.laplacian((40, 50)).to_scipy()), width, 1 << 16, np.float64, False
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(5000, 900), (900, 5000)])
def test_svds(shape, dtype):
    S = matrix(*shape, 12, dtype)
    A = ps.csr_array(S).to(ps.pinned)
    u, s, vh, info = svds(A, k=5, schedule=ps.Streamed(device=0), return_info=True)
    assert info.vectors_on == "gpu 0" and info.block == 8
    expected = svds(ps.csr_array(S.astype(np.float64)), k=5)[1]
    tolerance = 1e-4 if dtype is np.float32 else 1e-10
    np.testing.assert_allclose(s, expected, rtol=tolerance)
    assert abs(S.T @ u - vh.T * s).max() < tolerance * s.max()
    assert abs(u.T @ u - np.eye(5)).max() < tolerance


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigsh_with_blocks(dtype):
    A = ps.generate.laplacian((61, 47)).astype(dtype)
    values, vectors, info = eigsh(
        A.to(ps.pinned), k=6, which="LA", schedule=ps.Streamed(device=0), return_info=True
    )
    assert info.vectors_on == "gpu 0" and info.block == 8
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(
        values, np.linalg.eigvalsh(A.toarray().astype(float))[-6:], atol=100 * eps
    )
    assert abs(A @ vectors - vectors * values).max() < 300 * eps


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
def test_approximations_are_the_same_in_fewer_passes(method, dtype):
    S = matrix(9000, 2000, 15, np.float64)
    S = sp.csr_array(S @ sp.diags_array(0.95 ** np.minimum(np.arange(2000), 90))).astype(dtype)
    usual = method(ps.csr_array(S), 12, n_iter=2)
    u, s, vh, info = method(
        ps.csr_array(S).to(ps.pinned),
        *(12,),
        n_iter=2,
        schedule=ps.Streamed(device=0),
        return_info=True,
    )
    assert info.vectors_on == "gpu 0"
    assert info.passes == 4 + 1  # residuals
    eps = float(np.finfo(dtype).eps)
    np.testing.assert_allclose(s, usual[1], rtol=1e4 * eps)
    assert abs(u.T @ u - np.eye(12)).max() < 100 * eps
    assert abs(vh @ vh.T - np.eye(12)).max() < 100 * eps


def test_a_budget_of_a_quarter_of_the_matrix():
    S = matrix(500_000, 3000, 30, np.float64)
    A = ps.csr_array(S).to(ps.pinned)
    with ps.options(device_memory=A.nbytes // 4):
        u, s, vh, info = randomized_svd(
            A, 10, n_iter=1, schedule=ps.Streamed(device=0), return_info=True
        )
    assert info.vectors_on == "gpu 0" and info.passes == 4
    np.testing.assert_allclose(S.T @ u, vh.T * s, atol=1e-9 * s[0])
