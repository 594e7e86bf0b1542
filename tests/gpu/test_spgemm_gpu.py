"""C = A B on a GPU, every way of adding rows up, against NumPy; sums of sparse rows; refusals; cuSPARSE."""

import numpy as np
import pytest

from penstock import _core

pytestmark = pytest.mark.gpu
METHODS = ["auto", "hash", "bitmap"]


class Sparse:
    """A matrix as arrays, rows out of order and with duplicates; its values are small integers, so that sums
    have the same bits in any order."""

    def __init__(self, lengths, cols, seed=1, dtype="float64", indices=None):
        rng = np.random.default_rng(seed)
        self.rows, self.cols = len(lengths), cols
        self.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        n = int(self.indptr[-1])
        self.indices = rng.integers(0, cols, n, dtype=np.int32) if indices is None else indices
        self.values = None if dtype is None else rng.integers(-4, 5, n).astype(dtype)

    def on_device(self):
        arrays = (self.rows, self.cols, self.indptr, self.indices, self.values)
        return _core.to_place(_core.Matrix.from_arrays(*arrays), "device")


def numpy_product(a, b):
    """(indptr, indices, values as float64, products of each row) of A B."""
    lengths = np.diff(b.indptr)[a.indices]
    rows = np.repeat(np.repeat(np.arange(a.rows), np.diff(a.indptr)), lengths)
    skipped = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    at = np.arange(int(lengths.sum())) + np.repeat(b.indptr[a.indices] - skipped, lengths)
    columns = b.indices[at]
    left = np.ones(len(a.indices)) if a.values is None else a.values.astype(np.float64)
    right = np.ones(len(at)) if b.values is None else b.values[at].astype(np.float64)
    products = np.repeat(left, lengths) * right
    key, place = np.unique(rows * b.cols + columns, return_inverse=True)
    values = np.zeros(len(key))
    np.add.at(values, place, products)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(key // b.cols, minlength=a.rows))])
    return indptr, (key % b.cols).astype(np.int32), values, np.bincount(rows, minlength=a.rows)


def check(c, expected, dtype="float64", what=""):
    c = _core.to_place(c, "host")
    indptr, indices, values, _ = expected
    wrong = np.flatnonzero(np.diff(c.indptr) != np.diff(indptr))
    assert wrong.size == 0, (
        f"{what}: {wrong.size} rows of another size, first {wrong[0]}: "
        f"{np.diff(c.indptr)[wrong[0]]} entries, not {np.diff(indptr)[wrong[0]]}"
    )
    np.testing.assert_array_equal(c.indices, indices, err_msg=f"{what}: columns")
    if dtype == "bool":
        assert c.values is None
    else:
        assert c.values.dtype == dtype
        np.testing.assert_array_equal(c.values, values.astype(dtype), err_msg=f"{what}: values")


def lengths_of(shape, rows, seed):
    rng = np.random.default_rng(seed)
    if shape == "short":
        return rng.integers(0, 8, rows)
    if shape == "power_law":
        return np.minimum(rng.pareto(0.9, rows) * 3, rows).astype(int)
    if shape == "long":
        return np.full(rows, 5000)
    if shape == "mostly_empty":
        return (rng.random(rows) < 0.05) * rng.integers(1, 40, rows)
    lengths = np.full(rows, 3)
    lengths[rows // 3], lengths[-1], lengths[::50] = 3000, 1500, 0
    return lengths  # hubs


CASES = {
    # name: (rows of A, lengths, columns of A, lengths of B, columns of B)
    "tiny_rows": (3001, "short", 2000, "short", 5000),
    "power_law": (2500, "power_law", 2500, "power_law", 2500),
    "hubs": (900, "hubs", 1100, "hubs", 4000),
    "full_rows": (40, "hubs", 3000, "short", 9001),
    "mostly_empty": (5000, "mostly_empty", 700, "mostly_empty", 65_537),
    "wide": (30, "hubs", 800, "power_law", 3_000_000),
    "one_column": (300, "power_law", 300, "short", 1),
    "one_row": (1, "long", 1000, "hubs", 20_000),
}


def case(name, a_dtype="float64", b_dtype="float64"):
    rows, la, inner, lb, cols = CASES[name]
    a = Sparse(lengths_of(la, rows, 11), inner, 1, a_dtype)
    b = Sparse(lengths_of(lb, inner, 12), cols, 2, b_dtype)
    return a, b


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_shapes(name, method):
    a, b = case(name)
    c = _core.spgemm_gpu(a.on_device(), b.on_device(), method=method)
    check(c, numpy_product(a, b), what=f"{name}, {method}")


@pytest.mark.gpu_small
@pytest.mark.parametrize("method", METHODS)
def test_every_kernel_on_little(method):
    # Rows of C for each class: tiny, hash tables of every size, bitmaps in one and in several windows.
    a = Sparse([0, 1, 2, 9, 20, 50, 200, 700, 1100], 300, 3)
    b = Sparse(np.r_[np.full(290, 9), np.full(10, 700)], 9000, 4)
    expected = numpy_product(a, b)
    assert np.diff(expected[0]).max() > 4096, "no row is longer than a hash table"
    for window in (0, 1024):
        c = _core.spgemm_gpu(a.on_device(), b.on_device(), method=method, window=window)
        check(c, expected, what=f"{method}, window {window}")


@pytest.mark.parametrize(
    "dtype, a_dtype, b_dtype",
    [
        ("float32", "float32", "float32"),
        ("float32", None, "float32"),
        ("float32", "float32", None),
        ("float32", None, None),
        ("float64", None, "float64"),
        ("float64", "float64", None),
        ("float64", None, None),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_values_and_patterns(dtype, a_dtype, b_dtype, method):
    a, b = case("power_law", a_dtype, b_dtype)
    c = _core.spgemm_gpu(a.on_device(), b.on_device(), dtype=dtype, method=method)
    check(c, numpy_product(a, b), dtype, f"{a_dtype} x {b_dtype}")


@pytest.mark.parametrize("method", METHODS)
def test_or_and(method):
    for dtypes in ((None, None), ("float32", None)):
        a, b = case("power_law", *dtypes)
        c = _core.spgemm_gpu(a.on_device(), b.on_device(), "or_and", "bool", method=method)
        check(c, numpy_product(a, b), "bool", f"{dtypes}")


@pytest.mark.gpu_small
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_of_rows(chunk):
    a, b = Sparse(lengths_of("hubs", 60, 5), 90, 6), Sparse(lengths_of("short", 90, 7), 500, 8)
    c = _core.spgemm_gpu(a.on_device(), b.on_device(), chunk_rows=chunk)
    check(c, numpy_product(a, b), what=f"chunks of {chunk}")


def repeating(seed=5):
    """Runs of equal rows, shorter and longer than those that share one count; among them empty ones, rows of more than
    1024 entries, and one that differs from the row above in its last column alone."""
    rng = np.random.default_rng(seed)
    rows = []
    for length, times in ((3, 1), (20, 2), (0, 3), (90, 33), (20, 70), (1500, 5), (40, 40), (1, 9)):
        rows += [rng.integers(0, 400, length, dtype=np.int32)] * times
    other = rows[-60].copy()
    other[-1] = (other[-1] + 1) % 400
    rows[-59] = other
    return Sparse([len(r) for r in rows], 400, seed=seed, indices=np.concatenate(rows))


@pytest.mark.gpu_small
@pytest.mark.parametrize("chunk", [1, 7, 32, 64, 100, 1 << 24])
def test_rows_that_repeat_the_one_above(chunk):
    a = repeating()
    b = Sparse(np.random.default_rng(6).integers(0, 60, 400), 5000, seed=7)
    c = _core.spgemm_gpu(a.on_device(), b.on_device(), chunk_rows=chunk)
    check(c, numpy_product(a, b), what=f"chunks of {chunk} rows")


def test_more_rows_than_a_thread_takes_one_of():
    rng = np.random.default_rng(8)
    a = Sparse(rng.integers(0, 4, (1 << 17) + 1001), 300, seed=9)
    b = Sparse(rng.integers(0, 9, 300), 2000, seed=10)
    check(_core.spgemm_gpu(a.on_device(), b.on_device()), numpy_product(a, b))


@pytest.mark.parametrize("window", [64, 1000, 100_000])
def test_windows(window):
    a, b = case("wide")
    b = Sparse(np.diff(b.indptr), 30_011, 2)
    c = _core.spgemm_gpu(a.on_device(), b.on_device(), method="bitmap", window=window)
    check(c, numpy_product(a, b), what=f"window {window}")


@pytest.mark.gpu_small
@pytest.mark.parametrize("rows, inner, cols", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (100_001, 3, 4)])
def test_nothing(rows, inner, cols):
    empty = np.zeros(0, np.int32)
    a = Sparse(np.zeros(rows, int), inner, indices=empty)
    b = Sparse(np.zeros(inner, int), cols, indices=empty)
    c = _core.to_place(_core.spgemm_gpu(a.on_device(), b.on_device()), "host")
    assert c.shape == (rows, cols) and c.nnz == 0
    assert len(c.indptr) == rows + 1 and not c.indptr.any()


def test_entries_of_a_without_products():
    a = Sparse([2000, 3, 64, 65], 50, 1)
    b = Sparse([0] * 49 + [5], 70, 2)
    for method in METHODS:
        c = _core.spgemm_gpu(a.on_device(), b.on_device(), method=method)
        check(c, numpy_product(a, b), what=method)


def test_real_numbers_and_the_same_bits_of_tiny_rows():
    rng = np.random.default_rng(3)
    a, b = case("tiny_rows")
    for m in (a, b):
        m.values = rng.standard_normal(len(m.values))
    _, _, expected, products = numpy_product(a, b)
    assert products.max() <= 64
    runs = [
        _core.to_place(_core.spgemm_gpu(a.on_device(), b.on_device()), "host") for _ in range(3)
    ]
    np.testing.assert_allclose(runs[0].values, expected, rtol=1e-12, atol=1e-12)
    assert len({np.asarray(c.values).tobytes() for c in runs}) == 1


def test_products():
    for name in CASES:
        a, b = case(name)
        counted = _core.spgemm_products_gpu(a.on_device(), b.on_device())
        products = numpy_product(a, b)[3]
        np.testing.assert_array_equal(counted["per_row"], products, err_msg=name)
        assert counted["products"] == products.sum()
        assert counted["bound"] == np.minimum(products, b.cols).sum()


def test_refusals():
    a, b = case("power_law")
    nnz = numpy_product(a, b)[0][-1]
    with pytest.raises(MemoryError, match=f"{nnz} entries.*{12 * nnz} bytes.*1000 may be taken"):
        _core.spgemm_gpu(a.on_device(), b.on_device(), memory=1000)
    check(_core.spgemm_gpu(a.on_device(), b.on_device(), memory=int(12 * nnz)), numpy_product(a, b))
    on_host = _core.Matrix.from_arrays(a.rows, a.cols, a.indptr, a.indices, a.values)
    with pytest.raises(_core.PlacementError, match="to_place"):
        _core.spgemm_gpu(on_host, b.on_device())
    with pytest.raises(ValueError, match="must be equal"):
        _core.spgemm_gpu(a.on_device(), Sparse([1, 2], 5).on_device())
    with pytest.raises(_core.NotCompiledError, match="min_plus"):
        _core.spgemm_gpu(a.on_device(), b.on_device(), "min_plus")
    with pytest.raises(ValueError, match="auto, hash, bitmap"):
        _core.spgemm_gpu(a.on_device(), b.on_device(), method="merge")


def ascending(lengths, cols, seed, dtype):
    """Rows with distinct, ascending columns."""
    rng = np.random.default_rng(seed)
    rows = [np.sort(rng.choice(cols, n, replace=False)) for n in lengths]
    return Sparse(lengths, cols, seed, dtype, np.concatenate([*rows, []]).astype(np.int32))


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", ["float64", "float32", None])
@pytest.mark.parametrize("first_x, first_y", [(0, 0), (0, 25), (30, 0), (3, 90)])
def test_sums_of_rows(dtype, first_x, first_y):
    lx, ly = lengths_of("short", 40, 1), lengths_of("short", 33, 2)
    lx[7], ly[20], lx[10:20] = 800, 900, 0
    x, y = ascending(lx, 1000, 3, dtype), ascending(ly, 1000, 4, dtype)
    first = min(first_x, first_y)
    last = max(first_x + 40, first_y + 33)
    dense = np.zeros((last - first, 1000))
    seen = np.zeros_like(dense, bool)
    for m, at in ((x, first_x), (y, first_y)):
        rows = np.repeat(np.arange(m.rows), np.diff(m.indptr)) + at - first
        dense[rows, m.indices] += 1 if dtype is None else m.values
        seen[rows, m.indices] = True
    c = _core.add_rows_gpu(x.on_device(), first_x, y.on_device(), first_y)
    rows, columns = np.nonzero(seen)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=last - first))])
    expected = (indptr, columns.astype(np.int32), dense[rows, columns], None)
    check(c, expected, dtype or "bool", f"rows from {first_x} and {first_y}")


