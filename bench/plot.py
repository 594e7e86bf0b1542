"""The results pages: figures in docs/figures/BENCHMARK, tables of docs/performance/*.md, from bench/results.

    python bench/plot.py             # what `make plots` does
    python bench/plot.py --check     # exit 1 where a table of a page is not that of the results

A block of a page between `<!-- results NAME -->` and `<!-- end -->` shows every report of the benchmark NAME.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from pathlib import Path
from typing import Any

from lib import results
from lib.plot_ratios import figure, geometric_mean, ratios, save
from lib.report import ROOT
from studies.brock2024 import plot as brock2024_plot
from studies.buono2017 import plot as buono2017_plot
from studies.cardellini2014 import plot as cardellini2014_plot
from studies.dist_cpu import tables as dist_cpu_tables
from studies.emogi2020 import plot as emogi2020_plot
from studies.page_kogge2018 import plot as page_kogge2018_plot
from studies.structure import plot as structure_plot

PAGES = {
    "brock2024": brock2024_plot,
    "buono2017": buono2017_plot,
    "cardellini2014": cardellini2014_plot,
    "dist_cpu": dist_cpu_tables,
    "emogi2020": emogi2020_plot,
    "page_kogge2018": page_kogge2018_plot,
    "structure": structure_plot,
}  # benchmarks that have figures and tables of their own
BLOCK = re.compile(r"(<!-- results (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
SECOND = {"spmv_cpu": "penstock_prepared"}  # another of ours that the figures and tables show
_FEWEST = 3  # cases of a figure
RATES = {"gflops": "GFLOP/s", "gteps": "GTEPS", "gedges_per_s": "G edges/s", "gb_per_s": "GB/s"}


def reports(folder: Path) -> dict[str, dict[str, Any]]:
    """Name of the file -> report, of all that are reports of this schema."""
    found = {}
    for path in sorted(folder.rglob("*.json"), key=lambda p: p.stem):
        data = results.read(path)
        if results.is_report(data) and data["cases"]:
            found[path.stem] = data
    return found


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _ours(data: dict[str, Any]) -> str:
    """The contestant that the figures are about."""
    names = [n for c in data["cases"] for n, r in c["results"].items() if r["role"] == "ours"]
    return "penstock" if "penstock" in names or not names else names[0]


def table(name: str, data: dict[str, Any]) -> list[str]:
    ours, second = _ours(data), SECOND.get(data["benchmark"])
    rate = next((k for k in RATES if any(k in r for c in data["cases"] for r in c["results"].values())),
                None)  # fmt: skip
    header = ["case", "ours", *([RATES[rate]] if rate else []), "best rival", "its time", "ratio",
              *([f"ratio, {second.removeprefix('penstock_')}"] if second else [])]  # fmt: skip
    lines = ["| " + " | ".join(header) + " |", "| --- |" + " ---: |" * (len(header) - 1)]
    means: dict[str, list[float]] = {ours: [], **({second: []} if second else {})}
    for case in data["cases"]:
        mine, best = case["results"].get(ours, {}), case["best_rival"]
        right = "median" in mine and mine["status"] == "ok"
        cells = [case["case"], _time(mine["median"]) if right else mine.get("status", "-")]
        if rate:
            cells.append(f"{mine[rate]:.3g}" if right and rate in mine else "-")
        cells += [best or "-", _time(case["results"][best]["median"]) if best else "-"]
        for who in means:
            found = ratios(case, who)
            if found:
                means[who].append(min(found.values()))
            cells.append(f"{min(found.values()):.2f}" if found else "-")
        lines.append("| " + " | ".join(cells) + " |")
    blanks = " |" * (len(header) - len(means) - 1)
    average = [f"{geometric_mean(m):.2f}" if m else "-" for m in means.values()]
    return [*lines, f"| geometric mean |{blanks} {' | '.join(average)} |"]


def gpu_line(data: dict[str, Any]) -> list[str]:
    """The GPUs and their links, where a probe knows any: one of before, or one that the benchmark made."""
    made = data.get("probe") or {}
    probed = data["machine"] if data["machine"].get("gpus_measured") else made
    found = probed.get("gpus_measured") or made.get("gpus") or []
    if not found:
        return []
    links = [
        f"{rate['h2d'] / 1e9:.0f} GB/s from the host to {n}"
        for n, rate in (probed.get("together") or {}).items()
    ]
    return [
        f"- GPUs: {len(found)} {found[0]['name']}, driver {found[0]['driver']}; {', '.join(links)}."
    ]


def source(data: dict[str, Any]) -> list[str]:
    """Machine, commit and command."""
    m, commit = data["machine"], data.get("commit") or "unknown"
    gib = m["memory_bytes"] / 2**30
    versions = ", ".join(
        f"{n} {v}" for n, v in sorted(m["versions"].items()) if n not in ("penstock", "numpy")
    )
    turns = data["settings"].get("repeats", 1)
    turns = min([c["turns"] for c in data["cases"] if "turns" in c], default=turns)
    dirty = " with changes" if data.get("dirty") else ""
    return [
        f"- Machine: {m['cpu']}, {m['cpus']} CPUs, {m['threads']} threads, {gib:.0f} GiB, {m['os']}; "
        f"memory read at {m['host_read'] / 1e9:.1f} GB/s.",
        *gpu_line(data),
        f"- Commit `{commit[:12]}`{dirty}, {data['date'][:10]}, at least {turns} turns each; {versions}.",
        f"- Command: `{shlex.join(data['command'])}`",
    ]


def groups(name: str, data: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Figure -> its cases: one an algorithm where a report has several, with enough cases of each; else one a report.
    Too few cases are no figure."""
    cases = [case for case in data["cases"] if ratios(case, _ours(data))]
    found: dict[str, list[dict[str, Any]]] = {}
    for case in cases:
        found.setdefault(case.get("algorithm") or "", []).append(case)
    if len(found) > 1 and min(map(len, found.values())) >= _FEWEST:
        return {f"{name}_{key}": some for key, some in found.items()}
    return {name: cases} if len(cases) >= _FEWEST else {}


