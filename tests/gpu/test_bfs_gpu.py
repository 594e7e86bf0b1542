"""Searches on a GPU against those of the CPU: every shape, access policy and placement."""

import numpy as np
import pytest
from graphs import NAMES, named, sources
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
ACCESS = ["strided", "merged", "aligned", "direct"]
PLACEMENTS = ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
METHODS = ["auto", "top_down", "level_synchronous"]


def same(got, expected, what):
    bad = np.flatnonzero(got != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {got.size} differ, vertex {bad[0]}: {got[bad[0]]} is not {expected[bad[0]]}"
    )


def searched(a, source, what="", **how):
    """Levels, checked against the CPU's; and what the trace tells."""
    with ps.record() as events:
        levels = ps.csgraph.bfs(a, source, device=0, gpu_options=GpuOptions(**how))
    same(levels, ps.csgraph.bfs(a, source, device="cpu"), f"{what} from {source} {how} {events}")
    return levels, events[-1]


SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in NAMES]
)
def test_every_shape(name):
    a = named(name)
    for source in sources(a, 1):
        levels, event = searched(a, source, name)
        assert event["reached"] == np.count_nonzero(levels >= 0), event
        assert event["depth"] == levels.max(), event


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("name", NAMES)
def test_every_access_and_method(name, access, method):
    if name == "path" and method == "level_synchronous":
        pytest.skip("100000 launches over all vertices: the grid has levels enough")
    a = named(name)
    for source in sources(a, 2):
        searched(a, source, name, access=access, method=method)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("name", ["rmat_16", "star", "grid", "directed", "no_edges"])
def test_every_placement(name, placement):
    a = named(name)
    for access in ACCESS:
        _, event = searched(a, 0, name, placement=placement, access=access)
        assert event["graph"]["placement"] == placement
        assert (event["schedule"] == "in_core") == (placement == "device")


@pytest.mark.parametrize("sample", [0, 4, 8, 16])
@pytest.mark.parametrize("name", NAMES)
def test_every_sample_and_predecessors(name, sample):
    a = named(name)
    for source in sources(a, 2):
        on = GpuOptions(sample=sample)
        levels, tree = ps.csgraph.bfs(a, source, device=0, return_predecessors=True, gpu_options=on)
        ps.csgraph.verify_bfs(a, source, levels, tree)


def test_directions():
    """The levels of a small world are found bottom-up, those of a grid by one kernel, directed ones as edges allow."""
    a = named("rmat_16")
    _, event = searched(a, int(np.argmax(np.diff(a.indptr))), placement="pinned")
    kinds = [step["kind"] for step in event["steps"]]
    assert {"bottom_up", "mixed"} & set(kinds), event["steps"]
    _, event = searched(a, 0, method="top_down")
    assert {step["kind"] for step in event["steps"]} <= {"small", "top_down"}, event["steps"]
    _, event = searched(named("grid"), 0)
    assert [step["kind"] for step in event["steps"]] == ["small"], event["steps"]
    levels, event = searched(named("path"), 0)
    assert levels[-1] == 99_999 and len(event["steps"]) == 1, event["steps"]


def test_long_lists_are_probed_in_segments():
    a = named("late_hub")
    for how in ({}, {"counted": True}, {"sample": 8}):
        levels, event = searched(a, 0, placement="pinned", **how)
        assert levels[39_001] == 2 and levels[30_001] == 3
        up = [step for step in event["steps"] if step["kind"] == "bottom_up"]
        assert up and up[0]["open"] > 0, event["steps"]


def test_directed_graphs_use_reversed_edges_once_there():
    rng = np.random.default_rng(5)
    n = 20_000
    offsets = np.arange(n + 1, dtype=np.int64) * 40
    a = ps.csr_array._from_parts(n, n, offsets, rng.integers(0, n, 40 * n, dtype=np.int32), None)
    _, before = searched(a, 1)
    assert before["missed"] > 0 and a._derived.transpose is None, before
    a.T.formed()
    _, after = searched(a, 1)
    assert {"bottom_up", "mixed"} & {step["kind"] for step in after["steps"]}, after["steps"]
    ps.csgraph.verify_bfs(a, 1, *ps.csgraph.bfs(a, 1, device=0, return_predecessors=True))


