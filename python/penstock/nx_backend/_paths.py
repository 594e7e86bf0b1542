"""Dijkstra's functions by delta-stepping. Distances are NetworkX's bit for bit: both add weights from the source on.

Dicts are in the order of growing distance. Where several shortest paths lead to a node, another one may be returned.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._weights import NARROW


def paths_of(
    graph: Graph, order: np.ndarray, before: np.ndarray, starts: list[int]
) -> dict[Any, list[Any]]:
    """The paths from the starts to the vertices of `order`, `before` each of which is another."""
    labels, known = graph.nodes.labels, before.tolist()
    made = {number: [labels[number]] for number in starts}
    for vertex in order.tolist():
        # Edges of weight 0 may lead to a vertex before its predecessor in the order.
        waiting = []
        while vertex not in made:
            waiting.append(vertex)
            vertex = known[vertex]
        for following in reversed(waiting):
            made[following] = [*made[known[following]], labels[following]]
    return {labels[number]: path for number, path in made.items()}


def path_back(graph: Graph, before: np.ndarray, vertex: int, starts: set[int]) -> list[Any]:
    """The path that ends with a vertex, from the start that `before` leads back to."""
    numbers = [vertex]
    while numbers[-1] not in starts:
        numbers.append(int(before[numbers[-1]]))
    return graph.nodes.named(np.array(numbers[::-1]))


class Lengths:
    """A graph with the lengths of its edges, checked, for many searches."""

    def __init__(self, graph: Graph, weight: Any) -> None:
        self.whole = True
        # Parallel edges of weight 1 are one.
        self.matrix = graph.pattern
        if weight is not None:
            weights = graph.edge_weights(weight)
            if not weights.usable:
                raise NotImplementedError("penstock takes weights that are finite and not negative")
            if not weights.exact:
                raise NotImplementedError("the sum of the whole weights exceeds 2^53")
            if weights.narrow:
                raise NotImplementedError(NARROW)
            self.whole = weights.integral
            self.matrix = graph.matrix(weight)

    def from_one(self, source: int) -> np.ndarray:
        distance: np.ndarray = csgraph.dijkstra(self.matrix, indices=source)
        return distance


class Distances:
    """Of the vertices that are reached within the cutoff, nearest first; ties in the graph's order."""

    def __init__(
        self,
        graph: Graph,
        sources: list[Any],
        cutoff: float | None,
        weight: Any,
        trees: bool = False,
    ) -> None:
        edges = Lengths(graph, weight)
        numbers = [graph.nodes.number(source) for source in sources]
        found = csgraph.dijkstra(
            edges.matrix,
            indices=np.array(numbers, dtype=np.int32),
            return_predecessors=trees,
            limit=math.inf if cutoff is None else max(cutoff, 0.0),
            min_only=True,
        )
        distance: np.ndarray = found[0] if trees else found
        self.before: np.ndarray = found[1] if trees else np.empty(0, np.int32)
        near = np.flatnonzero(np.isfinite(distance) if cutoff is None else distance <= cutoff)
        if cutoff is not None and cutoff < 0:
            near = np.array(numbers)
        near = near[np.isfinite(distance[near])]
        self.order = near[np.argsort(distance[near], kind="stable")]
        values = distance[self.order]
        self.values = (values.astype(np.int64) if edges.whole else values).tolist()
        self.graph, self.numbers = graph, numbers

    def lengths(self) -> dict[Any, Any]:
        """The sources' distance is NetworkX's int 0."""
        made = dict(zip(self.graph.nodes.named(self.order), self.values, strict=True))
        made.update((self.graph.nodes.labels[number], 0) for number in self.numbers)
        return made

    def paths(self) -> dict[Any, list[Any]]:
        return paths_of(self.graph, self.order, self.before, self.numbers)

    def path_to(self, vertex: int) -> list[Any]:
        return path_back(self.graph, self.before, vertex, set(self.numbers))


def _checked(graph: Graph, sources: Any) -> list[Any]:
    if not sources:
        raise ValueError("sources must not be empty")
    listed = list(dict.fromkeys(sources))
    for source in listed:
        if source not in graph:
            raise nx.NodeNotFound(f"Node {source} not found in graph")
    return listed


def multi_source_dijkstra_path_length(
    G: Graph, sources: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return Distances(G, _checked(G, sources), cutoff, weight).lengths()


def multi_source_dijkstra(
    G: Graph,
    sources: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    listed = _checked(G, sources)
    if target in listed:
        return 0, [target]
    found = Distances(G, listed, cutoff, weight, trees=True)
    if target is None:
        return found.lengths(), found.paths()
    at = _place(G, found, target)
    if at is None:
        raise nx.NetworkXNoPath(f"No path to {target}.")
    return found.values[at], found.path_to(int(found.order[at]))


def _place(graph: Graph, found: Distances, target: Any) -> int | None:
    """Where in the order the target is, None where it is not reached."""
    if target not in graph:
        return None
    at = np.flatnonzero(found.order == graph.nodes.number(target))
    return int(at[0]) if at.size else None


def multi_source_dijkstra_path(
    G: Graph, sources: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return Distances(G, _checked(G, sources), cutoff, weight, trees=True).paths()


def single_source_dijkstra_path_length(
    G: Graph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, Any]:
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def single_source_dijkstra_path(
    G: Graph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, list[Any]]:
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


def single_source_dijkstra(
    G: Graph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    weight: Any = "weight",
) -> tuple[Any, Any]:
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


def dijkstra_path(G: Graph, source: Any, target: Any, weight: Any = "weight") -> list[Any]:
    return single_source_dijkstra(G, source, target, None, weight)[1]


def dijkstra_path_length(G: Graph, source: Any, target: Any, weight: Any = "weight") -> Any:
    if source not in G:
        raise nx.NodeNotFound(f"Node {source} not found in graph")
    if source == target:
        return 0
    found = Distances(G, [source], None, weight)
    at = _place(G, found, target)
    if at is None:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found.values[at]


def all_pairs_dijkstra_path_length(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, Any]]]:
    for source in G:
        yield source, Distances(G, [source], cutoff, weight).lengths()


def all_pairs_dijkstra_path(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for source in G:
        yield source, Distances(G, [source], cutoff, weight, trees=True).paths()


def all_pairs_dijkstra(
    G: Graph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, tuple[dict[Any, Any], dict[Any, list[Any]]]]]:
    for source in G:
        found = Distances(G, [source], cutoff, weight, trees=True)
        yield source, (found.lengths(), found.paths())
