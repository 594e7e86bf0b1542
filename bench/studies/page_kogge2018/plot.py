"""Figures 4 to 9 of Page and Kogge 2018 from a report of bench/page_kogge2018.py, and its part of the results page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from lib.paper_tables import (
    Figures,
    Report,
    good,
    markdown,
    of_part,
    once,
    plot_predictions,
    save_figures,
)
from lib.plot_ratios import COLOURS

from studies.page_kogge2018 import paper
from studies.page_kogge2018.tables import named, ratio, tables

_BANDS = {"dense": "#3b7a57", "middle": "#4878a8", "sparse": "#b5483a"}
_WORDS = {"dense": "over 100 entries a row", "middle": "10 to 100", "sparse": "under 10"}


def _log(axes: Any, ranks: list[int], x: str = "ranks") -> None:
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ranks, [f"{n}" for n in ranks])
    axes.minorticks_off()
    axes.set_xlabel(x)


def _threads(axes: Any, data: Report) -> None:
    seen: set[str] = set()
    cases = of_part(data, "threads")
    for c in cases:
        kind = paper.band(c["paper_per_row"])
        found = [good(c, n) for n in c["results"] if "median" in good(c, n)]
        axes.plot([r["threads"] for r in found], [1e3 * r["median"] for r in found], "o-", markersize=2.5,
                  linewidth=0.8, color=_BANDS[kind], label=once(seen, _WORDS[kind]))  # fmt: skip
    _log(
        axes,
        sorted({r["threads"] for c in cases for r in c["results"].values()}),
        "threads of one rank",
    )
    axes.set_ylabel("ms a product")


def _bars(axes: Any, data: Report, part: str, layout: str) -> None:
    """Communication on top of computation, for the most ranks that were measured; a tick: predicted."""
    most = max(c["ranks"] for c in of_part(data, part))
    cases = [c for c in of_part(data, part) if c["ranks"] == most and "median" in good(c, layout)]
    found, at = [good(c, layout) for c in cases], range(len(cases))
    compute, comm = [1e3 * r["compute"] for r in found], [1e3 * r["communicate"] for r in found]
    axes.bar(at, compute, 0.7, color=COLOURS[0], label=f"computation, {most} ranks")
    axes.bar(at, comm, 0.7, bottom=compute, color=COLOURS[1], label="communication")
    axes.plot(at, [1e3 * r["predicted_seconds"] for r in found], "_", color="black", markersize=9,
              linestyle="none", label="predicted")  # fmt: skip
    axes.set_xticks(at, [named(c) for c in cases], rotation=90, fontsize=5)
    axes.set_ylabel("ms")


def _naive(axes: Any, data: Report) -> None:
    _bars(axes, data, "ranks", "naive")


def _ratios(axes: Any, data: Report, layout: str) -> None:
    """Measured rows as points, the oracle's for the paper's cluster as lines."""
    seen: set[str] = set()
    theirs = {"naive": "grid_reduce", "balanced": "bins_gather"}[layout]
    for c in of_part(data, "oracle"):
        kind = paper.band(c["paper_per_row"])
        rows = [p for p in c["predictions"] if p["layout"] == theirs and p["communicate"] > 0]
        axes.plot([p["ranks"] for p in rows], [ratio(p) for p in rows], "-", linewidth=0.8, color=_BANDS[kind],
                  label=once(seen, f"{_WORDS[kind]}, predicted"))  # fmt: skip
    for c in of_part(data, "ranks"):
        r = good(c, layout)
        if r.get("ratio") and c["ranks"] > 1:
            axes.plot([c["ranks"]], [r["ratio"]], "o", markersize=3, color=_BANDS[paper.band(c["paper_per_row"])],
                      label=once(seen, "measured here"))  # fmt: skip
    axes.axhline(1, color="black", linewidth=0.8)
    _log(axes, _oracle_ranks(data) or sorted({c["ranks"] for c in of_part(data, "ranks")}))
    axes.set_ylabel("communication / computation")


def _oracle_ranks(data: Report) -> list[int]:
    return sorted({p["ranks"] for c in of_part(data, "oracle") for p in c["predictions"]})


def _ratio_naive(axes: Any, data: Report) -> None:
    _ratios(axes, data, "naive")


def _ratio_balanced(axes: Any, data: Report) -> None:
    _ratios(axes, data, "balanced")


def _gather(axes: Any, data: Report) -> None:
    """Figure 8: communication over that on the fewest ranks, beside log2 of the ranks."""
    for c in of_part(data, "oracle"):
        rows = [p for p in c["predictions"] if p["layout"] == "bins_gather" and p["ranks"] > 1]
        first = rows[0]["communicate"] if rows else 0
        if first:
            axes.plot([p["ranks"] for p in rows], [p["communicate"] / first for p in rows], "o", markersize=2.5,
                      color=_BANDS[paper.band(c["paper_per_row"])])  # fmt: skip
    ranks = [n for n in _oracle_ranks(data) if n > 1]
    if ranks:
        axes.plot(ranks, [math.log2(n) / math.log2(ranks[0]) for n in ranks], color="black",
                  linewidth=0.8, label="log2 P")  # fmt: skip
    axes.axvline(
        paper.SECOND_SWITCH,
        color="#999999",
        linewidth=0.8,
        linestyle="--",
        label="the paper's second switch",
    )
    _log(axes, ranks)
    axes.set_ylabel(f"communication / that on {ranks[0] if ranks else 4} ranks")


def _speed(axes: Any, data: Report) -> None:
    """Figure 9: GFLOP/s with the communication."""
    seen: set[str] = set()
    for c in of_part(data, "oracle"):
        kind = paper.band(c["paper_per_row"])
        rows = [p for p in c["predictions"] if p["layout"] == "bins_gather"]
        rates = [2e-9 * c["nnz"] / p["seconds"] for p in rows]
        axes.plot([p["ranks"] for p in rows], rates, "-", linewidth=0.8, color=_BANDS[kind],
                  label=once(seen, f"{_WORDS[kind]}, predicted"))  # fmt: skip
    for kind, stop in paper.STOPS.items():
        axes.axvline(
            stop,
            color=_BANDS[kind],
            linestyle=":",
            linewidth=1,
            label=once(seen, "paper: speedup ends"),
        )
    _log(axes, _oracle_ranks(data))
    axes.set_ylabel("GFLOP/s")


def _accuracy(axes: Any, data: Report) -> None:
    plot_predictions(axes, data, ("ranks", "mpi", "shaped"))


FIGURES: Figures = {
    "threads": ("One rank, more threads (figure 4)", _threads),
    "naive": ("Naive distribution (figure 5)", _naive),
    "ratio_naive": ("Communication over computation, naive (figure 6)", _ratio_naive),
    "ratio_balanced": ("Communication over computation, balanced (figure 7)", _ratio_balanced),
    "gather": ("Gathering y, predicted (figure 8)", _gather),
    "speed": ("Product and communication, balanced (figure 9)", _speed),
    "accuracy": ("The oracle against what was measured", _accuracy),
}
_NEEDS = {"threads": ("threads",), "naive": ("ranks",), "ratio_naive": ("oracle", "ranks"),
          "ratio_balanced": ("oracle", "ranks"), "gather": ("oracle",), "speed": ("oracle",),
          "accuracy": ("ranks", "mpi", "shaped")}  # fmt: skip


def shown(data: Report) -> list[str]:
    """The figures that the report has numbers for."""
    return [name for name in FIGURES if any(of_part(data, part) for part in _NEEDS[name])]


def save_all(data: Report, folder: Path, name: str = "page_kogge2018") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    return save_figures(data, FIGURES, shown(data), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    figures = [(FIGURES[part][0], f"{pictures}/{name}_{part}.svg") for part in shown(data)]
    first = []
    if any(c["stand_in"] for c in data["cases"]):
        shrink = data["settings"]["shrink"]
        first = [
            f"Matrices with an asterisk are stand-ins: their rows (over {shrink}) and entries a row are the paper's, "
            "their structure is ours.",
            "",
        ]
    return [*first, *markdown(data, tables(data), figures)]
