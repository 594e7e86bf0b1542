"""igraph in the graph benchmark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from lib import graph_checks
from lib.harness import Contestant

from rivals.graph import Problem, contestant, searches


def _igraph(p: Problem, weighted: bool = False) -> tuple[Any, float]:
    import igraph

    g = p.graph

    def build() -> Any:
        keep = g.rows < g.pattern.indices if g.undirected else slice(None)
        edges = np.column_stack([g.rows[keep], g.pattern.indices[keep]])
        made = igraph.Graph(n=g.n, edges=edges, directed=not g.undirected)
        if weighted:
            made.es["weight"] = g.weights[keep]
        return made

    return p.kept(f"igraph {weighted}", build)


@contestant("igraph", "bfs", "sssp")
def _igraph_search(p: Problem) -> Contestant:
    weighted = p.algorithm == "sssp"
    g, seconds = _igraph(p, weighted)
    weights = "weight" if weighted else None

    def levels(found: Any) -> np.ndarray:
        vertices, starts, _ = found
        levels = np.full(p.graph.n, -1, np.int32)
        sizes = np.diff(starts)
        levels[np.asarray(vertices)] = np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)
        return levels

    if weighted:
        return searches(
            "igraph", "rival", p, lambda s: g.distances(source=s, weights=weights), seconds,
            lambda found: np.asarray(found[0], np.float64),
        )  # fmt: skip
    return searches("igraph", "rival", p, lambda s: g.bfs(s, mode="out"), seconds, levels)


@contestant("igraph", "cc", "scc", "pagerank", "triangles", "core")
def _igraph_values(p: Problem) -> Contestant:
    g, seconds = _igraph(p)
    run: Callable[[], Any] = {
        "cc": lambda: g.connected_components(mode="weak").membership,
        "scc": lambda: g.connected_components(mode="strong").membership,
        "pagerank": lambda: g.pagerank(damping=graph_checks.DAMPING),
        "triangles": g.transitivity_undirected,  # it has no other way that keeps no list of them
        "core": g.coreness,
    }[p.algorithm]
    result = None
    if p.algorithm == "triangles":
        degrees = p.graph.degrees.astype(np.float64)
        paths = float((degrees * (degrees - 1)).sum() / 2)
        result = lambda share: round(share * paths / 3) if paths else 0  # noqa: E731
    return Contestant("igraph", run, prepare_seconds=seconds, result=result)
