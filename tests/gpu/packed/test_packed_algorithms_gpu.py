"""Betweenness, PageRank and triangles from packed lists on a GPU against those of the CPU."""

import numpy as np
import pytest
from graphs import NAMES, graph, named
from odd_graphs import ODD, shape
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import incoming, simple, without_repeats
from penstock.csgraph._one_way import one_way
from penstock.csgraph.triangle import _holders

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

PACKED = GpuOptions(placement="packed")
COUNTED = GpuOptions(placement="packed", counted=True)
NEAR = [None, 0.5, 0]  # the shares of the lists on the GPU; None: no limit


def budget(lists, near, vertex_bytes):
    """Bytes with which such a share of the packed lists of this matrix stays on the GPU; None is no limit."""
    if near is None:
        return None
    facts = packed_lists(lists).facts()
    fixed = (16 << 20) + _core.cut_list_bytes(lists.nnz) + (1 << 12) + vertex_bytes * lists.shape[0]
    return facts["head_bytes"] + fixed + int(near * facts["list_bytes"])


def run(a, near, lists, vertex_bytes, function, *args, **more):
    """(the result, the event) of `function` over packed lists, of which such a share is on the GPU."""
    with ps.options(device_memory=budget(lists, near, vertex_bytes)), ps.record() as events:
        got = function(a, *args, device=0, **({"gpu_options": PACKED} | more))
    event = events[-1]
    facts = event["graph"]
    assert facts["placement"] == "packed" and facts["used_bytes"] <= facts["budget"]
    assert near is not None or facts["far_bytes"] == 0
    read = event["read"]
    assert read is None or (read["bytes"] > 0) <= (facts["far_bytes"] > 0)
    return got, event


SHAPES = [*NAMES, *ODD]


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("name", [n for n in SHAPES if n not in ("path", "ring")])
def test_betweenness(name, near):
    a = shape(name)
    lists, vertex_bytes = without_repeats(a), _core.betweenness_vertex_bytes()
    k = min(3, a.shape[0])
    for more in ({}, {"endpoints": True}):
        expected = ps.csgraph.betweenness_centrality(a, k=k, device="cpu", **more)
        for how in (PACKED, COUNTED):
            got, _ = run(
                a, near, lists, vertex_bytes, ps.csgraph.betweenness_centrality,
                k=k, gpu_options=how, **more,
            )  # fmt: skip
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12, err_msg=name)


def test_betweenness_of_undirected_pairs():
    a = named("directed")
    expected = ps.csgraph.betweenness_centrality(a, k=5, directed=False, device="cpu")
    got, _ = run(a, 0.5, simple(a), 33, ps.csgraph.betweenness_centrality, k=5, directed=False)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("name", SHAPES)
def test_pagerank(name, near):
    a = shape(name)
    into, n = incoming(a), a.shape[0]
    for tol, vertex_bytes in ((1e-4, 24), (1e-9, 32)):
        expected = ps.csgraph.pagerank(a, tol=tol, max_iter=1000, device="cpu")
        for how in (PACKED, COUNTED):
            (got, event), (again, _) = (
                run(
                    a, near, into, vertex_bytes, ps.csgraph.pagerank,
                    tol=tol, max_iter=1000, gpu_options=how,
                )
                for _ in range(2)
            )  # fmt: skip
            assert np.abs(got - expected).sum() < 20 * tol + 1e-11 * n, (name, event)
            ps.csgraph.verify_pagerank(a, got, tol=1.1 * tol + 1e-6 * (tol > 1e-6))
            assert np.array_equal(got, again), name  # in every run


@pytest.mark.parametrize("near", NEAR)
def test_pagerank_with_distributions(near):
    for name in ("directed", "hubs", "rmat_16"):
        a = shape(name)
        n, rng = a.shape[0], np.random.default_rng(5)
        how = {
            "personalization": rng.random(n),
            "dangling": {0: 1.0, n - 1: 2.0},
            "alpha": 0.9,
            "tol": 1e-8,
            "max_iter": 500,
        }
        expected = ps.csgraph.pagerank(a, device="cpu", **how)
        got, _ = run(a, near, incoming(a), 48, ps.csgraph.pagerank, **how)
        assert np.abs(got - expected).sum() < 1e-6, name
        start = {**how, "nstart": expected}
        got, event = run(a, near, incoming(a), 48, ps.csgraph.pagerank, **start)
        assert event["steps"] <= 2 and np.abs(got - expected).sum() < 1e-6


