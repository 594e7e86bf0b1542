"""`penstock pagerank`, `betweenness`, `triangles` and `core`: a number for each vertex, and the largest ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from penstock.cli import graph as shared
from penstock.cli import ui

Top = Annotated[int, typer.Option(min=0, help="Vertices shown, largest first.")]


@dataclass
class Common:
    """The options that these commands share."""

    file: Path
    undirected: bool
    top: int
    verify: bool
    out: Path | None
    force: bool
    threads: int | None
    repeats: int
    json: bool


def _values(
    name: str,
    column: str,
    o: Common,
    compute: Callable[[Any], np.ndarray],
    check: Callable[[Any, np.ndarray], None] | None,
    facts: Callable[[np.ndarray], tuple[dict[str, Any], dict[str, str]]],
    edges: Callable[[Any], int] | None = None,
) -> int:
    """`edges` crossed in one run, where a rate in GTEPS makes sense; `facts` gives JSON's facts and words."""
    from penstock.csgraph import _graph

    shared.check_result(o.out, o.force)
    with (
        ui.progress(3 if o.verify else 2, quiet=o.json) as step,
        shared.threads_set(o.threads) as n,
    ):
        step.next(f"reading {o.file.name}")
        graph = shared.read_graph(o.file)
        _, _, prepare = shared.prepared(graph, o.undirected)
        used = _graph.undirected(graph) if o.undirected else graph
        step.next(name)
        values, seconds = shared.timed(lambda: compute(used), o.repeats, step.within)
        fault = None
        if check and o.verify:
            step.next("checking")
            fault = shared.checked(lambda: check(used, values))
        if o.out is not None:
            shared.save_result(o.out, {column: values})
    crossed = edges(used) if edges else 0
    stats = shared.statistics_of([shared.Run(s, crossed) for s in seconds])
    found, words = facts(values)
    best = np.argsort(-values, kind="stable")[: o.top]
    data = {
        "algorithm": name, "undirected": o.undirected, "threads": n, "repeats": o.repeats,
        "prepare_seconds": prepare, **stats, **found,
        "top": [{"vertex": int(v), column: values[v].item()} for v in best],
    }  # fmt: skip
    rows = {**words, "time": shared.time_words(stats, o.repeats)}
    if edges:
        rows["rate"] = shared.rate_words(stats)
    rows["prepared"] = f"in {ui.seconds(prepare)}, once a graph"
    table = None
    if o.top:
        table = ui.table("vertex", column)
        for v in best:
            number = values[v].item()
            table.add_row(f"{v:,}", f"{number:,}" if isinstance(number, int) else f"{number:.6g}")
    return shared.show(o.file, graph, o.json, data, rows, fault, o.verify, o.out, table)


def pagerank(
    file: shared.File,
    alpha: Annotated[float, typer.Option(help="Chance to follow an edge.")] = 0.85,
    tol: Annotated[float, typer.Option(help="Stop when ranks change by less in all (L1).")] = 1e-6,
    max_iter: Annotated[int, typer.Option(min=1, help="Sweeps at most.")] = 100,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Every edge alike, whatever its weight.")
    ] = False,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Walk every edge both ways, whatever its weight.")
    ] = False,
    top: Top = 10,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 3,
    json: ui.Json = False,
) -> int:
    """PageRank: ranks that sum to 1."""
    from penstock import csgraph
    from penstock._check.graph import verify_ranks

    weighted = not (unweighted or undirected)

    def compute(graph: Any) -> np.ndarray:
        return csgraph.pagerank(graph, alpha, tol=tol, max_iter=max_iter, weighted=weighted)

    def check(graph: Any, ranks: np.ndarray) -> None:
        verify_ranks(graph, ranks, alpha, tol, weighted)

    options = Common(file, undirected, top, verify, out, force, threads, repeats, json)
    settings = {"alpha": alpha, "tol": tol, "weighted": weighted}
    words = {"ranks": f"alpha {alpha:g}, L1 change below {tol:g}"}
    return _values("pagerank", "rank", options, compute, check, lambda _: (settings, words))


def betweenness(
    file: shared.File,
    sources: Annotated[
        int | None, typer.Option(min=1, help="Random sources that stand for all. [default: all]")
    ] = None,
    seed: shared.Seed = 0,
    undirected: shared.Undirected = False,
    top: Top = 10,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 1,
    json: ui.Json = False,
) -> int:
    """Betweenness centrality: the share of shortest paths that lead through a vertex, edges counting 1."""
    from penstock import csgraph

    def compute(graph: Any) -> np.ndarray:
        k = None if sources is None else min(sources, graph.shape[0])
        return csgraph.betweenness_centrality(graph, k, directed=not undirected, seed=seed)

    options = Common(file, undirected, top, False, out, force, threads, repeats, json)
    some = "all vertices" if sources is None else f"{sources} random vertices, seed {seed}"
    found = {"sources": sources, "seed": None if sources is None else seed}
    return _values(
        "betweenness", "centrality", options, compute, None, lambda _: (found, {"from": some})
    )


def triangles(
    file: shared.File,
    top: Top = 10,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 3,
    json: ui.Json = False,
) -> int:
    """Triangles: how many there are, and in how many each vertex is. Directions and self loops are ignored."""
    from penstock import csgraph
    from penstock._check.graph import verify_triangles

    def facts(values: np.ndarray) -> tuple[dict[str, Any], dict[str, str]]:
        total = int(values.sum()) // 3
        return {"triangles": total}, {"triangles": f"{total:,}"}

    options = Common(file, False, top, verify, out, force, threads, repeats, json)
    return _values("triangles", "triangles", options, csgraph.triangles, verify_triangles, facts)


def core(
    file: shared.File,
    top: Top = 10,
    verify: shared.Verify = False,
    out: shared.Out = None,
    force: shared.Force = False,
    threads: shared.Threads = None,
    repeats: shared.Repeats = 3,
    json: ui.Json = False,
) -> int:
    """Core numbers: the largest k such that a vertex is in a subgraph where all have k neighbours."""
    from penstock import csgraph

    def facts(values: np.ndarray) -> tuple[dict[str, Any], dict[str, str]]:
        largest = int(values.max(initial=0))
        size = int((values == largest).sum())
        found = {"largest_core": largest, "largest_core_vertices": size}
        return found, {"largest core": f"{largest} ({size:,} vertices)"}

    options = Common(file, False, top, verify, out, force, threads, repeats, json)
    return _values("core", "core", options, csgraph.core_number, csgraph.verify_core_number, facts)
