"""SpMV on a GPU straight from packed blocks: every instance, awkward shapes, every kind of value."""

import numpy as np
import pytest
from reference import INSTANCES, SHAPES, Case, agrees

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def on_gpu(case_or_matrix, x, semiring="plus_times", block_nnz=1 << 19, repeats=1):
    packed = _core.pack(case_or_matrix, block_nnz=block_nnz)
    return _core.time_spmv_packed_gpu(packed, x, semiring, repeats)[1]


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
@pytest.mark.parametrize("shape", ["power_law", "hubs_among_short_rows", "around_the_tile"])
def test_every_instance(semiring, values, vector, shape):
    case = Case(shape, values)
    x = case.vector(vector)
    for block_nnz in (1024, 1 << 19):  # long rows in pieces; all in one block
        agrees(on_gpu(case.matrix, x, semiring, block_nnz), *case.product(x, semiring))


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("values, vector", [(None, "float64"), ("complex128", "complex128")])
def test_awkward_shapes(shape, values, vector):
    case = Case(shape, values)
    x = case.vector(vector)
    agrees(on_gpu(case.matrix, x, block_nnz=50_000), *case.product(x, "plus_times"))


def lengths_case(lengths, cols, dtype=None):
    case = Case.__new__(Case)
    rng = np.random.default_rng(4)
    case.cols, case.rows = cols, len(lengths)
    case.indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    nnz = int(case.indptr[-1])
    row = np.repeat(np.arange(case.rows), lengths)
    columns = rng.integers(0, cols, nnz, dtype=np.int32)
    case.indices = columns[np.lexsort((columns, row))]
    case.values = None if dtype is None else rng.integers(1, 9, nnz).astype(dtype)
    case.matrix = _core.Matrix.from_arrays(case.rows, cols, case.indptr, case.indices, case.values)
    return case


TILES = {
    "rows that end with tiles": [1024, 512, 512, 1023, 1, 2048, 0, 1, 1023],
    "rows around a tile": [1023, 1025, 1024, 2047, 2049, 0, 0, 3],
    "listed and marked starts": [10] * 102 + [4] + [9] * 114 + [1] * 5000,
    "rows through 31, 32, 33 and 65 tiles": [31 * 1024, 1, 32 * 1024 + 5, 33 * 1024, 7, 65 * 1024],
    "rows around a step": [31, 32, 33, 1, 63, 64, 65] * 60,
    "many blocks": [20] * 20_000,
    "runs of empty rows": ([0] * 1500 + [40] + [0] * 700 + [1, 1]) * 5,
}


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", TILES)
def test_rows_against_tiles(shape):
    case = lengths_case(np.array(TILES[shape]), 5003)
    x = case.vector("float64")
    for block_nnz in (1024, 2048, 1 << 19):  # "many blocks" of 1024 take several launches
        agrees(on_gpu(case.matrix, x, block_nnz=block_nnz), *case.product(x, "plus_times"))


KINDS = {
    "constant": lambda n, r: np.full(n, np.pi),
    "dictionary4": lambda n, r: r.choice([0.1, 7, -0.5, 1e30], n),
    "dictionary8": lambda n, r: r.choice(r.standard_normal(256), n),
    "int8": lambda n, r: r.integers(-128, 128, n),
    "int16": lambda n, r: r.integers(-32768, 32768, n),
    "float32": lambda n, r: r.standard_normal(n).astype(np.float32),
    "raw": lambda n, r: r.standard_normal(n),
}


@pytest.mark.gpu_small
@pytest.mark.parametrize("kind", KINDS)
def test_value_kinds(kind):
    case = Case("hubs_among_short_rows", "float64")
    case.values = KINDS[kind](len(case.indices), np.random.default_rng(3)).astype(np.float64)
    case.matrix = _core.Matrix.from_arrays(
        case.rows, case.cols, case.indptr, case.indices, case.values
    )
    packed = _core.pack(case.matrix, block_nnz=4096)
    assert packed.value_kind == kind
    x = case.vector("float64")
    y = _core.time_spmv_packed_gpu(packed, x, "plus_times", 1)[1]
    agrees(y, *case.product(x, "plus_times"))


def test_max_times_of_negative_numbers_is_zero():
    case = lengths_case(np.array([5, 32, 64, 1500, 1]), 700, "float64")
    x = -case.vector("float64") - 1
    np.testing.assert_array_equal(on_gpu(case.matrix, x, "max_times"), np.zeros(5))


def test_many_columns():
    cols = 2**28 + 1
    indices = np.array([0, cols - 1, 5, 5, cols - 1, 0, 0, cols - 1, cols - 2], np.int32)
    a = _core.Matrix.from_arrays(4, cols, np.array([0, 2, 2, 7, 9], np.int64), indices, None)
    x = np.zeros(cols, np.float32)
    x[[0, 5, cols - 2, cols - 1]] = 1, 10, 100, 1000
    np.testing.assert_array_equal(on_gpu(a, x), np.float32([1001, 0, 1022, 1100]))


def test_the_same_bits_in_every_run():
    a = ps.generate.rmat(17, seed=5)
    x = np.random.default_rng(1).standard_normal(a.shape[1])
    packed = _core.pack(a._core)
    first = _core.time_spmv_packed_gpu(packed, x, "plus_times", 1)[1]
    for _ in range(3):
        again = _core.time_spmv_packed_gpu(packed, x, "plus_times", 2)[1]
        assert again.tobytes() == first.tobytes()
    y = np.empty(a.shape[0])
    _core.multiply_packed(packed, x, y)
    np.testing.assert_allclose(first, y, rtol=0, atol=1e-10 * np.abs(x).sum())
