"""What counting edges at the nodes answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock.nx_backend._graph import Graph, Structure


def _shares(graph: Graph, way: str) -> dict[Any, float]:
    if len(graph) <= 1:
        return dict.fromkeys(graph, 1)
    scale = 1.0 / (len(graph) - 1.0)
    return graph.named(graph.structure.degrees(way) * scale)


def degree_centrality(G: Graph) -> dict[Any, float]:
    return _shares(G, "both")


def in_degree_centrality(G: Graph) -> dict[Any, float]:
    return _shares(G, "in")


def out_degree_centrality(G: Graph) -> dict[Any, float]:
    return _shares(G, "out")


def _alone(graph: Graph) -> np.ndarray:
    return np.flatnonzero(graph.structure.degrees() == 0)


def isolates(G: Graph) -> Iterator[Any]:
    return (node for node in G.nodes.named(_alone(G)))  # a generator, as NetworkX's


def number_of_isolates(G: Graph) -> int:
    return int(_alone(G).size)


def number_of_selfloops(G: Graph) -> int:
    structure = G.structure
    mine = structure.rows == structure.indices
    return int(np.count_nonzero(mine) if structure.copies is None else structure.copies[mine].sum())


def _keys(structure: Structure, turned: bool = False) -> np.ndarray:
    """One number for each edge, or for its reverse."""
    ends = structure.rows, structure.indices
    return ends[turned].astype(np.int64) * len(structure.nodes.labels) + ends[not turned]


def _both_ways(graph: Graph) -> np.ndarray:
    """Which edges have a reverse; a self loop is its own."""
    found = graph.structure.found
    if "both ways" not in found:
        found["both ways"] = np.isin(_keys(graph.structure), _keys(graph.structure, turned=True))
    return found["both ways"]


def overall_reciprocity(G: Graph) -> float:
    edges = G.structure.indices.size
    if edges == 0:
        raise nx.NetworkXError("Not defined for empty graphs")
    # NetworkX counts an edge and its reverse as two that overlap, and a self loop as none.
    loops = int(G.structure.loops.sum())
    return (int(np.count_nonzero(_both_ways(G))) - loops) / edges


def reciprocity(G: Graph, nodes: Any = None) -> Any:
    if nodes is None:
        return overall_reciprocity(G)
    structure, numbers = G.structure, G.some(nodes)
    overlap = np.bincount(structure.rows[_both_ways(G)], minlength=len(G))[numbers].tolist()
    total = structure.degrees()[numbers].tolist()
    values = [None if t == 0 else 2 * o / t for o, t in zip(overlap, total, strict=True)]
    if nodes in G:
        if values[0] is None:
            raise nx.NetworkXError("Not defined for isolated nodes.")
        return values[0]
    return dict(zip(G.nodes.named(numbers), values, strict=True))


def _ways(graph: Graph, source: str, target: str) -> None:
    if not graph.is_directed():
        if source != "out" or target != "out":
            raise nx.NetworkXError(
                "source and target arguments are only supported for directed graphs"
            )
        return
    for name, way in (("source", source), ("target", target)):
        if way not in ("in", "out", "in+out"):
            raise nx.NetworkXError(f"{name} argument {way} must be 'in', 'out' or 'in+out'")


def average_neighbor_degree(
    G: Graph, source: str = "out", target: str = "out", nodes: Any = None, weight: None = None
) -> dict[Any, float]:
    _ways(G, source, target)
    structure, n = G.structure, len(G)
    names = {"in+out": "both"}
    reached = structure.degrees(names.get(target, target) if G.is_directed() else "both")
    own = structure.degrees(names.get(source, source) if G.is_directed() else "both")
    sums = np.zeros(n)
    if "out" in source:
        sums += np.bincount(structure.rows, reached[structure.indices], n)
    if "in" in source and G.is_directed():
        sums += np.bincount(structure.indices, reached[structure.rows], n)
    values = np.divide(sums, own, out=np.zeros(n), where=own > 0)
    numbers = G.some(nodes)
    return dict(zip(G.nodes.named(numbers), values[numbers].tolist(), strict=True))
