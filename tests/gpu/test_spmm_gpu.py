"""SpMM on a GPU: every instance, awkward shapes and widths, strides, every way to the GPU."""

import numpy as np
import pytest
from reference import INSTANCES, SHAPES, Case, agrees, random_vector

from penstock import _core

pytestmark = pytest.mark.gpu
WIDTHS = [1, 2, 3, 5, 6, 8, 12, 16, 20, 24, 31, 32, 33, 100, 128, 257]
LAYOUTS = ["C", "F", "wide", "odd"]


def columns(n, k, dtype, layout="C", seed=2):
    """An n x k array in one of four layouts: by rows, by columns, rows 4 apart, rows 1 apart off alignment."""
    flat = random_vector(np.random.default_rng(seed), n * k, dtype).reshape(n, k)
    if layout in "CF":
        return np.array(flat, order=layout)
    pad, skip = (4, 0) if layout == "wide" else (1, 1)
    room = np.zeros((n, k + pad), dtype)
    out = room[:, skip : skip + k]
    out[:] = flat
    return out


def check(case, x, y, semiring="plus_times", alpha=None, beta=None, old=None, some=None):
    """Compares columns of Y (all, or `some`) with NumPy's."""
    for j in range(x.shape[1]) if some is None else some:
        before = None if old is None else old[:, j]
        expected, tolerance = case.product(
            np.ascontiguousarray(x[:, j]), semiring, alpha, beta, before
        )
        try:
            agrees(y[:, j], expected, tolerance)
        except AssertionError as e:
            raise AssertionError(f"column {j} of {x.shape[1]}: {e}") from None


def some_of(k):
    return sorted({0, k // 2, max(k - 2, 0), k - 1, min(31, k - 1), min(32, k - 1)})


def run(matrix, x, y, how, semiring="plus_times", alpha=None, beta=None):
    return _core.product_columns(matrix, x, y, how, semiring=semiring, alpha=alpha, beta=beta)


def poisoned(n, k, dtype, layout="C"):
    y = columns(n, k, dtype, layout)
    y[:] = 77 if dtype == "uint8" else np.nan
    return y


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
@pytest.mark.parametrize("k", [3, 32, 40])
def test_every_instance(semiring, values, vector, k):
    case = Case("hubs_among_short_rows", values)
    x = columns(case.cols, k, vector)
    y = poisoned(case.rows, k, vector)
    trace = run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0), semiring)
    check(case, x, y, semiring, some=some_of(k))
    assert trace["tiles"] == 1 and trace["kernel"] == "merge_path"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [2, 32, 64, 128])
@pytest.mark.parametrize("vector", ["float32", "float64"])
def test_awkward_shapes(shape, k, vector):
    case = Case(shape, vector)
    if k == 128 and case.rows > 50_000:
        pytest.skip("NumPy would take minutes; 32 columns take the same path")
    x = columns(case.cols, k, vector)
    y = poisoned(case.rows, k, vector)
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0))
    check(case, x, y, some=some_of(k))
    assert not np.isnan(y).any(), "some columns were never written"


@pytest.mark.parametrize("k", WIDTHS)
@pytest.mark.parametrize("vector, values", [("float32", None), ("float64", "float64")])
def test_every_width(k, vector, values):
    case = Case("around_the_tile", values)
    x = columns(case.cols, k, vector)
    y = poisoned(case.rows, k, vector)
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0))
    check(case, x, y)


@pytest.mark.gpu_small
@pytest.mark.parametrize("k", [1, 5, 33, 64, 128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_beta(k, layout):
    case = Case("around_the_tile", "float32")
    x, old = (columns(n, k, "float32", layout, s) for n, s in ((case.cols, 2), (case.rows, 3)))
    y = columns(case.rows, k, "float32", layout, 3)
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0), alpha=-1.5, beta=0.25)
    check(case, x, y, alpha=-1.5, beta=0.25, old=old, some=some_of(k))


@pytest.mark.gpu_small
def test_hubs_are_shared_by_blocks():
    case = Case("one_row_has_everything", "float64")
    x = columns(case.cols, 5, "float64")
    y = poisoned(case.rows, 5, "float64")
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0))
    check(case, x, y)


@pytest.mark.parametrize(
    "shape", ["one_row_has_everything", "power_law", "mostly_empty", "no_rows"]
)
@pytest.mark.parametrize(
    "place, how",
    [
        ("pinned", "in_core"),
        ("managed", "zero_copy"),
        ("host", "small_blocks"),
        ("pinned", "streamed"),
        ("pinned", "gpu_and_cpu"),
        ("pinned", "all_gpus"),
    ],
)
def test_streamed_and_zero_copy(shape, place, how):
    schedule = {
        "in_core": lambda: _core.in_core(0),
        "zero_copy": lambda: _core.zero_copy(0),
        "small_blocks": lambda: _core.streamed([0], block_bytes=5000, slots=2),
        "streamed": lambda: _core.streamed([0]),
        "gpu_and_cpu": lambda: _core.streamed([0, -1, 0], block_bytes=1 << 15),
        "all_gpus": lambda: _core.streamed(list(range(_core.device_count())), block_bytes=1 << 15),
    }[how]()
    case = Case(shape, "float64")
    placed = _core.to_place(case.matrix, place)
    for layout in ("C", "wide"):
        x, old = (columns(n, 6, "float64", layout, s) for n, s in ((case.cols, 2), (case.rows, 3)))
        y = poisoned(case.rows, 6, "float64", layout)
        run(placed, x, y, schedule)
        check(case, x, y, some=[0, 5])
        y = columns(case.rows, 6, "float64", layout, 3)
        run(placed, x, y, schedule, alpha=2.0, beta=-0.5)
        check(case, x, y, alpha=2.0, beta=-0.5, old=old, some=[0, 5])


