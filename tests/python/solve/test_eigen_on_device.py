"""eigsh with its vectors on a device: here the CPU as one; on a GPU in tests/gpu/solve."""

import numpy as np
import pytest
import scipy.sparse as sp
from penstock.linalg import eigsh
from penstock.linalg.eigen import basis, symmetric
from penstock.linalg.eigen.rows import DeviceRows, HostRows

import penstock as ps
from penstock import _core


@pytest.fixture
def on_device(monkeypatch):
    """The CPU multiplies as a device."""
    monkeypatch.setattr(
        symmetric, "device_operator", lambda a, dtype: _core.device_op(a._core, dtype.name)
    )
    monkeypatch.delattr(symmetric.HostRows, "start")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", ["LM", "LA", "SA", "BE"])
def test_values_and_vectors_are_those_of_the_host(on_device, which, dtype):
    A = ps.generate.laplacian((30, 23)).astype(dtype)
    values, vectors, info = eigsh(A, k=6, which=which, return_info=True)
    assert info.vectors_on == "cpu" and info.passes == info.columns - 1  # two in the first
    full = np.linalg.eigvalsh(A.toarray().astype(float))
    expected = {"SA": full[:6], "BE": np.r_[full[:3], full[-3:]]}.get(which, full[-6:])
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(np.sort(values), expected, atol=100 * eps)
    assert abs(vectors.T @ vectors - np.eye(6)).max() < 100 * eps
    assert abs(A @ vectors - vectors * values).max() < 200 * eps


def test_eigenvalues_that_coincide_are_all_found(on_device):
    A = ps.generate.laplacian((21, 21))  # pairs, by symmetry
    values = eigsh(A, k=9, which="LA", return_eigenvectors=False)
    full = np.linalg.eigvalsh(A.toarray())
    np.testing.assert_allclose(values, full[-9:], rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-200, 1e-5, 1e30, 1e200])
def test_multiples_have_the_same_digits(on_device, factor):
    A = ps.generate.laplacian((18, 19))
    one = eigsh(A, k=3, return_eigenvectors=False)
    other = eigsh(factor * A, k=3, return_eigenvectors=False)
    np.testing.assert_allclose(other / factor, one, rtol=1e-12)


def test_spaces_that_end_are_continued(on_device):
    """A has three eigenvalues: after three products the span is invariant."""
    values = np.repeat([1.0, 2.0, 5.0], [200, 100, 5])
    A = ps.csr_array(sp.csr_array(sp.diags_array(values)))
    found = eigsh(A, k=7, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(found, [2, 2, 5, 5, 5, 5, 5], rtol=1e-12)


def test_products_that_are_not_finite():
    A = ps.generate.laplacian((20, 20))
    rows = DeviceRows(_core.device_op(A._core, "float64"), lambda: 1.0, lambda _: None, 4, 400)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="a product with A is not finite"):
        rows.start(0, np.full((1, 400), np.nan), 0, rng)
    rows.start(0, np.ones((1, 400)), 0, rng)
    with pytest.raises(ValueError, match="a product with A is not finite"):
        DeviceRows(
            _core.device_op(A._core, "float64"), lambda: np.inf, lambda _: None, 4, 400
        ).start(0, np.full((1, 400), np.inf), 0, rng)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_a_device_do_what_rows_of_the_host_do(dtype):
    n, rng, eps = 1000, np.random.default_rng(3), np.finfo(dtype).eps
    A = ps.generate.laplacian((10, 100)).astype(dtype)
    op, counted = _core.device_op(A._core, np.dtype(dtype).name), []
    there = DeviceRows(op, lambda: 0.5, counted.append, 20, n)
    here = HostRows(lambda x: 0.5 * np.stack([A @ v for v in x]), 20, n, np.dtype(dtype))
    locked = basis.random_rows(2, n, np.dtype(dtype), rng)
    locked = np.linalg.qr(locked.T)[0].T
    start = basis.random_rows(1, n, np.dtype(dtype), rng)
    for rows in (there, here):
        rows.put(0, locked)
        rows.start(2, start.copy(), 0, np.random.default_rng(0))
    for size in range(3, 12):
        (h, r), (h2, r2) = (
            rows.expand(size - 1, size, 1, max(size - 2, 2), np.random.default_rng(0))
            for rows in (there, here)
        )
        np.testing.assert_allclose(h, h2, atol=2000 * eps)
        np.testing.assert_allclose(r, r2, atol=2000 * eps)
    assert counted == [1] * 9
    y = rng.standard_normal((8, 3)).astype(dtype)
    for rows in (there, here):
        rows.rotate(2, 8, y)
        rows.move(11, 5, 1)
    np.testing.assert_allclose(there.get(0, 6), here.get(0, 6), atol=5000 * eps)
