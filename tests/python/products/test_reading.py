"""A[...] by every kind of index that SciPy takes; SciPy is the reference."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import penstock as ps

DTYPES = ("bool", "float32", "float64", "complex64", "complex128")


@st.composite
def matrices(draw):
    """A csr_array and SciPy's of the same entries: rows in any order, with duplicates."""
    rows, cols = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    lengths = rng.integers(0, 5, rows) if cols else np.zeros(rows, int)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, max(cols, 1), indptr[-1])
    data = np.ones(indptr[-1], bool) if dtype == np.bool_ else rng.integers(-3, 4, indptr[-1])
    parts = (data.astype(dtype), indices, indptr)
    return ps.csr_array(parts, shape=(rows, cols)), sp.csr_array(parts, shape=(rows, cols))


def numbers(n):
    return st.lists(st.integers(-n, n - 1), max_size=6) if n else st.just([])


def bounds(n):
    return st.one_of(st.none(), st.integers(-n - 2, n + 2))


def one_index(n):
    """Of one axis of length n."""
    kinds = [
        st.builds(slice, bounds(n), bounds(n), st.sampled_from([None, 1, 2, 3, -1, -2])),
        numbers(n),
        numbers(n).map(lambda p: np.array(p, np.int16)),
        st.lists(st.booleans(), min_size=n, max_size=n).map(lambda m: np.array(m, bool)),
        st.just(Ellipsis),
        st.just(slice(None)),
    ]
    if n:
        i = st.integers(-n, n - 1)
        kinds += [i, i.map(np.int8), i.map(np.array)]
    return st.one_of(kinds)


@st.composite
def cases(draw):
    a, s = draw(matrices())
    rows, cols = a.shape
    kind = draw(st.sampled_from(["one", "two", "two", "pairs", "outer", "mask", "new"]))
    if kind == "one":
        key = draw(one_index(rows))
    elif kind == "two":
        key = draw(one_index(rows)), draw(one_index(cols))
    elif kind in ("pairs", "outer"):
        p, q = np.array(draw(numbers(rows)), int), np.array(draw(numbers(cols)), int)
        n = min(p.size, q.size)
        key = (p[:n], q[:n]) if kind == "pairs" else (p[:, None], q)
    elif kind == "mask":
        key = np.random.default_rng(draw(st.integers(0, 99))).random((rows, cols)) < 0.4
        key = draw(st.sampled_from([key, sp.csr_array(key), ps.csr_array(key)]))
    else:
        parts = [draw(one_index(rows)), draw(one_index(cols))]
        parts.insert(draw(st.integers(0, 2)), None)
        key = tuple(parts)
    return a, s, key


def same(mine, theirs):
    """Both are numbers, arrays, sparse vectors of SciPy, or matrices; of the same entries and type."""
    if isinstance(theirs, np.ndarray) and isinstance(mine, ps.csr_array):
        # SciPy's slip: A[[0], ::2] is dense, and A[[0, 1], ::2] an error; no rows by an empty list are dense.
        assert_array_equal(mine.toarray(), theirs)
        return
    if not sp.issparse(theirs):
        assert type(mine) is type(theirs) and mine.dtype == theirs.dtype
        assert_array_equal(mine, theirs)
        return
    assert type(mine) is (ps.csr_array if theirs.ndim == 2 else type(theirs))
    assert mine.shape == theirs.shape and mine.dtype == theirs.dtype
    assert_array_equal(mine.toarray(), theirs.toarray())


@given(cases())
@settings(deadline=None, max_examples=600)
def test_reads_as_scipy(case):
    a, s, key = case
    told = key.to_scipy() if isinstance(key, ps.csr_array) else key
    before = [x.copy() for x in (a.indptr, a.indices, a.data)]
    try:
        wanted = s[told]
    except ValueError:  # SciPy cannot make what has no entries: None and an empty array of numbers
        return
    except IndexError:
        with pytest.raises(IndexError):
            a[key]
        return
    same(a[key], wanted)
    for mine, was in zip((a.indptr, a.indices, a.data), before, strict=True):
        assert_array_equal(mine, was)


