"""Bellman and Ford's functions. Without negative weights the distances are those of delta-stepping, bit for bit.

With negative ones, rounds relax the edges of the vertices whose distance the last round lowered (Bellman 1958, Moore
1959): small rounds one by one, large ones as arrays. A cycle among the predecessors is negative (Tarjan 1981); it is
looked for whenever the work has doubled.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._paths import Lengths, path_back, paths_of
from penstock.nx_backend._weights import NARROW

# Rounds of fewer edges are relaxed one edge after the other.
FEW = 256


class _Edges:
    """The graph's edges, the lightest of parallel ones."""

    def __init__(self, graph: Graph, weight: Any) -> None:
        structure = graph.structure
        self.n = len(graph)
        self.indptr, self.indices, self.rows = structure.indptr, structure.indices, structure.rows
        self.whole = self.usable = True
        self.values = np.ones(self.indices.size)
        if weight is not None:
            weights = graph.edge_weights(weight)
            if not weights.finite:
                raise NotImplementedError("penstock takes weights that are finite")
            if not weights.exact:
                raise NotImplementedError("the sum of the whole weights exceeds 2^53")
            if weights.narrow:
                raise NotImplementedError(NARROW)
            self.whole, self.usable = weights.integral, weights.usable
            self.values = structure.lightest(weights.values)


def _unbounded() -> nx.NetworkXUnbounded:
    return nx.NetworkXUnbounded("Negative cycle detected.")


def _has_cycle(before: np.ndarray) -> bool:
    """Whether following the predecessors (-1 for none) leads in a circle."""
    n = before.size
    ends = np.append(np.where(before < 0, n, before), n)
    for _ in range(max(n, 1).bit_length()):
        ends = ends[ends]  # twice as far in each turn
    return bool((ends < n).any())


