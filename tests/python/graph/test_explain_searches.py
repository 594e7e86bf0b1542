"""What searches say of themselves before they run, with GPUs that are not there."""

import json

import numpy as np
import pytest
from penstock._io._neighbours import packed_lists
from penstock._plan.report import human_bytes
from penstock.csgraph import GpuOptions, _gpu, _lists, _packing, search_plan
from penstock.csgraph._packed_paths import pack_paths_seconds, path_lists
from penstock.csgraph._search_model import kernel_seconds
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps
from penstock import _core

LINK, MEMORY = 50e9, 4e12  # of `gpus`


def test_on_the_cpu(fresh):
    plan = ps.csgraph.explain(fresh, "bfs", device="cpu")
    assert (plan.function, plan.device, plan.lists, plan.link_bytes) == ("bfs", "cpu", "raw", 0)
    assert plan.reason == "the edges are in memory" and plan.seconds > 0
    moved = {u["resource"]: u["bytes"] for u in plan.uses}
    assert moved["host memory"] == _lists.raw_bytes(fresh)
    packed = ps.csgraph.explain(fresh, "connected_components", device="cpu", lists="packed")
    assert packed.lists == "packed" and packed.first_call_seconds > 0
    assert "its lists are packed" in str(packed) and "connected_components on the CPU" in str(
        packed
    )
    assert fresh._derived.packed_lists is None  # nothing was done
    assert json.loads(json.dumps(plan.data()))["lists"] == "raw"


def test_a_mapped_graph_beyond_memory(graph, tmp_path, monkeypatch):
    graph.save(tmp_path / "g.penstock", lists=True)
    graph.save(tmp_path / "plain.penstock", lists=False)
    monkeypatch.setattr(_lists, "_available", lambda: 10 << 20)
    plan = ps.csgraph.explain(ps.open(tmp_path / "g.penstock"), "bfs")
    assert plan.lists == "packed" and "exceeds memory" in plan.reason and plan.seconds > 0
    plan = ps.csgraph.explain(ps.open(tmp_path / "plain.penstock"), "bfs")
    assert plan.lists == "raw" and plan.seconds is None and plan.binding == "the disk"
    assert "the disk, which is not measured" in str(plan) and "lists=True" in str(plan)


def test_all_on_the_gpu(fresh, gpus):
    plan = ps.csgraph.explain(fresh, "bfs", device=0)
    n = fresh.shape[0]
    assert plan.lists == "device" and plan.device == (0,) and plan.link_bytes == 0
    assert plan.reason == "the lists fit the budget as they are"
    assert plan.gpu_bytes["lists"] == 4 * fresh.nnz and plan.gpu_bytes["sample"] == 16 * n
    assert plan.most_link_bytes == 0 and "No list comes over the link." in str(plan)
    spent = {u["resource"]: u["seconds"] for u in plan.uses}
    assert spent["device memory"] == pytest.approx(sum(plan.gpu_bytes.values()) / MEMORY)
    assert plan.binding == "GPU" and plan.seconds == spent["GPU"]
    assert plan.seconds == kernel_seconds("bfs", fresh.nnz, False, MEMORY)
    assert "many levels, such as a road network, takes longer" in str(plan)
    assert plan.first_call_seconds == pytest.approx((4 * fresh.nnz + 8 * (n + 1)) / LINK)


