"""What the graph commands share: options, sources, timing, rates, files of one row a vertex."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli import ui
from penstock.cli.files import check_output, describe, read_matrix, summary

SUFFIXES = (".npy", ".csv", ".parquet")

File = Annotated[
    Path, typer.Argument(help="A graph in any format, or a native store.", show_default=False)
]
Source = Annotated[int | None, typer.Option(min=0, help="Where to start. [default: 0]")]
Sources = Annotated[
    int | None, typer.Option(min=1, help="Random vertices to start from, of nonzero degree.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of the random vertices.")]
Undirected = Annotated[bool, typer.Option("--undirected", help="Walk every edge both ways.")]
Verify = Annotated[bool, typer.Option("--verify", help="Check every result; exit 1 if wrong.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="FILE", help="Write one row a vertex: .npy, .csv or .parquet."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace --out where it exists.")]
Threads = Annotated[int | None, typer.Option(min=1, help="CPU threads.")]
Repeats = Annotated[int, typer.Option(min=1, help="Runs; the median counts.")]


@dataclass
class Run:
    """One timed search or computation; `facts` is what it found, in JSON's words."""

    seconds: float
    edges: int
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def gteps(self) -> float | None:
        return self.edges / self.seconds / 1e9 if self.edges and self.seconds else None

    def as_dict(self) -> dict[str, Any]:
        return {**self.facts, "edges": self.edges, "seconds": self.seconds, "gteps": self.gteps}


def statistics_of(runs: list[Run]) -> dict[str, Any]:
    """Times and rates over runs. The rate's mean is harmonic, as the Graph500 takes it, and therefore follows the
    slowest: searches of tiny components, say. `overall` is all edges over all time. Runs that crossed no edge
    have no rate."""
    seconds = [run.seconds for run in runs]
    rates = [run.gteps for run in runs if run.gteps]
    gteps = None
    if rates:
        overall = sum(run.edges for run in runs) / sum(seconds) / 1e9
        mean = statistics.harmonic_mean(rates)
        gteps = {"harmonic_mean": mean, "overall": overall, **_spread(rates)}
    return {"seconds": _spread(seconds), "gteps": gteps}


def _spread(numbers: list[float]) -> dict[str, float]:
    return {"min": min(numbers), "median": statistics.median(numbers), "max": max(numbers)}


def check_result(path: Path | None, force: bool, runs: int = 1) -> None:
    """Before the work: can the result be written there?"""
    if path is None:
        return
    if path.suffix not in SUFFIXES:
        raise ui.InputError(f"--out {path}: the name must end in {', '.join(SUFFIXES)}")
    if runs > 1:
        raise ui.InputError(
            f"--out holds one row a vertex, not {runs} results: choose one with --source"
        )
    check_output(path, force)


def save_result(path: Path, columns: dict[str, np.ndarray]) -> None:
    """One row a vertex. A .npy file holds the one column, or records of several; the others number the
    vertices as well."""
    from penstock._io._atomic import atomic_file

    with atomic_file(path) as file:
        if path.suffix == ".npy":
            np.save(file, _records(columns))
            return
        import polars

        n = next(iter(columns.values())).size
        frame = polars.DataFrame({"vertex": np.arange(n, dtype=np.int64), **columns})
        frame.write_csv(file) if path.suffix == ".csv" else frame.write_parquet(file)


