"""Dense arrays as graphs: what SciPy takes for no edge is none here, in every function of csgraph."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph as scipy_graph

import penstock as ps

SEEDS = range(8)
KINDS = ["plain", "float32", "masked", "masked zeros", "bool", "int", "list"]


def dense(seed, kind):
    """A square array with zeros, infinities of both signs and NaN, or masked entries, among weights of halves."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 24))
    a = rng.integers(1, 12, (n, n)) / 2
    a[rng.random((n, n)) > rng.choice([0.05, 0.15, 0.4])] = 0
    if kind in ("bool", "int"):
        return a.astype(bool if kind == "bool" else np.int64)
    if kind.startswith("masked"):
        mask = rng.random((n, n)) < 0.3
        if kind == "masked":  # what is masked is not looked at: let it be of every kind
            mask |= a == 0
            a[mask] = rng.choice([0, 1, np.inf, np.nan], mask.sum())
        return np.ma.masked_array(a, mask)
    for value in (np.inf, np.nan, -np.inf):
        a[rng.random((n, n)) < 0.1] = value
    if kind == "list":
        return a.tolist()
    return a.astype(np.float32) if kind == "float32" else a


def edges(a):
    """The same graph as a sparse array, made by SciPy."""
    if np.ma.isMaskedArray(a):
        return scipy_graph.csgraph_from_masked(a)
    return scipy_graph.csgraph_from_dense(np.asarray(a, dtype=float), 0)


CASES = pytest.mark.parametrize("kind", KINDS)


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_components(seed, kind):
    a = dense(seed, kind)
    for how in ({}, {"connection": "strong"}, {"directed": False}):
        count, labels = ps.csgraph.connected_components(a, **how)
        wanted, other = scipy_graph.connected_components(edges(a), **how)
        assert count == wanted
        assert len(set(zip(labels.tolist(), other.tolist(), strict=True))) == count
    count, _ = ps.csgraph.strongly_connected_components(a)
    assert count == scipy_graph.connected_components(edges(a), connection="strong")[0]


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_dijkstra(seed, kind):
    a = dense(seed, kind)
    last = len(a) - 1
    cases = [{"unweighted": u, "directed": d} for u in (False, True) for d in (False, True)]
    cases += [{"indices": last}, {"limit": 4.5}, {"indices": [0, last], "min_only": True}]
    for how in cases:
        ours = ps.csgraph.dijkstra(a, **how)
        np.testing.assert_array_equal(ours, scipy_graph.dijkstra(a, **how), str(how))
    np.testing.assert_array_equal(ps.csgraph.sssp(a, 0), scipy_graph.dijkstra(a, indices=0))


@CASES
@pytest.mark.parametrize("seed", SEEDS)
def test_breadth_first(seed, kind):
    a = dense(seed, kind)
    order, before = ps.csgraph.breadth_first_order(a, 0)
    wanted = scipy_graph.breadth_first_order(a, 0)
    np.testing.assert_array_equal(order, wanted[0])
    np.testing.assert_array_equal(before, wanted[1])
    hops = scipy_graph.dijkstra(a, indices=0, unweighted=True)
    np.testing.assert_array_equal(ps.csgraph.bfs(a, 0), np.where(np.isinf(hops), -1, hops))


@CASES
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "name",
    ["pagerank", "core_number", "triangles", "clustering", "betweenness_centrality"]
    + ["reverse_cuthill_mckee", "triangle_count", "transitivity"],
)
def test_every_other_function_sees_the_same_edges(name, seed, kind):
    a = dense(seed, kind)
    function = getattr(ps.csgraph, name)
    wanted = function(ps.csr_array(edges(a)))
    # Weights that are all 1 take another method than a pattern, which stops elsewhere within `tol`.
    np.testing.assert_allclose(function(a), wanted, rtol=1e-5 if name == "pagerank" else 0)


def test_verifiers_see_the_same_edges():
    a = dense(1, "plain")
    ps.csgraph.verify_bfs(a, 0, ps.csgraph.bfs(a, 0))
    ps.csgraph.verify_sssp(a, 0, ps.csgraph.sssp(a, 0))
    ps.csgraph.verify_components(a, *ps.csgraph.connected_components(a))


def test_sparse_entries_are_edges_whatever_their_value():
    # As in SciPy: what is stored is an edge, zeros, infinities and NaN included.
    parts = (np.array([0.0, np.inf]), np.array([1, 2]), np.array([0, 1, 2, 2]))
    stored = sp.csr_array(parts, shape=(3, 3))
    assert ps.csgraph.connected_components(stored)[0] == 1
    for unweighted in (True, False):
        ours = ps.csgraph.dijkstra(stored, unweighted=unweighted)
        np.testing.assert_array_equal(ours, scipy_graph.dijkstra(stored, unweighted=unweighted))
    order = ps.csgraph.breadth_first_order(stored, 0)[0]
    np.testing.assert_array_equal(order, scipy_graph.breadth_first_order(stored, 0)[0])


def test_a_matrix_is_no_graph():
    # csr_array itself stores what is not 0, as SciPy's does.
    assert ps.csr_array(np.array([[0, np.inf], [np.nan, 0]])).nnz == 2


@pytest.mark.parametrize("bad", [np.ones(3), np.ones((2, 2, 2)), np.array([["a"]]), object(), 3])
def test_other_things_are_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        ps.csgraph.connected_components(bad)


def test_shapes_are_named():
    with pytest.raises(ValueError, match="square adjacency matrix, this one is 2 x 3"):
        ps.csgraph.bfs(np.full((2, 3), np.inf), 0)
