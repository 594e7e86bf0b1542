"""Lists that the GPU packs while the matrix comes over the link: the words of the CPU, and what searches find."""

import numpy as np
import pytest
from packed_shapes import GRAPHS, PACKABLE, pattern, same_bits, with_lengths
from penstock.csgraph import GpuOptions
from penstock.csgraph.shortest_paths import weights_of

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

PACKED = GpuOptions(placement="packed")
LEAN = _core.search_vertex_bytes(False)


def packed_there(a, piece_bytes=0, budget=0, **more):
    return _core.gpu_graph(
        a._core, 0, "packed", budget, piece_bytes=piece_bytes, vertex_bytes=LEAN, **more
    )


def by_the_gpu(a, piece_bytes=0):
    there = packed_there(a, piece_bytes)
    facts = there.facts()
    assert facts["packed_by"] == "gpu" and facts["far_bytes"] == 0, facts
    assert facts["used_bytes"] <= facts["budget"] and facts["pack_seconds"] > 0
    assert facts["pack_link_bytes"] >= 4 * a.nnz
    found = there.packed_lists()
    assert found.facts()["bytes"] == facts["packed_bytes"]
    same_bits(a, found)
    return facts


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("piece", [4, 40_000, 0])
def test_the_same_bits(name, piece):
    by_the_gpu(GRAPHS[name](), piece)


@pytest.mark.gpu_small
@pytest.mark.parametrize("name", ["lengths", "lengths with repeats", "a vertex more"])
def test_small_ones(name):
    by_the_gpu(GRAPHS[name](), 4)


@pytest.mark.parametrize("place", ["host", "pinned"])
def test_a_large_graph(place):
    """Several pieces of the usual size, whose pages are locked one after the other, or are."""
    a = ps.generate.lift(ps.generate.rmat(14, seed=1), 120, seed=2)
    assert a.nnz > 24 << 20
    facts = by_the_gpu(a if place == "host" else a.to("pinned"))
    assert facts["pack_link_bytes"] == 4 * a.nnz + 2 * a.shape[0]


@pytest.mark.parametrize("vertex", [64, 300_200, 599_900])
def test_a_column_twice_that_no_sample_sees(vertex):
    n = 600_000
    rows = np.sort(np.append(np.arange(n), vertex))
    facts = by_the_gpu(pattern(n, rows, np.minimum(rows + 1, n - 1)), 100_000)
    assert facts["pack_link_bytes"] > 1.02 * (4 + 2) * n  # some of them twice


def test_what_the_cpu_packs():
    rng = np.random.default_rng(7)
    rows, cols = rng.integers(0, 3000, (2, 9000))
    unsorted = pattern(3000, rows, cols, ascending=False)
    there = packed_there(unsorted)
    assert there.facts()["packed_by"] == "cpu"
    assert there.packed_lists().facts()["sorted"] is False


FAR = ["lengths", "lengths with repeats", "rmat", "lift"]


@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("near", [0.3, 0.8])
@pytest.mark.parametrize("piece", [4, 40_000, 0])
def test_lists_that_exceed_the_budget(name, near, piece):
    """What has no room goes back to the host, packed; searches find the same."""
    a = GRAPHS[name]()
    n, want = a.shape[0], _core.pack_lists(a._core)
    lists = want.facts()
    fixed = lists["head_bytes"] + LEAN * n + (16 << 20) + _core.cut_list_bytes(a.nnz)
    budget = fixed + int(near * lists["list_bytes"])
    there = packed_there(a, piece, budget)
    facts = there.facts()
    assert facts["used_bytes"] <= facts["budget"] == budget
    assert there.packed_lists().same(want)
    long_lists = max(np.diff(a.indptr)) > 1022  # they stay on the GPU, or the CPU packs
    assert facts["packed_by"] == "gpu" or long_lists, facts
    assert 0 < facts["far_bytes"] < lists["list_bytes"], facts
    again = _core.gpu_graph(
        a._core, 0, "packed", budget, None, there.packed_lists(), vertex_bytes=LEAN
    )
    assert again.facts()["packed_by"] is None
    how = GpuOptions(placement="packed")
    with ps.options(device_memory=budget):
        for start in (0, int(np.argmax(np.diff(a.indptr)))):
            for _ in range(3):  # the second one makes the best sample, if it has room
                levels = ps.csgraph.bfs(a, start, device=0, gpu_options=how)
                assert np.array_equal(levels, ps.csgraph.bfs(a, start, device="cpu"))
        want = ps.csgraph.connected_components(a, device="cpu")
        # Without a sample, later ones read links that the first one kept.
        for slots, counted in ((4, False), (0, False), (0, False), (0, True)):
            on = GpuOptions(placement="packed", sample=slots, counted=counted)
            with ps.record() as told:
                count, labels = ps.csgraph.connected_components(a, device=0, gpu_options=on)
            assert count == want[0] and np.array_equal(labels, want[1])
        assert told[-1]["graph"]["far_bytes"] > 0
        assert told[-1]["graph"]["used_bytes"] <= budget


