"""Ancestors, descendants and topological orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock._matrix.csr import csr_array
from penstock.nx_backend._components import number_strongly_connected_components
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._rows import places_of
from penstock.nx_backend._traverse import start_of

# Generations of fewer nodes are taken node by node.
FEW = 64


def _reached(graph: Graph, matrix: csr_array, source: Any) -> set[Any]:
    """All but the source that a search finds."""
    return set(graph.nodes.named(np.flatnonzero(csgraph.bfs(matrix, start_of(graph, source)) > 0)))


def ancestors(G: Graph, source: Any) -> set[Any]:
    return _reached(G, G.structure.turned, source)


def descendants(G: Graph, source: Any) -> set[Any]:
    return _reached(G, G.pattern, source)


def is_directed_acyclic_graph(G: Graph) -> bool:
    if not G.is_directed() or G.structure.loops.any():
        return False
    return number_strongly_connected_components(G) == len(G)


def topological_generations(G: Graph) -> Iterator[list[Any]]:
    if not G.is_directed():
        raise nx.NetworkXError("Topological sort not defined on undirected graphs.")
    structure = G.structure
    waiting = np.bincount(structure.indices, minlength=len(G))  # parallel edges as one
    generation = np.flatnonzero(waiting == 0)
    seen = 0
    while generation.size:
        seen += generation.size
        yield G.nodes.named(generation)
        generation = _following(structure, waiting, generation)
    if seen < len(G):
        raise nx.NetworkXUnfeasible("Graph contains a cycle or graph changed during iteration")


def _following(structure: Any, waiting: np.ndarray, generation: np.ndarray) -> np.ndarray:
    """Nodes whose last predecessor was in the generation, in the order in which these come."""
    if generation.size < FEW:
        found = []
        for node in generation.tolist():
            for child in structure.indices[
                structure.indptr[node] : structure.indptr[node + 1]
            ].tolist():
                waiting[child] -= 1
                if waiting[child] == 0:
                    found.append(child)
        return np.array(found, dtype=np.int64)
    children = structure.indices[places_of(structure.indptr, generation)]
    last, first_from_end, counts = np.unique(children[::-1], return_index=True, return_counts=True)
    waiting[last] -= counts
    free = waiting[last] == 0
    return last[free][np.argsort(-first_from_end[free], kind="stable")].astype(np.int64)


def topological_sort(G: Graph) -> Iterator[Any]:
    for generation in topological_generations(G):
        yield from generation
