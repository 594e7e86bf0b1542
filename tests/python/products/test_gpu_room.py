"""What fits a GPU, as the core answers it: predictions in Python ask the same functions that plans are made by."""

import pytest

from penstock import _core

MIB, GIB = 1 << 20, 1 << 30


def test_a_matrix_that_fits_needs_no_ring():
    room = _core.gpu_room(10 * GIB, GIB, 80 * MIB, 80 * MIB)
    assert room["usable"] == 10 * GIB - 512 * MIB - 6 * 80 * MIB
    assert room["usable"] == _core.gpu_usable_bytes(10 * GIB, x_bytes=80 * MIB)
    assert room["kept"] >= GIB and not room["ring"] and room["slot"] == 0


def test_what_does_not_fit_travels():
    sizes = 10 * GIB, 4 * GIB, 8 * MIB, 8 * MIB
    room = _core.gpu_room(*sizes, device_memory=GIB)
    assert room["ring"] and room["slot"] == _core.natural_slot(4 * GIB) == 32 * MIB
    assert 0 < room["kept"] < GIB
    chosen = _core.gpu_room(*sizes, device_memory=GIB, slot_bytes=5 * MIB, keep=False)
    assert chosen["slot"] == 5 * MIB and chosen["kept"] == 0
    assert not _core.gpu_room(*sizes, device_memory=2 * GIB, devices=4)["ring"]
    assert _core.gpu_room(*sizes, device_memory=GIB, lanes=2)["usable"] == GIB // 2


def test_errors_have_the_numbers():
    with pytest.raises(MemoryError, match="GPU 2 may hold 9000 bytes, x takes 8192 of them, and 3"):
        _core.gpu_room(GIB, GIB, 8000, 8000, device_memory=9000, gpu=2)
    with pytest.raises(ValueError, match="a block of 639 bytes holds no row"):
        _core.gpu_room(GIB, GIB, 0, 0, slot_bytes=639)
    for wrong in ({"slots": 0}, {"devices": 0}, {"lanes": 0}):
        with pytest.raises(ValueError, match="at least 1"):
            _core.gpu_room(GIB, GIB, 0, 0, **wrong)


def test_a_ring_bounds_its_slots():
    assert _core.slot_within_ring(3 * MIB, 3, matrix_bytes=GIB) == MIB
    assert _core.slot_within_ring(GIB, 3, matrix_bytes=GIB) == 16 * MIB
    assert _core.slot_within_ring(GIB, 3, on_gpu=False) == 256 << 10
    assert _core.slot_within_ring(GIB, 3, 5 * MIB) == 5 * MIB
    with pytest.raises(ValueError, match="a ring of 1919 bytes does not hold 3 slots of 640"):
        _core.slot_within_ring(1919, 3)
    assert _core.largest_slot(3 * MIB, 3, 8, 1) == 2 * _core.largest_slot(3 * MIB, 3, 8) == MIB // 2


def test_x_and_a_ring_decide_about_panels():
    ring = _core.least_ring_bytes(3, 8)
    assert ring == 3 * 640 * 2
    assert not _core.needs_column_panels(MIB, MIB + ring + 4096, 3, 8)
    assert _core.needs_column_panels(MIB, MIB + ring + 4095, 3, 8)


def test_a_graph_fits_with_its_vertices():
    vertices, edges = 1000, 50_000
    needed = 42 * vertices + 8 + 4 * edges + _core.cut_list_bytes(edges)
    assert _core.gpu_graph_fits(vertices, edges, needed, GIB)
    assert not _core.gpu_graph_fits(vertices, edges, needed - 1, GIB)
    assert _core.gpu_graph_fits(vertices, edges, 0, (512 << 20) + needed)
    assert not _core.gpu_graph_fits(vertices, edges, 0, (512 << 20) + needed - 1)
