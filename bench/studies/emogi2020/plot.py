"""Figures 4, 5, 9, 10 and 11 of min-2020 from a report of bench/emogi2020.py, the paper's numbers beside ours, and its
part of the results pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lib.paper_tables import Figures, Report, good, markdown, of_part, save_figures
from lib.plot_ratios import COLOURS

from studies.emogi2020 import gpu_tables as several
from studies.emogi2020 import paper
from studies.emogi2020.tables import LABELS, TRAVERSALS, tables

_WAYS = ("strided", "merged", "aligned", "managed_read_mostly", "managed_accessed_by", "emogi", "ours", "in_core",
         "cpu", "gap")  # fmt: skip
_COUNTED = ("strided", "merged", "aligned", "ours")
_SIZES = ("32", "64", "96", "128")


def _toy(axes: Any, data: Report) -> None:
    found = [r for c in of_part(data, "toy")[:1] for n in c["results"] if (r := good(c, n))]
    found = [r for r in found if r["memory"] == "pinned"]
    axes.bar(
        range(len(found)),
        [r["gb_per_s"] for r in found],
        0.6,
        color=COLOURS[0],
        label="GB/s, measured",
    )
    axes.set_xticks(range(len(found)), [r["pattern"] for r in found])
    if not data["settings"]["on_host"]:
        axes.axhspan(*paper.COPY_STRIDED, color="#dddddd", label="paper, strided (V100, PCIe 3)")
        axes.axhline(paper.COPY_ALIGNED, color="black", linewidth=0.8, label="paper, aligned")
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GB/s")


def _bars(axes: Any, cases: list[dict[str, Any]], ways: tuple[str, ...], key: Any) -> None:
    present = [w for w in ways if any(key(good(c, w)) for c in cases)]
    width = 0.8 / max(len(present), 1)
    for k, way in enumerate(present):
        heights = [key(good(c, way)) or 0 for c in cases]
        axes.bar([i + (k + 0.5) * width - 0.4 for i in range(len(cases))], heights, width, label=LABELS[way],
                 color=COLOURS[k % len(COLOURS)], hatch="//" if k >= len(COLOURS) else None)  # fmt: skip
    axes.set_xticks(range(len(cases)), [c["case"].replace(" ", "\n", 1) for c in cases], fontsize=6)


def _times(axes: Any, data: Report, parts: tuple[str, ...]) -> None:
    cases, marked = [c for part in parts for c in of_part(data, part)], False
    _bars(axes, cases, _WAYS, lambda r: 1e3 * r["median"] if "median" in r else None)
    for i, case in enumerate(cases):
        theirs = paper.seconds(case["part"], case["graph"])
        if theirs:
            axes.plot([i - 0.45, i + 0.45], [1e3 * theirs] * 2, color="black", linewidth=1.2,
                      label=None if marked else "paper, EMOGI on a V100")  # fmt: skip
            marked = True
    axes.set_yscale("log")
    axes.set_ylabel("ms, median")


def _bfs(axes: Any, data: Report) -> None:
    _times(axes, data, ("bfs", "road"))


def _beyond(axes: Any, data: Report) -> None:
    _times(axes, data, ("cc", "sssp"))


def _amplification(axes: Any, data: Report) -> None:
    cases = [
        c
        for part in TRAVERSALS
        for c in of_part(data, part)
        if any("read" in good(c, w) for w in _COUNTED)
    ]
    _bars(axes, cases, _COUNTED, lambda r: r["read"]["amplification"] if "read" in r else None)
    axes.axhline(
        paper.AMPLIFICATION_ALIGNED, color="black", linewidth=0.8, label="paper, aligned, at most"
    )
    axes.set_yscale("log")
    axes.set_ylabel("bytes read / bytes of the edges")


def _requests(axes: Any, data: Report) -> None:
    bars = [
        (c, w, good(c, w)["read"])
        for c in of_part(data, "bfs")
        for w in _COUNTED
        if "read" in good(c, w)
    ]
    below = [0.0] * len(bars)
    for k, size in enumerate(_SIZES):
        shares = [100 * r["requests"][size] / max(r["count"], 1) for _, _, r in bars]
        axes.bar(
            range(len(bars)), shares, 0.7, bottom=below, color=COLOURS[k], label=f"{size} bytes"
        )
        below = [b + s for b, s in zip(below, shares, strict=True)]
    axes.set_xticks(range(len(bars)), [f"{c['graph']}\n{w}" for c, w, _ in bars], fontsize=6)
    axes.set_ylabel("% of requests")


FIGURES: Figures = {
    "toy": ("An array of the host's read by a GPU (figure 4)", _toy),
    "requests": ("Requests by size, breadth-first search (figure 5)", _requests),
    "bfs": ("Breadth-first search (figure 9)", _bfs),
    "amplification": ("Bytes read over the link (figure 10)", _amplification),
    "beyond": ("Components and shortest paths (figure 11)", _beyond),
}


def shown(data: Report) -> list[str]:
    """The figures that the report has numbers for."""
    timed = {c["part"] for c in data["cases"] if any("median" in good(c, n) for n in c["results"])}
    read = {c["part"] for c in data["cases"] if any("read" in good(c, n) for n in c["results"])}
    has = {"toy": "toy" in timed, "requests": "bfs" in read, "bfs": timed & {"bfs", "road"},
           "amplification": read & {*TRAVERSALS}, "beyond": timed & {"cc", "sssp"}}  # fmt: skip
    return [part for part in FIGURES if has[part]]


def save_all(data: Report, folder: Path, name: str = "emogi2020") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    return save_figures(data, FIGURES, shown(data), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    first = ["There was no GPU in this run: it measures nothing.", ""]
    figures = [(FIGURES[part][0], f"{pictures}/{name}_{part}.svg") for part in shown(data)]
    return [
        *(first if data["settings"]["on_host"] else []),
        *markdown(data, tables(data) + several.tables(data), figures),
    ]
