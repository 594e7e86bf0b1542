"""The model of products on GPUs against what was measured, the choices made with it, and their words."""

import dataclasses

import numpy as np
import pytest
from fake_gpus import NEEDS_PLANS, fake_gpus, h200s  # noqa: F401
from penstock._plan import choice as planner
from penstock._plan import codecs, decision
from penstock._plan import machine as gpu_machine
from penstock._plan.machine import Gpu, Machine, from_probe
from penstock._plan.model import DoesNotFit, Setting, Work, best, cpu_seconds, predict, settings

import penstock as ps
from penstock import _core

GIB = 1 << 30
ROWS, NNZ = 1 << 26, 2_100_000_000
RMAT26 = Work(ROWS, ROWS, NNZ, raw_bytes=4 * NNZ + 8 * ROWS, forms={"packed": int(2.3996 * NNZ)},
              place="pinned", vectors="pinned")  # fmt: skip

RMAT24 = Work(ROWS // 4, ROWS // 4, 520_755_474, raw_bytes=4 * 520_755_474 + 2 * ROWS,
              forms={"packed": int(2.15 * 520_755_474)}, place="pinned", vectors="pinned")  # fmt: skip


def with_(work, **changes):
    return dataclasses.replace(work, **changes)


def gflops(p, work=RMAT26):
    return 2 * work.nnz / p.seconds / 1e9


# Measured on H200s: R-MAT 26, a pattern times float64.
@pytest.mark.parametrize(
    "codec, gpus, vectors, measured",
    [
        ("raw", 1, "pinned", 24.0),
        ("packed", 1, "pinned", 40.5),
        ("packed", 2, "pinned", 79),
        ("packed", 4, "pinned", 117),
        ("packed", 1, "device", 46),
    ],
)
def test_streaming_is_predicted_within_15_percent(codec, gpus, vectors, measured):
    how = Setting(gpus, codec, keep=False, budget=2 * GIB)
    p = predict(with_(RMAT26, vectors=vectors), h200s(gpus), how)
    assert gflops(p) == pytest.approx(measured, rel=0.15)
    assert p.binding == "host link, up" and p.kept == 0 and p.streamed == RMAT26.bytes(codec)


@pytest.mark.parametrize(
    "scale, codec, measured", [(24, "raw", 195), (24, "packed", 184), (26, "raw", 129)]
)
def test_in_core_is_predicted_within_15_percent(scale, codec, measured):
    work = with_(RMAT26 if scale == 26 else RMAT24, vectors="device")
    p = predict(work, h200s(1), Setting(1, codec))
    assert gflops(p, work) == pytest.approx(measured, rel=0.15)
    assert p.binding == "device memory" and p.streamed == 0 and p.kept == work.bytes(codec)


def test_what_is_kept_does_not_travel():
    """A matrix of twice the budget, vectors on the GPU: the rest at the link's speed, within 5 %."""
    for budget in (4 * GIB, 5 * GIB, 6 * GIB):
        p = predict(with_(RMAT26, vectors="device"), h200s(1), Setting(1, budget=budget))
        assert 0 < p.kept < budget and p.kept + p.streamed == RMAT26.raw_bytes
        assert p.streamed / 55e9 <= p.seconds <= 1.05 * p.streamed / 55e9
    everything = predict(RMAT26, h200s(4), Setting(4, budget=6 * GIB))
    assert everything.streamed == 0  # sharded over four