def test_over_the_link_and_then_packed(fresh, gpus):
    with ps.options(device_memory=38_000_000):
        fresh._derived.row_order = (False, False)  # the CPU would pack them
        plan = ps.csgraph.explain(fresh, "bfs", device=0)
        assert plan.lists == "pinned" and plan.budget == 38_000_000
        assert "packed when searches have taken" in plan.reason
        assert 4 * fresh.nnz <= plan.link_bytes <= 32 * fresh.nnz
        assert plan.binding == "host link, up"
        assert plan.most_link_bytes == plan.link_bytes + fresh.nnz // 2 + (16 << 20)
        assert f"a search reads at most {human_bytes(plan.most_link_bytes)}" in str(plan)
        other = ps.csgraph.explain(fresh, "connected_components", device=0)
        assert other.link_bytes > 0 == other.most_link_bytes
        assert "a search mostly reads fewer" in str(other)
        ranks = ps.csgraph.explain(fresh, "pagerank", device=0)
        assert ranks.link_bytes > 0 and "each step reads them" in str(ranks)
        assert plan.seconds == pytest.approx(plan.link_bytes / LINK)
        fresh._derived.row_order = None
        plan = ps.csgraph.explain(fresh, "bfs", device=0)
        assert plan.lists == "packed" and plan.link_bytes == 0 and "fit it packed" in plan.reason
        assert plan.gpu_bytes["offsets"] == _gpu.sizes_of_packed(fresh)["head_bytes"]
        before = plan.gpu_bytes["lists"]
        packed_lists(fresh)
        plan = ps.csgraph.explain(fresh, "connected_components", device=0)
        assert plan.lists == "packed" and abs(plan.gpu_bytes["lists"] - before) < 0.02 * before
    with ps.options(device_memory=30_000_000):
        how = GpuOptions(placement="packed")
        plan = ps.csgraph.explain(fresh, "bfs", device=0, gpu_options=how)
        lists = packed_lists(fresh).facts()
        assert plan.link_bytes > 0 and "stay in host memory" in plan.reason
        far = lists["bytes"] - lists["head_bytes"] - plan.gpu_bytes["lists"]
        lists_there = -(-fresh.shape[0] * far // (far + plan.gpu_bytes["lists"]))
        assert plan.link_bytes == far + 56 * lists_there
        assert plan.most_link_bytes == far + 56 * fresh.shape[0] + far // 8 + (16 << 20)
        assert sum(plan.gpu_bytes.values()) <= 30_000_000


def test_decided_by_the_code_that_places(fresh, gpus, monkeypatch):
    """The same graph, budget and options: what `explain` says is what the core is asked for."""
    made = []

    class There:
        def facts(self):
            return {"placement": "none", "used_bytes": 0}

    def gpu_graph(a, gpu, placement, budget, sample, packed, **more):
        made.append((placement, budget))
        return There()

    monkeypatch.setattr(_core, "gpu_graph", gpu_graph)
    for budget, seconds in ((60e6, 0.0), (38e6, 0.0), (38e6, 100.0), (30e6, 100.0)):
        for symmetric in (True, False):
            a = ps.csr_array._wrap(fresh._core)
            a._derived.symmetric_pattern = symmetric
            a._derived.link_seconds = seconds
            if not symmetric:
                a.T.formed()
            made.clear()
            with ps.options(device_memory=int(budget)):
                plan = ps.csgraph.explain(a, "bfs", device=0)
                assert not made
                own, other = _gpu.gpu_graphs(a, 0, "auto")
            assert (own is other) == symmetric and len(made) == (1 if symmetric else 2)
            assert {b for _, b in made} == {plan.budget} == {int(budget) // len(made)}
            asked = {p for p, _ in made}
            assert asked == ({"packed"} if plan.lists == "packed" else {"auto"})
            if asked == {"auto"}:
                fits = _core.gpu_graph_fits(*a.shape[:1], a.nnz, plan.budget, 0)
                assert (plan.lists == "device") == fits


def test_shortest_paths_have_lengths(graph, gpus):
    a = ps.csr_array._from_parts(
        *graph.shape, graph.indptr, graph.indices, np.ones(graph.nnz, np.float32)
    )
    plan = ps.csgraph.explain(a, "sssp", device=0)
    assert plan.lists == "device" and plan.gpu_bytes["lists"] == 8 * a.nnz
    room = 8 * (a.shape[0] + 1) + 4 * a.nnz + _core.cut_list_bytes(a.nnz) + 34 * a.shape[0]
    with ps.options(device_memory=room):  # for edges, not for their lengths
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "packed" and "fit it packed" in plan.reason
        a._derived.row_order = (False, False)  # the CPU would have to pack them
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "pinned" and "not with their lengths" in plan.reason
        assert ps.csgraph.explain(a, "bfs", device=0).lists == "device"
    assert ps.csgraph.explain(a, "sssp", device="cpu").lists == "raw"


def weighted(graph, lengths):
    return ps.csr_array._from_parts(*graph.shape, graph.indptr, graph.indices, lengths)


def test_shortest_paths_packed_with_their_lengths(graph, gpus):
    rng = np.random.default_rng(1)
    a = weighted(graph, rng.integers(8, 73, graph.nnz).astype(np.float32))
    plain = _packing.packed_bytes(a)
    most = plain + -(-7 * a.nnz // 8)  # 8 to 72: 7 bits each
    how = GpuOptions(placement="packed")
    plan = ps.csgraph.explain(a, "sssp", device=0, gpu_options=how)
    heads = _gpu.sizes_of_packed(a)["head_bytes"]
    assert plan.lists == "packed" and plan.reason.endswith("asked for") and plan.link_bytes == 0
    assert plan.gpu_bytes["offsets"] == heads and plan.gpu_bytes["lists"] == most - heads
    # A GPU packs while columns and lengths, of a byte each, go there.
    assert plan.first_call_seconds == pytest.approx(_gpu.gpu_pack_seconds(a, 0, along=a.nnz))
    assert plan.first_call_seconds > 1.1 * _gpu.gpu_pack_seconds(a, 0)
    with ps.options(device_memory=most + 13 * a.shape[0] + (13 << 20)):
        a._derived.row_order = (False, False)  # the CPU packs such lists
        assert pack_paths_seconds(a) > _gpu.pack_seconds(a) > 0
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "pinned" and "packed when searches have taken" in plan.reason
        a._derived.link_seconds = 100.0  # of other searches
        assert ps.csgraph.explain(a, "sssp", device=0).lists == "pinned"
        a._derived.path_link_seconds = 100.0
        assert ps.csgraph.explain(a, "sssp", device=0).lists == "packed"
        a._derived.path_link_seconds, a._derived.row_order = 0.0, None
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "packed" and "fit it packed" in plan.reason
        packed = path_lists(a, weights_of(a)).facts()
        assert packed["length_bits"] == 7 and abs(packed["bytes"] - most) < 0.02 * most
        assert pack_paths_seconds(a) == 0
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.gpu_bytes["lists"] == packed["bytes"] - packed["head_bytes"]
        # A method, a policy or a cache of lists as they are leaves them so.
        for other in ({"method": "bellman_ford"}, {"access": "merged"}, {"cache": "1MB"}):
            plan = ps.csgraph.explain(a, "sssp", device=0, gpu_options=GpuOptions(**other))
            assert plan.lists == "pinned", other
        b = weighted(graph, np.asarray(a.data) + 0.5)
        b._derived.path_link_seconds = 100.0
        plan = ps.csgraph.explain(b, "sssp", device=0)
        assert plan.lists == "pinned" and "cannot be packed" in plan.reason
    with ps.options(device_memory=most // 2):
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "pinned" and "exceed the budget, too" in plan.reason
    with ps.options(device_memory=most + 9 * a.shape[0] + (9 << 20)):  # for three quarters of them
        plan = ps.csgraph.explain(a, "sssp", device=0)
        assert plan.lists == "packed" and "less of them packed" in plan.reason
        assert plan.link_bytes > 0
    plan = ps.csgraph.explain(a, "sssp", device=0)
    assert plan.lists == "device"  # there is room for all


@pytest.mark.parametrize(
    ("lengths", "said"),
    [
        ([0.5, 3.0], "are 0.5 to 3, some with fractions"),
        ([1.0, np.inf], "some with fractions, infinite"),
        ([1.0, 65537.0], "are 1 to 65537: choose another placement than"),
    ],
)
def test_lengths_that_cannot_be_packed(graph, gpus, lengths, said):
    a = weighted(graph, np.resize(np.array(lengths), graph.nnz))
    how = GpuOptions(placement="packed")
    with pytest.raises(ValueError, match=said):
        ps.csgraph.explain(a, "sssp", device=0, gpu_options=how)
    with pytest.raises(ValueError, match=said):
        path_lists(a, weights_of(a))
    assert a._derived.packed_lists is None  # found out before anything is packed


def test_patterns_and_equal_lengths_take_no_bits(graph):
    assert path_lists(graph, weights_of(graph)) is packed_lists(graph)
    a = weighted(graph, np.full(graph.nnz, 3.0))
    told = path_lists(a, weights_of(a)).facts()
    assert told["lengths"] and told["length_bits"] == 0
    assert told["bytes"] == packed_lists(a).facts()["bytes"]
    with pytest.raises(ValueError, match="no form in files"):
        path_lists(a, weights_of(a)).to_arrays()


def test_several_gpus_divide_the_vertices(fresh, gpus):
    plan = ps.csgraph.explain(fresh, "bfs", device=[0, 1])
    assert plan.device == (0, 1) and plan.lists == "device"
    assert plan.gpu_bytes["lists"] == 4 * -(-fresh.nnz // 2)
    assert "GPU 0 and GPU 1" in str(plan) and "Each GPU takes" in str(plan)


def test_each_of_several_gpus_packs_a_range(fresh, gpus):
    packed = GpuOptions(placement="packed")
    one = ps.csgraph.explain(fresh, "bfs", device=0, gpu_options=packed)
    two = ps.csgraph.explain(fresh, "bfs", device=[0, 1], gpu_options=packed)
    assert two.lists == "packed" and two.link_bytes == 0
    assert two.gpu_bytes["lists"] == pytest.approx(one.gpu_bytes["lists"] / 2, rel=0.01)


def test_refusals(fresh, gpus):
    explain = ps.csgraph.explain
    with pytest.raises(ValueError, match="function='triangles' is unknown: choose one of bfs"):
        explain(fresh, "triangles")
    with pytest.raises(ValueError, match="bfs does not read cache='1GB'|does not read cache"):
        explain(fresh, "bfs", device=0, gpu_options=GpuOptions(cache="1GB"))
    with pytest.raises(ValueError, match="sssp reads the lists of A as they are"):
        explain(fresh, "sssp", device="cpu", lists="packed")
    with pytest.raises(ValueError, match="packed lists are not cached, so cache=1000000"):
        explain(fresh, "sssp", device=0, gpu_options=GpuOptions(placement="packed", cache="1MB"))
    for wanted in ([0, 1], [0]):  # as the function
        with pytest.raises(TypeError, match="is not one device"):
            explain(fresh, "sssp", device=wanted)
    with pytest.raises(ValueError, match="lists='packed' is for the CPU"):
        explain(fresh, "bfs", device=0, lists="packed")


FAULTY = {
    "negative": [1.0, -2.0],
    "nan": [1.0, np.nan],
    "infinite": [1.0, np.inf],
    "complex": [1 + 1j, 2],
    "float32": np.float32([1, -1]),
    "sound": [1.0, 2.0],
    "pattern": [True],
}


def raised(call):
    try:
        call()
    except (ValueError, TypeError) as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("function", search_plan.FUNCTIONS)
def test_raises_what_the_function_raises(function):
    search, explain = getattr(ps.csgraph, function), ps.csgraph.explain
    rng = np.random.default_rng(3)
    for name, values in FAULTY.items():
        a = ps.csr_array((np.resize(values, 60), rng.integers(0, 30, (2, 60))), shape=(30, 30))
        told = raised(lambda a=a: explain(a, function, device="cpu"))
        assert told == raised(lambda a=a: search(a, device="cpu")), name
        faulty = {
            "sssp": "negative nan complex float32",
            "pagerank": "negative nan infinite complex float32",
        }
        assert (told is not None) == (name in faulty.get(function, "").split()), (name, told)
    for shape in ((0, 0), (2, 3)):
        a = ps.csr_array(shape)
        told = raised(lambda a=a: explain(a, function, device="cpu"))
        assert told == raised(lambda a=a: search(a, device="cpu"))


def test_a_budget_that_is_exceeded(fresh, gpus):
    with ps.options(device_memory=1_000_000):
        plan = ps.csgraph.explain(fresh, "bfs", device=0)
    assert sum(plan.gpu_bytes.values()) > plan.budget == 1_000_000
    assert "This exceeds the budget: expect MemoryError, or allow more device_memory." in str(plan)
    assert "exceeds the budget:" not in str(ps.csgraph.explain(fresh, "bfs", device=0))


def test_values_on_a_gpu(graph, gpus):
    a = weighted(graph, np.where(np.arange(graph.nnz) == 7, -1.0, 1.0))
    for how in (None, GpuOptions(placement="pinned"), GpuOptions(method="bellman_ford")):
        with pytest.raises(ValueError, match="edge 0 -> .* weight -1|negative"):
            ps.csgraph.explain(a, "sssp", device=0, gpu_options=how)
    with pytest.raises(ValueError, match="reads neighbour lists, without weights"):
        ps.csgraph.explain(a, "pagerank", device=0)
