"""Transposes, elementwise operations, masks, triangles, scaling, permutations: SciPy is the reference."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import _graph

import penstock as ps
from penstock import _core

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
    data = None if dtype == np.bool_ else rng.integers(-2, 3, indptr[-1]).astype(dtype)
    if dtype.kind == "c":
        data += (1j * rng.integers(-2, 3, indptr[-1])).astype(dtype)
    a = ps.csr_array._from_parts(rows, cols, indptr, indices, data)
    ones = np.ones(indptr[-1], dtype) if data is None else data
    return a, sp.csr_array((ones, indices.copy(), indptr.copy()), shape=(rows, cols))


def dense(s):
    """Duplicates added up, or or-ed where they are bool."""
    return s.astype(np.int64).toarray() > 0 if s.dtype == np.bool_ else s.toarray()


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
@settings(deadline=None)
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
@settings(deadline=None, max_examples=200)
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


@given(st.integers(0, 5).flatmap(lambda n: matrices(shape=(n, n))))
@settings(deadline=None)
def test_undirected(pair):
    a, s = pair
    u = _graph.undirected(a)
    both = dense(s.astype(bool)) if a.dtype == np.bool_ else None
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    both = np.zeros(a.shape, bool)
    both[row, a.indices] = both[a.indices, row] = True
    if u is a:
        assert symmetric_by_hand(a)
    else:
        np.testing.assert_array_equal(u.toarray(), both)
        assert u.dtype == np.bool_ and u.has_canonical_format and _graph.has_symmetric_pattern(u)
    assert _graph.undirected(a) is u


# Entry by entry


@st.composite
def pairs(draw):
    shape = draw(st.integers(0, 8)), draw(st.integers(0, 8))
    return draw(matrices(shape=shape)), draw(matrices(shape=shape))


def dense_join(a, s, other):
    """Of duplicates the sum; where nothing is stored NaN."""
    out = np.full(a.shape, np.nan, np.result_type(s.dtype, other, np.float32))
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    out[row, a.indices] = dense(s)[row, a.indices]
    return out


def stored(a):
    out = np.zeros(a.shape, bool)
    out[np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices] = True
    return out


def assert_canonical(a):
    for row in rows_of(a):
        assert row == sorted(set(row))
    assert a.has_canonical_format


@given(pairs())
@settings(deadline=None, max_examples=200)
def test_sum_difference_and_product(two):
    (a, s), (b, t) = two
    before = unchanged(a), unchanged(b)
    both_patterns = a.dtype == b.dtype == np.bool_
    x, y = dense(s), dense(t)
    dtype = np.dtype(bool) if both_patterns else np.result_type(a.dtype, b.dtype)
    plus, times = a + b, a.multiply(b)
    for c in (plus, times):
        assert c.dtype == dtype
        assert_canonical(c)
    np.testing.assert_array_equal(plus.toarray(), x + y)
    np.testing.assert_array_equal(times.toarray(), x * y)
    np.testing.assert_array_equal(stored(plus), stored(a) | stored(b))
    np.testing.assert_array_equal(stored(times), stored(a) & stored(b))
    np.testing.assert_array_equal((a * b).toarray(), x * y)
    np.testing.assert_array_equal((a + t).toarray(), x + y)
    if both_patterns:
        with pytest.raises(TypeError, match="complement=True"):
            a - b
    else:
        np.testing.assert_array_equal((a - b).toarray(), x.astype(dtype) - y.astype(dtype))
        np.testing.assert_array_equal((a - b.T.formed().T).toarray(), x.astype(dtype) - y)
    for c, was in zip((a, b), before, strict=True):
        assert_parts(c, was)


@given(pairs(), st.sampled_from(["min_plus", "max_times"]))
@settings(deadline=None)
def test_sum_over_other_semirings(two, semiring):
    (a, s), (b, t) = two
    if "c" in (a.dtype.kind, b.dtype.kind):
        with pytest.raises(ValueError, match="no order"):
            a.add(b, semiring)
        return
    c = a.add(b, semiring)
    assert_canonical(c)
    pick = np.fmin if semiring == "min_plus" else np.fmax  # passes over what is not stored
    wanted = pick(dense_join(a, s, t.dtype), dense_join(b, t, s.dtype))
    np.testing.assert_array_equal(dense_join(c, c.to_scipy(), t.dtype), wanted)


@given(pairs())
@settings(deadline=None)
def test_or_and_makes_a_pattern(two):
    (a, s), (b, t) = two
    c = a.without_duplicates().add(b.without_duplicates(), "or_and")
    assert c.dtype == np.bool_
    np.testing.assert_array_equal(c.toarray(), (dense(s) != 0) | (dense(t) != 0))


@given(pairs())
@settings(deadline=None)
def test_masks(two):
    (a, s), (m, _) = two
    x, where = dense(s), stored(m)
    inside, outside = a.mask(m), a.mask(m, complement=True)
    np.testing.assert_array_equal(inside.toarray(), np.where(where, x, 0))
    np.testing.assert_array_equal(outside.toarray(), np.where(where, 0, x))
    np.testing.assert_array_equal(stored(inside), stored(a) & where)
    np.testing.assert_array_equal(stored(outside), stored(a) & ~where)
    for c in (inside, outside):
        assert c.dtype == a.dtype
        assert_canonical(c)


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
def test_big_ones(dtype):
    """Long against short rows, and more than one range of rows."""
    a, b = big(5000, 70_000, 400_000, dtype, 1), big(5000, 70_000, 30_000, dtype, 2)
    s, t = (c.without_duplicates().to_scipy() for c in (a, b))
    one = np.float32 if dtype == "bool" else dtype
    for left, right, x, y in ((a, b, s, t), (b, a, t, s)):
        plus, times, less = left + right, left.multiply(right), left.mask(right, complement=True)
        assert (plus.to_scipy() != (x + y)).nnz == 0
        assert (times.to_scipy() != x.multiply(y)).nnz == 0
        hole = x.astype(one) - left.mask(right).to_scipy().astype(one)
        assert (less.to_scipy().astype(one) != hole).nnz == 0
        for c in (plus, times, less):
            assert_canonical(c)


def test_zeros_and_numbers():
    a = ps.csr_array(np.array([[1.0, 0.0], [2.0, -3.0]]))
    assert (a - a).nnz == 3 and (a - a).without_zeros().nnz == 0
    np.testing.assert_array_equal(sum([a, a]).toarray(), 2 * a.toarray())
    np.testing.assert_array_equal((0 - a).toarray(), -a.toarray())
    np.testing.assert_array_equal((a.to_scipy() + a).toarray(), 2 * a.toarray())
    np.testing.assert_array_equal(a.multiply(2).toarray(), 2 * a.toarray())
    inf = ps.csr_array(([np.inf, np.nan], ([0, 1], [0, 0])), shape=(2, 2))
    np.testing.assert_array_equal((a + inf).data, [np.inf, np.nan, -3.0])
    np.testing.assert_array_equal((inf - a).data, [np.inf, np.nan, 3.0])
    np.testing.assert_array_equal(inf.multiply(a).data, [np.inf, np.nan])


def test_faults():
    a = ps.csr_array((2, 3))
    with pytest.raises(ValueError, match=r"A \+ B: the shapes \(2, 3\) and \(3, 2\) differ"):
        a + a.T
    with pytest.raises(ValueError, match="shapes"):
        a.multiply(ps.csr_array((3, 3)))
    with pytest.raises(ValueError, match="shapes"):
        a.mask(ps.csr_array((2, 2)))
    for bad in ("x", None, [["x"]]):
        with pytest.raises(TypeError, match="unsupported operand|concatenate"):
            a + bad
        with pytest.raises(TypeError):
            bad - a
    for number in (1.0, np.float32(2), np.array(3), np.nan):
        with pytest.raises(NotImplementedError, match=r"A \+ B with the number .* A.toarray()"):
            a + number
        with pytest.raises(NotImplementedError, match="B - A with the number"):
            number - a
    with pytest.raises(ValueError, match="semiring='plus'"):
        a.add(a, "plus")
    with pytest.raises(ValueError, match="two matrices of one value type"):
        _core.join(a._core, a.astype(np.float32)._core, "plus")
    with pytest.raises(ValueError, match="2 x 3 and 3 x 2"):
        _core.join(a._core, a.T.formed()._core, "plus")


@given(matrices())
@settings(deadline=None)
def test_abs(pair):
    a, _ = pair
    b = abs(a)
    assert b.dtype == np.abs(np.empty(0, a.dtype)).dtype
    np.testing.assert_array_equal(b.toarray(), np.abs(a.toarray()))
    assert a.dtype == np.bool_ or b.has_canonical_format


# Order and zeros


@given(matrices())
@settings(deadline=None, max_examples=150)
def test_order(pair):
    a, s = pair
    before = unchanged(a)
    listed = rows_of(a)
    assert a.has_sorted_indices == all(row == sorted(row) for row in listed)
    assert a.has_canonical_format == all(row == sorted(set(row)) for row in listed)
    b, c = a.sorted_indices(), a.without_duplicates()
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    order = np.lexsort((a.indices, row))
    assert_parts(b, (a.indptr, a.indices[order], a.data[order]))
    assert_canonical(c)
    np.testing.assert_array_equal(c.toarray(), dense(s))
    np.testing.assert_array_equal(stored(c), stored(a))
    d = a.without_zeros()
    assert d.has_sorted_indices and (a.dtype == np.bool_ or np.all(d.data != 0))
    np.testing.assert_array_equal(d.toarray(), dense(s))
    assert d.nnz == np.count_nonzero(a.data)
    assert_parts(a, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_every_length(dtype):
    """Insertion, keys and radix; stable; one row with more than a range's entries."""
    rng = np.random.default_rng(3)
    lengths = np.concatenate([np.arange(60), [1023, 1024, 1025, 0, 70_000, 3]])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    for cols in (1, 50, 5000, 2**31 - 1):
        indices = rng.integers(0, cols, indptr[-1]).astype(np.int32)
        data = None if dtype == "bool" else rng.integers(-99, 99, indptr[-1]).astype(dtype)
        a = ps.csr_array._from_parts(len(lengths), cols, indptr, indices, data)
        row = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((indices, row))
        assert_parts(a.sorted_indices(), (indptr, indices[order], a.data[order]))
        key = row * 2**31 + indices
        unique, place = np.unique(key, return_inverse=True)
        merged = a.without_duplicates()
        np.testing.assert_array_equal(merged.indices, unique % 2**31)
        if data is not None:
            sums = np.zeros(unique.size, dtype)
            np.add.at(sums, place, data)
            np.testing.assert_array_equal(merged.data, sums)


