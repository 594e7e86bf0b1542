"""Figures 1 to 5 of Brock et al. 2024 from a report of bench/brock2024.py, and its part of the results pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from lib.paper_tables import (
    Figures,
    Report,
    good,
    markdown,
    of_part,
    plot_predictions,
    save_figures,
)
from lib.plot_ratios import COLOURS, MARKERS

from studies.brock2024 import gpu_tables as on_gpus
from studies.brock2024.tables import named, tables

_PARTS = ("compute", "communication", "accumulation", "imbalance")


def _imbalance(axes: Any, data: Report) -> None:
    """Figure 1: (a) a rank's flops from end to end, as a map beside; (b) the most over the mean of each stage."""
    c = of_part(data, "figure_1")[0]
    stages = c["stages"]
    axes.bar(range(len(stages)), stages, color=COLOURS[0], label="per stage")
    axes.axhline(
        c["per_stage"],
        color=COLOURS[0],
        linestyle="--",
        linewidth=0.8,
        label=f"all {c['per_stage']:.2f}",
    )
    axes.axhline(
        c["end_to_end"], color=COLOURS[1], linewidth=1, label=f"end to end {c['end_to_end']:.2f}"
    )
    axes.set_xlabel("stage")
    axes.set_ylabel("most / mean flops of a rank")
    inset = axes.inset_axes((0.8, 0.55, 0.19, 0.42))
    inset.imshow(np.reshape(c["by_rank"], c["grid"]), cmap="viridis")
    inset.set_xticks([])
    inset.set_yticks([])
    inset.set_title("(a) flops of ranks", fontsize=6)


def _scaling(axes: Any, data: Report, part: str) -> None:
    """The matrix of most imbalance; of SpMM the fewest columns, where communication weighs most."""
    cases = of_part(data, part)
    columns = min(c["columns"] for c in cases)
    worst = max((c for c in cases if c["columns"] == columns), key=lambda c: c["paper_imbalance"])
    same = [c for c in cases if (c["matrix"], c["columns"]) == (worst["matrix"], columns)]
    shown = sorted(same, key=lambda c: c["ranks"])
    names = list(dict.fromkeys(n for c in shown for n in c["results"]))
    for k, name in enumerate(names):
        rows = [(c["ranks"], good(c, name)["median"]) for c in shown if "median" in good(c, name)]
        axes.plot([r for r, _ in rows], [1e3 * s for _, s in rows], MARKERS[k % len(MARKERS)] + "-", markersize=3,
                  linewidth=0.9, color=COLOURS[k % len(COLOURS)], label=name)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ranks = [c["ranks"] for c in shown]
    axes.set_xticks(ranks, [f"{n}" for n in ranks])
    axes.minorticks_off()
    axes.set_xlabel(f"ranks; {named(worst)}{f', {columns} columns' if columns else ''}")
    axes.set_ylabel("ms a product")


def _spmm(axes: Any, data: Report) -> None:
    _scaling(axes, data, "spmm")


def _spgemm(axes: Any, data: Report) -> None:
    _scaling(axes, data, "spgemm")


def _components(axes: Any, data: Report) -> None:
    """Table 2 measured here: the most ranks, the matrix of most imbalance."""
    cases = of_part(data, "spgemm") or of_part(data, "spmm")
    most = max(c["ranks"] for c in cases)
    c = max((c for c in cases if c["ranks"] == most), key=lambda c: c["paper_imbalance"])
    names = [n for n in c["results"] if "median" in good(c, n)]
    below = np.zeros(len(names))
    for k, part in enumerate(_PARTS):
        high = np.array([1e3 * good(c, n)[part] for n in names])
        axes.bar(range(len(names)), high, 0.7, bottom=below, color=COLOURS[k], label=part)
        below += high
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right", fontsize=7)
    axes.set_ylabel(f"ms, mean of {most} ranks; {named(c)}")


