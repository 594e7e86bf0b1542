"""The NetworkX backend: every function against NetworkX itself, on random graphs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from nx_support import MANY, both, close, graphs, needs, same, some_node  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


@MANY
@given(graphs(), st.data())
def test_breadth_first(graph, data):
    source = some_node(data, graph)
    limit = data.draw(st.sampled_from([None, 0, 1, 2, 2.5, -1]))
    for name in ("bfs_edges", "generic_bfs_edges", "bfs_predecessors", "bfs_successors"):
        same(name, graph, source, depth_limit=limit)
    for name in (
        "single_source_shortest_path_length",
        "single_source_shortest_path",
    ):
        same(name, graph, source, cutoff=limit)
    ours, theirs = both("single_target_shortest_path_length", graph, source, cutoff=limit)
    if isinstance(theirs, list):  # NetworkX 3.4 yields pairs
        ours, theirs = dict(ours), dict(theirs)
    assert ours == theirs
    for name in ("all_pairs_shortest_path_length", "all_pairs_shortest_path"):
        same(name, graph, cutoff=limit)
    same("bfs_layers", graph, source)
    same("bfs_layers", graph, data.draw(st.lists(st.sampled_from(list(graph)))) if graph else [])
    same("descendants_at_distance", graph, source, limit)


@MANY
@given(graphs(), st.data())
def test_components(graph, data):
    if graph.is_directed():
        names = ["weakly_connected_components", "strongly_connected_components"]
        names += ["number_" + name for name in names]
        names += ["is_weakly_connected", "is_strongly_connected"]
    else:
        names = ["connected_components", "number_connected_components", "is_connected"]
        same("node_connected_component", graph, some_node(data, graph))
    for name in names:
        if name != "strongly_connected_components":
            same(name, graph)
            continue
        ours, theirs = both(name, graph)
        assert set(map(frozenset, ours)) == set(map(frozenset, theirs))
        place = {node: i for i, node in enumerate(graph)}
        first = [min(map(place.get, one)) for one in ours]
        assert first == sorted(first)


def is_shortest(graph, path, length, weight):
    def cost(u, v):
        held = graph[u][v].values() if graph.is_multigraph() else [graph[u][v]]
        return min(data.get(weight, 1) for data in held)

    return math.isclose(sum(map(cost, path, path[1:])), length, rel_tol=1e-12)


@needs("dijkstra_path")
@MANY
@given(graphs(), st.data())
def test_dijkstra(graph, data):
    source, target = some_node(data, graph), some_node(data, graph)
    weight = data.draw(st.sampled_from(["weight", None]))
    cutoff = data.draw(st.sampled_from([None, 0, 1.2, -1]))
    several = data.draw(st.lists(st.sampled_from(list(graph)))) if graph else []
    for name, where in (
        ("single_source_dijkstra_path_length", source),
        ("multi_source_dijkstra_path_length", several),
    ):
        ours, theirs = both(name, graph, where, cutoff=cutoff, weight=weight)
        assert ours == theirs, name
        if isinstance(ours, dict):
            assert list(ours.values()) == sorted(ours.values())
    ours, theirs = both("all_pairs_dijkstra_path_length", graph, cutoff=cutoff, weight=weight)
    assert ours == theirs
    ours, theirs = both("dijkstra_path_length", graph, source, target, weight=weight)
    assert ours == theirs
    for name, where in (("single_source_dijkstra", source), ("multi_source_dijkstra", several)):
        ours, theirs = both(name, graph, where, cutoff=cutoff, weight=weight)
        if isinstance(theirs, type):
            assert ours == theirs
            continue
        assert ours[0] == theirs[0] and ours[1].keys() == theirs[1].keys()
        for node, path in ours[1].items():
            assert path[-1] == node and path[0] in ([source] if where == source else several)
            assert is_shortest(graph, path, theirs[0][node], weight)
        ours, theirs = both(name, graph, where, target, cutoff=cutoff, weight=weight)
        assert ours == theirs or (ours[0] == theirs[0] and is_shortest(graph, *ours[::-1], weight))
    for name, where in (
        ("single_source_dijkstra_path", source),
        ("multi_source_dijkstra_path", several),
    ):
        ours, theirs = both(name, graph, where, cutoff=cutoff, weight=weight)
        assert ours == theirs or ours.keys() == theirs.keys()
    ours, theirs = both("dijkstra_path", graph, source, target, weight=weight)
    assert ours == theirs or (ours[0], ours[-1]) == (theirs[0], theirs[-1])


@needs("pagerank")
@MANY
@given(graphs(), st.data())
def test_pagerank(graph, data):
    def vector(least):
        some = data.draw(st.sampled_from([None, "some"]))
        return some and {node: data.draw(st.integers(least, 3)) for node in graph}

    close(
        "pagerank",
        graph,
        data.draw(st.sampled_from([0.85, 0.5, 0.0])),
        vector(0),
        weight=data.draw(st.sampled_from(["weight", None])),
        nstart=vector(1),
        dangling=vector(1),
        max_iter=data.draw(st.sampled_from([1000, 30, 1, 0])),
        tol=data.draw(st.sampled_from([1e-6, 1e-10])),
    )


@needs("pagerank")
@pytest.mark.parametrize(
    "graph", [nx.star_graph(9), nx.path_graph(80), nx.grid_2d_graph(8, 8), nx.barbell_graph(9, 9)]
)
def test_pagerank_takes_the_steps_of_networkx(graph):
    for options in (
        {},
        *(
            {"max_iter": 50},
            {"alpha": 1},
            {"alpha": -0.1},
            {"alpha": 1.5},
            {"tol": -1},
            {"tol": "x"},
        ),
    ):
        close("pagerank", graph, **options, rtol=1e-11)
    heavy = nx.path_graph(60)
    nx.set_edge_attributes(heavy, 1e308, "weight")
    with nx.config(backend_priority=["penstock"]):
        assert nx.pagerank(heavy, alpha=-0.1, weight=None)
    with pytest.raises(NotImplementedError):
        nx.pagerank(heavy, backend="penstock")


@needs("betweenness_centrality")
@MANY
@given(graphs(), st.data())
def test_betweenness(graph, data):
    options = {
        "normalized": data.draw(st.booleans()),
        "endpoints": data.draw(st.booleans()),
        "k": data.draw(st.sampled_from([None, *range(1, len(graph) + 1)])),
        "seed": data.draw(st.integers(0, 9)),
    }
    close("betweenness_centrality", graph, **options)


@MANY
@given(graphs(kinds=[0, 1]), st.data())
def test_edge_betweenness(graph, data):
    options = {
        "normalized": data.draw(st.booleans()),
        "k": data.draw(st.sampled_from([None, *range(1, len(graph) + 1)])),
        "seed": data.draw(st.integers(0, 9)),
    }
    close("edge_betweenness_centrality", graph, **options)


@needs("triangles")
@MANY
@given(graphs(kinds=[0]), st.data())
def test_triangles_and_clustering(graph, data):
    nodes = data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    same("triangles", graph, nodes)
    same("transitivity", graph)
    close("clustering", graph, nodes)
    close("average_clustering", graph, count_zeros=data.draw(st.booleans()))


@needs("triangles")
@MANY
@given(graphs(kinds=[2]))
def test_triangles_of_a_multigraph(graph):
    same("triangles", graph)


@MANY
@given(graphs(kinds=[0]))
def test_core_number(graph):
    same("core_number", graph)
