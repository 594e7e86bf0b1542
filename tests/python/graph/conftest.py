"""What all tests of graphs share."""

import pytest
from penstock._plan.machine import Gpu, Machine
from penstock.csgraph import _gpu, search_plan

import penstock as ps
from penstock import _core


@pytest.fixture(autouse=True)
def same_number_of_threads():
    """A test may set another number."""
    before = ps.num_threads()
    yield
    ps.set_num_threads(before)


@pytest.fixture(scope="module")
def graph():
    return ps.generate.rmat(18, seed=1)  # 41 MB as it is, 34 packed, with the arrays of vertices


@pytest.fixture
def fresh(graph):
    """Shares nothing that was derived."""
    a = ps.csr_array._wrap(graph._core)
    a._derived.symmetric_pattern = True
    return a


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs of 80 GB, which are not there: 50 GB/s over the link as measured, 4 TB/s in their memory."""
    told = {"free_bytes": 80 << 30, "memory_bytes": 80 << 30}
    monkeypatch.setattr(_core, "device_count", lambda: 2)
    monkeypatch.setattr(_core, "gpu_info", lambda gpu: told)

    def machine(count, measure_host=False):
        gpu = Gpu(up=50e9, device_read=4e12, memory=told["free_bytes"])
        return Machine((gpu,) * count, threads=2, source="measured on a test")

    monkeypatch.setattr(search_plan, "this_machine", machine)
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 25e9)  # slower than pages are locked
    return told
