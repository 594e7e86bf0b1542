"""Betweenness and triangles on a GPU against those of the CPU: shapes, access policies and placements."""

import numpy as np
import pytest
from graphs import graph, named
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import simple

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
ACCESS = ["strided", "merged", "aligned", "direct"]
PLACEMENTS = ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]
SHAPES = [*SMALL, "star", "rmat_16", "grid", "directed", "long_open_lists"]
BOTH = [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in SHAPES]


def close(got, expected, what):
    """To 1e-9 of each number, NaN where the CPU has it."""
    bad = np.flatnonzero(~np.isclose(got, expected, rtol=1e-9, atol=1e-15, equal_nan=True))
    assert not bad.size, (
        f"{what}: {bad.size} of {got.size} differ, vertex {bad[0]}: {got[bad[0]]!r} is not "
        f"{expected[bad[0]]!r}"
    )


def between(a, what, **how):
    """Betweenness from a few sources, checked; what the trace tells."""
    task = {"k": min(4, a.shape[0]), "seed": 3}
    task |= {key: how.pop(key) for key in ("endpoints", "directed") if key in how}
    with ps.record() as events:
        got = ps.csgraph.betweenness_centrality(a, device=0, **task, gpu_options=GpuOptions(**how))
    expected = ps.csgraph.betweenness_centrality(a, device="cpu", **task)
    close(got, expected, f"{what} {task} {how} {events}")
    return events[-1]


@pytest.mark.parametrize("name", BOTH)
def test_betweenness_of_every_shape(name):
    for how in ({}, {"endpoints": True}, {"directed": False}):
        between(named(name), name, **how)


@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("name", SHAPES)
def test_betweenness_by_every_access(name, access):
    for counted in (False, True):
        between(named(name), name, access=access, placement="pinned", counted=counted)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_betweenness_in_every_placement(placement):
    for name in ("rmat_16", "directed", "no_edges"):
        event = between(named(name), name, placement=placement)
        assert event["graph"]["placement"] == placement


def test_betweenness_of_all_sources():
    a = named("rmat_10")
    got = ps.csgraph.betweenness_centrality(a, device=0)
    close(got, ps.csgraph.betweenness_centrality(a, device="cpu"), "all sources")


def test_too_many_paths_for_float64():
    """A chain of diamonds doubles its paths 1100 times: from its head the CPU's wider numbers count them."""
    stages = 1100
    head = 3 * np.arange(stages)
    tails = np.concatenate([head, head, head + 1, head + 2])
    heads = np.concatenate([head + 1, head + 2, head + 3, head + 3])
    a = graph(3 * stages + 1, tails, heads, both_ways=False)
    n = a.shape[0]
    some = np.array([0, 9, n - 300], np.int32)
    sums, left, told = _core.betweenness_gpu(_core.gpu_graph(a._core), some, False)
    assert left.tolist() == [0, 9], (left, told)
    close(sums, ps.csgraph.source_sums(a, some[2:]), told)
    seed = next(s for s in range(999) if np.random.default_rng(s).choice(n, 2, False).min() < 200)
    with ps.record() as events:
        got = ps.csgraph.betweenness_centrality(a, k=2, seed=seed, device=0)
    assert events[-1]["on_cpu"] >= 1, events
    close(got, ps.csgraph.betweenness_centrality(a, k=2, seed=seed, device="cpu"), events)


def test_betweenness_reads_each_list_twice_a_source():
    a = named("rmat_16")
    g = _core.gpu_graph(a._core, 0, "pinned")
    source = np.array([int(np.argmax(np.diff(a.indptr)))], np.int32)
    sums, left, told = _core.betweenness_gpu(g, source, False, "aligned", cache=False, count=True)
    assert left.size == 0 and told["levels"] >= 3, told
    close(sums, ps.csgraph.source_sums(a, source), told)
    assert told["read"]["bytes"] >= 1.5 * 4 * a.nnz, told
    held = g.facts()
    sums, _, told = _core.betweenness_gpu(g, source, False, "aligned", cache=True, count=True)
    close(sums, ps.csgraph.source_sums(a, source), told)
    assert told["read"]["bytes"] == 0, (told, g.facts())
    assert g.facts()["other_bytes"] == held["other_bytes"], "what a call takes is given back"


