"""Shortest paths on a GPU against those of the CPU, bit for bit."""

import numpy as np
import pytest
from penstock.csgraph import GpuOptions
from weighted_graphs import LENGTHS, SHAPES, SMALL, graph, named, sources

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
ACCESS = ["strided", "merged", "aligned", "direct"]
PLACEMENTS = ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
METHODS = ["near_far", "bellman_ford"]


def same(got, expected, what):
    assert got.dtype == expected.dtype and got.shape == expected.shape, what
    bad = np.flatnonzero(got != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {got.size} differ, vertex {bad[0]}: {got[bad[0]]} is not {expected[bad[0]]}"
    )


def found(a, source, what="", delta=None, **how):
    """Distances, checked against the CPU's; and what the trace tells."""
    on = GpuOptions(**how)
    with ps.record() as events:
        distances = ps.csgraph.sssp(a, source, delta=delta, device=0, gpu_options=on)
    told = events[-1]
    what = f"{what} from {source} delta={delta} {on} {told}"
    same(distances, ps.csgraph.sssp(a, source, device="cpu"), what)
    return distances, told


def kinds(told):
    return [step["kind"] for step in told["steps"]]


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    "shape", [pytest.param(s, marks=pytest.mark.gpu_small if s in SMALL else ()) for s in SHAPES]
)
def test_every_shape_and_length(shape, lengths):
    a = named(shape, lengths)
    for source in sources(a, 1):
        found(a, source, f"{shape} {lengths}")


@pytest.mark.parametrize("lengths", ["bytes", "words", "long", "fractions", "some_infinite"])
@pytest.mark.parametrize("shape", ["two_components", "hubs", "grid", "rmat_16", "directed"])
def test_float32(shape, lengths):
    """Whole sums beyond 2^24 are rounded: searched again in the type of the result."""
    a = named(shape, lengths, np.float32)
    for source in sources(a, 1):
        found(a, source, f"{shape} {lengths}")


def test_float32_out_of_range():
    a = graph(1000, np.arange(999), np.arange(1, 1000), np.full(999, 900_001), np.float32)
    _, told = found(a, 0)
    assert told["weight_bytes"] == 4, told  # not whole numbers of 4 bytes, but the matrix's own
    b = graph(1000, np.arange(999), np.arange(1, 1000), np.full(999, 9), np.float32)
    assert found(b, 0)[1]["weight_bytes"] == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("lengths", ["bytes", "fractions", "pattern"])
@pytest.mark.parametrize("shape", ["duplicates", "hubs", "rmat_16", "directed", "no_edges"])
def test_every_access_and_method(shape, lengths, access, method):
    a = named(shape, lengths)
    for source in sources(a, 1):
        _, told = found(a, source, f"{shape} {lengths}", access=access, method=method)
        assert ("scan" in kinds(told)) == (method == "bellman_ford"), told


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("lengths", ["bytes", "words", "fractions"])
@pytest.mark.parametrize("shape", ["rmat_16", "star", "grid", "directed", "no_edges"])
def test_every_placement(shape, lengths, placement):
    a = named(shape, lengths)
    for access in ACCESS:
        if shape == "grid" and access in ("strided", "merged"):
            continue  # no small windows: thousands of launches
        _, told = found(a, 0, f"{shape} {lengths}", placement=placement, access=access)
        assert told["graph"]["placement"] == placement
        assert (told["schedule"] == "in_core") == (placement == "device")


@pytest.mark.parametrize("delta", [0.25, 1, 7, 1000, 1e9])
@pytest.mark.parametrize("lengths", ["bytes", "zeros", "fractions"])
@pytest.mark.parametrize("shape", ["rmat_16", "grid", "directed", "hubs"])
def test_delta_has_no_influence(shape, lengths, delta):
    found(named(shape, lengths), 0, f"{shape} {lengths}", delta=delta)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize(
    "shape", ["self_loops", "duplicates", "two_components", "dense", "grid", "rmat_16", "directed"]
)
def test_predecessors_are_the_cpus(shape, lengths, dtype):
    a = named(shape, lengths, dtype)
    for source in sources(a, 1):
        distances, tree = ps.csgraph.sssp(a, source, device=0, return_predecessors=True)
        ps.csgraph.verify_sssp(a, source, distances, tree)
        expected = ps.csgraph.sssp(a, source, device="cpu", return_predecessors=True)
        same(distances, expected[0], f"{shape} {lengths}: distances from {source}")
        same(tree, expected[1], f"{shape} {lengths}: predecessors from {source}")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lengths", ["bytes", "zeros", "fractions", "pattern"])
@pytest.mark.parametrize("shape", ["two_components", "rmat_10", "grid", "directed"])
def test_limits_and_several_sources(shape, lengths, method):
    a = named(shape, lengths)
    far = ps.csgraph.sssp(a, 0, device="cpu")
    middle = float(np.median(far[np.isfinite(far)]))
    starts = sources(a, 3)
    on = GpuOptions(method=method)
    for limit in (0.0, middle, middle + 1e-9, np.inf):
        how = {"indices": starts, "limit": limit, "return_predecessors": True}
        got = ps.csgraph.dijkstra(a, device=0, min_only=True, gpu_options=on, **how)
        expected = ps.csgraph.dijkstra(a, device="cpu", min_only=True, **how)
        for part, right, what in zip(got, expected, ("distances", "tree", "roots"), strict=True):
            same(part, right, f"{shape} {lengths} limit {limit}: {what}")
        rows = ps.csgraph.dijkstra(a, device=0, gpu_options=on, **how)
        right = ps.csgraph.dijkstra(a, device="cpu", **how)
        same(rows[0].ravel(), right[0].ravel(), f"{shape} {lengths} limit {limit}: rows")
        same(rows[1].ravel(), right[1].ravel(), f"{shape} {lengths} limit {limit}: trees")