def test_blocks_have_an_optimum():
    """buono-2017, figure 4: few blocks do not overlap with the last kernel, many pay for each copy."""
    slow = h200s(1)
    gpu = dataclasses.replace(slow.gpus[0], device_read=7e11)  # kernels about as slow as the link
    slow = dataclasses.replace(slow, gpus=(gpu,))
    work = with_(RMAT26, vectors="device")
    sizes = [work.raw_bytes // n for n in (2, 8, 64, 20_000, 400_000)]
    times = [
        predict(work, slow, Setting(1, block=size, keep=False, slots=2)).seconds for size in sizes
    ]
    assert times[0] > times[1] > times[2] < times[3] < times[4]


def test_predictions_follow_their_resources():
    one = predict(RMAT26, h200s(1), Setting(1, keep=False))
    paged = predict(with_(RMAT26, vectors="host"), h200s(1), Setting(1, keep=False))
    mapped = predict(with_(RMAT26, place="mapped"), h200s(1), Setting(1, keep=False))
    helped = predict(RMAT26, h200s(1), Setting(1, keep=False, cpu=True))
    assert paged.seconds > one.seconds < mapped.seconds
    assert any("staging" in u["resource"] for u in mapped.uses)
    assert not any("staging" in u["resource"] for u in one.uses)
    assert helped.seconds < one.seconds and any(u["resource"] == "CPU" for u in helped.uses)
    for p in (one, paged, mapped, helped):
        for u in p.uses:
            assert u["bytes"] > 0 and u["seconds"] > 0
            assert u["bandwidth"] == pytest.approx(u["bytes"] / u["seconds"], rel=1e-6)
        assert p.seconds >= max(u["seconds"] for u in p.uses)
        assert p.binding == max(p.uses, key=lambda u: u["seconds"])["resource"]


def test_getting_ready_counts():
    fresh = with_(RMAT26, place="host")
    assert predict(fresh, h200s(1), Setting(1, keep=False)).setup == pytest.approx(
        fresh.raw_bytes / 50e9
    )
    packing = predict(fresh, h200s(1), Setting(1, "packed", keep=False)).setup
    assert packing == pytest.approx(NNZ / (16 * 200e6) + RMAT26.bytes("packed") / 50e9)
    done = with_(fresh, there=frozenset({"packed"}))
    assert predict(done, h200s(1), Setting(1, "packed", keep=False)).setup == 0


@pytest.mark.parametrize(
    "changes, codec",
    [
        ({"products": 1}, "raw"),
        ({"products": 1000}, "packed"),
        ({"products": 1, "there": frozenset({"packed"})}, "packed"),
        ({"products": 1000, "forms": {"packed": 0}}, "raw"),
        ({"products": 1000, "forms": {"packed": RMAT26.raw_bytes}}, "raw"),
    ],
)
def test_auto_packs_where_it_pays(changes, codec):
    work, machine = with_(RMAT26, **changes), h200s(1)
    chosen, others = best(work, machine, settings(work, machine, keep=False, budget=2 * GIB))
    assert chosen.setting.codec == codec
    assert all(o.amortised(work.products) >= 0.99 * chosen.amortised(work.products) for o in others)


def test_in_core_needs_no_packing():
    work = with_(RMAT26, products=1000, vectors="device")
    chosen, _ = best(work, h200s(1), settings(work, h200s(1)))
    assert (chosen.setting.codec, chosen.streamed) == ("raw", 0)


def test_the_number_of_gpus():
    machine = h200s(8)
    large, others = best(RMAT26, machine, settings(RMAT26, machine, keep=False, budget=2 * GIB))
    assert large.setting.gpus == 8 and {o.setting.gpus for o in others} >= {1, 2, 4}
    tiny = Work(2000, 2000, 20_000, 96_000, vectors="device", place="pinned")
    assert best(tiny, machine, settings(tiny, machine))[0].setting.gpus == 1
    fixed = list(settings(RMAT26, machine, gpus=2, codec="packed", block=1 << 20, slots=5))
    assert {(s.gpus, s.codec, s.block, s.slots) for s in fixed} == {(2, "packed", 1 << 20, 5)}


def test_what_does_not_fit_says_so():
    with pytest.raises(DoesNotFit, match=rf"x takes {8 * ROWS}"):
        predict(RMAT26, h200s(1), Setting(1, budget=500 << 20))
    with pytest.raises(DoesNotFit, match="2 GPUs are wanted, 1 are here"):
        predict(RMAT26, h200s(1), Setting(2))
    with pytest.raises(DoesNotFit, match="no form"):
        predict(with_(RMAT26, forms={}), h200s(1), Setting(1, "packed"))
    with pytest.raises(DoesNotFit, match="slots"):
        best(RMAT26, h200s(1), settings(RMAT26, h200s(1), budget=1 << 20))
    tight = predict(RMAT26, h200s(1), Setting(1, budget=540 << 20))
    assert 0 < tight.block < 4 << 20


def test_several_gpus_together():
    machine = h200s(8)
    assert machine.together(4, "up") == 164e9
    assert 164e9 < machine.together(6, "up") < 235e9
    assert Machine((Gpu(up=10e9),) * 3).together(2, "up") == 20e9
    assert dataclasses.replace(machine, up={1: 55e9}).together(3, "up") == 55e9


PROBED = {
    "gpus": [
        {
            "gpu": n,
            "h2d": {"latency_s": 5e-6, "bytes_per_s": 55e9},
            "d2h": {"latency_s": 5e-6, "bytes_per_s": 54e9},
            "pageable_h2d": None,
            "duplex": {"h2d_bytes_per_s": 47e9, "d2h_bytes_per_s": 46e9},
            "device_read": 4.4e12,
            "peer": {"gpu": 1 - n, "copy": 390e9, "load": None},
            "launch_s": 7e-6,
        }
        for n in range(2)
    ],
    "together": {"1": {"h2d": 55e9, "d2h": 54e9}, "2": {"h2d": 103e9, "d2h": 100e9}},
    "host": {"read": 82e9, "copy": 78e9, "cache_read": 1e12},
    "measured_at": "2026-11-21T12:00:00Z",
}


def test_the_probe_becomes_a_machine():
    m = from_probe(PROBED, [10, 20], 16)
    assert [g.memory for g in m.gpus] == [10, 20] and m.host_read == 82e9 and m.threads == 16
    g = m.gpus[0]
    assert (g.up, g.down, g.up_both, g.down_both) == (55e9, 54e9, 47e9, 46e9)
    assert (g.latency, g.device_read, g.peer, g.launch) == (5e-6, 4.4e12, 390e9, 7e-6)
    assert g.pageable > 0 and m.together(2, "up") == 103e9
    assert m.source.startswith("measured by `penstock probe` on 2026-11-21")
    assert len(from_probe(PROBED, [10], 16).gpus) == 1  # options.gpus allows fewer
    assert "not measured: run `penstock probe`" in Machine().source


# The choice, with GPUs that are not there


@pytest.fixture
def graph():
    return ps.generate.rmat(12)


def test_packed_sizes_are_estimated():
    rng = np.random.default_rng(0)
    near = ps.generate.laplacian((40, 40, 40))
    rows = np.repeat(np.arange(3000), 20)
    far = ps.csr_array((rng.random(60_000), (rows, rng.integers(0, 10**6, 60_000))), (3000, 10**6))
    whole = ps.csr_array(
        (rng.integers(0, 9, far.nnz).astype(float), far.indices, far.indptr), far.shape
    )
    each = [codecs.estimate_packed(a) / a.nnz for a in (near, far, whole, ps.generate.rmat(14))]
    assert each[0] < 3.5  # seven short gaps, two values
    assert 10 < each[1] < 11.5  # 16 bits of gap, 20 where a row begins, and the values as they are
    assert each[2] == pytest.approx(each[1] - 7.5, abs=0.1)
    assert 1 < each[3] < 2.6
    assert codecs.estimate_packed(ps.csr_array((5, 5))) == 0


@pytest.mark.skipif(not hasattr(_core, "pack"), reason="this build has no packed matrices")
@pytest.mark.parametrize(
    "make", [lambda: ps.generate.rmat(14), lambda: ps.generate.laplacian((30, 30, 30))]
)
def test_the_estimate_is_near_the_packed_size(make):
    a = make()
    assert codecs.estimate_packed(a) == pytest.approx(_core.pack(a._core).nbytes, rel=0.15)


@NEEDS_PLANS
def test_small_matrices_stay_on_the_cpu(graph, fake_gpus, monkeypatch):  # noqa: F811
    asked = []
    monkeypatch.setattr(_core, "device_count", lambda: asked.append(1) or 2)
    with ps.record() as t:
        graph @ np.ones(graph.shape[1])
    assert t[0]["schedule"] == "in_core" and not asked and not fake_gpus.made


@NEEDS_PLANS
def test_a_matrix_multiplied_often_moves_to_the_gpus(graph, fake_gpus, monkeypatch):  # noqa: F811
    monkeypatch.setattr(decision, "LEAST_NNZ", 1000)
    monkeypatch.setattr(planner, "cpu_seconds", lambda work, machine: 1e-5)
    x = np.random.default_rng(0).random(graph.shape[1])
    wanted = graph.dot(x, schedule=ps.InCore)
    with ps.record() as t:
        for _ in range(200):
            np.testing.assert_allclose(graph @ x, wanted, rtol=1e-12)
    assert not fake_gpus.made  # 10 us: no link is faster
    monkeypatch.setattr(planner, "cpu_seconds", lambda work, machine: 1e-3)
    graph.release()
    assert "over 1 product" in graph.explain(x).reason
    with ps.record() as t:
        for _ in range(4):
            np.testing.assert_allclose(graph @ x, wanted, rtol=1e-12)
    assert len(fake_gpus.made) == 1  # and kept
    assert t[-1]["predicted_seconds"] < 1e-3 and "codec" in t[-1]
    assert "a plan exists" in graph.explain(x).reason
    with ps.options(gpus=0), ps.record() as t:
        graph @ x
    assert "codec" not in t[0] and t[0]["schedule"] == "in_core"


@NEEDS_PLANS
def test_a_budget_exceeded_streams_over_the_gpus(graph, fake_gpus):  # noqa: F811
    x = np.ones(graph.shape[1])
    with ps.options(device_memory="300KB"):
        plan = graph.explain(x)
        assert "exceed the device memory of 300000" in plan.reason and plan.schedule == "streamed"
        assert plan.figures == "measured on a test" and plan.first_call_seconds > 0
        assert any(o["schedule"] == "in_core on the CPU" for o in plan.alternatives)
        text = str(plan)
        for words in ("host link, up", "binds", "considered:", "bandwidths: measured on a test"):
            assert words in text
        graph @ x
    assert fake_gpus.made[0]["device_memory"] == 300_000 and fake_gpus.made[0]["pin"]
    graph @ x  # that plan was for another budget
    assert len(fake_gpus.made) == 1


@NEEDS_PLANS
def test_explain_of_schedules(graph, fake_gpus):  # noqa: F811
    plan = graph.explain(schedule=ps.Streamed(device=0, codec="raw", keep=False))
    assert (
        plan.schedule == "streamed"
        and "1 GPU, raw" in plan.reason
        and "nothing kept" in plan.reason
    )
    assert graph.explain(schedule=ps.InCore(device=0)).schedule == "in_core"
    assert graph.explain(schedule=ps.Streamed(device="cpu")).binding.startswith("host")
    with ps.options(device_memory=100), pytest.raises(MemoryError, match="x takes 32768"):
        graph.explain(schedule=ps.Streamed(device=0))


@NEEDS_PLANS
def test_no_plan_falls_back_and_says_so(graph, fake_gpus):  # noqa: F811
    fake_gpus.fail = [MemoryError("cannot allocate")] * 99
    x = np.ones(graph.shape[1])
    with ps.options(device_memory="300KB"), ps.record() as t:
        for _ in range(3):
            np.testing.assert_array_equal(graph @ x, graph.to_scipy() @ x)
        graph.release()
        fake_gpus.fail = []
        graph @ x
    for event in t[:3]:  # not the first alone, which nobody may have watched
        assert "computed on the CPU: cannot allocate" in event["fallback"]
    assert "fallback" not in t[3] and t[3]["devices"]


@NEEDS_PLANS
def test_gpus_that_fail_when_asked_fall_back_too(graph, fake_gpus, monkeypatch):  # noqa: F811
    asked = []

    def busy(*_, **__):
        asked.append(1)
        raise RuntimeError("cudaErrorDevicesUnavailable")

    monkeypatch.setattr(planner, "this_machine", busy)
    x = np.ones(graph.shape[1])
    with ps.options(device_memory="300KB"), ps.record() as t:
        for _ in range(7):
            np.testing.assert_array_equal(graph @ x, graph.to_scipy() @ x)
    assert all("cudaErrorDevicesUnavailable" in e["fallback"] for e in t)
    assert len(asked) == 4  # where the number of products has doubled


def pci_device(folder, bus, speed, lanes, slot=None):
    """A GPU in a folder like /sys/bus/pci/devices: links to devices that lie below their slots."""
    place = folder / "tree" / "slot" / bus
    place.mkdir(parents=True)
    for end, (rate, width) in ((place, (speed, lanes)), (place.parent, slot or (speed, lanes))):
        (end / "max_link_speed").write_text(f"{rate}\n")
        (end / "max_link_width").write_text(f"{width}\n")
    listed = folder / "devices"
    listed.mkdir()
    (listed / bus).symlink_to(place)
    return listed


@pytest.mark.parametrize(
    "speed, lanes, slot, expected",
    [
        ("32.0 GT/s PCIe", 16, None, 63.0e9),
        ("16.0 GT/s PCIe", 16, None, 31.5e9),
        ("16.0 GT/s PCIe", 16, ("8.0 GT/s PCIe", 16), 15.75e9),  # a newer GPU in an older slot
        ("16.0 GT/s PCIe", 16, ("16.0 GT/s PCIe", 4), 7.88e9),
        ("8.0 GT/s PCIe", 16, ("Unknown", 255), 15.75e9),
        ("5.0 GT/s", 16, None, 8e9),
        ("Unknown", 0, None, None),
    ],
)
def test_a_link_by_speed_and_width(tmp_path, speed, lanes, slot, expected):
    devices = pci_device(tmp_path, "0000:1b:00.0", speed, lanes, slot)
    rate = gpu_machine.link_rate("0000:1B:00.0", devices)
    assert rate == (expected if expected is None else pytest.approx(expected, rel=0.01))
    assert gpu_machine.link_rate("0000:99:00.0", devices) is None


def test_a_gpu_that_was_not_measured_is_described(monkeypatch):
    def full(*_):
        raise MemoryError("full")

    facts = {"memory_bytes_per_s": 320e9, "cache_bytes": 4 << 20}
    monkeypatch.setattr(_core, "time_copy_gpu", full)
    monkeypatch.setattr(_core, "gpu_facts", lambda gpu: facts)
    monkeypatch.setattr(_core, "gpu_identities", lambda: ["Tesla T4 0000:1B:00.0"])
    monkeypatch.setattr(gpu_machine, "link_rate", lambda bus: {"0000:1B:00.0": 15.75e9}[bus])
    gpu_machine._told.cache_clear()
    told = gpu_machine._looked_at(0, 7)
    assert (told.memory, told.cache) == (7, 4 << 20)
    assert 0.7 * 15.75e9 < told.up == told.down < 15.75e9
    assert 0.8 * 320e9 < told.device_read < 320e9
    # Neither clock nor link told: a small GPU's, not an H200's.
    facts["memory_bytes_per_s"] = 0.0
    monkeypatch.setattr(gpu_machine, "link_rate", lambda bus: None)
    gpu_machine._told.cache_clear()
    small = gpu_machine._looked_at(0, 7)
    assert small.up <= 16e9 and small.device_read <= 320e9
    gpu_machine._told.cache_clear()


def test_kernels_follow_memory_and_cache():
    """The same matrix on a GPU of a fourteenth of the bandwidth and a fifteenth of the cache."""
    work = with_(RMAT24, vectors="device")
    large = predict(work, h200s(1), Setting(1))
    t4 = dataclasses.replace(h200s(1).gpus[0], device_read=0.3e12, cache=4 << 20)
    small = predict(work, dataclasses.replace(h200s(1), gpus=(t4,)), Setting(1))
    assert large.binding == small.binding == "device memory"
    slower = small.seconds / large.seconds
    assert 4.42 / 0.3 < slower < 2 * 4.42 / 0.3  # the bandwidth, and x further beyond the cache
    same = dataclasses.replace(t4, cache=60 << 20)
    alike = predict(work, dataclasses.replace(h200s(1), gpus=(same,)), Setting(1))
    assert alike.seconds / large.seconds == pytest.approx(4.42 / 0.3, rel=0.05)


def test_gpus_of_different_kinds():
    """One counter serves both: a product takes what their kernels reach together, whichever is the first."""
    fast, work = h200s(2), with_(RMAT24, vectors="device")
    slow = dataclasses.replace(fast.gpus[0], device_read=0.3e12, cache=4 << 20)
    both = [
        predict(work, dataclasses.replace(fast, gpus=gpus), Setting(2)).seconds
        for gpus in ((fast.gpus[0], slow), (slow, fast.gpus[0]))
    ]
    assert both[0] == pytest.approx(both[1])
    assert both[0] > predict(work, fast, Setting(2)).seconds


def test_a_look_without_memory_is_taken_again(monkeypatch):
    times = [MemoryError("full"), [1e-3], [1e-4]]

    def copy(*_):
        seconds = times.pop(0)
        if isinstance(seconds, MemoryError):
            raise seconds
        return seconds

    monkeypatch.setattr(_core, "time_copy_gpu", copy)
    assert gpu_machine._looked_at(77, 5) == Gpu(memory=5)
    assert gpu_machine._looked_at(77, 5).up == pytest.approx((64 << 20) / 1e-3)
    assert gpu_machine._looked_at(77, 5).device_read == pytest.approx((512 << 20) / 1e-4)


def test_where_there_is_no_gpu(graph):
    if _core.device_count():
        pytest.skip("a GPU is here")
    plan = graph.explain()
    assert "no GPU is usable here" in plan.reason and "CPU" in plan.figures
    assert [o["schedule"] for o in plan.alternatives] == ["streamed on the CPU"]
    assert _core.why_no_gpu()
    with ps.options(gpus=0):
        assert "turned off" in graph.explain().reason


def test_cpu_seconds_are_bound_by_memory_or_gathers():
    few = dataclasses.replace(h200s(1), threads=1)
    assert cpu_seconds(RMAT26, few) == pytest.approx(NNZ / 0.5e9)
    many = dataclasses.replace(h200s(1), threads=500)
    assert cpu_seconds(RMAT26, many) == pytest.approx((RMAT26.raw_bytes + 16 * ROWS) / 82e9)