@given(matrices(), st.integers(-10, 10))
@settings(deadline=None)
def test_triangles(pair, k):
    a, s = pair
    lower, upper = ps.tril(a, k), ps.triu(a, k)
    np.testing.assert_array_equal(lower.toarray(), np.tril(dense(s), k))
    np.testing.assert_array_equal(upper.toarray(), np.triu(dense(s), k))
    assert lower.nnz + ps.triu(a, k + 1).nnz == a.nnz
    assert lower.dtype == upper.dtype == a.dtype
    for c in (lower, upper):
        assert all(row == sorted(row) for row in rows_of(c)) and c.has_sorted_indices
    assert ps.tril(a, 10**30).nnz == a.nnz == ps.triu(a, -(10**30)).nnz
    assert ps.tril(a, -(10**30)).nnz == 0 == ps.triu(a, 10**30).nnz


def test_triangles_of_scipy_arrays_and_faults():
    s = sp.random_array((50, 40), density=0.3, rng=1)
    assert (ps.triu(s, 2).to_scipy() != sp.triu(s, 2).tocsr()).nnz == 0
    assert (ps.tril(ps.csr_array(s).T, 1).to_scipy() != sp.tril(s.T, 1).tocsr()).nnz == 0
    with pytest.raises(TypeError, match="k=1.5"):
        ps.tril(s, 1.5)
    with pytest.raises(TypeError, match="tril takes a sparse matrix"):
        ps.tril("lower")


