"""`store_as`: values rounded to 16 bits, packed in 2 bytes, and products that are those of the rounded matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core

SHORT = ["bfloat16", "float16"]


def rounded(values: np.ndarray, short: str) -> np.ndarray:
    """By NumPy; of bfloat16 by adding half a unit to the bits of the float64, which is exact for normal numbers."""
    if short == "float16":
        return values.astype(np.float16).astype(values.dtype)
    bits = values.astype(np.float64).view(np.uint64)
    last = (bits >> np.uint64(45)) & np.uint64(1)
    bits = (bits + np.uint64((1 << 44) - 1) + last) & ~np.uint64((1 << 45) - 1)
    return bits.view(np.float64).astype(values.dtype)


def some(dtype: str, seed: int = 1, n: int = 900) -> ps.csr_array:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n, (2, 12 * n))
    size = rng.uniform(0.5, 1.5, 12 * n) * 10.0 ** rng.integers(-3, 3, 12 * n)
    values = (rng.choice([-1.0, 1.0], 12 * n) * size).astype(dtype)
    return ps.csr_array((values, (rows, columns)), shape=(n, n))


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_rounded_to_the_nearest(short, dtype):
    a = some(dtype)
    b = a.store_as(short)
    assert b.dtype == a.dtype
    np.testing.assert_array_equal(b.data, rounded(a.data, short))
    np.testing.assert_array_equal(b.indices, a.indices)
    np.testing.assert_array_equal(b.store_as(short).data, b.data)


@settings(max_examples=60, deadline=None)
@given(st.floats(2.0**-14, 65504.0), st.booleans(), st.sampled_from(SHORT))
def test_any_number(v, negative, short):
    v = -v if negative else v
    a = ps.csr_array(np.array([[v]])).store_as(short)
    assert a.data[0] == rounded(np.array([v]), short)[0]


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_streamed_products_are_those_of_the_rounded_matrix(short, dtype):
    a = some(dtype).store_as(short)
    x = np.random.default_rng(2).standard_normal(900).astype(dtype)
    exact = a.to_scipy().astype(np.float64) @ x.astype(np.float64)
    y = a.dot(x, schedule=ps.Streamed(device="cpu", codec="packed"))
    assert y.dtype == dtype
    np.testing.assert_allclose(
        y, exact, atol=(1e-6 if dtype == "float32" else 1e-14) * np.abs(exact).max()
    )
    assert a._derived.packed.value_kind == short


@pytest.mark.parametrize("short", SHORT)
def test_bytes_are_counted_before_it_is_packed(short):
    wide = some("float64", n=20_000)
    a = wide.store_as(short)
    from penstock._plan.codecs import estimate_packed

    saved = estimate_packed(wide) - estimate_packed(a)
    assert saved == pytest.approx(6 * a.nnz, rel=0.02)
    packed = _core.pack(a._core)
    assert packed.nbytes == pytest.approx(estimate_packed(a), rel=0.05)


@pytest.mark.parametrize("short", SHORT)
@pytest.mark.parametrize("packed", [True, "only"])
def test_stores(tmp_path, short, packed):
    a = some("float64").store_as(short)
    a.save(tmp_path / "a.penstock", packed=packed)
    b = ps.open(tmp_path / "a.penstock")
    np.testing.assert_array_equal(b.data, a.data)
    assert b.dtype == np.float64
    wide = some("float64")
    wide.save(tmp_path / "wide.penstock", packed="only")
    a.save(tmp_path / "short.penstock", packed="only")
    size = {p.name: sum(f.stat().st_size for f in p.iterdir()) for p in tmp_path.glob("*.penstock")}
    assert size["wide.penstock"] - size["short.penstock"] == pytest.approx(6 * a.nnz, rel=0.1)


def test_bad_input():
    a = ps.csr_array(np.array([[1.0, 0.0], [7e4, 2.0]]))
    with pytest.raises(ValueError, match=r"row 1 is 70000.*float16.*bfloat16"):
        a.store_as("float16")
    with pytest.raises(ValueError, match=r"row 0 is 1e-12.*zero"):
        ps.csr_array(np.array([[1e-12]])).store_as("float16")
    with pytest.raises(ValueError, match=r"row 0.*finite"):
        ps.csr_array(np.array([[np.nan]])).store_as("bfloat16")
    for short, v in (
        ("float16", 1e300),
        ("bfloat16", 1e300),
        ("bfloat16", 1e-50),
        ("float16", 1e-42),
    ):
        with pytest.raises(ValueError, match="keep A as it is"):
            ps.csr_array(np.array([[v]])).store_as(short)
    with pytest.raises(ValueError, match="zero"):
        ps.linalg.refine(ps.csr_array(np.diag([1.0, 1e-50])), np.ones(2), inner="bfloat16")
    with pytest.raises(ValueError, match="bfloat16, float16"):
        a.store_as("float8")
    for dtype in (bool, np.complex128):
        with pytest.raises(TypeError, match="float32 and float64"):
            a.astype(dtype).store_as("bfloat16")


@pytest.mark.parametrize("short", SHORT)
def test_refinement(short):
    a = ps.generate.laplacian((20, 21)) * (1 / 3) + ps.eye(420) * (1 / 7)
    b = np.random.default_rng(3).standard_normal(420)
    x, info = ps.linalg.refine(a, b, inner=short)
    assert info == 0, info.reason
    assert np.linalg.norm(b - a.to_scipy() @ x) <= 1e-12 * np.linalg.norm(b)
    assert len(info.inner_iterations) >= 4
    narrow = a._derived.refined[short]
    assert narrow.dtype == np.float32
    np.testing.assert_array_equal(narrow.data, rounded(a.data, short).astype(np.float32))


def test_refinement_of_an_ill_conditioned_matrix_says_so():
    size = np.random.default_rng(4).uniform(0.5, 1.5, 3600)
    a = ps.generate.laplacian((60, 60)).scale(rows=size, cols=size)
    _, info = ps.linalg.refine(a, np.ones(3600), inner="bfloat16")
    assert info != 0 and "bfloat16" in info.reason and "inner='float32'" in info.reason
    _, info = ps.linalg.refine(a, np.ones(3600), inner="float32")
    assert info == 0
    with pytest.raises(ValueError, match="row 0 is 1e\\+06"):
        ps.linalg.refine(ps.eye(9) * 1e6, np.ones(9), inner="float16")
    with pytest.raises(ValueError, match="float32, bfloat16, float16"):
        ps.linalg.refine(a, np.ones(3600), inner="float8")
