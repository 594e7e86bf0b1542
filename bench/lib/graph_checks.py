"""What is right in the graph benchmark: references by SciPy, and comparisons of results with them.
Errors are in multiples of what is allowed: 0 right, inf wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lib.graphs import Graph

RIGHT, WRONG = 0.0, math.inf
DAMPING, TOLERANCE = 0.85, 1e-4  # of PageRank, the latter in L1
_PRODUCTS = 20_000_000  # entries of a piece of A A at most, as far as whole rows allow


def levels_of(order: np.ndarray, predecessors: np.ndarray) -> np.ndarray:
    """Levels from a breadth-first order and its tree: positions of predecessors grow along the order, so each
    level is a range of it."""
    n = predecessors.size
    place = np.empty(n, np.int64)
    place[order] = np.arange(order.size)
    above = place[predecessors[order[1:]]]
    levels = np.full(n, -1, np.int32)
    first, last, level = 0, 1, 0
    while first < last:
        levels[order[first:last]] = level
        first, last, level = last, 1 + int(np.searchsorted(above, last)), level + 1
    return levels


def bfs_levels(graph: Graph, sources: list[int]) -> list[np.ndarray]:
    from scipy.sparse.csgraph import breadth_first_order

    a = graph.scipy()
    found = []
    for s in sources:
        order, tree = breadth_first_order(a, s, directed=True, return_predecessors=True)
        found.append(levels_of(order, tree))
    return found


def distances(graph: Graph, sources: list[int]) -> list[np.ndarray]:
    from scipy.sparse.csgraph import dijkstra

    a = graph.scipy(weighted=True)
    return [dijkstra(a, directed=True, indices=s) for s in sources]


def same(found: list[Any], expected: list[np.ndarray]) -> float:
    """For as many sources as were searched."""
    right = len(found) > 0 and all(
        np.shape(a) == b.shape and np.array_equal(a, b)
        for a, b in zip(found, expected, strict=False)
    )
    return RIGHT if right else WRONG


def components(graph: Graph, strong: bool = False) -> np.ndarray:
    from scipy.sparse.csgraph import connected_components

    kind = "strong" if strong else "weak"
    return connected_components(graph.scipy(), directed=True, connection=kind)[1]


def same_parts(labels: Any, expected: np.ndarray) -> float:
    """Do both split the vertices in the same way?"""
    labels = np.asarray(labels).astype(np.int64)
    if labels.shape != expected.shape:
        return WRONG
    _, ours = np.unique(labels, return_inverse=True)
    count, theirs = int(ours.max(initial=-1)) + 1, int(expected.max(initial=-1)) + 1
    pairs = np.unique(ours * max(theirs, 1) + expected).size
    return RIGHT if pairs == count == theirs else WRONG


def ranks(graph: Graph) -> np.ndarray:
    """PageRank by power iteration in float64, to 1e-12; ranks of vertices without edges out go to all."""
    n, out = graph.n, graph.degrees
    turned = graph.scipy().T.tocsr()
    share = np.divide(1.0, out, out=np.zeros(n), where=out > 0)
    x = np.full(n, 1 / n)
    for _ in range(1000):
        y = DAMPING * (turned @ (x * share) + x[out == 0].sum() / n) + (1 - DAMPING) / n
        change, x = np.abs(y - x).sum(), y
        if change < 1e-12:
            break
    return x


def rank_error(found: Any, expected: np.ndarray) -> float:
    """L1 distance over what a last change of TOLERANCE allows: a sweep shrinks the error by DAMPING. Scaled
    to sum 1 first, which makes up for ranks that leak out at vertices without edges."""
    found = np.asarray(found, np.float64)
    if found.shape != expected.shape or not np.isfinite(found).all():
        return WRONG
    allowed = TOLERANCE * DAMPING / (1 - DAMPING)
    return float(np.abs(found / found.sum() - expected).sum() / allowed)


def triangles(graph: Graph) -> int:
    """By SciPy: edges from lower to higher degree, paths of two of them, those that a third one closes."""
    import scipy.sparse as sp

    both = graph.mirrored()
    order = np.argsort(both.degrees, kind="stable")
    rank = np.empty(both.n, np.int64)
    rank[order] = np.arange(both.n)
    u, v = rank[both.rows], rank[both.pattern.indices]
    up = u < v
    a = sp.csr_array((np.ones(int(up.sum()), np.int32), (u[up], v[up])), shape=(both.n,) * 2)
    out = np.diff(a.indptr)
    paths = np.concatenate([[0], np.cumsum(sp.csr_array(a) @ out)])
    total, first = 0, 0
    while first < both.n:
        last = int(np.searchsorted(paths, paths[first] + _PRODUCTS, side="right")) - 1
        last = min(max(last, first + 1), both.n)
        piece = a[first:last]
        total += int((piece @ a).multiply(piece).sum())
        first = last
    return total


def cores(graph: Graph) -> np.ndarray:
    """Core numbers by peeling: all vertices of degree at most k at once, then those that this uncovers."""
    both = graph.mirrored()
    indptr, indices = both.pattern.indptr, both.pattern.indices
    left, alive = both.degrees.astype(np.int64), np.ones(both.n, bool)
    found, k = np.zeros(both.n, np.int32), 0
    while alive.any():
        k = max(k, int(left[alive].min()))
        peel = np.flatnonzero(alive & (left <= k))
        while peel.size:
            found[peel], alive[peel] = k, False
            sizes = indptr[peel + 1] - indptr[peel]
            starts = np.repeat(indptr[peel] - np.cumsum(sizes) + sizes, sizes)
            near = indices[starts + np.arange(int(sizes.sum()))]
            np.subtract.at(left, near, 1)
            near = np.unique(near)
            peel = near[alive[near] & (left[near] <= k)]
    return found


class Edges:
    """Whether all of some pairs are entries of a csr_array whose rows ascend."""

    def __init__(self, a: Any) -> None:
        self._n = np.int64(a.shape[1])
        self._known = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)) * self._n
        self._known += a.indices

    def __call__(self, rows: np.ndarray, columns: np.ndarray) -> float:
        wanted = rows * self._n + columns
        at = np.minimum(np.searchsorted(self._known, wanted), self._known.size - 1)
        return RIGHT if (self._known[at] == wanted).all() else WRONG


def are_edges(a: Any, rows: np.ndarray, columns: np.ndarray) -> float:
    return Edges(a)(rows, columns)


def reached_edges(graph: Graph, levels: list[np.ndarray]) -> float:
    """Edges of the visited vertices, on average over the sources; an undirected one counts once."""
    share = 0.5 if graph.undirected else 1.0
    return share * float(np.mean([graph.degrees[lv >= 0].sum() for lv in levels]))
