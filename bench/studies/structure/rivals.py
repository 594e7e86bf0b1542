"""Libraries on the CPU that search the same graph, in turns with ours: networkit where it is installed, else SciPy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from lib import graph_checks

from studies.emogi2020.runs import Run
from studies.emogi2020.ways import Algorithm, Found, Way

_BYTES = {"networkit": 40, "scipy": 24}  # an entry, of their own graph


@dataclass
class Rival(Way):
    """`work(source)` is timed; `read(what it returned)` is the result as ours."""

    work: Callable[[int], Any] = field(default=lambda source: None)
    read: Callable[[Any], Any] = field(default=lambda found: found)

    def search(self, source: int, counted: bool = False) -> Found:
        begin = time.perf_counter()
        found = self.work(source)
        seconds = time.perf_counter() - begin
        return Found(self.read(found), seconds, seconds, None)


def by_first(labels: np.ndarray) -> tuple[int, np.ndarray]:
    """(count, labels) numbered by each component's first vertex, as ours.

    >>> by_first(np.array([7, 3, 7, 9]))
    (3, array([0, 1, 0, 2], dtype=int32))
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(first.size, np.int32)
    number[np.argsort(first)] = np.arange(first.size, dtype=np.int32)
    return first.size, number[inverse]


def _networkit(algorithm: Algorithm, a: Any) -> tuple[Callable[[int], Any], Callable[[Any], Any]]:
    import networkit as nk

    weighted = algorithm.name == "sssp"
    rows = np.repeat(np.arange(a.shape[0], dtype=np.uint64), np.diff(a.indptr))
    keep = rows <= a.indices
    ends = rows[keep], a.indices[keep].astype(np.uint64)
    data = np.asarray(a.data)[keep].astype(np.float64) if weighted else np.ones(ends[0].size)
    g = nk.GraphFromCoo((data, ends), n=a.shape[0], weighted=weighted, directed=False)

    def search(source: int) -> Any:
        kind = nk.distance.Dijkstra if weighted else nk.distance.BFS
        run = kind(g, source, storePaths=False)
        run.run()
        return run.getDistances(asarray=True)

    def components(_: int) -> Any:
        run = nk.components.ParallelConnectedComponents(g)
        run.run()
        return run.getPartition().getVector()

    def distances(found: Any) -> np.ndarray:
        far = np.array(found, np.float64)
        far[far > 1e300] = np.inf
        return far if weighted else np.where(np.isfinite(far), far, -1).astype(np.int32)

    if not algorithm.has_source:
        return components, lambda found: by_first(np.asarray(found))
    return search, distances


def _scipy(algorithm: Algorithm, a: Any) -> tuple[Callable[[int], Any], Callable[[Any], Any]]:
    import scipy.sparse as sp
    from scipy.sparse import csgraph

    data = np.asarray(a.data, np.float64) if algorithm.name == "sssp" else np.ones(a.nnz)
    small = np.int32 if a.nnz < 2**31 else np.int64
    g = sp.csr_array((data, a.indices, a.indptr.astype(small)), shape=a.shape)
    if algorithm.name == "sssp":
        return lambda s: csgraph.dijkstra(g, directed=True, indices=s), lambda found: found
    if algorithm.name == "bfs":
        return (
            lambda s: csgraph.breadth_first_order(g, s, directed=True),
            lambda found: graph_checks.levels_of(*found),
        )
    return (
        lambda _: csgraph.connected_components(g, directed=True, connection="weak"),
        lambda found: found,
    )


def ways(run: Run, algorithm: Algorithm, a: Any) -> list[Way]:
    """The library that is there, if the memory suffices for its own graph."""
    makers = {"networkit": _networkit, "scipy": _scipy}
    for name in [n for n in run.args.rivals if n in makers]:
        what = f"{name}: {algorithm.name} of {a.nnz} entries"
        if not run.memory_for(what, float(_BYTES[name]) * a.nnz + 16.0 * a.shape[0]):
            continue
        try:
            work, read = makers[name](algorithm, a)
        except ImportError as e:
            run.report.skip(name, str(e))
            continue
        return [Rival(name, "rival", algorithm, a, {}, work=work, read=read)]
    return []
