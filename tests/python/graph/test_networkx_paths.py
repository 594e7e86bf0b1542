"""The NetworkX backend between nodes: paths, Bellman-Ford, distances, orders, against NetworkX on random graphs."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from nx_support import MANY, both, close, graphs, same, some_node  # noqa: E402
from penstock.nx_backend import from_networkx  # noqa: E402
from penstock.nx_backend._meeting import FAR  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs"),
    pytest.mark.filterwarnings(r"ignore:\s*shortest_path will return:FutureWarning"),
]


def cost(u, v, data):
    """A weight that depends on the ends and on the data; of a multigraph the data are {key: data}."""
    if data and all(isinstance(one, dict) for one in data.values()):
        return min(one.get("weight", 1) for one in data.values()) + len(str(v)) % 3
    return data.get("weight", 1) + len(str(v)) % 3


def walked(graph, path, weight):
    """The length of a path, None where an edge is missing."""
    total = 0
    for u, v in pairwise(path):
        if not graph.has_edge(u, v):
            return None
        held = graph[u][v]
        if callable(weight):
            total += weight(u, v, held)
        elif weight is None:
            total += 1
        else:
            every = held.values() if graph.is_multigraph() else [held]
            total += min(data.get(weight, 1) for data in every)
    return total


def alike(graph, ours, theirs, weight):
    """Equal, or other shortest paths between the same nodes, in dicts, tuples and lists."""
    if ours == theirs:
        return True
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(
            alike(graph, ours[node], theirs[node], weight) for node in theirs
        )
    pairs = isinstance(theirs, list) and theirs and isinstance(theirs[0], tuple)
    if isinstance(theirs, tuple) or (pairs and isinstance(theirs[0][-1], (dict, tuple))):
        return len(ours) == len(theirs) and all(
            alike(graph, a, b, weight) for a, b in zip(ours, theirs, strict=True)
        )
    if not isinstance(theirs, list):
        return math.isclose(ours, theirs, rel_tol=1e-12)
    lengths = walked(graph, ours, weight), walked(graph, theirs, weight)
    return (ours[0], ours[-1]) == (theirs[0], theirs[-1]) and math.isclose(*lengths, rel_tol=1e-9)


@MANY
@given(graphs(), st.data())
def test_shortest_paths(graph, data):
    ends = {"source": some_node(data, graph), "target": some_node(data, graph)}
    for missing in data.draw(st.sampled_from([(), ("source",), ("target",), ("source", "target")])):
        ends[missing] = None
    weight = data.draw(st.sampled_from([None, "weight", cost]))
    method = data.draw(st.sampled_from(["dijkstra", "bellman-ford", "nonsense"]))
    for name in ("shortest_path", "shortest_path_length"):
        backwards = ends["source"] is None and ends["target"] is not None
        if weight is cost and graph.is_directed() and backwards:
            continue  # left to NetworkX
        ours, theirs = both(name, graph, **ends, weight=weight, method=method)
        assert alike(graph, ours, theirs, weight), name


@MANY
@given(graphs(), st.data())
def test_between_two_nodes(graph, data):
    source, target = some_node(data, graph), some_node(data, graph)
    same("has_path", graph, source, target)
    if graph.is_directed():
        ours, theirs = both("bidirectional_shortest_path", graph, source, target)
        assert alike(graph, ours, theirs, None)
    else:
        same("bidirectional_shortest_path", graph, source, target)
    for weight in ("weight", None, cost):
        if weight is not cost and not graph.is_directed():
            ours, theirs = both("bidirectional_dijkstra", graph, source, target, weight=weight)
            assert ours == theirs  # the same path
        ours, theirs = both("bidirectional_dijkstra", graph, source, target, weight=weight)
        assert alike(graph, ours, theirs, weight)
    ours, theirs = both("all_pairs_dijkstra", graph)
    assert alike(graph, ours, theirs, "weight")
    ours, theirs = both("all_pairs_dijkstra_path", graph, cutoff=1.5)
    assert alike(graph, ours, theirs, "weight")


def test_far_apart():
    graph = nx.path_graph(3 * FAR)
    graph.add_node("alone")
    graph.add_edges_from([(f"a{i}", f"a{i + 1}") for i in range(3 * FAR)])
    held = from_networkx(graph)
    assert nx.shortest_path(held, 5, 3 * FAR - 3) == list(range(5, 3 * FAR - 2))
    assert not nx.has_path(held, 0, "alone") and not nx.has_path(held, 0, "a7")
    assert nx.shortest_path_length(held, 0, 3 * FAR - 1) == 3 * FAR - 1


@MANY
@given(graphs(), st.data())
def test_searches(graph, data):
    node = some_node(data, graph)
    cutoff = data.draw(st.sampled_from([None, 0, 1, 2, 2.5]))
    ours, theirs = both("single_target_shortest_path", graph, node, cutoff=cutoff)
    assert alike(graph, ours, theirs, None)
    for target in (None, some_node(data, graph)):
        for seen in (None, True):
            same("predecessor", graph, node, target=target, cutoff=cutoff, return_seen=seen)
    for name in ("ancestors", "descendants"):
        ours, theirs = both(name, graph, node)
        assert ours == theirs, name


def negative(draw, graph):
    for *_, data in graph.edges(data=True):
        if draw(st.booleans()):
            data["weight"] = draw(st.sampled_from([-1, -2, 3, 5, 0]))


@MANY
@given(graphs(), st.data())
def test_bellman_ford(graph, data):
    if data.draw(st.booleans()):
        negative(data.draw, graph)
    source, target = some_node(data, graph), some_node(data, graph)
    weight = data.draw(st.sampled_from(["weight", None, cost]))
    for name, where in (
        ("single_source_bellman_ford", (source,)),
        ("single_source_bellman_ford", (source, target)),
        ("single_source_bellman_ford_path", (source,)),
        ("single_source_bellman_ford_path_length", (source,)),
        ("bellman_ford_path", (source, target)),
        ("bellman_ford_path_length", (source, target)),
        ("all_pairs_bellman_ford_path", ()),
        ("all_pairs_bellman_ford_path_length", ()),
    ):
        ours, theirs = both(name, graph, *where, weight=weight)
        if isinstance(theirs, type) or isinstance(ours, type):
            assert ours == theirs, name
        else:
            assert alike(graph, ours, theirs, weight), name
    ours, theirs = both("bellman_ford_predecessor_and_distance", graph, source, weight=weight)
    if isinstance(theirs, type):
        assert ours == theirs
        return
    assert ours[1] == theirs[1] and ours[0].keys() == theirs[0].keys()
    for node, before in theirs[0].items():
        assert sorted(map(str, ours[0][node])) == sorted(map(str, before))


@MANY
@given(graphs(), st.data())
def test_negative_edge_cycle(graph, data):
    negative(data.draw, graph)
    same("negative_edge_cycle", graph)


@pytest.mark.parametrize("seed", range(8))
def test_bellman_ford_of_large_rounds(seed):
    # Potentials make negative weights without a negative cycle; rounds of more than a few edges.
    graph = nx.gnp_random_graph(300, 0.05, seed=seed, directed=True)
    rng = random.Random(seed)
    height = {node: rng.randint(0, 50) for node in graph}
    for u, v, data in graph.edges(data=True):
        data["weight"] = rng.randint(0, 9) + height[u] - height[v]
    assert any(w < 0 for *_, w in graph.edges(data="weight"))
    ours, theirs = both("single_source_bellman_ford_path_length", graph, 0)
    assert ours == theirs
    u, v = next(iter(nx.DiGraph(graph).edges))
    graph.add_edge(v, u, weight=-graph[u][v]["weight"] - 1)
    ours, theirs = both("single_source_bellman_ford_path_length", graph, 0)
    assert ours == theirs == nx.NetworkXUnbounded
    same("negative_edge_cycle", graph)


@MANY
@given(graphs(), st.data())
def test_distance_measures(graph, data):
    weight = data.draw(st.sampled_from([None, "weight", cost]))
    node = data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    same_or_close("eccentricity", graph, v=node, weight=weight)
    for name in ("diameter", "radius", "center", "periphery", "wiener_index"):
        ours, theirs = both(name, graph, weight=weight)
        if isinstance(theirs, list):
            assert set(ours) == set(theirs) and len(ours) == len(theirs), name
        else:
            assert ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12), name
    for method in (None, "unweighted", "dijkstra", "bellman-ford", "nonsense"):
        ours, theirs = both("average_shortest_path_length", graph, weight, method)
        assert ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12)


def same_or_close(name, graph, **kwargs):
    ours, theirs = both(name, graph, **kwargs)
    assert ours == theirs or (
        list(ours) == list(theirs)
        and all(math.isclose(ours[k], theirs[k], rel_tol=1e-12) for k in theirs)
    )


@MANY
@given(graphs(), st.data())
def test_closeness_and_harmonic(graph, data):
    weight = data.draw(st.sampled_from([None, "weight"]))
    improved = data.draw(st.booleans())
    close("closeness_centrality", graph, distance=weight, wf_improved=improved)
    node = some_node(data, graph)
    ours, theirs = both("closeness_centrality", graph, node, weight, improved)
    assert ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12)
    some = data.draw(st.sampled_from([None, [], list(graph)[:2], list(graph)]))
    ours, theirs = both("harmonic_centrality", graph, some, weight)
    assert ours.keys() == theirs.keys()
    assert all(math.isclose(ours[v], theirs[v], rel_tol=1e-12) for v in theirs)
    ours, theirs = both("global_efficiency", graph)
    assert ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12)


@MANY
@given(graphs(kinds=[1, 3]), st.booleans())
def test_orders(graph, forward):
    if forward:  # without cycles
        place = {node: i for i, node in enumerate(graph)}
        graph.remove_edges_from([e for e in graph.edges if place[e[0]] >= place[e[1]]])
    for name in ("topological_generations", "topological_sort", "is_directed_acyclic_graph"):
        same(name, graph)


@pytest.mark.parametrize("seed", range(5))
def test_wide_generations(seed):
    graph = nx.gnp_random_graph(600, 0.003, seed=seed, directed=True)
    graph.remove_edges_from([(u, v) for u, v in graph.edges if u > v])
    shuffled = list(graph)
    random.Random(seed).shuffle(shuffled)
    moved = nx.DiGraph()
    moved.add_nodes_from(shuffled)
    moved.add_edges_from(graph.edges)
    same("topological_generations", moved)
    same("topological_sort", moved)


def test_undirected_graphs_have_no_order():
    for name in ("topological_generations", "topological_sort", "is_directed_acyclic_graph"):
        same(name, nx.path_graph(5))


def test_a_weight_function_that_raises_is_left_to_networkx():
    graph = nx.path_graph(60)
    graph.add_edge("a", "b")

    def strict(u, v, data):
        return abs(u - v)  # no number between texts

    with nx.config(backend_priority=["penstock"]):
        assert nx.dijkstra_path_length(graph, 0, 59, weight=strict) == 59
        graph.add_edge(6, 8)

        def hides_seven(u, v, data):
            return None if 7 in (u, v) else 1

        assert nx.shortest_path_length(graph, 0, 59, weight=hides_seven) == 58


def test_sources_are_at_the_whole_number_0():
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.5), ("b", "c", 1.5)])
    same("single_source_dijkstra_path_length", graph, "b")
    same("single_source_dijkstra", graph, "a", cutoff=1)
    same("multi_source_dijkstra_path_length", graph, ["a", "c"])
    same("all_pairs_dijkstra_path_length", graph)
    alone = nx.DiGraph([(0, 0, {"weight": 0.5})])
    same("eccentricity", alone, weight="weight")


def test_short_numbers_of_numpy_are_added_by_networkx():
    for kind in (np.float32, np.float16, np.int8, np.int32):
        graph = nx.path_graph(60)
        nx.set_edge_attributes(graph, kind(3), "weight")
        for name in (
            "single_source_dijkstra_path_length",
            "single_source_bellman_ford_path_length",
        ):
            with pytest.raises(NotImplementedError):
                getattr(nx, name)(graph, 0, backend="penstock")
    nx.set_edge_attributes(graph, np.int64(3), "weight")
    assert nx.dijkstra_path_length(graph, 0, 9, backend="penstock") == 27


def test_a_target_that_bellman_and_ford_do_not_reach():
    graph = nx.DiGraph([(1, 2)])
    graph.add_node(5)
    for name in ("bellman_ford_path", "single_source_bellman_ford", "bellman_ford_path_length"):
        said = []
        for backend in ("penstock", "networkx"):
            with pytest.raises(nx.NetworkXNoPath) as raised:
                getattr(nx, name)(graph, 1, 5, backend=backend)
            said.append(str(raised.value))
        assert said[0] == said[1], name
