"""Communities as lists of sets, in the order of their first nodes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock._matrix.csr import csr_array
from penstock.nx_backend._graph import Graph


def _sets(graph: Graph, labels: np.ndarray) -> list[set[Any]]:
    members = graph.nodes.named(np.argsort(labels, kind="stable"))
    ends = np.cumsum(np.bincount(labels)).tolist() if labels.size else []
    return [set(members[begin:end]) for begin, end in pairwise([0, *ends])]


def _matrix(graph: Graph, weight: Any) -> csr_array:
    if weight is not None:
        weights = graph.edge_weights(weight)
        if not weights.usable:
            raise NotImplementedError("penstock takes weights that are finite and not negative")
        if not weights.mirrored:
            raise NotImplementedError(
                "an undirected view of a directed graph has edges of two weights"
            )
    return graph.matrix(weight)


def _drawn(seed: Any) -> int:
    """A seed of ours from NetworkX's, so that the same one finds the same communities."""
    number: int = nx.utils.create_py_random_state(seed).randint(0, 2**31 - 1)
    return number


def _resolution(given: Any) -> float:
    if not (math.isfinite(given) and given >= 0):
        raise NotImplementedError("penstock takes a resolution that is finite and not negative")
    return float(given)


def _positive(max_level: Any) -> Any:
    if max_level is not None and max_level <= 0:
        raise ValueError("max_level argument must be a positive integer or None")
    return max_level


def _levels(
    graph: Graph, weight: Any, resolution: Any, threshold: float, max_level: Any, seed: Any
) -> list[np.ndarray]:
    _, levels = csgraph.louvain(
        _matrix(graph, weight),
        resolution=_resolution(resolution),
        threshold=threshold,
        max_levels=max_level,
        seed=_drawn(seed),
        return_levels=True,
    )
    return levels


def louvain_communities(
    G: Graph,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 1e-07,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    levels = _levels(G, weight, resolution, threshold, _positive(max_level), seed)
    return _sets(G, levels[-1])


def louvain_partitions(
    G: Graph,
    weight: Any = "weight",
    resolution: float = 1,
    threshold: float = 1e-07,
    seed: Any = None,
) -> Iterator[list[set[Any]]]:
    levels = _levels(G, weight, resolution, threshold, None, seed)
    return (_sets(G, labels) for labels in levels)


def leiden_communities(
    G: Graph,
    *,
    weight: Any = "weight",
    resolution: float = 1.0,
    max_level: int | None = None,
    seed: Any = None,
    metric: str = "cpm",
    theta: float = 0.01,
) -> list[set[Any]]:
    """As NetworkX 3.7 has it. `theta` makes no difference: nothing is drawn in the refinement. `max_level` is None, and
    `metric` modularity."""
    return leiden_communities_by_modularity(G, weight, resolution, max_level, seed)


def leiden_communities_by_modularity(
    G: Graph,
    weight: Any = "weight",
    resolution: float = 1,
    max_level: int | None = None,
    seed: Any = None,
) -> list[set[Any]]:
    """As NetworkX 3.5 and 3.6 have it, where modularity is the only metric. `max_level` is None."""
    _positive(max_level)
    labels = csgraph.leiden(
        _matrix(G, weight),
        resolution=_resolution(resolution),
        seed=_drawn(seed),
    )
    return _sets(G, labels)


def asyn_lpa_communities(G: Graph, weight: Any = None, seed: Any = None) -> Iterator[set[Any]]:
    yield from _sets(G, csgraph.label_propagation(_matrix(G, weight), seed=_drawn(seed)))