def _relaxed(edges: _Edges, sources: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Distances and predecessors (-1) with negative weights."""
    distance = np.full(edges.n, np.inf)
    before = np.full(edges.n, -1, dtype=np.int64)
    distance[sources] = 0.0
    frontier = np.array(sources, dtype=np.int64)
    work, look = 0, 4 * edges.n
    while frontier.size:
        begin, end = edges.indptr[frontier], edges.indptr[frontier + 1]
        count = int((end - begin).sum())
        work += count + frontier.size
        if count < FEW:
            frontier = _one_by_one(edges, distance, before, frontier)
        else:
            frontier = _at_once(edges, distance, before, frontier, end - begin, begin)
        if work >= look:
            if _has_cycle(before):
                raise _unbounded()
            look = 2 * work
    return distance, before


def _one_by_one(
    edges: _Edges, distance: np.ndarray, before: np.ndarray, frontier: np.ndarray
) -> np.ndarray:
    lowered: dict[int, None] = {}
    for u in frontier.tolist():
        begin, end = edges.indptr[u], edges.indptr[u + 1]
        start = distance[u]
        for v, value in zip(
            edges.indices[begin:end].tolist(), edges.values[begin:end].tolist(), strict=True
        ):
            if start + value < distance[v]:
                distance[v] = start + value
                before[v] = u
                lowered[v] = None
                if v == u:
                    raise _unbounded()
    return np.fromiter(lowered, np.int64, len(lowered))


def _at_once(
    edges: _Edges,
    distance: np.ndarray,
    before: np.ndarray,
    frontier: np.ndarray,
    counts: np.ndarray,
    begin: np.ndarray,
) -> np.ndarray:
    into = np.cumsum(counts) - counts
    at = np.arange(int(counts.sum())) + np.repeat(begin - into, counts)
    heads, sums = edges.indices[at], np.repeat(distance[frontier], counts) + edges.values[at]
    better = sums < distance[heads]
    heads, sums, tails = heads[better], sums[better], np.repeat(frontier, counts)[better]
    np.minimum.at(distance, heads, sums)
    best = sums == distance[heads]
    before[heads[best]] = tails[best]
    return np.unique(heads)


class _Found:
    """Distances from a source, nearest first, and one predecessor of each vertex."""

    def __init__(self, graph: Graph, source: Any, weight: Any) -> None:
        if source not in graph:
            raise nx.NodeNotFound(f"Source {source} not in G")
        self.graph, self.source = graph, graph.nodes.number(source)
        self.edges = edges = _Edges(graph, weight)
        if edges.usable:
            matrix = Lengths(graph, weight).matrix
            found = csgraph.dijkstra(matrix, indices=self.source, return_predecessors=True)
            self.distance, self.before = found
        else:
            self.distance, self.before = _relaxed(edges, [self.source])
        near = np.flatnonzero(np.isfinite(self.distance))
        self.order = near[np.argsort(self.distance[near], kind="stable")]

    def named(self, values: np.ndarray) -> list[Any]:
        return (values.astype(np.int64) if self.edges.whole else values).tolist()

    def lengths(self) -> dict[Any, Any]:
        """The source first, whose distance is NetworkX's int 0."""
        names = self.graph.nodes.named(self.order)
        made = dict(zip(names, self.named(self.distance[self.order]), strict=True))
        source = self.graph.nodes.labels[self.source]
        return {source: 0, **{node: value for node, value in made.items() if node is not source}}

    def path(self, vertex: int) -> list[Any]:
        return path_back(self.graph, self.before, vertex, {self.source})

    def paths(self) -> dict[Any, list[Any]]:
        return paths_of(self.graph, self.order, self.before, [self.source])

    def place(self, target: Any) -> int | None:
        if target not in self.graph:
            return None
        number = self.graph.nodes.number(target)
        return number if np.isfinite(self.distance[number]) else None

    def length_of(self, vertex: int) -> Any:
        return self.named(self.distance[vertex : vertex + 1])[0]


def single_source_bellman_ford(
    G: Graph, source: Any, target: Any = None, weight: Any = "weight"
) -> tuple[Any, Any]:
    if source == target:
        if source not in G:
            raise nx.NodeNotFound(f"Node {source} is not found in the graph")
        return (0, [source])
    found = _Found(G, source, weight)
    if target is None:
        return found.lengths(), found.paths()
    place = found.place(target)
    if place is None:
        raise nx.NetworkXNoPath(f"Target {target} cannot be reached from given sources")
    return found.length_of(place), found.path(place)


def single_source_bellman_ford_path(
    G: Graph, source: Any, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return _Found(G, source, weight).paths()


def single_source_bellman_ford_path_length(
    G: Graph, source: Any, weight: Any = "weight"
) -> dict[Any, Any]:
    return _Found(G, source, weight).lengths()


def bellman_ford_path(G: Graph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    return single_source_bellman_ford(G, source, target, weight)[1]


def bellman_ford_path_length(G: Graph, source: Any, target: Any, weight: Any = "weight") -> Any:
    if source == target:
        if source not in G:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
        return 0
    found = _Found(G, source, weight)
    place = found.place(target)
    if place is None:
        raise nx.NetworkXNoPath(f"node {target} not reachable from {source}")
    return found.length_of(place)


def bellman_ford_predecessor_and_distance(
    G: Graph, source: Any, target: Any = None, weight: Any = "weight", heuristic: bool = False
) -> tuple[dict[Any, list[Any]], dict[Any, Any]]:
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} is not found in the graph")
    edges = _Edges(G, weight)
    if (edges.values[edges.rows == edges.indices] < 0).any():
        raise _unbounded()
    if len(G) == 1:
        return {source: []}, {source: 0}
    found = _Found(G, source, weight)
    distance = found.distance
    # Every edge that explains a distance, in the order of the nodes.
    with np.errstate(invalid="ignore"):
        tight = np.flatnonzero(distance[edges.rows] + edges.values == distance[edges.indices])
    tight = tight[np.isfinite(distance[edges.rows[tight]])]
    tight = tight[np.argsort(edges.indices[tight], kind="stable")]
    before = G.nodes.named(edges.rows[tight])
    cuts = [0, *np.cumsum(np.bincount(edges.indices[tight], minlength=len(G))).tolist()]
    lists = [before[a:b] for a, b in pairwise(cuts)]
    lengths = found.lengths()
    return {node: lists[G.nodes.number(node)] for node in lengths}, lengths


def all_pairs_bellman_ford_path(
    G: Graph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for node in G:
        yield node, single_source_bellman_ford_path(G, node, weight)


def all_pairs_bellman_ford_path_length(
    G: Graph, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    for node in G:
        yield node, single_source_bellman_ford_path_length(G, node, weight)


def negative_edge_cycle(G: Graph, weight: Any = "weight", heuristic: bool = True) -> bool:
    if G.number_of_edges() == 0:
        return False
    edges = _Edges(G, weight)
    if edges.usable:
        return False
    if not G.is_directed():
        return True  # there and back
    try:
        _relaxed(edges, list(range(len(G))))
    except nx.NetworkXUnbounded:
        return True
    return False
