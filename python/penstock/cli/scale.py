"""`penstock scale`: where a product stops scaling, without a single process of the job."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock._choices import PARTITIONERS
from penstock.cli import generators, ui
from penstock.cli.figure import check_plot
from penstock.cli.files import describe, read_matrix, summary

RANKS_HELP = "1..16384 (powers of two), 1,2,3,48, or both."
NETWORK_HELP = (
    "shared-memory, hdr-infiniband, slingshot, fdr-infiniband, 10gbe, summit, dgx2, h200; a JSON file that was "
    "measured; or measured: this machine's, by `penstock probe --mpi`, else now, by ranks that are threads."
)
LAYOUTS = "contiguous,balanced,grid,grid_reduce,bins,bins_gather"
LAYOUTS_HELP = f"Some of {', '.join(PARTITIONERS)}, grid_reduce, bins_gather."
MOST_WEAK = 2**26  # entries of the largest matrix that weak scaling makes


def parse_ranks(text: str) -> list[int]:
    """
    >>> parse_ranks("1..16,24"), parse_ranks("3..9")
    ([1, 2, 4, 8, 16, 24], [3, 6, 9])
    """
    found: set[int] = set()
    try:
        for word in text.split(","):
            if ".." in word:
                low, high = (int(end) for end in word.split(".."))
                if low < 1 or high < low:
                    raise ValueError
                found |= {low * 2**k for k in range(64) if low * 2**k <= high} | {high}
            else:
                found.add(int(word))
    except ValueError:
        raise ui.InputError(f"--ranks {text}: {RANKS_HELP}") from None
    if min(found) < 1 or max(found) > 2**20:
        raise ui.InputError(f"--ranks {text}: from 1 to {2**20:,}")
    return sorted(found)


def find_network(name: str) -> Any:
    """A preset, a file, or this machine's."""
    from penstock.dist import Network, networks

    if name in networks:
        return networks[name]
    if name != "measured":
        if not Path(name).is_file():
            raise ui.InputError(
                f"--network {name}: neither a file nor one of {', '.join(networks)}, measured"
            )
        return Network.load(name)
    from penstock import _core
    from penstock.dist import _calibrate, run

    known = _calibrate.known()
    if known:
        return known
    cpus = _core.topology()["cpus"]
    return Network.of(run(_calibrate.calibrate, max(2, min(cpus, 16)), 0.5)[0])


def _weak(
    text: str, wanted: list[int], network: Any, layouts: list[str], halo: str, step: Any
) -> Any:
    from penstock.dist import predict_weak_scaling, stencil_counts

    if not generators.is_generator(text):
        raise ui.InputError(
            f"--weak needs a generator, and {text} is none: laplacian:64x64x64, rmat:16, ..."
        )
    name, how = generators.parse(text)
    if name in ("laplacian", "advection_diffusion"):
        shape = how["n"] if name == "advection_diffusion" else how["shape"]
        extent = (
            [shape] * (3 if name == "advection_diffusion" else 1)
            if isinstance(shape, int)
            else shape
        )
        made: Any = lambda p: stencil_counts(extent, p)  # noqa: E731
    else:
        first = generators.make(name, how)
        sizes = {1: first.nnz}

        def made(p: int) -> Any:
            larger = generators.grown(name, how, p)
            if larger is None:
                raise ui.InputError(
                    f"--weak {text}: there is no {name} {p} times as large: powers of two"
                )
            if sizes[1] * p > MOST_WEAK:
                raise MemoryError(
                    f"{p} times {sizes[1]:,} entries: matrices of up to {MOST_WEAK:,} are made for weak scaling"
                )
            return generators.make(name, larger)

    return predict_weak_scaling(made, wanted, network, layouts=layouts, halo=halo, step=step)


def _table(f: Any) -> Any:
    best = f.recommended()
    t = ui.table(
        "layout",
        "ranks",
        "time",
        "speedup",
        "efficiency",
        "comm/comp",
        "most bytes",
        "messages",
        "x",
    )
    for layout in f.layouts():
        for p in f.of(layout):
            t.add_row(
                ui.marked(layout, p is best), f"{p.ranks:,}", ui.seconds(p.seconds), f"{f.speedup(p):.3g}",
                f"{f.efficiency(p):.0%}", f"{p.ratio:.2f}", ui.size(p.bytes_most),
                ui.count(p.messages_most), p.halo,
            )  # fmt: skip
        t.add_section()
    return t


