"""Eccentricity and what follows from it, closeness, harmonic centrality, and sums over all pairs: a search a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock.nx_backend._components import is_connected, is_strongly_connected
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._sums import Sums, hop_sums, length_sums


def _sums(graph: Graph, sources: np.ndarray, weight: Any, reverse: bool = False) -> Iterator[Sums]:
    if weight is None:
        return hop_sums(graph, sources, reverse)
    return length_sums(graph, sources, weight, reverse)


def _of_no_nodes(name: str, G: Graph, *given: Any) -> Any:
    """What the installed NetworkX says of a graph without nodes: its releases differ."""
    return getattr(nx, name).orig_func(nx.DiGraph() if G.is_directed() else nx.Graph(), *given)


def eccentricity(G: Graph, v: Any = None, sp: None = None, weight: Any = None) -> Any:
    if len(G) == 0:
        return _of_no_nodes("eccentricity", G, v, sp, weight)
    numbers = G.some(v)
    found = []
    for one in _sums(G, numbers, weight):
        if one.reached != len(G):
            raise nx.NetworkXError(
                "Found infinite path length because the digraph is not strongly connected"
                if G.is_directed()
                else "Found infinite path length because the graph is not connected"
            )
        found.append(one.largest)
    if v in G:
        return found[0]
    return dict(zip(G.nodes.named(numbers), found, strict=True))


def _eccentricities(graph: Graph, given: dict[Any, Any] | None, weight: Any) -> dict[Any, Any]:
    return eccentricity(graph, weight=weight) if given is None else given


def diameter(
    G: Graph, e: dict[Any, Any] | None = None, usebounds: bool = False, weight: Any = None
) -> Any:
    if len(G) == 0:
        return _of_no_nodes("diameter", G, e, usebounds, weight)
    return max(_eccentricities(G, e, weight).values())


def radius(
    G: Graph, e: dict[Any, Any] | None = None, usebounds: bool = False, weight: Any = None
) -> Any:
    if len(G) == 0:
        return _of_no_nodes("radius", G, e, usebounds, weight)
    return min(_eccentricities(G, e, weight).values())


def _extreme(found: dict[Any, Any], value: Any) -> list[Any]:
    return [node for node, distance in found.items() if distance == value]


def center(
    G: Graph, e: dict[Any, Any] | None = None, usebounds: bool = False, weight: Any = None
) -> list[Any]:
    if len(G) == 0:
        return _of_no_nodes("center", G, e, usebounds, weight)
    found = _eccentricities(G, e, weight)
    return _extreme(found, min(found.values()))


def periphery(
    G: Graph, e: dict[Any, Any] | None = None, usebounds: bool = False, weight: Any = None
) -> list[Any]:
    if len(G) == 0:
        return _of_no_nodes("periphery", G, e, usebounds, weight)
    found = _eccentricities(G, e, weight)
    return _extreme(found, max(found.values()))


def wiener_index(G: Graph, weight: Any = None) -> float:
    if not (is_strongly_connected(G) if G.is_directed() else is_connected(G)):
        return float("inf")
    total = sum(one.total for one in _sums(G, np.arange(len(G)), weight))
    return total if G.is_directed() else total / 2


def closeness_centrality(
    G: Graph, u: Any = None, distance: Any = None, wf_improved: bool = True
) -> Any:
    if u is not None and u not in G:
        what = "Source" if distance is None else "Node"
        where = "is not in G" if distance is None else "not found in graph"
        raise nx.NodeNotFound(f"{what} {u} {where}")
    n = len(G)
    numbers = np.arange(n) if u is None else np.array([G.nodes.number(u)])
    found = []
    for one in _sums(G, numbers, distance, reverse=True):
        value = 0.0
        if one.total > 0 and n > 1:
            value = (one.reached - 1.0) / one.total
            if wf_improved:
                value *= (one.reached - 1.0) / (n - 1)
        found.append(value)
    return found[0] if u is not None else dict(zip(G.nodes.labels, found, strict=True))


def harmonic_centrality(
    G: Graph, nbunch: Any = None, distance: Any = None, sources: None = None
) -> dict[Any, Any]:
    # The way from all nodes to each of those asked for; can_run leaves `sources` to NetworkX.
    numbers = np.unique(G.some(nbunch))
    inverse = [one.inverse or 0 for one in _sums(G, numbers, distance, reverse=True)]
    return dict(zip(G.nodes.named(numbers), inverse, strict=True))


def global_efficiency(G: Graph) -> float:
    pairs = len(G) * (len(G) - 1)
    if pairs == 0:
        return 0
    return sum(one.inverse for one in hop_sums(G, np.arange(len(G)))) / pairs
