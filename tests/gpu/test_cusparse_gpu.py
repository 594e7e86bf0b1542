"""cuSPARSE on demand: right results where it can, clear refusals where it cannot."""

import numpy as np
import pytest
from reference import SHAPES, Case, agrees

from penstock import _core

pytestmark = pytest.mark.gpu
TYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.fixture(scope="module", autouse=True)
def library():
    try:
        return _core.cusparse_version()
    except _core.PlacementError as e:
        pytest.skip(f"no cuSPARSE here: {e}")


def on_device(case):
    return _core.to_place(case.matrix, "device")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_vectors(shape, dtype):
    case = Case(shape, dtype)
    x, old = case.vector(dtype), case.vector(dtype, case.rows, 3)
    placed = on_device(case)
    y = np.full(case.rows, np.nan, dtype)
    if len(case.indices) > case.rows * case.cols:
        with pytest.raises(ValueError, match="more entries than places"):
            _core.product(placed, x, y, algorithm="cusparse")
        return
    trace = _core.product(placed, x, y, algorithm="cusparse")  # the matrix is on a GPU: that one
    agrees(y, *case.product(x, "plus_times"))
    assert trace["kernel"] == "cusparse"
    y = old.copy()
    _core.product(placed, x, y, _core.in_core(0), "cusparse", alpha=-1.5, beta=0.25)
    agrees(y, *case.product(x, "plus_times", -1.5, 0.25, old))


@pytest.mark.parametrize("k", [1, 3, 32, 33])
@pytest.mark.parametrize("layout", ["C", "F", "wide"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_columns(k, layout, dtype):
    case = Case("hubs_among_short_rows", dtype)
    x = case.vector(dtype, case.cols * k).reshape(case.cols, k)
    y = np.full((case.rows, k), np.nan, dtype)
    if layout == "F":
        x, y = np.asfortranarray(x), np.asfortranarray(y)
    if layout == "wide":
        x = np.concatenate([x, x], 1)[:, :k]
    placed = on_device(case)
    for _ in range(2):  # the second call meets what the first has left
        _core.product_columns(placed, x, y, _core.in_core(0), "cusparse")
    for j in sorted({0, k - 1}):
        agrees(y[:, j], *case.product(np.ascontiguousarray(x[:, j]), "plus_times"))


@pytest.mark.parametrize("name", ["default", "csr_alg1", "csr_alg2"])
def test_timing(name):
    case = Case("power_law", "float64")
    x = case.vector("float64")
    seconds, y = _core.time_cusparse_gpu(on_device(case), x, name, repeats=3)
    assert len(seconds) == 3 and min(seconds) > 0
    agrees(y, *case.product(x, "plus_times"))


@pytest.mark.parametrize("name", ["default", "csr_alg2"])
def test_timing_of_columns(name):
    case = Case("power_law", "float32")
    x = case.vector("float32", case.cols * 8).reshape(case.cols, 8)
    _, y = _core.time_cusparse_gpu(on_device(case), x, name, repeats=1)
    agrees(y[:, 5], *case.product(np.ascontiguousarray(x[:, 5]), "plus_times"))


def test_refusals():
    case, pattern = Case("regular_7", "float64"), Case("regular_7", None)
    x, y = case.vector("float64"), np.zeros(case.rows)
    with pytest.raises(ValueError, match="no patterns"):
        _core.product(on_device(pattern), x, y, algorithm="cusparse")
    with pytest.raises(ValueError, match="no semiring max_times"):
        _core.product(on_device(case), x, y, algorithm="cusparse", semiring="max_times")
    with pytest.raises(ValueError, match="of one type"):
        _core.product(
            on_device(case), x.astype(np.float32), y.astype(np.float32), algorithm="cusparse"
        )
    with pytest.raises(ValueError, match="in core on a GPU"):
        _core.product(case.matrix, x, y, _core.streamed([0]), algorithm="cusparse")
    with pytest.raises(ValueError, match="not one of default, csr_alg1, csr_alg2"):
        _core.time_cusparse_gpu(on_device(case), x, "magic")


def test_a_thousand_products_take_no_more_memory():
    case = Case("power_law", "float64")
    placed, x, y = on_device(case), case.vector("float64"), np.zeros(case.rows)
    expected, tolerance = case.product(x, "plus_times")
    for _ in range(1000):
        _core.product(placed, x, y, algorithm="cusparse", traced=False)
    agrees(y, expected, tolerance)
