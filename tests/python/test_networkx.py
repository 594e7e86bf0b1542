"""The NetworkX backend: every function against NetworkX itself, conversions, what is left to NetworkX, and NetworkX's
own tests run through Penstock."""

import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from _penstock_networkx import FUNCTIONS, get_info  # noqa: E402
from penstock.nx_backend import Graph, from_networkx, to_networkx  # noqa: E402
from penstock.nx_backend._interface import backend_interface  # noqa: E402
from penstock.nx_backend._tests import XFAIL  # noqa: E402

import penstock as ps  # noqa: E402

ROOT = Path(__file__).parents[2]
BACKENDS = nx.utils.backends
KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


def declared(group):
    """The entry point of a group as pyproject.toml has it."""
    text = (ROOT / "pyproject.toml").read_text()
    found = re.search(rf'\[project.entry-points."{group}"\]\npenstock = "(.+)"', text)
    return found[1]


def installed():
    return bool(entry_points(group="networkx.backends", name="penstock"))


@pytest.fixture(autouse=True, scope="module")
def registered():
    """An installed package is found by its entry points; a checkout on PYTHONPATH is introduced here."""
    if "penstock" not in BACKENDS.backends:
        BACKENDS.backends["penstock"] = EntryPoint(
            "penstock", declared("networkx.backends"), "networkx.backends"
        )
        BACKENDS.backend_info["penstock"] = get_info()
        nx.config.backends = nx.utils.Config(penstock=nx.utils.Config(), **nx.config.backends)
        BACKENDS._dispatchable.__call__ = BACKENDS._dispatchable._call_if_any_backends_installed


# Graphs and calls


@st.composite
def graphs(draw, kinds=(0, 1, 2, 3), loops=True, weights=("none", "ints", "floats", "some")):
    """Isolated nodes, self loops, parallel edges, zero weights, missing weights; labels of several types."""
    n = draw(st.integers(0, 9))
    name = draw(
        st.sampled_from([int, str, lambda i: (i, "x"), lambda i: 7 * i - 20, lambda i: n - 1 - i])
    )
    graph = KINDS[draw(st.sampled_from(kinds))]()
    if draw(st.booleans()):  # else nodes come in the order of the edges, isolated ones last
        graph.add_nodes_from(map(name, range(n)))
    end = st.integers(0, max(n - 1, 0))
    for u, v in draw(st.lists(st.tuples(end, end), max_size=3 * n if n else 0)):
        if u != v or loops:
            graph.add_edge(name(u), name(v))
    graph.add_nodes_from(map(name, range(n)))
    kind = draw(st.sampled_from(weights))
    number = (
        st.integers(0, 4) if kind in ("ints", "some") else st.sampled_from([0.0, 0.1, 0.7, 1.5])
    )
    for *_, data in graph.edges(data=True):
        if kind in ("ints", "floats") or (kind == "some" and draw(st.booleans())):
            data["weight"] = draw(number)
    return graph


def outcome(name, graph, args, kwargs):
    """The result with generators used up, or the type of the exception."""
    try:
        result = getattr(nx, name)(graph, *args, **kwargs)
        return list(result) if isinstance(result, Iterator) else result
    except (nx.NetworkXException, ValueError, KeyError, ZeroDivisionError, TypeError) as error:
        return type(error)


def both(name, graph, *args, **kwargs):
    ours = outcome(name, graph, args, {**kwargs, "backend": "penstock"})
    return ours, outcome(name, graph, args, {**kwargs, "backend": "networkx"})


def same(name, graph, *args, **kwargs):
    """Equal in value, in Python's types, and in the order of dicts and lists."""
    ours, theirs = both(name, graph, *args, **kwargs)
    assert ours == theirs, name
    assert repr(ours) == repr(theirs) or name in UNORDERED, name


# Sets are shown in an order of their own.
UNORDERED = {n for n in FUNCTIONS if "component" in n} | {"descendants_at_distance"}


def close(name, graph, *args, rtol=1e-9, **kwargs):
    ours, theirs = both(name, graph, *args, **kwargs)
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        assert ours == theirs or math.isclose(ours, theirs, rel_tol=rtol), name
        return
    assert list(ours) == list(theirs), name
    assert all(type(value) in (int, float) for value in ours.values())
    np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=rtol, atol=1e-12)


