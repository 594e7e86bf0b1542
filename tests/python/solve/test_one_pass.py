"""A^H A x in one pass over A, and vectors with the device that A travels to: here the CPU; a GPU in tests/gpu/solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import block_krylov_svd, eigsh, randomized_svd, svds
from penstock.linalg.eigen import rows as eigen_rows
from penstock.linalg.eigen.products import Products
from penstock.linalg.eigen.streamed import OnePass

import penstock as ps
from penstock import _core

TYPES = [np.float32, np.float64, np.complex64, np.complex128]


def matrix(shape, dtype=np.float64, seed=2, density=0.05):
    rng = np.random.default_rng(seed)
    S = sp.random_array(shape, density=density, rng=rng)
    if np.dtype(dtype).kind == "c":
        S = S + 1j * sp.random_array(shape, density=density, rng=rng)
    return sp.csr_array(S.astype(dtype))


def falling(shape, count=60, seed=3):
    """Sparse, with singular values that fall by a tenth from one to the next."""
    S = matrix(shape, seed=seed, density=0.1)
    return sp.csr_array(S @ sp.diags_array(0.9 ** np.minimum(np.arange(shape[1]), count)))


@pytest.fixture
def as_gpu(monkeypatch):
    """A travels to the CPU as a device of one ring: rows of A x and vectors are there."""
    threads = ps.num_threads()
    ps.set_num_threads(1)
    monkeypatch.setattr(
        Products, "travels_by", lambda self: ps.Streamed(device="cpu", block="4KiB", ring="16KiB")
    )
    monkeypatch.setattr(Products, "one_pass", property(lambda self: type(self) is Products))
    monkeypatch.delattr(eigen_rows.HostRows, "start")
    with ps.options(device_memory="64MiB"):
        yield
    ps.set_num_threads(threads)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [1, 3, 16, 61])
def test_on_the_cpu_it_is_both_products(dtype, width):
    S = matrix((500, 90), dtype)
    rng, eps = np.random.default_rng(0), np.finfo(dtype).eps
    x = rng.standard_normal((90, width)).astype(dtype)
    results = []
    for threads in (1, 2, 3):
        ps.set_num_threads(threads)
        z = np.empty_like(x)
        _core.product_normal(ps.csr_array(S)._core, x, z, 0.5)
        results.append(z)
    ps.set_num_threads(2)
    expected = 0.25 * (S.conj().T @ (S @ x))
    for z in results:
        np.testing.assert_allclose(z, expected, atol=200 * eps * abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ring", ["2KiB", "16KiB", "1MiB"])
@pytest.mark.parametrize("pattern", [False, True])
def test_through_a_ring_it_is_both_products(dtype, ring, pattern):
    """Small slots cut rows into pieces, whose entries travel twice."""
    S = matrix((500, 300), dtype)
    S = sp.csr_array(sp.vstack([S, np.ones((1, 300)), S, np.ones((2, 300))]).astype(dtype))
    A = ps.csr_array(S != 0) if pattern else ps.csr_array(S)
    S = A.to_scipy().astype(dtype)
    ps.set_num_threads(1)
    rows = getattr(_core, f"DeviceBasis_{np.dtype(dtype).name}")(12, 300, -1)
    x = np.random.default_rng(0).standard_normal((5, 300)).astype(dtype)
    rows.put(1, x)
    schedule = _core.streamed([-1], 0, 3, _bytes(ring))
    told = rows.multiply_streamed(A._core, schedule, 1, 7, 5, 0.5, True)
    ps.set_num_threads(2)
    z = np.empty((5, 300), dtype)
    rows.get(7, z)
    expected = 0.25 * (S.T @ (S @ x.T)).T
    np.testing.assert_allclose(z, expected, atol=200 * np.finfo(dtype).eps * abs(expected).max())
    entries = A.nnz * (4 + (0 if pattern else np.dtype(dtype).itemsize))
    assert told["tiles"] >= 1 and told["copied_bytes"] >= entries
    if ring == "1MiB":  # no row is in pieces
        assert told["copied_bytes"] < 1.2 * (entries + 8 * S.shape[0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ring", ["2KiB", "16KiB", "1MiB"])
def test_rows_of_a_product_come_home(dtype, ring):
    S = sp.csr_array(
        sp.vstack([np.ones((2, 300)), matrix((900, 300)), np.ones((1, 300))]).astype(dtype)
    )
    ps.set_num_threads(1)
    rows = getattr(_core, f"DeviceBasis_{np.dtype(dtype).name}")(8, 300, -1)
    x = np.random.default_rng(0).standard_normal((5, 300)).astype(dtype)
    rows.put(0, x)
    y = np.full((903, 5), np.nan, dtype)
    told = rows.multiply_home(ps.csr_array(S)._core, _core.streamed([-1], 0, 3, _bytes(ring)), y)
    ps.set_num_threads(2)
    np.testing.assert_allclose(y, S @ x.T, atol=200 * np.finfo(dtype).eps * 20)
    assert told["copied_bytes"] < 1.7 * S.nnz * (12 if dtype is np.float64 else 8)


def _bytes(text):
    return {"2KiB": 2048, "16KiB": 16384, "1MiB": 1 << 20}[text]


def test_blocks_that_do_not_fit_are_refused():
    A = ps.generate.laplacian((10, 10))
    rows = _core.DeviceBasis_float64(4, 100, -1)
    schedule = _core.streamed([-1], 0, 3, 2048)
    with pytest.raises(ValueError, match="rows that are not there"):
        rows.multiply_streamed(A._core, schedule, 0, 2, 3, 1.0, False)
    with pytest.raises(ValueError, match="do not belong together"):
        rows.multiply_streamed(ps.generate.laplacian((9, 9))._core, schedule, 0, 2, 2, 1.0, False)


@pytest.mark.parametrize("shape", [(700, 240), (240, 700), (100, 900)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_svds_with_vectors_where_a_travels(as_gpu, shape, dtype):
    S = matrix(shape, dtype)
    u, s, vh, info = svds(ps.csr_array(S), k=4, block=2, return_info=True)
    exact = np.linalg.svd(S.toarray(), compute_uv=False)[:4][::-1]
    tolerance = 1e-4 if dtype is np.float32 else 1e-11
    np.testing.assert_allclose(s, exact, rtol=tolerance)
    np.testing.assert_allclose(S @ vh.T, u * s, atol=tolerance * s.max())
    np.testing.assert_allclose(S.T @ u, vh.T * s, atol=tolerance * s.max())
    assert info.residuals.max() < tolerance * s.max()


@pytest.mark.parametrize("block", [1, 4])
@pytest.mark.parametrize("which", ["LA", "BE"])
def test_eigsh_with_blocks_where_a_travels(as_gpu, which, block):
    A = ps.generate.laplacian((23, 21))
    values, vectors, info = eigsh(A, k=6, which=which, block=block, return_info=True)
    full = np.linalg.eigvalsh(A.toarray())
    expected = np.r_[full[:3], full[-3:]] if which == "BE" else full[-6:]
    np.testing.assert_allclose(values, expected, rtol=1e-11)
    assert abs(vectors.T @ vectors - np.eye(6)).max() < 1e-13
    assert info.block == block


@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
@pytest.mark.parametrize("where", ["gpu", "cpu"])
@pytest.mark.parametrize("shape", [(900, 400), (400, 900)])
def test_approximations_are_the_same_in_fewer_passes(request, method, where, shape):
    S = falling(shape)
    usual = method(ps.csr_array(S), 8, n_iter=2, return_info=True)
    if where == "gpu":
        request.getfixturevalue("as_gpu")
        how = {}
    else:
        how = {"schedule": ps.Streamed(device="cpu")}
    u, s, vh, info = method(ps.csr_array(S), 8, n_iter=2, return_info=True, **how)
    one_more = 1  # for the residuals
    assert info.passes == 4 + one_more
    assert usual[3].passes == 6 + one_more
    np.testing.assert_allclose(s, usual[1], rtol=1e-10)
    np.testing.assert_allclose(abs(np.sum(u * usual[0], axis=0)), 1, rtol=1e-8)
    np.testing.assert_allclose(abs(np.sum(vh * usual[2], axis=1)), 1, rtol=1e-8)
    assert abs(u.T @ u - np.eye(8)).max() < 1e-13 and abs(vh @ vh.T - np.eye(8)).max() < 1e-13
    residuals = np.linalg.norm(S @ vh.T - u * s, axis=0)
    np.testing.assert_allclose(info.residuals, residuals, atol=1e-10 * s[0], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.parametrize("where", ["gpu", "cpu"])
def test_multiples_have_the_same_digits(request, where, factor):
    S = falling((400, 200))
    how = {"schedule": ps.Streamed(device="cpu")}
    if where == "gpu":
        request.getfixturevalue("as_gpu")
        how = {}
    for method in (randomized_svd, svds):
        one = method(ps.csr_array(S), 4, **how)[1]
        other = method(ps.csr_array(S * factor), 4, **how)[1]
        np.testing.assert_allclose(other / factor, one, rtol=1e-12)


def test_columns_in_several_passes_where_a_gpu_holds_few(as_gpu):
    S = matrix((300, 200))
    x = np.random.default_rng(0).standard_normal((40, 200))
    products = Products(ps.csr_array(S))
    with ps.options(device_memory=2 * (16 << 20) + 2 * 3 * 9 * 200 * 8):
        made = OnePass(products).times(x)
        assert 2 < products.passes <= 40
    np.testing.assert_allclose(made, (S.T @ (S @ x.T)).T, atol=1e-12)
    with ps.options(device_memory="1MiB"):
        assert OnePass.of(products, 9) is None
        with pytest.raises(MemoryError, match="raise options.device_memory"):
            OnePass(products).times(x)


@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
def test_matrices_without_full_rank(as_gpu, method):
    S = sp.csr_array(np.outer(np.arange(1.0, 301), np.ones(200)))
    u, s, _ = method(ps.csr_array(S), 3, n_iter=1)
    np.testing.assert_allclose(s[0], np.linalg.norm(np.arange(1.0, 301)) * 200**0.5)
    assert len(s) == 3 and s[1] < 1e-7 * s[0]
    assert abs(u.T @ u - np.eye(3)).max() < 1e-13
    assert not method(ps.csr_array((300, 200)), 3)[1].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
def test_singular_values_that_fall_below_what_squares_can_tell(as_gpu, method, dtype):
    rng = np.random.default_rng(2)
    u, v = (np.linalg.qr(rng.standard_normal((n, 60)))[0] for n in (600, 200))
    wanted = 10.0 ** (-0.15 * np.arange(60))
    A = ps.csr_array(sp.csr_array((u * wanted) @ v.T).astype(dtype))
    s = method(A, 30, n_iter=3)[1]
    eps = float(np.finfo(dtype).eps)
    assert len(s) == 30
    np.testing.assert_allclose(s, wanted[:30], rtol=0.02, atol=40 * eps)


@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
def test_one_entry_that_is_far_larger_than_the_others(as_gpu, method):
    S = falling((400, 200)).astype(np.float32)
    S.data[1234] = 1e25
    s = method(ps.csr_array(S), 1, n_iter=2)[1]
    np.testing.assert_allclose(s, [1e25], rtol=1e-5)


@pytest.mark.parametrize("method", [randomized_svd, block_krylov_svd])
def test_what_is_not_finite(as_gpu, method):
    S = falling((400, 200))
    S.data[7] = np.nan
    with pytest.raises(ValueError, match="a product with A is not finite"):
        method(ps.csr_array(S), 3)
