"""The benchmark of min-2020 at toy sizes on a GPU: every part runs, every way is right, requests are counted."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from bench_files import read_report

import penstock as ps
from penstock import _core

BENCH = Path(__file__).resolve().parents[2] / "bench"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BENCH.is_dir(), reason="the bench folder is not beside the tests"),
]
OURS = {"aligned", "merged", "strided", "ours", "in_core", "in_core_baseline", "host_alloc",
        "managed_accessed_by", "managed_read_mostly", "cpu"}  # fmt: skip


def on_gpus(name):
    return "device" in inspect.signature(getattr(ps.csgraph, name)).parameters


def test_every_part(tmp_path):
    out, raw = tmp_path / "e.json", tmp_path / "raw.json"
    sizes = ["--quick", "--sources", "4", "--scales", "14", "--uniform", "12", "--weighted", "14",
             "--road", "200"]  # fmt: skip
    command = [sys.executable, str(BENCH / "emogi2020.py"), *sizes, "--out", str(out)]
    command += ["--raw", str(raw)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    data = read_report(raw)
    assert not data["settings"]["on_host"] and data["probe"]["together"]["1"]["h2d"] > 0
    parts = {"toy", "bfs", "cold", "cc", "sssp", "pagerank", "road"}
    if _core.device_count() > 1:
        parts.add("gpus")
    missing = parts - {c["part"] for c in data["cases"]}
    assert not missing, f"no rows of {missing}: {data['skipped']}"
    for case in data["cases"]:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
    searched = {"bfs": "bfs", "cc": "connected_components", "sssp": "sssp"}
    for case in (
        c for c in data["cases"] if searched.get(c["part"]) and on_gpus(searched[c["part"]])
    ):
        results, name = case["results"], case["case"]
        assert set(results) == OURS, f"{name}: {OURS - set(results)}, {data['skipped']}"
        for who in ("aligned", "merged", "strided"):
            read = results[who]["read"]
            assert read["bytes"] > 0, f"{name}: {who} read nothing"
            sizes = sum(int(size) * count for size, count in read["requests"].items())
            assert sizes == pytest.approx(read["bytes"]), f"{name}: {who}"
        if case["part"] == "bfs":
            shares = [results[w]["read"]["share_128"] for w in ("aligned", "merged", "strided")]
            assert shares == sorted(shares, reverse=True), f"{name}: shares of 128 bytes {shares}"
        if case["part"] != "sssp":
            least = results["aligned"]["read"]["bytes"]
            mine = results["ours"].get("read", {"bytes": 0})["bytes"]
            assert mine <= 1.05 * least, f"{name}: ours reads {mine} bytes, the baseline {least}"
        placed = {who: results[who]["placement"] for who in ("ours", "in_core", "host_alloc")}
        assert placed == {"ours": "pinned", "in_core": "device", "host_alloc": "host_alloc"}, name
        assert results["ours"]["used_bytes"] <= results["ours"]["device_memory"], name


def test_graphs_are_the_cpus(monkeypatch):
    """Made on the GPU and moved to pinned memory, with weights for paths."""
    monkeypatch.syspath_prepend(str(BENCH))
    from studies.emogi2020 import graphs

    for kind in ("kron", "uniform"):
        shelf = graphs.Shelf()
        a = shelf.get(graphs.generated(kind, 11, 0))
        b = graphs.generated(kind, 11, None).make()
        assert a.place == "pinned" and (a.to_scipy() != b.to_scipy()).nnz == 0, kind
        w = shelf.get(shelf.source, weighted=True)
        s = w.to_scipy()
        assert (s != s.T).nnz == 0 and s.data.min() >= 8 and s.data.max() <= 72, kind
