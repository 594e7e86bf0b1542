"""NetworkX's functions that choose among the searches, and those between two nodes.

Between two nodes the search starts at both, as NetworkX's does and in its order, which finds the same path. Where they
are far apart it goes on in C++ from the source alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.nx_backend import _bellman_ford, _paths, _traverse
from penstock.nx_backend._components import is_connected, is_strongly_connected
from penstock.nx_backend._graph import NETWORKX, Graph
from penstock.nx_backend._meeting import near, near_by_weight
from penstock.nx_backend._paths import Lengths
from penstock.nx_backend._sums import hop_sums, length_sums


def bidirectional_shortest_path(G: Graph, source: Any, target: Any) -> list[Any]:
    for what, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{what} {node} is not in G")
    ends = G.nodes.number(source), G.nodes.number(target)
    path = near(G, *ends) or _far(G, *ends)
    if not path:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return G.nodes.named(np.array(path))


def _far(graph: Graph, source: int, target: int) -> list[int]:
    _, before = csgraph.breadth_first_order(graph.pattern, source)
    path = [target]
    while path[-1] != source:
        previous = int(before[path[-1]])
        if previous < 0:
            return []
        path.append(previous)
    return path[::-1]


def has_path(G: Graph, source: Any, target: Any) -> bool:
    try:
        bidirectional_shortest_path(G, source, target)
    except nx.NetworkXNoPath:
        return False
    return True


def bidirectional_dijkstra(
    G: Graph, source: Any, target: Any, weight: Any = "weight"
) -> tuple[Any, list[Any]]:
    for what, node in (("Source", source), ("Target", target)):
        if node not in G:
            raise nx.NodeNotFound(f"{what} {node} is not in G")
    if source == target:
        return 0, [source]
    if not callable(weight):  # which may measure an edge and its reverse differently
        Lengths(G, weight)  # refuses what is negative or not finite
        found = near_by_weight(G, weight, G.nodes.number(source), G.nodes.number(target))
        if found is not None and found[1]:
            return found[0], G.nodes.named(np.array(found[1]))
    try:
        return _paths.single_source_dijkstra(G, source, target, None, weight)
    except nx.NetworkXNoPath:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.") from None


def _method(weight: Any, method: str) -> str:
    if method not in ("dijkstra", "bellman-ford"):
        raise ValueError(f"method not supported: {method}")
    return "unweighted" if weight is None else method


def shortest_path(
    G: Graph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    kind = _method(weight, method)
    if source is None and target is None:
        return _every_path(G, weight, kind)
    if source is None:
        return _paths_to(G, target, weight, kind)
    if kind == "unweighted":
        if target is None:
            return _traverse.single_source_shortest_path(G, source)
        return bidirectional_shortest_path(G, source, target)
    if kind == "dijkstra":
        if target is None:
            return _paths.single_source_dijkstra_path(G, source, weight=weight)
        return bidirectional_dijkstra(G, source, target, weight)[1]
    if target is None:
        return _bellman_ford.single_source_bellman_ford_path(G, source, weight)
    return _bellman_ford.bellman_ford_path(G, source, target, weight)


def _every_path(graph: Graph, weight: Any, kind: str) -> Any:
    if kind == "unweighted":
        paths = _traverse.all_pairs_shortest_path(graph)
    elif kind == "dijkstra":
        paths = _paths.all_pairs_dijkstra_path(graph, weight=weight)
    else:
        paths = _bellman_ford.all_pairs_bellman_ford_path(graph, weight=weight)
    if NETWORKX >= (3, 5):
        return paths
    warnings.warn(
        "\n\nshortest_path will return an iterator that yields\n(node, path) pairs instead of a dictionary "
        "when source\nand target are unspecified beginning in version 3.5\n\nTo keep the current behavior, "
        "use:\n\n\tdict(nx.shortest_path(G))",
        FutureWarning,
        stacklevel=4,
    )
    return dict(paths)


def _paths_to(graph: Graph, target: Any, weight: Any, kind: str) -> dict[Any, list[Any]]:
    if kind == "unweighted":
        if target not in graph:
            raise nx.NodeNotFound(f"Source {target} not in G")
        return _traverse.paths_to(graph, target, None)
    turned = graph.turned(weight)
    if kind == "dijkstra":
        paths = _paths.single_source_dijkstra_path(turned, target, weight=weight)
    else:
        paths = _bellman_ford.single_source_bellman_ford_path(turned, target, weight)
    return {node: path[::-1] for node, path in paths.items()}


def shortest_path_length(
    G: Graph, source: Any = None, target: Any = None, weight: Any = None, method: str = "dijkstra"
) -> Any:
    kind = _method(weight, method)
    if source is not None and target is not None:
        if kind == "unweighted":
            return len(bidirectional_shortest_path(G, source, target)) - 1
        if kind == "dijkstra":
            return _paths.dijkstra_path_length(G, source, target, weight)
        return _bellman_ford.bellman_ford_path_length(G, source, target, weight)
    if source is None and target is None:
        if kind == "unweighted":
            return _traverse.all_pairs_shortest_path_length(G)
        if kind == "dijkstra":
            return _paths.all_pairs_dijkstra_path_length(G, weight=weight)
        return _bellman_ford.all_pairs_bellman_ford_path_length(G, weight=weight)
    start = source
    if source is None:
        start = target
        if kind == "unweighted":
            if target not in G:
                raise nx.NodeNotFound(f"Source {target} is not in G")
            return _traverse.lengths(G, G.structure.turned, target, None)
        G = G.turned(weight)
    if kind == "unweighted":
        return _traverse.single_source_shortest_path_length(G, start)
    if kind == "dijkstra":
        return _paths.single_source_dijkstra_path_length(G, start, weight=weight)
    return _bellman_ford.single_source_bellman_ford_path_length(G, start, weight)


def average_shortest_path_length(G: Graph, weight: Any = None, method: str | None = None) -> Any:
    if method is None:
        method = "unweighted" if weight is None else "dijkstra"
    if method not in ("unweighted", "dijkstra", "bellman-ford"):
        # can_run leaves the two of Floyd and Warshall to NetworkX.
        raise ValueError(f"method not supported: {method}")
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    if G.is_directed() and not is_strongly_connected(G):
        raise nx.NetworkXError("Graph is not strongly connected.")
    if not G.is_directed() and not is_connected(G):
        raise nx.NetworkXError("Graph is not connected.")
    if method == "unweighted":
        sums: Iterator[Any] = (found.total for found in hop_sums(G, np.arange(n)))
    elif method == "dijkstra":
        sums = (found.total for found in length_sums(G, np.arange(n), weight))
    else:
        every = _bellman_ford.all_pairs_bellman_ford_path_length(G, weight)
        sums = (sum(lengths.values()) for _, lengths in every)
    return sum(sums) / (n * (n - 1))
