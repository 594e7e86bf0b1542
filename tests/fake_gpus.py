"""GPUs that are not there: plans for them run on the CPU as a device, and the model sees a node of H200s."""

import pytest
from penstock._plan import choice, explain, streaming
from penstock._plan.machine import Gpu, Machine

from penstock import _core

NEEDS_PLANS = pytest.mark.skipif(
    not hasattr(_core, "stream_plan"), reason="this build has no stream plans"
)
FORMS = (
    getattr(getattr(_core, "stream_plan", None), "__doc__", None) or ""
)  # of matrices: signatures
NEEDS_PACKED = pytest.mark.skipif("Packed" not in FORMS, reason="no plans for packed matrices yet")
NEEDS_ELL_G = pytest.mark.skipif("EllG" not in FORMS, reason="no plans for ELL-G yet")


def h200s(count: int, free: int = 140 << 30, threads: int = 16) -> Machine:
    """Measured bandwidths of a node of H200s (PCIe 5 x16, one NUMA node)."""
    links = 55e9, 55e9, 47e9, 47e9, 4.5e-6, 8e9
    gpu = Gpu(*links, 4.42e12, 396e9 * (count > 1), free, 6e-6, 60 << 20)
    up, down = {1: 55e9, 2: 103e9, 4: 164e9, 8: 235e9}, {1: 55e9, 2: 100e9, 4: 125e9, 8: 141e9}
    return Machine((gpu,) * count, up, down, 82e9, 78e9, threads, "measured on a test")


class FakeGpus:
    """What was asked of the core, and what it is to answer."""

    def __init__(self) -> None:
        self.count, self.free = 2, 140 << 30
        self.made: list[dict] = []
        self.fail: list[Exception] = []  # raised by the next plans, one each
        self.kept = 0


class FakePlan:
    def __init__(self, real, facts):
        self.real, self.changed = real, facts
        self.fail: list[Exception] = []

    def multiply(self, *args, **named):
        if self.fail:
            raise self.fail.pop(0)
        return self.real.multiply(*args, **named)

    def facts(self):
        return self.real.facts() | self.changed


@pytest.fixture
def fake_gpus(monkeypatch):
    fake = FakeGpus()
    real = _core.stream_plan

    def stream_plan(a, gpus, **named):
        if fake.fail:
            raise fake.fail.pop(0)
        fake.made.append({"a": a, "gpus": gpus, **named})
        named |= {"pin": False, "cpu": False, "device_memory": 0}
        plan = real(a, [-1] * len(gpus), **named)
        facts = plan.facts()
        kept = facts["streamed_bytes"] if named["keep"] and not fake.kept else fake.kept
        travel = facts["streamed_bytes"] - kept
        return FakePlan(plan, {"gpus": gpus, "kept_bytes": kept, "streamed_bytes": travel})

    monkeypatch.setattr(_core, "stream_plan", stream_plan)
    monkeypatch.setattr(_core, "lock_in_place", lambda a: a)
    monkeypatch.setattr(_core, "device_count", lambda: fake.count)
    monkeypatch.setattr(_core, "why_no_gpu", lambda: "")
    monkeypatch.setattr(_core, "gpu_memory", lambda gpu: (fake.free, fake.free))
    for module in (choice, explain, streaming):
        monkeypatch.setattr(
            module, "this_machine", lambda n, measure_host=False: h200s(n, fake.free)
        )
    return fake
