"""`penstock convert`: from any format that can be read to any that can be written."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli import ui
from penstock.cli.files import bytes_on_disk, check_output, describe, read_matrix, summary

VALUE_TYPES = ("pattern", "float32", "float64", "complex64", "complex128")


def value_type(name: str | None) -> Any:
    """The NumPy type of a --dtype; None where it was not given."""
    if name is None:
        return None
    if name not in VALUE_TYPES:
        raise ui.BadInput(f"--dtype {name} is unknown: choose one of {', '.join(VALUE_TYPES)}")
    return bool if name == "pattern" else name


def report(action: str, source: str, out: Path, a: Any, spent: dict[str, float], json: bool) -> None:
    """What was made of what, for `convert` and `generate`."""
    wrote = bytes_on_disk(out)
    if json:
        times = {f"{verb}_seconds": s for verb, s in spent.items()}
        ui.emit_json({**summary(a, str(out)), "source": source, "file_bytes": wrote, **times})
        return
    times = ", ".join(f"{verb} in {ui.seconds(s)}" for verb, s in spent.items())
    console = ui.console()
    console.print(f"{action} [bold]{source}[/]: {describe(summary(a, out.name))}", soft_wrap=True)
    console.print(f"[bold]{out}[/]: {ui.size(wrote)} on disk [dim]({times})[/]", soft_wrap=True)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A matrix in any format.", show_default=False)],
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="Its suffix names the format.", show_default=False)
    ],
    dtype: Annotated[str | None, typer.Option(help=f"Of the values: {', '.join(VALUE_TYPES)}.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT where it exists.")] = False,
    json: ui.Json = False,
) -> None:
    """Read a matrix in one format and write it in another."""
    target = value_type(dtype)
    check_output(out, force)
    with ui.progress(2, quiet=json) as step:
        step.next(f"reading {source.name}")
        start = time.perf_counter()
        a = read_matrix(source)
        read = time.perf_counter()
        if target is not None:
            a = a.astype(target)
        step.next(f"writing {out.name}")
        begin = time.perf_counter()
        a.save(out)
        wrote = time.perf_counter() - begin
    report("read", str(source), out, a, {"read": read - start, "written": wrote}, json)
