"""Conversion from and to NetworkX's dicts of dicts.

Edges are read by C loops (map, chain, fromiter), with no Python bytecode an edge where the attribute is on all edges.
What a float64 cannot hold, or what has a meaning of its own to NetworkX (an attribute that is None hides its edge),
raises NotImplementedError, which makes the dispatcher leave the call to another backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from operator import methodcaller
from typing import Any

import networkx as nx
import numpy as np

from penstock.nx_backend._graph import Graph, Kept, Nodes, Structure
from penstock.nx_backend._weights import Weights, attribute_of, numbers_of

_values = methodcaller("values")
BASES = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def base_class(graph: Any) -> Any:
    """Which of NetworkX's four classes a graph is."""
    return BASES[bool(graph.is_directed()) + 2 * bool(graph.is_multigraph())]


def refusal(graph: Any) -> str | None:
    """Why a graph cannot be converted, or None. Classes that compute their adjacency hold something else in _adj."""
    if isinstance(graph, Graph):
        return None
    if not isinstance(graph, nx.Graph):
        return f"{type(graph).__name__} is not a graph of NetworkX"
    base = base_class(graph)
    for name in ("adjacency", "neighbors", "__getitem__", "__iter__", "__len__"):
        if getattr(type(graph), name) is not getattr(base, name):
            return f"{type(graph).__name__} has its own {name}()"
    return None


def from_networkx(graph: Any, edge_attrs: dict[str, Any] | None = None) -> Graph:
    """A `Graph` for Penstock from a graph of NetworkX.

    Parameters
    ----------
    graph : nx.Graph, DiGraph, MultiGraph, MultiDiGraph, or a view of one
    edge_attrs : {attribute: value where an edge lacks it}, default {"weight": 1}
        The edge attributes to bring along; numbers.

    Raises NotImplementedError where an attribute is not a number, and TypeError for anything but a graph.

    >>> import networkx as nx
    >>> from penstock.nx_backend import from_networkx
    >>> from_networkx(nx.path_graph(4))
    <penstock graph, 4 nodes, 3 edges, edge attributes 'weight'>
    """
    if isinstance(graph, Graph):
        return graph
    reason = refusal(graph)
    if reason is not None:
        raise TypeError(f"cannot convert this graph: {reason}")
    return convert_from_nx(
        graph,
        edge_attrs={"weight": 1} if edge_attrs is None else edge_attrs,
        preserve_graph_attrs=True,
    )


def convert_from_nx(
    graph: Any,
    *,
    edge_attrs: dict[str, Any] | None = None,
    node_attrs: dict[str, Any] | None = None,
    preserve_edge_attrs: bool = False,
    preserve_node_attrs: bool = False,
    preserve_graph_attrs: bool = False,
    name: str | None = None,
    graph_name: str | None = None,
) -> Graph:
    """What NetworkX's dispatcher calls; from_networkx is for users."""
    reason = refusal(graph)
    if reason is not None:
        raise NotImplementedError(reason)
    if _is_view(graph):
        # Changes of its graph do not empty a view's cache; NetworkX keeps none where this is None.
        graph.__networkx_cache__ = None
    before = earlier(graph)
    structure = read_structure(graph) if before is None else before.structure
    weights = {}
    for attribute, default in (edge_attrs or {}).items():
        held = None if before is None else before.weights.get(attribute)
        if held is None or held[0] != default:
            held = (default, read_weights(graph, attribute, default, structure))
        weights[attribute] = held
    node_data = None
    if preserve_node_attrs:
        node_data = [dict(data) for data in graph._node.values()]
    elif node_attrs:
        node_data = [
            {
                a: data.get(a, default)
                for a, default in node_attrs.items()
                if a in data or default is not None
            }
            for data in graph._node.values()
        ]
    kept = _kept(graph) if preserve_edge_attrs else None
    graph_data = dict(graph.graph) if preserve_graph_attrs else None
    return Graph(structure, weights, graph_data, node_data, kept)


def _is_view(graph: Any) -> bool:
    return hasattr(graph, "_graph")


def earlier(graph: Any) -> Graph | None:
    """A conversion that NetworkX keeps with the graph, and drops when the graph changes."""
    cache = getattr(graph, "__networkx_cache__", None)
    if not cache or not nx.config.cache_converted_graphs:
        return None
    kept = list(cache.get("backends", {}).get("penstock", {}).values())
    return next((one for one in kept if isinstance(one, Graph)), None)


