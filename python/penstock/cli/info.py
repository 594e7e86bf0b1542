"""`penstock info`: what a matrix looks like."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli import ui
from penstock.cli.figure import check_plot, save_plot
from penstock.cli.files import describe as in_words
from penstock.cli.files import read_matrix, summary
from penstock.cli.render import boxed, histogram, spy, spy_size

SIDE_BY_SIDE = 100  # columns from which the plot stands beside the facts
PICTURE = 400  # the least cells along the longer side of a --plot


def _symmetry_words(s: Any) -> str:
    y = s.symmetry
    if s.rows != s.cols:
        return "not square"
    if y.kind == "unknown" and not y.pattern:
        return y.method
    if y.kind in ("none", "unknown"):
        share = (
            f", {y.matched:.1%} of the entries off the diagonal are matched"
            if y.matched is not None
            else ""
        )
        values = "symmetric pattern only" if y.pattern else "none" + share
        if y.kind == "unknown":
            values = "symmetric pattern, values not exactly symmetric (rounding was not looked at)"
        return values
    exact = "exactly" if not y.error else f"to rounding (differences up to {y.error:.1e})"
    if s.dtype == "pattern":
        return "symmetric"
    return f"{y.kind}, {exact}" + ("" if y.pattern else ", but for explicit zeros in the pattern")


def _degree_words(d: Any) -> str:
    empty = f"; {d.empty:,} empty" if d.empty else "; none empty"
    return f"{d.min:,} to {d.max:,}, median {d.median:g}, mean {d.mean:.4g}{empty}"


def _value_words(s: Any) -> str:
    if s.dtype == "pattern":
        return "none stored (pattern)"
    span = f"{s.smallest:.4g}" + (f" to {s.largest:.4g}" if s.largest != s.smallest else "")
    words = f"{span} in absolute value, {ui.plural(s.zeros, 'explicit zero')}"
    return words + (f", {s.not_finite:,} NaN or infinite" if s.not_finite else "")


def _facts(s: Any) -> dict[str, str]:
    order = "sorted rows" if s.sorted else "rows not sorted"
    length = min(s.rows, s.cols)
    return {
        "symmetry": _symmetry_words(s),
        "entries a row": _degree_words(s.row_degrees),
        "entries a column": _degree_words(s.col_degrees),
        "bandwidth": f"{s.lower_bandwidth:,} below the diagonal, {s.upper_bandwidth:,} above",
        "diagonal": f"{s.diagonal:,} of {length:,} stored",
        "values": _value_words(s),
        "order": f"{order}, {ui.plural(s.duplicates, 'duplicate')}",
    }


_format_names = {
    "csr": "CSR",
    "coo": "COO",
    "ell": "ELL, longest row",
    "store": "native store",
}


def _formats(s: Any) -> Any:
    t = ui.table("format", "size", "of CSR")
    for name, size in s.bytes.items():
        t.add_row(_format_names[name], ui.size(size), f"{size / max(s.bytes['csr'], 1):.2f}")
    return t


@dataclass(frozen=True)
class _Layout:
    """Where the plot goes: beside the facts where the terminal is wide enough, else under them."""

    beside: bool
    left: int  # columns for the facts
    lines: int
    chars: int

    @classmethod
    def of(cls, width: int, rows: int, cols: int, draw: bool) -> _Layout:
        beside = draw and width >= SIDE_BY_SIDE
        left = width // 2 - 2 if beside else width
        return cls(
            beside, left, *spy_size(rows, cols, width - left - 6 if beside else min(left - 2, 64))
        )

    def grid(self, plot: bool) -> tuple[int, int]:
        """Cells to count entries in: the plot's dots, or a multiple of them that a picture
        needs."""
        high, wide = 4 * self.lines, 2 * self.chars
        finer = -(-PICTURE // max(high, wide)) if plot else 1
        return finer * high, finer * wide


def _show(out: Any, name: str, s: Any, head: dict[str, Any], layout: _Layout, draw: bool) -> None:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    plain = not out.encoding.lower().startswith("utf")
    ui.headline(out, name, in_words(head) + "\n")
    numbers = Group(ui.facts(_facts(s)), _formats(s))
    bars = histogram(s.row_degrees.histogram, min(layout.left - 2, 64), plain)
    degrees = Group(Text("rows by entries", style="bold"), bars)
    if not draw:
        out.print(Group(numbers, degrees))
        return
    drawn = boxed(spy(s.density, layout.lines, layout.chars, plain), plain)
    plot = Text(drawn, style="cyan", no_wrap=True)
    if not layout.beside:
        out.print(Group(numbers, degrees, "", plot))
        return
    grid = Table.grid(padding=(0, 3))
    grid.add_column(width=layout.left)
    grid.add_column()
    grid.add_row(Group(numbers, degrees), plot)
    out.print(grid)


def _as_dict(s: Any) -> dict[str, Any]:
    d = {k: v for k, v in vars(s).items() if k != "density"}
    for side in ("row_degrees", "col_degrees"):
        d[side] = vars(d[side])
    return d | {"symmetry": vars(s.symmetry)}


def info(
    file: Annotated[
        Path, typer.Argument(help="A matrix in any format, or a native store.", show_default=False)
    ],
    input_format: Annotated[
        str | None, typer.Option("--from", help="Format of FILE. [default: by its suffix]")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PNG", help="Also draw it to a .png, .svg or .pdf file.")
    ] = None,
    spy: Annotated[
        bool | None,
        typer.Option(
            "--spy/--no-spy", help="Draw the matrix with characters. [default: on a terminal]"
        ),
    ] = None,
    json: ui.Json = False,
) -> None:
    """Describe a matrix: degrees, symmetry, bandwidth, values, bytes per format, and a picture."""
    from penstock._check.stats import describe

    if plot is not None:
        check_plot(plot)
    out = ui.console()
    draw = out.is_terminal if spy is None else spy
    with ui.progress(2, quiet=json) as step:
        step.next(f"reading {file.name}")
        start = time.perf_counter()
        a = read_matrix(file, **({} if input_format is None else {"format": input_format}))
        read = time.perf_counter() - start
        step.next(f"looking at {a.nnz:,} entries")
        layout = _Layout.of(out.width, *a.shape, draw)
        s = describe(a, grid=layout.grid(plot is not None), tell=step.within)
        if plot is not None:
            save_plot(s, file.name, plot)
    head = summary(a, str(file))
    if json:
        ui.emit_json({**head, "place": a.place, "read_seconds": read, **_as_dict(s)})
        return
    _show(out, file.name, s, head, layout, draw)
    if plot is not None:
        out.print(f"\nplot written to {plot}", soft_wrap=True)