@pytest.mark.parametrize("spare", [0, 1 << 14, 1 << 18])
def test_lists_that_just_fit_are_packed_in_one_pass(spare):
    """The room is less than what a sample promises and its spare, which is not given back by a copy."""
    a = ps.generate.lift(ps.generate.rmat(12, edge_factor=30, seed=3), 12, seed=1)
    n, lists = a.shape[0], _core.pack_lists(a._core).facts()
    fixed = lists["head_bytes"] + LEAN * n + (16 << 20) + _core.cut_list_bytes(a.nnz)
    budget = fixed + int(1.01 * lists["list_bytes"]) + spare
    facts = packed_there(a, 0, budget, list_sample=_core.sample_lists(a._core)).facts()
    assert facts["packed_by"] == "gpu" and facts["far_bytes"] == 0
    assert facts["pack_link_bytes"] <= 4 * a.nnz + 8 * (n + 1), "the lists have travelled twice"


def test_predecessors_take_the_room_of_lists():
    """Searches without leave no room for them; one with them keeps fewer lists there, and so do later ones. The graph
    has so many vertices that they do not fit what is left for counters and pages."""
    a = ps.generate.lift(ps.generate.rmat(12, edge_factor=4, seed=3), 1000, seed=1)
    a._derived.symmetric_pattern = True
    n, lists = a.shape[0], _core.pack_lists(a._core).facts()
    fixed = lists["head_bytes"] + LEAN * n + (16 << 20) + _core.cut_list_bytes(a.nnz)
    start = int(np.argmax(np.diff(a.indptr)))
    want, tree = ps.csgraph.bfs(a, start, return_predecessors=True, device="cpu")
    far = []
    with ps.options(device_memory=fixed + int(1.01 * lists["list_bytes"])):
        for trees in (False, True, False):
            with ps.record() as told:
                got = ps.csgraph.bfs(
                    a, start, device=0, return_predecessors=trees, gpu_options=PACKED
                )
            far.append(told[-1]["graph"]["far_bytes"])
            assert told[-1]["graph"]["used_bytes"] <= told[-1]["graph"]["budget"]
            assert np.array_equal(got[0] if trees else got, want)
            if trees:
                reached = np.flatnonzero(tree >= 0)
                assert np.array_equal(want[got[1][reached]] + 1, want[reached])
    assert far[0] == 0 < far[1] == far[2]


