"""Graph algorithms over a `csr_array` read as an adjacency matrix: a stored entry (i, j) is an edge from i to j.

Names and returns follow `scipy.sparse.csgraph` and cuGraph. Every function also takes what `csr_array` takes. Unlike
SciPy's, an explicit zero is an edge (of weight 0), and duplicates are parallel edges.
"""

from __future__ import annotations

import importlib
from typing import Any

# name -> the module of this package that holds it; imported when first asked for
_lazy: dict[str, str] = {
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

__all__ = sorted(_lazy)


def __getattr__(name: str) -> Any:
    if name not in _lazy:
        raise AttributeError(f"module 'penstock.csgraph' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"penstock.csgraph.{_lazy[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
