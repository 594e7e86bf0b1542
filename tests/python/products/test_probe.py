"""The machine probe: the fit, the host in the place of GPUs, the cache, the command and its picture."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from penstock._plan import probe as _probe
from penstock.cli.app import app
from typer.testing import CliRunner

import penstock as ps
from penstock import _core
from penstock.dist import _gets

SIZES = [1 << 16 << 2 * i for i in range(8)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache folder of its own, and a process that knows nothing."""
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(_probe, "_memory", {})
    monkeypatch.setattr(_probe, "_problem", None)
    _probe.key.cache_clear()
    yield tmp_path / "cache"
    _probe.key.cache_clear()


@pytest.fixture(scope="module")
def two():
    """The host measured as two devices: every step of the probe but the GPU's own calls."""
    return json.loads(json.dumps(_core.probe(0.05, [-1, -1])))


@pytest.fixture
def gpus(two, monkeypatch):
    """A machine that appears to have those two as GPUs; counts the probes."""
    probes = []

    def probe(seconds):
        probes.append(seconds)
        return two

    monkeypatch.setattr(_core, "device_count", lambda: 2)
    monkeypatch.setattr(_core, "gpu_identities", lambda: ["GPU 0000:01:00.0", "GPU 0000:02:00.0"])
    monkeypatch.setattr(_core, "probe", probe)
    _probe.key.cache_clear()
    return probes


def forget():
    _probe._memory.clear()


def run(*words):
    try:
        runner = CliRunner(mix_stderr=False)
    except TypeError:  # newer versions always keep them apart
        runner = CliRunner()
    return runner.invoke(app, ["probe", *(str(word) for word in words)])


# The fit


@pytest.mark.parametrize("latency, rate", [(4.4e-6, 55e9), (1e-3, 1e9), (0.0, 8e9), (2e-5, 4e12)])
def test_fit_finds_the_line(latency, rate):
    curve = [(n, n / (latency + n / rate)) for n in SIZES]
    found = _core.fit_link(curve)
    assert found == pytest.approx((latency, rate), rel=1e-6, abs=1e-12)


def test_fit_stands_noise_and_strays():
    rng = np.random.default_rng(7)
    times = [4e-6 + n / 55e9 for n in SIZES]
    noisy = [
        (n, n / (t * f)) for n, t, f in zip(SIZES, times, rng.uniform(0.97, 1.03, 8), strict=True)
    ]
    latency, rate = _core.fit_link(noisy)
    assert rate == pytest.approx(55e9, rel=0.03) and latency == pytest.approx(4e-6, rel=0.2)
    stray = [
        (n, n / t / (5 if i == 2 else 1)) for i, (n, t) in enumerate(zip(SIZES, times, strict=True))
    ]
    latency, rate = _core.fit_link(stray)
    assert rate == pytest.approx(55e9, rel=0.05) and latency == pytest.approx(4e-6, rel=0.5)


def test_fit_of_measured_copies_of_an_h200():
    """Small transfers are off the line; they must not move the bandwidth."""
    gb = [11.8, 28.7, 44.6, 52.6, 54.5, 55.0, 55.0, 55.0]
    latency, rate = _core.fit_link([(n, r * 1e9) for n, r in zip(SIZES, gb, strict=True)])
    assert rate == pytest.approx(55e9, rel=0.01)
    assert 3.5e-6 < latency < 5e-6


def test_fit_of_few_points_and_of_none():
    assert _core.fit_link([(1 << 20, 10e9)]) == pytest.approx((0, 10e9))
    assert _core.fit_link([(1 << 20, 10e9), (1 << 20, 10e9)]) == pytest.approx((0, 10e9))
    faster_when_small = [(1 << 16, 20e9), (1 << 30, 10e9)]  # a cache: no negative latency
    latency, rate = _core.fit_link(faster_when_small)
    assert latency == 0 and 10e9 <= rate <= 20e9
    for wrong in ([], [(0, 1e9)], [(1024, 0.0)], [(1024, float("nan"))]):
        with pytest.raises(ValueError, match="fit_link"):
            _core.fit_link(wrong)


# The measurement, with the host as device


