"""Triangles against NetworkX, matrix products and the verifier."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listed_graphs import as_listed
from penstock.csgraph import triangle_count, triangles, verify_triangles

import penstock as ps
from penstock import _core


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 14), st.data())
def test_against_networkx(n, data):
    vertex = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(vertex, vertex), max_size=60))
    if data.draw(st.booleans()):
        edges += [(v, u) for u, v in edges]
    A = as_listed(n, edges)
    G = nx.Graph([e for e in edges if e[0] != e[1]])
    G.add_nodes_from(range(n))
    right = nx.triangles(G)
    each = triangles(A)
    assert each.dtype == np.int64 and each.tolist() == [right[v] for v in range(n)]
    assert triangle_count(A) == sum(right.values()) // 3
    verify_triangles(A, each)
    verify_triangles(A, triangle_count(A))


@pytest.fixture(scope="module")
def graphs():
    return {
        "skewed": ps.generate.rmat(11, 16, seed=1),
        "directed": ps.generate.rmat(10, 16, undirected=False, self_loops=True, seed=1),
        "even": ps.generate.uniform(1000, nnz_per_row=20, dtype=bool, seed=1),
        "road": ps.generate.road_grid(60, 50, diagonals=0.3, seed=1),
    }


@pytest.mark.parametrize("kind", ["skewed", "directed", "even", "road"])
def test_against_products(graphs, kind):
    A = graphs[kind]
    S = A.to_scipy().astype(np.float64)
    S = ((S + S.T) != 0).astype(np.float64).tolil()
    S.setdiag(0)
    S = S.tocsr()
    right = np.asarray((S @ S).multiply(S).sum(axis=1)).ravel().astype(np.int64) // 2
    counts, each = set(), []
    for count in (1, 2, 4):
        ps.set_num_threads(count)
        counts.add(triangle_count(A))
        each.append(triangles(A))
    assert counts == {right.sum() // 3}
    for got in each:
        np.testing.assert_array_equal(got, right)
    verify_triangles(A, right, seed=3)


def test_small_shapes():
    assert triangle_count(ps.csr_array((0, 0))) == 0
    assert triangles(ps.csr_array((0, 0))).shape == (0,)
    assert triangles(ps.csr_array(np.ones((1, 1)))).tolist() == [0]
    with pytest.raises(ValueError, match="square"):
        triangles(ps.csr_array((2, 3)))
    full = ps.csr_array(np.ones((70, 70)))
    assert triangle_count(full) == 70 * 69 * 68 // 6


def test_verifier_catches(graphs):
    A = graphs["skewed"]
    each = triangles(A)
    with pytest.raises(ValueError, match="there are"):
        verify_triangles(A, triangle_count(A) + 1)
    bad = each.copy()
    bad[np.argmax(each)] += 1
    with pytest.raises(ValueError, match="multiple of three"):
        verify_triangles(A, bad)
    bad[int(np.argmin(each))] -= 1
    with pytest.raises(ValueError, match="vertex"):
        verify_triangles(A, bad)
    with pytest.raises(TypeError, match="must be an integer"):
        verify_triangles(A, 5.0)


def test_where_a_gpu_orients_and_where_the_cpu_does(graphs, monkeypatch):
    """Without a GPU: what is asked of the core, what is kept, and what frees it."""
    from penstock.csgraph.triangle import _oriented_for

    A = ps.csr_array._from_parts(
        *graphs["skewed"].shape,
        graphs["skewed"].indptr.copy(),
        graphs["skewed"].indices.copy(),
        None,
    )
    asked, fits = [], True

    class Made:
        lists, simple = graphs["even"]._core, True

    def orient(matrix, *how):
        asked.append(how)
        return Made() if fits else None

    monkeypatch.setattr(_core, "orient_edges_gpu", orient)
    edges, lists, placement = _oriented_for(A, 1, "auto")
    assert isinstance(edges, Made) and lists.shape == graphs["even"].shape
    assert placement == "device" and asked == [(1, 0, False)]
    assert A._derived.symmetric_pattern is True and A._derived.simple is True
    assert _oriented_for(A, 1, "device")[0] is edges and len(asked) == 1
    fits = False
    with ps.options(device_memory="1MB"):
        for _ in range(2):
            edges, lists, placement = _oriented_for(A, 1, "auto")
            assert lists.nnz == A.nnz // 2 and placement == "auto"
    assert asked[1:] == [(1, 10**6, True)], "that it does not fit is kept, too"
    assert _oriented_for(A, 0, "pinned")[2] == "pinned" and len(asked) == 2
    A.release()
    assert A._derived.oriented_gpu is None
