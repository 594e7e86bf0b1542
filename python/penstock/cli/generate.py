"""`penstock generate KIND`: synthetic matrices and graphs, written in any format."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli import shown, ui
from penstock.cli.convert import report, value_type
from penstock.cli.files import check_output

app = typer.Typer(
    cls=shown.Commands,
    help="Make a graph or a matrix: R-MAT, lifts of a file, stencils, and others.",
    pretty_exceptions_enable=False,
)

Out = Annotated[
    Path, typer.Argument(metavar="OUT", help="Its suffix names the format.", show_default=False)
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same matrix.")]
Dtype = Annotated[str, typer.Option(help="Of the values: pattern, float32 or float64.")]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT where it exists.")]
Scale = Annotated[int, typer.Option(min=1, max=30, help="2^N vertices.")]
EdgeFactor = Annotated[float, typer.Option(help="Edges per vertex.")]
Scramble = Annotated[
    bool, typer.Option("--scramble/--no-scramble", help="Shuffle the vertex numbers.")
]

Gpu = Annotated[
    int | None, typer.Option(min=0, help="Make it on this GPU: the same matrix. [default: the CPU]")
]


def on_host(a: Any, gpu: int | None) -> Any:
    """The matrix where files are written from."""
    from penstock import _core

    return a if gpu is None else type(a)._wrap(_core.to_place(a._core, "host", gpu))


def write(kind: str, out: Path, force: bool, json: bool, make: Callable[[], Any]) -> None:
    check_output(out, force)
    with ui.progress(2, quiet=json) as step:
        step.next(f"generating {kind}")
        start = time.perf_counter()
        a = make()
        made = time.perf_counter()
        step.next(f"writing {out.name}")
        a.save(out)
        wrote = time.perf_counter() - made
    report("generated", kind, out, a, {"generated": made - start, "written": wrote}, json)


def numbers(text: str, name: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ui.InputError(
            f"{name} {text} is not a list of whole numbers separated by commas"
        ) from None


@app.command()
def rmat(
    out: Out,
    scale: Scale = 20,
    edge_factor: EdgeFactor = 16,
    a: Annotated[float, typer.Option(help="Probability of the first quadrant.")] = 0.57,
    b: Annotated[float, typer.Option(help="Of the second.")] = 0.19,
    c: Annotated[float, typer.Option(help="Of the third; the fourth gets the rest.")] = 0.19,
    undirected: Annotated[
        bool, typer.Option("--undirected/--directed", help="Edges both ways.")
    ] = True,
    self_loops: Annotated[
        bool, typer.Option("--self-loops", help="Keep edges from a vertex to itself.")
    ] = False,
    scramble: Scramble = True,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    gpu: Gpu = None,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """A power-law graph by recursive choice of quadrants (Chakrabarti et al. 2004)."""
    from penstock import generate

    how = {
        "a": a,
        "b": b,
        "c": c,
        "undirected": undirected,
        "self_loops": self_loops,
        "scramble": scramble,
        "seed": seed,
        "device": gpu,
    }
    kind = value_type(dtype)
    make = lambda: on_host(generate.rmat(scale, edge_factor, dtype=kind, **how), gpu)  # noqa: E731
    write("rmat", out, force, json, make)


@app.command()
def bter(
    out: Out,
    scale: Scale = 20,
    edge_factor: EdgeFactor = 16,
    max_degree: Annotated[
        int | None, typer.Option(help="The largest degree. [default: by scale]")
    ] = None,
    max_clustering: Annotated[float, typer.Option(help="Clustering of degree 2.")] = 0.5,
    clustering: Annotated[float, typer.Option(help="Of the whole graph.")] = 0.15,
    scramble: Scramble = True,
    dtype: Dtype = "pattern",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """An undirected power-law graph with communities (Kolda et al. 2014)."""
    from penstock import generate

    shape = {"max_degree": max_degree, "max_clustering": max_clustering, "clustering": clustering}
    kind = value_type(dtype)
    write(
        "bter",
        out,
        force,
        json,
        lambda: generate.bter(
            scale, edge_factor, scramble=scramble, dtype=kind, seed=seed, **shape
        ),
    )


@app.command()
def uniform(
    out: Out,
    rows: Annotated[int, typer.Option(min=0, show_default=False)],
    cols: Annotated[int | None, typer.Option(min=0, help="[default: rows]")] = None,
    nnz_per_row: Annotated[float, typer.Option(help="On average, before duplicates merge.")] = 16,
    dtype: Dtype = "float64",
    seed: Seed = 0,
    gpu: Gpu = None,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Entries at independent uniform positions."""
    from penstock import generate

    kind = value_type(dtype)
    how = {"dtype": kind, "seed": seed, "device": gpu}
    make = lambda: on_host(generate.uniform(rows, cols, nnz_per_row, **how), gpu)  # noqa: E731
    write("uniform", out, force, json, make)


