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
from penstock.nx_backend._rows import with_root


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

    def within(self, limit: float | None) -> np.ndarray:
        """The vertices at most so many edges away, in the order of the search; the source is always one."""
        if limit is None:
            return self.order
        return self.order[: self.ends(max(limit, 0))[-1]]


def start_of(graph: Graph, source: Any, kind: str | None = None) -> int:
    try:
        return graph.nodes.number(source)
    except (KeyError, TypeError):
        kind = kind or ("digraph" if graph.is_directed() else "graph")
        raise nx.NetworkXError(f"The node {source} is not in the {kind}.") from None


def _reached(graph: Graph, source: Any, depth_limit: float | None) -> tuple[list[Any], list[Any]]:
    """The edges of the tree in breadth-first order, as parents and children."""
    found = Search(graph.pattern, start_of(graph, source))
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
    numbers = [start_of(G, source, "graph") for source in distinct]
    if not numbers:
        return
    if len(numbers) == 1:
        found = Search(G.pattern, numbers[0])
        ends = [0, *found.ends()]
    else:
        found = Search(with_root(G.pattern, numbers), len(G))
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
    levels = csgraph.bfs(G.pattern, start_of(G, source, "graph"))
    # As NetworkX, which compares the layers' numbers with it: 1.0 is a distance, 1.5 is none.
    layer = next((level for level in range(int(levels.max()) + 1) if level == distance), None)
    if layer is None:
        return set()
    return set(G.nodes.named(np.flatnonzero(levels == layer)))


def lengths(graph: Graph, matrix: csr_array, source: Any, cutoff: float | None) -> dict[Any, int]:
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
    return lengths(G, G.pattern, source, cutoff)


def single_target_shortest_path_length(G: Graph, target: Any, cutoff: float | None = None) -> Any:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    found = lengths(G, G.structure.turned, target, cutoff)
    if NETWORKX >= (3, 5):
        return found
    warnings.warn(
        "\n\nsingle_target_shortest_path_length will return a dict instead of"
        "\nan iterator in version 3.5",
        FutureWarning,
        stacklevel=3,
    )
    return iter(found.items())


def all_pairs_shortest_path_length(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    for source in G:
        yield source, lengths(G, G.pattern, source, cutoff)


def paths_from(graph: Graph, source: Any, cutoff: float | None) -> dict[Any, list[Any]]:
    parents, children = _reached(graph, source, cutoff)
    paths = {source: [source]}
    for parent, child in zip(parents, children, strict=True):
        paths[child] = [*paths[parent], child]
    return paths


def paths_to(graph: Graph, target: Any, cutoff: float | None) -> dict[Any, list[Any]]:
    found = Search(graph.structure.turned, graph.nodes.number(target))
    last = found.within(cutoff).size
    paths = {target: [target]}
    following = graph.nodes.named(found.parents[: last - 1])
    for node, after in zip(graph.nodes.named(found.order[1:last]), following, strict=True):
        paths[node] = [node, *paths[after]]
    return paths


def single_target_shortest_path(
    G: Graph, target: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    if target not in G:
        raise nx.NodeNotFound(f"Target {target} not in G")
    return paths_to(G, target, cutoff)


def predecessor(
    G: Graph,
    source: Any,
    target: Any = None,
    cutoff: float | None = None,
    return_seen: bool | None = None,
) -> Any:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    found = Search(G.pattern, G.nodes.number(source))
    ends = found.ends(float("inf") if not cutoff else max(cutoff, 1))
    order = found.order[: ends[-1]]
    level = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))
    levels = np.full(len(G), -1)
    levels[order] = level
    # Edges from one layer to the next, in the order in which the search sees them.
    places = np.zeros(len(G), dtype=np.int64)
    places[order] = np.arange(order.size)
    rows, columns = G.structure.rows, G.structure.indices
    down = np.flatnonzero((levels[rows] >= 0) & (levels[columns] == levels[rows] + 1))
    down = down[np.lexsort((down, places[rows[down]], places[columns[down]]))]
    before = G.nodes.named(rows[down])
    counts = np.bincount(places[columns[down]], minlength=order.size)
    cuts = [0, *np.cumsum(counts).tolist()]
    names = G.nodes.named(order)
    before_each = {node: before[a:b] for node, (a, b) in zip(names, pairwise(cuts), strict=True)}
    seen = dict(zip(names, level.tolist(), strict=True))
    if target is None:
        return (before_each, seen) if return_seen else before_each
    if target not in before_each:
        return ([], -1) if return_seen else []
    return (before_each[target], seen[target]) if return_seen else before_each[target]


def single_source_shortest_path(
    G: Graph, source: Any, cutoff: float | None = None
) -> dict[Any, list[Any]]:
    if source not in G:
        raise nx.NodeNotFound(f"Source {source} not in G")
    return paths_from(G, source, cutoff)


def all_pairs_shortest_path(
    G: Graph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, list[Any]]]]:
    for source in G:
        yield source, paths_from(G, source, cutoff)
