"""The NetworkX backend: conversions, what is left to NetworkX, and NetworkX's own tests run through Penstock."""

import json
import math
import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from hypothesis import given

nx = pytest.importorskip("networkx", minversion="3.4", reason="networkx is not installed")

from _penstock_networkx import FUNCTIONS, get_info  # noqa: E402
from nx_support import (  # noqa: E402
    MANY,
    ROOT,
    close,
    declared,
    environment,
    graphs,
    needs,
    outcome,
    same,
)
from penstock.nx_backend import Graph, from_networkx, to_networkx  # noqa: E402
from penstock.nx_backend._graph import NETWORKX  # noqa: E402
from penstock.nx_backend._interface import backend_interface  # noqa: E402
from penstock.nx_backend._tests import XFAIL  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Note. conversions to backend graphs")


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


@needs("pagerank")
def test_views_are_converted():
    graph = nx.gnp_random_graph(30, 0.2, seed=1, directed=True)
    for view in (
        graph.subgraph(range(5, 25)),
        graph.reverse(copy=False),
        graph.to_undirected(as_view=True),
        nx.subgraph_view(graph, filter_edge=lambda u, v: (u + v) % 3),
    ):
        same("single_source_shortest_path_length", view, 7)
        close("pagerank", view)


@needs("triangles", "dijkstra_path")
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


@needs("pagerank", "triangles")
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
        "function of ranks": ("pagerank", plain, {"weight": cost}),
        "loops with a sum of edges": ("reciprocity", nx.MultiDiGraph(directed), {}),
        "edges with weights": ("edge_betweenness_centrality", plain, {"weight": "weight"}),
        "given distances": ("eccentricity", plain, {"sp": dict(nx.shortest_path_length(plain))}),
        "bounds": ("diameter", plain, {"usebounds": True}),
        "chosen sources": ("harmonic_centrality", plain, {"sources": [1, 2]}),
        "floyd": ("average_shortest_path_length", plain, {"method": "floyd-warshall"}),
        "weighted neighbours": ("average_neighbor_degree", plain, {"weight": "weight"}),
        "directed squares": ("square_clustering", directed, {}),
        "all pairs": ("preferential_attachment", nx.path_graph(4), {}),
        "prim": ("minimum_spanning_edges", plain, {"algorithm": "prim"}),
        "infinite length": ("bellman_ford_path_length", weighted(-math.inf), 0, 59, {}),
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
    if name not in backend_interface._functions:
        pytest.skip(f"csgraph lacks what {name} stands on")
    theirs = outcome(name, graph, args, {**kwargs, "backend": "networkx"})
    with nx.config(backend_priority=["penstock"]):
        ours = outcome(name, graph, args, kwargs)
    assert ours == theirs or repr(ours) == repr(theirs)
    # And nothing is silent where the backend was asked for by name.
    refused = {**kwargs, "backend": "penstock"}
    with pytest.raises((NotImplementedError, TypeError)):
        list(getattr(nx, name)(graph, *args, **refused))


@needs("triangles")
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
    known = nx.utils.backends._registered_algorithms

    def bfs_edges(G, source, brand_new=None):
        raise AssertionError

    monkeypatch.setitem(known, "bfs_edges", bfs_edges)
    monkeypatch.delitem(known, "bfs_layers")
    limited = type(backend_interface)()
    assert not hasattr(limited, "bfs_edges") and not hasattr(limited, "bfs_layers")
    assert hasattr(limited, "core_number")


def test_what_the_package_declares():
    assert set(FUNCTIONS) == set(get_info()["functions"]) >= set(backend_interface._functions)
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

COMMUNITIES = ["louvain", "label_propagation"]
if hasattr(nx.community, "leiden_partitions"):  # before, NetworkX had the name alone
    COMMUNITIES.append("leiden")
TESTS = [
    *["components.tests.test_" + name for name in ("attracting", "connected", "semiconnected")],
    *["components.tests.test_" + name for name in ("strongly_connected", "weakly_connected")],
    *["shortest_paths.tests.test_" + name for name in ("unweighted", "weighted", "generic")],
    "traversal.tests.test_bfs",
    "link_analysis.tests.test_pagerank",
    "centrality.tests.test_betweenness_centrality",
    *["tests.test_" + name for name in ("core", "cluster", "dag", "isolate", "link_prediction")],
    *["tests.test_" + name for name in ("distance_measures", "efficiency", "reciprocity")],
    *[
        "tests.test_wiener",
        "assortativity.tests.test_neighbor_degree",
        "bipartite.tests.test_basic",
    ],
    *["centrality.tests.test_" + name for name in ("degree_centrality", "eigenvector_centrality")],
    *["centrality.tests.test_" + name for name in ("closeness_centrality", "harmonic_centrality")],
    *["centrality.tests.test_katz_centrality", "link_analysis.tests.test_hits"],
    *["tree.tests.test_mst", "tree.tests.test_recognition"],
    *["community.tests.test_" + name for name in COMMUNITIES],
]
# What makes graphs goes to a backend that is named, which NetworkX's tests do not: test_networkx_graphs.py does.
BY_NAME_ALONE = {"ego_graph", "from_edgelist", "from_pandas_edgelist", "from_scipy_sparse_array"}
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
    assert int(re.search(r"(\d+) passed", summary)[1]) > 380  # NetworkX 3.4 has the fewest, 392
    marked = sum(map(len, XFAIL.values()))
    # NetworkX's versions differ in which of them they have, and mark up to five more themselves (of communities).
    assert marked - 2 <= int(re.search(r"(\d+) xfailed", summary)[1]) <= marked + 5
    calls = json.loads((tmp_path / "calls.json").read_text())
    offered = set(backend_interface._functions) - BY_NAME_ALONE
    if NETWORKX < (3, 6):
        offered.remove("square_clustering")  # left to versions that count self loops
    assert set(calls) - BY_NAME_ALONE == offered, sorted(offered - set(calls))
    assert sum(calls.values()) > 200
