"""Figures 2, 4, 5 and 6 of buono-2017 from a report of bench/buono2017.py, the paper's numbers beside ours,
and its part of the results pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lib.paper_tables import Figures, Report, good, markdown, of_part, save_figures, size
from lib.plot_ratios import COLOURS, MARKERS

from studies.buono2017 import paper
from studies.buono2017.tables import tables

_SHOWN = {"cpu_blocked": "CPU, blocked", "cpu_binned": "CPU, binned", "streamed_raw": "streamed",
          "streamed_packed": "streamed, packed", "resident": "resident"}  # fmt: skip


def _transfers(axes: Any, data: Report) -> None:
    cases = of_part(data, "transfers")
    for case in cases[:1]:  # the GPUs of a machine look alike
        for k, (name, curve) in enumerate(case["curves"].items()):
            sizes, rates = [p[0] for p in curve], [p[1] / 1e9 for p in curve]
            axes.plot(sizes, rates, MARKERS[k], linestyle="-", markersize=3.5, label=name.replace("_", " "),
                      color=COLOURS[k])  # fmt: skip
    if cases and not data["settings"]["on_host"]:
        axes.axhline(paper.PINNED, color="black", linewidth=0.8, label="paper, pinned (P100)")
        axes.axhspan(*paper.PAGEABLE, color="#dddddd", label="paper, pageable")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: size(x))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("size of a transfer")
    axes.set_ylabel("GB/s")


def _model(axes: Any, data: Report) -> None:
    cases = of_part(data, "model")
    for k, case in enumerate(cases):
        counted = [r for n in case["results"] if "blocks" in (r := good(case, n)) and "median" in r]
        counts = [r["blocks"] for r in counted]
        label = f"{case['matrix']} {case['dtype']}"
        axes.plot(counts, [r["gflops"] for r in counted], "o-", color=COLOURS[k], markersize=3.5,
                  label=f"{label}, measured")  # fmt: skip
        axes.plot(counts, [case["work"] / r["predicted_seconds"] / 1e9 for r in counted], "--",
                  color=COLOURS[k], label=f"{label}, predicted")  # fmt: skip
    axes.axvline(paper.BLOCKS_USED, color="black", linewidth=0.8, label="paper's choice")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("blocks")
    axes.set_ylabel("GFLOP/s")


def _suite(axes: Any, data: Report) -> None:
    cases = of_part(data, "suite")
    present = [name for name in _SHOWN if any(good(c, name) for c in cases)]
    width = 0.8 / max(len(present), 1)
    for k, name in enumerate(present):
        speeds = [good(c, name).get("gflops", 0) for c in cases]
        axes.bar([i + (k + 0.5) * width - 0.4 for i in range(len(cases))], speeds, width,
                 label=_SHOWN[name], color=COLOURS[k])  # fmt: skip
    marked = False
    for i, case in enumerate(cases):
        theirs = paper.STREAMED.get(case["matrix"])
        family = paper.SPEED.get(case["matrix"].split()[0] if " " in case["matrix"] else "real")
        if theirs is None and case["matrix"] in paper.TABLE_2 and family:
            theirs = sum(family.streamed) / 2
        if theirs:
            axes.plot([i - 0.45, i + 0.45], [theirs] * 2, color="black", linewidth=1.2,
                      label=None if marked else "paper, 4 P100 streamed")  # fmt: skip
            marked = True
    axes.set_xticks(range(len(cases)), [f"{c['matrix']}\n{c['dtype']}" for c in cases], fontsize=6)
    axes.set_ylabel("GFLOP/s")


def _scaling(axes: Any, data: Report) -> None:
    cases = [
        c for c in of_part(data, "scaling") if any("count" in r for r in c["results"].values())
    ]
    for k, case in enumerate(cases):
        found = [r for n in case["results"] if "count" in (r := good(case, n))]
        axes.plot([r["count"] for r in found], [r["speedup"] for r in found], MARKERS[k % len(MARKERS)],
                  linestyle="-", markersize=3.5, color=COLOURS[k % len(COLOURS)],
                  label=f"{case['matrix']} {case['dtype']} {case['codec']}")  # fmt: skip
    axes.plot(
        list(paper.SPEEDUP), list(paper.SPEEDUP.values()), "k--", linewidth=0.8, label="paper, P100"
    )
    counts = sorted({r["count"] for c in cases for r in c["results"].values() if "count" in r})
    axes.set_xticks(counts or [1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("GPUs")
    axes.set_ylabel("speed over one GPU's")


def _resident(axes: Any, data: Report) -> None:
    people = [
        (case, name, good(case, name))
        for case in of_part(data, "resident")
        for name in reversed(case["results"])
        if "median" in good(case, name)
    ]
    at = range(len(people))
    axes.barh(
        at,
        [r["median"] * 1e3 for _, _, r in people],
        color=COLOURS[0],
        height=0.6,
        label="a product",
    )
    bounds = [(r.get("bound_seconds") or 0) * 1e3 for _, _, r in people]
    axes.plot(
        bounds,
        at,
        "|",
        color="black",
        markersize=16,
        linestyle="none",
        label="its bytes over the link",
    )
    axes.set_yticks(
        at, [f"{c['matrix']} {c['dtype']}: {n.replace('_', ' ')}" for c, n, _ in people]
    )
    axes.set_xlabel("ms")


FIGURES: Figures = {
    "transfers": ("Host-device transfers (figure 2)", _transfers),
    "model": ("Blocks a product: model and measurement (figure 4)", _model),
    "suite": ("SpMV, result back on the host (figure 5)", _suite),
    "scaling": ("Strong scaling (figure 6)", _scaling),
    "resident": ("What fits stays: one of 20 products in a row", _resident),
}


def shown(data: Report) -> list[str]:
    """The parts that the report has numbers of, for a figure."""
    found = []
    for part in FIGURES:
        cases = of_part(data, part)
        if cases and (
            part == "transfers" or any("median" in good(c, n) for c in cases for n in c["results"])
        ):
            found.append(part)
    return found


def save_all(data: Report, folder: Path, name: str = "buono2017") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    return save_figures(data, FIGURES, shown(data), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    first = ["The host played the device in this run: it measures nothing.", ""]
    figures = [(FIGURES[part][0], f"{pictures}/{name}_{part}.svg") for part in shown(data)]
    return [
        *(first if data["settings"]["on_host"] else []),
        *markdown(data, tables(data), figures),
    ]