def _records(columns: dict[str, np.ndarray]) -> np.ndarray:
    if len(columns) == 1:
        return next(iter(columns.values()))
    first = next(iter(columns.values()))
    records = np.empty(first.size, [(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        records[name] = values
    return records


@contextlib.contextmanager
def threads_set(threads: int | None) -> Iterator[int]:
    """The number of threads as it was when done."""
    import penstock as ps

    before = ps.num_threads()
    try:
        ps.set_num_threads(threads or before)
        yield threads or before
    finally:
        ps.set_num_threads(before)


def read_graph(file: Path) -> Any:
    from penstock.csgraph._graph import as_graph

    graph = as_graph(read_matrix(file), str(file))
    if graph.shape[0] == 0:
        raise ui.InputError(f"{file} has no vertices")
    return graph


def prepared(graph: Any, undirected: bool) -> tuple[np.ndarray, bool, float]:
    """(out-degrees, whether edges go both ways, seconds): what is found out once for a graph and kept with
    it: its symmetry, its mirror."""
    from penstock.csgraph import _graph

    start = time.perf_counter()
    if undirected:
        graph = _graph.undirected(graph)
    both_ways = _graph.has_symmetric_pattern(graph)
    return np.diff(graph.indptr), both_ways, time.perf_counter() - start


def edges_reached(degrees: np.ndarray, reached: np.ndarray, both_ways: bool) -> int:
    """Edges of the visited vertices, an undirected one counted once: what the Graph500 divides by the time."""
    entries = int(degrees[reached].sum())
    return entries // 2 if both_ways else entries


def pick_sources(
    degrees: np.ndarray, source: int | None, sources: int | None, seed: int
) -> list[int]:
    if source is not None and sources is not None:
        raise ui.InputError("--source names one vertex, --sources draws some: give one of them")
    if sources is None:
        number = source or 0
        if number >= degrees.size:
            raise ui.InputError(f"--source {number} is outside a graph of {degrees.size} vertices")
        return [number]
    candidates = np.flatnonzero(degrees)
    if sources > candidates.size:
        raise ui.InputError(
            f"--sources {sources}: only {candidates.size} vertices have an edge going out"
        )
    drawn = np.random.default_rng(seed).choice(candidates, sources, replace=False)
    return [int(v) for v in drawn]


def timed(
    work: Callable[[], Any], repeats: int, tell: Callable[[float], None] = lambda fraction: None
) -> tuple[Any, list[float]]:
    """The result, and the seconds of each repeat."""
    seconds = []
    for n in range(repeats):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
        tell((n + 1) / repeats)
    return result, seconds


def checked(verifier: Callable[[], None]) -> str | None:
    """What a verifier has to say against a result, None where it is right."""
    try:
        verifier()
    except ValueError as error:
        return str(error)
    return None


def time_words(stats: dict[str, Any], runs: int) -> str:
    s = stats["seconds"]
    if runs == 1:
        return ui.seconds(s["median"])
    low, high = ui.seconds(s["min"]), ui.seconds(s["max"])
    return f"{ui.seconds(s['median'])} (median of {runs}; {low} to {high})"


def rate_words(stats: dict[str, Any]) -> str:
    g = stats["gteps"]
    if g is None:
        return "no edge was crossed"
    if g["min"] == g["max"]:
        return f"{g['min']:.3g} GTEPS"
    spread = f"{g['min']:.3g} to {g['max']:.3g}, median {g['median']:.3g}"
    return f"{g['overall']:.3g} GTEPS over all ({spread}; harmonic mean {g['harmonic_mean']:.3g})"


def show(
    file: Path,
    graph: Any,
    json: bool,
    data: dict[str, Any],
    rows: dict[str, str],
    fault: str | None,
    verified: bool,
    out: Path | None,
    table: Any = None,
) -> int:
    """Prints the result; the exit code."""
    head = summary(graph, str(file))
    if json:
        check = {"ok": fault is None, "fault": fault} if verified else None
        output = None if out is None else str(out)
        ui.emit_json({"graph": head, **data, "check": check, "output": output})
        return 1 if fault else 0
    if verified:
        rows = {**rows, "verified": f"WRONG: {fault}" if fault else "right"}
    console = ui.console()
    ui.headline(console, file.name, describe(head))
    console.print(ui.facts(rows))
    if table is not None:
        console.print(table)
    if out is not None:
        console.print(f"written to {out}", soft_wrap=True)
    return 1 if fault else 0
