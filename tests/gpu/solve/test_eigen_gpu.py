"""eigsh with its vectors in a GPU's memory, and the basis there against the one in host memory."""

from __future__ import annotations

import numpy as np
import pytest
from penstock._product.gpu_vectors import device_operator
from penstock.linalg import eigsh
from penstock.linalg.eigen import basis
from penstock.linalg.eigen.rows import DeviceRows, HostRows

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def both(A: ps.csr_array, count: int) -> tuple[DeviceRows, HostRows]:
    dtype, n = A.dtype, A.shape[0]
    op = device_operator(A.to(ps.device(0)), dtype)
    there = DeviceRows(op, lambda: 0.5, lambda _: None, count, n)
    return there, HostRows(lambda x: 0.5 * np.stack([A @ v for v in x]), count, n, dtype)


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [300, 5001])
def test_rows_there_do_what_rows_of_the_host_do(n, dtype):
    check(ps.generate.laplacian((n,)).astype(dtype), 20)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "steps"), [((700, 600), 40), ((3_000_001,), 12)])
def test_long_rows_and_many_of_them(shape, steps, dtype):
    check(ps.generate.laplacian(shape).astype(dtype), steps)


def check(A: ps.csr_array, steps: int) -> None:
    n, rng, eps = A.shape[0], np.random.default_rng(3), float(np.finfo(A.dtype).eps)
    locked = np.linalg.qr(basis.random_rows(2, n, A.dtype, rng).T)[0].T
    start = basis.random_rows(1, n, A.dtype, rng)
    made = both(A, steps + 8)
    for rows in made:
        rows.put(0, locked)
        rows.start(2, start.copy(), 0, np.random.default_rng(0))
    for size in range(3, 3 + steps):
        found = [
            rows.expand(size - 1, size, 1, max(size - 2, 2), np.random.default_rng(0))
            for rows in made
        ]
        np.testing.assert_allclose(found[0][0], found[1][0], atol=1e4 * eps)
        np.testing.assert_allclose(found[0][1], found[1][1], atol=1e4 * eps)
    size = 3 + steps
    q = made[0].get(0, size)
    assert abs(q @ q.T - np.eye(size)).max() < 200 * eps
    y = np.linalg.qr(rng.standard_normal((size - 2, 11)))[0].astype(A.dtype)
    expected = np.concatenate([q[:2], y.T @ q[2:], q[-1:]])
    made[0].move(size - 1, size, 1)
    made[0].rotate(2, size - 2, y)
    made[0].move(size, 13, 1)
    np.testing.assert_allclose(made[0].get(0, 14), expected, atol=100 * eps)


@pytest.mark.gpu_small
def test_what_is_not_finite_and_what_lies_in_the_span():
    A = ps.generate.laplacian((20, 20))
    rows, rng = both(A, 6)[0], np.random.default_rng(0)
    rows.start(0, np.ones((1, 400)), 0, rng)
    with pytest.raises(ValueError, match="not finite"):
        rows.start(1, np.full((1, 400), np.nan), 0, rng)
    h, r = rows.start(1, np.full((1, 400), 3.0), 0, rng)  # a multiple of the first
    assert h[0, 0] == pytest.approx(60) and r[0, 0] == 0
    q = rows.get(0, 2)
    np.testing.assert_allclose(q @ q.T, np.eye(2), atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", ["LM", "SA", "BE"])
def test_eigsh(which, dtype):
    A = ps.generate.laplacian((61, 47)).astype(dtype)
    values, vectors, info = eigsh(A.to(ps.device(0)), k=6, which=which, return_info=True)
    assert info.vectors_on == "gpu 0"
    expected, eps = eigsh(A, k=6, which=which, return_eigenvectors=False), np.finfo(dtype).eps
    np.testing.assert_allclose(values, np.sort(expected), atol=100 * eps)
    assert abs(vectors.T @ vectors - np.eye(6)).max() < 100 * eps
    assert abs(A @ vectors - vectors * values).max() < 200 * eps


def test_a_matrix_that_a_cpu_would_prepare():
    A = ps.generate.laplacian((200, 170))  # large enough for a plan of the CPU, after some products
    found = eigsh(A.to(ps.device(0)), k=3, which="LA", return_eigenvectors=False)
    expected = eigsh(A, k=3, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_eigenvalues_that_coincide_are_all_found():
    A = ps.generate.laplacian((41, 41))  # pairs, by symmetry
    values = eigsh(A.to(ps.device(0)), k=9, which="LA", return_eigenvectors=False)
    np.testing.assert_allclose(
        values, eigsh(A, k=9, which="LA", return_eigenvectors=False), rtol=1e-12
    )


def test_vectors_stay_in_host_memory_where_they_do_not_fit(monkeypatch):
    A = ps.generate.laplacian((61, 47))
    monkeypatch.setattr(_core, "gpu_memory", lambda gpu: (1 << 20, 1 << 30))
    values, _, info = eigsh(A.to(ps.device(0)), k=4, which="LA", return_info=True)
    assert info.vectors_on == "cpu"
    np.testing.assert_allclose(
        values, eigsh(A, k=4, which="LA", return_eigenvectors=False), rtol=1e-12
    )