@pytest.mark.parametrize("k", [7, 32, 64, 128])
def test_the_same_bits_in_every_run_and_for_every_panel(k):
    case = Case("power_law", "float32")
    placed = _core.to_place(case.matrix, "device")
    x = columns(case.cols, k, "float32")
    runs = []
    for _ in range(4):
        y = poisoned(case.rows, k, "float32")
        run(placed, x, y, _core.in_core(0))
        runs.append(y.tobytes())
    assert len(set(runs)) == 1


@pytest.mark.parametrize("panel", [0, 1, 3, 32, 64, 128])
def test_timing_gives_the_product_too(panel):
    case = Case("power_law", "float64")
    x = columns(case.cols, 100, "float64")
    placed = _core.to_place(case.matrix, "device")
    seconds, y = _core.time_spmm_gpu(placed, x, repeats=2, panel=panel)
    assert len(seconds) == 2 and min(seconds) > 0
    check(case, x, y, some=some_of(100))
    with pytest.raises(_core.PlacementError, match="to_place"):
        _core.time_spmm_gpu(case.matrix, x)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [12, 32, 40, 64, 100, 128, 200])
@pytest.mark.parametrize(
    "vector, values", [("float32", None), ("float32", "float32"), ("float64", "float64")]
)
def test_listed_rows(shape, k, vector, values):
    """Plans for many products list the rows by length: short, medium and long ones, and pieces of the longest."""
    case = Case(shape, values)
    if k >= 64 and case.rows > 50_000:
        pytest.skip("NumPy would take minutes; 32 columns take the same path")
    x = columns(case.cols, k, vector)
    _, y = _core.time_spmm_gpu(_core.to_place(case.matrix, "device"), x, repeats=2)
    check(case, x, y, some=some_of(k))
    again = _core.time_spmm_gpu(_core.to_place(case.matrix, "device"), x, repeats=1)[1]
    np.testing.assert_array_equal(y, again)


@pytest.mark.gpu_small
def test_listed_rows_of_every_kind():
    lengths = np.array([5000, 0, 3, 64, 65, 512, 513, 4096, 4097, 12_289, 7] + [9] * 300)
    rng = np.random.default_rng(4)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, 5000, indptr[-1]).astype(np.int32)
    values = rng.random(indptr[-1])
    a = _core.Matrix.from_arrays(len(lengths), 5000, indptr, indices, values)
    for k in (12, 32, 64, 100):
        x = rng.random((5000, k))
        y = _core.time_spmm_gpu(_core.to_place(a, "device"), x, repeats=1)[1]
        expected = np.add.reduceat(values[:, None] * x[indices], indptr[:-1], axis=0)
        expected[lengths == 0] = 0
        np.testing.assert_allclose(y, expected, rtol=1e-12)


@pytest.mark.parametrize("k", [12, 100, 200])
@pytest.mark.parametrize("room", [0, 4])
def test_listed_rows_add_to_y(k, room):
    """alpha and beta, and rows of X and Y that lie apart, with rows of pieces; twice, on one list."""
    cp = pytest.importorskip("cupy")
    import penstock as ps

    lengths = np.array([9000, 0, 3, 65, 513, 4097] + [9] * 300)
    rng = np.random.default_rng(6)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, 5000, indptr[-1]).astype(np.int32)
    values = rng.random(indptr[-1])
    a = ps.csr_array((values, indices, indptr), shape=(len(lengths), 5000)).to(ps.device(0))
    x = rng.random((5000, k + room))
    y = rng.random((len(lengths), k + room))
    sums = np.add.reduceat(values[:, None] * x[indices][:, :k], indptr[:-1], axis=0)
    sums[lengths == 0] = 0
    there = cp.asarray(x)[:, :k]
    for _ in range(2):
        out = cp.asarray(y)
        a.dot(there, out=out[:, :k], alpha=2.0, beta=-0.5)
        np.testing.assert_allclose(out[:, :k].get(), 2 * sums - 0.5 * y[:, :k], rtol=1e-11)
        np.testing.assert_array_equal(out[:, k:].get(), y[:, k:])


def test_no_columns():
    case = Case("regular_7", "float64")
    y = np.empty((case.rows, 0))
    run(_core.to_place(case.matrix, "device"), np.empty((case.cols, 0)), y, _core.in_core(0))


def test_python_surface():
    import penstock as ps

    case = Case("regular_7", "float64")
    a = ps.csr_array((case.values, case.indices, case.indptr), shape=(case.rows, case.cols))
    x = columns(case.cols, 9, "float64")
    y = a.dot(x, schedule=ps.Streamed(device=0, block="1MiB"))
    check(case, x, y)


@pytest.mark.parametrize("share", [1.0, 0.4, 0.1])
def test_columns_keep_to_the_budget(share):
    case = Case("power_law", "float64")
    k = 70
    x = columns(case.cols, k, "float64")
    one = (case.cols + case.rows + 1) * 8
    # Two lanes of the GPU share the budget; half of each part is for its ring.
    limit = 2 * int(one * k * share + (4 << 20)) * 2
    y = poisoned(case.rows, k, "float64")
    how = _core.streamed([0, 0], block_bytes=1 << 20, slots=2)
    trace = _core.product_columns(case.matrix, x, y, how, device_memory=limit)
    check(case, x, y, some=some_of(k))
    assert trace["ring_bytes"] <= limit // 2
    for asked in (how, _core.in_core(0)):
        matrix = case.matrix if asked is how else _core.to_place(case.matrix, "device")
        with pytest.raises(
            MemoryError, match="a column of X and Y takes.*allow more device_memory"
        ):
            _core.product_columns(matrix, x, y, asked, device_memory=one)
