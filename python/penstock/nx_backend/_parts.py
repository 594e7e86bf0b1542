"""Graphs as results: what is left of a graph when only some of its nodes or edges stay.

A graph that NetworkX converted for the call comes back as NetworkX's own class with all its data; of a graph that was
converted by hand the result is a `Graph`, and nothing is converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import compress
from typing import Any

import numpy as np

from penstock.nx_backend._graph import Graph, Kept, Nodes, Structure
from penstock.nx_backend._weights import Weights


def part(graph: Graph, nodes: np.ndarray, edges: np.ndarray | None = None) -> Any:
    """The graph of the nodes and edges that two masks let pass.

    Parameters
    ----------
    nodes : bool array of shape (n,)
    edges : bool array, one for each of `graph.structure.indices`; all between these nodes where it is None
        Of an undirected graph an edge has two, which must agree.
    """
    structure = graph.structure
    between = nodes[structure.rows] & nodes[structure.indices]
    stay = between if edges is None else between & edges
    if graph.kept is not None:
        first = stay & structure.once
        return _as_networkx(graph, graph.kept, nodes, lambda: _dicts(graph, graph.kept, first))
    copies = structure.copies
    numbers = np.cumsum(nodes, dtype=np.int32) - 1
    lengths = np.bincount(structure.rows[stay], minlength=nodes.size)[nodes]
    made = Structure(
        Nodes(list(compress(structure.nodes.labels, nodes.tolist()))),
        np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))),
        numbers[structure.indices[stay]],
        None if copies is None else copies[stay],
        structure.directed,
    )
    every = stay if copies is None else np.repeat(stay, copies)
    weights = {
        name: (default, Weights(held.values[every], held.integral, held.narrow, held.mirrored))
        for name, (default, held) in graph.weights.items()
    }
    data = graph.node_data
    data = None if data is None else list(compress(data, nodes.tolist()))
    return Graph(made, weights, dict(graph.graph), data)


def _as_networkx(
    graph: Graph, kept: Kept, nodes: np.ndarray, edges: Callable[[], Iterable[Any]]
) -> Any:
    made = kept.made()
    made.graph.update(graph.graph)
    mask = nodes.tolist()
    made.add_nodes_from(compress(zip(graph.nodes.labels, kept.nodes, strict=True), mask))
    made.add_edges_from(edges())
    return made


def _dicts(graph: Graph, kept: Kept | None, chosen: np.ndarray) -> Iterable[tuple[Any, ...]]:
    """Edges as NetworkX takes them: (u, v, data), of a multigraph (u, v, key, data)."""
    assert kept is not None
    structure = graph.structure
    copies = structure.copies
    rows, columns = structure.rows[chosen], structure.indices[chosen]
    which = chosen
    if copies is not None:
        rows, columns = (np.repeat(ends, copies[chosen]) for ends in (rows, columns))
        which = np.repeat(chosen, copies)
    mask = which.tolist()
    ends = (graph.nodes.named(rows), graph.nodes.named(columns))
    if kept.keys is None:
        return zip(*ends, compress(kept.edges, mask), strict=True)
    return zip(*ends, compress(kept.keys, mask), compress(kept.edges, mask), strict=True)


def spanned(graph: Graph, edges: np.ndarray) -> Any:
    """All nodes, and edges by their places in `graph.matrix(...)`, one of the two directions of each, in that order."""
    structure, kept = graph.structure, graph.kept
    copies = structure.copies
    entry = edges if copies is None else np.repeat(np.arange(copies.size), copies)[edges]
    if kept is not None:
        at = edges.tolist()
        columns: list[Any] = [graph.nodes.named(structure.rows[entry])]
        columns.append(graph.nodes.named(structure.indices[entry]))
        if kept.keys is not None:
            columns.append(map(kept.keys.__getitem__, at))
        columns.append(map(kept.edges.__getitem__, at))
        every = np.ones(len(graph), dtype=bool)
        return _as_networkx(graph, kept, every, lambda: zip(*columns, strict=True))
    n, rows, columns_of = len(graph), structure.rows[entry], structure.indices[entry]
    # Rows in the order in which the edges come, as dicts would be filled.
    ends = np.stack((rows, columns_of), axis=1).ravel()
    others = np.stack((columns_of, rows), axis=1).ravel()
    order = np.argsort(ends, kind="stable")
    made = Structure(
        graph.nodes,
        np.concatenate(([0], np.cumsum(np.bincount(ends, minlength=n), dtype=np.int64))),
        others[order],
        None if copies is None else np.ones(order.size, np.int64),
        False,
    )
    twice = np.repeat(edges, 2)[order]
    weights = {
        name: (default, Weights(held.values[twice], held.integral, held.narrow))
        for name, (default, held) in graph.weights.items()
    }
    return Graph(made, weights, dict(graph.graph), graph.node_data)
