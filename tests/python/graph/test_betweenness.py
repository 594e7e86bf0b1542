"""Betweenness against NetworkX and the definition."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import betweenness_centrality, verify_betweenness

import penstock as ps


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 9), st.data())
def test_against_networkx(n, data):
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=30))
    how = {
        "normalized": data.draw(st.booleans()),
        "endpoints": data.draw(st.booleans()),
    }
    directed = data.draw(st.booleans())
    G = (nx.DiGraph if directed else nx.Graph)([e for e in edges if e[0] != e[1]])
    G.add_nodes_from(range(n))
    right = nx.betweenness_centrality(G, **how)
    indptr = np.searchsorted(sorted(e[0] for e in edges), np.arange(n + 1)).astype(np.int64)
    indices = np.array([v for _, v in sorted(edges, key=lambda e: e[0])], np.int32)
    A = ps.csr_array._from_parts(n, n, indptr, indices, None)
    got = betweenness_centrality(A, directed=directed, **how)
    np.testing.assert_allclose(got, [right[v] for v in range(n)], rtol=1e-12, atol=1e-14)
    verify_betweenness(A, got, directed=directed, **how)


@pytest.mark.parametrize("endpoints", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("k", [1, 5, 60])
def test_sampled_as_networkx(monkeypatch, k, normalized, endpoints):
    A = ps.generate.rmat(6, 4, undirected=False, seed=1)
    A = A[:]
    G = nx.from_scipy_sparse_array(A.to_scipy(), create_using=nx.DiGraph)
    from penstock.csgraph import betweenness

    _, sources, _ = betweenness._task(A, k, True, normalized, endpoints, 3)
    sampled = [int(s) for s in sources]
    monkeypatch.setattr("random.Random.sample", lambda self, population, size: sampled)
    right = nx.betweenness_centrality(G, k=k, normalized=normalized, endpoints=endpoints, seed=1)
    got = betweenness_centrality(A, k, normalized=normalized, endpoints=endpoints, seed=3)
    np.testing.assert_allclose(got, [right[v] for v in range(A.shape[0])], rtol=1e-12, atol=1e-14)
    verify_betweenness(A, got, k, normalized=normalized, endpoints=endpoints, seed=3)


def test_the_same_for_any_threads():
    A = ps.generate.rmat(10, 8, seed=2)
    results = []
    for count in (1, 2, 4):
        ps.set_num_threads(count)
        results.append(betweenness_centrality(A, 37, seed=1))
        assert results[-1].tobytes() == results[0].tobytes()
    assert betweenness_centrality(A, 37, seed=2).tobytes() != results[0].tobytes()


def test_more_paths_than_doubles_hold():
    """A chain of 1100 diamonds: 2^1100 shortest paths from end to end."""
    links = 1100
    rows, cols = [], []
    for i in range(links):
        a, b, c, d = 3 * i, 3 * i + 1, 3 * i + 2, 3 * i + 3
        rows += [a, a, b, c]
        cols += [b, c, d, d]
    n = 3 * links + 1
    A = ps.csr_array((np.ones(len(rows), bool), (rows, cols)), shape=(n, n))
    got = betweenness_centrality(A, normalized=False)
    cut = np.arange(1, links) * 3  # through a joint lead all paths from before it to behind it
    np.testing.assert_allclose(got[cut], cut * (n - 1.0 - cut), rtol=1e-9)
    # A side of diamond i: half of all paths between what lies before and behind it.
    side = 3 * np.arange(links) + 1
    np.testing.assert_allclose(got[side], side * (n - 1.0 - side - 1) / 2, rtol=1e-9)


def test_small_shapes():
    assert betweenness_centrality(ps.csr_array((0, 0))).shape == (0,)
    assert betweenness_centrality(ps.csr_array(np.ones((1, 1)))).tolist() == [0.0]
    assert betweenness_centrality(ps.csr_array(np.ones((2, 2)))).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="k=3"):
        betweenness_centrality(ps.csr_array((2, 2)), 3)
    with pytest.raises(ValueError, match="square"):
        betweenness_centrality(ps.csr_array((2, 3)))


def test_verifier_catches():
    A = ps.generate.rmat(7, 6, seed=2)
    good = betweenness_centrality(A)
    for wrong in (good * 1.001, np.roll(good, 1), good + (np.arange(good.size) == 5)):
        with pytest.raises(ValueError, match="at vertex|add up to"):
            verify_betweenness(A, wrong)
    verify_betweenness(ps.csr_array((2001, 2001)), np.zeros(2001))
