"""`penstock multiply`: times products of one matrix, beside what the planner predicts."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock._choices import ALGORITHMS, CODECS, SEMIRINGS, in_words
from penstock.cli import ui
from penstock.cli.convert import VALUE_TYPES, value_type
from penstock.cli.files import check_output, describe, read_matrix, summary
from penstock.cli.measure import Measured, flops, measure, random_vector


def _schedule(
    name: str | None,
    block: str | None,
    slots: int | None,
    gpus: int | None,
    codec: str | None,
    keep: bool | None,
) -> Any:
    """None lets the planner choose."""
    import penstock as ps
    from penstock._plan.schedules import as_schedule, parse_bytes

    if name is None and gpus:
        name = "streamed"  # GPUs that are asked for are used
    ring = {"--block": block, "--slots": slots, "--codec": codec, "--keep": keep}
    ring |= {"--gpus": gpus or None}
    given = [option for option, value in ring.items() if value is not None]
    if name != "streamed" and given:
        raise ui.InputError(
            f"{', '.join(given)}: only a matrix that streams has this: give --schedule streamed, too"
        )
    if name == "streamed":
        size = None if block is None else parse_bytes(block, "--block")
        device = list(range(gpus)) if gpus else None
        asked: dict[str, Any] = {"slots": slots, "codec": codec, "keep": keep, "device": device}
        return ps.Streamed(block=size, **{k: v for k, v in asked.items() if v is not None})
    return None if name is None else as_schedule(name)


@contextlib.contextmanager
def _limits(
    device_memory: str | None, threads: int | None, gpus: int | None = None
) -> Iterator[None]:
    """The settings of the process, as they were when done."""
    import penstock as ps
    from penstock._plan.schedules import parse_bytes

    before, n = ps.options.device_memory, ps.num_threads()
    wanted = before if device_memory is None else parse_bytes(device_memory, "--device-memory")
    allowed = ps.options.gpus if gpus is None else gpus
    try:
        with ps.options(device_memory=wanted, gpus=allowed):
            ps.set_num_threads(threads or n)
            yield
    finally:
        ps.set_num_threads(n)


def _save_vector(y: np.ndarray, path: Path) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}.npy")
    try:
        np.save(partial, y)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _facts(m: Measured, plan: Any, check: Any, work: int) -> dict[str, str]:
    t = m.trace
    rows = {
        "schedule": f"{t['schedule']}, kernel {t['kernel']}, {ui.plural(t['tiles'], 'tile')}",
        "time": f"{ui.seconds(m.seconds)} (median of {m.repeats}, best {ui.seconds(m.best)})",
        "rate": f"{work / m.seconds / 1e9:.3g} GFLOP/s, {m.rate / 1e9:.3g} GB/s "
        f"over {ui.size(t['kernel_bytes'])}",
    }
    if any(d["gpu"] >= 0 for d in t.get("devices", [])):
        rows["link"] = f"{ui.size(t['link_bytes'])}, {t['link_bytes'] / m.seconds / 1e9:.3g} GB/s"
        rows["kept"] = f"{ui.size(t['kept_bytes'])} on the GPUs, {t['codec']}"
    else:
        of = f"{m.bandwidth / 1e9:.1f} GB/s measured for reading"
        rows["of memory"] = f"{m.fraction:.0%} of the {of}"
    if t["copied_bytes"]:
        rows["copied"] = (
            f"{ui.size(t['copied_bytes'])} through a ring of {ui.size(t['ring_bytes'])}"
        )
    if plan is not None:
        ratio = m.seconds / plan.seconds if plan.seconds else float("inf")
        rows["predicted"] = (
            f"{ui.seconds(plan.seconds)}, {plan.binding} binds; measured {ratio:.2f} times that"
        )
    notes = [*t.get("notes", []), *([t["fallback"]] if "fallback" in t else [])]
    if notes:
        rows["note"] = "; ".join(notes)
    if check is not None:
        words = "right" if check.ok else "WRONG"
        part = "" if check.complete else f", a sample of {check.rows:,} rows"
        rows["verified"] = (
            f"{words}: error {check.error:.1e}, bound {check.bound:.1e} ({check.reference}{part})"
        )
    return rows


def multiply(
    file: Annotated[
        Path, typer.Argument(help="A matrix in any format, or a native store.", show_default=False)
    ],
    schedule: Annotated[
        str | None, typer.Option(help="in_core, streamed or zero_copy. [default: the planner's]")
    ] = None,
    device_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="What a device may hold; above it the matrix is streamed."
        ),
    ] = None,
    block: Annotated[str | None, typer.Option(metavar="SIZE", help="Bytes of a ring slot.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Slots of the ring.")] = None,
    gpus: Annotated[
        int | None,
        typer.Option(min=0, help="Stream over so many GPUs; 0 uses none. [default: the planner's]"),
    ] = None,
    codec: Annotated[
        str | None, typer.Option(help=f"How entries travel: {in_words(CODECS, 'auto')}.")
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option("--keep/--no-keep", help="Keep on the GPUs what fits.", show_default=False),
    ] = None,
    algorithm: Annotated[str, typer.Option(help=f"{in_words(ALGORITHMS, 'auto')}.")] = "auto",
    semiring: Annotated[str, typer.Option(help=f"{in_words(SEMIRINGS)}.")] = "plus_times",
    dtype: Annotated[
        str | None, typer.Option(help=f"Convert the values first: {', '.join(VALUE_TYPES)}.")
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Products; the median counts.")] = 5,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Multiply by the transpose.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check against SciPy; exit 1 if wrong.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print the whole prediction, too.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the random vector.")] = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="NPY", help="Write the product to a .npy file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out where it exists.")] = False,
    json: ui.Json = False,
) -> int:
    """Time y = A x and say what it moved and how it compares with the prediction."""
    from penstock._arrays.convert import result_dtype

    elsewhere = schedule not in (None, "in_core") or device_memory or gpus
    streams = any(v is not None for v in (block, slots, codec, keep))
    if transpose and (elsewhere or streams or algorithm != "auto"):
        raise ui.InputError(
            "--transpose multiplies in core on the CPU: leave out --algorithm, --schedule, --device-memory, --gpus, "
            "--block, --slots, --codec and --keep"
        )
    if out is not None:
        if out.suffix != ".npy":
            raise ui.InputError(f"--out {out}: the name must end in .npy")
        check_output(out, force)
    target = value_type(dtype)
    how = _schedule(schedule, block, slots, gpus, codec, keep)
    check = None
    with ui.progress(3 if verify else 2, quiet=json) as step, _limits(device_memory, threads, gpus):
        step.next(f"reading {file.name}")
        a = read_matrix(file)
        if target is not None:
            a = a.astype(target)
        x = random_vector(a.shape[0 if transpose else 1], result_dtype(a.dtype), seed)
        if semiring == "max_times":
            x = np.abs(x)  # it is a semiring over numbers from 0
        plan = None if transpose else a.explain(x, schedule=how)
        if gpus and schedule in (None, "streamed"):
            a.prepare(schedule=how, products=repeats)

        def product(y: np.ndarray | None) -> np.ndarray:
            if transpose:
                return a.T.dot(x, out=y, semiring=semiring)
            return a.dot(x, out=y, schedule=how, algorithm=algorithm, semiring=semiring)

        step.next("multiplying")
        y, m = measure(product, flops(a), repeats, step.within)
        if verify:
            from penstock._check.product import verify as compare

            step.next("checking against SciPy")
            check = compare(a, x, y, semiring, transpose, tell=step.within)
        if out is not None:
            _save_vector(y, out)
    _show(json, summary(a, str(file)), m, plan, check, flops(a), explain, out)
    return 0 if check is None or check.ok else 1


def _show(
    json: bool,
    head: dict[str, Any],
    m: Measured,
    plan: Any,
    check: Any,
    work: int,
    explain: bool,
    out: Path | None,
) -> None:
    if json:
        predicted = None if plan is None else dataclasses.asdict(plan)
        checked = None if check is None else check.as_dict()
        ui.emit_json({"matrix": head, **m.as_dict(), "predicted": predicted, "check": checked})
        return
    console = ui.console()
    ui.headline(console, Path(head["name"]).name, describe(head))
    console.print(ui.facts(_facts(m, plan, check, work)))
    if explain and plan is not None:
        console.print(f"\n{plan}", soft_wrap=True)
    if out is not None:
        console.print(f"y written to {out}", soft_wrap=True)