def test_betweenness_under_a_budget():
    a = ps.generate.rmat(16, seed=6)
    with ps.options(device_memory=30 * a.shape[0]), pytest.raises(MemoryError, match="of the vert"):
        ps.csgraph.betweenness_centrality(a, k=1, device=0)
    with ps.options(device_memory=48 * a.shape[0]):
        event = between(a, "budget")
    assert event["graph"]["used_bytes"] <= 48 * a.shape[0], event


def closed(a, what, **how):
    """Triangles, of all and of each vertex, checked; what the trace tells."""
    with ps.record() as events:
        total = ps.csgraph.triangle_count(a, device=0, gpu_options=GpuOptions(**how))
        each = ps.csgraph.triangles(a, device=0, gpu_options=GpuOptions(**how))
    expected = ps.csgraph.triangles(a, device="cpu")
    bad = np.flatnonzero(each != expected)
    assert not bad.size, (
        f"{what} {how}: {bad.size} of {each.size} differ, vertex {bad[0]}: {each[bad[0]]} is not "
        f"{expected[bad[0]]}; {events}"
    )
    assert total == int(expected.sum()) // 3, (what, how, total, int(expected.sum()) // 3, events)
    return events[-1]


def _far(rng):
    """Long lists at numbers beyond a block's bitmap: hubs of the highest numbers, joined to a path."""
    n, hubs = 300_000, np.arange(299_980, 300_000)
    tails = np.repeat(hubs, 9_000)
    heads = np.concatenate([rng.choice(60_000, 9_000, replace=False) * 4 for _ in hubs])
    path = np.arange(0, 240_000, 4)
    return graph(n, np.concatenate([tails, path[:-1]]), np.concatenate([heads, path[1:]]))


def _lists_of(a):
    """Each edge once, at its larger end: numbers are the vertices, whatever orient_edges would choose."""
    tails = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    below = a.indices < tails
    return graph(a.shape[0], tails[below], a.indices[below], both_ways=False)


@pytest.mark.parametrize("name", BOTH)
def test_triangles_of_every_shape(name):
    closed(named(name), name)


@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("name", SHAPES)
def test_triangles_by_every_access(name, access):
    for counted in (False, True):
        closed(named(name), name, access=access, placement="pinned", counted=counted)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_triangles_in_every_placement(placement):
    for name in ("rmat_16", "dense", "no_edges"):
        event = closed(named(name), name, placement=placement)
        assert event["graph"]["placement"] == placement


@pytest.mark.parametrize("access", ACCESS)
def test_triangles_at_numbers_beyond_the_bitmap(access):
    a = simple(_far(np.random.default_rng(9)))
    edges = _core.orient_edges(a._core)
    g = _core.gpu_graph(_lists_of(a)._core, 0, "pinned")
    total, each, told = _core.triangles_gpu(g, edges, False, access)
    assert each is None
    assert total == ps.csgraph.triangle_count(a, device="cpu") > 0, told


def test_triangles_of_a_complete_graph():
    n = 2500
    tails, heads = np.nonzero(np.triu(np.ones((n, n), bool), 1))
    a = graph(n, tails, heads)
    closed(a, "complete")
    assert ps.csgraph.triangle_count(a, device=0) == n * (n - 1) * (n - 2) // 6


def test_bad_input():
    a = named("rmat_10")
    g = _core.gpu_graph(a._core)
    with pytest.raises(ValueError, match="source 1024 is outside"):
        _core.betweenness_gpu(g, np.array([1024], np.int32), False)
    with pytest.raises(ValueError, match="of another graph"):
        _core.triangles_gpu(g, _core.orient_edges(named("dense")._core), False)