def test_every_figure_is_there(two):
    assert [g["gpu"] for g in two["gpus"]] == [-1, -1]
    assert list(two["together"]) == ["1", "2"]
    for g in two["gpus"]:
        assert _probe._sound_gpu(g)
        for name in _probe.FITS:
            sizes = [n for n, _ in g[f"{name}_curve"]]
            assert sizes == SIZES[: len(sizes)]
        assert g["duplex"]["d2h_bytes_per_s"] == g["duplex_curve"][-1][2]
        assert g["peer"]["copy"] > 1e7 and g["peer"]["load"] is None
    one, both = two["together"].values()
    assert one["peer_copy"] is None and both["peer_copy"] > 1e7
    assert two["seconds"] > 0


def test_more_time_measures_larger_transfers():
    short, long = (_core.probe(s, [-1])["gpus"][0]["h2d_curve"] for s in (1e-3, 1.0))
    assert len(short) < len(long)
    assert long[-1][0] >= 4 << 20


def test_odd_numbers_of_devices_are_summed_too():
    r = _core.probe(0.02, [-1, -1, -1])
    assert list(r["together"]) == ["1", "2", "3"]


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_time_must_be_positive(seconds):
    with pytest.raises(ValueError, match="positive time"):
        _core.probe(seconds, [])


def test_devices_must_exist():
    with pytest.raises(ps.PlacementError, match="GPU 77 does not exist"):
        _core.probe(1.0, [77])


def test_without_devices_the_host_is_measured():
    r = _core.probe(1.0, [])
    assert r["gpus"] == [] and r["together"] == {}
    assert r["host"]["read"] == _core.machine()["host_read"]


