"""Which calls are left to NetworkX: can_run (Penstock has no such variant) and should_run (NetworkX is faster).

Both are asked before the conversion, so they look at arguments only. What only the weights can tell (negative ones,
texts) is raised as NotImplementedError by the conversion or the function, which has the same effect.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.nx_backend._convert import refusal
from penstock.nx_backend._graph import Graph

# Below this many nodes NetworkX has answered before the graph is converted (docs/networkx.md has the table).
FEW_NODES = 50


def _neighbour_order(given: dict[str, Any]) -> str | None:
    if given.get("sort_neighbors") is not None or given.get("neighbors") is not None:
        return "the order of neighbours is given by a function"
    if given.get("reverse") and given["G"].is_directed():
        return "the order of predecessors is not kept"
    return None


def _unweighted(given: dict[str, Any]) -> str | None:
    return None if given["weight"] is None else "penstock's variant has no weights"


def _plain_triangles(given: dict[str, Any]) -> str | None:
    if given.get("weight") is not None:
        return "penstock's variant has no weights"
    if given["G"].is_directed():
        return "penstock counts triangles of undirected graphs"
    return _simple(given)


def _simple(given: dict[str, Any]) -> str | None:
    return "penstock's variant has no parallel edges" if given["G"].is_multigraph() else None


def _triangles(given: dict[str, Any]) -> str | None:
    return None if given["nodes"] is None else _simple(given)


def _core(given: dict[str, Any]) -> str | None:
    if given["G"].is_directed():
        return "NetworkX counts edges in both directions twice, penstock once"
    return _simple(given)


REFUSALS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    **dict.fromkeys(
        ["bfs_edges", "generic_bfs_edges", "bfs_predecessors", "bfs_successors"], _neighbour_order
    ),
    **dict.fromkeys(["clustering", "average_clustering", "transitivity"], _plain_triangles),
    "triangles": _triangles,
    "core_number": _core,
    "betweenness_centrality": _unweighted,
}


def _bound(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any] | str:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError as error:  # NetworkX shall say it in its own words
        return str(error)
    bound.apply_defaults()
    return bound.arguments


def why_not(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """Why Penstock cannot run a call, or None."""
    given = _bound(function, args, kwargs)
    if isinstance(given, str):
        return given
    reason = refusal(given["G"])
    if reason is None and callable(given.get("weight")):
        reason = "weight is a function"
    if reason is None and name in REFUSALS:
        reason = REFUSALS[name](given)
    return reason


def why_rather_not(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """Why NetworkX answers sooner, or None."""
    given = _bound(function, args, kwargs)
    if isinstance(given, str) or isinstance(given["G"], Graph):
        return None
    if len(given["G"]) < FEW_NODES:
        return f"the graph has fewer than {FEW_NODES} nodes"
    if given.get("nodes") is not None and name in ("triangles", "clustering", "average_clustering"):
        return "penstock would count the triangles of all nodes"
    return None
