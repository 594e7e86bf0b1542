"""Which calls are left to NetworkX: can_run (Penstock has no such variant) and should_run (NetworkX is faster).

Both are asked before the conversion, so they look at arguments only. What only the weights can tell (negative ones,
texts) is raised as NotImplementedError by the conversion or the function, which has the same effect.
"""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterator, Sized
from typing import Any

from _penstock_networkx import FUNCTIONS

from penstock.nx_backend._convert import BASES, earlier, refusal
from penstock.nx_backend._graph import NETWORKX, Graph

# Below this many nodes NetworkX has answered before the graph is converted (docs/networkx.md has the table).
FEW_NODES = 50

# Of these, some nodes take as long as all.
OF_ALL = (
    "triangles",
    "clustering",
    "average_clustering",
    "square_clustering",
    "generalized_degree",
)

Rule = Callable[[dict[str, Any]], str | None]


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


def _number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and bool(value == value)  # NaN is none


def _core(given: dict[str, Any]) -> str | None:
    if given["G"].is_directed():
        return "NetworkX counts edges in both directions twice, penstock once"
    return _simple(given)


def _sub_core(given: dict[str, Any]) -> str | None:
    if given["k"] is not None and not _number(given["k"]):
        return "k is no number"
    return _core(given)


def _order(given: dict[str, Any]) -> str | None:
    return "k is no number" if not _number(given["k"]) else _core(given)


def _given(**refused: str) -> Rule:
    """Arguments that must be left at None, each with the reason why."""

    def rule(given: dict[str, Any]) -> str | None:
        return next((why for name, why in refused.items() if given.get(name) is not None), None)

    return rule


def _bounds(given: dict[str, Any]) -> str | None:
    return "NetworkX searches from chosen nodes only" if given["usebounds"] else None


def _floyd(given: dict[str, Any]) -> str | None:
    if given["method"] in ("floyd-warshall", "floyd-warshall-numpy"):
        return "penstock searches from each node"
    return None


def _pairs(given: dict[str, Any]) -> str | None:
    if given["ebunch"] is None:
        return "NetworkX walks over all pairs that are not edges in an order of its own"
    if isinstance(given["ebunch"], Iterator):
        return "NetworkX reads an iterator of pairs twice"
    return None


def _ego(given: dict[str, Any]) -> str | None:
    if not _number(given["radius"]):
        return "radius is no number"
    if given["undirected"] and given["distance"] is not None and given["G"].is_directed():
        return "an edge and its reverse may have different lengths"
    return None


def _reversed(given: dict[str, Any]) -> str | None:
    if given["G"].is_multigraph() or not given["G"].is_directed():
        return "penstock looks for reversed edges of simple directed graphs"
    return None


def _squares(given: dict[str, Any]) -> str | None:
    if given["G"].is_directed():
        return "NetworkX counts successors only"
    if NETWORKX < (3, 6):
        return "older versions of NetworkX count self loops"
    return None


def _kruskal(given: dict[str, Any]) -> str | None:
    if given["G"].is_directed():
        return "a spanning tree is one of an undirected graph"
    return None if given["algorithm"] == "kruskal" else "penstock takes edges as Kruskal does"


def _create_using(given: dict[str, Any]) -> str | None:
    made = given["create_using"]
    if made is not None and made not in BASES:
        return "penstock makes graphs of NetworkX's four classes"
    if given.get("edge_key") is not None:
        return "penstock has no keys of parallel edges"
    return None


def _communities(given: dict[str, Any]) -> str | None:
    return "penstock finds communities of undirected graphs" if given["G"].is_directed() else None


def _leiden(given: dict[str, Any]) -> str | None:
    if given.get("metric", "modularity") != "modularity":
        return "penstock's communities have large modularity"
    level = given["max_level"]
    if level is not None and not (_number(level) and level <= 0):  # which the function refuses
        return "NetworkX's levels of Leiden's method are others"
    return _communities(given)


