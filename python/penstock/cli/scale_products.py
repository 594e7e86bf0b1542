"""`penstock scale --op spmm|spgemm`: products of tiles over a 2-D grid of ranks, by every algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.cli import generators, ui
from penstock.cli.figure import check_plot
from penstock.cli.files import describe, read_matrix, summary


def refuse(op: str, layouts: bool, halo: bool, weak: bool) -> None:
    """Options of y = A x that were given."""
    from penstock.dist._oracle_products import OPERATIONS

    if op not in OPERATIONS:
        raise ui.InputError(f"--op {op}: spmv, {', '.join(OPERATIONS)}")
    for given, name in ((layouts, "--layouts"), (halo, "--halo"), (weak, "--weak")):
        if given:
            raise ui.InputError(f"{name} is of --op spmv")


def parse_plot(plot: Path) -> tuple[bool, Path]:
    """
    >>> parse_plot(Path("roofline:a.svg"))[1].name, parse_plot(Path("roofline"))[1].name
    ('a.svg', 'roofline.png')
    """
    kind, _, path = str(plot).partition(":")
    if kind != "roofline":
        return False, plot
    return True, Path(path or "roofline.png")


def _table(f: Any) -> Any:
    best = f.recommended()
    t = ui.table(
        "algorithm", "ranks", "time", "speedup", "efficiency", "compute", "communicate",
        "accumulate", "imbalance", "most bytes", "between nodes", "memory",
    )  # fmt: skip
    for name in f.algorithms():
        for p in f.of(name):
            t.add_row(
                ui.marked(name, p is best), f"{p.ranks:,}", ui.seconds(p.seconds), f"{f.speedup(p):.3g}",
                f"{f.efficiency(p):.0%}", ui.seconds(p.compute), ui.seconds(p.communicate),
                ui.seconds(p.accumulate), ui.seconds(p.imbalance), ui.size(p.bytes_most),
                "" if p.bytes_far is None else ui.size(p.bytes_far), ui.size(p.memory_most),
            )  # fmt: skip
        t.add_section()
    return t


def scale(
    source: str, ranks: list[int], network: Any, op: str, columns: int | None, algorithms: str | None,
    tiles: int | None, timed: bool | None, plot: Path | None, json: bool,
) -> None:  # fmt: skip
    """The command's work; options of None were not given."""
    from penstock.dist._oracle_products import local_efficiency, predict_products
    from penstock.dist._tile_price import ALGORITHMS

    names = [n for n in (algorithms or ",".join(ALGORITHMS)).split(",") if n]
    if columns and op != "spmm":
        raise ui.InputError("--columns is of --op spmm")
    rooflines, path = parse_plot(plot) if plot is not None else (False, None)
    if path is not None:
        check_plot(path)
    width = columns or 128
    with ui.progress(len(ranks) + 1, quiet=json) as step:
        step.next(f"reading {source}")
        made = generators.is_generator(source)
        a = generators.make(*generators.parse(source)) if made else read_matrix(Path(source))
        head = summary(a, source)
        efficiency = 1.0
        if timed if timed is not None else network.name == "measured":
            efficiency = local_efficiency(a, None if op == "spmm" else a, network, columns=width)
        f = predict_products(
            a, ranks, network, op=op, columns=width, algorithms=names, tiles=tiles or 1,
            efficiency=efficiency, step=step.next,
        )  # fmt: skip
    if path is not None:
        from penstock.cli import scale_products_figure

        draw = (
            scale_products_figure.save_rooflines if rooflines else scale_products_figure.save_plot
        )
        draw(f, Path(source).name, path)
    if json:
        ui.emit_json({**head, **f.as_dict()})
        return
    out = ui.console()
    what = f"A B, {width} columns" if op == "spmm" else "A A"
    ui.headline(
        out, Path(source).name,
        f"{describe(head)}; {what}; network {network.name}, {ui.plural(network.ranks_per_node, 'rank')} a node\n",
    )  # fmt: skip
    out.print(_table(f))
    for line in f.words():
        out.print(line, soft_wrap=True)
    for left, why in f.left_out.items():
        out.print(f"left out: {left}: {why}", style="dim", soft_wrap=True)
    out.print(f"\n{network.name}: {network.source}", style="dim", soft_wrap=True)
    if path is not None:
        out.print(f"plot written to {path}", soft_wrap=True)
