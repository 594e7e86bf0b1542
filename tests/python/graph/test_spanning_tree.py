"""Minimum spanning trees against SciPy, brute force and their own verifier."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scg
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import minimum_spanning_tree, verify_minimum_spanning_tree

import penstock as ps


@st.composite
def edge_lists(draw, most=12, edges=40):
    n = draw(st.integers(1, most))
    weight = draw(st.sampled_from([st.integers(-2, 4), st.floats(-5, 5, width=32)]))
    count = draw(st.integers(0, edges))
    vertex = st.integers(0, n - 1)
    some = [(draw(vertex), draw(vertex), float(draw(weight))) for _ in range(count)]
    if draw(st.booleans()):
        some += [(v, u, w) for u, v, w in some]
    return n, some


def stored(n, edges, dtype=np.float64):
    """Duplicates stay, rows are in the order of the list."""
    edges = sorted(edges, key=lambda e: e[0])
    indptr = np.searchsorted([e[0] for e in edges], np.arange(n + 1)).astype(np.int64)
    indices = np.array([e[1] for e in edges], np.int32)
    return ps.csr_array._from_parts(n, n, indptr, indices, np.array([e[2] for e in edges], dtype))


def kruskal(A):
    """(row, col, value), by weight and then by number."""
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)).tolist()
    label, tree = list(range(A.shape[0])), []
    for k in sorted(range(A.nnz), key=lambda k: (float(A.data[k]), k)):
        u, v = row[k], int(A.indices[k])
        if label[u] != label[v]:
            old, new = label[v], label[u]
            label = [new if each == old else each for each in label]
            tree.append((u, v, float(A.data[k])))
    return sorted(tree)


def entries(T):
    row = np.repeat(np.arange(T.shape[0]), np.diff(T.indptr)).tolist()
    return sorted(zip(row, T.indices.tolist(), T.data.astype(float).tolist(), strict=True))


@settings(max_examples=300, deadline=None)
@given(edge_lists(), st.sampled_from([np.float32, np.float64]))
def test_the_edges_of_kruskal(graph, dtype):
    A = stored(*graph, dtype)
    T = minimum_spanning_tree(A)
    assert T.dtype == dtype and entries(T) == kruskal(A)
    verify_minimum_spanning_tree(A, T)
    P = ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, None)
    assert minimum_spanning_tree(P).dtype == np.bool_
    assert entries(minimum_spanning_tree(P)) == kruskal(P)


@settings(max_examples=60, deadline=None)
@given(edge_lists(most=5, edges=7))
def test_no_forest_is_lighter(graph):
    """All forests with as many edges, one by one; and the verifier knows the lightest from the others."""
    n, edges = graph
    A = stored(n, edges)
    T = entries(minimum_spanning_tree(A))
    every = entries(A)
    best = sum(w for _, _, w in T)
    for some in itertools.combinations(every, len(T)):
        label = list(range(n))
        for u, v, _ in some:
            if label[u] == label[v]:
                break
            label = [label[u] if each == label[v] else each for each in label]
        else:
            weight = sum(w for _, _, w in some)
            assert weight >= best - 1e-9
            if weight > best + 1e-6:
                with pytest.raises(ValueError, match="minimum_spanning_tree: the edge"):
                    verify_minimum_spanning_tree(A, stored(n, list(some)))


def big(name):
    if name == "rmat":
        return ps.generate.rmat(13, 16, dtype=np.float64, seed=2)
    if name == "ties":
        A = ps.generate.rmat(12, 16, dtype=np.float64, seed=2)
        return ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, np.ceil(A.data * 4))
    if name == "one way":
        return ps.generate.rmat(12, 8, undirected=False, dtype=np.float64, seed=5)
    return ps.generate.road_grid(150, 130, seed=3)


@pytest.mark.parametrize("name", ["rmat", "ties", "one way", "road"])
def test_as_heavy_as_scipys_for_any_threads(name):
    A = big(name)
    S = A.to_scipy().astype(float)
    first = None
    for count in (1, 2, 4):
        ps.set_num_threads(count)
        T = minimum_spanning_tree(A.copy())
        first = first or entries(T)
        assert entries(T) == first
    theirs = scg.minimum_spanning_tree(S)
    assert T.data.sum() == pytest.approx(theirs.data.sum(), rel=1e-12)
    assert T.nnz == A.shape[0] - scg.connected_components(S)[0]
    verify_minimum_spanning_tree(A, T)
    verify_minimum_spanning_tree(A, theirs)


def test_what_a_graph_may_be():
    dense = np.array([[0, 8.0, np.inf], [3, 0, np.nan], [0, 2, 0]])
    np.testing.assert_array_equal(
        minimum_spanning_tree(dense).toarray(), scg.minimum_spanning_tree(dense).toarray()
    )
    masked = np.ma.masked_less(np.array([[-1, 0.0, 5], [-1, -1, 1], [-1, -1, -1]]), 0)
    assert entries(minimum_spanning_tree(masked)) == [(0, 1, 0.0), (1, 2, 1.0)]
    S = sp.csr_matrix(np.nan_to_num(dense, nan=0, posinf=0))
    T = minimum_spanning_tree(S, overwrite=True)
    assert type(T) is sp.csr_matrix and T.dtype == np.float64 and T.data.flags.writeable
    assert type(minimum_spanning_tree(sp.coo_array(np.eye(3)))) is sp.csr_array
    assert minimum_spanning_tree(ps.csr_array((0, 0))).shape == (0, 0)
    assert minimum_spanning_tree(ps.csr_array((3, 3))).nnz == 0


def test_faults():
    with pytest.raises(ValueError, match="square"):
        minimum_spanning_tree(ps.csr_array((2, 3)))
    with pytest.raises(ValueError, match="real weights"):
        minimum_spanning_tree(ps.csr_array(np.ones((2, 2), complex)))
    with pytest.raises(ValueError, match="edge 2 -> 0 has weight nan"):
        minimum_spanning_tree(ps.csr_array(([1.0, np.nan], ([0, 2], [1, 0])), shape=(3, 3)))
    with pytest.raises(ValueError, match=r"minimum_spanning_tree runs on the CPU|GPUs"):
        minimum_spanning_tree(ps.csr_array((2, 2)), device=0)
    A = stored(4, [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 3.0)])
    for wrong, words in (
        ([(0, 1, 1.0), (0, 2, 3.0)], "edge 1 -> 2 of weight 2 has no path"),
        ([(0, 1, 1.0)], "edge 1 -> 2 of weight 2 has no path"),
        ([(0, 1, 1.0), (1, 2, 2.0), (0, 2, 3.0)], "0 -> 2 closes a cycle"),
        ([(0, 1, 1.0), (1, 2, 1.0)], "1 -> 2 of weight 1 is none of the graph"),
        ([(0, 1, 1.0), (2, 1, 2.0)], "2 -> 1 of weight 2 is none of the graph"),
    ):
        with pytest.raises(ValueError, match=words):
            verify_minimum_spanning_tree(A, stored(4, wrong))
    with pytest.raises(ValueError, match="both must be square, and equal"):
        verify_minimum_spanning_tree(A, ps.csr_array((3, 3)))


@pytest.mark.parametrize("name", ["road-seattle.mtx.gz", "bremen_dist.gr.gz", "wiki-Vote.txt.gz"])
def test_real_graphs(name):
    A = ps.load(real_file(name))
    T = minimum_spanning_tree(A)
    verify_minimum_spanning_tree(A, T)
    assert T.nnz == A.shape[0] - ps.csgraph.connected_components(A)[0]
