"""What `A.explain` says is what `A @ x` does: one function decides for both, and what was done is what was decided."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from fake_gpus import NEEDS_ELL_G, NEEDS_PACKED, NEEDS_PLANS, fake_gpus  # noqa: F401
from penstock._plan import decision as planner
from penstock._plan import explain
from penstock._product import dense, device_vectors
from test_dlpack_vectors import OnGpu

import penstock as ps
from penstock import _core

pytestmark = NEEDS_PLANS


@dataclasses.dataclass(frozen=True)
class Case:
    """A product, and what it is to be by: the decision's word, and the schedule that a trace then names."""

    name: str
    by: str
    does: str
    schedule: Any = None
    columns: int = 1
    limit: Any = None
    prepared: Any = None
    least: int = 10**9  # nonzeros from which GPUs are asked
    on_gpu: bool = False  # whether x and y are there
    transposed: bool = False


CASES = [
    Case("the CPU in core", "core", "in_core"),
    Case("asked for", "core", "in_core", ps.InCore()),
    Case("above the limit", "core", "streamed", limit="30KB"),
    Case("the CPU's ring", "core", "streamed", ps.Streamed(device="cpu", block="4KiB")),
    Case("two rings", "core", "streamed", ps.Streamed(device=["cpu", "cpu"], ring="64KiB")),
    Case("columns", "core", "in_core", columns=3),
    Case("columns above the limit", "core", "streamed", columns=3, limit="30KB"),
    Case("columns by a ring", "core", "streamed", ps.Streamed(device="cpu"), columns=3),
    Case("no column", "core", "in_core", columns=0),
    Case("transposed", "core", "in_core", transposed=True),
    Case("transposed, by a ring", "core", "streamed", ps.Streamed(device="cpu"), transposed=True),
    Case("a plan of the CPU", "plan", "streamed", prepared=ps.Streamed(device="cpu")),
    Case("one for another schedule", "core", "in_core", ps.InCore(), prepared=ps.Streamed("cpu")),
]
ON_GPUS = [
    Case("large", "plan", "streamed", least=1000),
    Case("above the limit", "plan", "streamed", limit="300KB"),
    Case("small", "core", "in_core"),
    Case("streamed", "plan", "streamed", ps.Streamed(device=[0, 1])),
    Case("nothing kept", "plan", "streamed", ps.Streamed(device=[0], keep=False, block="64KiB")),
    Case("with the CPU", "plan", "streamed", ps.Streamed(device=[0], cpu=True, codec="raw")),
    Case("in core", "plan", "streamed", ps.InCore(device=1)),
    Case("prepared", "plan", "streamed", prepared=ps.Streamed(device=[0])),
    Case("prepared as asked", "plan", "streamed", ps.InCore(0), prepared=ps.InCore(0)),
    Case("columns", "core", "in_core", columns=3, least=1000, prepared=ps.Streamed(device=[0])),
    Case("transposed", "plan", "streamed", least=1000, transposed=True),
    Case("vectors there", "plan", "streamed", on_gpu=True),
    Case("vectors there, in core", "plan", "streamed", ps.InCore(device=0), on_gpu=True),
]
BY_CODEC = [
    pytest.param(
        Case(codec, "plan", "streamed", ps.Streamed(device=device, codec=codec)),
        marks=needs,
    )
    for codec, needs in (("packed", NEEDS_PACKED), ("ell_g", NEEDS_ELL_G))
    for device in ("cpu", [0])
]


@pytest.fixture
def decided(monkeypatch):
    """(for whom, Decision) of each that was made."""
    made: list[tuple[str, planner.Decision]] = []
    for module in (dense, device_vectors, explain):

        def decide(*args: Any, who: str = module.__name__.split(".")[-1], **named: Any) -> Any:
            made.append((who, planner.decide(*args, **named)))
            return made[-1][1]

        monkeypatch.setattr(module, "decide", decide)
    return made


def _check(case: Case, decided, monkeypatch, a) -> None:
    monkeypatch.setattr(planner, "LEAST_NNZ", case.least)
    slow = "penstock._plan.choice.cpu_seconds"
    monkeypatch.setattr(slow, lambda work, machine: 1.0)
    a = a.T.formed() if case.transposed else a
    x = np.random.default_rng(0).integers(0, 5, (a.shape[1], case.columns)).astype(float)
    x = x[:, 0] if case.columns == 1 else x
    wanted = a.to_scipy() @ x
    with ps.options(device_memory=case.limit):
        if case.prepared is not None:
            a.prepare(schedule=case.prepared)
        decided.clear()
        for _ in range(3):
            before = a._derived.products
            there = OnGpu(x) if case.on_gpu else x
            told = a.explain(there, schedule=case.schedule)
            assert a._derived.products == before  # explaining is not multiplying
            y = np.full(wanted.shape, np.nan)
            with ps.record() as events:
                a.dot(there, out=OnGpu(y) if case.on_gpu else y, schedule=case.schedule)
            np.testing.assert_array_equal(y, wanted)
            (first, explained), (second, done) = decided
            assert first == "explain" and second in ("dense", "device_vectors")
            assert explained == done and done.by == case.by
            _as_decided(done, told, events[0], case)
            decided.clear()


