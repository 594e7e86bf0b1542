"""The part `gpus` of the benchmark of brock-2024 at toy sizes on GPUs: every algorithm is right on all of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench_files import read_report

from penstock import _core

BENCH = Path(__file__).resolve().parents[2] / "bench"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not BENCH.is_dir(), reason="the bench folder is not beside the tests"),
]


def test_part_gpus(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "b.json"
    counts = [n for n in (1, 2, 4, 8) if n <= _core.device_count()]
    command = [sys.executable, str(BENCH / "brock2024.py"), "--quick", "--parts", "gpus", "--repeats", "2",
               "--minutes", "4", "--out", str(out), "--plots", str(tmp_path / "plots")]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
    data = read_report(out)
    cases = data["cases"]
    assert not data["gpus_on_host"] and data["gpus_measured"]["memory"] > 1e9
    assert {c["gpus"] for c in cases} == set(counts), f"left out: {data['skipped']}"
    assert {c["op"] for c in cases} == {"spmm", "spgemm"}
    for case in cases:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert r["median"] > 0 and r["compute"] > 0
        if case["gpus"] > 1:
            assert len(case["results"]) == 8 and case["results"]["summa"]["broadcasts"] == "nccl"
    assert any((tmp_path / "plots").iterdir())
