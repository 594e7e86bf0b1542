"""SpMV on a GPU: every instance, awkward shapes, every placement under every schedule."""

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from reference import INSTANCES, SHAPES, Case, agrees

from penstock import _core

pytestmark = pytest.mark.gpu
PLACES = ["host", "pinned", "managed", "device"]


def run(matrix, x, y, how, semiring="plus_times", alpha=None, beta=None):
    return _core.product(matrix, x, y, how, semiring=semiring, alpha=alpha, beta=beta)


def poisoned(n, dtype):
    return np.full(n, 77 if dtype == "uint8" else np.nan, dtype)


def schedules():
    """Name -> schedule on GPUs; blocks from far below a row to above the matrix."""
    gpus = list(range(_core.device_count()))
    s = {"in_core": _core.in_core(0), "zero_copy": _core.zero_copy(0)}
    for block, slots in [(512, 1), (5000, 2), (1 << 16, 3), (1 << 20, 8), (0, 3)]:
        s[f"streamed_{block}_{slots}"] = _core.streamed([0], block_bytes=block, slots=slots)
    s["streamed_twice_one_gpu"] = _core.streamed([0, 0], block_bytes=1 << 15)
    s["streamed_all_gpus"] = _core.streamed(gpus, block_bytes=1 << 15)
    s["streamed_gpu_and_cpu"] = _core.streamed([0, -1], block_bytes=1 << 15)
    s["streamed_small_ring"] = _core.streamed([0], ring_bytes=100_000)
    return s


SCHEDULES = list(schedules())


def readable(place, how):
    return place != "host" if not how.startswith("streamed") else place != "device"


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
@pytest.mark.parametrize("shape", ["power_law", "hubs_among_short_rows", "around_the_tile"])
def test_every_instance(semiring, values, vector, shape):
    case = Case(shape, values)
    x = case.vector(vector)
    y = poisoned(case.rows, vector)
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0), semiring)
    agrees(y, *case.product(x, semiring))


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("values, vector", [("float64", "float64"), ("complex128", "complex128")])
def test_awkward_shapes(shape, values, vector):
    case = Case(shape, values)
    x = case.vector(vector)
    y = poisoned(case.rows, vector)
    run(_core.to_place(case.matrix, "device"), x, y, _core.in_core(0))
    agrees(y, *case.product(x, "plus_times"))


@pytest.mark.parametrize(
    "shape", ["one_row_has_everything", "power_law", "mostly_empty", "no_rows", "no_entries"]
)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", SCHEDULES)
def test_placement_and_schedule(place, how, shape):
    case = Case(shape, "float64")
    x, old = case.vector("float64"), case.vector("float64", case.rows, 3)
    placed = _core.to_place(case.matrix, place)
    assert placed.place == place
    if not readable(place, how):
        with pytest.raises(_core.PlacementError, match="move|place it|use InCore"):
            run(placed, x, old.copy(), schedules()[how])
        return
    y = poisoned(case.rows, "float64")
    trace = run(placed, x, y, schedules()[how])
    agrees(y, *case.product(x, "plus_times"))
    if how == "streamed_small_ring":
        assert trace["ring_bytes"] <= 100_000
    if place == "device":
        assert trace["link_bytes"] == 8 * (case.rows + case.cols)
    y = old.copy()
    run(placed, x, y, schedules()[how], alpha=-1.5, beta=0.25)
    agrees(y, *case.product(x, "plus_times", -1.5, 0.25, old))


@pytest.mark.gpu_small
def test_streams_pinned_memory_in_small_blocks():
    case = Case("hubs_among_short_rows", None)
    x = case.vector("float32")
    y = poisoned(case.rows, "float32")
    trace = run(
        _core.to_place(case.matrix, "pinned"),
        x,
        y,
        _core.streamed([0, 0], block_bytes=20_000, slots=2),
    )
    agrees(y, *case.product(x, "plus_times"))
    assert trace["tiles"] > 5


@pytest.mark.parametrize(
    "semiring, vector",
    [
        ("min_plus", "float32"),
        ("max_times", "float64"),
        ("or_and", "uint8"),
        ("plus_times", "complex64"),
    ],
)
@pytest.mark.parametrize("how", ["in_core", "streamed_5000_2"])
def test_alpha_and_beta(semiring, vector, how):
    case = Case("hubs_among_short_rows", None)
    x, old = case.vector(vector), case.vector(vector, case.rows, 3)
    alpha, beta = {"uint8": (1, 1), "complex64": (1 - 2j, 0.5j)}.get(vector, (0.5, 0.25))
    placed = _core.to_place(case.matrix, "device" if how == "in_core" else "pinned")
    y = old.copy()
    run(placed, x, y, schedules()[how], semiring, alpha, beta)
    agrees(y, *case.product(x, semiring, alpha, beta, old))


