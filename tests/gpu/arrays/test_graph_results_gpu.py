"""Levels, labels, distances and ranks that stay on the GPU (`out=`), against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import graph, named
from penstock.csgraph import GpuOptions
from result_libraries import NAMES, library

import penstock as ps

pytestmark = pytest.mark.gpu
SMALL = ["one_vertex", "no_edges", "duplicates", "rmat_10"]
SHAPES = [*SMALL, "two_components", "grid", "directed", "rmat_16"]
MARKED = [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in SHAPES]
NONE = np.zeros(0, int)


@pytest.fixture(params=NAMES)
def lib(request):
    return library(request.param)


def weighted(dtype, seed=0, n=3000, whole=False):
    rng = np.random.default_rng(seed)
    tails, heads = rng.integers(0, n, (2, 8 * n))
    lengths = rng.integers(1, 60, 8 * n) if whole else rng.uniform(0.1, 5, 8 * n)
    keep = (tails % 7 != 0) & (heads % 7 != 0)  # a seventh of the vertices has no edge
    return ps.csr_array((lengths[keep].astype(dtype), (tails[keep], heads[keep])), shape=(n, n))


@pytest.mark.parametrize("name", MARKED)
def test_levels(lib, name):
    a = named(name)
    n = a.shape[0]
    for placement in ("pinned", "device"):
        for source in {0, n // 2, n - 1}:
            out = lib.full((n,), -7, "int32")
            how = {"device": 0, "gpu_options": GpuOptions(placement=placement)}
            got = ps.csgraph.bfs(a, source, out=out, **how)
            assert got is out
            expected = ps.csgraph.bfs(a, source, device="cpu")
            np.testing.assert_array_equal(lib.get(out), expected)


@pytest.mark.parametrize("method", ["auto", "top_down", "level_synchronous"])
def test_methods_of_bfs(lib, method):
    a = named("rmat_10")
    out = lib.full((a.shape[0],), -7, "int32")
    with ps.record() as events:
        ps.csgraph.bfs(a, 3, out=out, device=0, gpu_options=GpuOptions(method=method))
    expected = ps.csgraph.bfs(a, 3, device="cpu")
    np.testing.assert_array_equal(lib.get(out), expected)
    assert events[-1]["reached"] == np.count_nonzero(expected >= 0)


@pytest.mark.parametrize("name", ["rmat_10", "directed", "one_vertex"])
def test_predecessors_go_with_the_levels(lib, name):
    a = named(name)
    n = a.shape[0]
    out = lib.full((n,), -7, "int32")
    levels, tree = ps.csgraph.bfs(a, 0, out=out, return_predecessors=True, device=0)
    assert levels is out
    assert isinstance(tree, lib.kind)
    ps.csgraph.verify_bfs(a, 0, lib.get(levels), lib.get(tree))


@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("count", [1, 5, 70])
def test_many_sources(lib, count, tree):
    a = named("rmat_10")
    n = a.shape[0]
    sources = np.random.default_rng(count).integers(0, n, count)
    out = lib.full((count, n), -7, "int32")
    got = ps.csgraph.bfs(a, sources=sources, out=out, return_predecessors=tree, device=0)
    assert (got[0] if tree else got) is out
    np.testing.assert_array_equal(lib.get(out), ps.csgraph.bfs(a, sources=sources, device="cpu"))
    if tree:
        for k in range(count):
            ps.csgraph.verify_bfs(a, int(sources[k]), lib.get(out)[k], lib.get(got[1])[k])


@pytest.mark.parametrize("method", ["auto", "label_propagation"])
@pytest.mark.parametrize("name", MARKED)
def test_labels(lib, name, method):
    a = named(name)
    out = lib.full((a.shape[0],), -7, "int32")
    how = {"device": 0, "gpu_options": GpuOptions(method=method)}
    count, labels = ps.csgraph.connected_components(a, out=out, **how)
    expected = ps.csgraph.connected_components(a, device="cpu")
    assert labels is out
    assert count == expected[0]
    np.testing.assert_array_equal(lib.get(out), expected[1])


@pytest.mark.gpu_small
def test_no_vertices(lib):
    a = graph(0, NONE, NONE)
    out = lib.full((0,), 0, "int32")
    count, labels = ps.csgraph.connected_components(a, out=out, device=0)
    assert (count, labels is out) == (0, True)
    far = lib.full((0, 0), 0, "float64")
    assert ps.csgraph.dijkstra(a, out=far, device=0) is far


@pytest.mark.parametrize("method", ["auto", "bellman_ford"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.gpu_small
def test_distances(lib, dtype, whole, method):
    a = weighted("float64", 1, 700, whole).astype(dtype)
    result = "float32" if dtype == "float32" else "float64"
    for source in (0, 1, 699):
        out = lib.full((700,), -7, result)
        got, tree = ps.csgraph.sssp(
            a, source, out=out, return_predecessors=True, device=0,
            gpu_options=GpuOptions(method=method),
        )  # fmt: skip
        expected, parents = ps.csgraph.sssp(a, source, return_predecessors=True, device="cpu")
        assert got is out
        assert isinstance(tree, lib.kind)
        np.testing.assert_array_equal(lib.get(out), expected)
        np.testing.assert_array_equal(lib.get(tree), parents)


def test_distances_beyond_whole_numbers(lib):
    """Lengths whose sums leave the range in which whole numbers are exact: the search begins again in another type."""
    n = 2000
    for dtype in ("float32", "float64"):
        lengths = np.full(n - 1, 2.0**21 if dtype == "float32" else 2.0**28, dtype)
        a = ps.csr_array((lengths, (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
        out = lib.full((n,), -7, dtype)
        ps.csgraph.sssp(a, 0, out=out, device=0)
        np.testing.assert_array_equal(lib.get(out), ps.csgraph.sssp(a, 0, device="cpu"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bool"])
@pytest.mark.parametrize("indices", [5, [5], [1, 0, 299], [[1, 2], [3, -1]], None])
def test_dijkstra(lib, indices, dtype):
    a = weighted("float64", 2, 300).astype(dtype)
    expected, parents = ps.csgraph.dijkstra(
        a, indices=indices, return_predecessors=True, device="cpu"
    )
    out = lib.full(expected.shape, -7, "float64")
    got, tree = ps.csgraph.dijkstra(a, indices=indices, return_predecessors=True, out=out, device=0)
    assert got is out
    np.testing.assert_array_equal(lib.get(out), expected)
    np.testing.assert_array_equal(lib.get(tree), parents)
    again = lib.full(expected.shape, -7, "float64")
    assert ps.csgraph.shortest_path(a, "D", indices=indices, out=again, device=0) is again
    np.testing.assert_array_equal(lib.get(again), expected)


def test_dijkstra_from_the_nearest_and_with_a_limit(lib):
    a = weighted("float32", 3, 300)
    how = {"indices": [1, 5, 80], "limit": 2.5}
    out = lib.full((300,), -7, "float64")
    assert ps.csgraph.dijkstra(a, **how, min_only=True, out=out, device=0) is out
    expected = ps.csgraph.dijkstra(a, **how, min_only=True, device="cpu")
    np.testing.assert_array_equal(lib.get(out), expected)
    with pytest.raises(ValueError, match="min_only the CPU finds"):
        ps.csgraph.dijkstra(a, **how, min_only=True, return_predecessors=True, out=out, device=0)


@pytest.mark.parametrize("weights", [False, True])
def test_ranks(lib, weights):
    a = weighted("float64", 4, 2000) if weights else ps.generate.rmat(11, seed=3)
    n = a.shape[0]
    expected = ps.csgraph.pagerank(a, tol=1e-10, max_iter=500)
    streamed = ps.csr_array._wrap(a._core)
    streamed.prepare(schedule=ps.Streamed(device=0))
    for where in (a.to(ps.device(0)), streamed):
        out = lib.full((n,), -7, "float64")
        got, info = ps.csgraph.pagerank(where, tol=1e-10, max_iter=500, out=out, return_info=True)
        assert got is out
        assert info["converged"]
        assert info["vectors"] == "gpu 0"
        np.testing.assert_allclose(lib.get(out), expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("what", ["bfs", "many", "components", "sssp", "pagerank"])
def test_stream_order(lib, what):
    """What was queued before on the caller's stream comes before the result, what is queued after sees it."""
    a = weighted("float64", 5) if what == "sssp" else ps.generate.rmat(13, seed=5)
    n = a.shape[0]
    there = a.to(ps.device(0)) if what == "pagerank" else a
    find = {
        "bfs": lambda out: ps.csgraph.bfs(a, 1, out=out, device=0),
        "many": lambda out: ps.csgraph.bfs(a, sources=[1, 2], out=out, device=0),
        "components": lambda out: ps.csgraph.connected_components(a, out=out, device=0),
        "sssp": lambda out: ps.csgraph.sssp(a, 1, out=out, device=0),
        "pagerank": lambda out: ps.csgraph.pagerank(there, out=out),
    }[what]
    shape = (2, n) if what == "many" else (n,)
    dtype = "float64" if what in ("sssp", "pagerank") else "int32"
    alone = lib.full(shape, -7, dtype)
    find(alone)
    expected = lib.get(alone)
    for _ in range(3):
        with lib.stream():
            out = lib.full(shape, -7, dtype)
            lib.busy()
            out[...] = 5  # queued behind the work, must not overwrite the result
            find(out)
            more = out + 1
            lib.busy()
            found = lib.get(more)
        np.testing.assert_array_equal(found, expected + 1)