# Scaling and permutations


@given(
    matrices(), st.sampled_from(["none", "float32", "float64", "int64", "complex64"]), st.booleans()
)
@settings(deadline=None)
def test_scale(pair, kind, numbers):
    a, _ = pair
    rows, cols = a.shape
    rng = np.random.default_rng(rows)
    r = None if kind == "none" else rng.integers(1, 5, rows).astype(kind)
    c = 2.0 if numbers else rng.integers(1, 5, cols).astype("float32")
    b = a.scale(rows=r, cols=c)
    assert b.dtype == np.result_type(a.dtype, *([] if r is None else [r]), c)
    left = np.ones(rows) if r is None else r
    row = np.repeat(np.arange(rows), np.diff(a.indptr))
    right = np.broadcast_to(c, (cols,))
    np.testing.assert_array_equal(b.data, a.data * left[row] * right[a.indices])
    assert b.indices is a.indices or np.array_equal(b.indices, a.indices)
    assert a.scale().dtype == (np.float64 if a.dtype == np.bool_ else a.dtype)


def test_scale_faults():
    a = ps.csr_array(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"rows has shape \(3,\): give one number, or 2 of them"):
        a.scale(rows=np.ones(3))
    with pytest.raises(ValueError, match="cols has shape"):
        a.scale(cols=np.ones((3, 1)))
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        a.scale(rows=np.array([1, 2**53 + 1]))


