"""Searches of packed lists on a GPU against those of the CPU."""

import numpy as np
import pytest
from graphs import NAMES, graph, named, sources
from odd_graphs import ODD, shape
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
LEAN = _core.search_vertex_bytes(False)


def budgets(a):
    """Everything near; about half of the lists; none of them."""
    n, facts = a.shape[0], packed_lists(a).facts()
    fixed = facts["head_bytes"] + LEAN * n + (16 << 20) + (1 << 12)
    return [None, fixed + facts["list_bytes"] // 2, fixed]


@pytest.mark.parametrize("name", [*NAMES, *ODD])
@pytest.mark.parametrize("near", [0, 1, 2])
def test_searches_of_every_shape(name, near):
    a = shape(name)
    with ps.options(device_memory=budgets(a)[near]):
        for source in sources(a, 2):
            levels = ps.csgraph.bfs(a, source, device="cpu")
            for how in (
                {},
                {"sample": 0},
                {"method": "top_down"},
                {"sample": 0, "method": "top_down"},
                {"counted": True},
            ):
                with ps.record() as events:
                    got, tree = ps.csgraph.bfs(
                        a, source, device=0, return_predecessors=True,
                        gpu_options=GpuOptions(placement="packed", **how),
                    )  # fmt: skip
                assert np.array_equal(got, levels), (name, source, how, events[-1]["steps"])
                ps.csgraph.verify_bfs(a, source, got, tree)
                facts = events[-1]["graph"]
                assert facts["placement"] == "packed" and facts["used_bytes"] <= facts["budget"]
                if how == {"counted": True}:
                    assert (events[-1]["read"]["bytes"] > 0) <= (facts["far_bytes"] > 0)


@pytest.mark.parametrize("name", [*NAMES, *ODD])
@pytest.mark.parametrize("near", [0, 2])
def test_level_synchronous_searches(name, near):
    if name == "path":
        pytest.skip("100000 launches over all vertices: the grid has levels enough")
    a = shape(name)
    with ps.options(device_memory=budgets(a)[near]):
        on = GpuOptions(placement="packed", method="level_synchronous", counted=True)
        got = ps.csgraph.bfs(a, 0, device=0, gpu_options=on)
        assert np.array_equal(got, ps.csgraph.bfs(a, 0, device="cpu"))


@pytest.mark.parametrize("name", [*NAMES, *ODD])
@pytest.mark.parametrize("near", [0, 1, 2])
@pytest.mark.parametrize("method", ["auto", "label_propagation"])
def test_components_of_every_shape(name, near, method):
    if method == "label_propagation" and name in (
        "path",
        "ring",
        "grid",
        "caterpillar",
        "directed_chain",
    ):
        pytest.skip("as many rounds as its paths are long")
    a = shape(name)
    expected = ps.csgraph.connected_components(a, device="cpu")
    with ps.options(device_memory=budgets(a)[near]):
        for counted in (False, True):
            on = GpuOptions(placement="packed", method=method, counted=counted)
            count, labels = ps.csgraph.connected_components(a, device=0, gpu_options=on)
            assert count == expected[0] and np.array_equal(labels, expected[1]), (name, counted)


@pytest.mark.gpu_small
@pytest.mark.parametrize("near", [0, 1, 2])
def test_small_graphs(near):
    """Lists of one entry, of several chunks, and of pieces, for the sanitizer."""
    rng = np.random.default_rng(4)
    n = 3000
    tails = np.concatenate([np.arange(n), np.repeat([7, 90], [1100, 70])])
    heads = np.concatenate(
        [(np.arange(n) + 1) % n, rng.choice(n, 1100, False), rng.choice(n, 70, False)]
    )
    a = graph(n, tails, heads)
    levels = ps.csgraph.bfs(a, 3, device="cpu")
    labels = ps.csgraph.connected_components(a, device="cpu")
    with ps.options(device_memory=budgets(a)[near]):
        for sample in (0, 4):
            how = GpuOptions(placement="packed", sample=sample)
            got = ps.csgraph.bfs(a, 3, device=0, gpu_options=how)
            assert np.array_equal(got, levels)
            found = ps.csgraph.connected_components(a, device=0, gpu_options=how)
            assert found[0] == labels[0] and np.array_equal(found[1], labels[1])


def test_reading_everything_reads_no_more_than_the_lists():
    """A level-synchronous search walks each far list once: sectors of 32 bytes, of which lists share some."""
    a = named("rmat_16")
    with ps.options(device_memory=budgets(a)[2]), ps.record() as events:
        on = GpuOptions(placement="packed", method="level_synchronous", counted=True)
        levels = ps.csgraph.bfs(a, int(np.argmax(np.diff(a.indptr))), device=0, gpu_options=on)
    event = events[-1]
    assert event["graph"]["far_bytes"] > 0.9 * packed_lists(a).facts()["list_bytes"]
    lists = int(((levels >= 0) & (np.diff(a.indptr) > 0)).sum())
    assert (
        event["read"]["bytes"] <= event["graph"]["far_bytes"] + 2 * 32 * lists + 32 * a.nnz / 1024
    )
    assert event["read"]["bytes"] >= 0.8 * event["graph"]["far_bytes"]


def test_refusals():
    a = named("rmat_10")
    there = _core.gpu_graph(a._core, 0, "packed", 0, None, packed_lists(a))
    with pytest.raises(ValueError, match="leave access out"):
        _core.bfs_gpu(there, there, 0, access="merged")
    other = packed_lists(named("grid"))
    with pytest.raises(ValueError, match="the packed lists are of 90000 vertices"):
        _core.gpu_graph(a._core, 0, "packed", 0, None, other)


def test_many_sources_and_access_alone():
    a = named("rmat_10")
    expected = ps.csgraph.bfs(a, sources=[0, 5, 9], device="cpu")
    got = ps.csgraph.bfs(a, sources=[0, 5, 9], device=0, gpu_options=GpuOptions(access="packed"))
    assert np.array_equal(got, expected)


def test_a_graph_is_packed_when_its_searches_have_paid_for_it():
    a = ps.generate.rmat(20, seed=9).to(ps.pinned)
    budget = 100_000_000  # 168 MB as they are, 87 MB packed
    levels = ps.csgraph.bfs(a, 1, device="cpu")
    with ps.options(device_memory=budget), ps.record() as events:
        for _ in range(2):  # the second one makes the sample that later ones need
            ps.csgraph.bfs(a, 1, device=0, gpu_options=GpuOptions(placement="pinned"))
        for seconds in (0.0, 100.0):
            a._derived.link_seconds = seconds
            assert np.array_equal(ps.csgraph.bfs(a, 1, device=0), levels)
        assert np.array_equal(ps.csgraph.bfs(a, 1, device=0), levels)
        assert np.array_equal(ps.csgraph.bfs(a, sources=[1], device=0)[0], levels)
    assert [e["graph"]["placement"] for e in events] == ["pinned"] * 3 + ["packed"] * 3
