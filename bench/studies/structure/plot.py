"""The results page of bench/structure.py: its table, and a figure of the default beside others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lib.paper_tables import Figures, Report, good, markdown, save_figures
from lib.plot_ratios import COLOURS

from studies.structure import goals, several
from studies.structure.parts import ALGORITHM_NAMES, tables

_WAYS = {"in_core": "in core", "default": "default, within the budget", "aligned": "EMOGI's method",
         "gap": "GAP, on the CPU"}  # fmt: skip


def _bars(axes: Any, data: Report, algorithm: str) -> None:
    cases = [c for c in data["cases"] if c["algorithm"] == algorithm]
    present = [w for w in _WAYS if any("median" in good(c, w) for c in cases)]
    width = 0.8 / max(len(present), 1)
    for k, way in enumerate(present):
        heights = [1e3 * good(c, way).get("median", 0) for c in cases]
        at = [i + (k + 0.5) * width - 0.4 for i in range(len(cases))]
        axes.bar(at, heights, width, label=_WAYS[way], color=COLOURS[k % len(COLOURS)])
    axes.set_xticks(range(len(cases)), [c["kind"] for c in cases])
    axes.set_yscale("log")
    axes.set_ylabel("ms, median")


def _drawing(algorithm: str) -> Any:
    return lambda axes, data: _bars(axes, data, algorithm)


FIGURES: Figures = {
    name: (f"{title} on lifts", _drawing(name)) for name, title in ALGORITHM_NAMES.items()
}


def shown(data: Report) -> list[str]:
    """The figures that the report has numbers for, of two graphs at least: the table says it of one."""
    timed = [c["algorithm"] for c in data["cases"] if "median" in good(c, "default")]
    return [name for name in FIGURES if timed.count(name) > 1]


def save_all(data: Report, folder: Path, name: str = "structure") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    return save_figures(data, FIGURES, shown(data), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures, tables and goals in Markdown; `pictures`: the folder of the figures, seen from the page. Goals are
    computed anew: a report of before has those of its time."""
    data = {**data, "targets": goals.targets(data, ALGORITHM_NAMES) + several.targets(data)}
    figures = [(FIGURES[part][0], f"{pictures}/{name}_{part}.svg") for part in shown(data)]
    return markdown(data, tables(data), figures)
