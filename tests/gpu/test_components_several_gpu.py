"""Connected components over several GPUs, or over one that is named several times, against those of the CPU."""

import json

import numpy as np
import pytest
from graphs import NAMES, graph, named
from needed_gpus import needs
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
SEVERAL = [[0, 0], [0, 0, 0], [0] * 5, [0, 1], list(range(4))]
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]


def _one_way_hubs(rng):
    """Directed stars whose long lists are known to the hubs alone, and that share leaves across all ranges."""
    tails = np.concatenate([np.full(70_000, 5), np.full(9_000, 60_006), np.full(20_000, 99_999)])
    heads = np.concatenate([rng.integers(10, 90_000, 79_000), rng.integers(90_000, 99_000, 20_000)])
    return graph(100_000, tails, heads, both_ways=False)


def _two_giants(rng):
    """Two halves, each dense by itself, that one late edge joins: each GPU of two has a giant of its own, and neither
    sample holds the edge between them."""
    half, tails, heads = 20_000, [], []
    for first in (0, half):
        tails.append(first + rng.integers(0, half, 20 * half))
        heads.append(first + rng.integers(0, half, 20 * half))
    return graph(
        2 * half, np.append(np.concatenate(tails), 12_345), np.append(np.concatenate(heads), 33_333)
    )


def _far_apart(rng):
    """Components of 30 vertices, each spread over all ranges, and degrees beyond the sample: no giant one."""
    of, tails, heads = np.repeat(np.arange(700), 300), *rng.integers(0, 30, (2, 210_000))
    return graph(21_000, of + 700 * tails, of + 700 * heads)


def _shuffled_path(rng):
    p = rng.permutation(50_000)
    return graph(50_000, p[:-1], p[1:])


OWN = {
    "one_way_hubs": _one_way_hubs,
    "two_giants": _two_giants,
    "far_apart": _far_apart,
    "shuffled_path": _shuffled_path,
}
ALL = [*NAMES, *OWN]
_made: dict = {}


def shape(name):
    if name in OWN and name not in _made:
        _made[name] = OWN[name](np.random.default_rng(11))
    return _made[name] if name in OWN else named(name)


@pytest.fixture(params=SEVERAL, ids=str)
def gpus(request):
    needs(request.param)
    return request.param


def check(a, what, result, told):
    count, labels = result
    expected_count, expected = ps.csgraph.connected_components(a, device="cpu")
    bad = np.flatnonzero(labels != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {labels.size} labels differ, vertex {bad[0]}: {labels[bad[0]]} is not "
        f"{expected[bad[0]]}; {told}"
    )
    assert count == expected_count, (what, count, expected_count, told)


def found(a, what, gpus, **how):
    """Checks the components that `how` finds; what the trace tells."""
    with ps.record() as events:
        result = ps.csgraph.connected_components(a, device=gpus, gpu_options=GpuOptions(**how))
    check(a, f"{what} {gpus} {how}", result, events)
    return events[-1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in ALL]
)
def test_every_shape(name, gpus):
    a = shape(name)
    for how in ({}, {"sample": 0, "placement": "pinned"}, {"counted": True, "placement": "pinned"}):
        event = found(a, name, gpus, **how)
        facts = event["graph"]
        assert facts["vertices"] == a.shape[0] and facts["edges"] == a.nnz, facts
        assert event["gpus"] == gpus[: len(facts["parts"])], event
    assert event["link_bytes"] == event["read"]["bytes"], event


@pytest.mark.parametrize("access", ["strided", "merged", "aligned", "direct"])
@pytest.mark.parametrize("name", ALL)
def test_every_access(name, access, gpus):
    for counted in (False, True):
        found(shape(name), name, gpus, access=access, counted=counted, placement="pinned")