def test_sum_with_nothing():
    x = ascending([3, 0, 5], 9, 1, "float64")
    none = Sparse([0, 0, 0], 9, indices=np.zeros(0, np.int32))
    c = _core.to_place(_core.add_rows_gpu(x.on_device(), 0, none.on_device(), 0), "host")
    np.testing.assert_array_equal(c.indptr, x.indptr)
    np.testing.assert_array_equal(c.values, x.values)
    c = _core.add_rows_gpu(none.on_device(), 0, none.on_device(), 2)
    assert c.nnz == 0 and c.shape == (5, 9)


def test_matrices_on_a_gpu_stay_there():
    import penstock as ps

    a, b = (
        ps.csr_array((m.values, m.indices, m.indptr), shape=(m.rows, m.cols))
        for m in case("tiny_rows")
    )
    c = a.to(ps.device(0)) @ b.to(ps.device(0))
    assert c.place == "device"
    on_cpu = a @ b
    np.testing.assert_array_equal(c.to(ps.host).indices, on_cpu.indices)
    np.testing.assert_array_equal(c.to(ps.host).data, on_cpu.data)
    with pytest.raises(_core.PlacementError, match="host"):
        a.to(ps.device(0)) @ b
    with pytest.raises(_core.PlacementError, match="host"):
        ps.spgemm(a.to(ps.device(0)), b.to(ps.device(0)), mask=on_cpu)


