"""Who takes part in the graph benchmark, in this process: penstock, networkit, igraph and SciPy.

A maker takes a Problem and returns a Contestant; it raises ImportError where its package is missing, and
UnsupportedError where the package has no way to do it. Building a library's own graph is not timed, and recorded as
`prepare_seconds`. What is timed ends with the result in the form that the library hands out.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import graph_checks
import numpy as np
from graphs import Graph
from harness import Contestant

SLOW_SECONDS = (
    0.25  # a rival that needs more for one search is timed on the first SLOW_SOURCES only
)
SLOW_SOURCES = 4


class UnsupportedError(Exception):
    """This contestant has no way to do this case."""


@dataclass
class Problem:
    graph: Graph
    algorithm: str
    threads: int
    sources: list[int]
    dtype: Any = np.float64  # of our weights and distances
    shared: dict[str, Any] = field(default_factory=dict)  # kept from one algorithm to the next

    def kept(self, key: str, make: Callable[[], Any]) -> tuple[Any, float]:
        """(what make() gave the first time, the seconds that took)."""
        if key not in self.shared:
            start = time.perf_counter()
            value = make()
            self.shared[key] = (value, time.perf_counter() - start)
        return self.shared[key]


Maker = Callable[[Problem], Contestant]
MAKERS: dict[str, dict[str, Maker]] = {}


def contestant(name: str, *algorithms: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        for algorithm in algorithms:
            MAKERS.setdefault(algorithm, {})[name] = maker
        return maker

    return register


def _searches(
    name: str, role: str, p: Problem, search: Callable[[int], Any], prepare: float,
    result: Callable[[Any], Any] = np.asarray,
) -> Contestant:  # fmt: skip
    """One search after the other; a slow rival does fewer."""
    sources = p.sources
    start = time.perf_counter()
    search(sources[0])
    if role == "rival" and time.perf_counter() - start > SLOW_SECONDS:
        sources = sources[:SLOW_SOURCES]
    return Contestant(
        name, lambda: [search(s) for s in sources], role, prepare_seconds=prepare,
        units=len(sources), result=lambda found: [result(r) for r in found],
        notes={"sources": len(sources)},
    )  # fmt: skip


# Ours


def _ours(p: Problem, weighted: bool) -> tuple[Any, float]:
    from penstock.csgraph import _graph

    import penstock as ps

    ps.set_num_threads(p.threads)
    dtype = p.dtype if weighted else bool

    def prepare(a: Any) -> Any:
        _graph.incoming(a)  # finds out about symmetry, too
        return a

    a = p.graph.csr(dtype)
    return p.kept(f"penstock {np.dtype(dtype)}", lambda: prepare(a))


def _verified(verify: Callable[[int, Any], None], p: Problem) -> Callable[[Any], Any]:
    """Our results also pass our verifier, which raises."""

    def result(found: list[Any]) -> list[Any]:
        for source, value in zip(p.sources, found, strict=True):
            verify(source, value)
        return [value[0] if isinstance(value, tuple) else value for value in found]

    return result


@contestant("penstock", "bfs", "sssp")
def _penstock_search(p: Problem) -> Contestant:
    from penstock import csgraph

    a, seconds = _ours(p, p.algorithm == "sssp")
    run: Any = getattr(csgraph, p.algorithm)
    verify: Any = getattr(csgraph, f"verify_{p.algorithm}")
    who = _searches("penstock", "ours", p, lambda s: run(a, s), seconds)
    who.result = _verified(lambda s, v: verify(a, s, v), p)
    return who


@contestant("penstock_tree", "bfs")
def _penstock_tree(p: Problem) -> Contestant:
    from penstock import csgraph

    a, seconds = _ours(p, False)
    who = _searches(
        "penstock_tree", "ours", p, lambda s: csgraph.bfs(a, s, return_predecessors=True), seconds
    )
    who.result = _verified(lambda s, v: csgraph.verify_bfs(a, s, *v), p)
    return who


@contestant("penstock", "cc", "scc", "pagerank", "triangles", "core")
def _penstock(p: Problem) -> Contestant:
    from penstock import csgraph

    a, seconds = _ours(p, False)
    run: Callable[[], Any] = {
        "cc": lambda: csgraph.connected_components(a)[1],
        "scc": lambda: csgraph.strongly_connected_components(a)[1],
        "pagerank": lambda: csgraph.pagerank(a, graph_checks.DAMPING, tol=graph_checks.TOLERANCE),
        "triangles": lambda: csgraph.triangle_count(a),
        "core": lambda: csgraph.core_number(a),
    }[p.algorithm]
    return Contestant("penstock", run, "ours", prepare_seconds=seconds)


# networkit


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

    return _searches("networkit", "rival", p, search, seconds, result)


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


# igraph


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
        return _searches(
            "igraph", "rival", p, lambda s: g.distances(source=s, weights=weights), seconds,
            lambda found: np.asarray(found[0], np.float64),
        )  # fmt: skip
    return _searches("igraph", "rival", p, lambda s: g.bfs(s, mode="out"), seconds, levels)


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


# SciPy


@contestant("scipy", "bfs", "sssp")
def _scipy_search(p: Problem) -> Contestant:
    from scipy.sparse import csgraph

    a, seconds = p.kept(f"scipy {p.algorithm}", lambda: p.graph.scipy(p.algorithm == "sssp"))
    if p.algorithm == "sssp":
        return _searches("scipy", "rival", p, lambda s: csgraph.dijkstra(a, indices=s), seconds)
    search = functools.partial(csgraph.breadth_first_order, a, return_predecessors=True)
    return _searches(
        "scipy", "rival", p, search, seconds, lambda found: graph_checks.levels_of(*found)
    )


@contestant("scipy", "cc", "scc")
def _scipy_components(p: Problem) -> Contestant:
    from scipy.sparse import csgraph

    a, seconds = p.kept("scipy", p.graph.scipy)
    kind = "weak" if p.algorithm == "cc" else "strong"
    return Contestant(
        "scipy",
        lambda: csgraph.connected_components(a, connection=kind)[1],
        prepare_seconds=seconds,
    )
