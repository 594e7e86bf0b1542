"""The NetworkX backend's numbers of nodes and pairs, against NetworkX on random graphs."""

import inspect
import math
from collections.abc import Generator

import pytest
from hypothesis import given
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from nx_support import MANY, both, close, graphs, needs, same  # noqa: E402
from penstock.nx_backend._graph import NETWORKX  # noqa: E402
from penstock.nx_backend._interface import backend_interface  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


@MANY
@given(graphs(), st.data())
def test_degrees(graph, data):
    for name in ("degree_centrality", "in_degree_centrality", "out_degree_centrality", "isolates"):
        same(name, graph)
    assert isinstance(nx.isolates(graph, backend="penstock"), Generator)
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


COMMUNITY_FUNCTIONS = ("louvain_communities", "leiden_communities", "asyn_lpa_communities")


LEIDEN = getattr(nx.community, "leiden_communities", None)  # from NetworkX 3.5 on
BY_METRIC = LEIDEN is not None and "metric" in inspect.signature(LEIDEN).parameters  # from 3.7 on
MODULARITY = {"metric": "modularity"} if BY_METRIC else {}


def test_leiden_is_taken_wherever_networkx_has_it():
    assert ("leiden_communities" in backend_interface._functions) == (LEIDEN is not None)


@needs("leiden_communities")
def test_leiden_has_the_parameters_of_the_installed_networkx():
    G = nx.karate_club_graph()
    found = LEIDEN(G, weight="weight", resolution=1, seed=2, backend="penstock", **MODULARITY)
    assert nx.community.modularity(G, found) > 0.4
    assert all(nx.is_connected(G.subgraph(community)) for community in found)
    if not BY_METRIC:
        assert LEIDEN(G, "weight", 1, None, 2, backend="penstock") == found
    many = LEIDEN(G, resolution=4, seed=2, backend="penstock", **MODULARITY)
    assert len(many) > len(found)
    square = nx.cycle_graph(4)
    for (u, v), w in zip(square.edges, (10, 1, 1, 10), strict=True):  # 0-1, 0-3, 1-2, 2-3
        square.edges[u, v].update(weight=w, other=11 - w)
    for weight, pairs in (("weight", [{0, 1}, {2, 3}]), ("other", [{0, 3}, {1, 2}])):
        assert LEIDEN(square, weight=weight, backend="penstock", **MODULARITY) == pairs
    with pytest.raises(NotImplementedError, match="leiden_communities"):
        LEIDEN(G, max_level=1, backend="penstock", **MODULARITY)
    for level in (0, -1):
        with pytest.raises(ValueError, match="max_level argument must be a positive integer"):
            LEIDEN(G, max_level=level, backend="penstock", **MODULARITY)
    if BY_METRIC:
        with pytest.raises(NotImplementedError, match="leiden_communities"):
            LEIDEN(G, backend="penstock")


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) for n in COMMUNITY_FUNCTIONS])
def test_communities_of_networkx_s_graphs(name):
    options = MODULARITY if name == "leiden_communities" else {}
    find = getattr(nx.community, name)
    G = nx.planted_partition_graph(5, 20, 0.8, 0.02, seed=3)
    G = nx.relabel_nodes(G, {i: f"node {i}" for i in G})
    G.add_node("alone")
    found = list(find(G, seed=1, backend="penstock", **options))
    truth = {frozenset(f"node {i}" for i in range(20 * c, 20 * c + 20)) for c in range(5)}
    assert set(map(frozenset, found)) == {*truth, frozenset({"alone"})}
    assert found == list(find(G, seed=1, backend="penstock", **options))
    for kind in (nx.Graph, nx.MultiGraph):
        if kind is nx.Graph or name != "asyn_lpa_communities":
            assert list(find(kind(), backend="penstock", **options)) == []
    # Of some functions NetworkX itself refuses directed graphs, before it asks a backend.
    with pytest.raises((NotImplementedError, nx.NetworkXNotImplemented), match=f"{name}|directed"):
        list(find(nx.DiGraph([(1, 2)]), backend="penstock", **options))


@needs("louvain_communities")
def test_louvain_of_networkx_s_graphs():
    G = nx.karate_club_graph()
    partitions = list(nx.community.louvain_partitions(G, seed=2, backend="penstock"))
    values = [nx.community.modularity(G, partition) for partition in partitions]
    assert values == sorted(values)
    assert values[-1] > 0.4
    assert partitions[-1] == nx.community.louvain_communities(G, seed=2, backend="penstock")
    first = nx.community.louvain_communities(G, seed=2, max_level=1, backend="penstock")
    assert first == partitions[0]
    doubled = nx.MultiGraph([*G.edges(data=True), *G.edges(data=True)])
    assert nx.community.louvain_communities(doubled, seed=2, backend="penstock")
    with pytest.raises(ValueError, match="max_level argument"):
        nx.community.louvain_communities(G, max_level=0, backend="penstock")
    G.add_edge(0, 1, weight=-1)
    with pytest.raises(NotImplementedError, match="louvain_communities"):
        nx.community.louvain_communities(G, backend="penstock")
    with pytest.raises(NotImplementedError, match="louvain_communities"):
        nx.community.louvain_communities(G, weight=None, resolution=-1, backend="penstock")


def test_nodes_that_cannot_be_hashed():
    graph = nx.karate_club_graph()
    for nodes in ([[1]], [0, []], [{}], "nobody", 99):
        for name in ("triangles", "clustering", "average_clustering", "generalized_degree"):
            ours, theirs = both(name, graph, nodes)
            assert ours == theirs, (name, nodes)
    with pytest.raises(nx.NetworkXError, match=r"Node \[1\] in sequence nbunch is not a valid"):
        nx.triangles(graph, [[1]], backend="penstock")
    for how in ({"distance": "weight"}, {}):
        with pytest.raises((TypeError, nx.NodeNotFound)) as theirs:
            nx.ego_graph(graph, [], backend="networkx", **how)
        with pytest.raises(theirs.type):
            nx.ego_graph(graph, [], backend="penstock", **how)


@pytest.mark.parametrize("value", [None, "a", math.nan, [1]])
def test_orders_that_are_no_numbers_are_left_to_networkx(value):
    """NetworkX has an answer for some of them: k_corona(G, None) is the main core's, k_truss(G, nan) the graph."""
    graph = nx.karate_club_graph()
    for name in ("k_corona", "k_truss", "k_core", "k_shell", "k_crust"):
        may_be_none = value is None and name not in ("k_corona", "k_truss")
        said = backend_interface.can_run(name, (graph, value), {})
        assert (said is True) if may_be_none else (said == "k is no number"), name
    if value is not None:
        text = dict.fromkeys(graph, "a")
        with pytest.raises(NotImplementedError, match="raised NotImplementedError"):
            nx.k_shell(graph, 1, core_number=text, backend="penstock")
    said = backend_interface.can_run("ego_graph", (graph, 0), {"radius": value})
    assert said == "radius is no number"
    for k in (0, 2, 2.5, True, 10**400, -(10**400), math.inf):
        ours, theirs = both("k_truss", graph, k)
        assert nx.utils.graphs_equal(ours, theirs), k
