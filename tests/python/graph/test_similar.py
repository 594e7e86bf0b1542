"""Vertices that are alike: against sets, matrix products and NetworkX, alike for any number of threads."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_graphs import as_listed
from penstock._choices import MEASURES
from penstock.csgraph import most_similar, similarity

import penstock as ps

MANY = settings(max_examples=150, deadline=None)


def by_sets(n, edges, u, v, measure):
    near = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    shared, d = near[u] & near[v], [len(x) for x in near]
    if not shared:
        return 0.0
    return {
        "common_neighbors": lambda: len(shared),
        "jaccard": lambda: len(shared) / len(near[u] | near[v]),
        "overlap": lambda: len(shared) / min(d[u], d[v]),
        "cosine": lambda: len(shared) / math.sqrt(d[u] * d[v]),
        "adamic_adar": lambda: sum(1 / math.log(d[w]) if d[w] > 1 else math.inf for w in shared),
        "resource_allocation": lambda: sum(1 / d[w] for w in shared),
    }[measure]()


@st.composite
def edge_lists(draw):
    n = draw(st.integers(1, 12))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=50))
    return n, edges + [(b, a) for a, b in edges] if draw(st.booleans()) else edges


@MANY
@given(edge_lists(), st.sampled_from(list(MEASURES)))
def test_every_pair_against_sets(graph, measure):
    n, edges = graph
    pairs = [(u, v) for u in range(n) for v in range(n)]
    scores = similarity(as_listed(n, edges), pairs, measure=measure)
    assert scores.dtype == np.float64 and scores.shape == (n * n,)
    right = [by_sets(n, edges, u, v, measure) for u, v in pairs]
    np.testing.assert_allclose(scores, right, rtol=1e-13)


@MANY
@given(edge_lists(), st.sampled_from(list(MEASURES)), st.integers(1, 14), st.booleans(), st.data())
def test_the_best_against_a_sort_of_all(graph, measure, k, neighbours, data):
    n, edges = graph
    A = as_listed(n, edges)
    some = data.draw(st.lists(st.integers(0, n - 1), max_size=6))
    others, scores = most_similar(A, np.array(some, int), k, measure, neighbours=neighbours)
    assert others.dtype == np.int32 and scores.dtype == np.float64
    assert others.shape == scores.shape == (len(some), k)
    joined = {(a, b) for a, b in edges} | {(b, a) for a, b in edges}
    for u, mine, its in zip(some, others.tolist(), scores.tolist(), strict=True):
        candidates = [v for v in range(n) if v != u and (neighbours or (u, v) not in joined)]
        all_scores = similarity(A, [(u, v) for v in candidates], measure=measure).tolist()
        order = sorted((-s, v) for s, v in zip(all_scores, candidates, strict=True) if s > 0)[:k]
        missing = k - len(order)
        assert mine == [v for _, v in order] + [-1] * missing
        assert its == [-s for s, _ in order] + [0.0] * missing  # the same bits


@MANY
@given(edge_lists())
def test_networkx(graph):
    n, edges = graph
    edges = [e for e in edges if e[0] != e[1]]
    G = nx.Graph(edges)
    G.add_nodes_from(range(n))
    pairs = [(u, v) for u in range(n) for v in range(u)]
    A = as_listed(n, edges)
    for measure, theirs in {
        "jaccard": nx.jaccard_coefficient,
        "adamic_adar": nx.adamic_adar_index,
        "resource_allocation": nx.resource_allocation_index,
    }.items():
        right = [s for _, _, s in theirs(G, pairs)]
        np.testing.assert_allclose(similarity(A, pairs, measure), right, rtol=1e-12)


def by_products(A):
    """How many neighbours all pairs share, and degrees."""
    S = A.to_scipy().astype(np.float64)
    S = ((S + S.T) != 0).astype(np.float64).tolil()
    S.setdiag(0)
    S = S.tocsr()
    S.eliminate_zeros()
    return (S @ S).toarray(), np.diff(S.indptr).astype(float), S


@pytest.fixture(scope="module")
def skewed():
    """R-MAT and three hubs: one that knows all, one that knows half, and one whose neighbours nobody else has."""
    A = ps.generate.rmat(10, 8, seed=3)
    n = A.shape[0]
    hubs = [(0, v) for v in range(n)] + [(1, v) for v in range(0, n, 2)]
    far = [(n, n + 1 + i) for i in range(300)]
    row, col = np.array(hubs + far).T
    S = sp.coo_array(A.to_scipy().astype(np.int64))
    row = np.concatenate((S.row, row))
    col = np.concatenate((S.col, col))
    return ps.csr_array((np.ones(row.size), (row, col)), shape=(n + 310, n + 310))


def test_hubs_against_products(skewed):
    shared, degree, S = by_products(skewed)
    n = degree.size
    pairs = np.random.default_rng(1).integers(0, n, (4000, 2))
    pairs[::7, 0] = 0
    pairs[::11, 1] = 1
    u, v = pairs.T
    count = shared[u, v]
    assert (count > 100).any() and (count == 0).any()
    assert np.array_equal(similarity(skewed, pairs, "common_neighbors"), count)
    both = np.maximum(degree[u] + degree[v] - count, 1)
    np.testing.assert_array_equal(similarity(skewed, pairs), count / both)
    inverse = sp.diags_array(1 / np.maximum(degree, 1))
    right = (S @ inverse @ S).toarray()[u, v]
    np.testing.assert_allclose(similarity(skewed, pairs, "resource_allocation"), right, rtol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_long_walks_and_any_number_of_threads(skewed, measure):
    n = skewed.shape[0]
    shared, _, _ = by_products(skewed)
    some = np.array([0, 1, 5, n - 310, n - 309, n - 1, 0])
    results = []
    for count in (1, 2, 5):
        ps.set_num_threads(count)
        results.append(most_similar(skewed, some, 40, measure))
        pairs = np.stack((np.repeat(some, n), np.tile(np.arange(n), some.size)), axis=1)
        results.append((similarity(skewed, pairs, measure), None))
    for count in (1, 2):
        for one, other in zip(results[:2], results[2 * count :], strict=False):
            assert all(
                np.array_equal(x, y) for x, y in zip(one, other, strict=True) if x is not None
            )
    (others, scores), (every, _) = results[:2]
    every = every.reshape(some.size, n)
    for i, u in enumerate(some):
        every[i, u] = 0
        order = np.lexsort((np.arange(n), -every[i]))[:40]
        right = np.where(every[i, order] > 0, order, -1)
        assert np.array_equal(others[i], right)
        assert np.array_equal(scores[i], every[i, order])
    assert (others[4] == np.setdiff1d(np.arange(n - 309, n - 9), n - 309)[:40]).all()
    assert (others[5] == -1).all()  # isolated
    assert np.array_equal(others[0], others[6])
    if measure == "common_neighbors":
        assert scores[0, 0] == np.delete(shared[0], 0).max()


def test_ranges_of_columns_have_the_same_bits():
    """Walks that are cut into ranges, in an array and in a hash table, over a graph of many vertices."""
    rng = np.random.default_rng(5)
    n, hubs = 3_000_000, 40
    # Most have small numbers, so that the last range is met so rarely that it has a hash table.
    ends = [
        np.unique(100 + (rng.random(200_000) ** 20 * (n - 100)).astype(int)) for _ in range(hubs)
    ]
    col = np.concatenate((np.arange(1, hubs + 1), *ends))
    row = np.concatenate(
        (np.zeros(hubs, int), *(np.full(e.size, i + 1) for i, e in enumerate(ends)))
    )
    A = ps.csr_array((np.ones(row.size), (row, col)), shape=(n, n))
    few = ends[0][[-1, -2, ends[0].size // 2]]
    for measure in ("adamic_adar", "cosine"):
        others, scores = most_similar(A, [0, *few], 500, measure)
        sums = np.zeros(n)
        degree = np.array([e.size + 1 for e in ends])
        for e, d in zip(ends, degree, strict=True):
            sums[e] += 1 / math.log(d) if measure == "adamic_adar" else 1
        if measure == "cosine":
            of = np.bincount(np.concatenate(ends), minlength=n)
            sums = np.divide(sums, np.sqrt(hubs * of), out=sums, where=of > 0)
        order = np.lexsort((np.arange(n), -sums))[:500]
        np.testing.assert_allclose(scores[0], sums[order], rtol=1e-14)
        pairs = np.stack((np.zeros(500, int), others[0]), axis=1)
        assert np.array_equal(similarity(A, pairs, measure), scores[0])
        assert np.all((np.diff(scores[0]) < 0) | (np.diff(others[0]) > 0))
        for u, mine, its in zip(few, others[1:], scores[1:], strict=True):
            pairs = np.stack((np.full(500, u), mine), axis=1)
            assert (mine >= 0).all() and u not in mine
            assert np.array_equal(similarity(A, pairs, measure), its)


def test_nothing():
    empty = ps.csr_array(([], ([], [])), shape=(3, 3))
    assert similarity(empty, [(0, 0), (1, 2)]).tolist() == [0.0, 0.0]
    assert similarity(empty, []).shape == (0,)
    others, scores = most_similar(empty, 1, 2)
    assert others.tolist() == [[-1, -1]] and scores.tolist() == [[0.0, 0.0]]
    assert most_similar(empty, np.array([], int), 2)[0].shape == (0, 2)


def test_what_is_refused():
    A = ps.csr_array(([1.0], ([0], [1])), shape=(3, 3))
    with pytest.raises(ValueError, match=r"measure='dice' is unknown: choose one of common_neigh"):
        similarity(A, [(0, 1)], measure="dice")
    with pytest.raises(ValueError, match="measure=3"):
        most_similar(A, [0], 1, measure=3)
    with pytest.raises(ValueError, match=r"pairs\[1, 0\]=3 is outside a graph of 3 vertices"):
        similarity(A, [(0, 1), (3, 1)])
    with pytest.raises(ValueError, match=r"pairs\[0, 1\]=-1"):
        similarity(A, [(0, -1)])
    with pytest.raises(ValueError, match=r"shape \(3,\): give \(m, 2\)"):
        similarity(A, [0, 1, 2])
    with pytest.raises(TypeError, match="integers, not float64"):
        similarity(A, [(0.0, 1.0)])
    with pytest.raises(ValueError, match=r"vertices\[0\]=3"):
        most_similar(A, [3], 1)
    with pytest.raises(ValueError, match="k=0 must be at least 1"):
        most_similar(A, [0], 0)
    with pytest.raises(TypeError):
        most_similar(A, [0], 1.5)
    with pytest.raises(ValueError, match="most_similar needs a square adjacency matrix"):
        most_similar(np.ones((2, 3)), [0], 1)