@pytest.mark.parametrize(
    "placement", ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
)
@pytest.mark.parametrize("name", ["rmat_16", "star", "grid", "directed", "no_edges", "two_giants"])
def test_every_placement(name, placement, gpus):
    event = found(shape(name), name, gpus, placement=placement)
    assert event["graph"]["placement"] == placement
    assert (event["schedule"] == "in_core") == (placement == "device")


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("name", ALL)
def test_every_sample_and_reversed_edges(name, size):
    """With nothing known of the edges into vertices, with the edges both ways, and with the transpose."""
    a, gpus = shape(name), [0, 0, 0]
    g = _core.gpu_parts(a._core, gpus, "pinned")
    t = _core.gpu_parts(a.T.formed()._core, gpus, "pinned", like=g)
    pairs = [(g, None), (g, t), (t, g), (t, None)]
    if a._derived.symmetric_pattern:
        pairs.append((g, g))
    for k, (out, incoming) in enumerate(pairs):
        count, labels, told = _core.components_parts(out, incoming, sample=size, count=True)
        check(a, f"{name} pair {k}", (count, labels), (told, g.facts()))
        assert (told["missed"] > 0) == (incoming is None and a.nnz > 0), (k, told)


def test_an_edge_between_two_giants_is_found():
    """Trees are merged before the giant is looked for: else both ends of the edge would leave it out."""
    a = shape("two_giants")
    _, labels = ps.csgraph.connected_components(a, device="cpu")
    assert labels[12_345] == labels[33_333], "the graph is not what the test is about"
    g = _core.gpu_parts(a._core, [0, 0], "pinned")
    firsts = [part["first_vertex"] for part in g.facts()["parts"]]
    assert 12_345 < firsts[1] <= 33_333, firsts
    count, labels, told = _core.components_parts(g, g)
    check(a, "two giants", (count, labels), told)
    assert told["entries"] > 0, "the edge between them is in no sample, so lists must be read"


def test_more_links_than_are_told_one_by_one():
    """Pairs of vertices that no sample holds, as the first entries of all lists are self loops: a link for every two
    vertices, where a part has room for one in eight."""
    n, each = 1 << 16, 6
    offsets = np.arange(n + 1, dtype=np.int64) * each
    heads = np.repeat(np.arange(n, dtype=np.int32), each).reshape(n, each)
    heads[:, -1] ^= 1
    a = ps.csr_array._from_parts(n, n, offsets, heads.ravel(), None)
    a._derived.symmetric_pattern = True
    g = _core.gpu_parts(a._core, [0, 0, 0], "pinned")
    count, labels, told = _core.components_parts(g, g, sample=4)
    assert count == n // 2 and np.array_equal(labels, np.arange(n) // 2), told
    assert told["lists"] == n, "no giant one, and each list has more than its sample"


def test_each_gpu_reads_the_lists_of_its_own_vertices():
    """Without the reversed edges no list may be left out, unless the sample holds it; each is read once."""
    a = shape("directed")
    degree = np.diff(a.indptr)
    g = _core.gpu_parts(a._core, [0, 0, 0], "pinned")
    _, _, told = _core.components_parts(g, None, count=True)
    assert told["entries"] == degree[degree > 4].sum(), told
    assert told["lists"] == np.count_nonzero(degree > 4), told
    assert told["read"]["bytes"] >= 4 * told["entries"], told


def test_the_giant_component_is_not_read():
    a = ps.generate.rmat(18, seed=4)
    event = found(a, "rmat_18", [0, 0, 0], placement="pinned", counted=True)
    assert event["entries"] < 0.05 * a.nnz, event
    assert event["read"]["bytes"] < 0.05 * event["edge_bytes"], event


def test_searches_and_components_share_parts_and_samples(gpus):
    a = ps.generate.rmat(15, seed=12)
    pinned = GpuOptions(placement="pinned")
    ps.csgraph.bfs(a, 3, device=gpus, return_predecessors=True, gpu_options=pinned)
    before = a._derived.gpu_parts[1].facts()
    found(a, "after a search", gpus, placement="pinned")
    after = a._derived.gpu_parts[1].facts()
    for name in ("sample_bytes", "sample_seconds"):
        assert after[name] == before[name] > 0, (name, before, after)
    levels = ps.csgraph.bfs(a, 3, device=gpus, gpu_options=pinned)
    assert np.array_equal(levels, ps.csgraph.bfs(a, 3, device="cpu"))


