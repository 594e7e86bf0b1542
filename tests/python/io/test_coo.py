"""COO to CSR against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _core

DTYPES = [None, np.float32, np.float64, np.complex64, np.complex128]


def values_of(rng, n, dtype):
    if dtype is None:
        return None
    v = rng.standard_normal(n)
    if np.dtype(dtype).kind == "c":
        v = v + 1j * rng.standard_normal(n)
    return v.astype(dtype)


def reference(shape, row, col, values):
    """SciPy's matrix in double precision: float32 sums must not depend on the order of addition."""
    if values is None:
        values = np.ones(len(row))
    a = sp.coo_array(
        (values.astype(np.result_type(values, np.float64)), (row, col)), shape=shape
    ).tocsr()
    a.sum_duplicates()
    a.sort_indices()
    return a


def assert_same(m, shape, row, col, values):
    a = reference(shape, row, col, values)
    assert m.shape == shape
    np.testing.assert_array_equal(m.indptr, a.indptr)
    np.testing.assert_array_equal(m.indices, a.indices)
    if values is not None:  # rounding grows with the number of terms and the sum of their sizes
        assert m.dtype == values.dtype.name
        sizes = reference(shape, row, col, np.abs(values)).data
        terms = reference(shape, row, col, None).data
        eps = np.finfo(values.dtype).eps
        assert (np.abs(m.values - a.data) <= eps * (1 + terms if eps < 1e-10 else 2) * sizes).all()


@pytest.fixture
def threads():
    before = _core.num_threads()
    yield _core.set_num_threads
    _core.set_num_threads(before)


@settings(deadline=None)
@given(
    rows=st.integers(1, 200),
    cols=st.integers(1, 200),
    n=st.integers(0, 2000),
    seed=st.integers(0, 2**32),
    dtype=st.sampled_from(DTYPES),
    wide=st.tuples(st.booleans(), st.booleans()),
)
def test_matches_scipy(rows, cols, n, seed, dtype, wide):
    rng = np.random.default_rng(seed)
    row = rng.integers(0, rows, n, dtype=np.int64 if wide[0] else np.int32)
    col = rng.integers(0, cols, n, dtype=np.int64 if wide[1] else np.int32)
    values = values_of(rng, n, dtype)
    m = _core.coo_to_csr(rows, cols, row, col, values)
    assert_same(m, (rows, cols), row, col, values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(1, 1 << 20), (1 << 20, 1), (1, 1), (3, 5), (70_000, 40), (1 << 22, 1 << 22)]
)
def test_large_and_skewed(dtype, shape):
    """Buckets that must be split: one row, one column, one entry many times, a few heavy rows."""
    rng = np.random.default_rng(7)
    n = 400_000
    row = (shape[0] * rng.random(n) ** 4).astype(np.int32)
    col = (shape[1] * rng.random(n) ** 4).astype(np.int32)
    values = values_of(rng, n, dtype)
    assert_same(_core.coo_to_csr(*shape, row, col, values), shape, row, col, values)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("merge", [True, False])
def test_same_bits_for_any_threads_and_order(threads, dtype, merge):
    rng = np.random.default_rng(3)
    n = 500_000
    row = (5000 * rng.random(n) ** 3).astype(np.int32)
    col = (300 * rng.random(n) ** 3).astype(np.int32)
    values = values_of(rng, n, dtype)
    results = []
    for t in (1, 2, 3):
        threads(t)
        p = rng.permutation(n)
        v = None if values is None else values[p]
        results.append(_core.coo_to_csr(5000, 300, row[p], col[p], v, merge))
    for m in results[1:]:
        assert m.indptr.tobytes() == results[0].indptr.tobytes()
        assert m.indices.tobytes() == results[0].indices.tobytes()
        if values is not None:
            assert m.values.tobytes() == results[0].values.tobytes()


def test_duplicates_kept():
    row, col = np.array([1, 0, 1, 1], np.int32), np.array([2, 1, 2, 0], np.int32)
    m = _core.coo_to_csr(2, 3, row, col, np.array([5.0, 1.0, 3.0, 0.0]), False)
    assert m.indptr.tolist() == [0, 1, 4]
    assert m.indices.tolist() == [1, 0, 2, 2]
    assert m.values.tolist() == [1.0, 0.0, 3.0, 5.0]
    assert _core.coo_to_csr(2, 3, row, col, None, False).nnz == 4


