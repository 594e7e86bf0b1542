"""The NetworkX backend's numbers of nodes and pairs, against NetworkX on random graphs."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from nx_support import MANY, both, close, graphs, needs, same  # noqa: E402
from penstock.nx_backend._graph import NETWORKX  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


@MANY
@given(graphs(), st.data())
def test_degrees(graph, data):
    for name in ("degree_centrality", "in_degree_centrality", "out_degree_centrality", "isolates"):
        same(name, graph)
    same("number_of_isolates", graph)
    if hasattr(nx.number_of_selfloops, "orig_func"):  # from NetworkX 3.5 on
        same("number_of_selfloops", graph)
    ways = ["in", "out", "in+out", "nonsense"] if graph.is_directed() else ["out", "in"]
    source, target = data.draw(st.sampled_from(ways)), data.draw(st.sampled_from(ways))
    close("average_neighbor_degree", graph, source=source, target=target)


@MANY
@given(graphs(kinds=[1]), st.data())
def test_reciprocity(graph, data):
    same("overall_reciprocity", graph)
    same(
        "reciprocity", graph, data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    )


@MANY
@given(graphs(kinds=[0, 1], weights=("none", "ints", "floats", "some")), st.data())
def test_power_iterations(graph, data):
    weight = data.draw(st.sampled_from([None, "weight"]))
    start = data.draw(st.sampled_from([None, "some", "zero"]))
    start = start and {node: i * (start == "some") for i, node in enumerate(graph)}
    iterations = data.draw(st.sampled_from([500, 1, 0]))
    close(
        "eigenvector_centrality",
        graph,
        max_iter=iterations,
        nstart=start,
        weight=weight,
        rtol=1e-7,
    )
    beta = data.draw(st.sampled_from([1.0, "each", "wrong"]))
    if beta == "each":
        beta = {node: i + 1.0 for i, node in enumerate(graph)}
    close(
        "katz_centrality",
        graph,
        alpha=data.draw(st.sampled_from([0.01, 0.1])),
        beta=beta,
        max_iter=iterations,
        nstart=None if start is None else dict(start),
        normalized=data.draw(st.booleans()),
        weight=weight,
        rtol=1e-7,
    )


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("seed", range(4))
def test_spectra(kind, seed):
    plain = nx.gnp_random_graph(30, 0.3, seed=seed, directed=True)
    graph = kind(plain)
    for i, (*_, data) in enumerate(graph.edges(data=True)):
        data["weight"] = 1 + i % 5
    for normalized in (True, False):
        ours, theirs = both("hits", graph, normalized=normalized, tol=1e-12)
        for mine, other in zip(ours, theirs, strict=True):
            sign = 1 if normalized or sum(mine.values()) * sum(other.values()) > 0 else -1
            assert list(mine) == list(other)
            assert [sign * value for value in mine.values()] == pytest.approx(
                list(other.values()), rel=1e-7
            )
    close("eigenvector_centrality_numpy", graph, weight="weight", rtol=1e-7)
    same("hits", graph, max_iter=0)


def test_spectra_of_nothing():
    for name in ("hits", "katz_centrality", "eigenvector_centrality"):
        same(name, nx.Graph())
    for graph in (nx.Graph(), nx.Graph([(0, 1), (2, 3)]), nx.DiGraph([(0, 1)])):
        same("eigenvector_centrality_numpy", graph)


@needs("triangles", "square_clustering")
@pytest.mark.skipif(NETWORKX < (3, 6), reason="left to versions that count self loops")
@MANY
@given(graphs(kinds=[0, 2], loops=False), st.data())
def test_squares(graph, data):
    nodes = data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    close("square_clustering", graph, nodes)


@MANY
@given(graphs(kinds=[0]), st.data())
def test_generalized_degree(graph, data):
    nodes = data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    ours, theirs = both("generalized_degree", graph, nodes)
    assert ours == theirs


@MANY
@given(graphs(kinds=[0]), st.data())
def test_pairs(graph, data):
    node = st.sampled_from([*graph, "nobody"])
    pairs = data.draw(st.lists(st.tuples(node, node), max_size=12))
    for name in ("jaccard_coefficient", "preferential_attachment"):
        same(name, graph, pairs)
    for name in ("adamic_adar_index", "resource_allocation_index"):
        if any(u == v for u, v in pairs):
            continue  # may divide by zero
        ours, theirs = both(name, graph, pairs)
        if isinstance(theirs, type):
            assert ours == theirs
            continue
        assert [pair[:2] for pair in ours] == [pair[:2] for pair in theirs]
        for mine, other in zip(ours, theirs, strict=True):
            assert math.isclose(mine[2], other[2], rel_tol=1e-12)
            assert type(mine[2]) is type(other[2])


@MANY
@given(graphs())
def test_trees(graph):
    names = ["is_tree", "is_forest", "is_bipartite"]
    if graph.is_directed():
        names += ["is_arborescence", "is_branching"]
    for name in names:
        same(name, graph)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_trees_and_two_colours_that_are(kind):
    for seed in range(20):
        tree = kind(nx.random_labeled_tree(9, seed=seed))
        if tree.is_directed():
            tree = kind(nx.bfs_tree(tree, 0))
            tree.add_edges_from([("a", "b"), ("a", "c")])
            same("is_branching", tree)
            same("is_arborescence", tree.subgraph(range(9)).copy())
            assert nx.is_branching(tree, backend="penstock")
        same("is_forest", tree)
        same("is_tree", tree)
        assert nx.is_bipartite(tree, backend="penstock")
        same("is_bipartite", kind(nx.cycle_graph(8 + seed % 2)))


@MANY
@given(graphs(kinds=[0]))
def test_onion_layers(graph):
    same("onion_layers", graph)
