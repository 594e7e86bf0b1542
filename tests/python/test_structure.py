"""Transposes, elementwise operations, masks, triangles, scaling, permutations: SciPy is the reference."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core
from penstock.csgraph import _graph

DTYPES = ("bool", "float32", "float64", "complex64", "complex128")


@st.composite
def matrices(draw, shape=None, dtype=None, rows_sorted=None):
    """A csr_array and the same as a SciPy array of the same arrays: rows in any order, with duplicates and explicit
    zeros. Values are small integers, so that sums are exact."""
    rows, cols = shape or (draw(st.integers(0, 9)), draw(st.integers(0, 9)))
    dtype = np.dtype(dtype or draw(st.sampled_from(DTYPES)))
    most = 0 if cols == 0 else draw(st.sampled_from([0, 2, 12]))
    lengths = draw(st.lists(st.integers(0, most), min_size=rows, max_size=rows))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = rng.integers(0, max(cols, 1), indptr[-1]).astype(np.int32)
    if draw(st.booleans()):
        for r in range(rows):
            indices[indptr[r] : indptr[r + 1]].sort()
    data = None if dtype == bool else rng.integers(-2, 3, indptr[-1]).astype(dtype)
    if dtype.kind == "c":
        data += (1j * rng.integers(-2, 3, indptr[-1])).astype(dtype)
    a = ps.csr_array._from_parts(rows, cols, indptr, indices, data)
    ones = np.ones(indptr[-1], dtype) if data is None else data
    return a, sp.csr_array((ones, indices.copy(), indptr.copy()), shape=(rows, cols))


def dense(s):
    """Duplicates added up, or or-ed where they are bool."""
    return s.astype(np.int64).toarray() > 0 if s.dtype == bool else s.toarray()


def rows_of(a):
    return [a.indices[p:q].tolist() for p, q in zip(a.indptr[:-1], a.indptr[1:], strict=True)]


def unchanged(a):
    """A copy of the arrays, to compare with later."""
    return [x.copy() for x in (a.indptr, a.indices, a.data)]


def big(rows, cols, nnz, dtype="float64", seed=1):
    """Too much for the paths of small matrices: unsorted rows, duplicates, one long row and one long column."""
    rng = np.random.default_rng(seed)
    row = np.sort(np.where(rng.random(nnz) < 0.1, rows // 2, rng.integers(0, rows, nnz)))
    col = np.where(rng.random(nnz) < 0.1, cols // 3, rng.integers(0, cols, nnz))
    indptr = np.searchsorted(row, np.arange(rows + 1)).astype(np.int64)
    data = None if dtype == "bool" else rng.integers(-9, 10, nnz).astype(dtype)
    return ps.csr_array._from_parts(rows, cols, indptr, col.astype(np.int32), data)


def stable_transpose(a):
    """(indptr, indices, values) of A^T by a stable sort."""
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    order = np.argsort(a.indices, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(a.indices, minlength=a.shape[1]))])
    return indptr, row[order], a.data[order]


def assert_parts(a, parts):
    for mine, wanted in zip((a.indptr, a.indices, a.data), parts, strict=True):
        np.testing.assert_array_equal(mine, wanted)


# Transposes


@given(matrices())
def test_transpose(pair):
    a, _ = pair
    before = unchanged(a)
    t = a.T.formed()
    assert t.shape == a.shape[::-1] and t.dtype == a.dtype
    assert_parts(t, stable_transpose(a))
    assert_parts(a, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(3000, 200_000), (200_000, 30), (40_000, 40_000), (1, 90_000), (90_000, 1)]
)
def test_transpose_of_more_than_a_bucket(shape, dtype):
    a = big(*shape, 300_000, dtype)
    wanted = stable_transpose(a)
    for threads in (1, 2, 3):
        before = ps.num_threads()
        ps.set_num_threads(threads)
        try:
            assert_parts(ps.csr_array._wrap(_core.transpose(a._core)), wanted)
        finally:
            ps.set_num_threads(before)


def test_transpose_of_a_band():
    a = ps.generate.laplacian((60, 60, 60))  # shares hardly overlap: no buckets
    assert_parts(a.T.formed(), stable_transpose(a))


# Symmetric patterns


def symmetric_by_hand(a):
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return sorted(zip(row.tolist(), a.indices.tolist(), strict=True)) == sorted(
        zip(a.indices.tolist(), row.tolist(), strict=True)
    )


@given(st.integers(0, 4).flatmap(lambda n: matrices(shape=(n, n))), st.booleans())
@settings(max_examples=200)
def test_symmetric_pattern(pair, mirrored):
    a, _ = pair
    if mirrored:
        row = np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))
        both = np.concatenate([row, a.indices]), np.concatenate([a.indices, row])
        a = ps.csr_array._wrap(_core.coo_to_csr(*a.shape, *both, None, False))
        assert _graph.has_symmetric_pattern(a)
    assert _graph.has_symmetric_pattern(a) == symmetric_by_hand(a)


def test_one_edge_too_many():
    a = ps.generate.road_grid(150, 150, seed=1)
    assert _graph.has_symmetric_pattern(a)
    for k in (0, a.nnz // 2, a.nnz - 1):
        row = np.repeat(np.arange(a.shape[0], dtype=np.int32), np.diff(a.indptr))
        keep = np.arange(a.nnz) != k
        b = ps.csr_array((np.ones(a.nnz - 1, bool), (row[keep], a.indices[keep])), shape=a.shape)
        assert not _graph.has_symmetric_pattern(b)
    shuffled = a.indices.copy()
    for p, q in zip(a.indptr[:-1], a.indptr[1:], strict=True):
        shuffled[p:q] = shuffled[p:q][::-1]
    c = ps.csr_array._from_parts(*a.shape, a.indptr, shuffled, None)
    assert _graph.has_symmetric_pattern(c)