def some_node(data, graph):
    return data.draw(st.sampled_from([*graph, "nobody"]))


MANY = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))


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
        max_iter=data.draw(st.sampled_from([100, 1, 0])),
        tol=1e-10,
        rtol=1e-6,
    )


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
@given(graphs(kinds=[0]), st.data())
def test_triangles_and_clustering(graph, data):
    nodes = data.draw(st.sampled_from([None, *graph, list(graph)[1:], "nobody"]))
    same("triangles", graph, nodes)
    same("transitivity", graph)
    close("clustering", graph, nodes)
    close("average_clustering", graph, count_zeros=data.draw(st.booleans()))


@MANY
@given(graphs(kinds=[2]))
def test_triangles_of_a_multigraph(graph):
    same("triangles", graph)


@MANY
@given(graphs(kinds=[0]))
def test_core_number(graph):
    same("core_number", graph)


# Conversions


@MANY
@given(graphs())
def test_there_and_back(graph):
    graph.graph["name"] = "G"
    held = from_networkx(graph)
    assert (len(held), list(held)) == (len(graph), list(graph))
    assert held.number_of_edges() == graph.number_of_edges()
    assert (held.is_directed(), held.is_multigraph()) == (
        graph.is_directed(),
        graph.is_multigraph(),
    )
    assert all(node in held for node in graph) and "nobody" not in held and [] not in held
    back = to_networkx(held)
    assert type(back) is type(graph) and back.graph == graph.graph
    for *_, data in graph.edges(data=True):
        data.setdefault("weight", 1)
    assert list(back) == list(graph)
    assert {u: dict(row) for u, row in back.adj.items()} == {
        u: dict(r) for u, r in graph.adj.items()
    }
    assert [list(row) for row in back.adj.values()] == [list(row) for row in graph.adj.values()]
    if graph.is_directed():
        assert {u: set(row) for u, row in back.pred.items()} == {
            u: set(row) for u, row in graph.pred.items()
        }


def test_numbers_are_equal_labels_of_other_types():
    graph = nx.Graph([(0, 1.0), (1, 2), (True, 3)])
    assert len(graph) == 4
    same("single_source_shortest_path_length", graph, 1.0)
    same("connected_components", graph)


def test_views_are_converted():
    graph = nx.gnp_random_graph(30, 0.2, seed=1, directed=True)
    for view in (
        graph.subgraph(range(5, 25)),
        graph.reverse(copy=False),
        graph.to_undirected(as_view=True),
        nx.subgraph_view(graph, filter_edge=lambda u, v: (u + v) % 3),
    ):
        same("single_source_shortest_path_length", view, 7)
        close("pagerank", view, rtol=1e-6)


def test_a_graph_of_penstock_needs_no_conversion():
    graph = nx.karate_club_graph()
    held = from_networkx(graph)
    assert from_networkx(held) is held and isinstance(held, Graph)
    assert nx.triangles(held) == nx.triangles(graph)
    assert list(nx.bfs_edges(held, 3)) == list(nx.bfs_edges(graph, 3))
    with pytest.raises(nx.NetworkXError, match=r"'cost'.*edge_attrs=\{'cost': 1\}"):
        nx.single_source_dijkstra_path_length(held, 0, weight="cost")
    with pytest.raises(TypeError, match="not a graph"):
        from_networkx([(0, 1)])
    assert nx.square_clustering(held, backend="networkx") == nx.square_clustering(graph)


def test_converted_graphs_are_cached_and_dropped():
    graph = nx.karate_club_graph()
    first = nx.pagerank(graph, backend="penstock", weight=None)
    kept = graph.__networkx_cache__["backends"]["penstock"]
    [one] = kept.values()
    nx.pagerank(graph, backend="penstock")
    [two] = kept.values()
    assert two is not one and two.structure is one.structure and "weight" in two.weights
    nx.triangles(graph, backend="penstock")  # any conversion will do
    assert list(kept.values()) == [two]
    graph.add_edge(0, 100)
    assert len(nx.pagerank(graph, backend="penstock", weight=None)) == len(first) + 1