def test_two_searches_in_a_row_do_not_disturb_each_other(lib):
    """The first result may still be on its way when the second search writes its own."""
    a = ps.generate.rmat(16, seed=8)
    n = a.shape[0]
    for _ in range(10):
        first, second = (lib.full((n,), -7, "int32") for _ in range(2))
        ps.csgraph.bfs(a, 1, out=first, device=0)
        ps.csgraph.bfs(a, 2, out=second, device=0)
        np.testing.assert_array_equal(lib.get(first), ps.csgraph.bfs(a, 1, device="cpu"))
        np.testing.assert_array_equal(lib.get(second), ps.csgraph.bfs(a, 2, device="cpu"))


def test_a_graph_that_is_freed_leaves_its_result(lib):
    expected = ps.csgraph.connected_components(named("rmat_16"), device="cpu")[1]
    for _ in range(5):
        a = ps.csr_array._wrap(named("rmat_16")._core)
        out = lib.full((a.shape[0],), -7, "int32")
        ps.csgraph.connected_components(a, out=out, device=0)
        del a
        np.testing.assert_array_equal(lib.get(out), expected)


@pytest.mark.gpu_small
def test_bad_arrays(lib):
    a = named("rmat_10")
    n = a.shape[0]

    def bfs(out, **how):
        return ps.csgraph.bfs(a, 0, out=out, **{"device": 0, **how})

    with pytest.raises(ValueError, match=rf"out has shape \({n + 1},\)"):
        bfs(lib.full((n + 1,), 0, "int32"))
    with pytest.raises(ValueError, match=r"out has shape \(1, "):
        bfs(lib.full((1, n), 0, "int32"))
    with pytest.raises(TypeError, match="out is int64, the result is int32"):
        bfs(lib.full((n,), 0, "int64"))
    with pytest.raises(ValueError, match="not contiguous"):
        bfs(lib.full((2 * n,), 0, "int32")[::2])
    with pytest.raises(ValueError, match="runs on the CPU: give device=0"):
        bfs(lib.full((n,), 0, "int32"), device="cpu")
    with pytest.raises(ValueError, match="2 GPUs compute"):
        bfs(lib.full((n,), 0, "int32"), device=[0, 0])
    with pytest.raises(ValueError, match="leave return_labels=False out"):
        ps.csgraph.connected_components(
            a, return_labels=False, out=lib.full((n,), 0, "int32"), device=0
        )
    with pytest.raises(ValueError, match="runs on the CPU"):
        ps.csgraph.pagerank(a, out=lib.full((n,), 0.0, "float64"))
    b = weighted("float32", n=50)
    with pytest.raises(TypeError, match="out is float64, the result is float32"):
        ps.csgraph.sssp(b, 0, out=lib.full((50,), 0, "float64"), device=0)


