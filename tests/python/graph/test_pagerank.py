"""PageRank against NetworkX, dense algebra and its own verifier."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import pagerank, verify_pagerank

import penstock as ps


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 10))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex, st.integers(0, 4)), max_size=30))
    return n, edges


def exact(n, edges, alpha, p, sink, weighted):
    M = np.zeros((n, n))
    for u, v, w in edges:
        M[u, v] += w if weighted else 1
    out = M.sum(axis=1)
    for u in range(n):
        M[u] = M[u] / out[u] if out[u] else sink
    return np.linalg.solve(np.eye(n) - alpha * M.T, (1 - alpha) * p)


@settings(max_examples=200, deadline=None)
@given(graphs(), st.data())
def test_against_dense_algebra(graph, data):
    n, edges = graph
    dtype = data.draw(st.sampled_from([np.float64, np.float32]))
    weighted = data.draw(st.booleans())
    alpha = data.draw(st.sampled_from([0.0, 0.5, 0.85]))
    rows, cols, values = (np.array([e[i] for e in edges]) for i in range(3))
    indptr = np.searchsorted(np.sort(rows), np.arange(n + 1)).astype(np.int64)
    order = np.argsort(rows, kind="stable")
    indices = cols[order].astype(np.int32) if edges else np.zeros(0, np.int32)
    weights = values[order].astype(dtype) if edges else np.zeros(0, dtype)
    A = ps.csr_array._from_parts(n, n, indptr, indices, weights)
    p = sink = np.full(n, 1 / n)
    options = {}
    if data.draw(st.booleans()):
        p = sink = np.arange(1, n + 1) / np.arange(1, n + 1).sum()
        options["personalization"] = {v: float(v + 1) for v in range(n)}
    if data.draw(st.booleans()):
        sink = np.eye(n)[n // 2]
        options["dangling"] = sink * 7
    right = exact(n, edges, alpha, p, sink, weighted)
    ranks = pagerank(A, alpha, tol=1e-12, max_iter=1000, weighted=weighted, **options)
    assert ranks.dtype == np.float64
    np.testing.assert_allclose(ranks, right, rtol=0, atol=1e-10)
    verify_pagerank(A, ranks, alpha, tol=1e-11, weighted=weighted, **options)
    warm, info = pagerank(
        A, alpha, tol=1e-9, weighted=weighted, nstart=right, return_info=True, **options
    )
    assert info["converged"] and info["iterations"] <= 2
    np.testing.assert_allclose(warm, right, rtol=0, atol=1e-7)


@pytest.fixture(scope="module")
def graph():
    return {
        "undirected": ps.generate.rmat(11, 12, seed=1),
        "directed": ps.generate.rmat(11, 6, undirected=False, seed=2),
        "weighted": ps.generate.rmat(11, 6, undirected=False, dtype=np.float64, seed=2),
        "float": ps.generate.rmat(11, 6, dtype=np.float32, seed=2),
        "road": ps.generate.road_grid(90, 70, dtype=bool, seed=2),
    }


KINDS = ["undirected", "directed", "weighted", "float", "road"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-11])
def test_the_same_for_any_threads(graph, kind, tol):
    A = graph[kind]
    results = []
    for threads in (1, 2, 4):
        ps.set_num_threads(threads)
        results.append(pagerank(A, tol=tol, max_iter=500))
    for other in results[1:]:
        assert other.tobytes() == results[0].tobytes()
    assert results[0].sum() == pytest.approx(1, abs=1e-12)
    verify_pagerank(A, results[0], tol=tol)


@pytest.mark.parametrize("kind", KINDS)
def test_as_networkx(graph, kind):
    A = graph[kind]
    G = nx.from_scipy_sparse_array(A.to_scipy().astype(float), create_using=nx.DiGraph)
    start = {v: v % 7 + 1.0 for v in range(0, A.shape[0], 3)}
    right = nx.pagerank(G, 0.9, personalization=start, tol=1e-14, max_iter=1000)
    ranks = pagerank(A, 0.9, personalization=start, tol=1e-11, max_iter=1000)
    np.testing.assert_allclose(ranks, [right[v] for v in range(A.shape[0])], rtol=0, atol=1e-10)


def test_single_precision_steps_are_close(graph):
    A = graph["undirected"]
    exact = pagerank(A, tol=1e-13, max_iter=500)
    rough, info = pagerank(A, tol=1e-5, return_info=True)
    assert info["change"] < 1e-5
    assert np.abs(rough - exact).sum() < 1e-5 * 0.85 / 0.15 + 1e-6


@pytest.mark.parametrize("tol", [1e-5, 1e-8])
def test_a_hub_whose_sum_float32_cannot_hold(tol):
    """Steps in float32 end there, and float64 goes on."""
    n = 1_000_001
    leaves, hub = np.arange(1, n), np.zeros(n - 1, int)
    star = (np.ones(2 * n - 2, bool), (np.r_[hub, leaves], np.r_[leaves, hub]))
    ranks, told = ps.csgraph.pagerank(
        ps.csr_array(star, shape=(n, n)), tol=tol, max_iter=400, return_info=True
    )
    assert told["converged"] and told["iterations"] < 200
    hub_rank = (0.15 / n + 0.85) / 1.85  # from the hub's own equation
    assert abs(ranks[0] - hub_rank) < 10 * tol
    assert np.abs(ranks[1:] - (1 - hub_rank) / (n - 1)).sum() < 10 * tol


def test_no_convergence(graph):
    A = graph["directed"]
    with pytest.raises(RuntimeError, match="max_iter=3"):
        pagerank(A, max_iter=3)
    ranks, info = pagerank(A, max_iter=3, return_info=True)
    assert info["iterations"] == 3 and not info["converged"] and info["change"] > 1e-6
    assert ranks.sum() == pytest.approx(1)
    start, info = pagerank(A, max_iter=0, return_info=True)
    assert info["iterations"] == 0 and not info["converged"]
    np.testing.assert_allclose(start, 1 / A.shape[0])


def test_small_shapes():
    assert pagerank(ps.csr_array((0, 0))).shape == (0,)
    assert pagerank(ps.csr_array((1, 1))).tolist() == [1.0]
    np.testing.assert_allclose(pagerank(ps.csr_array((4, 4))), 0.25)


def test_does_not_change_the_product(graph):
    A = ps.generate.rmat(14, 16, seed=5)
    pagerank(A, tol=1e-4)
    from penstock import _core

    assert _core.plan_bytes(A._core) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 1.5}, "alpha=1.5"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": np.nan}, "tol=nan"),
        ({"max_iter": -1}, "max_iter=-1"),
        ({"personalization": [1.0]}, "personalization has shape"),
        ({"personalization": np.zeros(3)}, "personalization adds up to 0"),
        ({"dangling": {5: 1.0}}, "dangling names vertex 5"),
        ({"nstart": [1.0, -1.0, 3.0]}, r"nstart\[1\]=-1"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        pagerank(ps.csr_array(np.ones((3, 3))), **options)


def test_bad_weights_name_the_edge():
    A = ps.csr_array(([1.0, -1.0], ([0, 1], [1, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match="edge 1 -> 2 has weight -1"):
        pagerank(A)
    np.testing.assert_allclose(pagerank(A, weighted=False).sum(), 1)
    A = ps.csr_array(([1.0, np.inf], ([0, 1], [1, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match="edge 1 -> 2 has weight inf"):
        pagerank(A)


def test_verifier_catches(graph):
    A = graph["directed"]
    good = pagerank(A)
    bad = good.copy()
    bad[3] += 1e-5
    with pytest.raises(ValueError, match="add up to"):
        verify_pagerank(A, bad)
    bad = good.copy()
    i, j = np.argsort(good)[-2:]
    bad[[i, j]] = bad[[j, i]]
    with pytest.raises(ValueError, match="a step changes"):
        verify_pagerank(A, bad)
    bad = good.copy()
    bad[int(np.argmin(good))] *= -1
    with pytest.raises(ValueError, match="has rank -"):
        verify_pagerank(A, bad)
