"""`penstock spgemm`: times the product of two sparse matrices, beside what was estimated."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock._choices import SEMIRINGS, in_words
from penstock.cli import ui
from penstock.cli.convert import VALUE_TYPES, value_type
from penstock.cli.files import check_output, describe, read_matrix, summary


def _as_bytes(memory: str | None) -> int | None:
    from penstock._plan.schedules import parse_bytes

    return None if memory is None else parse_bytes(memory, "--memory")


def _check_out(out: Path | None, force: bool) -> None:
    if out is None:
        return
    from penstock._io.formats import find_format

    if find_format(out, writing=True).write is None:
        raise ui.InputError(
            f"--out {out}: that format is only read: choose .penstock, .npz or .mtx"
        )
    check_output(out, force)


def _times(product: Any, repeats: int, tell: Any) -> tuple[Any, list[float]]:
    c, seconds = None, []
    for n in range(repeats):
        c = None  # its memory is free again before the next
        start = time.perf_counter()
        c = product()
        seconds.append(time.perf_counter() - start)
        tell((n + 1) / repeats)
    return c, seconds


def spgemm(
    file: Annotated[
        Path,
        typer.Argument(help="A: a matrix in any format, or a native store.", show_default=False),
    ],
    file2: Annotated[
        Path | None, typer.Argument(help="B. [default: A itself]", show_default=False)
    ] = None,
    semiring: Annotated[str, typer.Option(help=f"{in_words(SEMIRINGS)}.")] = "plus_times",
    dtype: Annotated[
        str | None, typer.Option(help=f"Convert the values first: {', '.join(VALUE_TYPES)}.")
    ] = None,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Multiply by the transpose of B.")
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="What the product may take in memory; a store is written in blocks.",
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Products; the median counts.")] = 3,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify", help="Check by a random vector and sampled rows; exit 1 if wrong."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write C: .penstock, .npz, .mtx, ..."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out where it exists.")] = False,
    json: ui.Json = False,
) -> int:
    """Multiply two sparse matrices, A B (by default A A), and say how fast and how large."""
    import penstock as ps

    _check_out(out, force)
    limit, target = _as_bytes(memory), value_type(dtype)
    as_store = out is not None and out.suffix == ".penstock"
    before = ps.num_threads()
    check = None
    with ui.progress(4 if verify else 3, quiet=json) as step:
        try:
            ps.set_num_threads(threads or before)
            step.next(f"reading {file.name}")
            a = read_matrix(file)
            b = a if file2 is None else read_matrix(file2)
            if target is not None:
                a, b = a.astype(target), b.astype(target) if file2 else a.astype(target)
            right = b.T.formed() if transpose else b
            step.next("estimating")
            plan = ps.spgemm_estimate(a, right, semiring=semiring)
            step.next("multiplying")

            def product() -> Any:
                to = out if as_store else None
                return ps.spgemm(a, right, semiring=semiring, memory=limit, out=to)

            c, seconds = _times(product, 1 if as_store else repeats, step.within)
        finally:
            ps.set_num_threads(before)
        if verify:
            from penstock._check.spgemm import verify_spgemm

            step.next("checking")
            check = verify_spgemm(a, right, c, semiring)
        if out is not None and not as_store:
            ps.save(out, c)
    _show(json, summary(a, str(file)), summary(c, "C"), plan, seconds, check, out)
    return 0 if check is None or check.ok else 1


def _show(
    json: bool,
    head: dict[str, Any],
    product: dict[str, Any],
    plan: Any,
    seconds: list[float],
    check: Any,
    out: Path | None,
) -> None:
    middle = statistics.median(seconds)
    flops = (8 if product["dtype"].startswith("complex") else 2) * plan.products
    rate = flops / middle / 1e9 if middle else 0.0
    compression = plan.products / product["nnz"] if product["nnz"] else 1.0
    if json:
        value = {
            "matrix": head,
            "product": product,
            "products": plan.products,
            "compression": compression,
            "seconds": middle,
            "seconds_best": min(seconds),
            "repeats": len(seconds),
            "gflops": rate,
            "estimate": {**vars(plan), "compression": plan.compression},
            "check": None if check is None else check.as_dict(),
        }
        ui.emit_json(value)
        return
    console = ui.console()
    ui.headline(console, Path(head["name"]).name, describe(head))
    off = plan.nnz / product["nnz"] - 1 if product["nnz"] else 0.0
    rows = {
        "product": describe(product),
        "work": f"{plan.products:,} products, {compression:.2f} for each entry",
        "time": f"{ui.seconds(middle)} (median of {len(seconds)}, best {ui.seconds(min(seconds))})",
        "rate": f"{rate:.3g} GFLOP/s",
        "estimated": f"{plan.nnz:,} entries ({off:+.1%}), peak {ui.size(plan.peak_bytes)}",
    }
    if check is not None:
        words = "right" if check.ok else f"WRONG: {check.problem}"
        how = "C x = A (B x), and " if check.vector else ""
        rows["verified"] = f"{words} ({how}{ui.plural(check.rows, 'row')} one by one)"
    console.print(ui.facts(rows))
    if out is not None:
        console.print(f"C written to {out}", soft_wrap=True)
