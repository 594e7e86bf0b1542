"""Betweenness, PageRank and triangles over several GPUs, or one named several times, against those of the CPU."""

import numpy as np
import pytest
from graphs import graph, named
from needed_gpus import needs
from odd_graphs import ODD, shape
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import incoming, simple, without_repeats

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

PACKED = GpuOptions(placement="packed")
HOWS = [
    PACKED,
    GpuOptions(placement="packed", counted=True),
    GpuOptions(placement="pinned"),
    GpuOptions(placement="device"),
]
SHAPES = [
    "one_vertex",
    "no_edges",
    "self_loops",
    "duplicates",
    "star",
    "two_components",
    "late_hub",
    "grid",
    "rmat_10",
    "rmat_16",
    "dense",
    "directed",
    *ODD,
]


@pytest.fixture(params=[[0, 0], [0, 0, 0], [0, 1]], ids=str)
def gpus(request):
    needs(request.param)
    return request.param


def budget(lists, near, gpus, part_bytes):
    """Bytes with which about such a share of the packed lists stays on each GPU."""
    own, shared = part_bytes
    parts = _core.gpu_parts(lists._core, gpus, "packed").facts()["parts"]
    needed = [
        f["offset_bytes"]
        + int(near * (f["packed_bytes"] - f["offset_bytes"]))
        + own * f["vertices"]
        + shared * lists.shape[0]
        + _core.cut_list_bytes(f["edges"])
        for f in parts
    ]
    return (min(needed) + (16 << 20) + (1 << 12)) * max(gpus.count(gpu) for gpu in gpus)


def run(function, a, gpus, how, limit=None, **more):
    with ps.options(device_memory=limit), ps.record() as events:
        got = function(a, device=gpus, gpu_options=how, **more)
    event = events[-1]
    facts = event["graph"]
    assert facts["gpus"] == gpus[: len(facts["parts"])]
    assert all(part["placement"] == how.home for part in facts["parts"])
    assert all(part["used_bytes"] <= part["budget"] for part in facts["parts"])
    return got, event


@pytest.mark.parametrize("name", [n for n in SHAPES if n not in ("ring", "caterpillar")])
def test_betweenness(name, gpus):
    a = shape(name)
    k = min(3, a.shape[0])
    for more in ({}, {"endpoints": True}):
        expected = ps.csgraph.betweenness_centrality(a, k=k, device="cpu", **more)
        for how in HOWS:
            got, event = run(ps.csgraph.betweenness_centrality, a, gpus, how, k=k, **more)
            np.testing.assert_allclose(
                got, expected, rtol=1e-9, atol=1e-12, err_msg=f"{name} {how}"
            )
            assert event["sources"] == k and event["on_cpu"] == 0


@pytest.mark.parametrize("near", [0.4, 0])
@pytest.mark.parametrize("name", ["late_hub", "rmat_16", "random_order", "directed"])
def test_betweenness_where_lists_come_over_the_link(name, near, gpus):
    a = shape(name)
    expected = ps.csgraph.betweenness_centrality(a, k=3, device="cpu")
    limit = budget(without_repeats(a), near, gpus, _core.betweenness_part_bytes())
    for how in HOWS[:2]:
        got, event = run(ps.csgraph.betweenness_centrality, a, gpus, how, limit, k=3)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12, err_msg=name)
        assert event["graph"]["far_bytes"] > 0
        assert not how.counted or event["read"]["bytes"] > 0


def test_sources_with_too_many_paths(gpus):
    """A ladder with 2^2200 paths from one end to the other: the CPU adds up what exceeds float64."""
    rungs = 2200
    left = np.arange(rungs)
    tails = np.concatenate([3 * left, 3 * left, 3 * left + 1, 3 * left + 2])
    heads = np.concatenate([3 * left + 1, 3 * left + 2, 3 * left + 3, 3 * left + 3])
    a = graph(3 * rungs + 1, tails, heads)
    expected = ps.csgraph.betweenness_centrality(a, k=4, device="cpu")
    left = set()
    for of in (gpus, gpus * 2, gpus * 3):  # more threads than a small machine has
        got, event = run(ps.csgraph.betweenness_centrality, a, of, PACKED, k=4)
        left.add(event["on_cpu"])
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert len(left) == 1 and left.pop() > 0


@pytest.mark.parametrize("name", SHAPES)
def test_pagerank(name, gpus):
    a = shape(name)
    n = a.shape[0]
    for tol in (1e-4, 1e-9):
        expected = ps.csgraph.pagerank(a, tol=tol, max_iter=1000, device="cpu")
        for how in HOWS:
            got, _ = run(ps.csgraph.pagerank, a, gpus, how, tol=tol, max_iter=1000)
            assert np.abs(got - expected).sum() < 20 * tol + 1e-11 * n, (name, how)
            if how.home == "pinned":  # the order of sums depends on addresses
                continue
            alone = ps.csgraph.pagerank(a, tol=tol, max_iter=1000, device=0, gpu_options=how)
            assert np.array_equal(got, alone), (name, how)  # in every run, on one GPU or several