@pytest.mark.parametrize("placement", ["device", "packed"])
@pytest.mark.parametrize("middle", [300, 4000])
def test_lists_of_all_lengths_in_one_warp(middle, placement):
    """Vertex 0 leads to `middle` vertices, whose lists have 0 to 3000 entries in any order, and overlap."""
    rng = np.random.default_rng(middle)
    n = 200_000
    lengths = rng.choice([0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 127, 1023, 1025, 3000], middle)
    lists = [np.sort(rng.choice(n, k, replace=False)).astype(np.int32) for k in lengths]
    first = np.sort(rng.choice(np.arange(1, n), middle, replace=False)).astype(np.int32)
    degrees = np.zeros(n, np.int64)
    degrees[0], degrees[first] = middle, lengths
    offsets = np.concatenate([[0], np.cumsum(degrees)])
    a = ps.csr_array._from_parts(n, n, offsets, np.concatenate([first, *lists]), None)
    for method in ("top_down", "auto"):
        on = GpuOptions(placement=placement, method=method)
        levels, tree = ps.csgraph.bfs(a, 0, device=0, return_predecessors=True, gpu_options=on)
        ps.csgraph.verify_bfs(a, 0, levels, tree)
        same(searched(a, 0, placement=placement, method=method)[0], levels, "without predecessors")


