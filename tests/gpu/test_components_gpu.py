"""Connected components on a GPU against those of the CPU: every shape, access policy and placement."""

import numpy as np
import pytest
from graphs import NAMES, graph, named
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
ACCESS = ["strided", "merged", "aligned", "direct"]
PLACEMENTS = ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
METHODS = ["auto", "label_propagation"]
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]


def _hubs(rng):
    """Directed stars whose long lists are known to the hubs alone, and that share some leaves."""
    tails = np.concatenate([np.full(70_000, 5), np.full(9_000, 60_006), np.full(20_000, 99_999)])
    heads = np.concatenate([rng.integers(10, 90_000, 79_000), rng.integers(90_000, 99_000, 20_000)])
    return graph(100_000, tails, heads, both_ways=False)


def _many_components(rng):
    """Components of 30 vertices, each spread over all ids: no giant one, and degrees beyond the sample."""
    of, tails, heads = np.repeat(np.arange(700), 300), *rng.integers(0, 30, (2, 210_000))
    return graph(21_000, of + 700 * tails, of + 700 * heads)


def _shuffled_path(rng):
    p = rng.permutation(50_000)
    return graph(50_000, p[:-1], p[1:])


OWN = {"hubs": _hubs, "many_components": _many_components, "shuffled_path": _shuffled_path}
ALL = [*NAMES, *OWN]
_made: dict = {}


def shape(name):
    if name in OWN and name not in _made:
        _made[name] = OWN[name](np.random.default_rng(11))
    return _made[name] if name in OWN else named(name)


def check(a, what, result, told):
    count, labels = result
    expected_count, expected = ps.csgraph.connected_components(a, device="cpu")
    bad = np.flatnonzero(labels != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {labels.size} labels differ, vertex {bad[0]}: {labels[bad[0]]} is not "
        f"{expected[bad[0]]}; {told}"
    )
    assert count == expected_count, (what, count, expected_count, told)


def found(a, what, **how):
    """Checks the components that `how` finds; what the trace tells."""
    with ps.record() as events:
        result = ps.csgraph.connected_components(a, device=0, gpu_options=GpuOptions(**how))
    check(a, f"{what} {how}", result, events)
    return events[-1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in ALL]
)
def test_every_shape(name):
    found(shape(name), name)
    found(shape(name), name, sample=0, placement="pinned")
    found(shape(name), name, counted=True, placement="pinned")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("access", ACCESS)
@pytest.mark.parametrize("name", ALL)
def test_every_access_and_method(name, access, method):
    for counted in (False, True):
        found(shape(name), name, access=access, method=method, counted=counted, placement="pinned")


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("name", ["rmat_16", "star", "grid", "directed", "no_edges", "hubs"])
def test_every_placement(name, placement):
    for access in ACCESS:
        for method in METHODS:
            event = found(shape(name), name, placement=placement, access=access, method=method)
            assert event["graph"]["placement"] == placement
            assert (event["schedule"] == "in_core") == (placement == "device")


@pytest.mark.parametrize("kind", ["first", "highest_degree"])
@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("name", ALL)
def test_every_sample_and_reversed_edges(name, size, kind):
    """With nothing known of the edges into vertices, with the edges both ways, and with the transpose."""
    a = shape(name)
    g = _core.gpu_graph(a._core, 0, "pinned")
    g.make_sample(size, kind)
    t = _core.gpu_graph(a.T.formed()._core, 0, "pinned")
    pairs = [(g, None), (g, t), (t, g), (t, None)]
    if a._derived.symmetric_pattern:
        pairs.append((g, g))
    for k, (out, incoming) in enumerate(pairs):
        count, labels, told = _core.components_gpu(out, incoming, count=True)
        check(a, f"{name} pair {k}", (count, labels), (told, g.facts()))
        assert (told["missed"] > 0) == (incoming is None and a.nnz > 0), (k, told)


