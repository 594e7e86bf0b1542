"""Algorithms that read the packed lists of shortest paths, with GPUs that are not there."""

import numpy as np
import pytest
from penstock.csgraph import _gpu, _packing
from penstock.csgraph._packed_paths import lists_for_gpu, sizes_of_packed_paths
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps
from penstock import _core


class Placed:
    """What a GPU tells of lists that it has: `options` are those that the core was asked with."""

    def __init__(self, graph, budget, sizes, lengths=True):
        n = graph.shape[0]
        self.told = {
            "placement": "packed",
            "vertices": n,
            "edges": graph.nnz,
            "packed_bytes": sizes["packed_bytes"],
            "offset_bytes": sizes["head_bytes"],
            "edge_bytes": sizes["packed_bytes"] - sizes["head_bytes"],
            "far_bytes": 0,
            "aside_bytes": 0,
            "lasting_bytes": 0,
            "used_bytes": sizes["packed_bytes"],
            "budget": budget,
            "lengths": lengths,
            "gpu": 0,
        }

    def facts(self):
        return self.told


class Asked(list):
    """Of each call: where, the budget, whether with lengths; and what else it was asked."""

    def __init__(self):
        super().__init__()
        self.more = []


@pytest.fixture
def made(graph, gpus, monkeypatch):
    """(a graph with lengths, what the core was asked to place): lists with lengths are on GPU 0."""
    lengths = np.random.default_rng(1).integers(8, 73, graph.nnz).astype(np.float32)
    a = ps.csr_array._from_parts(*graph.shape, graph.indptr, graph.indices, lengths)
    a._derived.symmetric_pattern = True
    asked = Asked()

    def gpu_graph(core, gpu, placement, budget, sample, packed, **more):
        asked.append((placement, budget, "weights" in more))
        asked.more.append(more)
        sizes = _packing.sizes_of_packed(a)
        if "weights" in more:
            sizes = sizes_of_packed_paths(a, weights_of(a))
        return Placed(a, budget, sizes, lengths="weights" in more)

    monkeypatch.setattr(_core, "gpu_graph", gpu_graph)
    return a, asked


BUDGET = 60_000_000


def place_paths(a, **how):
    return _gpu.gpu_graph(a, 0, "packed", paths=lists_for_gpu(a, weights_of(a)), **how)


def test_room_for_predecessors_and_wide_distances(made):
    """Lists that leave less are placed anew; those that leave more stay."""
    a, asked = made
    with ps.options(device_memory=BUDGET):
        lean = place_paths(a)
        assert place_paths(a) is lean and _gpu.knows_gpu_graph(a, [0], "packed", distance_bytes=4)
        roomy = place_paths(a, predecessors=True)
        assert roomy is not lean
        assert place_paths(a) is roomy and place_paths(a, predecessors=True) is roomy
        assert not _gpu.knows_gpu_graph(a, [0], "packed", distance_bytes=8)
        wide = place_paths(a, distance_bytes=8)
        assert wide is not roomy and _gpu.knows_gpu_graph(a, [0], "packed", distance_bytes=8)
        assert place_paths(a, distance_bytes=8, predecessors=True) is not wide
    names = "distance_bytes", "predecessors"
    said = [tuple(more[name] for name in names) for more in asked.more]
    assert said == [(4, False), (4, True), (8, False), (8, True)] and len(asked) == 4


@pytest.mark.parametrize("home", ["auto", "packed"])
def test_searches_read_them(made, home):
    a, asked = made
    with ps.options(device_memory=BUDGET):
        there = place_paths(a)
        plan = ps.csgraph.explain(a, "bfs", device=0)
        assert plan.lists == "packed" and plan.first_call_seconds == 0
        assert "shortest paths have placed them" in plan.reason
        assert sum(plan.gpu_bytes[k] for k in ("offsets", "lists")) == there.told["packed_bytes"]
        own, other = _gpu.gpu_graphs(a, 0, home)
        assert own is other is there and asked == [("packed", BUDGET, True)]
        assert place_paths(a) is there and len(asked) == 1
    with ps.options(device_memory=BUDGET + 1):  # another budget, other lists
        assert _gpu.lists_of_paths(a, 0, "packed", 1) is None


def test_where_they_would_not_pay(made, monkeypatch):
    a, asked = made
    with ps.options(device_memory=BUDGET):
        there = place_paths(a)
        assert _gpu.lists_of_paths(a, 0, "packed", 1) is there
        assert _gpu.lists_of_paths(a, 0, "pinned", 1) is None
        assert _gpu.lists_of_paths(a, 1, "packed", 1) is None
        assert _gpu.lists_of_paths(a, 0, "packed", 2) is None  # beside the reversed edges
        vertex = (BUDGET - there.told["packed_bytes"]) // a.shape[0]
        assert _gpu.lists_of_paths(a, 0, "packed", 1, vertex + 1) is None  # no room for these
        there.told["lasting_bytes"] = BUDGET - there.told["packed_bytes"] - 30 * a.shape[0]
        assert _gpu.lists_of_paths(a, 0, "packed", 1) is None  # others hold what a search takes
        there.told["lasting_bytes"] = 0
        there.told["far_bytes"] = 1000
        assert _gpu.lists_of_paths(a, 0, "packed", 1) is None
        there.told["far_bytes"] = 0
        # What lengths cost each search, against packing once.
        each = weights_of(a).packed_bits * a.nnz / 8 / (8 * _gpu.link_up(0))
        enough = int(_gpu.gpu_pack_seconds(a, 0) / each) + 1
        found = [_gpu.gpu_graph(a, 0, "packed") for _ in range(enough)]
        assert all(one is there for one in found)
        assert _gpu.gpu_graph(a, 0, "packed") is not there
        assert asked == [("packed", BUDGET, True), ("packed", BUDGET, False)]
        place_paths(a)
        assert asked[2] == ("packed", BUDGET, True) and a._derived.reads_of_paths == 0


@pytest.mark.usefixtures("made")
def test_a_pattern_has_no_lengths_to_step_over(graph):
    a = ps.csr_array._wrap(graph._core)
    a._derived.symmetric_pattern = True
    with ps.options(device_memory=BUDGET):
        there = place_paths(a)
        there.told["lengths"] = False
        for _ in range(1000):
            assert _gpu.gpu_graph(a, 0, "packed") is there
