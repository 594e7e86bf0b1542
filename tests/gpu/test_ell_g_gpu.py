"""ELL-G on a GPU: every instance, awkward shapes, every memory."""

import numpy as np
import pytest
from reference import INSTANCES, Case, agrees

from penstock import _core

pytestmark = pytest.mark.gpu
SHAPES = ["no_rows", "no_columns", "no_entries", "one_entry", "column_vector", "regular_7"]


@pytest.mark.parametrize("semiring, values, vector", INSTANCES)
def test_every_instance(semiring, values, vector):
    case = Case("regular_7", values)
    x = case.vector(vector)
    ell = _core.to_ell_g(case.matrix).to_place("device")
    seconds, y = _core.time_spmv_ell_g_gpu(ell, x, semiring, repeats=1)
    agrees(y, *case.product(x, semiring))
    assert len(seconds) == 1


@pytest.mark.gpu_small
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block_bytes", [1, 50_000, 0])
def test_awkward_shapes_and_blocks(shape, block_bytes):
    case = Case(shape, "float64")
    x = case.vector("float64")
    ell = _core.to_ell_g(case.matrix, block_bytes).to_place("device")
    _, y = _core.time_spmv_ell_g_gpu(ell, x, repeats=1)
    agrees(y, *case.product(x, "plus_times"))


@pytest.mark.parametrize("place", ["pinned", "managed", "device"])
def test_every_memory(place):
    case = Case("mostly_empty", None)  # rows of 0 to 89: little padding in 256 rows, much in all
    small = case.matrix.row_range(0, 2000)
    try:
        ell = _core.to_ell_g(small, 1).to_place(place)
    except ValueError as e:
        pytest.fail(f"2000 rows take less than a MiB and are never refused: {e}")
    assert ell.place == place
    x = case.vector("float32")
    _, y = _core.time_spmv_ell_g_gpu(ell, x, repeats=1)
    expected, tolerance = case.product(x, "plus_times")
    agrees(y, expected[:2000], tolerance[:2000])


def test_the_way_back_from_the_device():
    case = Case("regular_7", "float32")
    ell = _core.to_ell_g(case.matrix).to_place("device")
    with pytest.raises(_core.PlacementError, match="host"):
        ell.to_csr()
    back = ell.to_place("host").to_csr()
    assert (back.indices == case.indices).all() and (back.values == case.values).all()


def test_host_memory_is_refused():
    case = Case("regular_7", "float64")
    with pytest.raises(_core.PlacementError, match="move it to that GPU"):
        _core.time_spmv_ell_g_gpu(_core.to_ell_g(case.matrix), case.vector("float64"))


def test_the_same_bits_in_every_run():
    case = Case("regular_7", "float32")
    ell = _core.to_ell_g(case.matrix).to_place("device")
    x = case.vector("float32")
    assert len({_core.time_spmv_ell_g_gpu(ell, x, repeats=1)[1].tobytes() for _ in range(5)}) == 1
    y = np.empty(case.rows, np.float32)
    _core.multiply_ell_g(_core.to_ell_g(case.matrix), x, y)
    agrees(y, *case.product(x, "plus_times"))
