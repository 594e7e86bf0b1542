"""Penstock as a backend of NetworkX: `nx.pagerank(G, backend="penstock")`, or by `nx.config.backend_priority`.

NetworkX finds it through its entry points and converts graphs when needed; `from_networkx` converts once, by hand.
"""

from __future__ import annotations

from penstock.nx_backend._convert import convert_to_nx as to_networkx
from penstock.nx_backend._convert import from_networkx
from penstock.nx_backend._graph import Graph

__all__ = ["Graph", "from_networkx", "to_networkx"]
