"""Graph algorithms over a `csr_array` read as an adjacency matrix: a stored entry (i, j) is an edge from i to j.

Names and returns follow `scipy.sparse.csgraph`, whose names are all here, and cuGraph: an explicit zero is an edge (of
weight 0), and duplicates are parallel edges. Every function also takes what `csr_array` takes. Of a dense array, zeros,
infinities, NaN and what is masked are no edges; zeros that a masked array shows are.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.csgraph._reverse_cuthill_mckee import reverse_cuthill_mckee
    from penstock.csgraph.betweenness import betweenness_centrality, source_sums, verify_betweenness
    from penstock.csgraph.breadth_first import bfs, breadth_first_order, verify_bfs
    from penstock.csgraph.communities import (
        label_propagation,
        leiden,
        louvain,
        modularity,
        verify_connected_communities,
    )
    from penstock.csgraph.components import (
        connected_components,
        strongly_connected_components,
        verify_components,
    )
    from penstock.csgraph.core import core_number, verify_core_number
    from penstock.csgraph.dense_graphs import (
        csgraph_from_dense,
        csgraph_from_masked,
        csgraph_masked_from_dense,
        csgraph_to_dense,
        csgraph_to_masked,
    )
    from penstock.csgraph.depth_first import breadth_first_tree, depth_first_order, depth_first_tree
    from penstock.csgraph.flow import MaximumFlowResult, maximum_flow
    from penstock.csgraph.gpu_options import GpuOptions
    from penstock.csgraph.laplace import laplacian
    from penstock.csgraph.matching import (
        maximum_bipartite_matching,
        min_weight_full_bipartite_matching,
        structural_rank,
    )
    from penstock.csgraph.page_rank import pagerank, verify_pagerank
    from penstock.csgraph.paths_all import floyd_warshall, shortest_path, yen
    from penstock.csgraph.paths_negative import NegativeCycleError, bellman_ford, johnson
    from penstock.csgraph.personalized import personalized_pagerank
    from penstock.csgraph.reconstruct import construct_dist_matrix, reconstruct_path
    from penstock.csgraph.search_plan import SearchPlan, explain
    from penstock.csgraph.shortest_paths import dijkstra, sssp, verify_sssp
    from penstock.csgraph.similar import most_similar, similarity
    from penstock.csgraph.spanning import minimum_spanning_tree, verify_minimum_spanning_tree
    from penstock.csgraph.triangle import (
        clustering,
        transitivity,
        triangle_count,
        triangles,
        verify_triangles,
    )
    from penstock.csgraph.trusses import k_truss, truss_numbers

# name -> the module of this package that holds it; imported when first asked for
_lazy: dict[str, str] = {
    "GpuOptions": "gpu_options",
    "MaximumFlowResult": "flow",
    "SearchPlan": "search_plan",
    "NegativeCycleError": "paths_negative",
    "bellman_ford": "paths_negative",
    "betweenness_centrality": "betweenness",
    "bfs": "breadth_first",
    "breadth_first_order": "breadth_first",
    "breadth_first_tree": "depth_first",
    "clustering": "triangle",
    "connected_components": "components",
    "construct_dist_matrix": "reconstruct",
    "core_number": "core",
    "csgraph_from_dense": "dense_graphs",
    "csgraph_from_masked": "dense_graphs",
    "csgraph_masked_from_dense": "dense_graphs",
    "csgraph_to_dense": "dense_graphs",
    "csgraph_to_masked": "dense_graphs",
    "depth_first_order": "depth_first",
    "depth_first_tree": "depth_first",
    "dijkstra": "shortest_paths",
    "explain": "search_plan",
    "floyd_warshall": "paths_all",
    "johnson": "paths_negative",
    "k_truss": "trusses",
    "label_propagation": "communities",
    "laplacian": "laplace",
    "leiden": "communities",
    "louvain": "communities",
    "maximum_bipartite_matching": "matching",
    "maximum_flow": "flow",
    "min_weight_full_bipartite_matching": "matching",
    "minimum_spanning_tree": "spanning",
    "modularity": "communities",
    "most_similar": "similar",
    "pagerank": "page_rank",
    "personalized_pagerank": "personalized",
    "reconstruct_path": "reconstruct",
    "reverse_cuthill_mckee": "_reverse_cuthill_mckee",
    "shortest_path": "paths_all",
    "similarity": "similar",
    "source_sums": "betweenness",
    "sssp": "shortest_paths",
    "strongly_connected_components": "components",
    "structural_rank": "matching",
    "transitivity": "triangle",
    "triangle_count": "triangle",
    "triangles": "triangle",
    "truss_numbers": "trusses",
    "verify_betweenness": "betweenness",
    "verify_bfs": "breadth_first",
    "verify_components": "components",
    "verify_connected_communities": "communities",
    "verify_core_number": "core",
    "verify_minimum_spanning_tree": "spanning",
    "verify_pagerank": "page_rank",
    "verify_sssp": "shortest_paths",
    "verify_triangles": "triangle",
    "yen": "paths_all",
}

__all__ = [
    "GpuOptions",
    "MaximumFlowResult",
    "NegativeCycleError",
    "SearchPlan",
    "bellman_ford",
    "betweenness_centrality",
    "bfs",
    "breadth_first_order",
    "breadth_first_tree",
    "clustering",
    "connected_components",
    "construct_dist_matrix",
    "core_number",
    "csgraph_from_dense",
    "csgraph_from_masked",
    "csgraph_masked_from_dense",
    "csgraph_to_dense",
    "csgraph_to_masked",
    "depth_first_order",
    "depth_first_tree",
    "dijkstra",
    "explain",
    "floyd_warshall",
    "johnson",
    "k_truss",
    "label_propagation",
    "laplacian",
    "leiden",
    "louvain",
    "maximum_bipartite_matching",
    "maximum_flow",
    "min_weight_full_bipartite_matching",
    "minimum_spanning_tree",
    "modularity",
    "most_similar",
    "pagerank",
    "personalized_pagerank",
    "reconstruct_path",
    "reverse_cuthill_mckee",
    "shortest_path",
    "similarity",
    "source_sums",
    "sssp",
    "strongly_connected_components",
    "structural_rank",
    "transitivity",
    "triangle_count",
    "triangles",
    "truss_numbers",
    "verify_betweenness",
    "verify_bfs",
    "verify_components",
    "verify_connected_communities",
    "verify_core_number",
    "verify_minimum_spanning_tree",
    "verify_pagerank",
    "verify_sssp",
    "verify_triangles",
    "yen",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.csgraph' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.csgraph.{_lazy[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
