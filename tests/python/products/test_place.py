"""Places as values, and moving to them; what needs CUDA is in tests/gpu."""

import numpy as np
import pytest
from penstock._plan.place import as_place

import penstock as ps
from penstock import _core

no_cuda = pytest.mark.skipif(_core.config()["cuda"], reason="CUDA is built in")


def test_places_are_values():
    assert ps.device(2) == ps.device(2) != ps.device(1) and len({ps.host, ps.pinned, ps.host}) == 2
    assert [repr(p) for p in (ps.host, ps.pinned, ps.managed, ps.device(3))] == [
        "penstock.host", "penstock.pinned", "penstock.managed", "penstock.device(3)",
    ]  # fmt: skip
    assert (ps.device(3).memory, ps.device(3).ordinal) == ("device", 3)
    assert as_place("device:3") == ps.device(3) and as_place("pinned") is not None
    with pytest.raises(AttributeError):
        ps.host.memory = "tape"
    for bad in ("tape", "pinned:1", "device:x", 3, None):
        with pytest.raises(ValueError, match=r"ps.host, ps.pinned, ps.managed, ps.device\(n\)"):
            as_place(bad)
    with pytest.raises(ValueError, match="numbered from 0"):
        ps.device(-1)
    with pytest.raises(TypeError):
        ps.device(1.5)


def test_to_host(tmp_path):
    A = ps.csr_array(np.eye(5))
    assert A.to(ps.host) is A and A.to("host") is A
    A.save(tmp_path / "a.penstock")
    mapped = ps.open(tmp_path / "a.penstock")
    moved = mapped.to(ps.host)
    assert (mapped.place, moved.place) == ("mapped", "host")
    np.testing.assert_array_equal(moved.toarray(), np.eye(5))


def test_a_budget_refuses_what_does_not_fit():
    A = ps.csr_array(np.eye(50))
    with (
        ps.options(device_memory=100),
        pytest.raises(MemoryError, match=f"{A.nbytes} bytes.*100.*Streamed"),
    ):
        A.to(ps.device(0))


def test_gpus_that_are_turned_off():
    A = ps.csr_array(np.eye(5))
    with ps.options(gpus=1), pytest.raises(ps.PlacementError, match="options.gpus=1"):
        A.to(ps.device(1))


@no_cuda
@pytest.mark.parametrize("place", [ps.pinned, ps.managed, ps.device(0), "pinned"])
def test_without_cuda(place):
    for A in (ps.csr_array(np.eye(5)), ps.generate.laplacian((500_000,)).astype(np.complex128)):
        with pytest.raises(ps.NotCompiledError, match="no CUDA"):
            A.to(place)


@no_cuda
def test_empty_without_cuda():
    with pytest.raises(ps.NotCompiledError, match="no CUDA"):
        ps.empty(5)


def test_empty():
    y = ps.empty((3, 4), np.float32, place=ps.host)
    assert y.shape == (3, 4) and y.dtype == np.float32 and y.flags.writeable
    for shape, dtype, place, error in [
        (-1, float, "host", ValueError),
        (3, object, "host", TypeError),
        (3, float, ps.device(0), ValueError),
        (2.5, float, "host", TypeError),
    ]:
        with pytest.raises(error):
            ps.empty(shape, dtype, place=place)
    with pytest.raises(ValueError, match="give a number from 0"):
        _core.managed_bytes(-1)
