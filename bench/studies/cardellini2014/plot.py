"""Figures 1 to 6 of cardellini-2014 from a report of bench/cardellini2014.py, and its part of the results pages."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from lib.paper_tables import Figures, Report, good, markdown, of_part, save_figures
from lib.plot_ratios import COLOURS, MARKERS

from studies.cardellini2014 import paper
from studies.cardellini2014.read import Case, alone, present, scenarios, where
from studies.cardellini2014.tables import tables


def _lines(axes: Any, cases: list[Case], x: str, y: Any) -> None:
    for k, name in enumerate(present(cases)):
        found = [(c[x], y(c, name)) for c in cases if "median" in good(c, name)]
        dashed = "--" if name in paper.STRATEGIES else "-"
        axes.plot([p[0] for p in found], [p[1] for p in found], MARKERS[k % len(MARKERS)], linestyle=dashed,
                  markersize=3.5, color=COLOURS[k % len(COLOURS)], label=paper.shown(name))  # fmt: skip


def _sizes(axes: Any, cases: list[Case]) -> None:
    axes.set_xticks(sorted({c["n"] for c in cases}))
    axes.set_xlabel("N of pdeN")


def _throughput(axes: Any, data: Report, at: int) -> None:
    """`at`: which scenario of the report."""
    (ranks, gpus), cases = list(scenarios(of_part(data, "throughput")).items())[at]
    _lines(axes, cases, "n", lambda c, name: good(c, name)["gflops"])
    _sizes(axes, cases)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GFLOP/s")
    axes.set_title(where(ranks, gpus), fontsize=8)


def _copies(axes: Any, data: Report) -> None:
    """Of the scenario with the most ranks."""
    found = scenarios(of_part(data, "copies"))
    (ranks, gpus) = max(found)
    cases = found[ranks, gpus]
    _lines(axes, cases, "n", lambda c, name: good(c, name)["median"] * 1e6)
    _sizes(axes, cases)
    axes.set_yscale("log")
    axes.set_ylabel(f"us an exchange, {where(ranks, gpus)}")


def _weak(axes: Any, data: Report) -> None:
    cases = of_part(data, "weak")
    bases = sorted({c["base"] for c in cases})
    base = bases[-1]
    shown = [c for c in cases if c["base"] == base]
    first = next((alone(c) for c in shown if c["count"] == 1), None)
    if first:
        _lines(axes, shown, "count", lambda c, name: good(c, name)["gflops"] / c["count"] / first)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(sorted({c["count"] for c in shown}))
    axes.set_ylim(bottom=0)
    axes.set_xlabel(f"ranks, each with a pde{base}")
    axes.set_ylabel("efficiency")


def _bars(axes: Any, cases: list[Case], label: Any, names: list[str], key: str) -> None:
    width = 0.8 / max(len(names), 1)
    for k, name in enumerate(names):
        heights = [good(c, name).get(key) or 0 for c in cases]
        axes.bar([i + (k + 0.5) * width - 0.4 for i in range(len(cases))], heights, width, label=paper.shown(name),
                 color=COLOURS[k % len(COLOURS)], hatch="//" if k >= len(COLOURS) else None)  # fmt: skip
    axes.set_xticks(range(len(cases)), [label(c) for c in cases], fontsize=6)


def _exchange(axes: Any, data: Report) -> None:
    cases = of_part(data, "exchange")
    names = [n for n in present(cases) if n not in ("hand", "sync")]
    _bars(axes, cases, lambda c: f"pde{c['n']}\n{c['ranks']} ranks", names, "over_hand")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_ylabel("time over messages by hand")


def _kernel(axes: Any, data: Report) -> None:
    cases = of_part(data, "kernel")
    _bars(axes, cases, lambda c: c["matrix"], present(cases), "gflops")
    axes.set_ylabel("GFLOP/s")


def _cg(axes: Any, data: Report) -> None:
    cases = of_part(data, "cg")
    _bars(axes, cases, lambda c: where(c["ranks"], c["gpus"]), present(cases), "iterations_per_s")
    axes.set_ylabel("iterations a second")


_SINGLE: Figures = {
    "copies": ("The exchange alone (figure 1(b))", _copies),
    "weak": ("Weak scaling (figure 6)", _weak),
    "kernel": ("The local product: CSR and ELL-G", _kernel),
    "cg": ("CG", _cg),
    "exchange": ("Exchange on the CPU", _exchange),
}


def figures(data: Report) -> Figures:
    """One for each scenario of throughput, and one for each other part that has numbers."""
    found: Figures = {}
    for at, ((ranks, gpus), cases) in enumerate(scenarios(of_part(data, "throughput")).items()):
        told = paper.FIGURES.get((ranks, gpus), "figures 1 to 5")
        if present(cases):
            found[f"throughput_{ranks}_{gpus}"] = (
                f"Throughput of SpMV ({told})",
                partial(_throughput, at=at),
            )
    return found | {part: f for part, f in _SINGLE.items() if present(of_part(data, part))}


def save_all(data: Report, folder: Path, name: str = "cardellini2014") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    drawn = figures(data)
    return save_figures(data, drawn, list(drawn), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    first = ["The host played the device in this run: its rows of devices measure nothing.", ""]
    drawn = [(title, f"{pictures}/{name}_{part}.svg") for part, (title, _) in figures(data).items()]
    return [*(first if data["settings"]["on_host"] else []), *markdown(data, tables(data), drawn)]
