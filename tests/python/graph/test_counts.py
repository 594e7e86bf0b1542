"""Triangles and betweenness against NetworkX, igraph, SciPy and brute force."""

import os
import subprocess
import sys
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import csgraph

SETTINGS = [
    {"normalized": normalized, "endpoints": endpoints}
    for normalized in (True, False)
    for endpoints in (True, False)
]


@st.composite
def graphs(draw, most=30):
    """(rows, cols, n): any edges, self loops and duplicates among them, perhaps none."""
    n = draw(st.integers(1, most))
    some = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * 2), max_size=4 * n))
    edges = np.array(some, dtype=np.int64).reshape(-1, 2)
    rows, cols = edges[:, 0], edges[:, 1]
    if draw(st.booleans()):
        rows, cols = np.concatenate([rows, cols]), np.concatenate([cols, rows])
    return rows, cols, n


def stored(rows, cols, n):
    """A pattern that keeps duplicates and the order of entries."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    return ps.csr_array._from_parts(n, n, indptr, cols[order].astype(np.int32), None)


def as_nx(rows, cols, n, kind):
    graph = kind()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(zip(rows.tolist(), cols.tolist(), strict=True))
    return graph


def plain(A):
    """Both directions, once, no loops, by SciPy."""
    S = sp.csr_array((np.ones(A.nnz, np.int64), A.indices, A.indptr), shape=A.shape)
    S = ((S + S.T) > 0).astype(np.int64).tolil()
    S.setdiag(0)
    S = S.tocsr()
    S.eliminate_zeros()
    return S


def by_cube(S):
    return ((S @ S) * S).sum(axis=1) // 2


def skewed(scale=10, seed=5):
    return ps.generate.rmat(scale, edge_factor=12, seed=seed)


@pytest.fixture
def threads():
    before = ps.num_threads()
    yield ps.set_num_threads
    ps.set_num_threads(before)


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_triangles_of_small_graphs(graph):
    A, G = stored(*graph), as_nx(*graph, nx.Graph)
    G.remove_edges_from(list(nx.selfloop_edges(G)))
    n = graph[2]
    near = {frozenset(e) for e in G.edges}
    expected = np.zeros(n, dtype=np.int64)
    for three in combinations(range(n), 3):
        if all(frozenset(two) in near for two in combinations(three, 2)):
            expected[list(three)] += 1
    counts = csgraph.triangles(A)
    assert counts.dtype == np.int64 and counts.flags.writeable
    np.testing.assert_array_equal(counts, expected)
    total = csgraph.triangle_count(A)
    assert type(total) is int and total == expected.sum() // 3
    np.testing.assert_array_equal(list(nx.triangles(G).values()), counts)
    np.testing.assert_allclose(csgraph.clustering(A), list(nx.clustering(G).values()))
    assert csgraph.transitivity(A) == pytest.approx(nx.transitivity(G))
    csgraph.verify_triangles(A, counts)
    csgraph.verify_triangles(A, total)


@given(graphs(most=24), st.data())
@settings(max_examples=100, deadline=None)
def test_betweenness_of_small_graphs(graph, data):
    A, n = stored(*graph), graph[2]
    directed = data.draw(st.booleans())
    G = as_nx(*graph, nx.DiGraph if directed else nx.Graph)
    options = data.draw(st.sampled_from(SETTINGS))
    mine = csgraph.betweenness_centrality(A, directed=directed, **options)
    assert mine.dtype == np.float64 and mine.shape == (n,)
    expected = nx.betweenness_centrality(G, **options)
    np.testing.assert_allclose(mine, [expected[v] for v in range(n)], rtol=1e-12, atol=1e-14)
    csgraph.verify_betweenness(A, mine, directed=directed, **options)
    k = data.draw(st.integers(1, n))
    some = csgraph.betweenness_centrality(A, k, directed=directed, seed=3, **options)
    csgraph.verify_betweenness(A, some, k, directed=directed, seed=3, **options)


@given(graphs(most=24), st.booleans(), st.data())
@settings(max_examples=60, deadline=None)
def test_source_sums_are_networkx_accumulations(graph, endpoints, data):
    from networkx.algorithms.centrality import betweenness as theirs

    A, n = stored(*graph), graph[2]
    G = as_nx(*graph, nx.DiGraph)
    sources = data.draw(st.none() | st.lists(st.integers(0, n - 1), max_size=6))
    expected = dict.fromkeys(G, 0.0)
    add = theirs._accumulate_endpoints if endpoints else theirs._accumulate_basic
    for s in range(n) if sources is None else sources:
        order, before, paths, _ = theirs._single_source_shortest_path_basic(G, s)
        add(expected, order, before, paths, s)
    given = None if sources is None else np.array(sources, dtype=np.int32)
    mine = csgraph.source_sums(A, given, endpoints)
    np.testing.assert_allclose(mine, [expected[v] for v in range(n)], rtol=1e-12, atol=1e-14)


def test_no_vertices_and_no_edges():
    empty = ps.csr_array((0, 0))
    assert csgraph.triangle_count(empty) == 0 and csgraph.transitivity(empty) == 0.0
    for f in (csgraph.triangles, csgraph.clustering, csgraph.betweenness_centrality):
        assert f(empty).shape == (0,)
    csgraph.verify_triangles(empty, np.zeros(0, np.int64))
    csgraph.verify_betweenness(empty, [])
    lonely = ps.csr_array((5, 5))
    assert not csgraph.triangles(lonely).any() and not csgraph.source_sums(lonely).any()


@pytest.mark.parametrize("renumbered", [True, False])
def test_triangles_as_scipy(renumbered):
    A = skewed(12) if renumbered else ps.generate.uniform(3000, nnz_per_row=20, seed=2)
    counts = csgraph.triangles(A)
    assert A._derived.oriented.renumbered == renumbered
    S = plain(A)
    np.testing.assert_array_equal(counts, by_cube(S))
    assert csgraph.triangle_count(A) == (S @ S @ S).diagonal().sum() // 6
    csgraph.verify_triangles(A, counts)


def test_a_hub_and_a_clique():
    """Lists longer than any chunk: a clique of 700 and a hub beside 30000 leaves."""
    i, j = np.triu_indices(700, 1)
    i, j = np.concatenate([i, np.zeros(30000, int)]), np.concatenate([j, np.arange(700, 30700)])
    counts = csgraph.triangles(stored(i, j, 30700))
    assert (counts[:700] == 699 * 698 // 2).all() and not counts[700:].any()


def test_the_same_for_any_threads_and_vectors(threads):
    results = []
    for n in (1, 2, 4):
        threads(n)
        A = skewed(11)
        results.append((csgraph.triangles(A), csgraph.betweenness_centrality(A, 150, seed=1)))
        assert csgraph.triangle_count(A) == results[0][0].sum() // 3
    for counts, central in results[1:]:
        np.testing.assert_array_equal(counts, results[0][0])
        np.testing.assert_array_equal(central, results[0][1])  # bit for bit
    code = (
        "import sys, penstock as ps;"
        "A = ps.generate.rmat(11, edge_factor=12, seed=5);"
        "sys.stdout.buffer.write(ps.csgraph.triangles(A).tobytes())"
    )
    scalar = {**os.environ, "PENSTOCK_SIMD": "scalar"}
    out = subprocess.run([sys.executable, "-c", code], env=scalar, capture_output=True, check=True)
    np.testing.assert_array_equal(np.frombuffer(out.stdout, np.int64), results[0][0])


def test_more_paths_than_double_holds():
    """Of 3^700 and more paths in a chain of diamonds each middle one takes a third, the joints all."""
    length, wide = 700, 3
    joints = (wide + 1) * np.arange(length + 1)
    middle = (joints[:-1, None] + 1 + np.arange(wide)).ravel()
    rows = np.concatenate([np.repeat(joints[:-1], wide), middle])
    cols = np.concatenate([middle, np.repeat(joints[1:], wide)])
    A = ps.csr_array((np.ones(rows.size, bool), (rows, cols)), shape=(joints[-1] + 1,) * 2)
    sums = csgraph.source_sums(A, [0])
    ends = (wide + 1) * (length - np.arange(1, length + 1))  # what lies behind each joint
    np.testing.assert_allclose(sums[joints[1:]], ends, rtol=1e-9)
    np.testing.assert_allclose(sums[joints[:-1] + 1], (ends + 1) / wide, rtol=1e-9)


def test_directed_and_undirected_do_not_mix():
    """Both kinds are kept with the matrix: each finds its own."""
    rows, cols, n = np.array([0, 1, 1, 2]), np.array([1, 2, 2, 2]), 4
    for order in ([True, False], [False, True]):
        A = stored(rows, cols, n)
        for directed in order:
            central = csgraph.betweenness_centrality(A, directed=directed, normalized=False)
            assert central.tolist() == [0, 1, 0, 0]
            assert csgraph.core_number(A).tolist() == [1, 1, 1, 0]
        ends = csgraph.source_sums(A, [2], endpoints=True)
        assert not ends.any()  # no edge leads out of 2


def test_verifiers_catch():
    A = skewed(9)
    counts = csgraph.triangles(A)
    wrong = counts.copy()
    wrong[np.argsort(counts)[-3:]] += [1, 1, -2]
    with pytest.raises(ValueError, match=r"vertex \d+ is in \d+ of them, not in"):
        csgraph.verify_triangles(A, wrong)
    wrong = counts.copy()
    wrong[counts.argmax()] -= 1
    with pytest.raises(ValueError, match="multiple of three"):
        csgraph.verify_triangles(A, wrong)
    with pytest.raises(ValueError, match="there are"):
        csgraph.verify_triangles(A, csgraph.triangle_count(A) + 1)
    with pytest.raises(ValueError, match="counts for a graph of"):
        csgraph.verify_triangles(A, counts[1:])
    with pytest.raises(TypeError, match="float64"):
        csgraph.verify_triangles(A, counts.astype(float))
    central = csgraph.betweenness_centrality(A)
    csgraph.verify_betweenness(A, central, samples=5)
    for samples, pattern in ((A.shape[0], "at vertex"), (1, "add up to")):
        wrong = central.copy()
        wrong[central.argmax()] *= 1.01
        with pytest.raises(ValueError, match=pattern):
            csgraph.verify_betweenness(A, wrong, samples=samples)
    with pytest.raises(ValueError, match="shape"):
        csgraph.verify_betweenness(A, central[1:])


def test_bad_arguments():
    A = skewed(4)
    with pytest.raises(ValueError, match="triangle_count needs a square"):
        csgraph.triangle_count(ps.csr_array((2, 3)))
    for k in (0, 17):
        with pytest.raises(ValueError, match=f"k={k} must be between 1 and the 16"):
            csgraph.betweenness_centrality(A, k)
    with pytest.raises(ValueError, match="16 is outside"):
        csgraph.source_sums(A, [16])
    with pytest.raises(TypeError, match="integers"):
        csgraph.source_sums(A, [0.5])
    with pytest.raises(ValueError, match="samples=0"):
        csgraph.verify_betweenness(A, np.zeros(16), samples=0)


@pytest.mark.parametrize("name", ["wiki-Vote.txt.gz", "musae_git_edges.csv.gz"])
def test_real_graphs(name):
    igraph = pytest.importorskip("igraph")
    A = ps.load(real_file(name))
    S = sp.triu(plain(A)).tocoo()
    G = igraph.Graph(n=A.shape[0], edges=np.stack([S.row, S.col], axis=1).tolist())
    counts = csgraph.triangles(A)
    assert csgraph.triangle_count(A) == len(G.list_triangles()) == counts.sum() // 3
    assert csgraph.transitivity(A) == pytest.approx(G.transitivity_undirected())
    theirs = np.array(G.transitivity_local_undirected(mode="zero"))
    np.testing.assert_allclose(csgraph.clustering(A), theirs, rtol=1e-12)
    csgraph.verify_triangles(A, counts)
    few = np.random.default_rng(0).choice(A.shape[0], 40, replace=False)
    mine = csgraph.source_sums(sp.csr_array(plain(A)), few)
    np.testing.assert_allclose(mine, 2 * np.array(G.betweenness(sources=few.tolist())), rtol=1e-9)