@pytest.mark.parametrize("access", ["strided", "merged", "aligned", "direct"])
@pytest.mark.parametrize("placement", ["device", "pinned", "host_alloc"])
def test_pagerank_of_lists_as_they_are(access, placement):
    for name in ("hubs", "directed", "rmat_10", "star"):
        a = shape(name)
        expected = ps.csgraph.pagerank(a, tol=1e-8, max_iter=500, device="cpu")
        how = GpuOptions(access=access, placement=placement, counted=True)
        with ps.record() as events:
            got = ps.csgraph.pagerank(a, tol=1e-8, max_iter=500, device=0, gpu_options=how)
        assert np.abs(got - expected).sum() < 1e-6, (name, access, placement)
        assert events[-1]["graph"]["placement"] == placement
        if placement != "device" and a.nnz:
            assert events[-1]["read"]["bytes"] >= 4 * a.nnz * events[-1]["steps"]


def test_pagerank_into_an_array_on_the_gpu():
    cupy = pytest.importorskip("cupy")
    a = shape("hubs")
    out = cupy.zeros(a.shape[0])
    got = ps.csgraph.pagerank(a, out=out, device=0, gpu_options=PACKED)
    assert got is out
    expected = ps.csgraph.pagerank(a, device="cpu")
    assert np.abs(cupy.asnumpy(out) - expected).sum() < 1e-5


def test_pagerank_takes_lists_that_searches_have_packed():
    """With device left out, and no other copy of the graph there."""
    a = ps.generate.rmat(19, seed=9)
    expected = ps.csgraph.pagerank(a, device="cpu", tol=1e-5)
    vectors = 24 * a.shape[0]
    facts = packed_lists(a).facts()
    with ps.options(
        device_memory=facts["bytes"] + vectors + _core.cut_list_bytes(a.nnz) + (17 << 20)
    ):
        ps.csgraph.bfs(a, 1, device=0, gpu_options=PACKED)
        with ps.record() as events:
            got, told = ps.csgraph.pagerank(a, tol=1e-5, return_info=True)
        assert told["vectors"] == "gpu 0" and events[-1]["graph"]["placement"] == "packed"
        assert np.abs(got - expected).sum() < 1e-4
        a.release()
        assert ps.csgraph.pagerank(a, tol=1e-5, return_info=True)[1]["vectors"] == "cpu"


def oriented(a):
    """The oriented lists that were made for a count, by the CPU or out of packed lists."""
    kept = next((holder.oriented_gpu for holder in _holders(a) if holder.oriented_gpu), None)
    return kept[2] if kept is not None and kept[2] is not None else a._derived.oriented_lists


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("name", SHAPES)
def test_triangles(name, near):
    a = shape(name)
    expected = ps.csgraph.triangles(a, device="cpu")
    ps.csgraph.triangles(a, device=0, gpu_options=PACKED)
    lists = oriented(a)
    for how in (PACKED, COUNTED):
        got, _ = run(a, near, lists, 24, ps.csgraph.triangles, gpu_options=how)
        assert np.array_equal(got, expected), name
        total, _ = run(a, near, lists, 24, ps.csgraph.triangle_count, gpu_options=how)
        assert 3 * total == expected.sum(), name


def placed(a, limit, vertex_bytes):
    """The same edges, known to be symmetric, with packed lists on a GPU that leave so much for each vertex."""
    b = ps.csr_array._wrap(a._core)
    b._derived.symmetric_pattern = True
    with ps.options(device_memory=limit):
        packed_lists(b)
        one_way(b, [0], "packed", True, vertex_bytes)
    return b


