"""Searches from both ends at once, step by step in NetworkX's order: of several shortest paths they find its own.

They give up after FAR nodes, for then a search of the whole graph in C++ is faster. In a directed graph the edges into
a node come in the order of the nodes, which may not be NetworkX's.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any

from penstock.nx_backend._graph import Graph

# So many nodes are looked at from both ends before all are searched from one.
FAR = 2000


def near(graph: Graph, source: int, target: int) -> list[int] | None:
    """A path with the fewest edges, [] where there is none, None where it is not decided after FAR nodes."""
    if source == target:
        return [source]
    both = (graph.pattern, graph.structure.turned)
    reached: tuple[dict[int, int], dict[int, int]] = ({source: -1}, {target: -1})
    fringes = [[source], [target]]
    looked = 0
    while fringes[0] and fringes[1]:
        side = 0 if len(fringes[0]) <= len(fringes[1]) else 1
        indptr, indices = both[side].indptr, both[side].indices
        mine, other = reached[side], reached[1 - side]
        level, fringes[side] = fringes[side], []
        for v in level:
            for w in indices[indptr[v] : indptr[v + 1]].tolist():
                if w not in mine:
                    fringes[side].append(w)
                    mine[w] = v
                if w in other:
                    return _joined(*reached, w)
            looked += 1
            if looked > FAR:
                return None
    return []


def _joined(before: dict[int, int], after: dict[int, int], middle: int) -> list[int]:
    path = [middle]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    path.reverse()
    while after[path[-1]] >= 0:
        path.append(after[path[-1]])
    return path


class _Side:
    """What the search from one end knows."""

    def __init__(self, graph: Graph, weight: str | None, start: int) -> None:
        structure = graph.structure
        self.indptr, self.indices = structure.indptr, structure.indices
        self.values = None
        self.whole = True
        if weight is not None:
            weights = graph.edge_weights(weight)
            self.values, self.whole = structure.lightest(weights.values), weights.integral
        self.done: dict[int, Any] = {}
        self.seen: dict[int, Any] = {start: 0}
        self.before = {start: -1}
        self.fringe: list[tuple[Any, int, int]] = []

    def edges(self, v: int) -> zip[tuple[int, Any]]:
        row = slice(self.indptr[v], self.indptr[v + 1])
        heads = self.indices[row].tolist()
        if self.values is None:
            return zip(heads, [1] * len(heads), strict=True)
        values = self.values[row]
        return zip(heads, (values.astype(int) if self.whole else values).tolist(), strict=True)


def near_by_weight(
    graph: Graph, weight: str | None, source: int, target: int
) -> tuple[Any, list[int]] | None:
    """The length and a shortest path, (None, []) where there is none, None where it is not decided after FAR nodes."""
    sides = (_Side(graph, weight, source), _Side(graph.turned(weight), weight, target))
    ticket = count()
    for side, start in zip(sides, (source, target), strict=True):
        heappush(side.fringe, (0, next(ticket), start))
    shortest, middle = None, -1
    turn = 1
    for _ in range(FAR):
        turn = 1 - turn
        mine, other = sides[turn], sides[1 - turn]
        if not (mine.fringe and other.fringe):
            return None, []
        distance, _, v = heappop(mine.fringe)
        while v in mine.done:
            # NetworkX takes turns for these, too.
            turn = 1 - turn
            mine, other = other, mine
            if not (mine.fringe and other.fringe):
                return None, []
            distance, _, v = heappop(mine.fringe)
        mine.done[v] = distance
        if v in other.done:
            return shortest, _joined(sides[0].before, sides[1].before, middle)
        for w, value in mine.edges(v):
            length = distance + value
            if w in mine.done or (w in mine.seen and length >= mine.seen[w]):
                continue
            mine.seen[w] = length
            heappush(mine.fringe, (length, next(ticket), w))
            mine.before[w] = v
            if w in other.seen:
                whole = length + other.seen[w]
                if shortest is None or shortest > whole:
                    shortest, middle = whole, w
    return None
