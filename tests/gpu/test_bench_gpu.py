"""The benchmark of buono-2017 at toy sizes on a GPU: every part runs, every row is right and has its prediction."""

import subprocess
import sys
from pathlib import Path

import pytest
from bench_files import read_report

from penstock import _core

BENCH = Path(__file__).resolve().parents[2] / "bench"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BENCH.is_dir(), reason="the bench folder is not beside the tests"),
]
PARTS = {"transfers", "model", "suite", "profile", "scaling", "codec", "resident", "incore"}


def test_every_part(tmp_path):
    out, raw = tmp_path / "b.json", tmp_path / "raw.json"
    sizes = ["--quick", "--repeats", "2", "--scales", "14,16", "--incore", "14,16", "--bter", "12"]
    command = [sys.executable, str(BENCH / "buono2017.py"), *sizes, "--out", str(out)]
    command += ["--raw", str(raw)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    data = read_report(raw)
    gpus = _core.device_count()
    assert not data["settings"]["on_host"] and len(data["probe"]["gpus"]) == gpus
    missing = PARTS - {c["part"] for c in data["cases"]}
    assert missing <= ({"scaling"} if gpus == 1 else set()), (
        f"no rows of {missing}: {data['skipped']}"
    )
    for case in data["cases"]:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert r["error"] <= 1, f"{case['case']}, {who}: error {r['error']}"
            if "trace" in r:
                assert r["predicted_over_measured"] > 0, f"{case['case']}, {who}: no prediction"
    for case in (c for c in data["cases"] if c["part"] == "suite"):
        traces = {name: r["trace"] for name, r in case["results"].items() if "trace" in r}
        assert traces["streamed_raw"]["kept_bytes"] == 0, case["case"]
        assert traces["streamed_raw"]["copied_bytes"] >= 4 * case["nnz"], case["case"]
        assert traces["resident"]["copied_bytes"] == 0, (
            f"{case['case']}: the matrix fits, and yet travels"
        )
        assert traces["streamed_packed"]["codec"] == "packed", case["case"]
    for case in (c for c in data["cases"] if c["part"] == "incore"):
        assert case["best_rival"], f"{case['case']}: cuSPARSE was not measured: {data['skipped']}"