@given(matrices(), st.randoms())
@settings(deadline=None)
def test_permute(pair, random):
    a, s = pair
    p, q = (random.sample(range(n), n) for n in a.shape)
    x = dense(s)
    np.testing.assert_array_equal(a.permute(p).toarray(), x[p])
    np.testing.assert_array_equal(a.permute(cols=q).toarray(), x[:, q])
    b = a.permute(p, np.array(q, np.uint16))
    np.testing.assert_array_equal(b.toarray(), x[p][:, q])
    assert b.has_sorted_indices and b.nnz == a.nnz and b.dtype == a.dtype
    assert a.permute() is a


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
def test_permute_big(dtype):
    a = big(30_000, 30_000, 400_000, dtype)
    p = np.random.default_rng(1).permutation(30_000)
    wanted = a.without_duplicates().to_scipy()[p][:, p]
    assert (a.permute(p, p).without_duplicates().to_scipy() != wanted).nnz == 0


@given(matrices(), st.integers(0, 2**20))
@settings(deadline=None)
def test_rows_by_number(pair, seed):
    a, s = pair
    rng = np.random.default_rng(seed)
    n = a.shape[0]
    p = rng.integers(-n, n, 7) if n else np.empty(0, int)
    np.testing.assert_array_equal(a[p].toarray(), dense(s)[p])
    np.testing.assert_array_equal(a[p.tolist()].toarray(), dense(s)[p.tolist()])
    some = rng.random(n) < 0.5
    np.testing.assert_array_equal(a[some].toarray(), dense(s)[some])


def test_permutation_faults():
    a = ps.csr_array(np.ones((3, 3)))
    with pytest.raises(ValueError, match=r"rows\[1\] = 3 is outside \[0, 3\)"):
        a.permute([0, 3, 7])
    with pytest.raises(ValueError, match=r"cols\[0\] and cols\[2\] are both 1"):
        a.permute(cols=[1, 0, 1])
    p = [0, 0, 1]
    with pytest.raises(ValueError, match=r"\[0\] and \w+\[1\] are both 0"):
        a.permute(p, p)
    for bad in ([0, 1], [0.0, 1.0, 2.0], [[0, 1, 2]]):
        with pytest.raises(ValueError, match="give a permutation"):
            a.permute(bad)
    with pytest.raises(IndexError, match=r"rows\[1\] = 3 is outside a matrix of 3 rows"):
        a[[0, 3]]
    for bad in (np.ones(2, bool), np.ones(3), np.ones((1, 3), int), "x", [[0], [0, 1]]):
        with pytest.raises((IndexError, ValueError)):  # SciPy's
            a[bad]
    with pytest.raises(ValueError, match=r"rows\[0\] = 5"):
        _core.take_rows(a._core, np.array([5]), None)


def test_factors_in_lists():
    A = ps.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]], dtype=np.float32))
    np.testing.assert_array_equal(A.scale(rows=[1, 10]).toarray(), [[1, 2], [0, 40]])
    assert A.scale(rows=[1, 10]).dtype == np.float64
    assert A.scale(rows=2.0).dtype == A.scale(rows=np.float32([1, 10])).dtype == np.float32