def read_structure(graph: Any) -> Structure:
    adjacency = graph._adj
    nodes = Nodes(list(adjacency))
    n = len(nodes.labels)
    # The mappings of views may count neighbours that they do not yield, and ask a filter for each one: they are walked
    # once, and what they yield is what they hold.
    rows = [row if type(row) is dict else list(row) for row in adjacency.values()]
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, rows), np.int64, n), out=indptr[1:])
    indices = _read_neighbours(rows, nodes, int(indptr[-1]))
    copies = None
    if graph.is_multigraph():
        every = chain.from_iterable(map(_values, adjacency.values()))
        parallel = (keys if type(keys) is dict else list(keys) for keys in every)
        copies = np.fromiter(map(len, parallel), np.int64, indices.size)
    structure = Structure(nodes, indptr, indices, copies, bool(graph.is_directed()))
    if _is_view(graph) and not structure.directed and not structure.is_mirrored():
        raise NotImplementedError(
            "a filter lets edges of an undirected graph pass in one direction"
        )
    return structure


def _read_neighbours(rows: list[Any], nodes: Nodes, count: int) -> np.ndarray:
    places = None if nodes.plain else nodes.places
    if nodes.plain or places is not None:
        try:
            labels = np.fromiter(chain.from_iterable(rows), np.int64, count)
        except (TypeError, ValueError):  # something else that equals its node
            pass
        else:
            return labels.astype(np.int32) if places is None else places[labels]
    neighbours = chain.from_iterable(rows)
    return np.fromiter(map(nodes.table.__getitem__, neighbours), np.int32, count)


def _edges(graph: Any) -> Iterator[dict[Any, Any]]:
    """The attributes of every edge, in the order of the adjacency."""
    data = chain.from_iterable(map(_values, graph._adj.values()))
    return chain.from_iterable(map(_values, data)) if graph.is_multigraph() else data


def read_weights(graph: Any, attribute: str, default: Any, structure: Structure) -> Weights:
    """The attribute of every edge, in the order of the adjacency."""
    found = attribute_of(_edges(graph), attribute, default)
    values, whole, narrow = numbers_of(found, attribute)
    asked = _is_view(graph) and not structure.directed
    return Weights(values, whole, narrow, not asked or structure.is_mirrored(values))


def _kept(graph: Any) -> Kept:
    keys = None
    if graph.is_multigraph():
        parallel = chain.from_iterable(map(_values, graph._adj.values()))
        keys = list(chain.from_iterable(parallel))
    return Kept(graph.__class__, list(graph._node.values()), list(_edges(graph)), keys)


def convert_to_nx(graph: Any, *, name: str | None = None) -> Any:
    """A Graph as NetworkX's own class, adjacency in the same order; anything else as it is. Keys of parallel edges are
    numbered; edges carry the attributes that were converted."""
    if not isinstance(graph, Graph):
        return graph
    made = base_class(graph)()
    made.graph.update(graph.graph)
    labels = graph.nodes.labels
    data = graph.node_data
    made.add_nodes_from(labels if data is None else zip(labels, map(dict, data), strict=True))
    edges = _edge_data(graph)
    ends = graph.structure.indptr.tolist()
    neighbours = graph.nodes.named(graph.structure.indices)
    for i, u in enumerate(labels):
        row = made._adj[u]
        for at in range(ends[i], ends[i + 1]):
            v = neighbours[at]
            # Both directions of an undirected edge share their data.
            turned = None if graph.is_directed() else made._adj[v].get(u)
            row[v] = edges[at] if turned is None else turned
    if graph.is_directed():
        for u, row in made._adj.items():
            for v, held in row.items():
                made._pred[v][u] = held
    return made


def _edge_data(graph: Graph) -> list[dict[Any, Any]]:
    """For each stored neighbour its attributes, or {key: attributes} of a multigraph."""
    copies, kept = graph.structure.copies, graph.kept
    count = graph.structure.indices.size if copies is None else int(copies.sum())
    data: list[dict[Any, Any]] = [{} for _ in range(count)]
    if kept is not None:
        data = list(map(dict, kept.edges))
        if copies is None:
            return data
        pairs = iter(zip(kept.keys or (), data, strict=True))
        return [dict(islice(pairs, k)) for k in copies.tolist()]
    for attribute, (_, weights) in graph.weights.items():
        values = weights.values.astype(np.int64) if weights.integral else weights.values
        for edge, value in zip(data, values.tolist(), strict=True):
            edge[attribute] = value
    if copies is None:
        return data
    following = iter(data)
    return [{key: next(following) for key in range(k)} for k in copies.tolist()]