# What is left to NetworkX


class Elsewhere(nx.Graph):
    def neighbors(self, n):
        return iter(sorted(super().neighbors(n), reverse=True))


def calls_left_to_networkx():
    plain, directed = nx.path_graph(60), nx.path_graph(60, create_using=nx.DiGraph)
    multi = nx.MultiGraph(plain)

    def weighted(*values):
        graph = nx.path_graph(60)
        for (*_, data), value in zip(graph.edges(data=True), values, strict=False):
            data["weight"] = value
        return graph

    def cost(u, v, data):
        return 2

    dijkstra = "single_source_dijkstra_path_length"
    return {
        "weight function": (dijkstra, plain, 0, {"weight": cost}),
        "betweenness with weights": ("betweenness_centrality", plain, {"weight": "weight"}),
        "order by a function": ("bfs_edges", plain, 5, {"sort_neighbors": sorted}),
        "neighbours by a function": ("generic_bfs_edges", plain, 5, {"neighbors": plain.neighbors}),
        "backwards": ("bfs_edges", directed, 5, {"reverse": True}),
        "directed cores": ("core_number", directed, {}),
        "directed clustering": ("clustering", directed, {}),
        "directed transitivity": ("transitivity", directed, {}),
        "weighted clustering": ("average_clustering", plain, {"weight": "weight"}),
        "some nodes of a multigraph": ("triangles", multi, [1, 2], {}),
        "own neighbours": ("bfs_edges", Elsewhere(plain), 30, {}),
        "negative": (dijkstra, weighted(3, 0, -1), 59, {}),
        "infinite": (dijkstra, weighted(3, math.inf), 0, {}),
        "not a number": (dijkstra, weighted(3, math.nan), 0, {}),
        "hidden edge": (dijkstra, weighted(3, None), 0, {}),
        "text": (dijkstra, weighted("3"), 0, {}),
        "complex": ("pagerank", weighted(1j), {}),
        "large": (dijkstra, weighted(2**53 + 1, 1), 0, {}),
        "large sum": (dijkstra, weighted(2**53 - 1, 3), 0, {}),
        "beyond floats": (dijkstra, weighted(10**400), 0, {}),
        "negative rank": ("pagerank", plain, {"personalization": {0: -1, 1: 3}}),
        "no parameter": ("triangles", plain, {"nonsense": 3}),
    }


@pytest.mark.parametrize("what", calls_left_to_networkx())
def test_falls_back_to_networkx(what):
    name, graph, *args, kwargs = calls_left_to_networkx()[what]
    theirs = outcome(name, graph, args, {**kwargs, "backend": "networkx"})
    with nx.config(backend_priority=["penstock"]):
        ours = outcome(name, graph, args, kwargs)
    assert ours == theirs or repr(ours) == repr(theirs)
    # And nothing is silent where the backend was asked for by name.
    refused = {**kwargs, "backend": "penstock"}
    with pytest.raises((NotImplementedError, TypeError)):
        list(getattr(nx, name)(graph, *args, **refused))


def test_priority_converts_and_small_graphs_stay(monkeypatch):
    called = []
    monkeypatch.setattr(
        backend_interface, "triangles", lambda G, nodes=None: called.append(len(G)) or {}
    )
    with nx.config(backend_priority=["penstock"]):
        assert nx.triangles(nx.path_graph(500)) == {} and called == [500]
        assert nx.triangles(nx.path_graph(5)) == dict.fromkeys(range(5), 0)
        assert nx.triangles(nx.path_graph(500), 3) == 0
        assert nx.triangles(from_networkx(nx.path_graph(5))) == {}
    assert called == [500, 5]


def test_functions_with_other_parameters_are_not_offered(monkeypatch):
    known = BACKENDS._registered_algorithms

    def pagerank(G, alpha=0.85, brand_new=None):
        raise AssertionError

    monkeypatch.setitem(known, "pagerank", pagerank)
    monkeypatch.delitem(known, "triangles")
    limited = type(backend_interface)()
    assert not hasattr(limited, "pagerank") and not hasattr(limited, "triangles")
    assert hasattr(limited, "core_number")