def test_an_array_on_another_gpu():
    if ps._core.device_count() < 2:
        pytest.skip("needs two GPUs")
    torch = pytest.importorskip("torch")
    a = named("rmat_10")
    out = torch.zeros(a.shape[0], dtype=torch.int32, device="cuda:1")
    with pytest.raises(ValueError, match="out is on GPU 1, and GPU 0 computes"):
        ps.csgraph.bfs(a, 0, out=out, device=0)
    assert ps.csgraph.bfs(a, 0, out=out, device=1) is out


@pytest.mark.gpu_small
def test_numpy_arrays():
    a = named("rmat_10")
    n = a.shape[0]
    for out in (np.empty(n, np.int32), ps.empty(n, np.int32, ps.pinned)):
        assert ps.csgraph.bfs(a, 0, out=out, device=0) is out
        np.testing.assert_array_equal(out, ps.csgraph.bfs(a, 0, device="cpu"))
        _, labels = ps.csgraph.connected_components(a, out=out, device=0)
        assert labels is out
        np.testing.assert_array_equal(out, ps.csgraph.connected_components(a, device="cpu")[1])


def test_host_to_host_takes_pinned_memory_again():
    """The second and later calls pin nothing: their whole time is little more than that of search and copy."""
    import time

    a = ps.generate.rmat(20, seed=2)
    out = ps.csgraph.connected_components(a, device=0)
    spent, told = [], []
    for _ in range(7):
        with ps.record() as events:
            begin = time.perf_counter()
            out = ps.csgraph.connected_components(a, device=0)
            spent.append(time.perf_counter() - begin)
        told.append(events[-1]["seconds"] + events[-1]["copy_seconds"])
    assert out[0] >= 1
    over = np.median(spent) - np.median(told)
    assert over < 2e-3, (spent, told)


def test_many_calls_take_no_more_memory(lib):
    a = named("rmat_10")
    out = lib.full((a.shape[0],), -7, "int32")
    ps.csgraph.connected_components(a, out=out, device=0)
    before = ps._core.gpu_info(0)["free_bytes"]
    for _ in range(100):
        ps.csgraph.connected_components(a, out=out, device=0)
    assert before - ps._core.gpu_info(0)["free_bytes"] < 32 << 20
