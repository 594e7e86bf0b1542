"""Shortest paths over lengths of any sign against SciPy, brute force and one another."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scg
from data_files import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import NegativeCycleError, bellman_ford, dijkstra, johnson, shortest_path

import penstock as ps


@st.composite
def graphs(draw, least=-3):
    """Without duplicates, which SciPy's functions read in more than one way."""
    n = draw(st.integers(1, 9))
    fractions = st.integers(8 * least, 72).map(
        lambda x: x / 8
    )  # SciPy's 1e-15 is no tolerance here
    weight = draw(st.sampled_from([st.integers(least, 9), fractions]))
    dense = np.full((n, n), np.nan)
    for _ in range(draw(st.integers(0, 25))):
        dense[draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))] = draw(weight)
    row, col = np.nonzero(~np.isnan(dense))
    return sp.csr_array((dense[row, col], (row, col)), shape=(n, n))


def outcome(find, *args, **how):
    try:
        return find(*args, **how)
    except NegativeCycleError:
        return None


def is_tree(S, source, d, p, directed=True):
    """Whether predecessors form paths from the source whose edges explain the distances."""
    dense = scg.csgraph_to_dense(S, np.inf)
    if not directed:
        dense = np.minimum(dense, dense.T)
    for v in range(S.shape[0]):
        if v == source or not np.isfinite(d[v]):
            assert p[v] == -9999
            continue
        assert d[p[v]] + dense[p[v], v] == pytest.approx(d[v], abs=1e-9)
        steps, u = 0, v
        while p[u] != -9999:
            u, steps = p[u], steps + 1
            assert steps <= S.shape[0]
        assert u == source


@settings(max_examples=200, deadline=None)
@given(graphs(), st.booleans())
def test_as_scipy(S, directed):
    A = ps.csr_array(S)
    for mine, theirs in ((bellman_ford, scg.bellman_ford), (johnson, scg.johnson)):
        expected = outcome(theirs, S, directed)
        found = outcome(mine, A, directed, return_predecessors=True)
        assert (found is None) == (expected is None)
        if found is None:
            continue
        np.testing.assert_allclose(found[0], expected, atol=1e-9)
        for v in range(S.shape[0]):
            is_tree(S, v, found[0][v], found[1][v], directed)
    some = [0, S.shape[0] - 1, -1]
    found = outcome(bellman_ford, A, directed, some)
    if found is not None:
        np.testing.assert_allclose(found, scg.bellman_ford(S, directed, some), atol=1e-9)
    np.testing.assert_array_equal(
        bellman_ford(A, directed, unweighted=True), scg.bellman_ford(S, directed, unweighted=True)
    )


@settings(max_examples=100, deadline=None)
@given(graphs(least=0))
def test_without_negative_lengths_it_is_dijkstra(S):
    for mine, theirs in zip(
        bellman_ford(S, return_predecessors=True),
        dijkstra(S, return_predecessors=True),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore:Graph has negative weights")  # SciPy's, where none are read
@settings(max_examples=100, deadline=None)
@given(graphs(), st.sampled_from(["auto", "FW", "D", "BF", "J"]), st.booleans())
def test_every_method(S, method, unweighted):
    how = {"method": method, "unweighted": unweighted}
    if method == "D" and not unweighted and S.nnz and S.data.min() < 0:
        with pytest.raises(ValueError, match="bellman_ford"):
            shortest_path(S, **how)
        return
    expected, found = outcome(scg.shortest_path, S, **how), outcome(shortest_path, S, **how)
    assert (expected is None) == (found is None)
    if found is not None:
        np.testing.assert_allclose(found, expected, atol=1e-9)


def downhill(A, seed):
    """The same edges with lengths from heights: no cycle is negative, though about half of the edges are."""
    rng = np.random.default_rng(seed)
    height = rng.integers(0, 10**4, A.shape[0]).astype(float)
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    lengths = rng.integers(0, 100, A.nnz) + height[A.indices] - height[row]
    return ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, lengths), height


@pytest.mark.parametrize("kind", ["rmat", "road"])
def test_large_and_the_same_for_any_threads(kind):
    A = (
        ps.generate.rmat(13, 16, seed=3)
        if kind == "rmat"
        else ps.generate.road_grid(90, 80, seed=1)
    )
    A, height = downhill(A, 5)
    raised = A.data - height[A.indices] + np.repeat(height, np.diff(A.indptr))
    above = ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, raised)
    some = [7, 4000]
    expected = dijkstra(above, indices=some) + height - height[some][:, None]
    results = []
    for count in (1, 2, 4):
        ps.set_num_threads(count)
        results.append(bellman_ford(A, indices=some, return_predecessors=True))
        results.append((johnson(A, indices=some), results[0][1]))
    for d, p in results:
        np.testing.assert_array_equal(d, expected)  # whole numbers: nothing is rounded
        np.testing.assert_array_equal(p, results[0][1])
    single = A.astype(np.float32)
    assert bellman_ford(single, indices=7).dtype == np.float64


