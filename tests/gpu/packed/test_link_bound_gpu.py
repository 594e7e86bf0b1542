"""A search reads over the link at most the lists that are not on the GPU, once, and an eighth, whatever the graph.

So do several GPUs together, and many searches at once read a pass each."""

import numpy as np
import pytest
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions

import penstock as ps

pytestmark = pytest.mark.gpu
SPARE = 16 << 20  # what a search may read beside a pass and an eighth


def _graph(n, tails, heads):
    tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
    a = ps.csr_array((np.ones(tails.size, bool), (tails, heads)), shape=(n, n))
    a._derived.symmetric_pattern = True
    return a


def _ring_of_cliques(rng):
    size, count = 128, 2500
    i, j = np.triu_indices(size, 1)
    first = np.arange(count)[:, None] * size
    tails = np.concatenate([(first + i).ravel(), np.arange(count) * size])
    heads = np.concatenate([(first + j).ravel(), (np.arange(1, count + 1) % count) * size + 1])
    return _graph(size * count, tails, heads)


def _web_lift(rng):
    """Sites whose pages link to one another and to a few hubs, lifted."""
    n, sites = 20_000, 400
    page = np.arange(n)
    tails = np.repeat(page, 24)
    same = rng.random(tails.size) < 0.8
    inside = tails % sites + sites * rng.integers(0, n // sites, tails.size)
    hubs = (sites * rng.geometric(0.01, tails.size)) % n
    base = _graph(n, tails, np.where(same, inside, hubs))
    return ps.generate.lift(base, 30, seed=5)


def _caterpillar(rng):
    """A path of vertices with hundreds of legs each: as many levels as half of the vertices of the path."""
    spine, legs = 40_000, 300
    body = np.arange(spine)
    leaves = spine + np.arange(spine * legs)
    return _graph(
        spine * (legs + 1),
        np.concatenate([body[:-1], np.repeat(body, legs)]),
        np.concatenate([body[1:], leaves]),
    )


def _bipartite_hubs(rng):
    """Many vertices of 12 neighbours, all of them among few hubs that no one else links to."""
    n, hubs = 1_500_000, 3000
    tails = np.repeat(np.arange(hubs, n), 12)
    return _graph(n, tails, rng.integers(0, hubs, tails.size))


def _random_order(rng):
    a = ps.generate.rmat(20, seed=3)
    a._derived.symmetric_pattern = True
    return a


def _layers(rng):
    """Layers of one size: each level finds as many vertices, and bottom-up steps read in vain what is farther off."""
    width, layers, degree = 40_000, 30, 14
    tails = np.repeat(np.arange(width * (layers - 1)), degree)
    heads = (tails // width + 1) * width + rng.integers(0, width, tails.size)
    return _graph(width * layers, tails, heads)


SHAPES = {
    "ring_of_cliques": _ring_of_cliques,
    "web_lift": _web_lift,
    "caterpillar": _caterpillar,
    "bipartite_hubs": _bipartite_hubs,
    "random_order": _random_order,
    "layers": _layers,
}


@pytest.fixture(scope="module", params=list(SHAPES))
def graph(request):
    a = SHAPES[request.param](np.random.default_rng(2))
    return a.to(ps.pinned)


def _sectors(begin, end):
    """Bytes of whole sectors that hold the bytes [begin, end) of each list."""
    some = end > begin
    return 32 * int(((end[some] - 1) // 32 - begin[some] // 32 + 1).sum())


def _whole_lists(graph):
    """Bytes of the sectors that hold the lists, each by itself."""
    ends = 4 * np.asarray(graph.indptr, np.int64)
    return _sectors(ends[:-1], ends[1:])


def _within_the_bound(graph, room, gpus, placement, sample, count):
    """Searches from so many roots within `room` bytes: what they read, and their levels. Returns the last event."""
    n, whole = graph.shape[0], _whole_lists(graph)
    roots = np.random.default_rng(7).choice(np.flatnonzero(np.diff(graph.indptr)), count)
    how = GpuOptions(placement=placement, sample=sample, counted=True)
    for root in roots:
        with ps.options(device_memory=room), ps.record() as events:
            levels = ps.csgraph.bfs(graph, int(root), device=gpus, gpu_options=how)
        event = events[-1]
        assert event["graph"]["placement"] == placement
        if placement == "packed":
            whole = event["graph"]["far_bytes"] + 64 * n
        most = whole * 9 / 8 + SPARE
        assert event["read"]["bytes"] <= most, (root, event["read"], whole, event["steps"])
        assert np.array_equal(levels, ps.csgraph.bfs(graph, int(root), device="cpu"))
    return event


@pytest.mark.parametrize("placement", ["pinned", "packed"])
@pytest.mark.parametrize("sample", [0, 4])
def test_a_search_reads_no_more_than_a_pass_and_an_eighth(graph, placement, sample):
    n = graph.shape[0]
    room = 48 * n + (32 << 20)
    if placement == "packed":
        facts = packed_lists(graph).facts()
        room = facts["head_bytes"] + 18 * n + (16 << 20) + (1 << 20) + facts["list_bytes"] // 8
    _within_the_bound(graph, room, 0, placement, sample, 6)


@pytest.mark.parametrize("placement", ["pinned", "packed"])
@pytest.mark.parametrize("sample", [0, 4])
def test_so_do_several_gpus_together(graph, placement, sample):
    """One that is named twice has two parts, which divide its budget."""
    n, parts = graph.shape[0], 2
    room = 50 * n + (64 << 20)
    if placement == "packed":
        facts = packed_lists(graph).facts()
        each = facts["list_bytes"] // 16 + (17 << 20) + graph.nnz // 100
        room = facts["head_bytes"] + 18 * n + parts * (9 * n + each)
    event = _within_the_bound(graph, room, [0, 0], placement, sample, 4)
    assert len(event["graph"]["parts"]) == parts
    assert placement == "pinned" or event["graph"]["far_bytes"] > 0


@pytest.mark.parametrize("count", [2, 8])
@pytest.mark.parametrize("sample", [0, 4])
def test_many_searches_read_a_pass_each(graph, count, sample):
    """And an eighth and 16 MB, all together: what they read at once counts once."""
    n = graph.shape[0]
    whole = _whole_lists(graph)
    roots = np.random.default_rng(9).choice(np.flatnonzero(np.diff(graph.indptr)), count)
    with ps.options(device_memory=(80 + 4 * count) * n + (32 << 20)), ps.record() as events:
        how = GpuOptions(placement="pinned", sample=sample, counted=True)
        levels = ps.csgraph.bfs(graph, sources=roots, device=0, gpu_options=how)
    event = events[-1]
    assert event["graph"]["placement"] == "pinned"
    most = count * whole + whole / 8 + SPARE
    assert event["read"]["bytes"] <= most, (event["read"], whole)
    for root, row in zip(roots, levels, strict=True):
        assert np.array_equal(row, ps.csgraph.bfs(graph, int(root), device="cpu"))
