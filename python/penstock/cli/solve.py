"""`penstock solve`: solves A x = b and says how it went, and whether x is right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli import ui
from penstock.cli.convert import VALUE_TYPES, value_type
from penstock.cli.files import check_output, describe, read_matrix, summary
from penstock.cli.multiply import _limits
from penstock.cli.solve_choice import (
    METHODS,
    PRECONDITIONERS,
    RESTARTED,
    Choice,
    advice,
    choose,
    limit_of,
)

SUFFIXES = (".npy", ".csv", ".parquet")
MOST_RESIDUALS = 1000  # in JSON, unless all are asked for
SLACK = 1.01  # the check adds up in another order


def _right_hand_side(name: str, n: int, dtype: Any, seed: int) -> np.ndarray:
    """`ones`, `random`, or a vector from a .npy file, a column of text, or a .parquet file."""
    if name == "ones":
        return np.ones(n, dtype)
    if name == "random":
        return np.random.default_rng(seed).uniform(-1, 1, n).astype(dtype)
    path = Path(name)
    if not path.is_file():
        raise ui.InputError(f"--rhs {name}: no such file; ones and random need none")
    b: Any
    try:
        if path.suffix == ".npy":
            b = np.load(path, allow_pickle=False)
        elif path.suffix == ".parquet":
            import polars as pl

            b = pl.read_parquet(path).to_series(0).to_numpy()
        else:
            b = np.loadtxt(path, delimiter="," if path.suffix == ".csv" else None, ndmin=1)
    except ValueError as error:
        raise ui.InputError(f"--rhs {path}: {error}") from error
    if b.size != n:
        raise ui.InputError(f"--rhs {path} holds {b.shape} numbers, the matrix has {n} rows")
    return b.reshape(n)


def _write(x: np.ndarray, path: Path) -> None:
    from penstock._io._atomic import atomic_file

    with atomic_file(path) as file:
        if path.suffix == ".npy":
            np.save(file, x)
        elif path.suffix == ".csv":
            np.savetxt(file, x, fmt="%.9g" if x.dtype in (np.float32, np.complex64) else "%.17g")
        else:
            import polars as pl

            pl.DataFrame({"x": x}).write_parquet(file)


def _check(a: Any, x: np.ndarray, b: np.ndarray, target: float) -> dict[str, Any]:
    """The residual by SciPy in double precision."""
    wide = np.result_type(x.dtype, np.float64)
    s = a.to_scipy().astype(wide)
    residual = float(np.linalg.norm(b.astype(wide) - s @ x.astype(wide)))
    # float32 vectors know their residual to a few units of float32 only.
    noise = 0.0
    if x.dtype in (np.float32, np.complex64):
        noise = 8 * float(np.finfo(np.float32).eps * np.linalg.norm(abs(s) @ abs(x) + abs(b)))
    return {
        "residual": residual,
        "target": target,
        "ok": residual <= SLACK * target + noise,
        "reference": "SciPy",
    }


def solve(
    file: Annotated[
        Path,
        typer.Argument(
            help="A square matrix in any format, or a native store.", show_default=False
        ),
    ],
    method: Annotated[
        str, typer.Option(help=", ".join(METHODS) + ". auto: cg, or bicgstab, by the matrix.")
    ] = "auto",
    precond: Annotated[
        str, typer.Option(help=", ".join(PRECONDITIONERS) + ". auto: ic0 for cg, else ilu0.")
    ] = "auto",
    rhs: Annotated[
        str, typer.Option(metavar="FILE|ones|random", help="b: .npy, .csv, .parquet or text.")
    ] = "ones",
    rtol: Annotated[float, typer.Option(help="Stop at norm(b - A x) <= rtol norm(b).")] = 1e-6,
    atol: Annotated[float, typer.Option(help="Or at this norm, where it is larger.")] = 0.0,
    maxiter: Annotated[
        int | None,
        typer.Option(
            min=1, help="Iterations; cycles of gmres and fgmres. [default: 10 n, at most 5000]"
        ),
    ] = None,
    restart: Annotated[
        int | None, typer.Option(min=1, help="Vectors that gmres and fgmres keep.")
    ] = None,
    shift: Annotated[
        float, typer.Option(help="Added to the diagonal before factoring, as a fraction of rows.")
    ] = 0.0,
    blocks: Annotated[
        int | None, typer.Option(min=1, help="block_jacobi: so many, with ILU(0) inside.")
    ] = None,
    prepare: Annotated[
        bool, typer.Option(help="Build a plan for the products after a dozen of them.")
    ] = True,
    dtype: Annotated[
        str | None, typer.Option(help=f"Convert the values first: {', '.join(VALUE_TYPES)}.")
    ] = None,
    device_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="What a device may hold; above it the matrix is streamed."
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="CPU threads.")] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Recompute the residual with SciPy; exit 1 if wrong.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of a random b.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write x: .npy, .csv or .parquet.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace --out where it exists.")] = False,
    all_residuals: Annotated[
        bool,
        typer.Option(
            "--all-residuals",
            help="In JSON one for every iteration. Without it at most 1000: the first, the last, and evenly between.",
        ),
    ] = False,
    json: ui.Json = False,
) -> int:
    """Solve A x = b; exit 1 where it does not converge."""
    import time

    import penstock as ps
    from penstock.linalg._operators import vector_dtype

    for value, known, name in ((method, METHODS, "method"), (precond, PRECONDITIONERS, "precond")):
        if value not in known:
            raise ui.InputError(f"--{name} {value} is unknown: choose one of {', '.join(known)}")
    if restart is not None and method not in RESTARTED:
        raise ui.InputError(f"--restart is for --method {' and '.join(RESTARTED)}")
    if out is not None:
        if out.suffix not in SUFFIXES:
            raise ui.InputError(f"--out {out}: the name must end in {', '.join(SUFFIXES)}")
        check_output(out, force)
    target = value_type(dtype)
    check = None
    with ui.progress(4 if verify else 3, quiet=json) as step, _limits(device_memory, threads):
        step.next(f"reading {file.name}")
        a = read_matrix(file)
        if target is not None:
            a = a.astype(target)
        b = _right_hand_side(rhs, a.shape[0], vector_dtype(a), seed)
        if out is not None and out.suffix == ".parquet" and vector_dtype(a, b).kind == "c":
            raise ui.InputError(
                f"--out {out}: x is complex, and Parquet has no complex numbers: take .npy or .csv"
            )
        step.next("preparing")
        begin = time.perf_counter()
        choice = choose(a, method, precond, shift, blocks)
        setup = time.perf_counter() - begin
        step.next("solving")
        most, limit = limit_of(maxiter, a.shape[0], choice.method, restart)
        how: dict[str, Any] = {"rtol": rtol, "atol": atol, "maxiter": most, "M": choice.m}
        if choice.method in RESTARTED:
            how["restart"] = restart
        x, info = getattr(ps.linalg, choice.method)(a, b, prepare=prepare, **how)
        if verify:
            step.next("checking with SciPy")
            check = _check(a, x, b, info.target)
        if out is not None:
            _write(x, out)
    ideas = advice(choice, info, maxiter is not None, limit)
    head = summary(a, str(file))
    if json:
        _emit(head, choice, setup, info, limit, ideas, check, all_residuals)
    else:
        _show(head, choice, setup, info, limit, ideas, check, out)
    return 0 if info == 0 and (check is None or check["ok"]) else 1


def _emit(
    head: dict[str, Any],
    choice: Choice,
    setup: float,
    info: Any,
    limit: int,
    ideas: list[str],
    check: dict[str, Any] | None,
    all_residuals: bool,
) -> None:
    count = len(info.residuals)
    kept = np.arange(count)
    if count > MOST_RESIDUALS and not all_residuals:
        kept = np.linspace(0, count - 1, MOST_RESIDUALS).round().astype(np.int64)
    names = ("reason", "iterations", "residual", "target", "seconds")
    ui.emit_json(
        {
            "matrix": head,
            "method": choice.method,
            "preconditioner": choice.precond,
            "shift": choice.shift,
            "chosen": choice.why or None,
            "not_made": choice.tried,
            "setup_seconds": setup,
            "info": int(info),
            "converged": info.converged,
            **{name: getattr(info, name) for name in names},
            "iteration_limit": limit,
            "advice": ideas,
            "residuals_total": count,
            "residuals_thinned": kept.size < count,  # the first, the last, and evenly between them
            "residual_iterations": kept,
            "residuals": info.residuals[kept],
            "seconds_per_iteration": info.seconds / max(info.iterations, 1),
            "check": check,
        }
    )


def _show(
    head: dict[str, Any],
    choice: Choice,
    setup: float,
    info: Any,
    limit: int,
    ideas: list[str],
    check: dict[str, Any] | None,
    out: Path | None,
) -> None:
    each = info.seconds / max(info.iterations, 1)
    console = ui.console()
    ui.headline(console, Path(head["name"]).name, describe(head))
    rows = {
        "method": f"{choice}" + (f" (the matrix is {choice.why})" if choice.why else ""),
        "result": info.reason,
        "iterations": f"{ui.count(info.iterations)}, at most {ui.count(limit)}",
        "residual": f"{info.residual:.3g}, to reach {info.target:.3g}, from {info.residuals[0]:.3g}",
        "time": f"{ui.seconds(info.seconds)}, {ui.seconds(each)} an iteration"
        + ("" if choice.precond == "none" else f", and {ui.seconds(setup)} to set up"),
    }
    if choice.tried:
        rows["not made"] = "\n".join(choice.tried)
    if ideas:
        rows["to try"] = "\n".join(ideas)
    if check is not None:
        words = "right" if check["ok"] else "NOT REACHED"
        rows["verified"] = f"{words}: residual {check['residual']:.3g} (SciPy)"
    console.print(ui.facts(rows))
    if out is not None:
        console.print(f"x written to {out}", soft_wrap=True)
