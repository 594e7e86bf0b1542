"""Where betweenness, PageRank and triangles find their lists, with GPUs that are not there."""

from types import SimpleNamespace

import numpy as np
import pytest
from penstock.csgraph import GpuOptions, _gpu, _one_way, _packing, _ranks_gpu, triangle
from penstock.csgraph._graph import simple, without_repeats

import penstock as ps
from penstock import _core

BETWEEN = _core.betweenness_vertex_bytes()
# over several GPUs: for each vertex of a part, and for each of the graph
PARTS = {"betweenness_centrality": _core.betweenness_part_bytes(), "pagerank": (8, 32)}


class There:
    """A graph on a GPU, with so many bytes beside its lists."""

    def __init__(self, vertices, edges, room, placement="packed", far=0, lists=1 << 20):
        self.told = {
            "placement": placement,
            "vertices": vertices,
            "edges": edges,
            "room_bytes": room,
            "edge_bytes": lists,
            "far_bytes": far,
            "used_bytes": 0,
            "gpu": 0,
        }

    def facts(self):
        return self.told

    def packed_lists(self):
        return "the lists"


def room(a, vertex_bytes):
    """What packed lists need, those arrays included."""
    kept = _packing.packed_bytes(a) + (16 << 20) + _core.cut_list_bytes(a.nnz)
    return kept + vertex_bytes * a.shape[0] + (1 << 20)


def test_packed_where_they_fit_beside_what_the_algorithm_takes(fresh, gpus):
    fresh._derived.link_seconds = 100.0
    with ps.options(device_memory=room(fresh, BETWEEN)):
        assert _one_way.settle_one_way(fresh, [0], "auto", True, BETWEEN).placement == "packed"
        home = _one_way.settle_one_way(fresh, [0], "auto", True, BETWEEN + 8)
        assert home.placement == "packed" and "less of them packed" in home.reason
        far = _one_way.settle_one_way(fresh, [0], "auto", True, BETWEEN + 80)
        assert far.placement == "auto"  # no list would be there
        assert _one_way.settle_one_way(fresh, [0], "auto", False, BETWEEN).placement == "auto"
        assert _one_way.settle_one_way(fresh, [0], "pinned", True, BETWEEN).placement == "pinned"
        # Each list is read twice: packing pays in the first call, except where the CPU has to do it.
        fresh._derived.link_seconds = 0.0
        assert _one_way.settle_one_way(fresh, [0], "auto", True, BETWEEN).placement == "packed"
        fresh._derived.row_order = (False, False)
        assert _one_way.settle_one_way(fresh, [0], "auto", True, BETWEEN).placement == "auto"


