"""Figures of the benchmarks: for each case the ratio rival's time / ours, on a logarithmic axis. A bar
leads to the best rival, markers stand for each. The same report gives the same bytes."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lib.svg import compact

MARKERS = "osD^vP*X"
WIN, LOSS, SECOND = "#3b7a57", "#b5483a", "#1f3a5f"
COLOURS = ["#4878a8", "#d08a3c", "#7a5ba8", "#8c8c8c", "#b05a8a", "#5aa0a0", "#a8a040", "#604030"]
_ROW, _HEAD = 0.2, 0.9  # inches
MAX_RATIO = 64.0  # markers beyond stand on the edge


def rivals_of(cases: list[dict[str, Any]]) -> list[str]:
    """Rivals that were right somewhere, in the order in which the report first names them."""
    names = [
        name
        for case in cases
        for name, r in case["results"].items()
        if r["role"] == "rival" and r["status"] == "ok"
    ]
    return list(dict.fromkeys(names))


def ratios(case: dict[str, Any], ours: str) -> dict[str, float]:
    """Every rival's median / ours, where both were right."""
    mine = case["results"].get(ours, {})
    if "median" not in mine or mine["status"] != "ok":
        return {}
    return {
        name: r["median"] / mine["median"]
        for name, r in case["results"].items()
        if r["role"] == "rival" and r["status"] == "ok" and "median" in r
    }


def drawing(
    title: str, size: tuple[float, float], draw: Callable[[Any], None], columns: int = 4
) -> bytes:
    """An SVG of one pair of axes, `size` in inches, that `draw` fills; a legend of so many columns below
    names what it labels."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    settings = {"svg.hashsalt": "penstock", "svg.fonttype": "none", "font.size": 8}
    with matplotlib.rc_context(settings):
        picture = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(picture)
        axes = picture.subplots()
        draw(axes)
        axes.set_axisbelow(True)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        picture.suptitle(title, fontsize=9)
        picture.legend(loc="outside lower center", ncols=columns, frameon=False)
        out = io.BytesIO()
        picture.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return compact(out.getvalue().decode()).encode()


def figure(title: str, cases: list[dict[str, Any]], ours: str, second: str | None) -> bytes:
    """An SVG. `second` is another contestant of ours, drawn as a tick against the same best rival."""
    shown = [case for case in cases if ratios(case, ours)]
    people = rivals_of(shown)

    def draw(axes: Any) -> None:
        _bars(axes, shown, ours)
        for k, name in enumerate(people):
            found = [(ratios(case, ours).get(name), y) for y, case in enumerate(shown)]
            at = [(min(r, MAX_RATIO), y) for r, y in found if r is not None]
            axes.plot(
                [x for x, _ in at], [y for _, y in at], MARKERS[k % len(MARKERS)], label=name,
                color=COLOURS[k % len(COLOURS)], markersize=3.5, linestyle="none",
            )  # fmt: skip
        if second:
            _second(axes, shown, second)
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.xaxis.set_minor_formatter(lambda x, _: "")
        axes.set_yticks(range(len(shown)), [case["case"] for case in shown])
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_xlabel(f"time of a rival / time of {ours}: right of 1, {ours} is faster")
        axes.grid(axis="x", color="#dddddd", linewidth=0.5)

    height = _HEAD + _ROW * (len(shown) + 1 + (len(people) + 2) // 4)
    return drawing(title, (8, height), draw)


def _bars(axes: Any, cases: list[dict[str, Any]], ours: str) -> None:
    best = [min(min(ratios(case, ours).values()), MAX_RATIO) for case in cases]
    colours = [WIN if r >= 1 else LOSS for r in best]
    axes.barh(
        range(len(best)), [r - 1 for r in best], left=1, color=colours, height=0.55, alpha=0.55
    )


def _second(axes: Any, cases: list[dict[str, Any]], second: str) -> None:
    found = [(ratios(case, second), y) for y, case in enumerate(cases)]
    at = [(min(min(r.values()), MAX_RATIO), y) for r, y in found if r]
    axes.plot(
        [x for x, _ in at], [y for _, y in at], "|", color=SECOND, markersize=9, markeredgewidth=1.6,
        linestyle="none", label=f"{second}, against the best rival",
    )  # fmt: skip


def geometric_mean(numbers: list[float]) -> float:
    """
    >>> round(geometric_mean([2, 8]), 9)
    4.0
    """
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def save(path: Path, data: bytes) -> None:
    """Only where it changes, so that times of files mean something."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