def test_timing():
    a, b = case("power_law")
    seconds = _core.time_spgemm_gpu(a.on_device(), b.on_device(), repeats=2)
    assert len(seconds) == 2 and min(seconds) > 0


@pytest.mark.parametrize("algorithm", ["default", "alg2", "alg3"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cusparse(algorithm, dtype):
    try:
        _core.cusparse_version()
    except _core.PlacementError as e:
        pytest.skip(f"no cuSPARSE here: {e}")
    # It wants rows without duplicates.
    a = ascending(np.minimum(lengths_of("power_law", 900, 1), 700), 800, 2, dtype)
    b = ascending(lengths_of("short", 800, 3), 700, 4, dtype)
    seconds, c = _core.time_cusparse_spgemm_gpu(a.on_device(), b.on_device(), algorithm, 2)
    assert len(seconds) == 2 and min(seconds) > 0
    c = _core.to_place(c, "host")
    indptr, indices, values, _ = numpy_product(a, b)
    np.testing.assert_array_equal(c.indptr, indptr)
    order = np.argsort(np.repeat(np.arange(a.rows), np.diff(indptr)) * 700 + c.indices)
    np.testing.assert_array_equal(np.asarray(c.indices)[order], indices)
    np.testing.assert_array_equal(np.asarray(c.values)[order], values.astype(dtype))
