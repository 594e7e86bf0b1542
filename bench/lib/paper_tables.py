"""Tables, goals and figures that the reproductions of papers share: from a report to text, Markdown and SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lib.plot_ratios import COLOURS, MARKERS, drawing, save
from lib.report import show_table

Table = tuple[str, list[str], list[list[str]]]
Report = dict[str, Any]
Target = dict[str, Any]
Figures = dict[str, tuple[str, Callable[[Any, Report], None]]]  # part -> title, drawing


def of_part(data: Report, part: str) -> list[dict[str, Any]]:
    return [case for case in data["cases"] if case["part"] == part]


def good(case: dict[str, Any], name: str) -> dict[str, Any]:
    """A contestant's result, {} where it is missing or wrong."""
    result = case["results"].get(name, {})
    return result if result.get("status") == "ok" else {}


def number(value: float | None, form: str = ".3g", scale: float = 1.0) -> str:
    return "-" if value is None else format(value * scale, form)


def size(count: float) -> str:
    """
    >>> size(1 << 16), size(4 << 20)
    ('64 KiB', '4 MiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:g} {unit}"
        count /= 1024
    return f"{count:g} GiB"


def target(what: str, goal: float, got: list[tuple[str, float]], most: bool = False) -> Target:
    """`got`: (where, number) of every row that counts; the worst decides. `most`: the goal is an upper bound."""
    worst = (max if most else min)(got, key=lambda pair: pair[1], default=None)
    met = None if worst is None else worst[1] <= goal if most else worst[1] >= goal
    return {"what": what, "goal": goal, "most": most, "rows": len(got), "met": met,
            "where": worst and worst[0], "got": worst and worst[1]}  # fmt: skip


TARGET_HEADER = ["goal", "wanted", "worst row", "", "which", "rows"]


def lines(found: list[Target]) -> list[list[str]]:
    """Rows of a table: goal, worst row, verdict."""
    rows = []
    for t in found:
        sign, verdict = (
            "<=" if t["most"] else ">=",
            {None: "not measured", True: "met", False: "missed"},
        )
        got = "-" if t["got"] is None else f"{t['got']:.3g}"
        rows.append(
            [
                t["what"],
                f"{sign} {t['goal']:g}",
                got,
                verdict[t["met"]],
                t["where"] or "-",
                f"{t['rows']}",
            ]
        )
    return rows


def show(data: Report, tables: list[Table]) -> None:
    """A report's tables and goals, the time it took, and what was left out."""
    for title, header, rows in tables:
        print()
        show_table(title, header, rows)
    print()
    show_table("Goals", TARGET_HEADER, lines(data["targets"]))
    parts = ", ".join(f"{part} {seconds:.0f} s" for part, seconds in data["part_seconds"].items())
    print(f"\n{data['seconds']:.0f} s in all, generating included: {parts}")
    if data["skipped"]:
        print(f'{len(data["skipped"])} left out; the file lists them under "skipped"')


def markdown(data: Report, tables: list[Table], pictures: list[tuple[str, str]]) -> list[str]:
    """Figures, as (title, path), and tables of a results page, last the goals that were measured (of a toy run all)."""
    out = []
    shown = [g for g in data["targets"] if data["quick"] or g["met"] is not None]
    goals = lines(shown)
    for title, path in pictures:
        out += [f"![{title}]({path})", ""]
    for title, header, rows in [*tables, *([("Goals", TARGET_HEADER, goals)] if goals else [])]:
        out += [
            f"**{title}**",
            "",
            "| " + " | ".join(header) + " |",
            "| --- |" + " ---: |" * (len(header) - 1),
        ]
        out += ["| " + " | ".join(row) + " |" for row in rows]
        out.append("")
    return out


def once(seen: set[str], label: str) -> str | None:
    """A legend names each thing once."""
    if label in seen:
        return None
    seen.add(label)
    return label


def plot_predictions(axes: Any, data: Report, parts: tuple[str, ...]) -> None:
    """Predicted against measured time of every row of some parts."""
    for k, part in enumerate(parts):
        rows = [good(case, name) for case in of_part(data, part) for name in case["results"]]
        found = [r for r in rows if "median" in r]
        if found:
            axes.plot([1e3 * r["median"] for r in found], [1e3 * r["predicted_seconds"] for r in found], MARKERS[k],
                      markersize=3, color=COLOURS[k], label=part)  # fmt: skip
    low, high = axes.get_xlim()
    axes.axline(
        (max(low, 1e-3), max(low, 1e-3)),
        (max(high, 1e-2), max(high, 1e-2)),
        color="black",
        linewidth=0.8,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("ms, measured")
    axes.set_ylabel("ms, predicted")


def save_figures(
    data: Report, figures: Figures, shown: list[str], folder: Path, name: str
) -> list[Path]:
    """Those of `shown`, as NAME_PART.svg; returns their paths."""
    paths = []
    for part in shown:
        title, draw = figures[part]
        picture = drawing(title, (7, 3.4), lambda axes, draw=draw: draw(axes, data), 3)
        paths.append(folder / f"{name}_{part}.svg")
        save(paths[-1], picture)
    return paths