def test_explicit_zeros_stay():
    m = _core.coo_to_csr(
        2, 2, np.array([0, 1, 1], np.int32), np.array([0, 1, 1], np.int32), np.array([0.0, 1, -1])
    )
    assert m.values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0), (3, 4)])
def test_empty(shape):
    none = np.zeros(0, np.int64)
    m = _core.coo_to_csr(*shape, none, none, np.zeros(0))
    assert m.shape == shape
    assert m.nnz == 0
    assert m.indptr.tolist() == [0] * (shape[0] + 1)


def test_hypersparse_rows():
    rows = 3_000_000
    m = _core.coo_to_csr(
        rows, 2**31 - 1, np.array([rows - 1, 0]), np.array([2**31 - 2, 0]), np.array([2.0, 1.0])
    )
    assert m.indptr[1] == 1
    assert m.indptr[-2] == 1
    assert m.indptr[-1] == 2
    assert m.indices.tolist() == [0, 2**31 - 2]
    assert m.values.tolist() == [1.0, 2.0]


@settings(deadline=None)
@given(
    n=st.integers(1, 60),
    entries=st.integers(0, 300),
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(["symmetric", "skew", "hermitian"]),
    dtype=st.sampled_from(DTYPES),
)
def test_mirror(n, entries, seed, kind, dtype):
    if kind == "skew" and dtype is None:
        return
    rng = np.random.default_rng(seed)
    row, col = (
        rng.integers(0, n, entries, dtype=np.int32),
        rng.integers(0, n, entries, dtype=np.int32),
    )
    values = values_of(rng, entries, dtype)
    if kind == "skew":
        values[row == col] = 0
    if kind == "hermitian" and values is not None:
        values[row == col] = values[row == col].real
    off = row != col
    full_row, full_col = np.concatenate([row, col[off]]), np.concatenate([col, row[off]])
    full = None
    if values is not None:
        image = {"symmetric": values, "skew": -values, "hermitian": values.conj()}[kind]
        full = np.concatenate([values, image[off]])
    m = _core.coo_to_csr(n, n, row, col, values, True, kind)
    assert_same(m, (n, n), full_row, full_col, full)


def refused(match, *args, **kwargs):
    with pytest.raises(ValueError, match=match):
        _core.coo_to_csr(*args, **kwargs)


@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("bad", [-1, 1000, 2**31 - 1, 2**33, -(2**40)])
def test_out_of_range_names_first_entry(threads, wide, bad):
    if bad != np.array(bad).astype(wide):
        pytest.skip("does not fit int32")
    threads(2)
    good = np.zeros(1_000_000, wide)
    index = good.copy()
    index[[654_321, 999_999]] = bad
    refused(f"row index {bad} at entry 654321 ", 1000, 1000, index, good, None)
    refused(f"column index {bad} at entry 654321 ", 1000, 1000, good, index, None)


def test_refusals():
    one, three = np.zeros(1, np.int32), np.full(1, 3, np.int32)
    refused("one-based", 3, 3, three, one, None)
    refused("negative", -1, 3, one[:0], one[:0], None)
    refused(r"2\^31 - 1", 3, 2**31, one, one, None)
    refused("square", 3, 4, one, one, None, True, "symmetric")
    refused(
        "entry 0 is a nonzero on the diagonal, at row 0", 3, 3, one, one, np.ones(1), True, "skew"
    )
    refused("needs values", 3, 3, one, one, None, True, "skew")
    refused('"sideways" is not none', 3, 3, one, one, None, True, "sideways")
    refused("row has 1 entries and col 2", 3, 3, one, np.zeros(2, np.int32), None)
    refused("values has 2 entries", 3, 3, one, one, np.ones(2))
    refused("int32 or int64", 3, 3, one.astype(np.int16), one, None)
    refused("float32, float64", 3, 3, one, one, np.ones(1, np.int32))
