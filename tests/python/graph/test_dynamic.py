"""DynamicGraph against a dict of edges, after any sequence of changes; what it refuses."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

DTYPES = [np.bool_, np.float32, np.float64]


class Model:
    """The same graph as a dict."""

    def __init__(self, n, dtype, directed):
        self.n, self.dtype, self.directed, self.edges = n, np.dtype(dtype), directed, {}

    def ways(self, u, v):
        return [(u, v)] if self.directed else [(u, v), (v, u)]

    def add(self, rows, cols, values):
        for u, v, w in zip(rows, cols, values, strict=True):
            for edge in self.ways(u, v):
                self.edges[edge] = w

    def remove(self, rows, cols):
        gone = {frozenset(e) if not self.directed else e for e in zip(rows, cols, strict=True)}
        present = [e for e in gone if (tuple(e) * 2)[:2] in self.edges]
        for e in present:
            for edge in self.ways(*(tuple(e) * 2)[:2]):
                self.edges.pop(edge, None)
        return len(present)

    def scipy(self):
        ends = sorted(self.edges)
        data = np.array([self.edges[e] for e in ends], self.dtype)
        rows, cols = [u for u, _ in ends], [v for _, v in ends]
        return sp.coo_array((data, (rows, cols)), shape=(self.n, self.n), dtype=self.dtype).tocsr()


def same_matrix(A, S):
    assert A.shape == S.shape
    assert A.dtype == S.dtype
    assert np.array_equal(A.indptr, S.indptr)
    assert np.array_equal(A.indices, S.indices)
    assert np.array_equal(A.data, S.data)


def check(G, model, rng):
    S = model.scipy()
    same_matrix(G.to_csr(), S)
    once = {e if model.directed else frozenset(e) for e in model.edges}
    assert G.number_of_edges() == len(once)
    n = model.n
    x = rng.integers(-9, 9, n).astype(float)  # sums are exact, in whatever order
    X = rng.integers(-9, 9, (n, 3)).astype(float)
    A = ps.csr_array(S) if S.nnz else ps.csr_array((n, n), dtype=model.dtype)
    for mine, other in ((G, A), (G.T, A.T.formed())):
        for some in (x, X, x.astype(np.float32)):
            assert np.array_equal(mine @ some, other @ some)
    if model.dtype == np.float64:
        assert np.array_equal(G.dot(x, semiring="min_plus"), A.dot(x, semiring="min_plus"))
    assert np.array_equal(x @ G, A.T.formed() @ x)
    x = rng.standard_normal(n)
    np.testing.assert_allclose(G @ x, S.toarray() @ x, rtol=1e-5, atol=1e-5)
    u, v = rng.integers(n, size=(2, 20))
    assert G.has_edges(u, v).tolist() == [(a, b) in model.edges for a, b in zip(u, v, strict=True)]
    pattern = sp.csr_array((np.ones(S.nnz, bool), S.indices, S.indptr), shape=S.shape)
    count, labels = sp.csgraph.connected_components(pattern, directed=False)
    for found in (ps.csgraph.connected_components(G), G.components()):
        assert found[0] == count
        assert np.array_equal(found[1], smallest_first(labels))
    source = int(rng.integers(n))
    levels, tree = ps.csgraph.bfs(G, source, return_predecessors=True)
    hops = sp.csgraph.dijkstra(pattern.astype(float), indices=source, unweighted=True)
    assert np.array_equal(levels, np.where(np.isinf(hops), -1, hops))
    ps.csgraph.verify_bfs(A, source, levels, tree)


def smallest_first(labels):
    """Labels in the order of each component's smallest vertex."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_sequence_of_changes_is_that_of_a_dict(data):
    seed = data.draw(st.integers(0, 2**32 - 1), "seed")
    dtype = data.draw(st.sampled_from(DTYPES), "dtype")
    directed = data.draw(st.booleans(), "directed")
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    model = Model(n, dtype, directed)

    def values(k):
        return np.ones(k, bool) if dtype == np.bool_ else rng.integers(-4, 5, k).astype(dtype)

    u, v = rng.integers(n, size=(2, int(rng.integers(3 * n))))
    model.add(u.tolist(), v.tolist(), values(u.size))
    S = model.scipy()
    G = ps.DynamicGraph(S, directed=directed)
    steps = data.draw(st.lists(st.sampled_from("aarrugvck"), max_size=12), "steps")
    for step in steps:
        k = int(rng.integers(8))
        u, v = rng.integers(model.n, size=(2, k))
        w = values(k)
        given_values = None if dtype == np.bool_ else w
        if step == "a":
            G.add_edges(u, v, given_values)
            model.add(u.tolist(), v.tolist(), w)
        elif step == "r":
            expected = model.remove(u.tolist(), v.tolist())
            assert G.remove_edges(u, v, missing="ignore") == expected
        elif step == "u":
            expected = model.remove(u.tolist(), v.tolist())
            model.add(v.tolist(), u.tolist(), w)
            update = (v, u) if dtype == np.bool_ else (v, u, w)
            assert G.update(remove=(u, v), add=update, missing="ignore") == expected
        elif step == "g":
            assert G.add_vertices(k) == model.n
            model.n += k
        elif step == "v":
            G.components()
        elif step == "c":
            G.compact(background=bool(k % 2))
        else:
            check(G, model, rng)
    check(G, model, rng)