@pytest.mark.parametrize(
    "how", ["in_core", "streamed_65536_3", "streamed_twice_one_gpu", "streamed_all_gpus"]
)
def test_the_same_bits_in_every_run(how):
    case = Case("power_law", "float32")
    x = case.vector("float32")
    placed = _core.to_place(case.matrix, "device" if how == "in_core" else "pinned")
    runs = []
    for _ in range(6):
        y = poisoned(case.rows, "float32")
        run(placed, x, y, schedules()[how])
        runs.append(y.tobytes())
    assert len(set(runs)) == 1


def test_several_threads_share_a_gpu():
    case = Case("power_law", "float64")
    placed = _core.to_place(case.matrix, "pinned")

    def one(seed):
        x = case.vector("float64", seed=seed)
        y = poisoned(case.rows, "float64")
        how = _core.streamed([seed % _core.device_count()], block_bytes=1 << 15)
        run(placed, x, y, how if seed % 2 else _core.zero_copy(seed % _core.device_count()))
        agrees(y, *case.product(x, "plus_times"))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(one, range(24)))


def test_row_range_of_pinned_memory_has_its_offsets_elsewhere():
    case = Case("power_law", "float64")
    part = _core.to_place(case.matrix, "pinned").row_range(1003, 15_001)
    x = case.vector("float64")
    expected, tolerance = case.product(x, "plus_times")
    for how in (_core.zero_copy(0), _core.in_core(0), _core.streamed([0], block_bytes=9000)):
        y = poisoned(13_998, "float64")
        run(part, x, y, how)
        agrees(y, expected[1003:15_001], tolerance[1003:15_001])


def test_a_round_trip_keeps_every_array():
    case = Case("mostly_empty", "complex64")
    matrix = case.matrix
    for place in ["device", "managed", "pinned", "device", "host"]:
        matrix = _core.to_place(matrix, place)
    assert (matrix.indptr == case.indptr).all() and (matrix.indices == case.indices).all()
    assert matrix.values.tobytes() == case.values.tobytes()


def test_refusals_name_the_remedy():
    case = Case("regular_7", "float64")
    placed = _core.to_place(case.matrix, "device")
    x, y = case.vector("float64"), np.zeros(case.rows)
    reads = [
        lambda: placed.indptr,
        lambda: placed.indices,
        lambda: placed.values,
        lambda: placed.validate(),
        lambda: run(placed, x, y, _core.in_core()),
        lambda: run(placed, x, y, _core.streamed([-1])),
        lambda: _core.product_transposed(placed, y, x),
    ]
    for read in reads:
        with pytest.raises(_core.PlacementError, match="host|InCore"):
            read()
    absent = _core.device_count()
    with pytest.raises(_core.PlacementError, match=f"GPU {absent} does not exist"):
        _core.to_place(case.matrix, "device", absent)
    with pytest.raises(_core.PlacementError, match=f"GPU {absent} does not exist"):
        run(case.matrix, x, y, _core.streamed([0, absent]))
    with pytest.raises(ValueError, match="host, pinned, managed, device"):
        _core.to_place(case.matrix, "tape")
    run(placed, x, y, _core.in_core(0))  # an error leaves nothing behind
    agrees(y, *case.product(x, "plus_times"))


def test_too_large_for_the_device_is_a_memory_error():
    with pytest.raises(MemoryError, match="cannot allocate 281474976710656 bytes of memory on"):
        _core.time_copy_gpu(1 << 48, "device", "device")


def test_another_gpu():
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    last = _core.device_count() - 1
    case = Case("power_law", "float64")
    placed = _core.to_place(case.matrix, "device", last)
    x, y = case.vector("float64"), poisoned(case.rows, "float64")
    run(placed, x, y, _core.in_core(last))
    agrees(y, *case.product(x, "plus_times"))
    with pytest.raises(_core.PlacementError, match="InCore on GPU 0"):
        run(placed, x, y, _core.in_core(0))
    cupy = pytest.importorskip("cupy")
    assert cupy.cuda.runtime.getDevice() == 0, "a product must not change the caller's current GPU"


def test_timing_gives_the_product_too():
    case = Case("power_law", "float64")
    x = case.vector("float64")
    seconds, y = _core.time_spmv_gpu(_core.to_place(case.matrix, "device"), x, repeats=3)
    agrees(y, *case.product(x, "plus_times"))
    assert len(seconds) == 3 and min(seconds) > 0
    with pytest.raises(_core.PlacementError, match="to_place"):
        _core.time_spmv_gpu(case.matrix, x)