def _roofline(axes: Any, data: Report) -> None:
    """Figure 2: left and right in one."""
    cases = of_part(data, "roofline")
    first = next((c for c in cases if "peak_flops_per_s" in c), None)
    net, peak = 23e9 / 6, 16e12
    if first:
        net, peak = first["network_bytes_per_s"], first["peak_flops_per_s"]
    at = np.geomspace(0.1, 1e4, 40)
    axes.plot(
        at,
        np.minimum(at * net, peak) / 1e9,
        color=COLOURS[0],
        label=f"network, {net / 1e9:.2f} GB/s",
    )
    axes.axhline(peak / 1e9, color="#604030", linewidth=0.8, label="float32 peak")
    rows = [(c, r) for c in cases for r in c["rows"] if r["network_intensity"] is not None]
    for k, (case, r) in enumerate(rows):
        what = f"SpMM {r['columns']}" if "columns" in r else f"{case['matrix']}, {r['ranks']} GPUs"
        colour = COLOURS[(k + 1) % len(COLOURS)]
        roof = r["local_flops_per_s"] / 1e9
        top = min(roof, r["network_flops_per_s"] / 1e9)
        axes.plot([r["network_intensity"]] * 2, [0.1, top], color=colour, label=what)
        axes.axhline(roof, color=colour, linestyle=":", linewidth=0.7)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("flops for each byte over the network")
    axes.set_ylabel("GFLOP/s of a GPU")


def _accuracy(axes: Any, data: Report) -> None:
    plot_predictions(axes, data, ("spmm", "spgemm"))


def _gpus_spmm(axes: Any, data: Report) -> None:
    on_gpus.scaling(axes, data, "spmm")


def _gpus_spgemm(axes: Any, data: Report) -> None:
    on_gpus.scaling(axes, data, "spgemm")


FIGURES: Figures = {
    "imbalance": ("Load of ranks that meet at the end, and at every stage (figure 1)", _imbalance),
    "roofline": ("Inter-node roofline of a GPU of Summit (figure 2)", _roofline),
    "spmm": ("SpMM, strong scaling (figures 3 and 4)", _spmm),
    "spgemm": ("SpGEMM, strong scaling (figure 5)", _spgemm),
    "components": ("What the time is (Table 2)", _components),
    "accuracy": ("The model against what was measured", _accuracy),
    "gpus_spmm": ("SpMM on the GPUs of one host, strong scaling", _gpus_spmm),
    "gpus_spgemm": ("SpGEMM on the GPUs of one host, strong scaling", _gpus_spgemm),
    "gpus_components": ("What the time on GPUs is (Table 2)", on_gpus.components),
}
_NEEDS = {"imbalance": ("figure_1",), "roofline": ("roofline",), "spmm": ("spmm",), "spgemm": ("spgemm",),
          "components": ("spmm", "spgemm"), "accuracy": ("spmm", "spgemm")}  # fmt: skip


def shown(data: Report) -> list[str]:
    """The figures that the report has numbers for."""
    found = [name for name in FIGURES if any(of_part(data, part) for part in _NEEDS.get(name, ()))]
    cases = of_part(data, "gpus")
    found += [f"gpus_{op}" for op in ("spmm", "spgemm") if any(c["op"] == op for c in cases)]
    return [*found, "gpus_components"] if cases else found


def save_all(data: Report, folder: Path, name: str = "brock2024") -> list[Path]:
    """The figures, as NAME_PART.svg; returns their paths."""
    return save_figures(data, FIGURES, shown(data), folder, name)


def body(name: str, data: Report, pictures: str) -> list[str]:
    """Figures and tables in Markdown; `pictures`: the folder of the figures, seen from the page."""
    figures = [(FIGURES[part][0], f"{pictures}/{name}_{part}.svg") for part in shown(data)]
    first = []
    if any(c.get("stand_in") for c in data["cases"]):
        entries = data["settings"]["entries"]
        first = [f"Matrices with an asterisk are stand-ins of about {entries:,} entries, made to the "
                 "entries a row and the imbalance of Table 1; their structure is ours.", ""]  # fmt: skip
    return [*first, *markdown(data, tables(data), figures)]
