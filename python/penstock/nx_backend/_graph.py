"""Graph: a NetworkX graph as sparse rows, immutable, its nodes numbered in NetworkX's order.

Rows keep the order of the adjacency dicts, so that traversals find the tree that NetworkX finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array

# Whole numbers up to here are exact in float64, and so are sums that stay below it.
EXACT = 2.0**53

# (major, minor) of the installed NetworkX: where versions differ, results and warnings are that one's.
NETWORKX = tuple(map(int, re.findall(r"\d+", nx.__version__)[:2]))


class Nodes:
    """The node objects and their numbers, 0 to n - 1 in the graph's order."""

    def __init__(self, labels: list[Any]) -> None:
        self.labels = labels
        self.ints = set(map(type, labels)) <= {int}
        # Labels that are their own numbers need no table.
        self.plain = self.ints and labels == list(range(len(labels)))

    @cached_property
    def table(self) -> dict[Any, int]:
        return dict(zip(self.labels, range(len(self.labels)), strict=True))

    @cached_property
    def places(self) -> np.ndarray | None:
        """The table as an array, where labels are ints with few gaps: looking up 200000 takes a third of the time."""
        n = len(self.labels)
        if not self.ints or not n or min(self.labels) < 0 or max(self.labels) > 8 * n + 1000:
            return None
        places = np.zeros(max(self.labels) + 1, dtype=np.int32)
        places[self.labels] = np.arange(n, dtype=np.int32)
        return places

    def number(self, label: Any) -> int:
        """KeyError where there is no such node, TypeError where it cannot be hashed."""
        if self.plain and type(label) is int:
            if 0 <= label < len(self.labels):
                return label
            raise KeyError(label)
        return self.table[label]

    def named(self, numbers: np.ndarray) -> list[Any]:
        """The node objects of some numbers."""
        plain = numbers.tolist()
        return plain if self.plain else list(map(self.labels.__getitem__, plain))


class Structure:
    """What graphs with different edge attributes share: nodes, adjacency, and what was found out about them.

    `indices` holds each neighbour once. `copies`, of a multigraph, is the number of parallel edges to each.
    """

    def __init__(
        self,
        nodes: Nodes,
        indptr: np.ndarray,
        indices: np.ndarray,
        copies: np.ndarray | None,
        directed: bool,
    ) -> None:
        self.nodes, self.indptr, self.indices, self.copies = nodes, indptr, indices, copies
        self.directed = directed
        self.found: dict[str, Any] = {}  # results that many calls ask for, such as components

    @cached_property
    def pattern(self) -> csr_array:
        return self._matrix(self.indptr, self.indices, None)

    def with_root(self, children: Sequence[int]) -> csr_array:
        """The pattern, and one more vertex with edges to some in the order given: searches of several sources."""
        n = len(self.nodes.labels)
        indptr = np.append(self.indptr, self.indptr[-1] + len(children))
        indices = np.concatenate((self.indices, np.array(children, np.int32)))
        return csr_array._from_parts(n + 1, n + 1, indptr, indices, None, validate="cheap")

    def weighted(self, values: np.ndarray | None) -> csr_array:
        """With one value an edge, or none; parallel edges are entries of their own."""
        if self.copies is None:
            return self._matrix(self.indptr, self.indices, values)
        ends = np.concatenate(([0], np.cumsum(self.copies, dtype=np.int64)))
        return self._matrix(ends[self.indptr], np.repeat(self.indices, self.copies), values)

    def _matrix(
        self, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray | None
    ) -> csr_array:
        n = len(self.nodes.labels)
        matrix = csr_array._from_parts(n, n, indptr, indices, values, validate="cheap")
        if not self.directed:
            matrix._derived.symmetric_pattern = True  # which algorithms would find out
        return matrix

    def is_mirrored(self, values: np.ndarray | None = None) -> bool:
        """Whether every edge is there in both directions, as many times, and with the same weights in sum."""
        matrix = self.weighted(values)
        if not _core.has_symmetric_pattern(matrix._core):
            return False
        if values is None:
            return True
        turned = csr_array._wrap(_core.sort_rows(_core.transpose(matrix._core), True))
        return np.array_equal(
            csr_array._wrap(_core.sort_rows(matrix._core, True)).data, turned.data
        )

    @cached_property
    def loops(self) -> np.ndarray:
        """1 where a node is its own neighbour, int64."""
        rows = np.repeat(np.arange(len(self.nodes.labels), dtype=np.int32), np.diff(self.indptr))
        return np.bincount(rows[rows == self.indices], minlength=len(self.nodes.labels))


