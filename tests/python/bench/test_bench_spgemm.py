"""bench/spgemm_cpu.py on toy inputs: everybody verified, the peak measured, a wrong result caught."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from bench_files import read_report

BENCH = Path(__file__).resolve().parents[3] / "bench"
pytestmark = [
    pytest.mark.skipif(not BENCH.is_dir(), reason="the bench folder is not beside the tests"),
    pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc"),
]


def test_toy_matrices(tmp_path):
    out = tmp_path / "spgemm.json"
    command = [sys.executable, str(BENCH / "spgemm_cpu.py"), "--quick", "--repeats", "2"]
    command += ["--contestants", "penstock,scipy", "--dtypes", "float64,float32"]
    done = subprocess.run(
        [*command, "--out", str(out)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    data = read_report(out)
    assert len(data["cases"]) == 4
    for case in data["cases"]:
        assert case["best_rival"] == "scipy"
        assert case["work"] == 2 * case["products"] > 0
        assert case["peak"]["output"] > 0
        for who in ("penstock", "scipy"):
            assert case["results"][who]["status"] == "ok"
            assert 0 <= case["results"][who]["error"] <= 1
    assert "geometric mean of 4 ratios" in done.stdout


def test_wrong_results_are_caught(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    from spgemm_cpu import spgemm_check

    rng = np.random.default_rng(0)
    a = sp.csr_array(sp.random_array((200, 200), density=0.05, rng=rng, format="csr"))
    check, c = spgemm_check(a), a @ a
    assert check(c) <= 1
    c.data[5] *= 1.001
    with pytest.raises(ValueError, match="C x"):
        check(c)
    with pytest.raises(ValueError, match="float32"):
        check((a @ a).astype(np.float32))
