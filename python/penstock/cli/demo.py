"""`penstock demo`: a matrix larger than its device memory, multiplied in core and streamed, and
checked."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from penstock.cli import ui
from penstock.cli.files import describe, read_matrix, require_space, summary
from penstock.cli.measure import flops, measure, random_vector

RING_SHARE = 8  # without --device-memory the ring gets the matrix's bytes over this
STEPS = 5  # per matrix


def _sources(matrix: Path | None, scale: int, edge: int) -> Iterator[tuple[str, Any]]:
    """Names, and functions that make or read the matrix."""
    import penstock as ps

    if matrix is not None:
        yield matrix.name, lambda: read_matrix(matrix)
        return
    yield f"R-MAT graph, scale {scale}", lambda: ps.generate.rmat(scale, dtype="bool")
    yield f"7-point stencil, {edge}^3", lambda: ps.generate.advection_diffusion(edge)


def _through_store(a: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Writes the matrix to a store in `folder` and maps it again."""
    import penstock as ps

    require_space(folder, a.nbytes + (1 << 20))
    store = folder / "matrix.penstock"
    start = time.perf_counter()
    a.save(store)
    written = time.perf_counter()
    mapped = ps.open(store)
    return mapped, {"write_seconds": written - start, "open_seconds": time.perf_counter() - written}