@pytest.mark.parametrize("enough", [True, False])
def test_lists_beside_the_reversed_edges_are_taken_where_they_leave_room(fresh, gpus, enough):
    n, e, budget = fresh.shape[0], fresh.nnz, 1 << 30
    there = There(n, e, BETWEEN * n + _core.cut_list_bytes(e) - (0 if enough else 1))
    fresh._derived.gpu_graph = (0, "packed", budget // 2, 0), there
    with ps.options(device_memory=budget):
        for placement in ("auto", "packed"):
            home = _one_way.settle_one_way(fresh, [0], placement, True, BETWEEN)
            assert home.share == (2 if enough else 1)
        assert _one_way.settle_one_way(fresh, [0], "device", True, BETWEEN).share == 1
        if enough:
            assert _one_way.one_way(fresh, [0], "auto", True, BETWEEN) is there


def test_a_graph_is_placed_again_where_it_leaves_too_little(fresh, gpus, monkeypatch):
    n, e = fresh.shape[0], fresh.nnz
    made = []

    def gpu_graph(a, gpu, placement, budget, sample, packed, **more):
        made.append((placement, packed, more))
        return There(n, e, 64 * n)

    monkeypatch.setattr(_core, "gpu_graph", gpu_graph)
    with ps.options(device_memory=1 << 30):
        key = (0, "packed", 1 << 30, 0)
        fresh._derived.gpu_graph = key, There(n, e, 18 * n + _core.cut_list_bytes(e))
        _one_way.one_way(fresh, [0], "packed", True, BETWEEN)
        assert made == [("packed", "the lists", {"vertex_bytes": BETWEEN})]
        _gpu.gpu_graph(fresh, 0, "packed")  # a search takes less
        _one_way.one_way(fresh, [0], "packed", True, 48)
        assert len(made) == 1
        # No list is there that could make room.
        fresh._derived.gpu_graph = key, There(n, e, 0, lists=8)
        _one_way.one_way(fresh, [0], "packed", True, BETWEEN)
        fresh._derived.gpu_graph = (0, "pinned", 1 << 30, 0), There(n, e, 0, "pinned")
        _one_way.one_way(fresh, [0], "pinned", True, BETWEEN)
        assert len(made) == 1


def parts_there(n, edges, *rooms):
    """As There, of a graph with a part for each of these rooms."""
    there = There(n, edges, 0)
    parts = [There(-(-n // len(rooms)), -(-edges // len(rooms)), own).told for own in rooms]
    there.told["parts"] = parts
    return there


@pytest.mark.parametrize("enough", [True, False])
def test_parts_beside_the_reversed_edges_are_taken_where_they_leave_room(
    fresh, gpus, monkeypatch, enough
):
    n, e, budget = fresh.shape[0], fresh.nnz, 1 << 30
    own, shared = PARTS["pagerank"]
    needed = own * -(-n // 2) + shared * n + _core.cut_list_bytes(-(-e // 2))
    there = parts_there(n, e, needed, needed - (0 if enough else 1))
    fresh._derived.gpu_parts = ((0, 1), "packed", budget // 2, 12345), there, "cut alike"
    monkeypatch.setattr(_core, "gpu_parts", lambda *_, **__: "made anew")
    with ps.options(device_memory=budget):
        got = _one_way.one_way(fresh, [0, 1], "packed", True, 32, (own, shared))
    assert got is there if enough else got == "made anew"


def test_over_several_gpus(fresh, gpus, monkeypatch):
    n, e = fresh.shape[0], fresh.nnz
    own, shared = PARTS["betweenness_centrality"]
    needed = own * -(-n // 2) + shared * n + _core.cut_list_bytes(-(-e // 2))
    made = []

    def gpu_parts(a, where, placement, budget, like, sample, **more):
        made.append((where, placement, more))
        return parts_there(n, e, needed, needed)

    monkeypatch.setattr(_core, "gpu_parts", gpu_parts)
    with ps.options(device_memory=1 << 30):
        for rooms, again in (
            ((needed, needed), False),
            ((needed, needed - 1), True),
            ((0, needed), True),
        ):
            made.clear()
            there = parts_there(n, e, *rooms)
            fresh._derived.gpu_parts = ((0, 1), "packed", 1 << 30, None), there, None
            got = _one_way.one_way(fresh, [0, 1], "packed", True, BETWEEN, (own, shared))
            assert (got is not there) == again
            more = {"vertex_bytes": own, "shared_vertex_bytes": shared}
            assert made == ([([0, 1], "packed", more)] if again else [])
    # Half of the graph fits packed beside what the algorithm takes, and with less room it does not.
    sizes = _gpu.sizes_of_packed(fresh)
    least = -(-sizes["packed_bytes"] // 2) + needed + (16 << 20)
    asked = {"vertex_bytes": own, "shared_vertex_bytes": shared}
    for room_of_one, fits in ((least + 1, True), (least - 1, False)):
        there = _gpu.room_there(fresh, [0, 1], (room_of_one, 0), "packed", sizes, **asked)
        assert _gpu.holds(there) == fits, (room_of_one, there)
        more = {**asked, "shared_vertex_bytes": shared + 1}
        assert not _gpu.holds(
            _gpu.room_there(fresh, [0, 1], (room_of_one, 0), "packed", sizes, **more)
        )


def test_what_several_gpus_are_asked(gpus, monkeypatch):
    """Their core's functions, with the parts of the lists that each algorithm reads; one GPU in a list is one GPU."""
    rng = np.random.default_rng(4)
    a = ps.csr_array(
        (np.ones(300, bool), (rng.integers(0, 90, 300), rng.integers(0, 90, 300))), shape=(90, 90)
    )
    asked = []

    def made(kind):
        def make(core, where, placement, *rest, **more):
            asked.append((kind, core.nnz, where, placement))
            return parts_there(90, core.nnz, 1 << 20, 1 << 20)

        return make

    monkeypatch.setattr(_core, "gpu_parts", made("parts"))
    monkeypatch.setattr(_core, "gpu_graph", made("graph"))
    told = {"seconds": 0.0, "read": None}
    ranks, sums, counts = rng.random(90), rng.random(90), rng.integers(0, 9, 90)
    for name in ("pagerank_lists", "pagerank_parts"):
        monkeypatch.setattr(_core, name, lambda *_: (ranks, 3, 1e-9, True, told))
    for name in ("betweenness_gpu", "betweenness_parts"):
        left = np.zeros(0, np.int32)
        monkeypatch.setattr(
            _core, name, lambda *_, left=left, **more: (sums * more["scale"], left, told)
        )
    monkeypatch.setattr(_core, "triangles_parts", lambda *_, **__: (7, counts, told))
    monkeypatch.setattr(_core, "orient_edges_gpu", lambda *_: None)  # the CPU orients
    how = GpuOptions(placement="packed")
    graph, reads = without_repeats(a), 0
    for device, kind in (([0, 1], "parts"), ([1], "graph")):
        asked.clear()
        assert ps.csgraph.pagerank(a, device=device, gpu_options=how) is ranks
        got = ps.csgraph.betweenness_centrality(a, device=device, gpu_options=how, normalized=False)
        np.testing.assert_allclose(got, sums)
        where = device if kind == "parts" else device[0]
        wanted = [(kind, a.nnz, where, "packed"), (kind, graph.nnz, where, "packed")]
        assert asked == wanted
        reads += 2  # of three steps, beside the call itself
        assert a.T.formed()._derived.reads_of_paths == reads
    asked.clear()
    assert ps.csgraph.triangle_count(a, device=[0, 1], gpu_options=how) == 7
    assert ps.csgraph.triangles(a, device=[0, 1], gpu_options=how) is counts
    assert asked == [("parts", simple(a).nnz // 2, [0, 1], "packed")]


def test_bytes_of_the_vectors():
    some = np.ones(3)
    for arguments, expected in (
        ((None, None, None, 0.85, 1e-5, 1), 24),
        ((None, None, some, 0.85, 9e-6, 1), 32),
        ((some, None, None, 0.85, 1e-5, 1), 24),
        ((None, some, None, 0.85, 0.0, 1), 48),
    ):
        assert _ranks_gpu.vertex_bytes(arguments) == expected


def test_pagerank_takes_packed_lists_without_being_asked(fresh, gpus):
    n, e = fresh.shape[0], fresh.nnz
    arguments = (None, None, None, 0.85, 1e-5, 100)

    def chosen(a=fresh, weighted=True):
        return _ranks_gpu.chosen(a, weighted, None, None, arguments)

    enough = There(n, e, 24 * n + _core.cut_list_bytes(e))
    with ps.options(device_memory=1 << 30):
        key = (0, "packed", 1 << 30, 0)
        assert chosen() is None
        fresh._derived.gpu_graph = key, enough
        assert chosen().gpus == [0] and chosen().options.home == "packed"
        values = ps.csr_array._from_parts(n, n, fresh.indptr, fresh.indices, np.ones(e, np.float32))
        values._derived.symmetric_pattern = True
        values._derived.gpu_graph = key, enough
        assert chosen(values) is None and chosen(values, weighted=False).gpus == [0]
        for other in (There(n, e, 23 * n), There(n, e, 64 * n, far=1)):
            fresh._derived.gpu_graph = key, other
            assert chosen() is None
        fresh._derived.gpu_graph = (0, "pinned", 1 << 30, 0), There(n, e, 64 * n, "pinned")
        assert chosen() is None
    fresh._derived.gpu_graph = (0, "packed", 0, 0), enough
    assert chosen() is None  # a search would not go there either


def test_pagerank_refuses_what_lists_lack(graph, gpus):
    a = ps.csr_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
    with pytest.raises(ValueError, match="give weighted=False; or leave device out"):
        ps.csgraph.pagerank(a, device=0)
    with pytest.raises(ValueError, match="give weighted=False; or leave device out"):
        ps.csgraph.pagerank(a, device=[0, 1])
    with pytest.raises(ValueError, match="pagerank does not read sample=4"):
        ps.csgraph.pagerank(a, device=0, gpu_options=GpuOptions(sample=4))
    with pytest.raises(ValueError, match="this call runs on the CPU"):
        ps.csgraph.pagerank(a, device="cpu", gpu_options=GpuOptions(access="merged"))
    ranks, told = ps.csgraph.pagerank(a, device="cpu", return_info=True)
    assert told["vectors"] == "cpu" and np.allclose(ranks, 0.5)


def test_triangles_orient_out_of_packed_lists(gpus, monkeypatch):
    a = ps.generate.rmat(10, seed=1)
    if simple(a) is not a:
        a = simple(a)
    there, asked = There(a.shape[0], a.nnz, 0), []

    class Made:
        lists, simple = SimpleNamespace(place="pinned"), True

    def orient(graph, to_host):
        asked.append((graph, to_host))
        return Made()

    monkeypatch.setattr(_core, "orient_packed_gpu", orient)
    monkeypatch.setattr(ps.csr_array, "_wrap", lambda core: core)
    for placement in ("auto", "pinned", "packed", "device"):
        a._derived.oriented_gpu = None
        a._derived.gpu_graph = (0, "packed", 0, 0), there
        edges, lists, where = triangle._oriented_for(a, 0, placement)
        assert isinstance(edges, Made) and lists is Made.lists and where == placement
        assert asked.pop() == (there, placement in ("pinned", "packed"))
        assert triangle._oriented_for(a, 0, placement)[1] is lists and not asked
    a._derived.oriented_gpu = None
    a._derived.gpu_graph = (1, "packed", 0, 0), there  # of another GPU
    edges, _, _ = triangle._oriented_for(a, 0, "pinned")
    assert not isinstance(edges, Made) and not asked


def test_explained_where_lists_are_placed_anew(fresh, gpus):
    """Lists that are there, and leave too little for the vertices, are packed again: that takes time."""
    n, e = fresh.shape[0], fresh.nnz
    how = GpuOptions(placement="packed")
    with ps.options(device_memory=1 << 30):
        for vertex_bytes, again in ((BETWEEN, False), (18, True)):
            there = There(n, e, vertex_bytes * n + _core.cut_list_bytes(e))
            fresh._derived.gpu_graph = (0, "packed", 1 << 30, 0), there
            plan = ps.csgraph.explain(fresh, "betweenness_centrality", device=0, gpu_options=how)
            assert (plan.first_call_seconds > 0) == again


def test_explained(fresh, gpus):
    n = fresh.shape[0]
    for function, each in (("betweenness_centrality", BETWEEN), ("pagerank", 32)):
        plan = ps.csgraph.explain(fresh, function, device=0)
        assert plan.lists == "device" and plan.gpu_bytes["vertices"] == each * n
        assert plan.gpu_bytes["sample"] == 0 and plan.link_bytes == 0
        how = GpuOptions(placement="packed")
        with ps.options(device_memory=room(fresh, each) - (4 << 20)):
            plan = ps.csgraph.explain(fresh, function, device=0, gpu_options=how)
        assert plan.lists == "packed" and plan.link_bytes > 0
        assert sum(plan.gpu_bytes.values()) <= plan.budget
        assert ps.csgraph.explain(fresh, function, device="cpu").lists == "raw"
        both = ps.csgraph.explain(fresh, function, device=[0, 1])
        assert both.device == (0, 1) and both.lists == "device"
        own, shared = PARTS[function]
        assert both.gpu_bytes["vertices"] == own * -(-n // 2) + shared * n
        with pytest.raises(ValueError, match="leave lists='packed' out"):
            ps.csgraph.explain(fresh, function, device="cpu", lists="packed")
    with pytest.raises(ValueError, match="takes products, which A.explain"):
        ps.csgraph.explain(fresh, "pagerank")