def test_ctrl_c_ends_it():
    code = """
import _thread, threading, time
from penstock import _core
_core.machine()
threading.Timer(0.5, _thread.interrupt_main).start()
begin = time.perf_counter()
try:
    _core.probe(60.0, [-1] * 4)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - begin)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("interrupted"), done.stdout + done.stderr
    assert float(done.stdout.split()[1]) < 30, done.stdout


# The lists that the kernels walk, in the form of their twin on the CPU


@pytest.mark.parametrize("words", [0, 1, 7, 8, 63, 64, 4108, 4109, 1045, 100_003])
@pytest.mark.parametrize("pattern, entries, skew", [
    ("strided", 64, 0), ("merged", 4109, 0), ("misaligned", 4096, 8), ("aligned", 4109, 0)])  # fmt: skip
def test_reads_take_all_whole_lists(words, pattern, entries, skew):
    data = (np.arange(words, dtype=np.uint64) * 2654435761).astype(np.uint32)
    lists = max(0, words - skew) // entries
    seconds, bytes, total = _core.time_reads(words, pattern, "pinned", repeats=2, gpu=-1)
    assert len(seconds) == 2
    assert bytes == 4 * lists * entries
    assert total == int(data[skew : skew + lists * entries].sum(dtype=np.uint32))


def test_reads_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="sideways"):
        _core.time_reads(64, "sideways", "pinned", gpu=-1)
    with pytest.raises(ValueError, match="mapped"):
        _core.time_reads(64, "merged", "mapped", gpu=-1)


# The cache


def test_nothing_is_measured_unless_asked(gpus, cache):
    assert _probe.measured() is None
    m = ps.machine()
    assert m["gpus_measured"] == [] and m["together"] == {} and m["measured_at"] is None
    assert gpus == [] and not cache.exists()


def test_measured_once_then_read(gpus, cache):
    m = ps.machine(measure=True)
    assert len(m["gpus_measured"]) == 2 and list(m["together"]) == ["1", "2"]
    assert gpus == [29.0]
    assert [f.name for f in cache.iterdir()] == [f"probe-{_probe.key()}.json"]
    forget()
    assert ps.machine() == m == ps.machine(measure=True)
    assert gpus == [29.0]
    again = _probe.measure(5)
    assert gpus == [29.0, pytest.approx(5 - 5 / 30)] and _probe.measured() is again


def test_a_notebook_shows_the_bandwidths_as_bars(gpus, cache):
    unknown = ps.machine()
    assert unknown._repr_html_().count("<rect") == 3  # of the host
    assert ("not measured yet" in unknown._repr_html_()) == bool(unknown["gpus"])
    known = ps.machine(measure=True)
    html = known._repr_html_()
    assert html.count("<rect") == 3 + 2 * 3
    rate = known["gpus_measured"][1]["h2d"]["bytes_per_s"]
    assert "GPU 1, to it" in html and f"{rate / 1e9:.3g} GB/s" in html
    assert json.loads(json.dumps(known)) == known  # a dict as before


def test_layout_is_the_documented_one(gpus):
    d = _probe.measure()
    assert set(d) == {
        "gpus",
        "together",
        "host",
        "seconds",
        "measured_at",
        "key",
        "version",
        "one_sided",
    }
    assert set(d["together"]["2"]) == {
        *("h2d", "d2h", "duplex", "zero_copy", "peer_copy", "peer_load")
    }
    for name in d["gpus"][0]:
        assert name in _probe.__doc__ or name.removesuffix("_curve") in _probe.__doc__, name
    assert json.loads(_probe.cache_file().read_text()) == d


def test_gets_are_kept_and_shown(gpus, two, monkeypatch):
    """As on a machine with two GPUs, by ranks on the CPU in their place."""
    found = _gets.measure_gets([-1, -1], 0.01, [8, 4096])
    assert found["transport"] == "peer" and [n for n, _ in found["gets"]] == [8, 4096]
    assert min(s for c in ("gets", "queued") for _, s in found[c]) > 0
    assert 0 < found["claim_s"] < 1e-3 and 0 < found["claim_at_once_s"] < 1e-3
    asked = []
    numbered = {**two, "gpus": [{**g, "gpu": i} for i, g in enumerate(two["gpus"])]}
    monkeypatch.setattr(_core, "probe", lambda seconds: numbered)
    monkeypatch.setattr(_gets, "measure_gets", lambda *words: asked.append(words) or found)
    assert _probe.measure()["one_sided"] == found and asked == [([0, 1], 1.0)]
    forget()
    assert _probe.measured()["one_sided"] == found
    text = run().stdout
    assert "one-sided: GPU" in text and "claim, both at once" in text, text
    file = _probe.cache_file()
    file.write_text(file.read_text().replace('"claim_s": ', '"claim_s": -1, "was": '))
    forget()
    assert _probe.measured() is None


def test_gets_need_two_gpus():
    with pytest.raises(ValueError, match="between two GPUs, not 3"):
        _gets.measure_gets([-1, -1, -1])


@pytest.mark.parametrize("part", ["device_count", "gpu_identities", "topology", "driver"])
def test_other_hardware_is_another_key(gpus, part, monkeypatch):
    before = _probe.key()
    _probe.measure()
    if part == "driver":
        monkeypatch.setattr(_probe, "_driver", lambda: "NVRM version: 999")
    elif part == "gpu_identities":
        monkeypatch.setattr(_core, part, lambda: ["GPU 0000:01:00.0", "GPU 0000:03:00.0"])
    elif part == "topology":
        other = {**_core.topology(), "cpu": "another CPU"}
        monkeypatch.setattr(_core, part, lambda: other)
    else:  # the same key, but a file for two GPUs
        monkeypatch.setattr(_core, part, lambda: 1)
    _probe.key.cache_clear()
    forget()
    assert (_probe.key() == before) == (part == "device_count")
    assert _probe.measured() is None


DAMAGE = {
    "cut off": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not json": lambda text: "\x00\xff\x00",
    "a list": lambda text: "[1, 2]",
    "deep": lambda text: "[" * 100_000,
    "no gpus": lambda text: json.dumps({**json.loads(text), "gpus": []}),
    "no rates": lambda text: json.dumps({**json.loads(text), "gpus": [{}, {}]}),
    "other version": lambda text: text.replace('"version": 2', '"version": 0'),
    "zero": lambda text: json.dumps(
        {**json.loads(text), "host": dict(read=0, copy=1, cache_read=1)}
    ),
    "null": lambda text: text.replace('"device_read": ', '"device_read": null, "was": '),
    "nan": lambda text: text.replace('"aligned": ', '"aligned": NaN, "was": '),
}


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_file_is_ignored_and_rewritten(gpus, how):
    d = _probe.measure()
    file = _probe.cache_file()
    text = DAMAGE[how](file.read_text())
    file.write_bytes(text.encode("latin-1"))
    forget()
    assert _probe.measured() is None
    assert ps.machine(measure=True)["together"] == d["together"]
    assert len(gpus) == 2
    forget()
    assert _probe.measured() is not None


def test_an_unwritable_folder_only_keeps_nothing(gpus, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("PENSTOCK_CACHE", str(blocked / "cache"))
    assert _probe.measured() is None
    d = _probe.measure()
    assert "file" in _probe.cache_problem()
    assert _probe.measured() is d  # this process knows it still
    result = run("--refresh")
    assert result.exit_code == 0 and "not kept" in result.stdout
    assert blocked.read_text() == "in the way"


def test_the_folder_is_the_users(monkeypatch):
    import platformdirs

    monkeypatch.delenv("PENSTOCK_CACHE")
    assert str(_probe.cache_file()).startswith(platformdirs.user_cache_dir("penstock"))
    monkeypatch.setenv("PENSTOCK_CACHE", "~/somewhere")
    assert "~" not in str(_probe.cache_file())


def test_probes_do_not_overlap(gpus, two, monkeypatch):
    running, most = [], []

    def probe(seconds):
        running.append(1)
        most.append(len(running))
        time.sleep(0.05)
        running.pop()
        return two

    monkeypatch.setattr(_core, "probe", probe)
    threads = [threading.Thread(target=_probe.measure) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert most == [1, 1, 1, 1]


# The command


def test_command_without_gpus():
    if _core.device_count():
        pytest.skip("this machine has GPUs: tests/gpu measures them")
    result = run()
    assert result.exit_code == 0, result.stderr
    assert "host memory" in result.stdout and "no GPU" in result.stdout
    assert "from " in run().stdout  # the cache
    refused = run("--plot", "x.png")
    assert refused.exit_code == 1 and "no GPU" in refused.stderr


def test_command_shows_every_table(gpus, two):
    result = run()
    assert result.exit_code == 0, result.stderr
    words = [
        "2 GPUs",
        "kept in",
        "64 KiB",
        "fit: latency",
        "zero-copy",
        "all at once",
        "microseconds",
    ]
    said = " ".join(result.stdout.split())  # lines break where the terminal ends
    for word in [*words, "times as fast as pageable", "2 GPUs at once"]:
        assert word in said, word
    assert max(map(len, result.stdout.splitlines()[1:])) <= 100
    assert "Inf" not in result.stdout and "nan" not in result.stdout
    again = run()
    assert "from " in again.stdout and "--refresh" in again.stdout and len(gpus) == 1
    assert run("--refresh").exit_code == 0 and len(gpus) == 2


def test_command_json(gpus, two):
    fresh, cached = (json.loads(run("--json").stdout) for _ in range(2))
    assert fresh["from_cache"] is False and cached["from_cache"] is True
    assert fresh["gpus"] == cached["gpus"] == two["gpus"]
    assert cached["cache_file"] == str(_probe.cache_file()) and cached["cache_problem"] is None


@pytest.mark.parametrize("suffix, magic", [("png", b"\x89PNG"), ("svg", b"<?xml")])
@pytest.mark.parametrize("several", [False, True])
def test_picture(gpus, two, tmp_path, suffix, magic, several, monkeypatch):
    pytest.importorskip("matplotlib")
    if not several:
        one = {**two, "gpus": two["gpus"][:1], "together": {"1": two["together"]["1"]}}
        monkeypatch.setattr(_core, "device_count", lambda: 1)
        monkeypatch.setattr(_core, "probe", lambda seconds: one)
    path = tmp_path / f"links.{suffix}"
    result = run("--plot", path)
    assert result.exit_code == 0, result.stderr
    assert path.read_bytes().startswith(magic)
    assert [p.name for p in tmp_path.iterdir() if p.name != "cache"] == [path.name]
    if suffix == "svg":
        text = path.read_text()
        assert ("GPUs at once" in text) == several
        assert '<g id="axes_2">' in text or not several


def test_picture_needs_a_known_format(gpus, tmp_path):
    result = run("--plot", tmp_path / "links.gif")
    assert result.exit_code == 2 and ".png" in result.stderr and gpus == []
