"""The machine probe on real GPUs: what its kernels read, how long it takes, and whether its figures
agree with one another and with copies timed apart from it."""

import itertools
import json
import subprocess
import sys
import time

import numpy as np
import pytest
from penstock._plan import probe

from penstock import _core

pytestmark = pytest.mark.gpu
PATTERNS = [("strided", 64, 0), ("merged", 4109, 0), ("misaligned", 4096, 8), ("aligned", 4109, 0)]
WORDS = [
    *(pytest.param(n, marks=pytest.mark.gpu_small) for n in (0, 1045, 4099)),
    *(1, 3, 8, 63, 64, 4108, 4109, 1_000_003),
]


def numbers(words):
    return (np.arange(words, dtype=np.uint64) * 2654435761).astype(np.uint32)


def say(g, *names):
    """The figures a failing assertion is about."""
    return json.dumps({n: g[n] for n in names}, indent=1)


@pytest.fixture(scope="module")
def probed():
    begin = time.perf_counter()
    result = json.loads(json.dumps(_core.probe(30.0)))
    return result, time.perf_counter() - begin


@pytest.fixture(scope="module")
def first(probed):
    return probed[0]["gpus"][0]


# The kernels


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("memory", ["pinned", "device"])
@pytest.mark.parametrize("pattern, entries, skew", PATTERNS)
def test_list_kernels_read_every_entry_once(pattern, entries, skew, memory, words):
    lists = max(0, words - skew) // entries
    seconds, bytes, total = _core.time_reads(words, pattern, memory, repeats=2)
    assert bytes == 4 * lists * entries
    expected = int(numbers(words)[skew : skew + lists * entries].sum(dtype=np.uint32))
    assert total == expected, (
        f"{pattern}, {words} words of {memory} memory: a wrong sum of what was read"
    )
    assert len(seconds) == 2 and min(seconds) >= 0


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("pattern", ["stream", "copy"])
def test_sweeping_kernels_touch_every_word(pattern, words):
    total = _core.time_reads(words, pattern, "device", repeats=1)[2]
    assert total == int(numbers(words).sum(dtype=np.uint32)), f"{pattern} of {words} words"


def test_large_reads_agree_with_the_cpu():
    """Enough for several rounds of every loop, and a tail."""
    words = (64 << 20) + 3
    whole = int(numbers(words).sum(dtype=np.uint32))
    for memory in ("pinned", "device"):
        assert _core.time_reads(words, "stream", memory, repeats=1)[2] == whole, memory
    for pattern, _, _ in PATTERNS:
        on_gpu, on_cpu = (_core.time_reads(words, pattern, "pinned", 1, gpu)[1:] for gpu in (0, -1))
        assert on_gpu == on_cpu, pattern


# The probe


def test_under_thirty_seconds(probed):
    result, wall = probed
    assert wall < 30, (
        f"{wall:.1f} s for {len(result['gpus'])} GPUs, by its own clock {result['seconds']:.1f}"
    )
    assert len(result["gpus"]) == _core.device_count()


def test_a_short_probe_is_short():
    begin = time.perf_counter()
    short = _core.probe(3.0, [0])
    assert time.perf_counter() - begin < 6
    assert short["gpus"][0]["h2d_curve"][-1][0] >= 16 << 20


def test_every_size_and_direction_was_measured(probed):
    for g in probed[0]["gpus"]:
        assert probe._sound_gpu(g)
        for name in ("h2d", "d2h", "h2d_2_streams", "d2h_2_streams"):
            sizes = [n for n, _ in g[f"{name}_curve"]]
            assert sizes[0] == 64 << 10 and sizes[-1] >= 256 << 20, (
                f"{name} of GPU {g['gpu']}: {sizes}"
            )
        assert g["duplex_curve"][-1][0] >= 256 << 20
        assert g["pageable_h2d_curve"][-1][0] >= 64 << 20


