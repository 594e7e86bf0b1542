"""Core numbers and the subgraphs that they define, trusses, and what lies around a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from penstock import csgraph
from penstock.csgraph._graph import undirected as undirected_pattern
from penstock.nx_backend._graph import Graph
from penstock.nx_backend._parts import part
from penstock.nx_backend._paths import Distances
from penstock.nx_backend._rows import places_of
from penstock.nx_backend._traverse import Search


def _without_loops(graph: Graph, verb: str = "has") -> None:
    if graph.structure.loops.any():
        raise nx.NetworkXNotImplemented(
            f"Input graph {verb} self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )


def _cores(graph: Graph) -> np.ndarray:
    _without_loops(graph)
    found = graph.structure.found
    if "cores" not in found:
        found["cores"] = csgraph.core_number(graph.pattern)
    return found["cores"]


def core_number(G: Graph) -> dict[Any, int]:
    return G.named(_cores(G))


def _given_cores(graph: Graph, given: dict[Any, int] | None) -> np.ndarray:
    if given is None:
        return _cores(graph)
    if len(given) != len(graph) or any(label not in given for label in graph):
        raise NotImplementedError("the core numbers given are of other nodes")
    cores = np.array([given[label] for label in graph])
    if cores.size and cores.dtype.kind not in "biuf":
        raise NotImplementedError("the core numbers given are no numbers")
    return cores


def _by_core(
    graph: Graph,
    k: Any,
    given: dict[Any, int] | None,
    choose: Callable[[np.ndarray, Any], np.ndarray],
) -> Any:
    cores = _given_cores(graph, given)
    if k is None:
        k = max(cores.tolist())  # ValueError for a graph without nodes, as NetworkX
    return part(graph, choose(cores, k))


def k_core(G: Graph, k: int | None = None, core_number: dict[Any, int] | None = None) -> Any:
    return _by_core(G, k, core_number, np.greater_equal)


def k_shell(G: Graph, k: int | None = None, core_number: dict[Any, int] | None = None) -> Any:
    return _by_core(G, k, core_number, np.equal)


def k_crust(G: Graph, k: int | None = None, core_number: dict[Any, int] | None = None) -> Any:
    cores = _given_cores(G, core_number)
    return part(G, cores <= (max(cores.tolist()) - 1 if k is None else k))


def k_corona(G: Graph, k: int, core_number: dict[Any, int] | None = None) -> Any:
    structure = G.structure
    cores = _given_cores(G, core_number)
    inner = np.bincount(structure.rows[cores[structure.indices] >= k], minlength=len(G))
    return part(G, (cores == k) & (inner == k))


def k_truss(G: Graph, k: int) -> Any:
    _without_loops(G)
    structure, n = G.structure, len(G)
    rows, columns = structure.rows, structure.indices
    if "trusses" not in structure.found:
        structure.found["trusses"] = csgraph.truss_numbers(G.pattern)
    # Theirs ascend in each row, ours keep the graph's order.
    left = np.empty(columns.size, dtype=bool)
    least = max(0, min(k, 2**53))  # NumPy compares floats with no larger integers
    left[np.lexsort((columns, rows))] = structure.found["trusses"].data >= least
    return part(G, np.bincount(rows[left], minlength=n) > 0, left)


def onion_layers(G: Graph) -> dict[Any, int]:
    _without_loops(G, "contains")
    structure = G.structure
    n = len(G)
    degree = np.diff(structure.indptr)
    layers = np.zeros(n, dtype=np.int64)
    order = [np.flatnonzero(degree == 0)]
    layers[order[0]] = 1
    layer, core = (2 if order[0].size else 1), 1
    alive = degree > 0
    waiting = np.flatnonzero(alive)
    while waiting.size:
        here = degree[waiting]
        core = max(core, int(here.min()))
        chosen = here <= core
        # As NetworkX, which sorts by degree and keeps the order of the graph.
        peeled = waiting[chosen][np.argsort(here[chosen], kind="stable")]
        layers[peeled] = layer
        alive[peeled] = False
        order.append(peeled)
        neighbours = structure.indices[places_of(structure.indptr, peeled)]
        np.subtract.at(degree, neighbours[alive[neighbours]], 1)
        waiting = waiting[~chosen]
        layer += 1
    numbers = np.concatenate(order)
    return dict(zip(G.nodes.named(numbers), layers[numbers].tolist(), strict=True))


def ego_graph(
    G: Graph,
    n: Any,
    radius: float = 1,
    center: bool = True,
    undirected: bool = False,
    distance: Any = None,
) -> Any:
    if distance is not None:
        hash(n)  # TypeError, as NetworkX
        if n not in G:
            raise nx.NodeNotFound(f"Node {n} not found in graph")
        near = Distances(G, [n], radius, distance).order
    else:
        if n not in G:
            raise nx.NodeNotFound(f"Source {n} is not in G")
        both_ways = undirected_pattern(G.pattern) if undirected else G.pattern
        near = Search(both_ways, G.nodes.number(n)).within(radius)
    mask = np.zeros(len(G), dtype=bool)
    mask[near] = True
    if not center:
        mask[G.nodes.number(n)] = False
    return part(G, mask)
