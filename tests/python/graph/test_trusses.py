"""Trusses: against peeling by sets, matrix products and NetworkX, alike for any number of threads."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_graphs import as_listed
from penstock.csgraph import k_truss, truss_numbers

import penstock as ps

MANY = settings(max_examples=200, deadline=None)


def by_sets(n, edges):
    """Truss numbers by {(u, v): number}, each found by peeling from the whole graph."""
    near = [set() for _ in range(n)]
    for a, b in edges:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    numbers = {(u, v): 2 for u in range(n) for v in near[u]}
    k = 3
    while any(near):
        weak = True
        while weak:
            weak = [(u, v) for u in range(n) for v in near[u] if len(near[u] & near[v]) < k - 2]
            for u, v in weak:
                near[u].discard(v)
        for u in range(n):
            for v in near[u]:
                numbers[u, v] = k
        k += 1
    return numbers


@MANY
@given(st.integers(1, 13), st.data())
def test_against_sets_and_networkx(n, data):
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=90))
    if data.draw(st.booleans()):
        edges += [(b, a) for a, b in edges]
    A = as_listed(n, edges)
    T = truss_numbers(A)
    assert T.shape == (n, n) and T.dtype == np.float64
    found = T.to_scipy().tocoo()
    right = by_sets(n, edges)
    assert dict(zip(zip(found.row, found.col, strict=True), found.data, strict=True)) == right
    G = nx.Graph([e for e in edges if e[0] != e[1]])
    for k in (0, 2, 3, 4, 5):
        S = k_truss(A, k).to_scipy().tocoo()
        kept = {(min(e), max(e)) for e in zip(S.row.tolist(), S.col.tolist(), strict=True)}
        assert kept == {(min(e), max(e)) for e in nx.k_truss(G, k).edges}
        assert set(zip(S.row.tolist(), S.col.tolist(), strict=True)) <= set(edges)


def by_products(A, T):
    """Asserts that T has the numbers that peeling by products of matrices finds."""
    S = A.to_scipy().astype(float)
    S = sp.csr_array((S + S.T) != 0).astype(float)
    S = sp.csr_array(S - sp.diags_array(S.diagonal()))
    S.eliminate_zeros()
    T = T.to_scipy()
    assert T.nnz == S.nnz and abs(T - T.T).nnz == 0
    left = S
    for k in range(3, int(T.data.max()) + 2):
        while left.nnz:
            keep = sp.csr_array((left @ left).multiply(left) >= k - 2).astype(float)
            keep.eliminate_zeros()
            if keep.nnz == left.nnz:
                break
            left = keep
        right = sp.csr_array(k <= T).astype(float)
        assert abs(right - left).nnz == 0, k
    assert left.nnz == 0


@pytest.fixture(scope="module")
def graphs():
    clique = np.argwhere(~np.eye(60, dtype=bool))
    hubs = [(u, v) for u in range(2) for v in range(2000)]
    row, col = np.concatenate((clique, clique[:2000] + 40, np.array(hubs))).T
    return {
        "skewed": ps.generate.rmat(9, 16, seed=1),
        "directed": ps.generate.rmat(9, 8, undirected=False, self_loops=True, seed=2),
        "even": ps.generate.uniform(400, nnz_per_row=40, dtype=bool, seed=1),
        "cliques and hubs": ps.csr_array((np.ones(row.size), (row, col)), shape=(2010, 2010)),
    }


@pytest.mark.parametrize("kind", ["skewed", "directed", "even", "cliques and hubs"])
def test_large_ones(graphs, kind):
    A, results = graphs[kind], []
    for count in (1, 2, 5):
        ps.set_num_threads(count)
        results.append(truss_numbers(A))
    for other in results[1:]:
        assert np.array_equal(other.data, results[0].data)
        assert np.array_equal(other.indices, results[0].indices)
    assert results[0].data.max() > 4
    by_products(A, results[0])


def test_values_and_directions_are_kept():
    A = ps.csr_array(
        ([1.0, 2.0, 4.0, 8.0, 16.0, 3.0], ([0, 0, 1, 2, 1, 2], [1, 1, 2, 0, 1, 3])), shape=(4, 4)
    )
    right = [[0, 3, 0, 0], [0, 0, 4, 0], [8, 0, 0, 0], [0, 0, 0, 0]]
    assert k_truss(A, 3).toarray().tolist() == right
    assert type(k_truss(A, 3)) is ps.csr_array
    right[2][3] = 3
    assert k_truss(A, 2).toarray().tolist() == right
    theirs = k_truss(A.to_scipy(), 2)
    assert type(theirs) is sp.csr_array and theirs.toarray().tolist() == right
    pattern = k_truss(ps.csr_array(([True] * 3, ([0, 1, 2], [1, 2, 0])), shape=(3, 3)), 3)
    assert pattern.dtype == bool and pattern.nnz == 3


def test_nothing():
    empty = ps.csr_array(([], ([], [])), shape=(3, 3))
    assert truss_numbers(empty).nnz == k_truss(empty, 3).nnz == 0
    loops = ps.csr_array(([1.0], ([1], [1])), shape=(2, 2))
    assert truss_numbers(loops).nnz == k_truss(loops, 1).nnz == 0


def test_what_is_refused():
    with pytest.raises(ValueError, match="truss_numbers needs a square adjacency matrix"):
        truss_numbers(np.ones((2, 3)))
    with pytest.raises(TypeError):
        k_truss(np.ones((2, 2)), 2.5)


_IN_CSGRAPH = {
    "k=2.5 is not an integer": lambda A: ps.csgraph.k_truss(A, 2.5),
    "seed=1.5 is not an integer": lambda A: ps.csgraph.louvain(A, seed=1.5),
    "max_levels=1.5 is not an integer": lambda A: ps.csgraph.louvain(A, max_levels=1.5),
    "unweighted=2: give True or False": lambda A: ps.csgraph.louvain(A, unweighted=2),
    "max_iter=1.5 is not an integer": lambda A: ps.csgraph.pagerank(A, max_iter=1.5),
    "weighted='no': give True or False": lambda A: ps.csgraph.pagerank(A, weighted="no"),
    "max_iter=2.5 is not an integer": lambda A: ps.csgraph.personalized_pagerank(
        A, [0], max_iter=2.5
    ),
    "k=1.5 is not an integer": lambda A: ps.csgraph.betweenness_centrality(A, k=1.5),
    "directed='no': give True or False": lambda A: ps.csgraph.betweenness_centrality(
        A, directed="no"
    ),
    "seed=-1 is not between 0": lambda A: ps.csgraph.betweenness_centrality(A, k=2, seed=-1),
    "k=3.5 is not an integer": lambda A: ps.csgraph.most_similar(A, [0], 3.5),
    "ordinal='x' is not an integer": lambda A: ps.device("x"),
}


@pytest.mark.parametrize("words", _IN_CSGRAPH)
def test_arguments_of_another_type_are_named(words):
    A = ps.csr_array(np.ones((3, 3)))
    with pytest.raises((TypeError, ValueError), match=words):
        _IN_CSGRAPH[words](A)