@given(cases())
@settings(deadline=None, max_examples=150)
def test_a_transpose_reads_as_scipy(case):
    a, s, key = case
    told = key.to_scipy() if isinstance(key, ps.csr_array) else key
    turned = s.T.tocsr()
    try:
        wanted = turned[told]
    except (IndexError, ValueError):  # as above
        return
    same(a.T[key], wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_of_many_are_fast_paths_with_the_same_entries(dtype):
    s = sp.random_array((3000, 400), density=0.02, format="csr", rng=1).astype(dtype)
    a = ps.csr_array(s)
    rng = np.random.default_rng(2)
    p, q = rng.integers(-3000, 3000, 500), rng.integers(0, 400, 30)
    for key in (p, slice(10, 2000, 7), slice(None, None, -3), (p, slice(5, 90)), (p[:, None], q)):
        same(a[key], s[key])
    same(a[7, 3:200:5], s[7, 3:200:5])
    same(a[:, 17], s[:, 17])
    same(a[p[:30], q], s[p[:30], q])


def test_rows_by_number_and_columns_by_a_step():
    x = np.arange(12.0).reshape(3, 4)
    assert_array_equal(ps.csr_array(x)[[2, 0], ::-2].toarray(), x[[2, 0], ::-2])


def test_rows_one_by_one():
    a = ps.csr_array(np.arange(12.0).reshape(4, 3))
    rows = list(a)
    assert [row.shape for row in rows] == [(3,)] * 4
    assert_array_equal(np.array([row.toarray() for row in rows]), a.toarray())
    assert_array_equal(np.array([col.toarray() for col in a.T]), a.toarray().T)
    rows[0].data[:] = 9  # which is a copy
    assert a[0, 1] == 1 and list(ps.csr_array((0, 3))) == []


@pytest.mark.parametrize(
    "key, words",
    [
        ((4, 0), r"index \(4\) out of range: the matrix has 4 rows"),
        ((0, 5), r"index \(5\) out of range: the matrix has 5 columns"),
        ((-5, 0), r"index \(-5\) out of range"),
        (4, r"index \(4\) out of range"),
        ((slice(None), 5), r"index \(5\) out of range"),
        ([0, 4], r"rows\[1\] = 4 is outside a matrix of 4 rows"),
        ((slice(None), [0, 5]), r"index \(5\) out of range"),
        ([0.0, 1.0], "index of dtype float64: give integers or booleans"),
        ((0, 1.5), "index of dtype float64"),
        (1.0, "index of dtype float64"),
        ((slice(None), np.ones(2)), "index of dtype float64"),
        ("foo", "Index dimension"),
        ((0, 1, 2), "too many indices"),
        (np.ones(3, bool), "bool index"),
        ((..., ...), "single ellipsis"),
        ((None, slice(None)), "2D"),
    ],
)
def test_a_bad_index_is_named(key, words):
    with pytest.raises(IndexError, match=words):
        ps.csr_array((4, 5))[key]


def test_indices_that_do_not_fit_together():
    with pytest.raises((IndexError, ValueError), match="shape mismatch"):  # by SciPy's version
        ps.csr_array((4, 5))[[1, 2], [1, 2, 3]]


def test_nothing_is_written():
    a = ps.csr_array(np.eye(3))
    with pytest.raises(TypeError, match=r"never changes: make a new one.*with_diagonal"):
        a[0, 0] = 2.0
    with pytest.raises(TypeError, match="never changes"):
        a.T[0] = 1
    with pytest.raises(TypeError, match="read the others"):
        del a[0]
    part, whole = a[:2], a[...]
    assert whole is a and np.shares_memory(part.data, a.data)
