"""Searches of one graph in turns within a tight budget: what one keeps makes room for the next."""

import numpy as np
import pytest
from graphs import sources
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
PINNED = GpuOptions(placement="pinned")


def a_graph(scale=15):
    """Of scale 19 where shortest paths take part: their small windows take 9 MB of any graph."""
    a = ps.generate.rmat(scale, seed=2)
    a._derived.symmetric_pattern = True
    return a


def budget(a, vertex_bytes):
    return (8 + vertex_bytes) * a.shape[0] + _core.cut_list_bytes(a.nnz) + (1 << 14)


@pytest.mark.parametrize("vertex_bytes", [34.5, 38, 47])
def test_a_second_search_has_a_sample(vertex_bytes):
    """The arrays of the vertices are there when it asks for a better one: they count once."""
    a = a_graph()
    with ps.options(device_memory=int(budget(a, vertex_bytes))):
        for search, kind in enumerate(["first", "highest_degree", "highest_degree"]):
            with ps.record() as events:
                levels = ps.csgraph.bfs(a, 5, device=0, gpu_options=PINNED)
            facts = events[-1]["graph"]
            assert facts["sample_size"] == 4 and facts["sample_kind"] == kind, (search, facts)
            assert facts["used_bytes"] <= facts["budget"]
        assert np.array_equal(levels, ps.csgraph.bfs(a, 5, device="cpu"))


def test_a_sample_comes_when_there_is_room_for_it():
    """The memory of other searches goes first."""
    a = a_graph()
    with ps.options(device_memory=int(budget(a, 44))):
        ps.csgraph.bfs(
            a, sources=[1, 2, 3], device=0, gpu_options=GpuOptions(placement="pinned", sample=0)
        )
        for _ in range(2):
            with ps.record() as events:
                ps.csgraph.bfs(a, 5, device=0, gpu_options=PINNED)
        assert events[-1]["graph"]["sample_size"] == 4, events[-1]["graph"]


@pytest.mark.parametrize("rows", [1, 6, 40])
def test_many_searches_leave_room_for_the_next(rows):
    a = a_graph(19)
    roots = np.asarray(sources(a, 60))[:64]
    expected = ps.csgraph.bfs(a, 5, device="cpu")
    with ps.options(device_memory=int(budget(a, 52 + 4 * rows))):
        for _ in range(2):
            many = ps.csgraph.bfs(a, sources=roots, device=0, gpu_options=PINNED)
            levels, tree = ps.csgraph.bfs(
                a, 5, device=0, return_predecessors=True, gpu_options=PINNED
            )
            assert np.array_equal(levels, expected)
            ps.csgraph.verify_bfs(a, 5, levels, tree)
            count, _ = ps.csgraph.connected_components(a, device=0, gpu_options=PINNED)
            found = ps.csgraph.sssp(a, 5, device=0, gpu_options=PINNED)
            assert count == ps.csgraph.connected_components(a, device="cpu")[0]
            assert np.array_equal(found, ps.csgraph.sssp(a, 5, device="cpu"))
        for row, root in list(zip(many, roots, strict=True))[::10]:
            assert np.array_equal(row, ps.csgraph.bfs(a, int(root), device="cpu"))
        facts = a._derived.gpu_graph[1].facts()
        assert facts["used_bytes"] <= facts["budget"]


def test_a_search_that_fails_takes_nothing():
    a = a_graph()
    with ps.options(device_memory=16 * a.shape[0]):
        taken = set()
        for _ in range(3):
            with pytest.raises(MemoryError, match="raise device_memory"):
                ps.csgraph.bfs(a, 5, device=0, gpu_options=PINNED)
            taken.add(a._derived.gpu_graph[1].facts()["used_bytes"])
        assert len(taken) == 1 and taken.pop() < 9 * a.shape[0]


def test_weights_leave_the_account_with_the_search_that_placed_them():
    a = a_graph(19)
    weights = np.random.default_rng(3).integers(1, 100, a.nnz).astype(np.float32)
    w = ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, weights)
    w._derived.symmetric_pattern = True
    how = GpuOptions(placement="device")
    expected = ps.csgraph.sssp(w, 3, device="cpu")
    with ps.options(device_memory=int(5 * a.nnz + budget(a, 60))):
        edges = set()
        for _ in range(3):
            assert np.array_equal(ps.csgraph.sssp(w, 3, device=0, gpu_options=how), expected)
            facts = w._derived.gpu_graph[1].facts()
            edges.add(facts["edge_bytes"])
            assert facts["used_bytes"] <= facts["budget"]
            ps.csgraph.bfs(w, sources=[1, 2], device=0, gpu_options=how)  # takes its place
            assert w._derived.gpu_graph[1].facts()["edge_bytes"] == 4 * a.nnz
        assert len(edges) == 1 and edges.pop() > 4 * a.nnz


def test_shortest_paths_take_the_room_of_what_searches_keep():
    """Weights with fractions take as much as the lists; the sample and the arrays of BFS give way, on every call."""
    a = a_graph(19)
    weights = np.random.default_rng(3).random(a.nnz, np.float32) + 0.5
    w = ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, weights)
    w._derived.symmetric_pattern = True
    how = GpuOptions(placement="device")
    expected = ps.csgraph.sssp(w, 3, device="cpu")
    levels = ps.csgraph.bfs(w, 3, device="cpu")
    with ps.options(device_memory=int(8 * a.nnz + budget(a, 44))):
        for _ in range(2):
            assert np.array_equal(ps.csgraph.bfs(w, 3, device=0, gpu_options=how), levels)
            found, tree = ps.csgraph.sssp(w, 3, device=0, return_predecessors=True, gpu_options=how)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
            facts = w._derived.gpu_graph[1].facts()
            assert facts["placement"] == "device" and facts["used_bytes"] <= facts["budget"]
            ps.csgraph.verify_sssp(w, 3, found, tree)