def test_figures_are_sane(probed):
    for g in probed[0]["gpus"]:
        assert 2e9 < g["h2d"]["bytes_per_s"] < 1e12, say(g, "h2d")
        assert 2e9 < g["d2h"]["bytes_per_s"] < 1e12, say(g, "d2h")
        assert 0 < g["h2d"]["latency_s"] < 1e-4, say(g, "h2d", "h2d_curve")
        assert 1e11 < g["device_read"] < 3e13, say(g, "device_read")
        assert 0.7 < g["device_copy"] / g["device_read"] < 1.3, say(g, "device_read", "device_copy")
        for name in ("launch_s", "copy_s", "launch_call_s", "copy_call_s"):
            assert 1e-7 < g[name] < 1e-3, say(g, name)
        assert 0 < g["event_s"] < 1e-4 and 0 < g["synchronize_s"] < 1e-4, say(
            g, "event_s", "synchronize_s"
        )
        assert g["launch_call_s"] <= 1.5 * g["launch_s"], say(g, "launch_s", "launch_call_s")


def test_figures_agree_with_one_another(probed):
    for g in probed[0]["gpus"]:
        z, link = g["zero_copy"], g["h2d"]["bytes_per_s"]
        assert link >= g["pageable_h2d"]["bytes_per_s"], say(g, "h2d", "pageable_h2d")
        assert g["d2h"]["bytes_per_s"] >= 0.95 * g["pageable_d2h"]["bytes_per_s"], say(
            g, "d2h", "pageable_d2h"
        )
        assert z["aligned"] >= z["strided"] and z["aligned"] >= 0.95 * z["misaligned"], say(
            g, "zero_copy"
        )
        assert 0.5 * link < z["aligned"] < 1.1 * link, say(g, "zero_copy", "h2d")
        assert g["device_read"] > link, say(g, "device_read", "h2d")
        both = sum(g["duplex"].values())
        assert link < 1.1 * both and both < 2.1 * max(link, g["d2h"]["bytes_per_s"]), say(
            g, "duplex", "h2d"
        )


def test_larger_transfers_are_faster(probed):
    for g in probed[0]["gpus"]:
        for name in ("h2d", "d2h", "h2d_2_streams", "d2h_2_streams"):
            rates = [rate for _, rate in g[f"{name}_curve"]]
            assert all(b > 0.9 * a for a, b in itertools.pairwise(rates)), say(g, f"{name}_curve")
            assert rates[-1] > 2 * rates[0], say(g, f"{name}_curve")


def test_the_fit_goes_through_the_curve(probed):
    for g in probed[0]["gpus"]:
        for name in ("h2d", "d2h"):
            line = g[name]
            for n, rate in g[f"{name}_curve"]:
                seconds = line["latency_s"] + n / line["bytes_per_s"]
                assert seconds == pytest.approx(n / rate, rel=0.25), say(g, name, f"{name}_curve")


@pytest.mark.parametrize("to, source, curve", [
    ("device", "pinned", "h2d_curve"), ("pinned", "device", "d2h_curve")])  # fmt: skip
def test_copies_timed_apart_agree(first, to, source, curve):
    for n, rate in first[curve]:
        if n in (16 << 20, 256 << 20):
            apart = n / np.median(_core.time_copy_gpu(n, to, source, repeats=9))
            assert rate == pytest.approx(apart, rel=0.15), f"{curve} at {n} bytes"


def test_device_copy_timed_apart_agrees(first):
    n = 1 << 30
    apart = 2 * n / np.median(_core.time_copy_gpu(n, "device", "device", repeats=9))
    assert first["device_copy"] >= 0.85 * apart, say(first, "device_copy")


def test_zero_copy_timed_apart_agrees(first):
    for pattern in ("aligned", "misaligned"):
        seconds, bytes, _ = _core.time_reads(64 << 20, pattern, "pinned", repeats=7)
        apart = bytes / np.median(seconds)
        assert first["zero_copy"][pattern] == pytest.approx(apart, rel=0.15), pattern


def test_gpus_together(probed):
    result, _ = probed
    one, gpus = result["together"]["1"], result["gpus"]
    assert one["h2d"] == pytest.approx(gpus[0]["h2d"]["bytes_per_s"], rel=0.15)
    assert one["zero_copy"] == pytest.approx(gpus[0]["zero_copy"]["aligned"], rel=0.15)
    for n, sums in result["together"].items():
        for name in ("h2d", "d2h", "zero_copy", "duplex"):
            share = sums[name] / one[name]
            assert 0.8 < share < 1.1 * int(n), f"{n} GPUs, {name}: {share:.2f} times one"


