"""Shortest paths against SciPy, brute force and their own verifier."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scg
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import dijkstra, sssp, verify_sssp

import penstock as ps


def brute(n, edges, sources):
    """Bellman and Ford, in the type of the weights."""
    dtype = edges[0][2].dtype if edges else np.float64
    d = np.full(n, np.inf, dtype)
    d[list(sources)] = 0
    for _ in range(n + 1):
        for u, v, w in edges:
            d[v] = min(d[v], dtype.type(d[u] + w))
    return d


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 12))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    weight = draw(
        st.sampled_from(
            [
                st.integers(0, 3),
                st.integers(0, 300),
                st.integers(0, 2**40),
                st.floats(0, 10, width=32),
                st.sampled_from([0.0, 1e-30, 1.0, 1e30, np.inf]),
            ]
        )
    )
    count = draw(st.integers(0, 40))
    vertex = st.integers(0, n - 1)
    edges = [(draw(vertex), draw(vertex), dtype(draw(weight))) for _ in range(count)]
    return n, dtype, edges


def as_matrix(n, dtype, edges):
    """Rows in the order of the list, duplicates side by side."""
    edges = sorted(edges, key=lambda e: e[0])
    indptr = np.searchsorted([e[0] for e in edges], np.arange(n + 1)).astype(np.int64)
    indices = np.array([e[1] for e in edges], np.int32)
    return ps.csr_array._from_parts(n, n, indptr, indices, np.array([e[2] for e in edges], dtype))


@settings(max_examples=300, deadline=None)
@given(graphs(), st.data())
def test_against_brute_force(graph, data):
    n, dtype, edges = graph
    A = as_matrix(n, dtype, edges)
    s = data.draw(st.integers(0, n - 1))
    delta = data.draw(st.sampled_from([None, 0.1, 1.0, 64.0]))
    d, p = sssp(A, s, return_predecessors=True, delta=delta)
    assert d.dtype == dtype and p.dtype == np.int32
    np.testing.assert_array_equal(
        d, brute(n, edges, [s]) if edges else np.where(np.arange(n) == s, 0, np.inf)
    )
    verify_sssp(A, s, d, p)
    for v in range(n):  # the predecessor that the docstring promises
        tight = [u for u, w, x in edges if w == v and np.isfinite(d[v]) and dtype(d[u] + x) == d[v]]
        nearer = [u for u in tight if d[u] < d[v]]
        if v == s or not np.isfinite(d[v]):
            assert p[v] == -9999
        elif nearer:
            assert p[v] == min(nearer)
        else:
            assert p[v] in tight
    if data.draw(st.booleans()):
        both = edges + [(v, u, w) for u, v, w in edges]
        expected = brute(n, both, [s]) if edges else d
        np.testing.assert_array_equal(sssp(A, s, directed=False), expected)
    some = sorted({data.draw(st.integers(0, n - 1)) for _ in range(3)})
    near, tree, roots = dijkstra(A, indices=some, min_only=True, return_predecessors=True)
    every = dijkstra(A, indices=some)
    np.testing.assert_array_equal(near, every.min(axis=0))
    assert near.dtype == every.dtype == np.float64
    verify_sssp(A, some, near, tree)
    for v in range(n):
        if not np.isfinite(near[v]):
            assert roots[v] == -9999
        else:
            assert every[some.index(roots[v]), v] == near[v]


@pytest.fixture(scope="module")
def kron():
    A = ps.generate.rmat(12, 16, dtype=np.float64, seed=3)
    whole = ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, np.ceil(A.data * 255))
    return {
        "whole": whole,
        "double": A,
        "float": A.astype(np.float32),
        "pattern": ps.generate.rmat(12, 16, seed=3),
        "large": ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, np.ceil(A.data * 1e6)),
        "road": ps.generate.road_grid(120, 90, seed=4),
        "directed": ps.generate.rmat(12, 8, undirected=False, dtype=np.float64, seed=5),
    }


@pytest.mark.parametrize(
    "kind", ["whole", "double", "float", "pattern", "large", "road", "directed"]
)
def test_against_scipy_and_the_same_for_any_threads(kron, kind):
    A = kron[kind]
    S = A.to_scipy().astype(np.float64)
    expected = scg.dijkstra(S, indices=7)
    results = []
    for threads in (1, 2, 4):
        ps.set_num_threads(threads)
        for delta in (None, 0.03, 40.0):
            results.append(sssp(A, 7, return_predecessors=True, delta=delta))
    d, p = results[0]
    if kind == "float":
        np.testing.assert_allclose(d, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(d, expected)
    verify_sssp(A, 7, d, p)
    for other, tree in results[1:]:
        assert other.tobytes() == d.tobytes()
        assert tree.tobytes() == p.tobytes()


def test_no_vector_instructions_the_same():
    code = """if True:
        import hashlib, numpy as np, penstock as ps
        A = ps.generate.rmat(10, 16, dtype=np.float64, seed=3)
        kinds = [A, A.astype(np.float32), A.astype(bool)]
        for top in (99, 9999, 999999):
            whole = np.ceil(A.data * top)
            kinds.append(ps.csr_array._from_parts(*A.shape, A.indptr, A.indices, whole))
        bits = b"".join(ps.csgraph.sssp(M, 3).tobytes() for M in kinds)
        print(hashlib.sha256(bits).hexdigest(), ps.csgraph.triangle_count(A))
    """
    outputs = set()
    for simd in ("scalar", None):
        env = {**os.environ, **({"PENSTOCK_SIMD": simd} if simd else {})}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_long_paths_leave_the_narrow_kernel():
    n = 3000
    weights = np.full(n - 1, 2.0**30)
    A = ps.csr_array((weights, (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    np.testing.assert_array_equal(sssp(A, 0), np.arange(n) * 2.0**30)
    B = ps.csr_array((weights / 2**10 + 1, (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
    B = B.astype(np.float32)
    expected = np.concatenate([[0], np.cumsum(B.data, dtype=np.float32)])
    np.testing.assert_array_equal(sssp(B, 0), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_far_too_narrow_buckets_only_cost_time(dtype):
    """Each of 50,000 distances has a bucket of its own, thousands of empty ones from the next."""
    n = 50_000
    weights = np.random.default_rng(1).permutation(n).astype(dtype) * 7.5
    weights[0] = 0.0
    A = ps.csr_array((weights, (np.zeros(n, int), np.arange(n))), shape=(n, n))
    np.testing.assert_array_equal(sssp(A, 0, delta=1e-3), weights)


def test_small_shapes():
    empty = ps.csr_array((0, 0))
    assert dijkstra(empty).shape == (0, 0)
    with pytest.raises(ValueError, match="outside a graph of 0 vertices"):
        sssp(empty, 0)
    one = ps.csr_array(([0.0], ([0], [0])), shape=(1, 1))
    d, p = sssp(one, 0, return_predecessors=True)
    assert d.tolist() == [0.0] and p.tolist() == [-9999]


def test_zero_cycle_has_a_tree():
    rows, cols, weights = [0, 1, 2, 3, 2, 0], [1, 2, 3, 2, 1, 3], [5.0, 0.0, 0.0, 0.0, 0.0, 9.0]
    A = as_matrix(
        4, np.float64, [(r, c, np.float64(w)) for r, c, w in zip(rows, cols, weights, strict=True)]
    )
    d, p = sssp(A, 0, return_predecessors=True)
    assert d.tolist() == [0, 5, 5, 5] and p.tolist() == [-9999, 0, 1, 2]


def test_bad_weights_name_the_edge():
    A = ps.csr_array(([1.0, -2.5, 1.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    with pytest.raises(ValueError, match=r"edge 1 -> 2 has weight -2\.5"):
        sssp(A, 0)
    A = ps.csr_array(([1.0, np.nan], ([0, 2], [1, 0])), shape=(3, 3))
    with pytest.raises(ValueError, match=r"edge 2 -> 0 has weight nan"):
        dijkstra(A)


@pytest.mark.parametrize("delta", [0, -1.0, np.inf, np.nan, "wide"])
def test_bad_delta(delta):
    with pytest.raises(ValueError, match="delta="):
        sssp(ps.csr_array((2, 2)), 0, delta=delta)


def test_bad_arguments():
    with pytest.raises(ValueError, match="square"):
        sssp(ps.csr_array((2, 3)), 0)
    with pytest.raises(ValueError, match="outside"):
        sssp(ps.csr_array((2, 2)), 2)
    with pytest.raises(ValueError, match="limit"):
        dijkstra(ps.csr_array((2, 2)), limit=-1)
    with pytest.raises(ValueError, match="complex"):
        sssp(ps.csr_array(np.ones((2, 2), complex)), 0)


@pytest.mark.parametrize("limit", [0, 0.4, 55, 60.5, 1e12])
@pytest.mark.parametrize("kind", ["whole", "double"])
def test_limit_and_unweighted_as_scipy(kron, kind, limit):
    A = kron[kind]
    S = A.to_scipy()
    some = [3, 100, 5]
    np.testing.assert_array_equal(
        dijkstra(A, indices=some, limit=limit), scg.dijkstra(S, indices=some, limit=limit)
    )
    np.testing.assert_array_equal(
        dijkstra(A, indices=some, limit=limit, unweighted=True),
        scg.dijkstra(S, indices=some, limit=limit, unweighted=True),
    )
    assert dijkstra(A, indices=3).shape == (A.shape[0],)


def test_undirected_as_scipy(kron):
    A = kron["directed"]
    np.testing.assert_array_equal(
        dijkstra(A, directed=False, indices=[9]),
        scg.dijkstra(A.to_scipy(), directed=False, indices=[9]),
    )


def test_verifier_catches(kron):
    A = kron["whole"]
    good, tree = sssp(A, 7, return_predecessors=True)
    far = int(np.argmax(np.where(np.isfinite(good), good, 0)))
    for change, words in (
        (lambda d, p: d.__setitem__(far, good[far] + 1), "shortens"),
        (lambda d, p: d.__setitem__(far, good[far] - 1), "no path explains|shortens"),
        (lambda d, p: d.__setitem__(far, np.inf), "shortens"),
        (lambda d, p: d.__setitem__(far, np.nan), "has distance nan"),
        (lambda d, p: d.__setitem__(7, 1.0), "source 7"),
        (lambda d, p: p.__setitem__(far, far), "does not explain"),
        (lambda d, p: p.__setitem__(far, -9999), "does not explain"),
        (lambda d, p: p.__setitem__(7, 0), "is a source"),
    ):
        d, p = good.copy(), tree.copy()
        change(d, p)
        with pytest.raises(ValueError, match=words):
            verify_sssp(A, 7, d, p)
    with pytest.raises(ValueError, match="distances for"):
        verify_sssp(A, 7, good[1:])
    cycle = as_matrix(
        3, np.float64, [(0, 1, np.float64(0)), (1, 2, np.float64(0)), (2, 1, np.float64(0))]
    )
    with pytest.raises(ValueError, match="cycle"):
        verify_sssp(cycle, 0, [0.0, 0.0, 0.0], [-9999, 2, 1])


@pytest.mark.parametrize("name", ["bremen_dist", "bremen_time"])
def test_road_data(name):
    A = ps.load(real_file(f"{name}.gr.gz"))
    d, p = sssp(A, 11, return_predecessors=True)
    verify_sssp(A, 11, d, p)
    S = sp.csr_matrix(A.to_scipy())  # SciPy drops zeros: compare where its paths are no longer
    assert (d <= scg.dijkstra(S, indices=11)).all()
