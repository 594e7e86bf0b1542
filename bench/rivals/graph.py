"""Who takes part in the graph benchmark, in this process: penstock and SciPy here, networkit and igraph
in files of their own.

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

import numpy as np
from lib import graph_checks
from lib.graphs import Graph
from lib.harness import Contestant

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


def searches(
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
    who = searches("penstock", "ours", p, lambda s: run(a, s), seconds)
    who.result = _verified(lambda s, v: verify(a, s, v), p)
    return who


@contestant("penstock_tree", "bfs")
def _penstock_tree(p: Problem) -> Contestant:
    from penstock import csgraph

    a, seconds = _ours(p, False)
    who = searches(
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


# SciPy


@contestant("scipy", "bfs", "sssp")
def _scipy_search(p: Problem) -> Contestant:
    from scipy.sparse import csgraph

    a, seconds = p.kept(f"scipy {p.algorithm}", lambda: p.graph.scipy(p.algorithm == "sssp"))
    if p.algorithm == "sssp":
        return searches("scipy", "rival", p, lambda s: csgraph.dijkstra(a, indices=s), seconds)
    search = functools.partial(csgraph.breadth_first_order, a, return_predecessors=True)
    return searches(
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