@pytest.mark.parametrize("near", [0.4, 0])
def test_pagerank_where_lists_come_over_the_link(near, gpus):
    for name in ("hubs", "directed", "rmat_16"):
        a = shape(name)
        rng = np.random.default_rng(5)
        how = {"personalization": rng.random(a.shape[0]), "tol": 1e-8, "max_iter": 500}
        expected = ps.csgraph.pagerank(a, device="cpu", **how)
        limit = budget(incoming(a), near, gpus, (8, 48))
        got, event = run(ps.csgraph.pagerank, a, gpus, HOWS[1], limit, **how)
        assert np.abs(got - expected).sum() < 1e-6, name
        assert event["graph"]["far_bytes"] > 0 and event["read"]["bytes"] > 0


def test_pagerank_into_an_array_on_the_first_gpu(gpus):
    cupy = pytest.importorskip("cupy")
    a = shape("hubs")
    out = cupy.zeros(a.shape[0])
    got, told = ps.csgraph.pagerank(a, out=out, device=gpus, gpu_options=PACKED, return_info=True)
    assert got is out and told["vectors"] == "gpu 0"
    assert np.abs(cupy.asnumpy(out) - ps.csgraph.pagerank(a, device="cpu")).sum() < 1e-5


@pytest.mark.parametrize("name", SHAPES)
def test_triangles(name, gpus):
    a = shape(name)
    expected = ps.csgraph.triangles(a, device="cpu")
    for how in HOWS:
        got, _ = run(ps.csgraph.triangles, a, gpus, how)
        assert np.array_equal(got, expected), (name, how)
        total, _ = run(ps.csgraph.triangle_count, a, gpus, how)
        assert 3 * total == expected.sum(), (name, how)


@pytest.mark.parametrize("near", [0.4, 0])
def test_triangles_where_lists_come_over_the_link(near, gpus):
    a = simple(ps.csr_array._wrap(named("rmat_16")._core))  # without lists on a GPU
    expected = ps.csgraph.triangles(a, device="cpu")
    run(ps.csgraph.triangles, a, gpus, PACKED)
    lists = ps.csr_array._wrap(_core.oriented_lists(_core.orient_edges(a._core)))
    limit = budget(lists, near, gpus, (16, 8))
    got, event = run(ps.csgraph.triangles, a, gpus, HOWS[1], limit)
    assert np.array_equal(got, expected)
    assert event["graph"]["far_bytes"] > 0 and event["read"]["bytes"] > 0


def test_without_room_for_the_vertices(gpus):
    a = shape("random_order")
    with ps.options(device_memory=100_000):
        for function, more in (
            (ps.csgraph.pagerank, {}),
            (ps.csgraph.betweenness_centrality, {"k": 1}),
            (ps.csgraph.triangles, {}),
        ):
            with pytest.raises(MemoryError, match="raise device_memory"):
                function(a, device=gpus, gpu_options=PACKED, **more)


def test_what_several_gpus_refuse(gpus):
    a = named("rmat_10")
    with pytest.raises(ValueError, match='choose "aligned" or "packed"'):
        ps.csgraph.triangles(a, device=gpus, gpu_options=GpuOptions(access="strided"))
    moved = a.to(ps.device(0))
    for function in (ps.csgraph.pagerank, ps.csgraph.triangles):
        with pytest.raises(ValueError, match="searched on that GPU"):
            function(moved, device=gpus)


@pytest.mark.gpu_small
def test_small_graphs():
    """Lists of one entry, of several chunks, and of pieces, for the sanitizer."""
    rng = np.random.default_rng(4)
    n = 3000
    tails = np.concatenate([np.arange(n), np.repeat([7, 90], [1100, 70])])
    heads = np.concatenate(
        [(np.arange(n) + 1) % n, rng.choice(n, 1100, False), rng.choice(n, 70, False)]
    )
    a = graph(n, tails, heads)
    for function, more in (
        (ps.csgraph.betweenness_centrality, {"k": 1}),
        (ps.csgraph.pagerank, {}),
        (ps.csgraph.triangles, {}),
    ):
        expected = function(a, device="cpu", **more)
        for how in (PACKED, GpuOptions(placement="pinned")):
            got, _ = run(function, a, [0, 0], how, **more)
            np.testing.assert_allclose(got, expected, rtol=1e-4)
