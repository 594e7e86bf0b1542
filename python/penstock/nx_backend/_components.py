"""Components: labels, found once for each graph, then sets of nodes in NetworkX's order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import networkx as nx
import numpy as np
from scipy.sparse import csgraph as sparse

from penstock import csgraph
from penstock.nx_backend._graph import Graph


def _labels(graph: Graph, connection: str) -> tuple[int, np.ndarray]:
    """Number of components and each vertex's; component 0 is that of vertex 0, and so on in the graph's order."""
    found = graph.structure.found
    if connection not in found:
        found[connection] = csgraph.connected_components(graph.pattern, connection=connection)
    return found[connection]


def _sets(graph: Graph, connection: str, order: Iterable[int] | None = None) -> Iterator[set[Any]]:
    count, labels = _labels(graph, connection)
    members = graph.nodes.named(np.argsort(labels, kind="stable"))
    ends = [0, *np.cumsum(np.bincount(labels, minlength=count)).tolist()]
    for i in range(count) if order is None else order:
        yield set(members[ends[i] : ends[i + 1]])


def _finishing_order(graph: Graph) -> list[int]:
    """Strong components in the order in which Tarjan's search, and so NetworkX, completes them: a component before
    those that lead to it."""
    _, labels = _labels(graph, "strong")
    n = len(graph)
    search = graph.structure.with_root(range(n)).to_scipy()
    order, before = sparse.depth_first_order(search, n)
    order = order[1:]
    _, firsts = np.unique(labels[order], return_index=True)
    entries = order[np.sort(firsts)]  # where the search enters each component
    found = labels[entries].tolist()
    # A component is complete when all that were entered from it are.
    entered_from = np.append(labels, -1)[before[entries]].tolist()
    done: list[int] = []
    open_ones = [-1]
    for component, outer in zip(found, entered_from, strict=True):
        while open_ones[-1] != outer:
            done.append(open_ones.pop())
        open_ones.append(component)
    return done + open_ones[:0:-1]


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
    yield from _sets(G, "strong", _finishing_order(G))


def number_strongly_connected_components(G: Graph) -> int:
    return int(_labels(G, "strong")[0])


def is_strongly_connected(G: Graph) -> bool:
    return _is_one(G, "strong")