def _ring_bytes(a: Any, name: str, device_memory: str | None) -> int:
    from penstock._plan.schedules import parse_bytes

    if device_memory is None:
        return max(1, a.nbytes // RING_SHARE)
    ring = parse_bytes(device_memory, "--device-memory")
    if not 0 < ring < a.nbytes:
        raise ui.InputError(
            f"--device-memory {device_memory} is not between 0 and the {ui.size(a.nbytes)} "
            f"of {name}: give less than the matrix, so that it must be streamed"
        )
    return ring


def _schedules(ring: int) -> dict[str, Any]:
    import penstock as ps

    ways = {"in core": ps.InCore(), "streamed": ps.Streamed(device="cpu", ring=ring)}
    gpus = ps.machine()["gpus"]
    if gpus:
        ways[f"streamed, {ui.plural(gpus, 'GPU')}"] = ps.Streamed(
            device=list(range(gpus)), ring=ring
        )
    return ways


def _products(a: Any, name: str, ring: int, repeats: int, step: ui.Steps) -> list[dict[str, Any]]:
    """Every schedule, timed; then every product, checked."""
    from penstock._arrays.convert import result_dtype
    from penstock._check.product import verify

    x = random_vector(a.shape[1], result_dtype(a.dtype), seed=0)
    done = []
    for label, how in _schedules(ring).items():
        step.next(f"{name}: {label}")
        product = partial(_dot, a, x, how)
        done.append((label, *measure(product, flops(a), repeats, step.within)))
    step.next(f"{name}: check against SciPy")
    runs = []
    for label, y, took in done:
        check = verify(a, x, y, tell=step.within)
        runs.append({"schedule": label, **took.as_dict(), "check": check.as_dict()})
    return runs


def _dot(a: Any, x: Any, how: Any, out: Any) -> Any:
    return a.dot(x, out=out, schedule=how)


def _run_one(
    name: str, make: Any, device_memory: str | None, repeats: int, step: ui.Steps
) -> dict[str, Any]:
    step.next(f"{name}: make or read it")
    start = time.perf_counter()
    a = make()
    result: dict[str, Any] = {"seconds_to_make": time.perf_counter() - start}
    if not a.nnz:
        raise ui.InputError(f"{name} has no nonzeros: there is nothing to stream")
    with TemporaryDirectory(prefix="penstock-demo-") as folder:
        if a.place == "mapped":
            step.next(f"{name}: already mapped")
        else:
            step.next(f"{name}: write and map the store")
            a, times = _through_store(a, Path(folder))
            result |= times
        ring = _ring_bytes(a, name, device_memory)
        result |= {"matrix": summary(a, name), "ring_limit_bytes": ring}
        result["runs"] = _products(a, name, ring, repeats, step)
    return result


def _table(results: list[dict[str, Any]]) -> Any:
    t = ui.table("schedule", "ring", "copied", "bytes", "time", "GB/s", "share", "error", "bound")
    for r in results:
        for run in r["runs"]:
            trace, check = run["trace"], run["check"]
            t.add_row(
                run["schedule"],
                ui.size(trace["ring_bytes"]) if trace["ring_bytes"] else "-",
                ui.size(trace["copied_bytes"]) if trace["copied_bytes"] else "-",
                ui.size(trace["kernel_bytes"]),
                ui.seconds(run["seconds"]),
                f"{run['gb_per_s']:.1f}",
                f"{run['fraction_of_bandwidth']:.0%}",
                (f"{check['error']:.1e}" if check["error"] else "0")
                + ("" if check["ok"] else " WRONG"),
                f"{check['bound']:.1e}",
            )
    return t


def _conclusion(results: list[dict[str, Any]], ok: bool) -> str:
    if not ok:
        return "A product is wrong: the error of some row is beyond its rounding bound."
    sizes = [
        (ui.size(r["runs"][1]["trace"]["ring_bytes"]), ui.size(r["matrix"]["bytes"]))
        for r in results
    ]
    rings = [f"{ring} for {whole}" for ring, whole in sizes]
    speeds = [f"{r['runs'][0]['seconds'] / r['runs'][1]['seconds']:.2f}" for r in results]
    checks = [run["check"] for r in results for run in r["runs"]]
    every = "Every row" if all(c["complete"] for c in checks) else "Every row of a sample"
    return (
        f"Mapped from files and streamed through smaller rings ({', '.join(rings)}), the products "
        f"ran at {' and '.join(speeds)} of the in-core speed. {every} agrees with SciPy's product "
        "in float64 within the rounding bound for its length."
    )


def _show(results: list[dict[str, Any]], bandwidth: float, ok: bool) -> None:
    out = ui.console()
    for r in results:
        how = f"made or read in {ui.seconds(r['seconds_to_make'])}"
        if "open_seconds" in r:
            how += f", written in {ui.seconds(r['write_seconds'])}"
            how += f", mapped in {ui.seconds(r['open_seconds'])}"
        ui.headline(out, r["matrix"]["name"], describe(r["matrix"]))
        out.print(how, style="dim", soft_wrap=True)
        out.print(_table([r]))
    out.print(
        "ring: bytes of all slots; copied: into them; bytes: matrix, x and y, once each; "
        "GB/s: bytes over time; share: of the "
        f"{bandwidth / 1e9:.1f} GB/s measured for reading memory (above 100% the data stays in "
        "the cache); error: the largest of a row, relative to |A||x|; bound: of its rounding.",
        style="dim",
    )
    out.print(f"\n{_conclusion(results, ok)}", style="green" if ok else "red")


def demo(
    matrix: Annotated[
        Path | None, typer.Argument(help="A matrix of your own, in any format.")
    ] = None,
    scale: Annotated[int, typer.Option(min=1, max=30, help="R-MAT graph of 2^N vertices.")] = 20,
    edge: Annotated[
        int, typer.Option(min=2, max=1000, help="Stencil on a cube of N^3 points.")
    ] = 128,
    device_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Bytes for the ring, such as 16MiB. [default: 1/8 of the matrix]"
        ),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Products per schedule; the median counts.")
    ] = 5,
    json: ui.Json = False,
) -> int:
    """Multiply matrices in core and through a ring that is smaller than they are, and check the
    results.

    Exit code 1 where a result is beyond its rounding bound.
    """
    import penstock as ps

    sources = list(_sources(matrix, scale, edge))
    with ui.progress(1 + STEPS * len(sources), quiet=json) as step:
        step.next("measuring memory bandwidth")
        bandwidth = ps.machine()["host_read"]
        results = [_run_one(name, make, device_memory, repeats, step) for name, make in sources]
    ok = all(run["check"]["ok"] for r in results for run in r["runs"])
    if json:
        ui.emit_json(
            {"penstock": ps.__version__, "machine": ps.machine(), "results": results, "ok": ok}
        )
    else:
        _show(results, bandwidth, ok)
    return 0 if ok else 1