@app.command("advection-diffusion")
def advection_diffusion(
    out: Out,
    edge: Annotated[int, typer.Option(min=1, help="N^3 points of the unit cube.")] = 128,
    a: Annotated[float, typer.Option(help="Diffusion.")] = 1 / 80,
    b: Annotated[float, typer.Option(help="Advection along each axis.")] = 3**-0.5,
    c: Annotated[float, typer.Option(help="Reaction.")] = 0.0,
    dtype: Dtype = "float64",
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """The 7-point stencil of advection and diffusion: pdeN of Cardellini et al. 2014."""
    from penstock import generate

    kind = value_type(dtype)
    make = lambda: generate.advection_diffusion(edge, a=a, b=b, c=c, dtype=kind)  # noqa: E731
    write("advection-diffusion", out, force, json, make)


@app.command()
def laplacian(
    out: Out,
    shape: Annotated[
        str, typer.Option(help="Points along each axis: 1000, or 300,300, or 64,64,64.")
    ] = "64,64,64",
    dtype: Dtype = "float64",
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """The 3-, 5- or 7-point Laplacian of a grid."""
    from penstock import generate

    extents, kind = numbers(shape, "--shape"), value_type(dtype)
    write("laplacian", out, force, json, lambda: generate.laplacian(extents, dtype=kind))


@app.command()
def banded(
    out: Out,
    n: Annotated[
        int, typer.Option("--rows", "-n", min=0, show_default=False, help="Rows and columns.")
    ],
    diagonals: Annotated[
        str,
        typer.Option(
            help="A half bandwidth, or offsets separated by commas: --diagonals=-100,0,100."
        ),
    ] = "4",
    dtype: Dtype = "float64",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """Full diagonals."""
    from penstock import generate

    offsets, kind = numbers(diagonals, "--diagonals"), value_type(dtype)
    which = offsets[0] if len(offsets) == 1 else offsets
    write("banded", out, force, json, lambda: generate.banded(n, which, dtype=kind, seed=seed))


@app.command("road-grid")
def road_grid(
    out: Out,
    nx: Annotated[int, typer.Option(min=1, help="Crossings along one side.")] = 1000,
    ny: Annotated[int, typer.Option(min=1, help="Along the other.")] = 1000,
    removed: Annotated[float, typer.Option(help="Share of the grid's edges left out.")] = 0.3,
    diagonals: Annotated[float, typer.Option(help="Share of the diagonals put in.")] = 0.05,
    dtype: Dtype = "float64",
    seed: Seed = 0,
    force: Force = False,
    json: ui.Json = False,
) -> None:
    """A road-like graph: a grid with gaps and a few diagonals."""
    from penstock import generate

    how = {"removed": removed, "diagonals": diagonals, "seed": seed}
    kind = value_type(dtype)
    write("road-grid", out, force, json, lambda: generate.road_grid(nx, ny, dtype=kind, **how))
