"""Graph: a NetworkX graph as sparse rows, immutable, its nodes numbered in NetworkX's order.

Rows keep the order of the adjacency dicts, so that traversals find the tree that NetworkX finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.nx_backend._weights import Weights, attribute_of, numbers_of

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
    def rows(self) -> np.ndarray:
        """The node whose neighbour each of `indices` is, int32."""
        return np.repeat(np.arange(len(self.nodes.labels), dtype=np.int32), np.diff(self.indptr))

    @cached_property
    def loops(self) -> np.ndarray:
        """1 where a node is its own neighbour, int64."""
        return np.bincount(self.rows[self.rows == self.indices], minlength=len(self.nodes.labels))

    def degrees(self, way: str = "both", values: np.ndarray | None = None) -> np.ndarray:
        """Edges at each node, or the sum of their values; parallel ones each, int64 or float64.

        `way` is "out", "in" or "both" of a directed graph. In an undirected one a self loop counts twice.
        """
        n = len(self.nodes.labels)
        at = self.copies if values is None else self.summed(values)
        out = np.bincount(self.rows, at, n)
        if not self.directed:
            mine = self.rows == self.indices
            out = out + np.bincount(self.rows[mine], None if at is None else at[mine], n)
        elif way != "out":
            into = np.bincount(self.indices, at, n)
            out = into if way == "in" else out + into
        return out.astype(np.int64) if values is None else out

    def summed(self, values: np.ndarray) -> np.ndarray:
        """One value for each of `indices`: the sum over parallel edges."""
        if self.copies is None or values.size == 0:
            return values
        return np.add.reduceat(values, np.cumsum(self.copies) - self.copies)

    def lightest(self, values: np.ndarray) -> np.ndarray:
        """One value for each of `indices`: the least of parallel edges."""
        if self.copies is None or values.size == 0:
            return values
        return np.minimum.reduceat(values, np.cumsum(self.copies) - self.copies)

    @cached_property
    def once(self) -> np.ndarray:
        """Which of `indices` stand for an edge: all of a directed graph, of an undirected one the first of two."""
        if self.directed:
            return np.ones(self.indices.size, dtype=bool)
        return self.rows <= self.indices

    def scipy(self, values: np.ndarray | None = None) -> Any:
        """SciPy's csr_array with one value for each of `indices`, or 1.0; the index arrays are shared."""
        from scipy.sparse import csr_array as made

        n = len(self.nodes.labels)
        data = np.ones(self.indices.size) if values is None else values
        return made((data, self.indices, self.indptr), shape=(n, n))

    @property
    def turned(self) -> csr_array:
        """The pattern with every edge reversed; rows ascend where the graph is directed."""
        return self.pattern.T.formed() if self.directed else self.pattern


def _copied(order: np.ndarray, copies: np.ndarray) -> np.ndarray:
    """The places of parallel edges when their pairs of nodes are put in another order."""
    first, counts = (np.cumsum(copies) - copies)[order], copies[order]
    into = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(first - into, counts)


