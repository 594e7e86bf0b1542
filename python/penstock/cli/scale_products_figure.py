"""`penstock scale --op ... --plot`: predicted times and what they are made of, or the inter-node roofline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli.figure import write
from penstock.cli.scale_figure import STYLES

_PARTS = (("compute", "C0"), ("communicate", "C3"), ("accumulate", "C2"), ("imbalance", "0.6"))


def _lines(axes: Any, f: Any, value: Any) -> None:
    for k, name in enumerate(f.algorithms()):
        rows = f.of(name)
        axes.plot([p.ranks for p in rows], [value(p) for p in rows], STYLES[k % len(STYLES)],
                  markersize=4, linewidth=1.2, color=f"C{k}", label=name)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else "")
    axes.set_xlabel("ranks")
    axes.grid(True, alpha=0.3)


def _parts(axes: Any, f: Any) -> None:
    """What the time of each algorithm is, on the ranks that are recommended; of one rank there is nothing to show."""
    several = [p for p in f.rows if p.ranks > 1] or f.rows
    ranks = max(f.recommended().ranks, min(several, key=lambda p: p.seconds).ranks)
    rows = [f.at(name, ranks) for name in f.algorithms()]
    below = np.zeros(len(rows))
    for name, colour in _PARTS:
        high = np.array([1e3 * getattr(p, name) for p in rows])
        axes.bar(range(len(rows)), high, bottom=below, color=colour, label=name)
        below += high
    axes.set_xticks(range(len(rows)), f.algorithms(), rotation=45, ha="right", fontsize=7)
    axes.set(ylabel="ms a product", title=f"what the time is, {ranks:,} ranks")
    axes.legend(frameon=False, fontsize=8)


def _figure(size: tuple[float, float]) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_plot(f: Any, name: str, path: Path) -> None:
    """`f` is a ProductForecast."""
    figure = _figure((11, 8))
    axes = figure.subplots(2, 2)
    _lines(axes[0, 0], f, lambda p: 1e3 * p.seconds)
    axes[0, 0].set(yscale="log", ylabel="ms a product", title="time; black: the roofline's")
    roofs = f.rooflines
    axes[0, 0].plot(
        [r.ranks for r in roofs], [1e3 * r.seconds for r in roofs], color="black", linewidth=0.8
    )
    _lines(axes[0, 1], f, lambda p: p.bytes_most / 1e6)
    axes[0, 1].set(
        yscale="symlog", ylabel="MB that one rank fetches at most", title="communication"
    )
    axes[0, 1].set_ylim(bottom=0)
    _lines(axes[1, 1], f, lambda p: 100 * p.imbalance / p.seconds)
    axes[1, 1].set(ylabel="% of the time lost to imbalance", title="imbalance")
    _parts(axes[1, 0], f)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=10,
                  frameon=False, fontsize=8)  # fmt: skip
    figure.suptitle(f"{name}: {f.op} predicted, {f.network.name}")
    write(figure, path)


def draw_rooflines(axes: Any, roofs: list[Any], label: Any) -> None:
    """Figure 2 of the paper: each product a vertical line up to its bound and a dashed roof. `label`: of a Roofline."""
    seen = [r for r in roofs if np.isfinite(r.network_intensity) and r.network_intensity > 0]
    if not seen:
        axes.set(title="no bytes travel")
        return
    rate = min(r.network_bytes_per_s for r in seen)
    low = min(r.network_intensity for r in seen) / 4
    high = max(max(r.network_intensity, r.local_flops_per_s / rate) for r in seen) * 4
    at = np.geomspace(low, high, 50)
    for k, slope in enumerate(sorted({r.network_bytes_per_s for r in seen})):
        axes.plot(at, at * slope / 1e9, color="C0", linewidth=1.5, linestyle=("-", "--", ":")[k % 3],
                  label=f"network, {slope / 1e9:.3g} GB/s")  # fmt: skip
    peak = seen[0].peak_flops_per_s
    if np.isfinite(peak):
        axes.axhline(peak / 1e9, color="saddlebrown", label=f"peak, {peak / 1e9:,.4g} GFLOP/s")
    for k, r in enumerate(seen):
        colour = f"C{k % 9 + 1}"
        axes.axhline(r.local_flops_per_s / 1e9, color=colour, linestyle=":", linewidth=1)
        axes.plot([r.network_intensity] * 2, [low * rate / 1e9, r.flops_per_s / 1e9], color=colour,
                  label=label(r))  # fmt: skip
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="flops for each byte over the network",
        ylabel="GFLOP/s of a rank",
    )


def save_rooflines(f: Any, name: str, path: Path) -> None:
    """Of a ProductForecast: a line for each number of ranks; a point: the fastest algorithm predicted."""
    figure = _figure((8, 5.5))
    axes = figure.subplots()
    draw_rooflines(axes, f.rooflines, lambda r: f"{r.ranks:,} ranks: {r.bound}")
    for r in f.rooflines:
        if np.isfinite(r.network_intensity):
            best = f.best(r.ranks)
            axes.plot(
                [r.network_intensity], [best.gflops / best.ranks], "o", color="black", markersize=4
            )
    axes.grid(True, alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=7, ncols=2)
    title = f"{name}: {f.op}, inter-node roofline, {f.network.name}; dotted: local roofs, points: predicted"
    figure.suptitle(title, fontsize=9)
    write(figure, path)
