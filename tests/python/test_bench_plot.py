"""The results page: the same bytes for the same results, right numbers, and its check."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from test_bench import BENCH, run

pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)
PAGE = "# Page\n\n<!-- results toy_cpu -->\nold\n<!-- end -->\n\nafter\n<!-- results no_cpu -->\n<!-- end -->\n"


def result(median: float, role: str = "rival", status: str = "ok") -> dict[str, Any]:
    return {"role": role, "status": status, "median": median, "gflops": 1 / median}


def report(cases: list[dict[str, Any]]) -> dict[str, Any]:
    machine = {"cpu": "Some CPU", "cpus": 2, "threads": 2, "memory_bytes": 2**33, "os": "Linux",
               "host_read": 1e10, "versions": {"scipy": "1.2.3", "numpy": "9"}}  # fmt: skip
    return {"benchmark": "toy_cpu", "schema": 2, "date": "2020-01-02T03:04:05+00:00", "quick": False,
            "command": ["python", "bench/toy_cpu.py", "--out", "a b.json"], "commit": "0123456789abcdef",
            "dirty": False, "settings": {"repeats": 7}, "machine": machine, "skipped": [],
            "cases": cases}  # fmt: skip


def case(name: str, ours: float, best: str | None, **rivals: dict[str, Any]) -> dict[str, Any]:
    return {
        "case": name,
        "best_rival": best,
        "results": {"penstock": result(ours, "ours"), **rivals},
    }


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    docs.mkdir()
    (docs / "performance.md").write_text(PAGE)
    cases = [
        case("one", 0.002, "scipy", scipy=result(0.004), other=result(0.1)),
        case("two", 0.002, "scipy", scipy=result(0.001), other=result(0.5, status="wrong")),
        case("alone", 3.0, None),
    ]
    (results / "toy_cpu.json").write_text(json.dumps(report(cases)))
    (results / "other.json").write_text('{"made": "by something else"}')
    return results, docs


def plot(results: Path, docs: Path, *options: Any, status: int = 0) -> str:
    return run("plot.py", "--results", results, "--docs", docs, *options, status=status)


def test_the_page(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("matplotlib")
    results, docs = folders
    assert "make plots" in plot(results, docs, "--check", status=1)
    plot(results, docs)
    page = (docs / "performance.md").read_text()
    assert "| one | 2 ms | 500 | scipy | 4 ms | 2.00 |" in page
    assert "| two | 2 ms | 500 | scipy | 1 ms | 0.50 |" in page
    assert "| alone | 3 s | 0.333 | - | - | - |" in page
    assert re.search(r"geometric mean \| *\|.* 1\.00 \|", page)
    assert "Not counted: two: other wrong." in page
    for words in ("Some CPU", "`0123456789ab`", "scipy 1.2.3", "bench/toy_cpu.py --out 'a b.json'"):
        assert words in page
    assert "figures/toy_cpu.svg" in page
    assert "No result yet: `python bench/no_cpu.py`" in page
    assert "old" not in page
    assert page.startswith("# Page\n")
    assert "\nafter\n" in page
    svg = (docs / "figures" / "toy_cpu.svg").read_bytes()
    assert b">one<" in svg and b">alone<" not in svg and len(svg) < 100_000
    (docs / "figures" / "toy_cpu.svg").unlink()
    plot(results, docs)
    assert (docs / "figures" / "toy_cpu.svg").read_bytes() == svg
    assert (docs / "performance.md").read_text() == page
    plot(results, docs, "--check")


def test_a_figure_for_each_algorithm(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("matplotlib")
    results, docs = folders
    cases = [
        {**case(f"g {kind}", 1.0, "scipy", scipy=result(2.0)), "algorithm": kind}
        for kind in ("bfs", "cc")
    ]
    (results / "toy_cpu.json").write_text(json.dumps(report(cases)))
    plot(results, docs)
    assert sorted(p.name for p in (docs / "figures").iterdir()) == [
        "toy_cpu_bfs.svg", "toy_cpu_cc.svg"
    ]  # fmt: skip


def test_bad_files(folders: tuple[Path, Path]) -> None:
    results, docs = folders
    (results / "toy_cpu.json").write_text("{")
    assert "toy_cpu.json" in plot(results, docs, status=1)
    assert "performance.md" in plot(results, docs / "nowhere", status=2)


def test_the_committed_page_shows_the_committed_results() -> None:
    if not (BENCH.parent / "docs" / "performance.md").is_file():
        pytest.skip("no docs folder beside the tests")
    run("plot.py", "--check")
