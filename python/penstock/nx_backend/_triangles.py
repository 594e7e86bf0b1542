"""Triangles, squares and clustering coefficients."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from penstock import csgraph
from penstock._matrix.spgemm import spgemm_blocks
from penstock.csgraph._graph import without_repeats
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._rows import supports


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
    numbers = graph.some(nodes)
    named = zip(graph.nodes.named(numbers), numbers.tolist(), strict=True)
    return {node: values[i] for node, i in named}


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


def generalized_degree(G: Graph, nodes: Any = None) -> Any:
    structure, n = G.structure, len(G)
    keep = structure.rows != structure.indices
    rows = structure.rows[keep]
    counts = supports(n, rows, structure.indices[keep]).tolist()
    ends = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=n)))).tolist()

    def of(number: int) -> Counter[int]:
        return Counter(counts[ends[number] : ends[number + 1]])

    if nodes is not None and nodes in G:
        return of(G.nodes.number(nodes))
    numbers = G.some(nodes)
    return {node: of(i) for node, i in zip(G.nodes.named(numbers), numbers.tolist(), strict=True)}


def square_clustering(G: Graph, nodes: Any = None) -> Any:
    # For node v: pairs of paths v-u-x and v-w-x make the squares. Potential ones are counted as in Zhang et al. (2008):
    # what the pairs of neighbours could share, less what is known to be a triangle or a square.
    n = len(G)
    matrix = without_repeats(G.pattern)
    numbers = G.some(nodes)
    squares = np.zeros(n, dtype=np.int64)
    for first, block in spgemm_blocks(matrix, matrix, memory="1GB"):
        rows = np.repeat(np.arange(first, first + block.shape[0]), np.diff(block.indptr))
        counts = np.where(rows == block.indices, 0, block.data)
        squares += np.bincount(rows, counts * (counts - 1) // 2, n).astype(np.int64)
    degree = np.diff(matrix.indptr)
    all_rows = np.repeat(np.arange(n), degree)
    shared = 2 * _counts(G)
    around = np.bincount(all_rows, degree[matrix.indices], n).astype(np.int64)
    potential = (degree - 1) * (around - degree) - shared - squares
    values = [
        s / p if d > 1 and p > 0 else 0
        for s, p, d in zip(
            squares[numbers].tolist(),
            potential[numbers].tolist(),
            degree[numbers].tolist(),
            strict=True,
        )
    ]
    if nodes is not None and nodes in G:
        return values[0]
    return dict(zip(G.nodes.named(numbers), values, strict=True))
