"""The benchmarks on toy inputs: what they write, that everybody's result was verified, and that a
wrong one is caught."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bench_files import read_report
from data_files import DATA

BENCH = Path(__file__).resolve().parents[3] / "bench"
pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)

TOP_KEYS = {
    "benchmark",
    "schema",
    "date",
    "command",
    "commit",
    "dirty",
    "quick",
    "settings",
    "machine",
    "skipped",
    "cases",
}
CASE_KEYS = {
    "case",
    "work",
    "traffic",
    "load",
    "results",
    "best_rival",
    "ratios",
}
OURS = ("prepared", "balanced", "blocked", "binned", "streamed")
TIMES = ("min", "median")  # spread gives the longest


def run(script: str, *args: Any, status: int = 0) -> str:
    command = [sys.executable, str(BENCH / script), *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def checked(path: Path, name: str, repeats: int) -> dict[str, Any]:
    """The report, after all that must hold whatever the benchmark."""
    data = read_report(path)
    assert set(data) == TOP_KEYS
    assert (data["benchmark"], data["schema"], data["quick"]) == (name, 2, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", data["date"])
    assert data["machine"]["cpu"]
    assert data["machine"]["cpus"] >= 1
    assert data["machine"]["host_read"] > 0
    assert {"python", "penstock", "numpy", "scipy"} <= set(data["machine"]["versions"])
    assert data["cases"]
    for case in data["cases"]:
        assert set(case) >= CASE_KEYS
        assert case["turns"] == repeats
        for who, result in case["results"].items():
            assert result["status"] == "ok", f"{case['case']}, {who}: {result.get('reason')}"
            assert 0 <= result["error"] <= 1
            assert all(math.isfinite(result[t]) and result[t] > 0 for t in TIMES)
            assert result["min"] <= result["median"]
            assert result["spread"] >= 0 and "seconds" not in result
        for who, ratio in case["ratios"].items():
            best, ours = case["results"][case["best_rival"]], case["results"][who]
            assert (ours["role"], best["role"]) == ("ours", "rival")
            assert ratio == pytest.approx(best["median"] / ours["median"], rel=1e-4)
    return data


def spmv(tmp_path: Path, contestants: str, matrices: str = "all") -> dict[str, Any]:
    out = tmp_path / "spmv.json"
    arguments = ("--matrices", matrices, "--contestants", contestants, "--repeats", 2, "--out", out)
    run("spmv_cpu.py", "--quick", *arguments)
    return checked(out, "spmv_cpu", 2)


def test_spmv_on_toy_matrices(tmp_path: Path) -> None:
    ours = ["penstock", *(f"penstock_{k}" for k in OURS)]
    data = spmv(tmp_path, ",".join([*ours, "read_probe", "scipy"]))
    assert [s for s in data["skipped"] if not s["what"].startswith("penstock_")] == []
    assert len({case["matrix"] for case in data["cases"]}) == 4
    assert len(data["cases"]) == 4 * 2 * 2  # matrices, dtypes, operations
    for case in data["cases"]:
        assert case["best_rival"] == "scipy"
        assert case["work"] == 2 * case["nnz"] > 0
        width = np.dtype(case["dtype"]).itemsize
        assert case["traffic"] == case["nnz"] * (4 + width) + 8 * (case["rows"] + 1) + width * (
            case["rows"] + case["cols"]
        )
        if case["operation"] == "A x":
            for who in ("balanced", "blocked", "binned"):
                assert case["results"][f"penstock_{who}"]["kernel"] == who
            prepared = case["results"]["penstock_prepared"]
            assert prepared["kernel"] == prepared["prepared"]
            assert prepared["prepare_seconds"] > 0
            assert case["streamed_ratio"] > 0
            assert case["results"]["penstock_streamed"]["tiles"] > 1
            assert {"penstock", "penstock_streamed"} <= set(case["ratios"])


def test_spmv_takes_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.mtx"
    path.write_text(
        "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2.5\n2 4 -1\n3 2 1e3\n"
    )
    data = spmv(tmp_path, "penstock,scipy", str(path))
    assert {(c["matrix"], c["rows"], c["cols"], c["nnz"]) for c in data["cases"]} == {
        ("tiny", 3, 4, 3)
    }


@pytest.mark.parametrize("names", ["graphblas,graphblas_accumulate", "mkl,mkl_optimized"])
def test_spmv_against_optional_rivals(tmp_path: Path, names: str) -> None:
    data = spmv(tmp_path, f"penstock,{names}", "rmat10,laplacian12")
    if data["skipped"]:
        pytest.skip(data["skipped"][0]["why"])
    for case in data["cases"]:
        assert set(names.split(",")) <= set(case["results"])


def test_spmv_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    for option, value in (
        ("--matrices", "nonsense"),
        ("--dtypes", "int8"),
        ("--contestants", "nobody"),
    ):
        out = tmp_path / "never.json"
        message = run(
            "spmv_cpu.py",
            "--quick",
            option,
            value,
            "--out",
            out,
            status=1 if value == "nonsense" else 2,
        )
        assert value in message
    assert "repeats=0" in run("spmv_cpu.py", "--quick", "--repeats", 0, "--out", out, status=2)


def test_io_on_toy_files(tmp_path: Path) -> None:
    out = tmp_path / "io.json"
    run("io.py", "--quick", "--repeats", 2, "--out", out, "--temporary", tmp_path)
    data = checked(out, "io", 2)
    names = {case["case"]: set(case["results"]) for case in data["cases"]}
    assert {"penstock", "scipy", "scipy_tocsr"} <= names["Matrix Market, real general"]
    assert "penstock" in names["edge list, edges"]
    assert names["open a store"] == {"penstock", "numpy_memmap"}
    assert names["write Matrix Market"] == {"penstock", "scipy"}
    assert names["write a store"] == {"penstock", "scipy_npz"}
    assert "penstock" in names["import penstock"]
    assert [p.name for p in tmp_path.iterdir()] == ["io.json"]  # the inputs are gone


def test_compare(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    run(
        "spmv_cpu.py",
        "--quick",
        "--matrices",
        "rmat10",
        "--contestants",
        "penstock,scipy",
        "--out",
        old,
    )
    data = read_report(old)
    for case in data["cases"]:
        case["results"]["penstock"]["median"] /= 2
    new.write_text(json.dumps(data))
    assert re.search(r"geometric mean\s+2\.00", run("compare.py", old, new))
    run("compare.py", new, old, "--fail-below", 0.9, status=1)
    run("compare.py", old, new, "--fail-below", 0.9)
    new.write_text("{")
    assert "new.json" in run("compare.py", old, new, status=1)


# The harness itself


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    import spmv_cpu

    return spmv_cpu


def test_a_turn_for_each_in_each_repeat(bench: ModuleType) -> None:
    harness, calls = bench.harness, []
    people = [
        harness.Contestant(n, lambda n=n: calls.append(n), r)
        for n, r in (("a", "ours"), ("b", "rival"))
    ]
    entry = harness.measure(
        harness.Case("c", lambda _: 0.0), people, harness.Settings(3, 0.0, warm_turns=False)
    )
    assert "".join(calls) == "ab" + "ab" + "ababab" + "ab"  # checked, calibrated, timed, checked
    assert (entry["best_rival"], set(entry["ratios"])) == ("b", {"a"})


@pytest.mark.parametrize("answer", [2.0, math.nan, math.inf, "raises"])
def test_the_wrong_are_marked_and_not_timed(bench: ModuleType, answer: Any) -> None:
    harness = bench.harness

    def bad() -> float:
        if answer == "raises":
            raise RuntimeError("no such kernel")
        return answer

    people = [harness.Contestant("good", lambda: 1.0, "ours"), harness.Contestant("bad", bad)]
    entry = harness.measure(
        harness.Case("c", lambda got: abs(got - 1.0) / 1e-9), people, harness.Settings(1, 0.0)
    )
    assert entry["results"]["bad"]["status"] == ("failed" if answer == "raises" else "wrong")
    assert "median" not in entry["results"]["bad"]
    assert entry["results"]["good"]["status"] == "ok"
    assert (entry["best_rival"], entry["ratios"]) == (None, {})
    json.dumps(entry, allow_nan=False)


def test_who_turns_wrong_later_is_marked(bench: ModuleType) -> None:
    harness, count = bench.harness, iter(range(100))
    late = harness.Contestant("late", lambda: next(count))
    entry = harness.measure(
        harness.Case("c", lambda n: float(n > 0) * 2), [late], harness.Settings(2, 0.0)
    )
    assert entry["results"]["late"]["status"] == "wrong"
    assert entry["best_rival"] is None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_check_of_a_product(bench: ModuleType, dtype: type, transposed: bool) -> None:
    rng = np.random.default_rng(0)
    a = sp.random_array((50, 40), density=0.2, format="csr", dtype=np.float64, rng=rng).astype(
        dtype
    )
    a.data[a.indptr[7] : a.indptr[8]] = 0  # an empty row must give exactly 0
    a.eliminate_zeros()
    x = rng.standard_normal(50 if transposed else 40).astype(dtype)
    check = bench.spmv_check(a, x, transposed)
    a_or_t = a.T if transposed else a
    y, scale = a_or_t @ x, abs(a_or_t) @ abs(x)
    assert check(y) <= 1
    for place in (3, y.size - 1):
        wrong = y.copy()
        wrong[place] += 100 * np.finfo(dtype).eps * scale[place]
        assert check(wrong) > 1
        wrong[place] = np.nan
        assert not check(wrong) <= 1
    if not transposed:
        wrong = y.copy()
        wrong[7] = 1e-30
        assert check(wrong) > 1
    with pytest.raises(ValueError, match="result is"):
        check(y[:-1])


def test_spmm_on_toy_matrices(tmp_path: Path) -> None:
    out, everybody = tmp_path / "spmm.json", "penstock,penstock_fresh,penstock_streamed,scipy"
    arguments = ("--contestants", everybody, "--columns", "5,32", "--orders", "C,F")
    run("spmm_cpu.py", "--quick", "--repeats", 2, "--out", out, *arguments)
    data = checked(out, "spmm_cpu", 2)
    assert data["skipped"] == []
    assert len(data["cases"]) == 4 * 2 * 2 * 2  # matrices, dtypes, widths, orders
    for case in data["cases"]:
        assert case["best_rival"] == "scipy"
        assert set(case["ratios"]) == {"penstock", "penstock_fresh", "penstock_streamed"}
        assert case["work"] == 2 * case["nnz"] * case["columns"] > 0
    assert "--columns '0'" in run("spmm_cpu.py", "--quick", "--columns", 0, "--out", out, status=2)


@pytest.mark.parametrize("names", ["graphblas,graphblas_accumulate", "mkl,mkl_optimized"])
def test_spmm_against_optional_rivals(tmp_path: Path, names: str) -> None:
    out = tmp_path / "spmm.json"
    arguments = ("--contestants", f"penstock,{names}", "--matrices", "rmat10", "--columns", 8)
    orders = ("--orders", "C,F")
    run("spmm_cpu.py", "--quick", "--repeats", 2, "--out", out, *arguments, *orders)
    data = checked(out, "spmm_cpu", 2)
    if data["skipped"]:
        pytest.skip(data["skipped"][0]["why"])
    for case in data["cases"]:
        assert set(names.split(",")) <= set(case["results"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_check_of_a_product_with_columns(bench: ModuleType, dtype: type) -> None:
    import spmm_cpu

    rng = np.random.default_rng(0)
    a = sp.csr_array(sp.random_array((50, 40), density=0.2, rng=rng).astype(dtype))
    x = rng.standard_normal((40, 9)).astype(dtype)
    check, y = spmm_cpu.spmm_check(a, x), a @ x
    assert check(y) <= 1
    for column in range(9):
        for value in (1e-2, np.nan):
            wrong = y.copy()
            wrong[17, column] += value
            assert not check(wrong) <= 1
    with pytest.raises(ValueError, match="result is"):
        check(y[:, :-1])


def test_the_data_folder_is_that_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    from lib import matrices

    assert matrices.data_folder() == DATA
