"""`penstock generate lift` and the models of graphs with structure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import ui
from penstock.cli.convert import value_type
from penstock.cli.files import read_matrix
from penstock.cli.generate import Dtype, Force, Gpu, Out, Scramble, Seed, numbers, on_host, write

Vertices = Annotated[int, typer.Option("--vertices", "-n", min=1, help="Their number.")]


def lift(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A graph in any format.", show_default=False)
    ],
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="[default: FILE-xCOPIES.penstock, here]")
    ] = None,
    copies: Annotated[int | None, typer.Option(min=1, help="Of the graph.")] = None,
    edges: Annotated[
        float | None, typer.Option(min=1, help="Instead of --copies: at least so many, as in 1e9.")
    ] = None,
    mix: Annotated[float, typer.Option(help="Share of the edges between copies.")] = 0.05,
    dtype: Annotated[str | None, typer.Option(help="Of the values. [default: FILE's]")] = None,
    seed: Seed = 0,
    gpu: Gpu = None,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Many copies of a graph, with a few edges between them: its structure at any size (Amit, Linial 2002)."""
    from penstock import generate

    if (copies is None) == (edges is None):
        raise ui.InputError("give either --copies or --edges: one of them says how large it is")
    kind = value_type(dtype)
    a = read_matrix(file)
    if kind is not None:
        a = a.astype(kind)
    if copies is None:
        copies = max(1, -int(-edges // max(a.nnz, 1)))  # type: ignore[operator]
    if out is None:
        out = Path(f"{file.name.split('.')[0]}-x{copies}.penstock")
    make = lambda: on_host(generate.lift(a, copies, mix, seed=seed, device=gpu), gpu)  # noqa: E731
    write("lift", out, force, json, make)


def random_geometric(
    out: Out,
    vertices: Vertices = 1_000_000,
    radius: Annotated[
        float | None,
        typer.Option(help="Of the neighbourhood, in a unit square. [default: degree 10]"),
    ] = None,
    scramble: Scramble = True,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Points in a square, joined where they are near (Gilbert 1961)."""
    from penstock import generate

    kind = value_type(dtype)
    near = (10 / (3.14159265 * vertices)) ** 0.5 if radius is None else radius
    how = {"scramble": scramble, "dtype": kind, "seed": seed}
    make = lambda: generate.random_geometric(vertices, near, **how)  # noqa: E731
    write("random-geometric", out, force, json, make)


def barabasi_albert(
    out: Out,
    vertices: Vertices = 1_000_000,
    edges: Annotated[int, typer.Option("--edges", "-m", min=1, help="Of a new vertex.")] = 8,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Each new vertex joins others by their degrees (Barabasi, Albert 1999)."""
    from penstock import generate

    kind = value_type(dtype)
    make = lambda: generate.barabasi_albert(vertices, edges, dtype=kind, seed=seed)  # noqa: E731
    write("barabasi-albert", out, force, json, make)


def watts_strogatz(
    out: Out,
    vertices: Vertices = 1_000_000,
    neighbours: Annotated[int, typer.Option("--neighbours", "-k", min=0, help="On the ring.")] = 10,
    rewired: Annotated[float, typer.Option("--rewired", "-p", help="Share of the edges.")] = 0.1,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """A small world: a ring with shortcuts (Watts, Strogatz 1998)."""
    from penstock import generate

    kind = value_type(dtype)
    how = {"dtype": kind, "seed": seed}
    make = lambda: generate.watts_strogatz(vertices, neighbours, rewired, **how)  # noqa: E731
    write("watts-strogatz", out, force, json, make)


def planted_partition(
    out: Out,
    groups: Annotated[int, typer.Option(min=1, help="Their number.")] = 1000,
    size: Annotated[int, typer.Option(min=1, help="Vertices of each.")] = 100,
    p_in: Annotated[float, typer.Option(help="Probability of an edge within a group.")] = 0.1,
    p_out: Annotated[float, typer.Option(help="Between two.")] = 5e-5,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Equal groups with more edges within than between (Condon, Karp 2001)."""
    from penstock import generate

    kind = value_type(dtype)
    how = {"dtype": kind, "seed": seed}
    make = lambda: generate.planted_partition(groups, size, p_in, p_out, **how)  # noqa: E731
    write("planted-partition", out, force, json, make)


def stochastic_block(
    out: Out,
    sizes: Annotated[str, typer.Option(help="Vertices of each group: 600,300,100.")],
    p: Annotated[
        str, typer.Option(help="Probabilities, a row for each group: '0.1,0.01;0.01,0.2'.")
    ],
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Groups, and the probability of an edge for each two (Holland, Laskey, Leinhardt 1983)."""
    from penstock import generate

    kind, counts = value_type(dtype), numbers(sizes, "--sizes")
    try:
        table = [[float(word) for word in row.split(",")] for row in p.split(";")]
    except ValueError:
        raise ui.InputError(f"--p {p}: give numbers, with commas, and ; between rows") from None
    if any(len(row) != len(counts) for row in table):
        raise ui.InputError(f"--p {p}: give {len(counts)} numbers for each of {len(counts)} groups")
    make = lambda: generate.stochastic_block(counts, table, dtype=kind, seed=seed)  # noqa: E731
    write("stochastic-block", out, force, json, make)


def add(app: typer.Typer) -> None:
    """The commands of this file."""
    for command in (lift, random_geometric, barabasi_albert, watts_strogatz, planted_partition,
                    stochastic_block):  # fmt: skip
        app.command(command.__name__.replace("_", "-"))(command)