def _as_decided(done: planner.Decision, told: Any, event: dict[str, Any], case: Case) -> None:
    assert event["schedule"] == case.does
    if done.by == "core":
        assert told.schedule == event["schedule"] and "codec" not in event
        return
    assert done.request is not None and done.setting is not None
    assert event["codec"] == done.setting.codec
    assert len(event["devices"]) == len(done.request.devices)
    if done.on_gpu:
        assert str(done.setting) in told.reason  # GPUs that are not there run on the CPU's plans


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_on_the_cpu(case, decided, monkeypatch):
    monkeypatch.setattr(_core, "device_count", lambda: 0)
    _check(case, decided, monkeypatch, ps.generate.rmat(11))


@pytest.mark.parametrize("case", ON_GPUS, ids=lambda c: c.name)
def test_on_gpus(case, decided, monkeypatch, fake_gpus):  # noqa: F811
    from penstock._plan import streaming

    plain = streaming.multiply

    def multiply(a, plan, x, y, *rest):
        x, y = (v.array if isinstance(v, OnGpu) else v for v in (x, y))
        return plain(a, plan, x, y, *rest)

    monkeypatch.setattr(streaming, "multiply", multiply)
    _check(case, decided, monkeypatch, ps.generate.rmat(13))


@pytest.mark.parametrize("case", BY_CODEC)
def test_by_codec(case, decided, monkeypatch, fake_gpus):  # noqa: F811
    _check(case, decided, monkeypatch, ps.generate.laplacian((30, 30)))


def test_what_cannot_be_done_is_not_explained_either(fake_gpus):  # noqa: F811
    a = ps.generate.laplacian((30, 30))
    x, two = np.ones(900), np.ones((900, 2))
    for v, how, error, words in [
        (two, ps.Streamed(device=[0], codec="packed"), ValueError, "several columns"),
        (x, ps.Streamed(device=[0, 1, 2]), ValueError, "2 GPUs"),
        (x, ps.InCore(kernel="packed"), ValueError, "is of GPUs"),
        (OnGpu(x), ps.InCore(), ps.PlacementError, "host memory"),
        (OnGpu(x), ps.Streamed(cpu=True), ps.PlacementError, "CPU"),
    ]:
        out = OnGpu(np.empty(900)) if isinstance(v, OnGpu) else None
        for refused in (
            lambda v=v, how=how: a.explain(v, schedule=how),
            lambda v=v, how=how, out=out: a.dot(v, out=out, schedule=how),
        ):
            with pytest.raises(error, match=words):
                refused()
    with ps.options(device_memory=a.nbytes // 8):
        for refused in (
            lambda: a.explain(x, schedule=ps.InCore(device=0)),
            lambda: a.dot(x, schedule=ps.InCore(device=0)),
        ):
            with pytest.raises(MemoryError, match="InCore.*has room for.*Streamed"):
                refused()


def test_cusparse_is_explained_as_a_copy_on_that_gpu(fake_gpus, decided):  # noqa: F811
    a = ps.generate.laplacian((30, 30))
    told = a.explain(schedule=ps.InCore(device=1, kernel="cusparse"))
    assert decided[0][1].by == "cusparse" and "cuSPARSE" in told.reason
    assert told.schedule == "in_core" and told.seconds > 0 and told.first_call_seconds > 0


def test_gpus_that_failed_are_explained_as_such(fake_gpus):  # noqa: F811
    a = ps.generate.rmat(12)
    fake_gpus.fail = [MemoryError("cannot allocate")] * 9
    with ps.options(device_memory="300KB"), ps.record() as t:
        for _ in range(3):
            a @ np.ones(a.shape[1])
        told = a.explain()  # of the fourth, for which nothing is asked anew
        fake_gpus.fail = []
        a @ np.ones(a.shape[1])
    assert told.schedule == "streamed" and "computed on the CPU: cannot allocate" in told.reason
    assert "cannot allocate" in t[3]["fallback"]
