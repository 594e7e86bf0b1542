"""networkit in the graph benchmark."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lib import graph_checks
from lib.harness import Contestant

from rivals.graph import Problem, UnsupportedError, contestant, searches


def _networkit(p: Problem, weighted: bool = False) -> tuple[Any, float]:
    import networkit as nk

    nk.setNumberOfThreads(p.threads)
    g = p.graph

    def build() -> Any:
        keep = g.rows < g.pattern.indices if g.undirected else slice(None)
        ends = tuple(x[keep].astype(np.uint64) for x in (g.rows, g.pattern.indices))
        data = g.weights[keep] if weighted else np.ones(ends[0].size)
        return nk.GraphFromCoo((data, ends), n=g.n, weighted=weighted, directed=not g.undirected)

    return p.kept(f"networkit {weighted}", build)


@contestant("networkit", "bfs", "sssp")
def _networkit_search(p: Problem) -> Contestant:
    import networkit as nk

    weighted = p.algorithm == "sssp"
    g, seconds = _networkit(p, weighted)
    kind = nk.distance.Dijkstra if weighted else nk.distance.BFS

    def search(s: int) -> Any:
        run = kind(g, s, storePaths=False)
        run.run()
        return run.getDistances(asarray=True)

    def result(found: Any) -> np.ndarray:
        far = np.asarray(found, np.float64)
        far[far > 1e300] = np.inf
        return far if weighted else np.where(np.isfinite(far), far, -1).astype(np.int32)

    return searches("networkit", "rival", p, search, seconds, result)


def _networkit_labels(p: Problem, kind: str) -> Contestant:
    import networkit as nk

    g, seconds = _networkit(p)

    def run() -> Any:
        found = getattr(nk.components, kind)(g)
        found.run()
        return found.getPartition().getVector()

    return Contestant("networkit", run, prepare_seconds=seconds, notes={"class": kind})


@contestant("networkit", "cc")
def _networkit_cc(p: Problem) -> Contestant:
    return _networkit_labels(
        p, "ConnectedComponents" if p.graph.undirected else "WeaklyConnectedComponents"
    )


@contestant("networkit_parallel", "cc")
def _networkit_parallel_cc(p: Problem) -> Contestant:
    if not p.graph.undirected:
        raise UnsupportedError("ParallelConnectedComponents takes undirected graphs only")
    who = _networkit_labels(p, "ParallelConnectedComponents")
    who.name = "networkit_parallel"
    return who


@contestant("networkit", "scc")
def _networkit_scc(p: Problem) -> Contestant:
    return _networkit_labels(p, "StronglyConnectedComponents")


@contestant("networkit", "pagerank")
def _networkit_pagerank(p: Problem) -> Contestant:
    import networkit as nk

    g, seconds = _networkit(p)

    def run() -> Any:
        found = nk.centrality.PageRank(g, graph_checks.DAMPING, tol=graph_checks.TOLERANCE)
        found.norm = nk.centrality.Norm.L1_NORM
        found.run()
        return found.scores()

    return Contestant("networkit", run, prepare_seconds=seconds)


@contestant("networkit", "triangles")
def _networkit_triangles(p: Problem) -> Contestant:
    import networkit as nk

    g, seconds = _networkit(p)
    start = time.perf_counter()
    g.indexEdges()

    def run() -> Any:
        found = nk.sparsification.TriangleEdgeScore(g)
        found.run()
        return found.scores()

    return Contestant(
        "networkit", run, prepare_seconds=seconds + time.perf_counter() - start,
        result=lambda scores: round(float(np.sum(scores)) / 3),
    )  # fmt: skip


@contestant("networkit", "core")
def _networkit_core(p: Problem) -> Contestant:
    import networkit as nk

    g, seconds = _networkit(p)

    def run() -> Any:
        found = nk.centrality.CoreDecomposition(g)
        found.run()
        return found.scores()

    return Contestant("networkit", run, prepare_seconds=seconds)
