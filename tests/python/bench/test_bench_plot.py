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
        case("three", 0.002, "scipy", scipy=result(0.002)),
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
    assert "figures/toy_cpu/toy_cpu.svg" in page
    assert "No result yet: `python bench/no_cpu.py`" in page
    assert "old" not in page
    assert page.startswith("# Page\n")
    assert "\nafter\n" in page
    svg = (docs / "figures" / "toy_cpu" / "toy_cpu.svg").read_bytes()
    assert b">one<" in svg and b">alone<" not in svg and len(svg) < 100_000
    (docs / "figures" / "toy_cpu" / "toy_cpu.svg").unlink()
    plot(results, docs)
    assert (docs / "figures" / "toy_cpu" / "toy_cpu.svg").read_bytes() == svg
    assert (docs / "performance.md").read_text() == page
    plot(results, docs, "--check")


@pytest.mark.parametrize("each", [2, 3])
def test_a_figure_for_each_algorithm(folders: tuple[Path, Path], each: int) -> None:
    """Where there are enough cases of each; otherwise one for all."""
    pytest.importorskip("matplotlib")
    results, docs = folders
    cases = [
        {**case(f"g{k} {kind}", 1.0, "scipy", scipy=result(2.0)), "algorithm": kind}
        for kind in ("bfs", "cc")
        for k in range(each)
    ]
    (results / "toy_cpu.json").write_text(json.dumps(report(cases)))
    plot(results, docs)
    wanted = ["toy_cpu_bfs.svg", "toy_cpu_cc.svg"] if each == 3 else ["toy_cpu.svg"]
    assert sorted(p.name for p in (docs / "figures" / "toy_cpu").iterdir()) == wanted


def test_a_page_for_each_study(folders: tuple[Path, Path]) -> None:
    pytest.importorskip("matplotlib")
    results, docs = folders
    (docs / "performance.md").write_text("# Index\n")
    (docs / "performance").mkdir()
    (docs / "performance" / "toy.md").write_text(PAGE)
    assert "toy.md is not that of" in plot(results, docs, "--check", status=1)
    plot(results, docs)
    page = (docs / "performance" / "toy.md").read_text()
    assert "## toy_cpu" in page and "](../figures/toy_cpu/toy_cpu.svg)" in page
    assert (docs / "figures" / "toy_cpu" / "toy_cpu.svg").is_file()
    assert (docs / "performance.md").read_text() == "# Index\n"
    plot(results, docs, "--check")


def test_bad_files(folders: tuple[Path, Path]) -> None:
    results, docs = folders
    (results / "toy_cpu.json").write_text("{")
    assert "toy_cpu.json" in plot(results, docs, status=1)
    assert "performance.md" in plot(results, docs / "nowhere", status=2)


@pytest.fixture
def committed() -> Path:
    docs = BENCH.parent / "docs"
    if not (docs / "performance.md").is_file():
        pytest.skip("no docs folder beside the tests")
    return docs


def test_the_committed_pages_show_the_committed_results(committed: Path) -> None:
    run("plot.py", "--check")


def test_the_index(committed: Path) -> None:
    """It is short, and each of its numbers stands on the page that it links to."""
    text = (committed / "performance.md").read_text()
    assert len(text.splitlines()) <= 60
    linked = set()
    for row in re.findall(r"^\| \[.*$", text, re.MULTILINE):
        (name,) = re.findall(r"\]\((performance/\w+\.md)\)", row)
        page = (committed / name).read_text()
        numbers = re.findall(r"\*\*(.*?)\*\*", row)
        assert numbers and all(f"| {n} |" in page for n in numbers), f"{name}: {numbers}"
        linked.add(name)
    there = {f"performance/{p.name}" for p in (committed / "performance").glob("*.md")}
    assert linked == there
    navigation = (BENCH.parent / "mkdocs.yml").read_text()
    assert all(name in navigation for name in there)


def test_every_figure_is_shown(committed: Path) -> None:
    texts = "".join(p.read_text() for p in committed.rglob("*.md"))
    texts += (BENCH.parent / "README.md").read_text()
    shown = set(re.findall(r"figures/([\w/]+\.svg)", texts))
    figures = committed / "figures"
    files = {p.relative_to(figures).as_posix(): p.stat().st_size for p in figures.glob("**/*.svg")}
    assert shown == set(files)
    assert sum(files.values()) < 700_000 and max(files.values()) < 40_000


def test_a_smaller_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, styles and digits shrink; what is drawn stays."""
    monkeypatch.syspath_prepend(str(BENCH))
    from lib.svg import compact

    style = "style=\"fill: #ffffff; font-family: 'A', 'B'\""
    texts = "".join(
        f'<text {style} x="{k}.123456" transform="rotate(-0 1 2)">v1.23456</text>\n'
        for k in range(3)
    )
    given = (
        '<svg width="10pt">\n <!-- a -->\n <g id="unused">\n  <g id="inner">\n'
        f' <path id="marker" d="M 0.000004 1.999996 L 3 4"/>{texts}'
        ' <use href="#marker" x="-7.505001"/>\n  </g>\n </g>\n</svg>\n'
    )
    small = compact(given)
    assert "<!--" not in small and "unused" not in small and "<g" not in small
    assert '<path id="i0" d="M 0 2 L 3 4"/>' in small and '<use href="#i0" x="-7.51"/>' in small
    assert small.count("fill: #ffffff") == 1 and small.count('<text class="s0" x="') == 3
    assert small.count(">v1.23456<") == 3, "text is no coordinate"
