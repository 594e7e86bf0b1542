"""NetworkX through Penstock: views of every kind, graphs that change under a view, and what versions do differently.

Run with NetworkX 3.4 (the oldest) and the newest first on PYTHONPATH, too.
"""

import random
import warnings
from collections.abc import Iterator

import pytest

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

import nx_support  # noqa: E402, F401
from penstock.nx_backend import _rank, _traverse, from_networkx  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs"),
    pytest.mark.filterwarnings(r"ignore:\s*single_target_shortest_path_length:FutureWarning"),
]
KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def made(kind, seed):
    rng = random.Random(seed)
    graph = kind()
    graph.add_nodes_from(rng.sample(range(14), 14))
    for _ in range(26):
        graph.add_edge(rng.randrange(14), rng.randrange(14), weight=rng.randint(1, 9))
    if graph.is_multigraph():
        graph.add_edge(1, 2, key="another", weight=3)
    return graph


def views(graph, seed):
    rng = random.Random(seed)
    nodes = rng.sample(list(graph), 9)
    keys = {"keys": True} if graph.is_multigraph() else {}
    edges = [edge for edge in graph.edges(**keys) if rng.random() < 0.6]
    yield graph.subgraph(nodes)
    yield graph.subgraph(nodes[:4])
    yield graph.edge_subgraph(edges)
    yield graph.edge_subgraph(edges[:3])
    yield nx.restricted_view(graph, nodes[:3], edges[:5])
    yield nx.subgraph_view(graph, filter_node=lambda n: n % 3)
    yield nx.subgraph_view(graph, filter_edge=lambda u, v, *key: (u * v + u + v) % 3)
    yield nx.subgraph_view(graph, filter_edge=lambda u, v, *key: (2 * u + v) % 3)
    yield graph.subgraph(nodes).subgraph(nodes[2:])
    yield graph.copy(as_view=True)
    yield nx.freeze(graph.copy())
    yield graph.to_directed(as_view=True)
    yield graph.to_undirected(as_view=True)
    if graph.is_directed():
        yield graph.reverse(copy=False)


def views_of_views(graph, seed):
    for view in views(graph, seed):
        yield view
        yield view.to_undirected(as_view=True)
        yield view.to_directed(as_view=True)
        yield view.subgraph(list(view)[::2])
        yield nx.subgraph_view(view, filter_edge=lambda u, v, *key: (u + v) % 4)
        if view.is_directed():
            yield view.reverse(copy=False)


def rounded(scores):
    return {node: round(score, 8) for node, score in scores.items()}


CALLS = {
    "bfs_edges": lambda G, s, b: nx.bfs_edges(G, s, backend=b),
    "bfs_layers": lambda G, s, b: nx.bfs_layers(G, s, backend=b),
    "hops": lambda G, s, b: nx.single_source_shortest_path_length(G, s, backend=b),
    "hops back": lambda G, s, b: dict(nx.single_target_shortest_path_length(G, s, backend=b)),
    "dijkstra": lambda G, s, b: dict(nx.single_source_dijkstra_path_length(G, s, backend=b)),
    "components": lambda G, s, b: nx.connected_components(G, backend=b),
    "is_connected": lambda G, s, b: nx.is_connected(G, backend=b),
    "weak": lambda G, s, b: nx.weakly_connected_components(G, backend=b),
    "strong": lambda G, s, b: nx.number_strongly_connected_components(G, backend=b),
    "pagerank": lambda G, s, b: rounded(nx.pagerank(G, tol=1e-12, max_iter=1000, backend=b)),
    "betweenness": lambda G, s, b: rounded(nx.betweenness_centrality(G, backend=b)),
    "triangles": lambda G, s, b: nx.triangles(G, backend=b),
    "cores": lambda G, s, b: nx.core_number(G, backend=b),
}


def outcome(call, graph, source, backend):
    try:
        result = call(graph, source, backend)
        return list(result) if isinstance(result, Iterator) else result
    except NotImplementedError:
        return NotImplementedError  # NetworkXNotImplemented is one, too
    except (nx.NetworkXException, ValueError, KeyError, ZeroDivisionError) as error:
        return type(error)


@pytest.mark.parametrize("kind", KINDS)
def test_views_of_every_kind(kind):
    compared = 0
    for view in views_of_views(made(kind, 3), 3):
        if not len(view):
            continue
        source = next(iter(view))
        for name, call in CALLS.items():
            ours = outcome(call, view, source, "penstock")
            if ours is not NotImplementedError:  # else left to NetworkX
                assert ours == outcome(call, view, source, "networkx"), (name, view)
                compared += 1
    assert compared > 500


