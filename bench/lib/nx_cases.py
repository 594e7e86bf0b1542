"""What bench/nx_backend.py calls: every function of the backend with its arguments, and the graphs it is called on.

On "small" graphs run the functions that search from every node, which would take plain NetworkX hours on a large one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import networkx as nx
import numpy as np


@dataclass(frozen=True)
class Call:
    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    on: str = "undirected"
    take: int | None = None  # so many items of what a generator yields
    digits: float = 0.0  # results may differ by this, relative


def random_graph(nodes: int, edges: int, kind: Any, ring: bool = False) -> Any:
    """Nodes in the order 0, 1, ...; weights in [0, 1); repeated edges and self loops left out."""
    random = np.random.default_rng(1)
    graph = kind()
    graph.add_nodes_from(range(nodes))
    ends = random.integers(0, nodes, (2, edges))
    if ring:  # strongly connected
        ends[:, :nodes] = np.arange(nodes), (np.arange(nodes) + 1) % nodes
    weights = random.random(edges).tolist()
    graph.add_weighted_edges_from(
        (u, v, weight) for u, v, weight in zip(*ends.tolist(), weights, strict=True) if u != v
    )
    return graph


def acyclic(nodes: int, edges: int) -> Any:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    given = random_graph(nodes, edges, nx.DiGraph).edges(data=True)
    graph.add_edges_from((u, v, data) if u < v else (v, u, data) for u, v, data in given)
    return graph


def negative(nodes: int, edges: int) -> Any:
    """Some weights are negative and no cycle is: each node has a height."""
    graph = random_graph(nodes, edges, nx.DiGraph)
    height = np.random.default_rng(2).integers(0, 9, nodes).tolist()
    for u, v, data in graph.edges(data=True):
        data["weight"] = int(100 * data["weight"]) + 10 * (height[u] - height[v])
    return graph


def tree(nodes: int, directed: bool) -> Any:
    graph = nx.DiGraph() if directed else nx.Graph()
    parents = (np.random.default_rng(3).random(nodes) * np.arange(nodes)).astype(int).tolist()
    graph.add_node(0)
    graph.add_edges_from((parents[v], v) for v in range(1, nodes))
    return graph


GRAPHS: dict[str, Any] = {
    "undirected": lambda n, m: random_graph(n, m, nx.Graph),
    "directed": lambda n, m: random_graph(n, m, nx.DiGraph),
    "acyclic": acyclic,
    "negative": negative,
    "tree": lambda n, m: tree(m, False),
    "out-tree": lambda n, m: tree(m, True),
    "small": lambda n, m: random_graph(600, 3000, nx.Graph, ring=True),
    "list": lambda n, m: random_graph(n, m, nx.Graph),
}

_ROUNDED = 1e-6


def _pairs(nodes: int) -> list[tuple[int, int]]:
    some = np.random.default_rng(4).integers(0, nodes, (nodes, 2))
    return list(map(tuple, some[some[:, 0] != some[:, 1]].tolist()))


def calls(nodes: int) -> list[Call]:
    far = nodes // 2
    pairs = (_pairs(nodes),)
    return [
        *(Call(name, (0,)) for name in ("bfs_edges", "generic_bfs_edges", "bfs_predecessors")),
        *(Call(name, (0,)) for name in ("bfs_successors", "bfs_layers", "predecessor")),
        Call("descendants_at_distance", (0, 5)),
        Call("ancestors", (far,), on="directed"),
        Call("descendants", (0,), on="directed"),
        *(
            Call(f"{name}_shortest_path{kind}", (0,))
            for name in ("single_source", "single_target")
            for kind in ("", "_length")
        ),
        *(Call(f"all_pairs_shortest_path{kind}", take=2) for kind in ("", "_length")),
        *(Call(name, (0, far)) for name in ("has_path", "bidirectional_shortest_path")),
        Call("shortest_path", (0,)),
        Call("shortest_path_length", (0,)),
        Call("shortest_path", (0, far)),
        Call("average_shortest_path_length", on="small", digits=_ROUNDED),
        *(Call(f"dijkstra_path{kind}", (0, far)) for kind in ("", "_length")),
        Call("bidirectional_dijkstra", (0, far)),
        *(Call(f"single_source_dijkstra{kind}", (0,)) for kind in ("", "_path", "_path_length")),
        *(
            Call(f"multi_source_dijkstra{kind}", ({0, 1},))
            for kind in ("", "_path", "_path_length")
        ),
        *(Call(f"all_pairs_dijkstra{kind}", take=2) for kind in ("", "_path", "_path_length")),
        *(Call(f"bellman_ford_path{kind}", (0, far), on="negative") for kind in ("", "_length")),
        Call("bellman_ford_predecessor_and_distance", (0,), on="negative"),
        *(
            Call(f"single_source_bellman_ford{kind}", (0,), on="negative")
            for kind in ("", "_path", "_path_length")
        ),
        *(
            Call(f"all_pairs_bellman_ford_path{kind}", on="negative", take=1)
            for kind in ("", "_length")
        ),
        Call("negative_edge_cycle", on="negative"),
        *(
            Call(name, on="small")
            for name in ("eccentricity", "diameter", "radius", "center", "periphery")
        ),
        Call("wiener_index", on="small"),
        Call("global_efficiency", on="small", digits=_ROUNDED),
        Call("closeness_centrality", on="small", digits=_ROUNDED),
        Call("harmonic_centrality", on="small", digits=_ROUNDED),
        *(Call(name) for name in ("connected_components", "number_connected_components")),
        Call("is_connected"),
        Call("node_connected_component", (0,)),
        *(
            Call(name, on="directed")
            for kind in ("weakly", "strongly")
            for name in (
                f"{kind}_connected_components",
                f"number_{kind}_connected_components",
                f"is_{kind}_connected",
            )
        ),
        *(Call(name, on="acyclic") for name in ("topological_sort", "topological_generations")),
        Call("is_directed_acyclic_graph", on="acyclic"),
        Call("pagerank", digits=1e-4),
        Call("hits", on="directed", digits=1e-4),
        Call("eigenvector_centrality", options={"max_iter": 500}, digits=_ROUNDED),
        Call("eigenvector_centrality_numpy", on="small", digits=_ROUNDED),
        Call("katz_centrality", options={"alpha": 0.01}, digits=_ROUNDED),
        Call("betweenness_centrality", options={"k": 2, "seed": 1}, digits=_ROUNDED),
        Call("edge_betweenness_centrality", options={"k": 2, "seed": 1}, digits=_ROUNDED),
        Call("degree_centrality"),
        Call("in_degree_centrality", on="directed"),
        Call("out_degree_centrality", on="directed"),
        Call("average_neighbor_degree", digits=_ROUNDED),
        *(Call(name, on="directed") for name in ("reciprocity", "overall_reciprocity")),
        *(Call(name) for name in ("isolates", "number_of_isolates", "number_of_selfloops")),
        *(Call(name) for name in ("triangles", "transitivity", "clustering")),
        Call("average_clustering", digits=_ROUNDED),
        *(Call(name) for name in ("square_clustering", "generalized_degree")),
        *(Call(name) for name in ("core_number", "onion_layers")),
        *(Call(name) for name in ("k_core", "k_shell", "k_crust")),
        Call("k_corona", (5,)),
        Call("k_truss", (3,)),
        Call("ego_graph", (0, 4)),
        *(
            Call(name, pairs, digits=_ROUNDED)
            for name in ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index")
        ),
        Call("preferential_attachment", pairs),
        *(Call(name, on="tree") for name in ("is_tree", "is_forest", "is_bipartite")),
        *(Call(name, on="out-tree") for name in ("is_arborescence", "is_branching")),
        *(
            Call(f"{name}_spanning_edges", options={"data": False})
            for name in ("minimum", "maximum")
        ),
        *(Call(f"{name}_spanning_tree") for name in ("minimum", "maximum")),
        *(
            Call(f"from_{name}", on="list")
            for name in ("scipy_sparse_array", "pandas_edgelist", "edgelist")
        ),
    ]