class Weights:
    """One edge attribute: float64 values in the order of the adjacency, and what algorithms must know of them."""

    def __init__(self, values: np.ndarray, integral: bool, mirrored: bool = True) -> None:
        self.values, self.integral = values, integral
        self.mirrored = mirrored  # both directions of an undirected edge have the same
        self.ones = bool((values == 1).all())
        low = float(values.min(initial=0.0))
        self.usable = low >= 0 and bool(np.isfinite(values).all())
        # A distance is at most the sum of all weights.
        self.exact = not integral or float(values.sum()) <= EXACT


class Graph:
    """A graph of NetworkX converted for Penstock: `nx.pagerank(graph)` and the like run here without a conversion.

    Made by `from_networkx`, or by NetworkX itself where `backend="penstock"` or `nx.config` asks for it. It cannot be
    changed, and does not follow later changes of the graph that it was made from.
    """

    __networkx_backend__ = "penstock"

    def __init__(
        self,
        structure: Structure,
        weights: dict[Any, tuple[Any, Weights]],
        graph: dict[str, Any] | None = None,
        node_data: list[dict[str, Any]] | None = None,
    ) -> None:
        self.structure = structure
        self.weights = weights  # attribute -> (the default where an edge lacks it, values)
        self.graph = {} if graph is None else graph
        self.node_data = node_data
        self.__networkx_cache__: dict[str, Any] = {}
        self._matrices: dict[Any, csr_array] = {}

    # The part of nx.Graph that the dispatcher, its decorators and users ask for

    def is_directed(self) -> bool:
        return self.structure.directed

    def is_multigraph(self) -> bool:
        return self.structure.copies is not None

    def __len__(self) -> int:
        return len(self.structure.nodes.labels)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.structure.nodes.labels)

    def __contains__(self, label: Any) -> bool:
        try:
            self.structure.nodes.number(label)
        except (KeyError, TypeError):
            return False
        return True

    def number_of_nodes(self) -> int:
        return len(self)

    def number_of_edges(self) -> int:
        copies, both = self.structure.copies, not self.is_directed()
        total = self.structure.indices.size if copies is None else int(copies.sum())
        if not both:
            return total
        loops = int(self.structure.loops.sum())
        if copies is not None:
            rows = np.repeat(np.arange(len(self)), np.diff(self.structure.indptr))
            loops = int(copies[rows == self.structure.indices].sum())
        return (total + loops) // 2

    def __repr__(self) -> str:
        kind = ("multi" if self.is_multigraph() else "") + (
            "digraph" if self.is_directed() else "graph"
        )
        held = f", edge attributes {', '.join(map(repr, self.weights))}" if self.weights else ""
        return f"<penstock {kind}, {len(self)} nodes, {self.number_of_edges()} edges{held}>"

    # What algorithms ask

    @property
    def nodes(self) -> Nodes:
        return self.structure.nodes

    @property
    def pattern(self) -> csr_array:
        """Each neighbour once, no values, rows in adjacency order."""
        return self.structure.pattern

    def edge_weights(self, attribute: str) -> Weights:
        if attribute not in self.weights:
            raise nx.NetworkXError(
                f"this graph was converted without the edge attribute {attribute!r} (it has "
                f"{', '.join(map(repr, self.weights)) or 'none'}): convert it with "
                f"from_networkx(G, edge_attrs={{{attribute!r}: 1}})"
            )
        return self.weights[attribute][1]

    def matrix(self, attribute: str | None) -> csr_array:
        """Values are the attribute, or 1 an edge for None; parallel edges are entries of their own."""
        copies = self.structure.copies
        if copies is None and (attribute is None or self.edge_weights(attribute).ones):
            return self.pattern
        if attribute not in self._matrices:
            if attribute is not None:
                values = self.edge_weights(attribute).values
            else:
                values = np.ones(0 if copies is None else int(copies.sum()))
            self._matrices[attribute] = self.structure.weighted(values)
        return self._matrices[attribute]
