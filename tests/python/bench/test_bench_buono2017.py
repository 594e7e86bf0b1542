"""The reproduction of buono-2017 with the host as its device: rows, verification, budget of time, figures, page."""

from __future__ import annotations

import copy
import doctest
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bench_files import read_report
from study_support import NEEDS_BENCH, Made, cases, folder_of_graphs, main, program, tiny_run
from test_bench import run

import penstock as ps

pytestmark = NEEDS_BENCH
PARTS = ["transfers", "model", "suite", "profile", "scaling", "codec", "resident", "incore"]
TINY = ("--quick", "--repeats", 2, "--scales", "9,10", "--incore", 9, "--bter", 11)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("buono")
    graphs = folder_of_graphs(folder, com_orkut=ps.generate.rmat(8, seed=4))
    wide = sp.random_array((90, 300), density=0.1, rng=np.random.default_rng(4))
    ps.save(graphs / "wide.mtx", ps.csr_array(wide))
    return tiny_run("buono2017", folder, *TINY, "--folder", graphs)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("buono2017", monkeypatch)


def on_host() -> bool:
    return ps._core.device_count() == 0


def test_every_part_has_rows_that_are_right(made: Made) -> None:
    data, _, _ = made
    assert (data["benchmark"], data["schema"], data["quick"]) == ("buono2017", 2, True)
    assert data["settings"]["on_host"] == on_host()
    assert (
        data["machine"]["cpu"] and data["command"][1] == "bench/buono2017.py" and data["load"] >= 0
    )
    assert {c["part"] for c in data["cases"]} >= {*PARTS} - (
        {"scaling"} if not on_host() else set()
    )
    assert set(data["part_seconds"]) >= {*PARTS, "matrices"}
    for case in data["cases"]:
        assert case["on_host"] == on_host()
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert 0 <= r["error"] <= 1 and r["median"] > 0 and len(r["seconds"]) == 2
            if case["part"] != "incore":
                assert r["predicted_over_measured"] == pytest.approx(
                    r["predicted_seconds"] / r["median"]
                )
    everybody = {"streamed_raw", "streamed_packed", "resident", "cpu_blocked", "cpu_binned"}
    for case in cases(data, "suite"):
        assert set(case["results"]) == everybody - (
            set() if case["dtype"] == "float64" else {"cpu_blocked", "cpu_binned"}
        )
        raw = case["results"]["streamed_raw"]
        assert raw["gflops"] == pytest.approx(2 * case["nnz"] / raw["median"] / 1e9)
        assert raw["trace"]["codec"] == "raw" and raw["trace"]["kept_bytes"] == 0
        assert raw["trace"]["copied_bytes"] >= case["matrix_bytes"] - 8
        assert case["results"]["streamed_packed"]["trace"]["codec"] == "packed"


def test_what_the_parts_say(made: Made) -> None:
    data, _, _ = made
    found = {(c["source"], c["dtype"]) for c in cases(data, "suite")}
    names = {"rmat9", "rmat10", "bter11", "wide", "com-orkut"}
    assert found == {(name, kind) for name in names for kind in ("pattern", "float64")}
    assert {c["matrix"] for c in cases(data, "suite")} >= {"R-MAT 9", "BTER 11", "Orkut"}
    assert any(s["what"] == "broken" for s in data["skipped"])
    (model,) = cases(data, "model")
    assert {"planner", "1", "14", "64"} <= set(model["results"])
    assert model["best_blocks"] in range(1, 65) and model["planner_over_best"] >= 1
    for case in cases(data, "profile"):
        assert (
            sum(d["copied_bytes"] for d in case["devices"])
            == case["results"]["streamed_raw"]["trace"]["copied_bytes"]
        )
        assert 1 <= case["imbalance"] <= len(case["devices"])
    for case in cases(data, "codec"):
        small = 3 if case["dtype"] == "pattern" else 11
        assert 0 < case["bytes_per_nonzero"] < small < case["raw_bytes_per_nonzero"]
        assert case["encode_bytes_per_s"] > 0
    (resident,) = cases(data, "resident")
    assert set(resident["results"]) >= {"half_fits", "all_fits", "streamed", "packed"}
    assert (
        resident["source"] == "rmat10"
        and resident["device_memory"] == resident["matrix_bytes"] // 2
    )
    if on_host():
        doubled = [r["count"] for c in cases(data, "scaling") for r in c["results"].values()]
        assert sorted(doubled) == sorted([1, 2] * 4)
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"


