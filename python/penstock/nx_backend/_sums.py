"""What many functions need of the distances from each of some nodes: how many are reached, their sum, the largest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock import csgraph
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._paths import Lengths


class Sums(NamedTuple):
    reached: int  # the source itself, too
    total: Any  # of the distances
    largest: Any
    inverse: float  # the sum of 1 / distance over those that are not 0


def hop_sums(graph: Graph, sources: np.ndarray, reverse: bool = False) -> Iterator[Sums]:
    """In hops; `reverse` measures the way to each source."""
    matrix = graph.structure.turned if reverse else graph.pattern
    for source in sources.tolist():
        counts = np.bincount(csgraph.bfs(matrix, source) + 1)[
            1:
        ]  # of the vertices at each distance
        hops = np.arange(counts.size)
        inverse = float((counts[1:] / hops[1:]).sum())
        yield Sums(int(counts.sum()), int((counts * hops).sum()), counts.size - 1, inverse)


def length_sums(
    graph: Graph, sources: np.ndarray, weight: Any, reverse: bool = False
) -> Iterator[Sums]:
    """In weights."""
    found = Lengths(graph.turned(weight) if reverse else graph, weight)
    for source in sources.tolist():
        distance = found.from_one(source)
        near = distance[np.isfinite(distance)]
        inverse = float((1 / near[near > 0]).sum())
        values = near.tolist()
        total, largest = math.fsum(values), max(values)
        if found.whole or near.size == 1:  # the source alone, whose distance is an int
            total, largest = int(total), int(largest)
        yield Sums(near.size, total, largest, inverse)