def test_what_the_package_declares():
    assert set(FUNCTIONS) == set(get_info()["functions"]) == set(backend_interface._functions)
    assert declared("networkx.backends") == "penstock.nx_backend._interface:backend_interface"
    assert declared("networkx.backend_info") == "_penstock_networkx:get_info"
    for group in ("networkx.backends", "networkx.backend_info"):
        for entry in entry_points(group=group, name="penstock"):
            assert entry.value == declared(group)
    page = (ROOT / "docs" / "networkx.md").read_text()
    expected_to_fail = [test.split(".")[-1] for tests in XFAIL.values() for test in tests]
    for name in [*FUNCTIONS, *expected_to_fail]:
        assert f"`{name}`" in page, name


def test_importing_networkx_does_not_import_penstock(tmp_path):
    program = "import networkx, sys; print('penstock' in networkx.config.backends, 'penstock' in sys.modules)"
    command = [sys.executable, "-c", program]
    said = subprocess.run(
        command, env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert said.stdout == "True False\n"


# NetworkX's own tests

TESTS = [
    *["components.tests.test_" + name for name in ("attracting", "connected", "semiconnected")],
    *["components.tests.test_" + name for name in ("strongly_connected", "weakly_connected")],
    *["shortest_paths.tests.test_" + name for name in ("unweighted", "weighted", "generic")],
    "traversal.tests.test_bfs",
    "link_analysis.tests.test_pagerank",
    "centrality.tests.test_betweenness_centrality",
    *["tests.test_core", "tests.test_cluster"],
]
# The examples of the functions' documentation, orders included.
EXAMPLES = [
    *["components.connected", "components.weakly_connected", "components.strongly_connected"],
    *["shortest_paths.unweighted", "shortest_paths.weighted", "shortest_paths.generic"],
    *["traversal.breadth_first_search", "link_analysis.pagerank_alg", "centrality.betweenness"],
    *["core", "cluster"],
]

COUNTS_CALLS = """
import json, os
from collections import Counter

calls = Counter()

def counted(name, function):
    def call(*args, **kwargs):
        calls[name] += 1
        return function(*args, **kwargs)
    return call

def pytest_configure(config):
    from penstock.nx_backend._interface import backend_interface
    for name, function in backend_interface._functions.items():
        setattr(backend_interface, name, counted(name, function))

def pytest_sessionfinish(session):
    with open(os.environ["CALLS"], "w") as file:
        json.dump(calls, file)
"""


def environment(folder):
    """For a process that finds Penstock and its entry points, installed or not."""
    paths = [str(folder)]
    if not installed():
        metadata = folder / "penstock-0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: penstock\nVersion: 0\n")
        groups = ("networkx.backends", "networkx.backend_info")
        text = "".join(f"[{group}]\npenstock = {declared(group)}\n" for group in groups)
        (metadata / "entry_points.txt").write_text(text)
        paths.append(str(Path(ps.__file__).parents[1]))
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


@pytest.mark.timeout(180)
def test_networkx_own_tests_pass(tmp_path):
    (tmp_path / "counts_calls.py").write_text(COUNTS_CALLS)
    env = environment(tmp_path)
    env |= {"NETWORKX_TEST_BACKEND": "penstock", "NETWORKX_FALLBACK_TO_NX": "1"}
    env |= {"CALLS": str(tmp_path / "calls.json")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "counts_calls"]
    modules = [f"networkx.algorithms.{module}" for module in TESTS + EXAMPLES]
    command += ["--doctest-modules", "--pyargs", *modules]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    summary = done.stdout.splitlines()[-1]
    assert int(re.search(r"(\d+) passed", summary)[1]) > 400
    marked = sum(map(len, XFAIL.values()))
    assert "skipped" not in summary and f" {marked} xfailed" in summary
    calls = json.loads((tmp_path / "calls.json").read_text())
    assert set(calls) == set(FUNCTIONS), sorted(set(FUNCTIONS) - set(calls))
    assert sum(calls.values()) > 500
