"""Other algorithms read the packed lists that shortest paths have placed, and step over the lengths."""

import numpy as np
import pytest
from penstock.csgraph import GpuOptions, _packing
from penstock.csgraph._graph import simple

import penstock as ps

pytestmark = pytest.mark.gpu
PACKED = GpuOptions(placement="packed")


def with_lengths(a, most):
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)).astype(np.int64)
    low, high = np.minimum(rows, a.indices), np.maximum(rows, a.indices)
    lengths = (8 + (low * 31 + high * 17) % most).astype(np.float32)
    b = ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, lengths)
    b._derived.symmetric_pattern = True
    return b


@pytest.mark.parametrize("most", [1, 65, 60_000])  # with more searches, packing anew would pay
def test_searches_after_shortest_paths(most):
    a = with_lengths(simple(ps.generate.lift(ps.generate.rmat(12, seed=3), 20, seed=1)), most)
    cpu = {
        "sssp": ps.csgraph.sssp(a, 5, device="cpu"),
        "bfs": ps.csgraph.bfs(a, 5, device="cpu"),
        "parts": ps.csgraph.connected_components(a, device="cpu")[1],
        "central": ps.csgraph.betweenness_centrality(a, k=2, device="cpu"),
    }
    assert np.array_equal(ps.csgraph.sssp(a, 5, device=0, gpu_options=PACKED), cpu["sssp"])
    there = a._derived.gpu_graph[1]
    assert there.facts()["lengths"] and there.facts()["far_bytes"] == 0
    for how in (PACKED, None):
        assert np.array_equal(ps.csgraph.bfs(a, 5, device=0, gpu_options=how), cpu["bfs"])
        levels, tree = ps.csgraph.bfs(a, 7, device=0, return_predecessors=True, gpu_options=how)
        ps.csgraph.verify_bfs(a, 7, levels, tree)
        labels = ps.csgraph.connected_components(a, device=0, gpu_options=how)[1]
        assert np.array_equal(labels, cpu["parts"])
        assert a._derived.gpu_graph[1] is there
    got = ps.csgraph.betweenness_centrality(a, k=2, device=0, gpu_options=PACKED)
    np.testing.assert_allclose(got, cpu["central"], rtol=1e-9)
    assert a._derived.gpu_graph[1] is there
    assert np.array_equal(ps.csgraph.sssp(a, 5, device=0, gpu_options=PACKED), cpu["sssp"])
    assert a._derived.gpu_graph[1] is there


def test_oriented_lists_are_in_the_account_as_long_as_they_live():
    a = simple(ps.generate.rmat(17, seed=5))
    expected = ps.csgraph.triangle_count(a, device="cpu")
    levels = ps.csgraph.bfs(a, 5, device="cpu")
    room = 2 * _packing.packed_bytes(a) + 4 * a.nnz + 80 * a.shape[0] + (64 << 20)
    with ps.options(device_memory=room):
        assert np.array_equal(ps.csgraph.bfs(a, 5, device=0, gpu_options=PACKED), levels)
        there = a._derived.gpu_graph[1]
        before = there.facts()
        assert before["aside_bytes"] == 0
        assert ps.csgraph.triangle_count(a, device=0) == expected
        held, lists = there.facts(), a._derived.oriented_gpu[2]
        assert lists.place == "device"
        assert held["aside_bytes"] >= 4 * lists.nnz + 8 * (a.shape[0] + 1)
        assert held["room_bytes"] == before["room_bytes"] - held["aside_bytes"]
        assert held["used_bytes"] <= held["budget"]
        assert np.array_equal(ps.csgraph.bfs(a, 5, device=0, gpu_options=PACKED), levels)
        assert a._derived.gpu_graph[1] is there
        del lists
        a._derived.oriented_gpu = None
        assert there.facts()["aside_bytes"] == 0