def sectors_of(a, reached):
    """32-byte sectors that the lists of these vertices touch, each list alone."""
    assert a.indices.nbytes < 32 << 20, "so small that the edges are copied, to the start of a page"
    begin, end = (a.indptr[:-1][reached], a.indptr[1:][reached])
    full = end > begin
    return int(((4 * end[full] - 1) // 32 - 4 * begin[full] // 32 + 1).sum())


@pytest.mark.parametrize("name", ["rmat_16", "grid", "star", "directed"])
def test_requests_are_counted_exactly(name):
    """A level-synchronous search reads the list of every vertex that it reaches, once."""
    a = named(name)
    found = {}
    for access in ("strided", "merged", "aligned"):
        how = {"method": "level_synchronous", "placement": "pinned", "counted": True}
        levels, event = searched(a, 0, name, access=access, **how)
        found[access] = event["read"]
    sectors = sectors_of(a, levels >= 0)
    assert found["aligned"]["bytes"] == 32 * sectors, found
    assert found["strided"]["bytes"] <= 32 * sectors, found  # neighbouring lists share some
    if name == "rmat_16":
        assert found["strided"]["requests"][32] > 0.9 * sum(
            found["strided"]["requests"].values()
        ), found
    assert found["merged"]["bytes"] >= found["aligned"]["bytes"], found
    assert found["merged"]["bytes"] <= 64 * sectors, found


def test_almost_nothing_is_read():
    """The sample answers most questions: less than the lists of the first frontiers is read."""
    a = ps.generate.rmat(18, seed=4)
    hub = int(np.argmax(np.diff(a.indptr)))
    read = {}
    for method in ("auto", "top_down", "level_synchronous"):
        _, event = searched(a, hub, method=method, placement="pinned", counted=True)
        read[method] = event["read"]["bytes"] / event["edge_bytes"]
    assert read["level_synchronous"] >= 1 > 0.5 > read["auto"], read
    assert read["top_down"] <= read["level_synchronous"], read


def test_cached_lists_are_not_read():
    a = named("rmat_16")
    plain = _core.gpu_graph(a._core, 0, "pinned")
    cached = _core.gpu_graph(a._core, 0, "pinned")
    cached.make_cache(a.nnz)  # bytes: room for a quarter of the edges, less the table
    facts = cached.facts()
    assert 0 < facts["cached_edges"] <= a.nnz // 4, facts
    assert facts["cache_bytes"] <= a.nnz, facts
    reads = []
    for g in (plain, cached):
        levels, _, told = _core.bfs_gpu(g, None, 0, method="top_down", count=True)
        same(levels, ps.csgraph.bfs(a, 0, device="cpu"), facts)
        reads.append(told["read"]["bytes"])
    assert reads[1] < 0.9 * reads[0], (reads, facts)
    all_of_it = _core.gpu_graph(a._core, 0, "pinned")
    all_of_it.make_cache()
    assert all_of_it.facts()["cached_edges"] == a.nnz
    for method in METHODS:
        levels, _, told = _core.bfs_gpu(all_of_it, all_of_it, 5, method=method, count=True)
        same(levels, ps.csgraph.bfs(a, 5, device="cpu"), method)
        assert told["read"]["bytes"] == 0, (method, told)


def test_what_a_search_asks_is_made_as_it_pays():
    """Any sample first; the best one and hubs from the second search on, which give way to paths."""
    a = named("rmat_16")
    expected = {s: ps.csgraph.bfs(a, s, device="cpu") for s in (0, 7)}
    w = ps.csr_array((np.ones(a.nnz, np.float32), a.indices, a.indptr), shape=a.shape)
    with ps.options(device_memory=8 * (a.shape[0] + 1) + 60 * a.shape[0] + a.nnz + (16 << 20)):
        facts = []
        for source in (0, 7, 0):
            levels, event = searched(w, source, placement="pinned", counted=True)
            same(levels, expected[source], event)
            facts.append(event["graph"])
        assert [f["sample_kind"] for f in facts] == ["first"] + 2 * ["highest_degree"], facts
        assert [f["cache_bytes"] > 0 for f in facts] == [False, True, True], facts
        kept = facts[1]["sample_bytes"] + 4 * facts[1]["cached_edges"]
        assert facts[1]["cached_edges"] > 0 and kept <= a.nnz and facts[2] == facts[1], facts
        distances = ps.csgraph.sssp(w, 7, device=0, gpu_options=GpuOptions(placement="pinned"))
        near = distances[np.isfinite(distances)]
        assert np.array_equal(near, expected[7][expected[7] >= 0]), facts
        levels, event = searched(w, 7, placement="pinned")
        same(levels, expected[7], event)


@pytest.mark.parametrize("name", [n for n in NAMES if n != "path"])
def test_many_sources(name):
    a = named(name)
    rng = np.random.default_rng(2)
    starts = rng.integers(0, a.shape[0], 3 if name == "star" else 70)
    expected = np.array([ps.csgraph.bfs(a, int(s), device="cpu") for s in starts])
    if name == "directed":
        a.T.formed()
    for how in ({}, {"sample": 0}, {"method": "top_down", "access": "strided"}, {"counted": True}):
        with ps.record() as events:
            levels = ps.csgraph.bfs(a, sources=starts, device=0, gpu_options=GpuOptions(**how))
        for k, start in enumerate(starts):
            same(levels[k], expected[k], f"{name}: search {k} from {start} {how} {events}")


@pytest.mark.gpu_small
def test_many_sources_share_what_they_read():
    a = named("rmat_10")
    starts = np.arange(64)
    with ps.record() as events:
        on = GpuOptions(placement="pinned", counted=True)
        levels = ps.csgraph.bfs(a, sources=starts, device=0, gpu_options=on)
        on = GpuOptions(method="top_down", placement="pinned", counted=True)
        for start in starts:
            ps.csgraph.bfs(a, int(start), device=0, gpu_options=on)
    for k, start in enumerate(starts):
        same(levels[k], ps.csgraph.bfs(a, int(start), device="cpu"), f"from {start}")
    alone = sum(event["link_bytes"] for event in events[1:])
    assert events[0]["batch"] == 64 and events[0]["link_bytes"] < alone / 4, (events[0], alone)


def test_budgets():
    a = ps.generate.rmat(17, seed=6)
    n = a.shape[0]
    with (
        ps.options(device_memory=8 * (n + 1) // 2),
        pytest.raises(MemoryError, match="offsets of the lists"),
    ):
        ps.csgraph.bfs(a, 0, device=0)
    with (
        ps.options(device_memory=8 * (n + 1) + 8 * n),
        pytest.raises(MemoryError, match="raise device_memory"),
    ):
        ps.csgraph.bfs(a, 0, device=0)
    for budget, slots in ((28 * n, 0), (48 * n, 4), (100 * n, 4)):
        with ps.options(device_memory=budget):
            _, event = searched(a, 0)
        facts = event["graph"]
        assert facts["placement"] == "pinned" and facts["sample_size"] == slots, facts
        assert facts["used_bytes"] <= budget == facts["budget"], facts
    with ps.options(device_memory=4 * a.nnz + 100 * n):
        _, event = searched(a, 0)
    assert event["graph"]["placement"] == "device", event["graph"]
    with ps.options(device_memory=100 * n), pytest.raises(MemoryError, match="the edges"):
        ps.csgraph.bfs(a, 0, device=0, gpu_options=GpuOptions(placement="device"))


def test_a_large_graph_under_a_budget_goes_to_the_gpu():
    a = ps.generate.rmat(16, seed=8)
    assert a.nnz > 1 << 20
    for limit, used in ((None, 0), ("1GB", 1)):
        with ps.options(device_memory=limit), ps.record() as events:
            levels = ps.csgraph.bfs(a, 3)
        assert len(events) == used
        same(levels, ps.csgraph.bfs(a, 3, device="cpu"), str(limit))


def test_graphs_in_other_memories():
    a = named("rmat_16")
    expected = ps.csgraph.bfs(a, 9, device="cpu")
    for place in ("pinned", "managed", "device"):
        moved = ps.csr_array._wrap(_core.to_place(a._core, place))
        moved._derived.symmetric_pattern = True
        same(ps.csgraph.bfs(moved, 9, device=0), expected, place)


def test_many_calls_take_no_more_memory():
    a = named("rmat_10")
    ps.csgraph.bfs(a, 0, device=0)
    before = _core.gpu_info(0)["free_bytes"]
    for k in range(300):
        ps.csgraph.bfs(a, k, device=0, return_predecessors=k % 2 == 1)
    assert before - _core.gpu_info(0)["free_bytes"] < 32 << 20


def test_large_arrays_are_read_in_place():
    a = ps.generate.rmat(19, seed=9)
    assert a.indices.nbytes > 32 << 20
    for source in sources(a, 2):
        _, event = searched(a, source, placement="pinned")
        assert event["graph"]["edge_bytes"] == 0, event["graph"]
    assert a._derived.gpu_graph is not None
    a.release()  # unlocks
    searched(a, 1, placement="pinned", method="top_down")


def test_bad_input():
    a = named("rmat_10")
    g = _core.gpu_graph(a._core)
    with pytest.raises(ValueError, match="source 1024 is outside"):
        _core.bfs_gpu(g, g, 1024)
    with pytest.raises(ValueError, match="source -1 is outside"):
        _core.bfs_many_gpu(g, g, np.array([0, -1], np.int32))
    with pytest.raises(ValueError, match="4, 8 or 16"):
        _core.bfs_gpu(g, g, 0, sample=5)
    other = _core.gpu_graph(named("dense")._core)
    with pytest.raises(ValueError, match="of another graph"):
        _core.bfs_gpu(g, other, 0)
    base = GpuOptions(method="level_synchronous")
    with pytest.raises(ValueError, match="finds no predecessors"):
        ps.csgraph.bfs(a, 0, device=0, return_predecessors=True, gpu_options=base)
    with pytest.raises(ValueError, match="GPUs are usable|GPU is usable"):
        ps.csgraph.bfs(a, 0, device=999)