def test_peers(probed):
    result, _ = probed
    if len(result["gpus"]) < 2:
        assert result["gpus"][0]["peer"] is None
        pytest.skip("one GPU has no peer")
    for g in result["gpus"]:
        peer = g["peer"]
        assert peer["gpu"] == (g["gpu"] + 1) % len(result["gpus"])
        assert peer["copy"] > 5e9, say(g, "peer")
        if peer["load"] is not None:
            assert 0.5 < peer["load"] / peer["copy"] < 1.5, say(g, "peer")
    ring = result["together"]["2"]
    assert ring["peer_copy"] > result["gpus"][0]["peer"]["copy"], ring


def test_figures_of_an_h200(probed):
    """What was measured on H200s apart from this library, on PCIe gen 5 x16: within 10 %."""
    result, _ = probed
    for g in result["gpus"]:
        if "H200" not in g["name"]:
            pytest.skip(f"{g['name']}: the figures are an H200's")
        by_size = {n: rate / 1e9 for n, rate in g["h2d_curve"]}
        z = {name: rate / 1e9 for name, rate in g["zero_copy"].items()}
        expected = {
            "64 KB": (by_size[64 << 10], 11.8, 12.5),
            "256 KB": (by_size[256 << 10], 28.7, 28.7),
            "1 MB": (by_size[1 << 20], 44.6, 44.6),
            "4 MB": (by_size[4 << 20], 52.6, 52.6),
            "256 MB": (by_size[256 << 20], 54, 55),
            "down": (g["d2h"]["bytes_per_s"] / 1e9, 55, 55),
            "both, up": (g["duplex"]["h2d_bytes_per_s"] / 1e9, 47, 52),
            "both, down": (g["duplex"]["d2h_bytes_per_s"] / 1e9, 47, 52),
            "pageable": (g["pageable_h2d_curve"][-1][1] / 1e9, 7, 9),
            "aligned": (z["aligned"], 50, 51),
            "misaligned": (z["misaligned"], 43, 46),
            "strided": (z["strided"], 10, 21),
            "device copy": (g["device_copy"] / 1e9, 4295, 4295),
            "device read": (g["device_read"] / 1e9, 4420, 4420),
        }
        if g["peer"] is not None and g["peer"]["load"] is not None:
            expected["peer copy"] = (g["peer"]["copy"] / 1e9, 396, 396)
            expected["peer load"] = (g["peer"]["load"] / 1e9, 373, 373)
        wrong = {n: v for n, v in expected.items() if not 0.9 * v[1] <= v[0] <= 1.1 * v[2]}
        assert not wrong, f"GPU {g['gpu']}: (measured, least, most) in GB/s: {wrong}"


def test_named_gpus_only():
    last = _core.device_count() - 1
    result = _core.probe(1.0, [last])
    assert [g["gpu"] for g in result["gpus"]] == [last] and list(result["together"]) == ["1"]
    with pytest.raises(ValueError, match="named twice"):
        _core.probe(1.0, [0, 0])
    with pytest.raises(Exception, match="does not exist"):
        _core.probe(1.0, [last + 1])


def test_ctrl_c_ends_it():
    code = """
import _thread, threading, time
from penstock import _core
_core.machine()
threading.Timer(2.0, _thread.interrupt_main).start()
begin = time.perf_counter()
try:
    _core.probe(30.0)
    print("finished", time.perf_counter() - begin)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begin)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    word, seconds = (done.stdout.split() + ["", "inf"])[:2]
    assert word in ("interrupted", "finished"), done.stdout + done.stderr
    assert word == "interrupted" or float(seconds) < 2.5, done.stdout
    assert float(seconds) < 10, done.stdout


def test_the_result_is_kept_and_shown(tmp_path, monkeypatch, probed):
    import penstock as ps

    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(probe, "_memory", {})
    monkeypatch.setattr(_core, "probe", lambda seconds: probed[0])  # once is enough
    m = ps.machine(measure=True)
    assert len(m["gpus_measured"]) == m["gpus"]
    for g, identity in zip(m["gpus_measured"], _core.gpu_identities(), strict=True):
        assert f"{g['name']} {g['bus']}" == identity
    monkeypatch.setattr(probe, "_memory", {})
    assert probe.measured()["together"] == probed[0]["together"]