def test_multigraph_views_count_what_they_hold():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 3), (0, 2)])
    view = graph.edge_subgraph([(0, 1, 0), (1, 2, 0), (2, 3, 0)])
    assert nx.is_connected(view, backend="penstock")
    # The mapping of node 0 counts node 2, whose edge is filtered out, and does not yield it.
    assert from_networkx(view).number_of_edges() == view.number_of_edges() == 3


def test_a_view_follows_its_graph():
    graph = nx.path_graph(6)
    graph.remove_edge(2, 3)
    count, weak = nx.number_connected_components, nx.number_weakly_connected_components
    seen = [(count, graph.subgraph(range(6))), (weak, graph.to_directed(as_view=True))]
    seen.append((count, graph.copy(as_view=True)))
    assert [ask(view, backend="penstock") for ask, view in seen] == [2, 2, 2]
    graph.add_edge(2, 3)
    assert [ask(view, backend="penstock") for ask, view in seen] == [1, 1, 1]
    # Of a graph itself the conversion is kept, and dropped with a change.
    nx.is_connected(graph, backend="penstock")
    assert graph.__networkx_cache__["backends"]["penstock"]


def test_edges_that_a_view_shows_from_one_end_are_left_to_networkx():
    view = nx.subgraph_view(nx.path_graph(60), filter_edge=lambda u, v: u < v)
    with pytest.raises(NotImplementedError, match="one direction"):
        from_networkx(view)
    with pytest.raises(NotImplementedError):
        nx.number_connected_components(view, backend="penstock")
    with nx.config(backend_priority=["penstock"]):
        assert list(nx.bfs_edges(view, 57)) == [(57, 58), (58, 59)]


def test_two_weights_of_an_undirected_edge_are_left_to_networkx():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 1), (1, 0, 7), (1, 2, 1), (2, 3, 4)])
    view = graph.to_undirected(as_view=True)
    with pytest.raises(NotImplementedError):
        nx.pagerank(view, backend="penstock")
    ours = nx.pagerank(view, weight=None, backend="penstock")
    assert rounded(ours) == pytest.approx(nx.pagerank(view, weight=None), rel=1e-5)


def warned(name, backend):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        list(getattr(nx, name)(nx.path_graph(4), 0, backend=backend))
    return [(one.category, str(one.message)) for one in caught]


NAMES = ["bfs_predecessors", "bfs_successors", "bfs_edges", "single_source_shortest_path_length"]


@pytest.mark.parametrize("name", [*NAMES, "single_target_shortest_path_length"])
def test_deprecations_are_those_of_the_installed_networkx(name):
    assert warned(name, "penstock") == warned(name, "networkx")


@pytest.mark.filterwarnings(r"ignore:\s*bfs_predecessors is deprecated:DeprecationWarning")
def test_versions_differ_as_networkx_does(monkeypatch):
    graph = nx.path_graph(4)
    monkeypatch.setattr(_traverse, "NETWORKX", (3, 7))
    [(category, text)] = warned("bfs_predecessors", "penstock")
    assert category is DeprecationWarning and "will be removed in NetworkX 3.9" in text
    assert dict(nx.bfs_predecessors(graph, 0, backend="penstock")) == {1: 0, 2: 1, 3: 2}
    monkeypatch.setattr(_traverse, "NETWORKX", (3, 4))
    assert warned("bfs_predecessors", "penstock") == []
    with pytest.warns(FutureWarning, match="dict instead of\nan iterator"):
        hops = nx.single_target_shortest_path_length(graph, 0, backend="penstock")
    assert next(hops) == (0, 0)
    assert list(nx.bfs_layers(graph, [1, 1], backend="penstock")) == [[1, 1], [0, 2], [3]]
    # Before 3.5 nodes of the sample were scaled as all others.
    how = {"k": 2, "seed": 1, "normalized": False, "backend": "penstock"}
    monkeypatch.setattr(_rank, "NETWORKX", (3, 4))
    old = nx.betweenness_centrality(graph, **how)
    monkeypatch.setattr(_rank, "NETWORKX", (3, 6))
    assert old != nx.betweenness_centrality(graph, **how)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("endpoints", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_sampled_betweenness_is_that_of_the_installed_networkx(kind, endpoints, normalized):
    for seed in range(3):
        graph = made(kind, seed)
        for k in (2, 5, 14):
            how = {"k": k, "seed": seed, "endpoints": endpoints, "normalized": normalized}
            ours = nx.betweenness_centrality(graph, **how, backend="penstock")
            assert ours == pytest.approx(nx.betweenness_centrality(graph, **how), rel=1e-9)