def oriented_and_counted(b, placement, expected, limit):
    with ps.options(device_memory=limit), ps.record() as events:
        how = GpuOptions(placement=placement)
        assert np.array_equal(ps.csgraph.triangles(b, device=0, gpu_options=how), expected)
        assert 3 * ps.csgraph.triangle_count(b, device=0, gpu_options=how) == expected.sum()
    oriented = events[0]["oriented"]
    assert oriented is not None and oriented["upload_seconds"] == 0  # out of packed lists
    assert events[1]["oriented"] == oriented  # once
    b._derived.oriented_gpu = None
    return events[0]


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize(
    "name", ["rmat_10", "rmat_16", "dense", "grid", "star", "late_hub", "two_components", *ODD]
)
def test_edges_are_oriented_out_of_packed_lists(name, near):
    a = simple(shape(name))
    expected = ps.csgraph.triangles(a, device="cpu")
    vertex_bytes = 41 + 10 * a.nnz // a.shape[0]  # all keys are sorted at once
    limit = budget(a, near, vertex_bytes)
    b = placed(a, limit, vertex_bytes)
    far = b._derived.gpu_graph[1].facts()["far_bytes"]
    assert (far > 0) == (near is not None)
    for placement in ("auto", "packed", "pinned"):
        event = oriented_and_counted(b, placement, expected, limit)
        if placement != "auto":
            assert event["graph"]["placement"] == placement
    b.release()


def test_edges_are_oriented_in_ranges():
    """A budget for about a million keys at once, of four million edges, which come to pinned memory."""
    a = simple(ps.generate.rmat(18, seed=5))
    expected = ps.csgraph.triangles(a, device="cpu")
    limit = packed_lists(a).facts()["bytes"] + 20 * a.shape[0] + (33 << 20)
    b = placed(a, limit, 20)
    for placement in ("auto", "packed"):
        event = oriented_and_counted(b, placement, expected, limit)
        assert event["oriented"]["renumbered"] and event["oriented"]["bytes"] <= limit
    b.release()


def test_directed_graphs_share_what_searches_have_placed():
    """Reversed edges have half of the budget: packed lists that are there are taken as they are."""
    a = ps.generate.lift(without_repeats(named("directed")), 20, seed=1)
    a.T.formed()
    with ps.options(device_memory=200 << 20):
        levels = ps.csgraph.bfs(a, 3, device=0, gpu_options=PACKED)
        assert np.array_equal(levels, ps.csgraph.bfs(a, 3, device="cpu"))
        there = a._derived.gpu_graph[1], a.T.formed()._derived.gpu_graph[1]
        ps.csgraph.betweenness_centrality(a, k=1, device=0)
        ps.csgraph.pagerank(a, device=0)
        ps.csgraph.bfs(a, 3, device=0, gpu_options=PACKED)
        now = a._derived.gpu_graph[1], a.T.formed()._derived.gpu_graph[1]
        assert now[0] is there[0] and now[1] is there[1]


def test_searches_and_centrality_in_turns():
    """Arrays that searches keep, and their sample, go where another algorithm needs the room, and come again."""
    a = ps.generate.lift(named("rmat_10"), 1200, seed=2)
    n, facts = a.shape[0], packed_lists(a).facts()
    levels = ps.csgraph.bfs(a, 3, device="cpu")
    expected = ps.csgraph.betweenness_centrality(a, k=2, device="cpu")
    room = facts["bytes"] + 34 * n + _core.cut_list_bytes(a.nnz) + (16 << 20)
    with ps.options(device_memory=room):
        for _ in range(3):
            with ps.record() as events:
                got = ps.csgraph.betweenness_centrality(a, k=2, device=0, gpu_options=PACKED)
                found = ps.csgraph.bfs(a, 3, device=0, gpu_options=PACKED)
            np.testing.assert_allclose(got, expected, rtol=1e-9)
            assert np.array_equal(found, levels)
            assert all(e["graph"]["far_bytes"] == 0 for e in events)
            assert all(e["graph"]["used_bytes"] <= room for e in events)


@pytest.mark.parametrize("name", ["pagerank", "triangles", "triangle_count"])
def test_a_graph_on_the_gpu_is_not_packed(name):
    a = named("rmat_10").to(ps.device(0))
    function = getattr(ps.csgraph, name)
    with pytest.raises(ps.PlacementError, match="host memory"):
        function(a, device=0, gpu_options=PACKED)
    expected = function(named("rmat_10"), device="cpu")
    np.testing.assert_allclose(function(a, device=0), expected, rtol=1e-4, atol=1e-5)


