"""Functions of the NetworkX backend that return graphs or take lists of edges, against NetworkX."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from nx_support import KINDS, MANY, both, graphs, same, some_node  # noqa: E402
from penstock.nx_backend import Graph, from_networkx, to_networkx  # noqa: E402

import penstock as ps  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


def described(graph):
    """Everything but the order of neighbours."""
    keys = {"keys": True} if graph.is_multigraph() else {}
    edges = [
        (frozenset(e[:2]) if not graph.is_directed() else e[:2], *map(str, e[2:]))
        for e in graph.edges(data=True, **keys)
    ]
    # Equal sets of ends may print in another order: sort by ends that are in order themselves.
    edges.sort(
        key=lambda e: (sorted(map(repr, e[0])) if not graph.is_directed() else repr(e[0]), e[1:])
    )
    return (type(graph), graph.graph, dict(graph.nodes(data=True)), edges)


def same_graph(name, graph, *args, ordered=False, **kwargs):
    ours, theirs = both(name, graph, *args, **kwargs)
    if isinstance(theirs, type):
        assert ours == theirs, name
        return
    assert described(ours) == described(theirs), name
    assert not ordered or list(ours) == list(theirs)
    # With data of its own: changes do not reach the graph that it came from.
    before = described(graph)
    for *_, data in ours.edges(data=True):
        data["new"] = 1
    for _, data in ours.nodes(data=True):
        data["new"] = 1
    assert described(graph) == before
    # A graph that was converted by hand gives one of the same kind.
    held = getattr(nx, name)(from_networkx(graph), *args, **kwargs)
    assert isinstance(held, Graph)
    back = to_networkx(held)
    assert set(back) == set(theirs) and back.number_of_edges() == theirs.number_of_edges()
    assert {frozenset(e[:2]) for e in back.edges} == {frozenset(e[:2]) for e in theirs.edges}


def with_data(graph):
    graph.graph["name"] = "G"
    for i, (_, data) in enumerate(graph.nodes(data=True)):
        data["colour"] = i % 3
    for *_, data in graph.edges(data=True):
        data["text"] = "edge"
    return graph


@MANY
@given(graphs(kinds=[0], loops=False), st.data())
def test_cores_and_trusses(graph, data):
    with_data(graph)
    k = data.draw(st.sampled_from([None, 0, 1, 2, 3]))
    for name in ("k_core", "k_shell", "k_crust"):
        same_graph(name, graph, k)
    same_graph("k_corona", graph, k or 1)
    same_graph("k_truss", graph, k or 3)
    if len(graph):
        same_graph("k_core", graph, 1, core_number=nx.core_number(graph))


def test_loops_have_no_cores():
    graph = nx.Graph([(0, 0), (0, 1)])
    for name, args in (("k_core", ()), ("k_corona", (1,)), ("k_truss", (3,))):
        same(name, graph, *args)


@MANY
@given(graphs(), st.data())
def test_ego_graph(graph, data):
    with_data(graph)
    options = {
        "radius": data.draw(st.sampled_from([0, 1, 2, 1.5])),
        "center": data.draw(st.booleans()),
        "undirected": data.draw(st.booleans()),
        "distance": data.draw(st.sampled_from([None, "weight"])),
    }
    if options["undirected"] and options["distance"] and graph.is_directed():
        options["undirected"] = False
    same_graph("ego_graph", graph, some_node(data, graph), **options)


@MANY
@given(graphs(kinds=[0, 2]), st.data())
def test_spanning_trees(graph, data):
    with_data(graph)
    for name in ("minimum_spanning", "maximum_spanning"):
        same_graph(f"{name}_tree", graph, ordered=True)
        for options in ({}, {"data": False}, {"keys": False}, {"keys": False, "data": False}):
            if graph.is_multigraph() and options == {"data": False}:
                continue  # keys are not converted without data
            same(f"{name}_edges", graph, **options)


def test_spanning_trees_pass_over_nan():
    graph = nx.cycle_graph(60)
    nx.set_edge_attributes(graph, 2.0, "weight")
    graph[0][1]["weight"] = float("nan")
    same_graph("minimum_spanning_tree", graph, ignore_nan=True)
    with nx.config(backend_priority={"algos": ["penstock"], "generators": ["penstock"]}):
        with pytest.raises(ValueError, match="NaN found as an edge weight"):
            list(nx.minimum_spanning_edges(graph))
        tree = nx.minimum_spanning_tree(graph, ignore_nan=True)
    assert type(tree) is nx.Graph and tree.number_of_edges() == 59


def test_graphs_of_views_and_subclasses():
    class Mine(nx.MultiGraph):
        pass

    graph = with_data(Mine([(0, 1, {"weight": 2}), (0, 1), (1, 2), (2, 0), (3, 4)]))
    view = graph.subgraph([0, 1, 2])
    same_graph("minimum_spanning_tree", view)
    same_graph("ego_graph", view, 0)
    assert type(nx.ego_graph(graph, 0, backend="penstock")) is Mine


# Views of multigraphs


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_views_of_multigraphs(kind):
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 9))
        graph = kind()
        graph.add_nodes_from(range(n))
        for u, v, key in rng.integers(0, n, (int(rng.integers(0, 25)), 3)).tolist():
            graph.add_edge(u, v, key=None if key % 2 else f"k{key}", weight=u + 1)
        edges = [e for e in graph.edges(keys=True) if rng.random() < 0.6]
        turned = edges if graph.is_directed() else [(v, u, k) for u, v, k in edges]
        for view in (
            graph.edge_subgraph(edges),
            graph.edge_subgraph(turned),
            graph.edge_subgraph(edges).subgraph(range(n // 2 + 1)),
            nx.restricted_view(graph, [0], edges),
            graph.edge_subgraph([]),
        ):
            held = from_networkx(view)
            assert held.number_of_edges() == view.number_of_edges()
            assert list(held) == list(view)
            assert to_networkx(held).size("weight") == view.size("weight")


# Graphs from lists


def same_made(ours, theirs):
    assert isinstance(ours, Graph) and type(to_networkx(ours)) is type(theirs)
    back = to_networkx(ours)
    assert list(back) == list(theirs)
    assert [list(row) for row in back.adj.values()] == [list(row) for row in theirs.adj.values()]
    assert {u: dict(row) for u, row in back.adj.items()} == {
        u: dict(row) for u, row in theirs.adj.items()
    }
    assert repr(list(back.edges(data=True))) == repr(list(theirs.edges(data=True)))


@pytest.mark.parametrize("kind", [None, *KINDS])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok"])
@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.float32])
def test_from_scipy_sparse_array(kind, form, dtype):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 12))
        values = rng.integers(0, 4, (n, n)) * (rng.random((n, n)) < 0.4)
        if seed % 2:
            values = np.maximum(values, values.T)
        matrix = sp.coo_array(values.astype(dtype)).asformat(form)
        for options in ({}, {"parallel_edges": True}, {"edge_attribute": "cost"}):
            made = {"create_using": kind, **options}
            ours = nx.from_scipy_sparse_array(matrix, **made, backend="penstock")
            same_made(ours, nx.from_scipy_sparse_array(matrix, **made))


def test_from_arrays_that_are_no_graphs():
    with pytest.raises(nx.NetworkXError, match="not square"):
        nx.from_scipy_sparse_array(sp.csr_array((2, 3)), backend="penstock")
    with pytest.raises(NotImplementedError, match="complex128"):
        nx.utils.backends._load_backend("penstock").from_scipy_sparse_array(
            sp.csr_array(np.eye(2) * 1j)
        )
    repeated = sp.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    same_made(
        nx.from_scipy_sparse_array(repeated, backend="penstock"),
        nx.from_scipy_sparse_array(repeated),
    )


def test_from_a_csr_array_of_penstock():
    matrix = ps.csr_array(np.array([[0, 2.0, 0], [2.0, 0, 1.0], [0, 1.0, 0]]))
    graph = nx.from_scipy_sparse_array(matrix, backend="penstock")
    assert nx.dijkstra_path_length(graph, 0, 2) == 3.0


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_from_pandas_edgelist(kind):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(3)
    frames = [
        pd.DataFrame({"source": rng.integers(0, 9, 40), "target": rng.integers(0, 9, 40)}),
        pd.DataFrame({"source": [10**9, 4, 4], "target": [4, -3, 10**9]}),
        pd.DataFrame({"source": list("abcab"), "target": list("bcaac")}),
        pd.DataFrame({"source": [1, 2, 3], "target": ["x", 1, (2, 3)]}),
        pd.DataFrame({"source": [1, 2], "target": [2.0, 1.5]}),
        pd.DataFrame({"source": [], "target": []}),
    ]
    for frame in frames:
        frame["w"] = rng.integers(0, 5, len(frame))
        frame["cost"] = rng.random(len(frame))
        for attributes in (None, True, "w", ["w", "cost"], [], "nothing"):
            made = {"edge_attr": attributes, "create_using": kind}
            try:
                theirs = nx.from_pandas_edgelist(frame, **made)
            except nx.NetworkXError:
                with pytest.raises(nx.NetworkXError):
                    nx.from_pandas_edgelist(frame, **made, backend="penstock")
                continue
            same_made(nx.from_pandas_edgelist(frame, **made, backend="penstock"), theirs)


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_from_edgelist(kind):
    rng = np.random.default_rng(4)
    pairs = list(map(tuple, rng.integers(0, 7, (30, 2)).tolist()))
    lists = [
        [],
        pairs,
        [(u, f"n{v}") for u, v in pairs],
        [(u, v, {"weight": u - v}) for u, v in pairs],
        [(u, v, {"weight": u / 7, "cost": v}) for u, v in pairs],
    ]
    for edges in lists:
        ours = nx.from_edgelist(edges, kind, backend="penstock")
        same_made(ours, nx.from_edgelist(edges, kind))


def test_lists_that_are_left_to_networkx():
    for edges in (
        *([(0, 1), (1, 2, {})], [(0, 1, {"a": "text"})], [(None, 1)], [(0, 1, 2, {})]),
        [(0, 1, {"a": True}), (1, 2, {"a": False})],
        [(0, 1, {"a": 3}), (1, 2, {"a": 2.5})],
        [(0, 1, {"a": np.float32(3)})],
    ):
        with pytest.raises(NotImplementedError):
            nx.from_edgelist(edges, backend="penstock")
    with pytest.raises(NotImplementedError):
        nx.from_edgelist([(0, 1)], nx.Graph([(5, 6)]), backend="penstock")
    with nx.config(backend_priority={"generators": ["penstock"], "algos": []}):
        assert isinstance(nx.from_edgelist([(0, 1)]), Graph)
        assert type(nx.from_edgelist([(0, 1, {"a": "text"})])) is nx.Graph


def test_truth_values_and_two_columns_of_a_name_are_left_to_networkx():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    truth = pd.DataFrame({"source": [1, 2], "target": [2, 3], "w": [True, False]})
    doubled = pd.DataFrame([[1, 2, 3], [3, 4, 5]], columns=["source", "source", "target"])
    for frame, attribute in ((truth, "w"), (doubled, None), (doubled, "source")):
        with pytest.raises(NotImplementedError):
            nx.from_pandas_edgelist(frame, edge_attr=attribute, backend="penstock")
    with nx.config(backend_priority={"generators": ["penstock"], "algos": []}):
        assert nx.from_pandas_edgelist(truth, edge_attr="w")[1][2]["w"] is True


def test_from_arrays_of_whole_numbers_and_truth_values():
    counts = sp.coo_array(np.array([[0, 2], [2, 1]]))
    for dtype in (np.uint64, np.uint8, np.int8):
        made = {"parallel_edges": True, "create_using": nx.MultiGraph}
        ours = nx.from_scipy_sparse_array(counts.astype(dtype), **made, backend="penstock")
        same_made(ours, nx.from_scipy_sparse_array(counts.astype(dtype), **made))
    for wrong in (counts.astype(bool), counts.astype(np.uint64) * np.uint64(2**62)):
        with pytest.raises(NotImplementedError):
            nx.from_scipy_sparse_array(
                wrong, parallel_edges=True, create_using=nx.MultiGraph, backend="penstock"
            )


def test_from_other_matrices_of_penstock():
    pattern = ps.csr_array((np.ones(2, bool), ([0, 1], [1, 2])), shape=(3, 3))
    for matrix, edges in (
        (pattern, [(0, 1, 1), (1, 2, 1)]),
        (pattern.T, [(1, 0, 1), (2, 1, 1)]),
        (ps.DynamicGraph(pattern), [(0, 1, 1), (1, 2, 1)]),
    ):
        made = nx.from_scipy_sparse_array(matrix, create_using=nx.DiGraph, backend="penstock")
        assert list(to_networkx(made).edges(data="weight")) == edges
