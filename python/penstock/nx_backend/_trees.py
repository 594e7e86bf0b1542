"""Trees and forests, spanning trees, and whether two colours are enough.

Kruskal's algorithm takes edges by weight and, where weights are equal, in the graph's order. With these ranks in the
place of the weights there is one tree of least sum: any algorithm finds NetworkX's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.csgraph._graph import undirected
from penstock.nx_backend._components import (
    is_connected,
    is_weakly_connected,
    number_connected_components,
)
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._parts import spanned
from penstock.nx_backend._rows import with_root


def _nodes(graph: Graph) -> int:
    if len(graph) == 0:
        raise nx.NetworkXPointlessConcept("G has no nodes.")
    return len(graph)


def is_tree(G: Graph) -> bool:
    if _nodes(G) - 1 != G.number_of_edges():
        return False
    return is_weakly_connected(G) if G.is_directed() else is_connected(G)


def is_forest(G: Graph) -> bool:
    # A component of m nodes has m - 1 edges or more, so all have m - 1 where they have so in sum.
    return _nodes(G) - number_connected_components(G) == G.number_of_edges()


def _one_edge_into_each(graph: Graph) -> bool:
    return int(graph.structure.degrees("in").max()) <= 1


def is_arborescence(G: Graph) -> bool:
    return is_tree(G) and _one_edge_into_each(G)


def is_branching(G: Graph) -> bool:
    return is_forest(G) and _one_edge_into_each(G)


def is_bipartite(G: Graph) -> bool:
    structure = G.structure
    if structure.loops.any():
        return False
    if not structure.indices.size:
        return True
    # From one vertex of each component at once.
    _, labels = csgraph.connected_components(G.pattern)
    matrix = undirected(G.pattern) if G.is_directed() else G.pattern
    seeds = np.unique(labels, return_index=True)[1]
    level = csgraph.bfs(with_root(matrix, seeds), len(G))[: len(G)]
    return not bool(((level[structure.rows] ^ level[structure.indices]) & 1 == 0).any())


def _kruskal(graph: Graph, weight: Any, ignore_nan: bool, largest: bool) -> np.ndarray:
    """The tree's edges, by their places in the list of all edges, in the order in which they are taken."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree as spanning

    structure, n = graph.structure, len(graph)
    copies = structure.copies
    rows, columns, once = structure.rows, structure.indices, structure.once
    if copies is not None:
        rows, columns, once = (np.repeat(a, copies) for a in (rows, columns, once))
    values = np.ones(rows.size) if weight is None else graph.edge_weights(weight).values
    missing = once & np.isnan(values)
    if missing.any():
        if not ignore_nan:
            raise NotImplementedError("NetworkX names the edge whose weight is NaN")
        once = once & ~missing
    edges = np.flatnonzero(once & (rows != columns))
    key = -values[edges] if largest else values[edges]
    edges = edges[np.argsort(key, kind="stable")]
    low, high = np.minimum(rows[edges], columns[edges]), np.maximum(rows[edges], columns[edges])
    # Of parallel edges the first in this order.
    _, first = np.unique(low.astype(np.int64) * n + high, return_index=True)
    first.sort()
    edges, low, high = edges[first], low[first], high[first]
    ranks = np.arange(1, edges.size + 1, dtype=np.float64)
    tree = spanning(csr_array(coo_array((ranks, (low, high)), shape=(n, n))))
    return edges[np.sort(tree.data).astype(np.int64) - 1]


def _edges(
    graph: Graph, weight: Any, keys: bool, data: bool, ignore_nan: bool, largest: bool
) -> Iterator[Any]:
    chosen = _kruskal(graph, weight, ignore_nan, largest)
    structure, kept = graph.structure, graph.kept
    copies = structure.copies
    entry = chosen if copies is None else np.repeat(np.arange(copies.size), copies)[chosen]
    columns: list[Any] = [graph.nodes.named(structure.rows[entry])]
    columns.append(graph.nodes.named(structure.indices[entry]))
    at = chosen.tolist()
    if copies is not None and keys:
        if kept is None or kept.keys is None:
            raise NotImplementedError("the keys of parallel edges were not converted: keys=False")
        columns.append([kept.keys[i] for i in at])
    if data:
        if kept is None:
            raise NotImplementedError("the data of edges was not converted: give data=False")
        columns.append([kept.edges[i] for i in at])
    return zip(*columns, strict=True)


def minimum_spanning_edges(
    G: Graph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    return _edges(G, weight, keys, data, ignore_nan, largest=False)


def maximum_spanning_edges(
    G: Graph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[Any]:
    return _edges(G, weight, keys, data, ignore_nan, largest=True)


def minimum_spanning_tree(
    G: Graph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    return spanned(G, _kruskal(G, weight, ignore_nan, largest=False))


def maximum_spanning_tree(
    G: Graph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    return spanned(G, _kruskal(G, weight, ignore_nan, largest=True))
