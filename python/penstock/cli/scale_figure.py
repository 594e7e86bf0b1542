"""`penstock scale --plot`: predicted times, communication over computation, speed, and what a rank sends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.figure import write

STYLES = ("o-", "s-", "^--", "v--", "D:", "P:", "X-")


def _time(axes: Any, f: Any) -> None:
    for k, layout in enumerate(f.layouts()):
        rows = f.of(layout)
        axes.plot([p.ranks for p in rows], [1e3 * p.seconds for p in rows], STYLES[k % len(STYLES)],
                  markersize=4, linewidth=1.2, label=layout, color=f"C{k}")  # fmt: skip
        end = f.at(layout, f.stops(layout))
        axes.plot(
            [end.ranks], [1e3 * end.seconds], "o", markersize=10, fillstyle="none", color=f"C{k}"
        )
    base = f.base()
    at = f.ranks()
    ideal = [1e3 * base.seconds * (1 if f.kind == "weak" else base.ranks / p) for p in at]
    axes.plot(at, ideal, color="black", linewidth=0.8, label="ideal")
    axes.set(yscale="log", ylabel="ms a product", title="time; a ring: where scaling stops")


def _parts(axes: Any, f: Any) -> None:
    """Figure 5 of Page and Kogge: communication on top of computation, of the recommended layout."""
    rows = f.of(f.recommended().layout)
    at = range(len(rows))
    axes.bar(at, [1e3 * p.compute for p in rows], color="C0", label="computation")
    axes.bar(at, [1e3 * p.communicate for p in rows], bottom=[1e3 * p.compute for p in rows],
             color="C3", label="communication")  # fmt: skip
    axes.set_xticks(at, [f"{p.ranks:,}" for p in rows], rotation=60, fontsize=7)
    axes.set(xlabel="ranks", ylabel="ms a product", title=f"{rows[0].layout}: what the time is")
    axes.legend(frameon=False, fontsize=8)


def _ratio(axes: Any, f: Any) -> None:
    for k, layout in enumerate(f.layouts()):
        rows = [p for p in f.of(layout) if p.ratio > 0]
        axes.plot([p.ranks for p in rows], [p.ratio for p in rows], STYLES[k % len(STYLES)],
                  markersize=4, linewidth=1.2, color=f"C{k}")  # fmt: skip
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(yscale="log", ylabel="communication / computation", title="ratio")


def _speed(axes: Any, f: Any) -> None:
    for k, layout in enumerate(f.layouts()):
        rows = f.of(layout)
        axes.plot([p.ranks for p in rows], [p.gflops for p in rows], STYLES[k % len(STYLES)],
                  markersize=4, linewidth=1.2, color=f"C{k}")  # fmt: skip
    best = f.recommended()
    axes.plot([best.ranks], [best.gflops], "*", markersize=14, color="black")
    axes.set(yscale="log", ylabel="GFLOP/s", title="speed; the star: recommended")


def save_plot(f: Any, name: str, path: Path) -> None:
    """`f` is a Forecast."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    for draw, ax in ((_time, axes[0, 0]), (_ratio, axes[0, 1]), (_speed, axes[1, 1])):
        draw(ax, f)
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else "")
        ax.set_xlabel("ranks")
        ax.grid(True, alpha=0.3)
    _parts(axes[1, 0], f)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=8,
                  frameon=False, fontsize=8)  # fmt: skip
    figure.suptitle(f"{name}: {f.kind} scaling predicted, {f.network.name}")
    write(figure, path)
