"""Breadth-first functions: the order and the tree are NetworkX's, for the rows are in the order of its adjacency.

Each computes the whole traversal at once and then yields from it; `depth_limit` and `cutoff` cut it afterwards.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise, repeat
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock._matrix.csr import csr_array
from penstock.nx_backend._graph import NETWORKX, Graph


class Search:
    """The vertices that a search reaches, in its order: whom each was found from, and where the layers end."""

    def __init__(self, matrix: csr_array, source: int) -> None:
        self.order, before = csgraph.breadth_first_order(matrix, source)
        self.parents = before[self.order[1:]]  # of all but the source
        self._vertices = matrix.shape[0]

    def ends(self, limit: float = float("inf")) -> list[int]:
        """Where layers 0, 1, ... end in the order, up to layer `limit`."""
        place = np.zeros(self._vertices, dtype=np.int64)
        place[self.order] = np.arange(self.order.size)
        # Parents stand in the order of their children: a layer ends where the parents leave the one before.
        parents = place[self.parents].tolist()
        ends = [1]
        while ends[-1] <= len(parents) and len(ends) - 1 < limit:
            ends.append(1 + bisect_left(parents, ends[-1], lo=ends[-1] - 1))
        return ends


def _start(graph: Graph, source: Any) -> int:
    try:
        return graph.nodes.number(source)
    except (KeyError, TypeError):
        raise nx.NetworkXError(f"The node {source} is not in the graph.") from None


def _reached(graph: Graph, source: Any, depth_limit: float | None) -> tuple[list[Any], list[Any]]:
    """The edges of the tree in breadth-first order, as parents and children."""
    found = Search(graph.pattern, _start(graph, source))
    last = found.order.size
    if depth_limit is not None:
        last = found.ends(depth_limit)[-1] if depth_limit > 0 else 1
    return graph.nodes.named(found.parents[: last - 1]), graph.nodes.named(found.order[1:last])


def generic_bfs_edges(
    G: Graph, source: Any, neighbors: Callable[..., Any] | None = None, depth_limit: Any = None
) -> Iterator[tuple[Any, Any]]:
    yield from zip(*_reached(G, source, depth_limit), strict=True)


def bfs_edges(
    G: Graph,
    source: Any,
    reverse: bool = False,
    depth_limit: Any = None,
    sort_neighbors: Callable[..., Any] | None = None,
) -> Iterator[tuple[Any, Any]]:
    yield from zip(*_reached(G, source, depth_limit), strict=True)


def bfs_predecessors(
    G: Graph, source: Any, depth_limit: Any = None, sort_neighbors: Callable[..., Any] | None = None
) -> Iterator[tuple[Any, Any]]:
    if NETWORKX >= (3, 7):
        warnings.warn(
            "\n\nbfs_predecessors is deprecated and will be removed in NetworkX 3.9\n"
            "Use ``(t, s) for (s, t) in bfs_edges`` instead",
            category=DeprecationWarning,
            stacklevel=2,
        )
    parents, children = _reached(G, source, depth_limit)
    yield from zip(children, parents, strict=True)


def bfs_successors(
    G: Graph, source: Any, depth_limit: Any = None, sort_neighbors: Callable[..., Any] | None = None
) -> Iterator[tuple[Any, list[Any]]]:
    parents, children = _reached(G, source, depth_limit)
    if not parents:
        yield source, []
    for parent, edges in groupby(zip(parents, children, strict=True), key=itemgetter(0)):
        yield parent, [child for _, child in edges]


def bfs_layers(G: Graph, sources: Any) -> Iterator[list[Any]]:
    given = [sources] if sources in G else list(sources)
    distinct = set(given) if NETWORKX >= (3, 5) else dict.fromkeys(given)
    numbers = [_start(G, source) for source in distinct]
    if not numbers:
        return
    if len(numbers) == 1:
        found = Search(G.pattern, numbers[0])
        ends = [0, *found.ends()]
    else:
        found = Search(G.structure.with_root(numbers), len(G))
        ends = found.ends()
    names = (
        G.nodes.named(found.order) if len(numbers) == 1 else [None, *G.nodes.named(found.order[1:])]
    )
    if len(given) > len(distinct) and NETWORKX < (3, 5):
        yield given  # with its repetitions
        ends = ends[1:]
    for begin, end in pairwise(ends):
        yield names[begin:end]


def descendants_at_distance(G: Graph, source: Any, distance: Any) -> set[Any]:
    found = Search(G.pattern, _start(G, source))
    ends = [0, *found.ends()]
    # As NetworkX, which compares the layers' numbers with it: 1.0 is a distance, 1.5 is none.
    layer = next((i for i in range(len(ends) - 1) if i == distance), None)
    if layer is None:
        return set()
    return set(G.nodes.named(found.order[ends[layer] : ends[layer + 1]]))


def _lengths(graph: Graph, matrix: csr_array, source: Any, cutoff: float | None) -> dict[Any, int]:
    found = Search(matrix, graph.nodes.number(source))
    ends = found.ends(float("inf") if cutoff is None else max(cutoff, 0))
    levels: list[int] = []
    for level, size in enumerate(np.diff([0, *ends]).tolist()):
        levels.extend(repeat(level, size))
    return dict(zip(graph.nodes.named(found.order[: ends[-1]]), levels, strict=True))


def single_source_shortest_path_length(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    return _lengths(G, G.pattern, source, cutoff)


def single_target_shortest_path_length(G: Graph, target: Any, cutoff: float | None = None) -> Any:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    lengths = _lengths(G, G.pattern.T.formed() if G.is_directed() else G.pattern, target, cutoff)
    if NETWORKX >= (3, 5):
        return lengths
    warnings.warn(
        "\n\nsingle_target_shortest_path_length will return a dict instead of"
        "\nan iterator in version 3.5",
        FutureWarning,
        stacklevel=3,
    )
    return iter(lengths.items())


def all_pairs_shortest_path_length(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    for source in G:
        yield source, _lengths(G, G.pattern, source, cutoff)


def _paths(graph: Graph, source: Any, cutoff: float | None) -> dict[Any, list[Any]]:
    parents, children = _reached(graph, source, cutoff)
    paths = {source: [source]}
    for parent, child in zip(parents, children, strict=True):
        paths[child] = [*paths[parent], child]
    return paths


def single_source_shortest_path(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    return _paths(G, source, cutoff)


def all_pairs_shortest_path(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for source in G:
        yield source, _paths(G, source, cutoff)
