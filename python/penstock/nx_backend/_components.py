"""Components: labels, found once for each graph, then sets of nodes in the order of their first nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.nx_backend._graph import Graph


def _labels(graph: Graph, connection: str) -> tuple[int, np.ndarray]:
    """Number of components and each vertex's; component 0 is that of vertex 0, and so on in the graph's order."""
    found = graph.structure.found
    if connection not in found:
        find = (
            csgraph.strongly_connected_components
            if connection == "strong"
            else csgraph.connected_components
        )
        found[connection] = find(graph.pattern)
    return found[connection]


def _sets(graph: Graph, connection: str) -> Iterator[set[Any]]:
    count, labels = _labels(graph, connection)
    members = graph.nodes.named(np.argsort(labels, kind="stable"))
    ends = np.cumsum(np.bincount(labels, minlength=count)).tolist()
    for begin, end in pairwise([0, *ends]):
        yield set(members[begin:end])


def _is_one(graph: Graph, connection: str) -> bool:
    if len(graph) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return _labels(graph, connection)[0] == 1


def connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _sets(G, "weak")


def number_connected_components(G: Graph) -> int:
    return int(_labels(G, "weak")[0])


def is_connected(G: Graph) -> bool:
    return _is_one(G, "weak")


def node_connected_component(G: Graph, n: Any) -> set[Any]:
    _, labels = _labels(G, "weak")
    return set(G.nodes.named(np.flatnonzero(labels == labels[G.nodes.number(n)])))


def weakly_connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _sets(G, "weak")


def number_weakly_connected_components(G: Graph) -> int:
    return int(_labels(G, "weak")[0])


def is_weakly_connected(G: Graph) -> bool:
    return _is_one(G, "weak")


def strongly_connected_components(G: Graph) -> Iterator[set[Any]]:
    yield from _sets(G, "strong")


def number_strongly_connected_components(G: Graph) -> int:
    return int(_labels(G, "strong")[0])


def is_strongly_connected(G: Graph) -> bool:
    return _is_one(G, "strong")
