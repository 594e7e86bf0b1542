"""What `import networkx` reads about the backend penstock; a package of its own, for it must not import Penstock."""

from __future__ import annotations

from typing import Any

# name -> what differs from NetworkX, for the function's documentation; empty where nothing does
FUNCTIONS: dict[str, str] = {
    "all_pairs_dijkstra_path_length": "",
    "all_pairs_shortest_path": "",
    "all_pairs_shortest_path_length": "",
    "average_clustering": "Undirected graphs without `weight`.",
    "betweenness_centrality": "Without `weight`.",
    "bfs_edges": "Without `sort_neighbors`; `reverse` on undirected graphs only.",
    "bfs_layers": "",
    "bfs_predecessors": "Without `sort_neighbors`.",
    "bfs_successors": "Without `sort_neighbors`.",
    "clustering": "Undirected graphs without `weight`.",
    "connected_components": "",
    "core_number": "Undirected graphs.",
    "descendants_at_distance": "",
    "dijkstra_path": "Where there are several shortest paths, another one may be returned.",
    "dijkstra_path_length": "",
    "generic_bfs_edges": "Without `neighbors`.",
    "is_connected": "",
    "is_strongly_connected": "",
    "is_weakly_connected": "",
    "multi_source_dijkstra": "Where there are several shortest paths, another one may be returned.",
    "multi_source_dijkstra_path": "Where there are several shortest paths, another one may be returned.",
    "multi_source_dijkstra_path_length": "",
    "node_connected_component": "",
    "number_connected_components": "",
    "number_strongly_connected_components": "",
    "number_weakly_connected_components": "",
    "pagerank": "Weights, `personalization`, `nstart` and `dangling` must not be negative.",
    "single_source_dijkstra": "Where there are several shortest paths, another one may be returned.",
    "single_source_dijkstra_path": "Where there are several shortest paths, another one may be returned.",
    "single_source_dijkstra_path_length": "",
    "single_source_shortest_path": "",
    "single_source_shortest_path_length": "",
    "single_target_shortest_path_length": "",
    "strongly_connected_components": "In the order of their first nodes, not of Tarjan's search.",
    "transitivity": "Undirected graphs.",
    "triangles": "",
    "weakly_connected_components": "",
}


def get_info() -> dict[str, Any]:
    """The metadata of the entry point `networkx.backend_info`."""
    return {
        "backend_name": "penstock",
        "project": "penstock",
        "package": "penstock.nx_backend",
        "short_summary": "Graph algorithms in C++ on all cores, results as NetworkX's.",
        "functions": {
            name: {"additional_docs": text} if text else {} for name, text in FUNCTIONS.items()
        },
    }
