"""`penstock convert`: from any format that can be read to any that can be written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli import ui
from penstock.cli.files import (
    bytes_on_disk,
    check_output,
    describe,
    is_stdout,
    read_matrix,
    summary,
)

VALUE_TYPES = ("pattern", "float32", "float64", "complex64", "complex128")


def value_type(name: str | None) -> Any:
    """The NumPy type of a --dtype; None where it was not given."""
    if name is None:
        return None
    if name not in VALUE_TYPES:
        raise ui.InputError(f"--dtype {name} is unknown: choose one of {', '.join(VALUE_TYPES)}")
    return bool if name == "pattern" else name


def reader_options(given: list[str]) -> dict[str, Any]:
    """Of `--option NAME=VALUE`: integers and true and false as such, the rest as text."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name.isidentifier():
            raise ui.InputError(f"--option {pair}: give NAME=VALUE, such as layer=counts")
        words = {"true": True, "false": False}
        number = text.removeprefix("-").isdigit()
        found[name] = int(text) if number else words.get(text.lower(), text)
    return found


def report(
    action: str, source: str, out: Path, a: Any, spent: dict[str, float], json: bool
) -> None:
    """What was made of what, for `convert` and `generate`: on stderr where the matrix went to stdout."""
    wrote, aside = bytes_on_disk(out), is_stdout(out)
    if json:
        times = {f"{verb}_seconds": s for verb, s in spent.items()}
        ui.emit_json(
            {**summary(a, str(out)), "source": source, "file_bytes": wrote, **times}, aside
        )
        return
    times = ", ".join(f"{verb} in {ui.seconds(s)}" for verb, s in spent.items())
    console = ui.console(stderr=aside)
    ui.headline(console, f"{action} {source}", describe(summary(a, out.name)))
    where = "written" if wrote is None else f"{ui.size(wrote)} on disk"
    ui.headline(console, str(out), f"{where} ({times})")


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A matrix.", show_default=False)],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="What to write.", show_default=False)],
    input_format: Annotated[
        str | None, typer.Option("--from", help="Format of IN. [default: by its suffix]")
    ] = None,
    output_format: Annotated[
        str | None, typer.Option("--to", help="Format of OUT. [default: by its suffix]")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option(help=f"Of the values: {', '.join(VALUE_TYPES)}.")
    ] = None,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Edge lists: add the mirror of every edge.")
    ] = False,
    base: Annotated[
        int | None, typer.Option(min=0, max=1, help="Edge lists: the first id. [default: 0]")
    ] = None,
    duplicates: Annotated[
        str | None, typer.Option(help="Edge lists and DIMACS: sum, min, max or keep.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Of IN's format: layer=counts, weights=float32 ..."
        ),
    ] = None,
    packed: Annotated[
        bool,
        typer.Option("--packed", help="Stores: the packed form too, which streams to GPUs."),
    ] = False,
    sample: Annotated[
        bool,
        typer.Option("--sample", help="Stores: 4 neighbours a vertex, which searches on GPUs ask."),
    ] = False,
    lists: Annotated[
        bool,
        typer.Option("--lists", help="Stores: packed neighbour lists, for graphs beyond memory."),
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT where it exists.")] = False,
    json: ui.Json = False,
) -> None:
    """Read a matrix in one format and write it in another."""
    from penstock._io._convert import stream_webgraph, streams

    target = value_type(dtype)
    check_output(out, force)
    given = {"format": input_format, "base": base, "duplicates": duplicates}
    how: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    how |= reader_options(option or [])
    if undirected:
        how["directed"] = False
    with ui.progress(2, quiet=json) as step:
        step.next(f"reading {source.name}")
        start = time.perf_counter()
        if streams(source, out, to=output_format, dtype=target, sample=sample or lists, **how):
            own = {name: v for name, v in how.items() if name != "format"}
            stream_webgraph(source, out, packed=packed, **own)
            step.next(f"opening {out.name}")
            spent = {"converted": time.perf_counter() - start}
            report("read", str(source), out, read_matrix(out), spent, json)
            return
        a = read_matrix(source, **how)
        read = time.perf_counter()
        if target is not None:
            a = a.astype(target)
        step.next(f"writing {out.name}")
        begin = time.perf_counter()
        to: dict[str, Any] = {} if output_format is None else {"format": output_format}
        asked = {"packed": packed, "sample": sample, "lists": lists}
        forms = {name: True for name, wanted in asked.items() if wanted}
        a.save(out, **to, **forms)
        wrote = time.perf_counter() - begin
    report("read", str(source), out, a, {"read": read - start, "written": wrote}, json)