def scale(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|GENERATOR",
            help=f"A matrix in any format, {generators.HELP}",
            show_default=False,
        ),
    ],
    ranks: Annotated[str, typer.Option(help=RANKS_HELP)] = "1..1024",
    network: Annotated[str, typer.Option(help=NETWORK_HELP)] = "hdr-infiniband",
    ranks_per_node: Annotated[
        int, typer.Option(min=0, help="Instead of the network's own number.")
    ] = 0,
    layouts: Annotated[str, typer.Option(help=LAYOUTS_HELP)] = LAYOUTS,
    halo: Annotated[
        str, typer.Option(help="messages, sync (all of x to everyone), or auto: the faster.")
    ] = "auto",
    weak: Annotated[
        bool, typer.Option("--weak", help="Weak scaling: the generator's matrix for each rank.")
    ] = False,
    time_product: Annotated[
        bool | None,
        typer.Option(
            "--time-product/--no-time-product",
            help="Time products here, for what gathering x costs. [default: where the network was measured]",
            show_default=False,
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="PNG",
            help="Draw the prediction: .png, .svg or .pdf. With --op, roofline (into roofline.png) or roofline:PNG "
            "draws the inter-node roofline.",
        ),
    ] = None,
    op: Annotated[
        str,
        typer.Option(
            help="spmv: y = A x; spmm: C = A B, B dense; spgemm: C = A A; the latter on tiles over a 2-D grid of ranks."
        ),
    ] = "spmv",
    columns: Annotated[
        int | None, typer.Option(min=1, help="Of B, --op spmm. [default: 128]", show_default=False)
    ] = None,
    algorithms: Annotated[
        str | None,
        typer.Option(
            help="--op spmm, spgemm: some of a, b, c (what stays), a+random, a+locality, ... (stealing), summa, "
            "c*2, c*4, c*8 (copies of C), c+nodes, ... (ranks of a node share). [default: all but the last two]",
            show_default=False,
        ),
    ] = None,
    tiles: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="--op spmm, spgemm: times as many tiles each way as the grid needs. [default: 1]",
            show_default=False,
        ),
    ] = None,
    json: ui.Json = False,
) -> None:
    """Predict how products scale to many ranks, where that stops, and which layout or algorithm to take.

    Bytes and messages are counted exactly, for every number of ranks and layout; a LogGP model of the network and of
    the nodes' memory prices them. Nothing is started.
    """
    from penstock.dist import predict_scaling

    if op != "spmv":
        from penstock.cli import scale_products

        scale_products.refuse(op, layouts != LAYOUTS, halo != "auto", weak)
        net = find_network(network)
        scale_products.scale(
            source, parse_ranks(ranks), net.on(ranks_per_node) if ranks_per_node else net, op,
            columns, algorithms, tiles, time_product, plot, json,
        )  # fmt: skip
        return
    if columns or algorithms or tiles:
        raise ui.InputError("--columns, --algorithms and --tiles are of --op spmm and spgemm")
    if plot is not None:
        check_plot(plot)
    wanted, names = parse_ranks(ranks), [n for n in layouts.split(",") if n]
    net = find_network(network)
    if ranks_per_node:
        net = net.on(ranks_per_node)
    timed = time_product if time_product is not None else net.name == "measured" and not weak
    if timed and weak:
        raise ui.InputError("--time-product is of one matrix, and --weak has many")
    with ui.progress(len(wanted) * len(names) + 1, quiet=json) as step:
        step.next(f"reading {source}")
        if weak:
            head, title = {"name": source}, f"{source} for each rank"
            f = _weak(source, wanted, net, names, halo, step.next)
        else:
            made = generators.is_generator(source)
            a = generators.make(*generators.parse(source)) if made else read_matrix(Path(source))
            head = summary(a, source)
            title = describe(head)
            irregular = None if timed else 1.0
            f = predict_scaling(
                a, wanted, net, layouts=names, halo=halo, irregular=irregular, step=step.next
            )
    if plot is not None:
        from penstock.cli.scale_figure import save_plot

        save_plot(f, Path(source).name, plot)
    if json:
        ui.emit_json({**head, **f.as_dict()})
        return
    out = ui.console()
    ui.headline(
        out,
        Path(source).name,
        f"{title}; network {net.name}, {ui.plural(net.ranks_per_node, 'rank')} a node\n",
    )
    out.print(_table(f))
    for line in f.words():
        out.print(line, soft_wrap=True)
    for what, why in f.left_out.items():
        out.print(f"left out: {what}: {why}", style="dim", soft_wrap=True)
    out.print(f"\n{net.name}: {net.source}", style="dim", soft_wrap=True)
    if plot is not None:
        out.print(f"plot written to {plot}", soft_wrap=True)