def test_what_is_printed_and_drawn(made: Made) -> None:
    _, said, plots = made
    wanted = ("Figure 2", "Figure 4", "Table 2", "Figure 5", "Table 3", "Packed columns", "In core",
              "Goals", "in all, generating included", "paper: 4 P100")  # fmt: skip
    assert all(words in said for words in wanted)
    assert ("measure nothing" in said) == on_host()
    drawn = {p.stem.removeprefix("buono2017_") for p in plots.iterdir()}
    assert drawn >= {"transfers", "model", "suite", "resident"}
    for picture in plots.iterdir():
        assert picture.read_text().lstrip().startswith("<?xml") and picture.stat().st_size > 1500
    suite = (plots / "buono2017_suite.svg").read_text()
    assert "R-MAT 9" in suite and "streamed, packed" in suite


def test_the_page(made: Made, tmp_path: Path) -> None:
    data, _, _ = made
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    docs.mkdir()
    (results / "buono2017_tiny.json").write_text(json.dumps(data))
    (docs / "performance.md").write_text("<!-- results buono2017 -->\nstale text\n<!-- end -->\n")
    arguments = ("plot.py", "--results", results, "--docs", docs)
    assert "make plots" in run(*arguments, "--check", status=1)
    run(*arguments)
    page = (docs / "performance.md").read_text()
    assert "stale text" not in page and "toy inputs" in page
    assert "| R-MAT 9 | float64 |" in page and "**Goals**" in page
    for name in ("transfers", "model", "suite", "resident"):
        assert f"(figures/buono2017/buono2017_tiny_{name}.svg)" in page
        assert (docs / "figures" / "buono2017" / f"buono2017_tiny_{name}.svg").is_file()
    run(*arguments, "--check")


@pytest.mark.parametrize("spoil", ["one entry", "a row left out", "nan"])
def test_a_wrong_result_is_caught(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoil: str
) -> None:
    from studies.buono2017.product import Prepared

    right = Prepared.into

    def wrong(self: Any, x: Any, y: Any) -> Any:
        right(self, x, y)
        if self.algorithm == "binned":
            place = int(np.argmax(y))
            y[place] = {"one entry": y[place] * (1 + 1e-9), "a row left out": 0.0, "nan": np.nan}[
                spoil
            ]
        return y

    monkeypatch.setattr(Prepared, "into", wrong)
    out = tmp_path / "b.json"
    tiny = (
        "--quick",
        "--repeats",
        1,
        "--scales",
        9,
        "--values",
        "float64",
        "--parts",
        "suite",
        "--gpus",
        1,
    )
    assert main(bench, monkeypatch, *tiny, "--out", out) == 1
    case = read_report(out)["cases"][0]
    assert case["results"]["cpu_binned"]["status"] == "wrong"
    assert "median" not in case["results"]["cpu_binned"]
    assert all(r["status"] == "ok" for n, r in case["results"].items() if n != "cpu_binned")


