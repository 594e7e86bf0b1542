"""`penstock info --plot`: where the entries are and how the degrees are distributed, as a
picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli.ui import InputError, OperationError

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(path: Path) -> None:
    """Before the work: is the format known, and is matplotlib there?"""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"--plot {path}: the name must end in {', '.join(SUFFIXES)}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--plot {path}: no such folder to write to")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise OperationError(
            "--plot needs matplotlib: pip install 'penstock-sparse[plot]'"
        ) from None


def _spy(axes: Any, s: Any) -> Any:
    from matplotlib.colors import LogNorm

    shown = np.ma.masked_equal(s.density, 0)
    top = max(2, int(s.density.max(initial=0)))
    image = axes.imshow(
        shown,
        cmap="viridis_r",
        norm=LogNorm(1, top),
        extent=(0, max(s.cols, 1), max(s.rows, 1), 0),
        aspect="equal" if 0.25 < s.rows / max(s.cols, 1) < 4 else "auto",
        interpolation="nearest",
    )
    axes.set(xlabel="column", ylabel="row", title="entries per cell")
    axes.locator_params(nbins=5)
    axes.ticklabel_format(style="plain")
    return image


def _distribution(axes: Any, s: Any) -> None:
    for name, d, style in (("rows", s.row_degrees, "o-"), ("columns", s.col_degrees, "s--")):
        counts = np.array(d.histogram[1:])
        at = 2.0 ** np.arange(counts.size)
        keep = counts > 0
        label = f"{name}: mean {d.mean:.3g}, most {d.max:,}, {d.empty:,} empty"
        axes.plot(at[keep], counts[keep], style, label=label, markersize=4, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(
        xlabel="entries (bins of powers of two, from)", ylabel="rows or columns", title="degrees"
    )
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def save_plot(s: Any, name: str, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    figure.colorbar(_spy(left, s), ax=left, shrink=0.85)
    _distribution(right, s)
    figure.suptitle(f"{name}: {s.rows:,} x {s.cols:,}, {s.nnz:,} nonzeros, {s.dtype}")
    write(figure, path)


def write(figure: Any, path: Path) -> None:
    """Whole or not at all."""
    from penstock._io._atomic import atomic_file

    with atomic_file(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower())