class Kept:
    """The dicts of a graph of NetworkX, not copied: what functions that return graphs take their data from."""

    def __init__(
        self, made: Any, nodes: list[dict[Any, Any]], edges: list[dict[Any, Any]], keys: Any
    ) -> None:
        self.made = made  # the class of the graph
        self.nodes, self.edges = nodes, edges  # in the order of the adjacency
        self.keys: list[Any] | None = keys  # of a multigraph's edges


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
        kept: Kept | None = None,
    ) -> None:
        self.structure = structure
        self.kept = kept  # where a function asked for all attributes
        self.weights = weights  # attribute -> (the default where an edge lacks it, values)
        self.graph = {} if graph is None else graph
        self.node_data = node_data
        self.__networkx_cache__: dict[str, Any] = {}
        self._matrices: dict[Any, csr_array] = {}
        self._turned: dict[Any, Graph] = {}

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
        copies, once = self.structure.copies, self.structure.once
        return int(np.count_nonzero(once) if copies is None else copies[once].sum())

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

    def edge_weights(self, attribute: Any, default: Any = 1) -> Weights:
        """The values of an attribute, or what a function of (node, neighbour, data) gives for each edge."""
        if attribute in self.weights:
            return self.weights[attribute][1]
        if self.kept is None:
            raise nx.NetworkXError(
                f"this graph was converted without the edge attribute {attribute!r} (it has "
                f"{', '.join(map(repr, self.weights)) or 'none'}): convert it with "
                f"from_networkx(G, edge_attrs={{{attribute!r}: 1}})"
            )
        if callable(attribute):
            return self._computed(attribute, self.kept)  # which may give something else next time
        found = attribute_of(self.kept.edges, attribute, default)
        self.weights[attribute] = (default, Weights(*numbers_of(found, attribute)))
        return self.weights[attribute][1]

    def _computed(self, function: Any, kept: Kept) -> Weights:
        data: Any = kept.edges
        copies = self.structure.copies
        if kept.keys is not None and copies is not None:
            pairs = iter(zip(kept.keys, kept.edges, strict=True))
            data = [dict(islice(pairs, k)) for k in copies.tolist()]
        ends = map(self.nodes.named, (self.structure.rows, self.structure.indices))
        try:
            found = list(map(function, *ends, data))
        except Exception as error:  # NetworkX may never ask for this edge
            raise NotImplementedError(f"the function of edges raised {error!r}") from error
        values, whole, narrow = numbers_of(found, "weight")
        return Weights(values if copies is None else np.repeat(values, copies), whole, narrow)

    def matrix(self, attribute: Any) -> csr_array:
        """Values are the attribute, or 1 an edge for None; parallel edges are entries of their own."""
        copies = self.structure.copies
        if callable(attribute):
            return self.structure.weighted(self.edge_weights(attribute).values)
        if copies is None and (attribute is None or self.edge_weights(attribute).ones):
            return self.pattern
        if attribute not in self._matrices:
            if attribute is not None:
                values = self.edge_weights(attribute).values
            else:
                values = np.ones(0 if copies is None else int(copies.sum()))
            self._matrices[attribute] = self.structure.weighted(values)
        return self._matrices[attribute]

    def turned(self, attribute: Any) -> Graph:
        """Every edge reversed, with one attribute or none; an undirected graph itself."""
        if not self.is_directed():
            return self
        if attribute not in self._turned:
            structure = self.structure
            order = np.argsort(structure.indices, kind="stable")
            counts = np.bincount(structure.indices, minlength=len(self))
            copies = structure.copies
            made = Structure(
                self.nodes,
                np.concatenate(([0], np.cumsum(counts, dtype=np.int64))),
                structure.rows[order],
                None if copies is None else copies[order],
                True,
            )
            weights = {}
            if attribute is not None:
                held = self.edge_weights(attribute)
                values = held.values[order if copies is None else _copied(order, copies)]
                weights[attribute] = (1, Weights(values, held.integral, held.narrow))
            self._turned[attribute] = Graph(made, weights)
        return self._turned[attribute]

    def named(self, values: np.ndarray) -> dict[Any, Any]:
        """One value a node, as a dict in the graph's order."""
        return dict(zip(self.nodes.labels, values.tolist(), strict=True))

    def some(self, nodes: Any) -> np.ndarray:
        """The numbers of those of some nodes that are in the graph, in the order given, or of one, or of all: as
        nx.Graph.nbunch_iter."""
        if nodes is None:
            return np.arange(len(self))
        if nodes in self:
            return np.array([self.nodes.number(nodes)])
        try:
            several = iter(nodes)
        except TypeError:
            raise nx.NetworkXError(f"Node {nodes} is not in the graph.") from None
        chosen = []
        for node in several:
            try:
                hash(node)
            except TypeError:
                message = f"Node {node} in sequence nbunch is not a valid node."
                raise nx.NetworkXError(message) from None
            if node in self:
                chosen.append(self.nodes.number(node))
        return np.array(chosen, dtype=np.int64)