def test_a_plan_that_is_not_used_is_caught(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from studies.buono2017 import matrices
    from studies.buono2017.product import Prepared

    def elsewhere(self: Any, x: Any, y: Any) -> Any:
        return matrices.unprepared(self.matrix).dot(x, out=y)

    monkeypatch.setattr(Prepared, "into", elsewhere)
    out = tmp_path / "b.json"
    tiny = (
        "--quick",
        "--repeats",
        1,
        "--scales",
        9,
        "--parts",
        "suite",
        "--values",
        "pattern",
        "--bter",
        8,
    )
    assert main(bench, monkeypatch, *tiny, "--out", out) == 1
    found = read_report(out)["cases"][0]["results"]["streamed_raw"]
    assert found["status"] == "failed" and "plan was not used" in found["reason"]


def test_no_time(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "b.json"
    assert main(bench, monkeypatch, *TINY, "--minutes", 1e-6, "--out", out) == 0
    data = read_report(out)
    assert {c["part"] for c in data["cases"]} == {"transfers"}
    left_out = {s["what"].split()[0] for s in data["skipped"] if "no time" in s["why"]}
    assert left_out >= set(PARTS) - {"transfers"}
    assert any(s["what"] == "bter11" and "generating" in s["why"] for s in data["skipped"])


def test_fewer_turns(bench: ModuleType) -> None:
    from lib import harness

    person = harness.Contestant("slow", lambda: 1.0, "ours", timed=lambda: 0.5)
    for seconds, turns in ((None, 9), (1e-9, 3), (100.0, 9)):
        entry = harness.measure(
            harness.Case("c", lambda _: 0.0), [person], harness.Settings(9, 0.0, seconds=seconds)
        )
        assert entry["turns"] == turns == len(entry["results"]["slow"]["seconds"])


@pytest.mark.parametrize("kind", ["pattern", "float32", "float64", "signed"])
def test_the_reference(bench: ModuleType, kind: str) -> None:
    from studies.buono2017 import reference as numpy_side

    rng = np.random.default_rng(1)
    s = sp.random_array((4000, 300), density=0.02, format="csr", rng=rng)
    lengths = np.diff(s.indptr)
    a = ps.csr_array(
        s.astype(bool) if kind == "pattern" else s.astype("float32" if kind == "float32" else float)
    )
    if kind == "signed":
        a = ps.csr_array((rng.standard_normal(s.nnz), s.indices, s.indptr), shape=s.shape)
    x = numpy_side.random_numbers(300, 5, np.float32 if kind == "float32" else np.float64)
    reference, y = numpy_side.Reference(a, x), a @ x
    assert (lengths == 0).any() and reference.check(y) <= 1
    for row in (0, 1777, 3999, int(np.argmax(lengths)), int(np.flatnonzero(lengths == 0)[0])):
        for value in (y[row] + 1e-3, np.nan):
            wrong = y.copy()
            wrong[row] = value
            assert not reference.check(wrong) <= 1
    with pytest.raises(ValueError, match="result is"):
        reference.check(y[:-1])


def test_random_numbers_do_not_depend_on_threads(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studies.buono2017 import reference as numpy_side

    monkeypatch.setattr(numpy_side, "_CHUNK", 100)
    many = numpy_side.random_numbers(1234, 3)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert np.array_equal(many, numpy_side.random_numbers(1234, 3))
    assert 0.5 <= many.min() < many.max() < 1.5 and len(np.unique(many)) == 1234


def test_the_paper(bench: ModuleType) -> None:
    from studies.buono2017 import paper, tables

    for module in (paper, tables):
        assert doctest.testmod(module).failed == 0
    assert sum(s.nnz for s in paper.TABLE_3) == paper.TABLE_3_ALL.nnz
    for share in (*paper.TABLE_3, paper.TABLE_3_ALL):
        assert 2 * share.nnz / share.seconds / 1e9 == pytest.approx(share.gflops, rel=1e-5)
    for row in paper.TABLE_2.values():  # values and 8-byte columns, in 2^30 bytes
        assert row.gib * 2**30 / row.nnz == pytest.approx(paper.BYTES_PER_NONZERO, rel=0.1)


def test_goals(bench: ModuleType, made: Made) -> None:
    """Rows of a machine that does not exist, near both sides of the goals."""
    from studies.buono2017.summary import lines, targets

    def result(median: float, **more: Any) -> dict[str, Any]:
        return {"role": "ours", "status": "ok", "median": median, **more}

    suite = {"part": "suite", "case": "rmat26 float64", "matrix": "R-MAT 26", "dtype": "float64", "gpus": 1,
             "matrix_bytes": 96e9, "results": {"streamed_raw": result(2.0, predicted_over_measured=0.9)}}  # fmt: skip
    packed = {"part": "suite", "case": "rmat26 pattern", "matrix": "R-MAT 26", "dtype": "pattern", "gpus": 1,
              "results": {"streamed_packed": result(0.1, gflops=39.0, predicted_over_measured=1.1)}}  # fmt: skip
    codec = {"part": "codec", "case": "rmat26 pattern, codec", "bytes_per_nonzero": 2.39, "speedup": 1.5,
             "results": {}}  # fmt: skip
    data = {"quick": False, "settings": {"on_host": False}, "cases": [suite, packed, codec],
            "probe": {"gpus": [], "together": {"1": {"h2d": 50e9}}}}  # fmt: skip
    found = {t["what"]: t for t in targets(data)}
    verdicts = {
        "streamed raw, float64, one GPU: of the probed link": (True, 0.96),
        "streamed raw, float64, four GPUs: of the probed links": (None, None),
        "packed R-MAT 26: bytes a nonzero": (True, 2.39),
        "packed R-MAT 26: speed over 4-byte columns": (False, 1.5),
        "packed R-MAT 26, one GPU: GFLOP/s": (False, 39.0),
        "predicted time against measured, either way": (True, 1 / 0.9),
    }
    for what, (met, got) in verdicts.items():
        assert found[what]["met"] is met and found[what]["got"] == (got and pytest.approx(got)), (
            what
        )
    suite["results"]["streamed_raw"]["predicted_over_measured"] = 1.3
    worst = {t["what"]: t for t in targets(copy.deepcopy(data))}[
        "predicted time against measured, either way"
    ]
    assert worst["met"] is False and worst["where"] == "rmat26 float64: streamed_raw"
    assert {row[3] for row in lines(targets(data))} == {"met", "missed", "not measured"}


def test_bad_options() -> None:
    assert "unknown nonsense" in run("buono2017.py", "--parts", "suite,nonsense", status=2)
    assert "no such folder" in run(
        "buono2017.py", "--quick", "--folder", "/nowhere/at/all", status=2
    )
    assert "positive" in run("buono2017.py", "--quick", "--repeats", 0, status=2)
    assert "scales are 1 to 30" in run("buono2017.py", "--quick", "--scales", 31, status=2)
