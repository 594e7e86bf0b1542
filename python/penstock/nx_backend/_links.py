"""Scores of pairs of nodes from the neighbours that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.nx_backend._graph import Graph

Scores = Iterator[tuple[Any, Any, Any]]


class _Pairs:
    """The pairs given, as nodes and as numbers."""

    def __init__(self, graph: Graph, given: Any) -> None:
        self.pairs = []
        for u, v in given:
            for node in (u, v):
                if node not in graph:
                    raise nx.NodeNotFound(f"Node {node} not in G.")
            self.pairs.append((u, v))
        flat = [graph.nodes.number(node) for pair in self.pairs for node in pair]
        self.u, self.v = np.array(flat, dtype=np.int64).reshape(-1, 2).T

    def scored(self, scores: np.ndarray) -> Scores:
        return ((u, v, s) for (u, v), s in zip(self.pairs, scores.tolist(), strict=True))


def _sorted_keys(graph: Graph) -> np.ndarray:
    found, structure = graph.structure.found, graph.structure
    if "keys" not in found:
        keys = structure.rows.astype(np.int64) * len(graph) + structure.indices
        keys.sort()
        found["keys"] = keys
    return found["keys"]


def _sums(graph: Graph, pairs: _Pairs, values: np.ndarray) -> np.ndarray:
    """Over the shared neighbours of each pair, the two themselves left out: of the values, or how many there are where
    no values are given."""
    found = graph.structure.found
    if "ascending" not in found:
        found["ascending"] = csr_array._wrap(_core.sort_rows(graph.pattern._core, True))
    u, v = pairs.u.astype(np.int32), pairs.v.astype(np.int32)
    sums: np.ndarray = _core.shared_sums(found["ascending"]._core, u, v, values)
    return sums


def jaccard_coefficient(G: Graph, ebunch: Any = None) -> Scores:
    pairs = _Pairs(G, ebunch)
    structure = G.structure
    shared = _sums(G, pairs, np.empty(0))
    # The two themselves are never shared, but each is in both lists where it has a self loop and they are neighbours.
    degree = np.diff(structure.indptr)
    union = degree[pairs.u] + degree[pairs.v] - shared
    loops = structure.loops[pairs.u] + structure.loops[pairs.v]
    if loops.any():
        union -= loops * _stored(G, pairs.u, pairs.v)
    same = pairs.u == pairs.v
    union[same] = degree[pairs.u[same]]
    scores: list[Any] = [
        0 if size == 0 else count / size
        for count, size in zip(shared.tolist(), union.tolist(), strict=True)
    ]
    return ((u, v, s) for (u, v), s in zip(pairs.pairs, scores, strict=True))


def _stored(graph: Graph, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    keys = _sorted_keys(graph)
    if not keys.size:
        return np.zeros(rows.size, dtype=bool)
    wanted = rows * len(graph) + columns
    return keys[np.minimum(np.searchsorted(keys, wanted), keys.size - 1)] == wanted


def adamic_adar_index(G: Graph, ebunch: Any = None) -> Scores:
    degree = G.structure.degrees().astype(np.float64)
    with np.errstate(divide="ignore"):
        return _weighted(G, ebunch, 1 / np.log(degree))


def resource_allocation_index(G: Graph, ebunch: Any = None) -> Scores:
    with np.errstate(divide="ignore"):
        return _weighted(G, ebunch, 1 / G.structure.degrees().astype(np.float64))


def _weighted(graph: Graph, ebunch: Any, values: np.ndarray) -> Scores:
    """A pair without shared neighbours has NetworkX's int 0."""
    pairs = _Pairs(graph, ebunch)
    sums = _sums(graph, pairs, values)
    if not np.isfinite(sums).all():
        raise NotImplementedError("NetworkX divides by zero, at the pair where it comes to it")
    scores = [score or 0 for score in sums.tolist()]
    return ((u, v, s) for (u, v), s in zip(pairs.pairs, scores, strict=True))


def preferential_attachment(G: Graph, ebunch: Any = None) -> Scores:
    pairs, degree = _Pairs(G, ebunch), G.structure.degrees()
    return pairs.scored(degree[pairs.u] * degree[pairs.v])
