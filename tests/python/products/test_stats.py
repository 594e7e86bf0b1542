"""Statistics, symmetry and the independent check, against dense NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock._check.product import verify
from penstock._check.stats import describe, row_chunks

import penstock as ps

DTYPES = ["bool", "float32", "float64", "complex128"]


@st.composite
def matrices(draw, square=False, dtypes=DTYPES):
    """Small matrices as stored: any order within a row, duplicates, zeros, empty shapes."""
    rows = draw(st.integers(0, 8))
    cols = rows if square else draw(st.integers(0, 8))
    count = draw(st.integers(0, 30)) if rows and cols else 0
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    row, col = np.sort(rng.integers(0, rows or 1, count)), rng.integers(0, cols or 1, count)
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    data = rng.integers(-2, 3, count).astype(dtype)
    if dtype.kind == "c":
        data = data + (1j * rng.integers(-2, 3, count)).astype(dtype)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows)[:rows])])
    if dtype.kind == "b":
        data = None
    parts = (indptr.astype(np.int64), col.astype(np.int32), data)
    return ps.csr_array._from_parts(rows, cols, *parts)


def entries(a):
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return row, np.asarray(a.indices), np.asarray(a.data)


def counts_of(a):
    """How many entries are stored at each position."""
    row, col, _ = entries(a)
    counts = np.zeros(a.shape, int)
    np.add.at(counts, (row, col), 1)
    return counts


def log2_histogram(counts):
    bins = [int(n).bit_length() for n in counts]
    return tuple(np.bincount(bins)) if bins else ()


@settings(deadline=None, max_examples=200)
@given(matrices(), st.integers(1, 40))
def test_describe_matches_dense(a, chunk):
    s = describe(a, grid=(1000, 1000), chunk=chunk)
    row, col, data = entries(a)
    counts = counts_of(a)
    assert (s.rows, s.cols, s.nnz) == (*a.shape, len(col))
    for found, axis in ((s.row_degrees, 1), (s.col_degrees, 0)):
        d = counts.sum(axis=axis)
        assert found.histogram == log2_histogram(d)
        assert found.empty == (d == 0).sum()
        if d.size:
            assert (found.min, found.max) == (d.min(), d.max())
            assert found.mean == pytest.approx(d.mean())
            assert found.median == np.median(d)
    assert s.lower_bandwidth == max([0, *(row - col)])
    assert s.upper_bandwidth == max([0, *(col - row)])
    assert s.diagonal == np.count_nonzero(np.diagonal(counts))
    assert s.duplicates == (counts - (counts > 0)).sum()
    pairs = zip(row[:-1], row[1:], col[:-1], col[1:], strict=True)
    assert s.sorted == all(c0 <= c1 for r0, r1, c0, c1 in pairs if r0 == r1)
    np.testing.assert_array_equal(s.density, counts)
    if a.dtype != bool:
        nonzero = np.abs(data[data != 0])
        assert s.zeros == (data == 0).sum()
        assert s.largest == pytest.approx(max(nonzero, default=0.0))
        assert s.smallest == pytest.approx(min(nonzero, default=0.0))


@settings(deadline=None, max_examples=200)
@given(matrices(square=True), st.booleans(), st.sampled_from([1, -1, "h"]))
def test_symmetry_matches_dense(a, mirror, sign):
    dense = a.to_scipy().toarray()
    stored = counts_of(a) > 0
    if mirror:  # made symmetric, or skew-symmetric, or Hermitian
        other = dense.conj().T if sign == "h" else dense.T
        dense = dense | other if a.dtype == bool else dense + other * (1 if sign == "h" else sign)
        stored = stored | stored.T
        row, col = np.nonzero(stored)
        a = ps.csr_array((dense[row, col], (row, col)), shape=a.shape, dtype=a.dtype)
        stored = counts_of(a) > 0
    n = a.shape[0]
    off = stored & ~np.eye(n, dtype=bool)
    for limit in (10**9, -1):
        s = describe(a, symmetry_limit=limit).symmetry
        if s.kind == "unknown":
            assert limit < 0
            assert "duplicates" in s.method or not np.array_equal(dense, dense.T)
            continue
        assert s.pattern == np.array_equal(stored, stored.T)
        if s.matched is not None and off.any():
            assert s.matched == pytest.approx((off & off.T).sum() / off.sum())
        if np.array_equal(dense, dense.T):
            if limit > 0 or s.pattern:  # hashes cannot see that an unmatched entry is zero
                assert s.kind == "symmetric"
                assert s.error == 0
        elif np.array_equal(dense, dense.conj().T) and (limit > 0 or s.pattern):
            assert s.kind == "hermitian"
        elif limit > 0 and a.dtype != bool and np.array_equal(dense, -dense.T):
            assert s.kind == "skew-symmetric"
        elif limit > 0:
            assert s.kind == "none"


def test_symmetric_to_rounding_is_told_from_symmetric():
    rng = np.random.default_rng(1)
    m = sp.random_array((200, 200), density=0.1, rng=rng, format="csr")
    m = (m + m.T).tocsr()
    exact = describe(ps.csr_array(m)).symmetry
    assert (exact.kind, exact.error) == ("symmetric", 0.0)
    upper = sp.triu(m, 1).tocsr()
    upper.data *= 1 + np.finfo(float).eps
    near = describe(ps.csr_array((sp.tril(m) + upper).tocsr())).symmetry
    assert near.kind == "symmetric"
    assert 0 < near.error < 1e-15
    upper.data *= 1 + 1e-9
    assert describe(ps.csr_array((sp.tril(m) + upper).tocsr())).symmetry.kind == "none"


def test_density_of_a_coarse_grid_adds_up():
    a = ps.csr_array(
        sp.random_array((700, 300), density=0.02, rng=np.random.default_rng(3)).tocsr()
    )
    fine = describe(a, grid=(700, 300)).density
    coarse = describe(a, grid=(7, 3), chunk=100).density
    np.testing.assert_array_equal(coarse, fine.reshape(7, 100, 3, 100).sum(axis=(1, 3)))


def test_values_that_are_not_finite_are_counted():
    a = ps.csr_array(([1.0, np.nan, np.inf, 0.0, -4.0], [0, 1, 2, 0, 1], [0, 3, 5]), shape=(2, 3))
    s = describe(a)
    assert (s.not_finite, s.zeros, s.smallest, s.largest) == (2, 1, 1.0, 4.0)


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 12))
def test_row_chunks_cover_every_row_once(lengths, chunk):
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    chunks = list(row_chunks(indptr, chunk))
    assert [r for first, last in chunks for r in range(first, last)] == list(range(len(lengths)))
    for first, last in chunks:
        assert last - first == 1 or indptr[last] - indptr[first] <= chunk


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex64", "complex128"])
def test_verify_accepts_right_and_refuses_wrong_products(dtype, transposed):
    rng = np.random.default_rng(5)
    m = sp.random_array((300, 200), density=0.05, rng=rng, format="csr")
    a = ps.csr_array(m, dtype=dtype)
    kind = np.float64 if dtype == "bool" else np.dtype(dtype)
    x = rng.uniform(-1, 1, 300 if transposed else 200).astype(kind)
    y = (a.T if transposed else a) @ x
    good = verify(a, x, y, transposed=transposed)
    assert good.ok
    assert good.rows == y.size
    for wrong in (1e-3, np.nan):
        bad = y.copy()
        bad[17] += wrong
        assert not verify(a, x, bad, transposed=transposed).ok
    # the bound is tight enough to see a few dozen roundings in one row
    bad = y.copy()
    scale = (abs(m.T if transposed else m) @ np.abs(x))[17]
    bad[17] += 100 * np.finfo(kind).eps * scale
    assert not verify(a, x, bad, transposed=transposed).ok


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("semiring", ["min_plus", "max_times", "or_and"])
def test_verify_knows_the_semirings(semiring, transposed):
    rng = np.random.default_rng(6)
    a = ps.csr_array(sp.random_array((60, 50), density=0.05, rng=rng, format="csr"))
    x = rng.uniform(0, 1, 60 if transposed else 50)
    y = (a.T if transposed else a).dot(x, semiring=semiring)
    assert verify(a, x, y, semiring, transposed).ok
    bad = y.copy()
    at = int(np.flatnonzero(np.isfinite(y.astype(float)))[3])
    bad[at] = not bad[at] if semiring == "or_and" else bad[at] + 0.01
    assert not verify(a, x, bad, semiring, transposed).ok


def test_verify_of_a_sample_says_so(monkeypatch):
    monkeypatch.setattr("penstock._check.product.CHUNK", 100)
    a = ps.csr_array(
        sp.random_array((400, 400), density=0.02, rng=np.random.default_rng(7)).tocsr()
    )
    x = np.ones(400)
    check = verify(a, x, a @ x, sample_above=1000, sample=500)
    assert check.ok
    assert not check.complete
    assert 0 < check.rows < 400
    assert not verify(a, x, np.zeros(400), sample_above=1000, sample=500).ok


def test_verify_skips_what_overflows():
    a = ps.csr_array(np.array([[1e308, 1e308], [1.0, 2.0]]))
    x = np.array([10.0, 10.0])
    check = verify(a, x, a @ x)
    assert check.ok
    assert check.skipped in (0, 1)  # the infinite row counts as equal where both overflow
    assert not verify(a, x, np.array([np.inf, 0.0])).ok