def test_no_sources():
    a = named("rmat_10", "bytes")
    none = np.array([], np.int64)
    assert np.isinf(ps.csgraph.dijkstra(a, indices=none, min_only=True, device=0)).all()


def test_steps():
    """Symmetric graphs pull, directed ones do not; roads run in one kernel; weights take the fewest bytes."""
    a = named("rmat_16", "bytes")
    _, told = found(a, int(np.argmax(np.diff(a.indptr))), placement="pinned")
    assert "pull" in kinds(told), told["steps"]
    assert told["weight_bytes"] == 1 and told["delta"] == 8
    assert sum(step["edges"] for step in told["steps"]) <= 1.2 * a.nnz, told["steps"]
    _, told = found(named("directed", "bytes"), 0, placement="pinned")
    assert "pull" not in kinds(told), told["steps"]
    _, told = found(named("grid", "words"), 0, placement="pinned")
    assert "small" in kinds(told) and len(told["steps"]) < 20, told["steps"]
    assert told["weight_bytes"] == 2


def uncached(a, **how):
    a.release()
    return found(a, 0, placement="pinned", **how)[1]


def test_cache_holds_the_shortest_lists():
    a = named("rmat_16", "bytes")
    n, degrees = a.shape[0], np.diff(a.indptr)
    none = uncached(a, cache=0)
    assert none["graph"]["cached_edges"] == 0
    some = uncached(a, cache=8 * n + 5 * a.nnz // 5)
    edges = some["graph"]["cached_edges"]
    assert 0.18 * a.nnz < edges <= 0.2 * a.nnz, (edges, a.nnz)
    assert edges >= degrees[degrees <= 4].sum(), "short lists come first"
    all_of_them = uncached(a, cache=8 * n + 6 * a.nnz)
    assert all_of_them["graph"]["cached_edges"] == a.nnz
    assert all(step["link_edges"] == 0 for step in all_of_them["steps"]), all_of_them["steps"]
    a.release()


@pytest.mark.parametrize("lengths", ["bytes", "fractions", "pattern"])
@pytest.mark.parametrize("access", ACCESS)
def test_counted_requests(access, lengths):
    """Every list of the component is asked for at least once, in whole sectors; a cached one never."""
    a = named("dense", lengths)
    size = 4 + {"bytes": 4, "fractions": 8, "pattern": 0}[lengths]
    for method in METHODS:
        told = uncached(a, access=access, method=method, cache=0, counted=True)
        read = told["read"]
        assert read["bytes"] == sum(int(s) * k for s, k in read["requests"].items())
        assert read["bytes"] >= (a.nnz * size if method == "bellman_ford" else 1), told
    told = uncached(a, access=access, cache=8 * a.shape[0] + 16 * a.nnz, counted=True)
    assert told["read"]["bytes"] == 0, told
    a.release()


def test_budget():
    a = named("rmat_16", "bytes")
    with (
        ps.options(device_memory=100_000),
        pytest.raises(MemoryError, match="raise device_memory"),
    ):
        ps.csgraph.sssp(a, 0, device=0)
    # What the search holds takes 9.5 MB, the edges 4 bytes each, and their lengths a byte for which no room is left.
    with ps.options(device_memory=8 * a.shape[0] + 4 * a.nnz + 10_300_000):
        _, told = found(a, 0)
        assert told["graph"]["placement"] == "pinned", told["graph"]
        assert told["graph"]["used_bytes"] <= told["graph"]["budget"]


def test_unaligned_edges():
    """A view that begins at no multiple of 16 bytes is read one entry at a time."""
    rng = np.random.default_rng(5)
    n, m = 50_000, 9_000_000  # large enough to be locked in place
    a = graph(n, *rng.integers(0, n, (2, m)), rng.integers(1, 99, m), np.float32, both_ways=False)
    moved = np.empty(m + 1, np.int32)[1:]
    moved[:] = a.indices
    b = ps.csr_array._from_parts(n, n, a.indptr, moved, np.asarray(a.data))
    for placement in ("pinned", "device"):
        for method in METHODS:
            found(b, 0, placement=placement, method=method)


def test_names_and_weights_are_checked():
    a = named("rmat_10", "bytes")
    with pytest.raises(ValueError, match="method='top_down' is unknown"):
        ps.csgraph.sssp(a, 0, device=0, gpu_options=GpuOptions(method="top_down"))
    bad = graph(3, [0, 1], [1, 2], [1.0, -2.0], both_ways=False)
    with pytest.raises(ValueError, match="1 -> 2"):
        ps.csgraph.sssp(bad, 0, device=0)
    other = _core.gpu_graph(named("dense", "bytes")._core, 0)
    with pytest.raises(ValueError, match="not that of the graph"):
        _core.sssp_gpu(other, a._core, _core.path_weights(a._core), np.array([0], np.int32))
