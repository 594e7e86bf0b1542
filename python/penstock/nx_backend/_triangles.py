"""Triangles, clustering coefficients and core numbers."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.nx_backend._graph import Graph


def _counts(graph: Graph) -> np.ndarray:
    found = graph.structure.found
    if "triangles" not in found:
        found["triangles"] = csgraph.triangles(graph.pattern)
    return found["triangles"]


def _some(graph: Graph, values: list[Any], nodes: Any) -> Any:
    """All values by node, those of some nodes, or that of one."""
    if nodes is None:
        return dict(zip(graph.nodes.labels, values, strict=True))
    if nodes in graph:
        return values[graph.nodes.number(nodes)]
    try:
        several = list(nodes)
    except TypeError:
        raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from None
    # As Graph.nbunch_iter: what is no node is passed over.
    return {node: values[graph.nodes.number(node)] for node in several if node in graph}


def triangles(G: Graph, nodes: Any = None) -> Any:
    return _some(G, _counts(G).tolist(), nodes)


def _pairs(graph: Graph) -> np.ndarray:
    """Ordered pairs of neighbours of each node, itself not counted."""
    degree = np.diff(graph.structure.indptr) - graph.structure.loops
    return degree * (degree - 1)


def transitivity(G: Graph) -> float:
    closed = 2 * int(_counts(G).sum())
    return 0 if closed == 0 else closed / int(_pairs(G).sum())


def clustering(G: Graph, nodes: Any = None, weight: None = None) -> Any:
    closed = (2 * _counts(G)).tolist()
    values = [0 if t == 0 else t / d for t, d in zip(closed, _pairs(G).tolist(), strict=True)]
    return _some(G, values, nodes)


def average_clustering(
    G: Graph, nodes: Any = None, weight: None = None, count_zeros: bool = True
) -> float:
    values = clustering(G, nodes).values()
    if not count_zeros:
        values = [value for value in values if value > 0]
    return sum(values) / len(values)


def core_number(G: Graph) -> dict[Any, int]:
    if G.structure.loops.any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    return dict(zip(G.nodes.labels, csgraph.core_number(G.pattern).tolist(), strict=True))
