"""Values of 16 bits on a GPU: products of rounded matrices, streamed and in core, and refinement with them."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

pytestmark = pytest.mark.gpu


def banded(n: int, dtype: str) -> ps.csr_array:
    rng = np.random.default_rng(4)
    rows = np.repeat(np.arange(n), 9)
    columns = np.clip(rows + rng.integers(-400, 400, rows.size), 0, n - 1)
    values = rng.standard_normal(rows.size).astype(dtype)
    return ps.csr_array((values, (rows, columns)), shape=(n, n))


@pytest.mark.gpu_small
@pytest.mark.parametrize("short", ["bfloat16", "float16"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("keep", [False, True], ids=["streamed", "kept"])
def test_products_are_those_of_the_rounded_matrix(short, dtype, keep):
    a = banded(5000, dtype).store_as(short)
    x = np.random.default_rng(5).standard_normal(5000).astype(dtype)
    expected = a.to_scipy().astype(np.float64) @ x.astype(np.float64)
    a.prepare(schedule=ps.Streamed(device=0, codec="packed", keep=keep))
    assert a._derived.packed.value_kind == short
    y = a @ x
    bound = (1e-5 if dtype == "float32" else 1e-13) * np.abs(expected).max()
    np.testing.assert_allclose(y, expected, atol=bound)


@pytest.mark.parametrize("short", ["bfloat16", "float16"])
def test_in_core(short):
    a = banded(5000, "float64").store_as(short)
    x = np.random.default_rng(7).standard_normal(5000)
    y = a.dot(x, schedule=ps.InCore(device=0, kernel="packed"))
    np.testing.assert_allclose(y, a.to_scipy() @ x, atol=1e-12)


@pytest.mark.parametrize("short", ["bfloat16", "float16"])
def test_a_value_takes_two_bytes(short):
    wide = banded(200_000, "float64")
    a = wide.store_as(short)
    for m in (wide, a):
        m.prepare(schedule=ps.Streamed(device=0, codec="packed", keep=False))
    bytes_of = [
        next(iter(m._derived.stream_plans[0].values())).facts["streamed_bytes"] for m in (wide, a)
    ]
    assert abs((bytes_of[0] - bytes_of[1]) / a.nnz - 6) < 0.1


def test_a_pinned_matrix_stays_pinned():
    a = banded(5000, "float64").to(ps.pinned)
    x = np.random.default_rng(9).standard_normal(5000)
    for b in (a.store_as("float16"), a.scale(rows=x)):
        y = b.dot(x, schedule=ps.ZeroCopy(device=0))
        np.testing.assert_allclose(y, b.to_scipy() @ x, atol=1e-11)


def test_refinement_of_a_matrix_on_the_gpu():
    a = (ps.generate.laplacian((40, 41, 42)) * (1 / 3)).to(ps.device(0))
    b = np.random.default_rng(8).standard_normal(a.shape[0])
    _, exact = ps.linalg.cg(a, b, rtol=1e-12)
    x, info = ps.linalg.refine(a, b)
    assert info == 0 and info.vectors == "gpu 0", info.reason
    assert info.iterations <= 1.2 * exact.iterations
    assert np.linalg.norm(b - a.to(ps.host).to_scipy() @ x) <= 1e-12 * np.linalg.norm(b)


@pytest.mark.parametrize("short", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("M", [None, "jacobi"])
def test_refinement(short, M):
    a = ps.generate.laplacian((60, 60, 60)) * (1 / 3) + ps.eye(216_000) * (1 / 7)
    b = np.random.default_rng(6).standard_normal(216_000)
    a.prepare(schedule=ps.Streamed(device=0, keep=False))
    _, exact = ps.linalg.cg(a, b, rtol=1e-12, M=M)
    x, info = ps.linalg.refine(a, b, inner=short, M=M)
    assert info == 0, info.reason
    assert info.vectors == "gpu 0"
    assert info.inner_iterations == (info.iterations,)  # one search
    assert info.iterations <= (1.2 if short == "float32" else 1.6) * exact.iterations
    assert np.linalg.norm(b - a.to_scipy() @ x) <= 1e-12 * np.linalg.norm(b)
