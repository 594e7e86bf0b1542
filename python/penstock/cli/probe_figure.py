"""`penstock probe --plot`: bandwidth against the size of a transfer, as in Figure 2 of Buono et al.,
"Data Analytics with NVLink: An SpMV Case Study" (CF 2017), and the sums over several GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli.figure import write

# name of the curve: (legend, colour, marker, line)
CURVES = {
    "h2d": ("pinned, to the GPU", "C0", "o", "-"),
    "d2h": ("pinned, from the GPU", "C1", "s", "-"),
    "h2d_2_streams": ("to the GPU, 2 streams", "C0", "o", ":"),
    "d2h_2_streams": ("from the GPU, 2 streams", "C1", "s", ":"),
    "pageable_h2d": ("pageable, to the GPU", "C0", "^", "--"),
    "pageable_d2h": ("pageable, from the GPU", "C1", "v", "--"),
}
SUMS = {
    "h2d": "to the GPUs",
    "d2h": "from the GPUs",
    "duplex": "both directions",
    "zero_copy": "zero-copy reads",
}


def _size(n: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.0f} {unit}"
        n /= 1024
    return f"{n:.0f} GiB"


def _transfers(axes: Any, gpus: list[dict[str, Any]]) -> None:
    sizes: set[int] = set()
    for n, g in enumerate(gpus):
        fade = {} if n == 0 else {"alpha": 0.25, "linewidth": 0.8, "markersize": 2}
        for name, (label, colour, marker, line) in CURVES.items():
            points = g[f"{name}_curve"]
            at = [bytes for bytes, _ in points]
            sizes.update(at)
            axes.plot(
                at,
                [rate / 1e9 for _, rate in points],
                **{"markersize": 4, "linewidth": 1.3, **fade},
                color=colour,
                marker=marker,
                linestyle=line,
                label=label if n == 0 else None,
            )
        both = [(bytes, (up + down) / 1e9) for bytes, up, down in g["duplex_curve"]]
        axes.plot(
            *zip(*both, strict=True),
            **{"markersize": 4, "linewidth": 1.3, **fade},
            color="C2",
            marker="D",
            label="pinned, both directions at once" if n == 0 else None,
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted(sizes), [_size(n) for n in sorted(sizes)], rotation=30)
    axes.set_ylim(bottom=0)
    others = "" if len(gpus) == 1 else f" {gpus[0]['gpu']} (pale: the other GPUs)"
    axes.set(xlabel="bytes of a transfer", ylabel="GB/s", title=f"{gpus[0]['name']}{others}")
    axes.grid(True, alpha=0.3)
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.2)}
    axes.legend(frameon=False, fontsize=8, ncols=2, **below)


def _together(axes: Any, together: dict[str, dict[str, float]]) -> None:
    counts = [int(n) for n in together]
    for name, label in SUMS.items():
        axes.plot(
            counts, [s[name] / 1e9 for s in together.values()], "o-", markersize=4, label=label
        )
    axes.set_xticks(counts)
    axes.set_ylim(bottom=0)
    axes.set(xlabel="GPUs at once", ylabel="GB/s, all together", title="several GPUs")
    axes.grid(True, alpha=0.3)
    axes.legend(frameon=False, fontsize=8)


def save_plot(result: dict[str, Any], path: Path) -> None:
    """`result` is what penstock._plan.probe.measure returns, of at least one GPU."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    several = len(result["together"]) > 1
    figure = Figure(figsize=(11 if several else 7, 5.5), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    if several:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        _together(right, result["together"])
    else:
        left = figure.subplots()
    _transfers(left, result["gpus"])
    figure.suptitle("Transfers between host and GPU memory")
    write(figure, path)