def test_cached_lists_are_not_read():
    for name in ("hubs", "rmat_16", "many_components"):
        a = shape(name)
        plain, cached = (_core.gpu_graph(a._core, 0, "pinned") for _ in range(2))
        cached.make_cache()
        for method in METHODS:
            reads = []
            for g in (plain, cached):
                count, labels, told = _core.components_gpu(g, None, method=method, count=True)
                check(a, f"{name} {method}", (count, labels), told)
                reads.append(told["read"]["bytes"])
            assert reads[1] == 0 < reads[0], (name, method, reads)


def test_the_giant_component_is_not_read():
    """Of a small world nearly nothing is read; the baseline reads every list, and most of them again."""
    a = ps.generate.rmat(18, seed=4)
    event = found(a, "rmat_18", placement="pinned", counted=True)
    assert event["read"]["bytes"] < 0.05 * event["edge_bytes"], event
    assert event["entries"] < 0.05 * a.nnz, event
    base = found(a, "rmat_18", placement="pinned", counted=True, method="label_propagation")
    assert base["rounds"] >= 3 and a.nnz < base["entries"] < (base["rounds"] - 1) * a.nnz, base
    assert base["read"]["bytes"] >= 4 * base["entries"], base


def test_edges_one_way_are_all_read_once():
    """Without the reversed edges no list may be left out, unless the sample holds it."""
    a = shape("directed")
    degree = np.diff(a.indptr)
    g = _core.gpu_graph(a._core, 0, "pinned")
    _, _, told = _core.components_gpu(g, None, count=True)
    assert told["entries"] == degree[degree > 4].sum(), told
    assert told["lists"] == np.count_nonzero(degree > 4), told
    assert told["read"]["bytes"] >= 4 * told["entries"], told


def test_budgets():
    a = ps.generate.rmat(17, seed=6)
    n = a.shape[0]
    short = 8 * (n + 1) + 3 * n
    with ps.options(device_memory=short), pytest.raises(MemoryError, match="parents of the vert"):
        ps.csgraph.connected_components(a, device=0)
    for budget, slots in ((28 * n, 0), (100 * n, 4)):
        with ps.options(device_memory=budget):
            event = found(a, f"budget {budget}")
        facts = event["graph"]
        assert facts["placement"] == "pinned" and facts["sample_size"] == slots, facts
        assert facts["used_bytes"] <= budget == facts["budget"], facts


def test_searches_and_components_share_a_sample():
    a = ps.generate.rmat(15, seed=12)
    ps.csgraph.bfs(a, 3, device=0, gpu_options=GpuOptions(placement="pinned"))
    before = a._derived.gpu_graph[1].facts()
    found(a, "after a search", placement="pinned")
    after = a._derived.gpu_graph[1].facts()
    assert after["sample_bytes"] == before["sample_bytes"] > 0, (before, after)
    assert after["sample_seconds"] == before["sample_seconds"], (before, after)


def test_many_calls_agree_and_take_no_more_memory():
    a = named("rmat_10")
    expected = ps.csgraph.connected_components(a, device="cpu")
    ps.csgraph.connected_components(a, device=0)
    before = _core.gpu_info(0)["free_bytes"]
    for _ in range(200):
        count, labels = ps.csgraph.connected_components(a, device=0)
        assert count == expected[0] and np.array_equal(labels, expected[1])
    assert before - _core.gpu_info(0)["free_bytes"] < 32 << 20


def test_verified_and_without_labels():
    a = named("rmat_16")
    count, labels = ps.csgraph.connected_components(a, device=0)
    ps.csgraph.verify_components(a, count, labels)
    assert ps.csgraph.connected_components(a, device=0, return_labels=False) == count
    assert labels.dtype == np.int32 and labels.flags.writeable


def test_bad_input():
    g = _core.gpu_graph(named("rmat_10")._core)
    with pytest.raises(ValueError, match="reversed edges are"):
        _core.components_gpu(g, _core.gpu_graph(named("dense")._core))
    with pytest.raises(ValueError, match="4, 8 or 16"):
        _core.components_gpu(g, g, sample=5)
    with pytest.raises(ValueError, match="found on the CPU"):
        ps.csgraph.connected_components(named("rmat_10"), connection="strong", device=0)