def test_shapes_and_types_of_indices():
    A = ps.csr_array(([1.0, -1.0], ([0, 1], [1, 2])), shape=(3, 3))
    every = bellman_ford(A)
    for find in (bellman_ford, johnson):
        np.testing.assert_array_equal(find(A, indices=0), every[0])
        np.testing.assert_array_equal(
            find(A, indices=np.array([[0, 1], [2, -1]])), every[[[0, 1], [2, 2]]]
        )
        assert find(A, indices=[]).shape == (0, 3)
        d, p = find(A, indices=[[1]], return_predecessors=True)
        assert d.shape == p.shape == (1, 1, 3) and p.dtype == np.int32
        with pytest.raises(ValueError, match="indices has 3, which is outside a graph of 3"):
            find(A, indices=[0, 3])
        with pytest.raises(ValueError, match="indices has -4"):
            find(A, indices=-4)
        with pytest.raises(TypeError, match="integers, not float64"):
            find(A, indices=0.5)
    assert dijkstra(abs_of(A), indices=[[0], [2]]).shape == (2, 1, 3)
    assert bellman_ford(ps.csr_array((0, 0))).shape == (0, 0)


def abs_of(A):
    return ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, np.abs(A.data))


def test_negative_cycles_are_named():
    ring = sp.csr_array(([2.0, -1.5, -1.0, 9.0], ([4, 1, 2, 0], [1, 2, 4, 4])), shape=(5, 5))
    for find in (bellman_ford, johnson):
        with pytest.raises(NegativeCycleError, match="of 3 edges: 1 -> 2 -> 4 -> 1$"):
            find(ring)
    with pytest.raises(scg.NegativeCycleError, match="1 edge: 0 -> 0"):
        bellman_ford(np.array([[-1.0]]))
    with pytest.raises(NegativeCycleError, match="of 2 edges: 0 -> 1 -> 0"):
        bellman_ford(sp.csr_array(([-1.0], ([0], [1])), shape=(2, 2)), directed=False)
    n = 100
    long = sp.csr_array((np.full(n, -0.01), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    with pytest.raises(
        NegativeCycleError, match=r"100 edges: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> \.\.\. -> 0$"
    ):
        bellman_ford(long, indices=50)
    alone = sp.csr_array(([1.0, 1.0, -2.0], ([0, 2, 3], [1, 3, 2])), shape=(4, 4))
    assert bellman_ford(alone, indices=0).tolist() == [0, 1, np.inf, np.inf]
    with pytest.raises(NegativeCycleError):
        johnson(alone, indices=0)


def test_rounding_is_no_negative_cycle():
    rng = np.random.default_rng(2)
    height = rng.random(200) * 1000
    row, col = rng.integers(0, 200, (2, 1500))
    S = sp.csr_array((height[col] - height[row], (row, col)), shape=(200, 200))
    S.sum_duplicates()
    S.data = height[S.indices] - np.repeat(height, np.diff(S.indptr))  # not twice of duplicates
    found = bellman_ford(S)
    np.testing.assert_allclose(found, height - height[:, None], atol=1e-9)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_bad_lengths_name_the_edge(bad):
    A = ps.csr_array(([1.0, bad], ([0, 2], [1, 0])), shape=(3, 3))
    for find in (bellman_ford, johnson):
        with pytest.raises(ValueError, match=f"edge 2 -> 0 has weight {bad}"):
            find(A)


def test_what_is_no_edge():
    dense = np.array([[0, -1.0, np.inf], [np.nan, 0, 2.0], [0, 0, 0]])
    np.testing.assert_array_equal(bellman_ford(dense), scg.bellman_ford(dense))
    A = ps.csr_array(([-1.0, np.inf], ([0, 1], [1, 2])), shape=(3, 3))
    assert bellman_ford(A, indices=0).tolist() == [0, -1, np.inf]
    double = ps.csr_array._from_parts(
        2, 2, np.array([0, 2, 2]), np.array([1, 1], np.int32), np.array([3.0, -2.0])
    )
    assert bellman_ford(double, indices=0).tolist() == [0, -2]  # of parallel edges the shortest


def test_bad_arguments():
    A = ps.csr_array(([-1.0], ([0], [1])), shape=(2, 2))
    with pytest.raises(ValueError, match=r"bellman_ford runs on the CPU|no GPU|GPUs"):
        bellman_ford(A, device=0)
    np.testing.assert_array_equal(bellman_ford(A, device="cpu"), bellman_ford(A))
    with pytest.raises(ValueError, match="square"):
        bellman_ford(ps.csr_array((2, 3)))
    with pytest.raises(ValueError, match="complex"):
        bellman_ford(ps.csr_array(np.ones((2, 2), complex)))
    with pytest.raises(ValueError, match="method='X' is unknown: choose one of auto, FW, D, BF, J"):
        shortest_path(A, "X")
    with pytest.raises(ValueError, match="leave indices out"):
        shortest_path(A, "FW", indices=0)


@pytest.mark.parametrize("name", ["bremen_dist", "road-seattle"])
def test_real_roads(name):
    path = next((p for p in (DATA / f"{name}.gr.gz", DATA / f"{name}.mtx.gz") if p.is_file()), None)
    if path is None:
        pytest.skip(f"{name} is not in {DATA}")
    A = ps.load(path).astype(np.float64)
    B, height = downhill(A, 1)
    raised = B.data - height[B.indices] + np.repeat(height, np.diff(B.indptr))
    above = ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, raised)
    expected = dijkstra(above, indices=11) + height - height[11]
    np.testing.assert_array_equal(bellman_ford(B, indices=11), expected)