def test_without_room_for_the_vertices():
    a = shape("random_order")
    with ps.options(device_memory=200_000):
        with pytest.raises(MemoryError, match="raise device_memory"):
            ps.csgraph.pagerank(a, device=0, gpu_options=PACKED)
        with pytest.raises(MemoryError, match="raise device_memory"):
            ps.csgraph.betweenness_centrality(a, k=1, device=0, gpu_options=PACKED)


@pytest.mark.gpu_small
@pytest.mark.parametrize("near", NEAR)
def test_small_graphs(near):
    """Lists of one entry, of several chunks, and of pieces, for the sanitizer."""
    rng = np.random.default_rng(4)
    n = 3000
    tails = np.concatenate([np.arange(n), np.repeat([7, 90], [1100, 70])])
    heads = np.concatenate(
        [(np.arange(n) + 1) % n, rng.choice(n, 1100, False), rng.choice(n, 70, False)]
    )
    a = graph(n, tails, heads)
    for name, (function, more, vertex_bytes, lists) in ALGORITHMS.items():
        if name in ("bfs", "connected_components", "sssp"):
            continue
        expected = function(a, device="cpu", **more)
        of = lists(a) if lists else None
        if of is None:
            function(a, device=0, gpu_options=PACKED, **more)
            of = oriented(a)
        got, _ = run(a, near, of, vertex_bytes, function, **more)
        np.testing.assert_allclose(got, expected, rtol=1e-4, err_msg=name)


def itself(a):
    return a


# name -> the function, its arguments, bytes a vertex, the matrix whose lists it reads (None: oriented ones)
ALGORITHMS = {
    "bfs": (ps.csgraph.bfs, {"source": 3}, 18, itself),
    "connected_components": (ps.csgraph.connected_components, {}, 18, itself),
    "sssp": (ps.csgraph.sssp, {"source": 3}, 13, itself),
    "betweenness_centrality": (ps.csgraph.betweenness_centrality, {"k": 2}, 33, without_repeats),
    "pagerank": (ps.csgraph.pagerank, {"tol": 1e-5}, 24, incoming),
    "triangles": (ps.csgraph.triangles, {}, 24, None),
    "triangle_count": (ps.csgraph.triangle_count, {}, 24, None),
}


def gpus_of(count):
    if count > 1 and _core.device_count() < 2:
        pytest.skip("there is one GPU")
    return list(range(count))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("access", ["auto", "packed"])
@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_packed_by_access_by_algorithm_by_gpus(algorithm, near, access, count):
    """All of them: shortest paths, which run on one GPU alone, say so."""
    gpus = gpus_of(count)
    function, more, vertex_bytes, lists = ALGORITHMS[algorithm]
    a = shape("hubs")
    how = GpuOptions(access=access, placement="packed")
    expected = function(a, device="cpu", **more)
    if count > 1 and algorithm == "sssp":
        with pytest.raises(TypeError, match="is not one device: give"):
            function(a, device=gpus, gpu_options=how, **more)
        return
    if lists is None:
        function(a, device=0, gpu_options=how, **more)
    of = oriented(a) if lists is None else lists(a)
    shared = 30 * a.shape[0] if count > 1 else 0  # each GPU has arrays of all vertices besides
    limit = None if near is None else budget(of, near, vertex_bytes) + shared
    with ps.options(device_memory=limit), ps.record() as events:
        got = function(a, device=gpus if count > 1 else 0, gpu_options=how, **more)
    facts = events[-1]["graph"]
    assert facts["placement"] == "packed"
    for part, right in zip(
        got if isinstance(got, tuple) else [got],
        expected if isinstance(expected, tuple) else [expected],
        strict=True,
    ):
        tolerance = 1e-4 if algorithm in ("pagerank", "betweenness_centrality") else 0
        np.testing.assert_allclose(part, right, rtol=tolerance, err_msg=algorithm)