def test_directed_graphs_use_reversed_edges_once_there(gpus):
    rng = np.random.default_rng(5)
    n = 20_000
    offsets = np.arange(n + 1, dtype=np.int64) * 8
    a = ps.csr_array._from_parts(n, n, offsets, rng.integers(0, n, 8 * n, dtype=np.int32), None)
    before = found(a, "one way", gpus)
    assert before["missed"] > 0 and before["entries"] == a.nnz, before
    a.T.formed()
    after = found(a, "both ways", gpus)
    assert after["missed"] == 0 and after["entries"] < 0.1 * a.nnz, after


def test_budgets():
    a = ps.generate.rmat(17, seed=6)
    n = a.shape[0]
    parts = _core.gpu_parts(a._core, [0, 0], "pinned").facts()["parts"]
    most = max(part["vertices"] for part in parts)
    each = 8 * most + 3 * n  # its offsets, and less than the parents take
    with ps.options(device_memory=2 * each), pytest.raises(MemoryError, match="parents of all"):
        ps.csgraph.connected_components(a, device=[0, 0])
    with ps.options(device_memory=100 * n):
        facts = found(a, "budget", [0, 0])["graph"]
    assert facts["placement"] == "pinned" and facts["used_bytes"] <= facts["budget"] == 100 * n


def test_many_calls_agree_and_take_no_more_memory():
    a = named("rmat_10")
    expected = ps.csgraph.connected_components(a, device="cpu")
    ps.csgraph.connected_components(a, device=[0, 0, 0])
    before = _core.gpu_info(0)["free_bytes"]
    for _ in range(100):
        count, labels = ps.csgraph.connected_components(a, device=[0, 0, 0])
        assert count == expected[0] and np.array_equal(labels, expected[1])
    assert before - _core.gpu_info(0)["free_bytes"] < 32 << 20


def test_command_line(tmp_path):
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    runner = pytest.importorskip("typer.testing").CliRunner()
    from penstock.cli.app import app

    file = tmp_path / "graph.penstock"
    ps.save(file, named("rmat_10"))
    told = runner.invoke(app, ["cc", str(file), "--gpus", "2", "--trace", "--verify", "--json"])
    assert told.exit_code == 0, told.output
    facts = json.loads(told.stdout)
    assert facts["gpus"] == 2 and facts["trace"]["gpus"] == [0, 1], facts


def test_bad_input():
    a = named("rmat_10")
    g = _core.gpu_parts(a._core, [0, 0])
    with pytest.raises(ValueError, match="of another graph"):
        _core.components_parts(g, _core.gpu_parts(named("dense")._core, [0, 0]))
    with pytest.raises(ValueError, match="4, 8 or 16"):
        _core.components_parts(g, g, sample=5)
    count, _, _ = _core.components_parts(g, g)  # a call that failed leaves all as it was
    assert count == ps.csgraph.connected_components(a, device="cpu", return_labels=False)
    with pytest.raises(ValueError, match="runs on one GPU"):
        ps.csgraph.connected_components(
            a, device=[0, 0], gpu_options=GpuOptions(method="label_propagation")
        )
    with pytest.raises(ValueError, match="found on the CPU"):
        ps.csgraph.connected_components(a, connection="strong", device=[0, 0])


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("name", ALL)
def test_packed_lists(name, far, gpus):
    """Each GPU packs a range of its own; `far`: next to no list fits the budget."""
    a = shape(name)
    heads, most = 5 * a.shape[0], max(gpus.count(gpu) for gpu in gpus)
    room = most * (heads + 36 * a.shape[0] + (16 << 20) + (1 << 16))
    with ps.options(device_memory=room if far else None):
        for how in ({}, {"sample": 0}, {"counted": True}):
            event = found(a, name, gpus, placement="packed", **how)
            facts = event["graph"]
            assert facts["placement"] == "packed" and facts["used_bytes"] <= facts["budget"]
            if not far:
                assert facts["far_bytes"] == 0