def block(name: str, data: dict[str, Any], figures: Path, page: Path) -> list[str]:
    folder = figures / data["benchmark"]
    pictures = Path(os.path.relpath(folder, page.parent)).as_posix()
    lines = [f"## {name}", "", *source(data), ""]
    if data["quick"]:
        lines += ["This was a run on toy inputs: it measures nothing.", ""]
    if data["benchmark"] in PAGES:
        return [*lines, *PAGES[data["benchmark"]].body(name, data, pictures)]
    for figure_name in groups(name, data):
        lines += [f"![Ratios of {figure_name}]({pictures}/{figure_name}.svg)", ""]
    wrong = [
        f"{case['case']}: {who} {r['status']}"
        for case in data["cases"]
        for who, r in case["results"].items()
        if r["status"] != "ok"
    ]
    return [
        *lines,
        *table(name, data),
        *(["", "Not counted: " + "; ".join(wrong) + "."] if wrong else []),
        "",
    ]


def page_text(text: str, found: dict[str, dict[str, Any]], figures: Path, page: Path) -> str:
    def fill(match: re.Match[str]) -> str:
        benchmark = match[2]
        lines = [
            line
            for name, data in found.items()
            if data["benchmark"] == benchmark
            for line in block(name, data, figures, page)
        ]
        lines = lines or [f"No result yet: `python bench/{benchmark}.py` makes one.", ""]
        return match[1] + "\n".join(["", *lines, ""]) + match[3]

    return BLOCK.sub(fill, text)


def pages(docs: Path) -> list[Path]:
    """The index and the page of each study, those that there are."""
    index = docs / "performance.md"
    return [*([index] if index.is_file() else []), *sorted((docs / "performance").glob("*.md"))]


def draw(name: str, data: dict[str, Any], figures: Path) -> None:
    """The figures of a report, in a folder of its benchmark."""
    figures = figures / data["benchmark"]
    if data["benchmark"] in PAGES:
        for path in PAGES[data["benchmark"]].save_all(data, figures, name):
            print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")
        return
    for figure_name, cases in groups(name, data).items():
        picture = figure(figure_name, cases, _ours(data), SECOND.get(data["benchmark"]))
        save(figures / f"{figure_name}.svg", picture)
        print(f"{figure_name}.svg: {len(picture) / 1024:.0f} KB, {len(cases)} cases")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs", help="holds performance.md and performance/"
    )
    parser.add_argument("--check", action="store_true", help="compare the tables, write nothing")
    args = parser.parse_args()
    figures = args.docs / "figures"
    before = {page: page.read_text() for page in pages(args.docs)}
    if not before:
        parser.error(f"{args.docs}: neither performance.md nor performance/*.md is there")
    found = reports(args.results)
    after = {page: page_text(text, found, figures, page) for page, text in before.items()}
    if args.check:
        changed = [page for page in before if before[page] != after[page]]
        for page in changed:
            print(f"{page.name} is not that of {args.results.name}/: run `make plots`")
        return int(bool(changed))
    for name, data in found.items():
        if any(f"<!-- results {data['benchmark']} -->" in text for text in before.values()):
            draw(name, data, figures)
    for page, text in after.items():
        save(page, text.encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