def test_room_for_a_sample_beside_far_lists():
    """Long lists, of which a sample is a small part: it is kept, and answers for most."""
    a = ps.generate.lift(ps.generate.rmat(12, edge_factor=120, seed=3), 12, seed=1)
    a._derived.symmetric_pattern = True
    n, lists = a.shape[0], _core.pack_lists(a._core).facts()
    assert 64 * n <= lists["list_bytes"]
    fixed = lists["head_bytes"] + LEAN * n + (16 << 20) + _core.cut_list_bytes(a.nnz)
    with ps.options(device_memory=fixed + lists["list_bytes"] * 3 // 4), ps.record() as told:
        plan = ps.csgraph.explain(a, "bfs", device=0, gpu_options=PACKED)
        want = ps.csgraph.connected_components(a, device="cpu")
        got = ps.csgraph.connected_components(a, device=0, gpu_options=PACKED)
        assert got[0] == want[0] and np.array_equal(got[1], want[1])
        for start in (5, 6, 7):
            levels = ps.csgraph.bfs(a, start, device=0, gpu_options=PACKED)
            assert np.array_equal(levels, ps.csgraph.bfs(a, start, device="cpu"))
    graphs = [event["graph"] for event in told]
    assert all(g["packed_by"] == "gpu" and g["sample_size"] == 4 for g in graphs), graphs
    assert graphs[-1]["sample_kind"] == "highest_degree"
    assert plan.gpu_bytes["sample"] == 16 * n
    assert graphs[0]["far_bytes"] >= lists["list_bytes"] // 4 + 16 * n - (1 << 18)


def with_values(name, kind):
    a = with_lengths(GRAPHS[name](), kind)
    return a, weights_of(a)


@pytest.mark.parametrize("kind", PACKABLE)
@pytest.mark.parametrize("name", GRAPHS)
def test_lengths_are_packed_in_the_same_pass(name, kind):
    a, weights = with_values(name, kind)
    want = _core.pack_lengths(_core.pack_lists(a._core), a._core, weights)
    for piece in (4, 0):
        there = _core.gpu_graph(
            a._core, 0, "packed", 0, distance_bytes=4, piece_bytes=piece, weights=weights
        )
        facts = there.facts()
        assert facts["packed_by"] == "gpu" and facts["lengths"] and facts["far_bytes"] == 0
        assert there.packed_lists().same(want)
        assert facts["packed_bytes"] == want.facts()["bytes"]
        assert facts["pack_link_bytes"] >= (4 + (weights.packed_bits > 0)) * a.nnz


@pytest.mark.parametrize("name", ["rmat", "lift", "lengths"])
def test_lengths_of_lists_that_exceed_the_budget(name):
    a, weights = with_values(name, "words")
    want = _core.pack_lengths(_core.pack_lists(a._core), a._core, weights)
    lists = want.facts()
    arrays = 13 * a.shape[0] + (12 << 20) + 8 * (2 * (a.nnz // 1022) + 1)
    budget = lists["head_bytes"] + arrays + lists["list_bytes"] * 6 // 10
    there = _core.gpu_graph(a._core, 0, "packed", budget, distance_bytes=4, weights=weights)
    assert there.packed_lists().same(want)
    assert there.facts()["far_bytes"] > 0
    assert there.facts()["packed_by"] == "gpu" or name != "lift"  # which has no long lists
    with ps.options(device_memory=budget):
        far = ps.csgraph.sssp(a, 1, device=0, gpu_options=PACKED)
    assert np.array_equal(far, ps.csgraph.sssp(a, 1, device="cpu"))


def test_lengths_that_the_cpu_packs():
    rng = np.random.default_rng(7)
    rows, cols = rng.integers(0, 3000, (2, 9000))
    a = with_lengths(pattern(3000, rows, cols, ascending=False), "bytes")
    far = ps.csgraph.sssp(a, 0, device=0, gpu_options=PACKED)
    assert np.array_equal(far, ps.csgraph.sssp(a, 0, device="cpu"))
    assert a._derived.packed_paths.facts()["sorted"] is False
    with ps.record() as told:
        ps.csgraph.sssp(a, 1, device=0, gpu_options=PACKED)
    assert told[-1]["graph"]["packed_by"] in ("cpu", None) and told[-1]["graph"]["lengths"]


@pytest.mark.parametrize("name", [n for n in GRAPHS if n != "no vertices"])
def test_searches(name):
    a = GRAPHS[name]()
    n = a.shape[0]
    with ps.record() as told:
        for start in {0, n // 2, int(np.argmax(np.diff(a.indptr)))}:
            for counted in (False, True):
                how = GpuOptions(placement="packed", counted=counted)
                levels, tree = ps.csgraph.bfs(
                    a, start, device=0, gpu_options=how, return_predecessors=True
                )
                assert np.array_equal(levels, ps.csgraph.bfs(a, start, device="cpu"))
                ps.csgraph.verify_bfs(a, start, levels, tree)
        count, labels = ps.csgraph.connected_components(a, device=0, gpu_options=PACKED)
    want = ps.csgraph.connected_components(a, device="cpu")
    assert count == want[0] and np.array_equal(labels, want[1])
    assert {e["graph"]["packed_by"] for e in told} == {"gpu"}
    assert {e["read"]["bytes"] for e in told if e.get("read")} <= {0}  # nothing over the link


def test_a_store_takes_what_the_gpu_packed(tmp_path):
    a = ps.generate.rmat(12, seed=3)
    levels = ps.csgraph.bfs(a, 1, device=0, gpu_options=PACKED)
    assert a._derived.packed_lists is None
    a.save(tmp_path / "a.penstock", lists=True)
    b = ps.open(tmp_path / "a.penstock", validate=True)
    assert np.array_equal(ps.csgraph.bfs(b, 1, lists="packed", device="cpu"), levels)


@pytest.mark.parametrize("place", ["host", "pinned"])
def test_auto_packs_when_it_pays(place):
    """By the first search, which would read about as much."""
    a = ps.generate.rmat(20, seed=9)
    levels = ps.csgraph.bfs(a, 1, device="cpu")
    a = a.to(place)
    plans = []
    with (
        ps.options(device_memory=100_000_000),
        ps.record() as told,
    ):  # 168 MB as they are, 87 MB packed
        for _ in range(4):
            plans.append(ps.csgraph.explain(a, device=0).reason)
            assert np.array_equal(ps.csgraph.bfs(a, 1, device=0), levels)
    graphs = [e["graph"] for e in told]
    seen = [(g["placement"], g["packed_by"], g["sample_kind"]) for g in graphs]
    assert [g["placement"] for g in graphs] == ["packed"] * 4, (seen, plans)
    assert graphs[-1]["packed_by"] == "gpu", (seen, plans)


def same_ranges(a, gpus):
    """Each GPU packs its range of the vertices: the words that the CPU makes of these rows."""
    there = _core.gpu_parts(a._core, gpus, "packed")
    facts = there.facts()
    assert facts["packed_by"] == "gpu" and facts["far_bytes"] == 0, facts
    assert facts["pack_link_bytes"] >= 4 * a.nnz
    for i, part in enumerate(facts["parts"]):
        want = _core.pack_lists(a._core, part["first_vertex"], part["vertices"])
        found = there.packed_lists(i)
        for one, other in zip(found.to_arrays()[:4], want.to_arrays()[:4], strict=True):
            assert np.array_equal(one, other)
        assert found.to_arrays()[4] == want.to_arrays()[4]
        assert part["packed_bytes"] == want.facts()["bytes"]
    return facts


@pytest.mark.parametrize("gpus", [[0, 0], [0, 0, 0], [0, 1]], ids=str)
@pytest.mark.parametrize("name", GRAPHS)
def test_parts_are_packed_by_their_gpus(name, gpus):
    if max(gpus) >= _core.device_count():
        pytest.skip(f"this machine has {_core.device_count()} GPU(s)")
    same_ranges(GRAPHS[name](), gpus)


@pytest.mark.parametrize("place", ["host", "pinned"])
def test_parts_of_a_large_graph(place):
    """Pages that two parts share are locked by one of them."""
    a = ps.generate.lift(ps.generate.rmat(14, seed=1), 120, seed=2)
    gpus = [0, 1] if _core.device_count() > 1 else [0, 0]
    facts = same_ranges(a if place == "host" else a.to("pinned"), gpus)
    assert len(facts["parts"]) == 2
    assert facts["pack_link_bytes"] < 4 * a.nnz + 8.01 * a.shape[0] + 1e5
    how = GpuOptions(placement="packed")
    for start in (0, a.shape[0] - 1):
        levels = ps.csgraph.bfs(a, start, device=gpus, gpu_options=how)
        assert np.array_equal(levels, ps.csgraph.bfs(a, start, device="cpu"))
    count, labels = ps.csgraph.connected_components(a, device=gpus, gpu_options=how)
    want = ps.csgraph.connected_components(a, device="cpu")
    assert count == want[0] and np.array_equal(labels, want[1])
