"""The reproduction of page-kogge-2018: every part's rows, files and stand-ins, predictions, figures, page, goals."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, Made, cases, program, tiny_run
from test_bench import BENCH, run

import penstock as ps

pytestmark = NEEDS_BENCH
TINY = (
    "--quick",
    "--repeats",
    3,
    "--ranks",
    "1,2",
    "--matrices",
    "atmosmodd,rajat30",
    "--shrink",
    512,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One matrix is a file."""
    folder = tmp_path_factory.mktemp("page_kogge")
    files = folder / "suite"
    files.mkdir()
    ps.save(files / "RAJAT30.mtx", ps.generate.uniform(300, 300, 6, seed=1))
    options = ("--folder", files, "--parts", "mad,threads,ranks,oracle")
    return tiny_run("page_kogge2018", folder, *TINY, *options)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("page_kogge2018", monkeypatch)


def test_every_part_has_rows_that_are_right(made: Made) -> None:
    data, _, _ = made
    assert (data["benchmark"], data["schema"], data["quick"]) == ("page_kogge2018", 2, True)
    for part, wanted in (("mad", 2), ("threads", 2), ("ranks", 4), ("oracle", 2)):
        found = cases(data, part)
        assert len(found) == wanted, part
        for case in found:
            for who, r in case["results"].items():
                assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
                assert r["median"] > 0 and len(r["seconds"]) == 3
    labels = {c["matrix"]: c["stand_in"] for c in data["cases"]}
    assert labels["rajat30"] is None and "stencil" in labels["atmosmodd"]
    assert cases(data, "mad")[1]["rows"] == 300
    for case in cases(data, "ranks"):
        assert (
            set(case["results"]) == {"naive", "balanced", "ours"}
            and "curves" not in case["network"]
        )
        for r in case["results"].values():
            assert r["predicted_seconds"] > 0 and r["compute"] <= r["median"] * 1.5
        ours = case["results"]["ours"]
        if case["ranks"] == 2:
            assert (ours["sent_bytes"], ours["messages"]) == (
                ours["predicted_bytes"],
                ours["predicted_messages"],
            )
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"


def test_mad_is_that_of_the_definition(made: Made) -> None:
    data, _, _ = made
    a = ps.generate.uniform(300, 300, 6, seed=1)
    case = next(c for c in cases(data, "mad") if c["matrix"] == "rajat30")
    for name, kind in (("naive", ps.partition.grid), ("balanced", ps.partition.bins)):
        nnz = np.bincount(kind(a, 16).entry_parts(a), minlength=16)
        assert case["mad"][name]["16"] == pytest.approx(np.abs(nnz - a.nnz / 16).mean() / a.nnz)
        assert set(case["mad"][name]) == {str(p * p) for p in range(2, 12)}


def test_what_is_printed_and_drawn(made: Made) -> None:
    data, said, plots = made
    for words in ("MAD (V-C, V-D)", "7.10e-02", "Figure 4", "Figures 5 to 7", "scaling stops", "Goals", "atmosmodd*",
                  "stand-ins"):  # fmt: skip
        assert words in said
    names = ("threads", "naive", "ratio_naive", "ratio_balanced", "gather", "speed", "accuracy")
    assert {p.name for p in plots.iterdir()} == {f"page_kogge2018_{n}.svg" for n in names}
    sys.path.insert(0, str(BENCH))
    try:
        from studies.page_kogge2018 import plot
    finally:
        sys.path.remove(str(BENCH))
    text = "\n".join(plot.body("page_kogge2018", data, "figures"))
    assert (
        "asterisk" in text and "figures/page_kogge2018_speed.svg" in text and "| 6.00e-03 |" in text
    )


def test_stand_ins_have_the_papers_rows(bench: ModuleType, tmp_path: Path) -> None:
    from studies.page_kogge2018 import suite
    from studies.page_kogge2018.paper import TABLE_1

    assert len(TABLE_1) == 25
    assert [m.per_row for m in TABLE_1.values()] == sorted(m.per_row for m in TABLE_1.values())
    for s in suite.sources(None, ["parabolic_fem", "F2", "rajat30"], 32):
        a, m = s.make(), TABLE_1[s.name]
        assert s.stand_in and a.dtype == np.float64
        assert a.nnz / a.shape[0] == pytest.approx(m.per_row, rel=0.3), s.name
        assert a.shape[0] == pytest.approx(m.rows / 32, rel=0.45)
    folder = tmp_path / "F2"
    folder.mkdir()
    ps.save(folder / "F2.mtx", ps.generate.laplacian((5, 5)))
    (found,) = suite.sources(tmp_path, ["F2"], 32)
    assert found.stand_in is None and found.make().shape == (25, 25)


def test_a_wrong_product_is_caught(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from studies.page_kogge2018 import worker

    real = worker._error
    monkeypatch.setattr(worker, "_error", lambda a, y: real(a, y + 1.0))
    out = tmp_path / "p.json"
    words = [
        "page_kogge2018.py",
        *TINY[:3],
        "--ranks",
        "2",
        "--matrices",
        "F2",
        "--parts",
        "ranks",
        "--out",
        out,
    ]
    monkeypatch.setattr("sys.argv", list(map(str, words)))
    assert bench.main() == 1
    data = read_report(out)
    assert {r["status"] for c in data["cases"] for r in c["results"].values()} == {"wrong"}


def test_parts_that_cannot_run_say_why(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from studies.page_kogge2018 import runs, shaped

    monkeypatch.setattr(runs, "_mpi_missing", lambda: "no MPI: none at all")
    monkeypatch.setattr(shaped.os, "geteuid", lambda: 1000)
    assert shaped.missing() == "network namespaces need root"
    out = tmp_path / "p.json"
    words = [
        "page_kogge2018.py",
        *TINY[:3],
        "--matrices",
        "F2",
        "--parts",
        "mad,mpi,shaped",
        "--out",
        out,
    ]
    monkeypatch.setattr("sys.argv", list(map(str, words)))
    assert bench.main() == 0
    skipped = {s["what"]: s["why"] for s in read_report(out)["skipped"]}
    assert skipped == {"mpi": "no MPI: none at all", "shaped": "no MPI: none at all"}


def test_options_are_checked(tmp_path: Path) -> None:
    for words, text in ((("--ranks", "0"), "positive"), (("--folder", tmp_path / "none"), "no such folder"),
                        (("--matrices", "lena"), "lena")):  # fmt: skip
        assert text in run("page_kogge2018.py", *words, status=2)
