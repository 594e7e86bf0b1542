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


def test_triangles(tmp_path):
    """A program that counts right is a rival, and one that does not is told."""
    program = tmp_path / "rival"
    program.write_text(
        f"#!{sys.executable}\nimport numpy as np, scipy.sparse as sp, sys\n"
        "raw = open(sys.argv[1], 'rb').read()\n"
        "n, nnz = np.frombuffer(raw, np.int64, 2)\n"
        "indptr = np.frombuffer(raw, np.int64, n + 1, 16)\n"
        "ends = np.frombuffer(raw, np.int32, nnz, 24 + 8 * n)\n"
        "a = sp.csr_array((np.ones(nnz, np.int64), ends, indptr), shape=(n, n))\n"
        "t = int((a @ a).multiply(a).sum()) // 6\n"
        "print('right count', t, 'kernel_ms 3.5')\nprint('wrong count', t + 1, 'kernel_ms 1.0')\n"
    )
    program.chmod(0o755)
    out = tmp_path / "t.json"
    command = [sys.executable, str(BENCH / "triangles_gpu.py"), "--quick", "--repeats", "3"]
    command += ["--rivals", str(program), "--temporary", str(tmp_path), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    (case,) = read_report(out)["cases"]
    assert case["best_rival"] == "right" and case["results"]["wrong"]["status"] == "wrong", case
    for who in ("count", "first", "first_here"):
        assert case["results"][who]["status"] == "ok", case


def test_samples(tmp_path):
    """Samples, walks and rows on a GPU: all is right, and kept."""
    pytest.importorskip("torch")
    out = tmp_path / "s.json"
    command = [sys.executable, str(BENCH / "sample.py"), "--gpu", "0", "--quick", "--repeats", "2"]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, timeout=580
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    data = read_report(out)
    kinds = ("neighbors", "walks", "node2vec", "of a sample", "pinned", "on the GPU")
    for kind in kinds:
        assert any(kind in c["what"] for c in data["cases"]), f"no case of {kind}"
    for case in data["cases"]:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert r.get("gb_per_s", r.get("billions_a_second", 0)) > 0, (case["case"], who)
    (cached,) = (c for c in data["cases"] if "of a sample" in c["what"])
    hits = [r["hits"] for name, r in cached["results"].items() if "cache" in name]
    assert len(hits) == 3 and hits == sorted(hits) and hits[0] > 0