def test_more_than_2_31_nonzeros():
    """2.2e9 entries of a pattern; x holds small integers, so that sums are exact."""
    free = _core.topology()["available_bytes"]
    if free < 24 << 30 and not os.environ.get("PENSTOCK_TEST_BIG"):
        pytest.skip(f"needs 24 GiB free, there are {free >> 30} (PENSTOCK_TEST_BIG=1 tries anyway)")
    rng = np.random.default_rng(4)
    rows, cols, nnz = 1_000_003, 50_021, 2_200_000_000
    indptr = np.arange(rows + 1, dtype=np.int64) * 1200  # the last row takes the rest: 1e9 entries
    indptr[-1] = nnz
    some = rng.integers(0, cols, 9_999_991, dtype=np.int32)
    indices = np.resize(some, nnz)
    x = rng.integers(0, 100, cols).astype(np.float64)
    matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, None, check="cheap")
    tail = nnz - int(indptr[-2])
    sample = np.unique(np.r_[0:50, rng.integers(0, rows - 1, 500), rows - 50 : rows - 1])
    expected = [x[some[np.arange(indptr[r], indptr[r + 1]) % len(some)]].sum() for r in sample]
    laps, rest = divmod(tail, len(some))
    start = int(indptr[-2]) % len(some)
    last = laps * x[some].sum() + x[some[(start + np.arange(rest)) % len(some)]].sum()
    placed = _core.to_place(matrix, "device")
    for m, how in [(placed, _core.in_core(0)), (matrix, _core.streamed([0]))]:
        y = poisoned(rows, "float64")
        run(m, x, y, how)
        assert (y[sample] == expected).all()
        assert y[-1] == last
        assert not np.isnan(y).any()


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("vector", ["float32", "float64"])
def test_planned_products(shape, vector):
    case = Case(shape, vector)
    x = case.vector(vector)
    placed = _core.to_place(case.matrix, "device")
    expected, tolerance = case.product(x, "plus_times")
    for how in ({}, {"tiles": True}, {"planned": False}):
        _, y = _core.time_spmv_gpu(placed, x, repeats=2, **how)
        agrees(y, expected, tolerance)


@pytest.mark.parametrize("length", [1, 3, 7, 8, 27, 31, 33, 63, 64, 65])
@pytest.mark.parametrize("vector", ["float32", "float64", "complex128"])
def test_tiles_of_whole_rows(length, vector):
    rows, cols = 4097, 1013
    rng = np.random.default_rng(length)
    lengths = np.maximum(length - (rng.random(rows) < 0.1), 0)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, cols, indptr[-1], dtype=np.int32)
    matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, None)
    x = rng.integers(0, 9, cols).astype(vector)  # sums are exact
    placed = _core.to_place(matrix, "device")
    y, z = (_core.time_spmv_gpu(placed, x, repeats=1, tiles=tiles)[1] for tiles in (True, False))
    sums = np.concatenate([[0], np.cumsum(x[indices])])
    expected = (sums[indptr[1:]] - sums[indptr[:-1]]).astype(vector)
    assert (y == expected).all(), f"row {np.flatnonzero(y != expected)[0]} differs"
    assert (z == expected).all(), f"row {np.flatnonzero(z != expected)[0]} differs without tiles"


@pytest.mark.parametrize("dtype", [None, "float32", "float64"])
def test_long_rows_of_small_matrices(dtype):
    """Rows of few entries, a thread or more each; some of hundreds and thousands, a block each; and empty ones."""
    rng = np.random.default_rng(9)
    rows, cols = 20_011, 5003
    lengths = rng.integers(0, 12, rows)
    lengths[rng.integers(0, rows, 60)] = rng.integers(60, 4097, 60)
    lengths[[0, -1]] = 4096
    lengths[100:400] = 0
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, cols, indptr[-1], dtype=np.int32)
    values = None if dtype is None else rng.integers(-3, 4, indptr[-1]).astype(dtype)
    matrix = _core.Matrix.from_arrays(rows, cols, indptr, indices, values)
    x = rng.integers(0, 9, cols).astype(dtype or "float64")  # sums are exact
    _, y = _core.time_spmv_gpu(_core.to_place(matrix, "device"), x, repeats=2)
    sums = np.concatenate([[0], np.cumsum(x[indices] * (1 if values is None else values))])
    expected = sums[indptr[1:]] - sums[indptr[:-1]]
    assert (y == expected).all(), f"row {np.flatnonzero(y != expected)[0]} differs"
