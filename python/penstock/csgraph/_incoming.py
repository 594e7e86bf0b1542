"""When a traversal gets the edges into each vertex: where they are at hand, or have been missed enough to form them.

Forming them costs as much as several searches, and some graphs never need them. So a search without them reports how
many edges they would have saved, and they are formed once these add up to what forming them costs.
"""

from __future__ import annotations

from typing import Any

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import incoming

# Turning a graph around takes about as long as walking its edges this many times.
COST = 3


def edges_in(graph: csr_array) -> Any:
    """The bound matrix of the reversed edges (the graph's own where its pattern is symmetric), or None."""
    if graph._derived.symmetric_pattern:
        return graph._core
    if knows_edges_in(graph) or has_missed(graph):
        return incoming(graph)._core
    return None


def knows_edges_in(graph: csr_array) -> bool:
    """Whether the reversed edges are there."""
    return bool(graph._derived.symmetric_pattern) or graph._derived.transpose is not None


def has_missed(graph: csr_array) -> bool:
    """Whether searches have missed the reversed edges as much as forming them costs."""
    return graph._derived.missed_edges > COST * graph.nnz


def note_missed(graph: csr_array, edges: int) -> None:
    if edges:
        graph._derived.missed_edges += edges


def plan_of(graph: csr_array) -> Any:
    """What the searches of one graph share, kept with it."""
    return graph._derived.once("bfs_plan", _core.BfsPlan)