REFUSALS: dict[str, Rule] = {
    **dict.fromkeys(["louvain_communities", "louvain_partitions"], _communities),
    "leiden_communities": _leiden,
    "asyn_lpa_communities": lambda given: _communities(given) or _simple(given),
    **dict.fromkeys(
        ["bfs_edges", "generic_bfs_edges", "bfs_predecessors", "bfs_successors"], _neighbour_order
    ),
    **dict.fromkeys(["clustering", "average_clustering", "transitivity"], _plain_triangles),
    "triangles": _triangles,
    "generalized_degree": _simple,
    "square_clustering": _squares,
    **dict.fromkeys(["core_number", "onion_layers"], _core),
    **dict.fromkeys(["k_core", "k_shell", "k_crust"], _sub_core),
    **dict.fromkeys(["k_corona", "k_truss"], _order),
    "betweenness_centrality": _unweighted,
    "edge_betweenness_centrality": lambda given: _unweighted(given) or _simple(given),
    "eccentricity": _given(sp="the distances are given"),
    **dict.fromkeys(["diameter", "radius", "center", "periphery"], _bounds),
    "harmonic_centrality": _given(sources="penstock sums over all sources"),
    "average_shortest_path_length": _floyd,
    "average_neighbor_degree": _given(
        weight="penstock's variant has no weights", nodes="penstock counts the edges of all nodes"
    ),
    **dict.fromkeys(
        [
            "jaccard_coefficient",
            "adamic_adar_index",
            "resource_allocation_index",
            "preferential_attachment",
        ],
        _pairs,
    ),
    **dict.fromkeys(["reciprocity", "overall_reciprocity"], _reversed),
    "ego_graph": _ego,
    **dict.fromkeys(
        [
            "minimum_spanning_edges",
            "maximum_spanning_edges",
            "minimum_spanning_tree",
            "maximum_spanning_tree",
        ],
        _kruskal,
    ),
    **dict.fromkeys(
        ["from_scipy_sparse_array", "from_pandas_edgelist", "from_edgelist"], _create_using
    ),
}

# Functions whose weight, or distance, may be a function of (node, neighbour, data).
MEASURED = (
    {name for name in FUNCTIONS if "dijkstra" in name or "bellman_ford" in name}
    | {"shortest_path", "shortest_path_length", "average_shortest_path_length", "ego_graph"}
    | {"eccentricity", "diameter", "radius", "center", "periphery", "wiener_index"}
    | {"closeness_centrality", "harmonic_centrality"}
)


def _function(name: str, given: dict[str, Any]) -> str | None:
    if not any(callable(given.get(argument)) for argument in ("weight", "distance")):
        return None
    if name not in MEASURED:
        return "weight is a function"
    backwards = name in ("closeness_centrality", "harmonic_centrality") or (
        name in ("shortest_path", "shortest_path_length")
        and given["source"] is None
        and given["target"] is not None
    )
    if backwards and given["G"].is_directed():
        return "NetworkX calls the function with every edge reversed"
    return None


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
    if "G" in given:
        reason = refusal(given["G"]) or _function(name, given)
        if reason is not None:
            return reason
    return REFUSALS[name](given) if name in REFUSALS else None


# NetworkX has answered before a graph of any size is converted.
QUICK = {
    *["degree_centrality", "in_degree_centrality", "out_degree_centrality"],
    *["isolates", "number_of_isolates", "number_of_selfloops", "preferential_attachment"],
    *["descendants_at_distance", "ego_graph"],
    *["has_path", "bidirectional_shortest_path", "bidirectional_dijkstra"],
}


def _is_quick(name: str, given: dict[str, Any]) -> bool:
    if name in ("shortest_path", "shortest_path_length"):
        between = given["source"] is not None and given["target"] is not None
        return between and given["method"] == "dijkstra"
    if name in ("jaccard_coefficient", "adamic_adar_index", "resource_allocation_index"):
        pairs, graph = given["ebunch"], given["G"]
        return isinstance(pairs, Sized) and len(pairs) < len(graph)
    return name in QUICK


def why_rather_not(name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> str | None:
    """Why NetworkX answers sooner, or None."""
    given = _bound(function, args, kwargs)
    if isinstance(given, str) or "G" not in given or isinstance(given["G"], Graph):
        return None
    if len(given["G"]) < FEW_NODES:
        return f"the graph has fewer than {FEW_NODES} nodes"
    if given.get("nodes") is not None and name in OF_ALL:
        return "penstock would count the triangles of all nodes"
    if _is_quick(name, given) and earlier(given["G"]) is None:
        return "the graph is not converted yet, which takes longer than the answer"
    return None
