"""Graph algorithms over a `csr_array` read as an adjacency matrix: a stored entry (i, j) is an edge from i to j.

Names and returns follow `scipy.sparse.csgraph` and cuGraph: an explicit zero is an edge (of weight 0), and duplicates
are parallel edges. Every function also takes what `csr_array` takes. Of a dense array, zeros, infinities, NaN and what
is masked are no edges; zeros that a masked array shows are.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.csgraph._reverse_cuthill_mckee import reverse_cuthill_mckee
    from penstock.csgraph.betweenness import betweenness_centrality, source_sums, verify_betweenness
    from penstock.csgraph.breadth_first import bfs, breadth_first_order, verify_bfs
    from penstock.csgraph.components import (
        connected_components,
        strongly_connected_components,
        verify_components,
    )
    from penstock.csgraph.core import core_number, verify_core_number
    from penstock.csgraph.gpu_options import GpuOptions
    from penstock.csgraph.page_rank import pagerank, verify_pagerank
    from penstock.csgraph.shortest_paths import dijkstra, sssp, verify_sssp
    from penstock.csgraph.triangle import (
        clustering,
        transitivity,
        triangle_count,
        triangles,
        verify_triangles,
    )

# name -> the module of this package that holds it; imported when first asked for
_lazy: dict[str, str] = {
    "GpuOptions": "gpu_options",
    "betweenness_centrality": "betweenness",
    "bfs": "breadth_first",
    "breadth_first_order": "breadth_first",
    "clustering": "triangle",
    "connected_components": "components",
    "core_number": "core",
    "dijkstra": "shortest_paths",
    "pagerank": "page_rank",
    "reverse_cuthill_mckee": "_reverse_cuthill_mckee",
    "source_sums": "betweenness",
    "sssp": "shortest_paths",
    "strongly_connected_components": "components",
    "transitivity": "triangle",
    "triangle_count": "triangle",
    "triangles": "triangle",
    "verify_betweenness": "betweenness",
    "verify_bfs": "breadth_first",
    "verify_components": "components",
    "verify_core_number": "core",
    "verify_pagerank": "page_rank",
    "verify_sssp": "shortest_paths",
    "verify_triangles": "triangle",
}

__all__ = [
    "GpuOptions",
    "betweenness_centrality",
    "bfs",
    "breadth_first_order",
    "clustering",
    "connected_components",
    "core_number",
    "dijkstra",
    "pagerank",
    "reverse_cuthill_mckee",
    "source_sums",
    "sssp",
    "strongly_connected_components",
    "transitivity",
    "triangle_count",
    "triangles",
    "verify_betweenness",
    "verify_bfs",
    "verify_components",
    "verify_core_number",
    "verify_pagerank",
    "verify_sssp",
    "verify_triangles",
]


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.csgraph' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.csgraph.{_lazy[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