@pytest.mark.parametrize("directed", [True, False])
def test_larger_graphs_with_hubs(directed):
    A = ps.generate.rmat(12, 16, seed=3)
    A = ps.csr_array(A.astype(np.float64))
    if not directed:
        A = (A + A.T).without_duplicates()
    rng = np.random.default_rng(5)
    model = Model(A.shape[0], np.float64, directed)
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.without_duplicates().indptr))
    A = A.without_duplicates()
    model.edges = dict(zip(zip(row.tolist(), A.indices.tolist(), strict=True), A.data, strict=True))
    G = ps.DynamicGraph(A, directed=directed)
    for k in (1, 30_000, 300, 20_000):
        u, v = rng.integers(A.shape[0], size=(2, k))
        w = rng.standard_normal(k)
        G.add_edges(u, v, w)
        model.add(u.tolist(), v.tolist(), w)
        some = rng.permutation(A.nnz)[: k // 2]
        expected = model.remove(row[some].tolist(), A.indices[some].tolist())
        assert G.remove_edges(row[some], A.indices[some], missing="ignore") == expected
    S = model.scipy()
    same_matrix(G.to_csr(), S)
    B = ps.csr_array(S)
    x = rng.standard_normal(A.shape[0])
    np.testing.assert_allclose(G @ x, S @ x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(G.T @ x, S.T @ x, rtol=1e-12, atol=1e-12)
    for threads in (1, 3):
        ps.set_num_threads(threads)
        for source in rng.integers(A.shape[0], size=4):
            assert np.array_equal(ps.csgraph.bfs(G, source), ps.csgraph.bfs(B, source))
        assert np.array_equal(
            ps.csgraph.connected_components(G)[1], ps.csgraph.connected_components(B)[1]
        )
    assert np.array_equal(
        ps.csgraph.bfs(G, sources=[1, 2], directed=False),
        ps.csgraph.bfs(B, sources=[1, 2], directed=False),
    )
    G.compact()
    assert G.changes == 0
    same_matrix(G.to_csr(), S)


def test_every_function_of_a_matrix_takes_it():
    A = ps.generate.rmat(8, 8, seed=1).astype(np.float64)
    G = ps.DynamicGraph(A)
    G.add_edges([0, 1], [5, 6], [2.5, 1.5])
    B = G.to_csr()
    assert G.to_csr() is B
    assert np.array_equal(ps.csgraph.pagerank(G), ps.csgraph.pagerank(B))
    assert np.array_equal(ps.csgraph.sssp(G, 0), ps.csgraph.sssp(B, 0))
    assert ps.csgraph.triangle_count(G) == ps.csgraph.triangle_count(B)
    assert np.array_equal(
        ps.sample.random_walks(G, [0, 1], 5, seed=3), ps.sample.random_walks(B, [0, 1], 5, seed=3)
    )
    mine, other = (ps.sample.neighbors(X, [0, 1], [3, 3], seed=4) for X in (G, B))
    assert np.array_equal(mine.vertices, other.vertices)
    assert ((G @ B) != (B @ B)).nnz == 0
    assert ((B @ G) != (B @ B)).nnz == 0
    assert (ps.csr_array(G) != B).nnz == 0
    assert np.array_equal(
        ps.csgraph.connected_components(G, connection="strong")[1],
        ps.csgraph.connected_components(B, connection="strong")[1],
    )
    G.add_edges(0, 7)
    assert G.to_csr() is not B


def test_removed_infinities_leave_no_trace():
    A = ps.csr_array(([np.inf, np.nan, 1.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    G = ps.DynamicGraph(A)
    G.remove_edges([0, 1], [1, 2])
    assert (G @ np.array([1.0, 2.0, 3.0])).tolist() == [0, 0, 1]
    assert (G.T @ np.array([1.0, 2.0, 3.0])).tolist() == [3, 0, 0]


def test_dot_with_out_alpha_and_beta():
    A = ps.csr_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    G = ps.DynamicGraph(A)
    G.add_edges([0], [2], [4.0])
    G.add_vertices(1)
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([10.0, 20.0, 30.0, 40.0])
    expected = 2 * (G.to_csr() @ x) + 3 * y
    assert G.dot(x, out=y, alpha=2, beta=3) is y
    assert np.array_equal(y, expected)
    with pytest.raises(ValueError, match="beta is given without out"):
        G.dot(x, beta=2)
    with pytest.raises(ValueError, match=r"x has shape \(3,\): a graph of 4 vertices"):
        G @ x[:3]
    with pytest.raises(ValueError, match="out"):
        G.dot(x, out=np.zeros(3))


def test_a_batch_counts_its_last_edge_in_both_directions():
    G = ps.DynamicGraph(ps.csr_array((3, 3), dtype=np.float64), directed=False)
    G.add_edges([0, 1, 0, 2], [1, 0, 1, 2], [1.0, 2.0, 3.0, 4.0])
    assert G.to_csr().toarray().tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 4]]
    G.add_edges([0, 1], [1, 0], [5.0, 6.0])
    assert G.to_csr().toarray()[0, 1] == G.to_csr().toarray()[1, 0] == 6
    assert G.remove_edges([1, 0, 2], [0, 1, 2]) == 2


def test_repeated_entries_of_the_base_are_added_up():
    A = ps.csr_array(([1.0, 2.0, 4.0], [1, 1, 0], [0, 3, 3]), shape=(2, 2))
    assert ps.DynamicGraph(A).to_csr().toarray().tolist() == [[4, 3], [0, 0]]


def test_what_is_refused():
    G = ps.DynamicGraph(ps.csr_array(([1.0], ([0], [1])), shape=(3, 3)))
    P = ps.DynamicGraph(ps.csr_array(([True], ([0], [1])), shape=(3, 3)))
    before = G.to_csr()
    for call, error, text in (
        (lambda: G.add_edges([0, 3], [1, 1]), ValueError, r"rows\[1\]=3 .* add_vertices"),
        (lambda: G.add_edges([0], [-1]), ValueError, r"cols\[0\]=-1 .* numbered from 0"),
        (lambda: G.add_edges([[0]], [1]), TypeError, r"rows has shape \(1, 1\): .*rows.ravel"),
        (lambda: G.add_edges(None, [1]), TypeError, "rows=None must be integers"),
        (lambda: G.add_edges([0], [2**70]), ValueError, r"cols\[0\]=1180591620717411303424 is"),
        (lambda: G.remove_edges([0], [3]), ValueError, r"cols\[0\]=3 .* 3 vertices$"),
        (lambda: G.add_edges([0], [1, 2]), ValueError, "rows has 1 entries and cols 2"),
        (lambda: G.add_edges([0.5], [1]), TypeError, "rows must be integers"),
        (lambda: G.add_edges([True], [1]), TypeError, "rows must be integers"),
        (lambda: G.add_edges([0], [1], [1.0, 2.0]), ValueError, r"values has shape \(2,\)"),
        (lambda: G.add_edges([0], [1], [1j]), TypeError, "imaginary"),
        (lambda: G.add_edges([0], [1], ["a"]), TypeError, "give numbers"),
        (lambda: P.add_edges([0], [1], [1.0]), ValueError, "pattern"),
        (lambda: G.remove_edges([0, 1, 2], [1, 2, 2]), ValueError, "from 1 to 2, nor 1 other:"),
        (lambda: G.remove_edges([0], [1], missing="skip"), ValueError, "missing='skip'"),
        (lambda: G.update(add=[0]), TypeError, "list and length 1: give .rows, cols. or"),
        (lambda: G.update(add=7), TypeError, "add is of type int: give .rows, cols. or"),
        (lambda: G.compact(background="no"), TypeError, "background='no': give True or False"),
        (lambda: ps.DynamicGraph(before, directed=None), TypeError, "directed=None: give True"),
        (lambda: ps.DynamicGraph.open("x", directed=0), TypeError, "directed=0: give True"),
        (lambda: ps.DynamicGraph.open(3), TypeError, "path=3 is no path: give"),
        (lambda: ps.DynamicGraph.open(""), ValueError, "path='' is empty: give"),
        (lambda: G.update(remove=([0], [1], [2])), TypeError, "give .rows, cols."),
        (lambda: G.resize(2), ValueError, "keeps them"),
        (lambda: G.add_vertices(-1), ValueError, "count=-1"),
        (lambda: G.add_vertices(1.5), TypeError, "count=1.5"),
        (lambda: G.resize(2**31), ValueError, "2\\^31 - 1"),
        (lambda: G.has_edges([3], [0]), ValueError, r"rows\[0\]=3"),
        (lambda: ps.csgraph.bfs(G, 3), ValueError, "source=3"),
        (lambda: ps.DynamicGraph(ps.csr_array((2, 3))), ValueError, "square"),
        (lambda: ps.DynamicGraph(before, directed=False), ValueError, "not symmetric"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert G.to_csr() is before
    assert G.changes == 0
    G.close()
    with pytest.raises(ValueError, match="closed"):
        G.add_edges([0], [1])
    assert G.number_of_edges() == 1


def test_readers_keep_the_graph_that_they_began_with():
    G = ps.DynamicGraph(ps.csr_array(([True], ([0], [1])), shape=(4, 4)))
    rows = G._patched()
    G.add_edges([1], [2])
    assert rows.nnz == 1
    assert G.number_of_edges() == 2


def test_changes_go_on_while_a_thread_compacts():
    A = ps.generate.rmat(13, 16, seed=2)
    G = ps.DynamicGraph(A)
    rng = np.random.default_rng(1)
    model = Model(A.shape[0], np.bool_, True)
    A = A.without_duplicates()
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    model.edges = dict.fromkeys(zip(row.tolist(), A.indices.tolist(), strict=True), True)
    futures = []
    for step in range(40):
        u, v = rng.integers(A.shape[0], size=(2, 500))
        G.add_edges(u, v)
        model.add(u.tolist(), v.tolist(), [True] * 500)
        if step % 5 == 0:
            futures.append(G.compact(background=True))
        expected = model.remove(u[:50].tolist(), v[:50].tolist())
        assert G.remove_edges(u[:50], v[:50]) == expected
    for future in futures:
        future.result()
    same_matrix(G.to_csr(), model.scipy())
    G.compact()
    same_matrix(G.to_csr(), model.scipy())


@pytest.mark.parametrize("directed", [True, False])
def test_packed_lists_of_the_base_are_searched(tmp_path, directed):
    A = ps.generate.rmat(11, 8, seed=6).astype(np.float64)
    A = (A if directed else A + A.T).without_duplicates()
    A.save(tmp_path / "a.penstock", lists=True)
    A = ps.open(tmp_path / "a.penstock")
    G = ps.DynamicGraph(A, directed=directed)
    rng = np.random.default_rng(8)
    u, v = rng.integers(A.shape[0], size=(2, 500))
    G.add_edges(u, v, 2.0)
    G.remove_edges(u[:100], v[:100])
    G.add_vertices(3)
    B = G.to_csr()
    for lists in ("packed", "raw", "auto"):
        for source in (0, 5, A.shape[0] + 1):
            mine = ps.csgraph.bfs(G, source, return_predecessors=True, lists=lists)
            other = ps.csgraph.bfs(B, source, return_predecessors=True)
            assert np.array_equal(mine[0], other[0])
            assert np.array_equal(mine[1], other[1])
        count, labels = ps.csgraph.connected_components(G, lists=lists)
        assert count == ps.csgraph.connected_components(G, lists=lists, return_labels=False)
        ps.csgraph.verify_components(B, count, labels)
    with pytest.raises(ValueError, match="lists='both'"):
        ps.csgraph.bfs(G, 0, lists="both")


def test_copies_and_pickles_name_the_remedy():
    graph = ps.DynamicGraph(ps.csr_array(np.eye(3)), directed=False)
    for take in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"G\.to_csr\(\).*directed=False"):
            take(graph)
