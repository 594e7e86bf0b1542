"""`penstock partition`: what shares of a matrix would cost, without a single process."""

from __future__ import annotations

import enum
import importlib.util
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock._choices import PARTITIONERS
from penstock.cli import ui
from penstock.cli.figure import check_plot, write
from penstock.cli.files import describe, read_any_numbers, summary

Method = enum.Enum(
    "Method",
    {n: n for n in (*PARTITIONERS, "metis")},
    type=str,
)
_SQUARE = (*(n for n, p in PARTITIONERS.items() if p.reads == "graph"), "metis")
PAPER = (
    "MAD in Page and Kogge (2018), 25 matrices, least / median / most: "
    "grid 6.0e-03 / 7.1e-02 / 3.2e-01, bins 2.7e-08 / 4.74e-06 / 6.7e-03"
)


def _measure(a: Any, method: str, parts: int) -> tuple[dict[str, Any], Any]:
    from penstock import partition

    start = time.perf_counter()
    try:
        p = getattr(partition, method)(a, parts)
    except ImportError as error:  # metis without pymetis: the library names the remedy
        raise ui.OperationError(str(error)) from error
    seconds = time.perf_counter() - start
    m = p.metrics(a)
    facts = {
        "method": method,
        "grid": list(p.grid),
        "mad": m.mad,
        "imbalance": m.imbalance,
        "halo_volume": m.halo_volume,
        "most_halo": int(m.halo.max()),
        "partial_volume": m.partial_volume,
        "messages": m.messages,
        "least_nnz": int(m.nnz.min()),
        "most_nnz": int(m.nnz.max()),
        "most_bytes": int(m.bytes.max()),
        "seconds": seconds,
    }
    return facts, m


def _table(rows: list[dict[str, Any]]) -> Any:
    t = ui.table("method", "MAD", "imbalance", "halo", "sums", "messages", "memory", "time")
    for r in rows:
        high, wide = r["grid"]
        t.add_row(
            r["method"] + (f" {high} x {wide}" if wide > 1 else ""),
            f"{r['mad']:.2e}",
            f"{r['imbalance']:.3f}",
            ui.count(r["halo_volume"]),
            ui.count(r["partial_volume"]),
            ui.count(r["messages"]),
            ui.size(r["most_bytes"]),
            ui.seconds(r["seconds"]),
        )
    return t


def save_plot(name: str, parts: int, measured: list[tuple[str, Any]], path: Path) -> None:
    """The exchange of every method as a matrix of parts, on one scale of colours."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    dense = [m.exchange_matrix(256) for _, m in measured]
    top = max(2.0, *(float(d.max(initial=0)) for d in dense))
    wide = 3.4 * len(dense) + 1.2
    figure = Figure(figsize=(max(wide, 5), 4.2), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(dense), squeeze=False)[0]
    for ax, (method, m), d in zip(axes, measured, dense, strict=True):
        image = ax.imshow(
            np.ma.masked_equal(d, 0),
            cmap="viridis_r",
            norm=LogNorm(1, top),
            extent=(0, parts, parts, 0),
            interpolation="nearest",
        )
        values = m.halo_volume + m.partial_volume
        ax.set(title=f"{method}\n{values:,} values, {m.messages:,} messages", xlabel="sender")
        ax.locator_params(nbins=4, integer=True)
    axes[0].set_ylabel("receiver")
    figure.colorbar(image, ax=list(axes), shrink=0.8, label="values")
    figure.suptitle(f"{name} among {parts:,} parts: what a product exchanges")
    write(figure, path)


def partition(
    file: Annotated[
        Path, typer.Argument(help="A matrix in any format, or a native store.", show_default=False)
    ],
    parts: Annotated[int, typer.Option("-n", "--parts", min=1, help="Ranks, processes or GPUs.")],
    method: Annotated[Method, typer.Option(help="How to share the rows out.")] = Method["balanced"],
    compare: Annotated[
        bool, typer.Option("--compare", help="All methods side by side, whatever --method says.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw who sends how much to whom: .png, .svg or .pdf."),
    ] = None,
    json: ui.Json = False,
) -> None:
    """Share a matrix out among ranks and count what a product would exchange; runs no rank.

    Numbers in Matrix Market files and edge lists may be beyond 2^31: rows and columns that have entries are counted."""
    if plot is not None:
        check_plot(plot)
    wanted = [m.value for m in Method] if compare else [method.value]
    with ui.progress(len(wanted) + 1, quiet=json) as step:
        step.next(f"reading {file.name}")
        a, shape = read_any_numbers(file)
        left_out = []
        if compare and a.shape[0] != a.shape[1]:
            wanted = [name for name in wanted if name not in _SQUARE]
            left_out = [f"{name} is left out: it needs a square matrix" for name in _SQUARE]
        elif compare and importlib.util.find_spec("pymetis") is None:
            wanted.remove("metis")
            left_out = ["metis is left out: pip install 'penstock-sparse[metis]'"]
        rows, measured = [], []
        for name in wanted:
            step.next(name)
            facts, m = _measure(a, name, parts)
            rows.append(facts)
            measured.append((name, m))
        if plot is not None:
            save_plot(file.name, parts, measured, plot)
    head = summary(a, str(file))
    listed = a.shape
    if shape != listed:  # the size that the file has, and what is numbered anew
        head |= {
            "rows": shape[0],
            "cols": shape[1],
            "listed_rows": listed[0],
            "listed_cols": listed[1],
        }
    if json:
        ui.emit_json({**head, "parts": parts, "methods": rows, "left_out": left_out})
        return
    out = ui.console()
    ui.headline(out, file.name, f"{describe(head)}, among {ui.plural(parts, 'part')}\n")
    out.print(_table(rows))
    out.print(
        "halo: values of x received, sums: partial sums of rows sent, over all parts; memory: of the largest part",
        style="dim",
        soft_wrap=True,
    )
    if compare:
        out.print(PAPER, style="dim", soft_wrap=True)
    if shape != listed:
        out.print(
            f"{listed[0]:,} rows and {listed[1]:,} columns have entries: these are shared out, numbered anew in order",
            soft_wrap=True,
        )
    for why in left_out:
        out.print(why, soft_wrap=True)
    if plot is not None:
        out.print(f"\nplot written to {plot}", soft_wrap=True)
