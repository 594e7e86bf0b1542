"""Shortest paths from packed lists on a GPU against those of the CPU, bit for bit."""

import functools

import numpy as np
import pytest
from penstock.csgraph import GpuOptions
from penstock.csgraph._packed_paths import path_lists
from penstock.csgraph.shortest_paths import weights_of
from weighted_graphs import LENGTHS, SHAPES, SMALL, graph, named, sources

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
# lengths -> the shares of the lists on the GPU; None is all of them
PACKABLE = {
    "bytes": [None, 0.5, 0],
    "zeros": [None, 0],
    "words": [None, 0.5],
    "pattern": [None, 0],
    "same": [None],
}
CASES = [(lengths, near) for lengths, shares in PACKABLE.items() for near in shares]
SHAPES = [*SHAPES, "long_lists", "lift", "road", "unsorted"]


def _pairs(n, tails, heads, rng):
    return graph(n, tails, heads, rng.integers(8, 73, len(tails)))


@functools.cache
def shape(name, lengths):
    """A graph of weighted_graphs.py, or one with lists of the sizes about which lists are cut, of copies, of a road."""
    if name in ("long_lists", "unsorted"):
        rng = np.random.default_rng(5)
        sizes = [31, 32, 33, 64, 65, 500, 1021, 1022, 1023, 1024, 1025, 2048, 4096, 4097, 9000]
        tails = np.repeat(np.arange(len(sizes)) * 100, sizes)
        heads = np.concatenate([rng.choice(20_000, size, False) for size in sizes])
        if name == "long_lists":
            order = np.lexsort((heads, tails))
            tails, heads = tails[order], heads[order]
        a = ps.csr_array((np.ones(tails.size, bool), (tails, heads)), shape=(20_000, 20_000))
        if name == "unsorted":
            a = graph(20_000, tails, heads, np.ones(tails.size))
    elif name == "lift":
        a = ps.generate.lift(ps.generate.rmat(10, seed=2), 20, mix=0.05, seed=1)
    elif name == "road":
        side = 400
        v = np.arange(side * side).reshape(side, side)
        keep = np.random.default_rng(7).random((2, side, side)) < 0.8
        tails = np.concatenate([v[:, :-1][keep[0][:, :-1]], v[:-1][keep[1][:-1]]])
        heads = np.concatenate([v[:, 1:][keep[0][:, :-1]], v[1:][keep[1][:-1]]])
        a = graph(side * side, tails, heads, np.ones(tails.size))
    else:
        given = "bytes" if lengths == "same" else lengths
        a = named(name, given)
        if lengths != "same":
            return a
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)).astype(np.int64)
    columns = np.asarray(a.indices, np.int64)
    # the same length both ways: from the two ends
    mixed = (np.minimum(rows, columns) * 2654435761 + np.maximum(rows, columns) * 40503) >> 7
    values = {
        "bytes": 8 + mixed % 65,
        "zeros": mixed % 3,
        "words": 1 + mixed % 60_000,
        "same": np.full(mixed.size, 9),
    }.get(lengths)
    values = None if values is None else values.astype(np.float64)
    return ps.csr_array._from_parts(*a.shape, np.asarray(a.indptr), np.asarray(a.indices), values)


def budget(a, near):
    """None for all lists on the GPU; or bytes, for a share of them."""
    if near is None:
        return None
    n, facts = a.shape[0], path_lists(a, weights_of(a)).facts()
    fixed = 13 * n + (12 << 20) + 16 * a.nnz // 1000 + (1 << 12)
    return facts["head_bytes"] + fixed + int(near * facts["list_bytes"])


def same(got, expected, what):
    assert got.dtype == expected.dtype and got.shape == expected.shape, what
    bad = np.flatnonzero(got != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {got.size} differ, vertex {bad[0]}: {got[bad[0]]} is not {expected[bad[0]]}"
    )


def found(a, source, what, delta=None, **how):
    on = GpuOptions(placement="packed", **how)
    with ps.record() as events:
        got = ps.csgraph.sssp(
            a, source, delta=delta, device=0, gpu_options=on, return_predecessors=True
        )
    told = events[-1]
    what = f"{what} from {source} {on} {told}"
    expected = ps.csgraph.sssp(a, source, device="cpu", return_predecessors=True)
    same(got[0], expected[0], f"distances: {what}")
    same(got[1], expected[1], f"predecessors: {what}")
    facts = told["graph"]
    assert facts["placement"] == "packed" and facts["used_bytes"] <= facts["budget"]
    return told


@pytest.mark.parametrize(("lengths", "near"), CASES)
@pytest.mark.parametrize(
    "name", [pytest.param(s, marks=pytest.mark.gpu_small if s in SMALL else ()) for s in SHAPES]
)
def test_every_shape_and_length(name, lengths, near):
    a = shape(name, lengths)
    with ps.options(device_memory=budget(a, near)):
        for source in sources(a, 0):
            told = found(a, source, f"{name} {lengths} {near}")
            assert (told["graph"]["far_bytes"] == 0) or near is not None
            assert told["graph"]["lengths"] == (lengths != "pattern")


@pytest.mark.parametrize("near", [None, 0])
@pytest.mark.parametrize("lengths", ["bytes", "same", "pattern"])
@pytest.mark.parametrize("name", ["long_lists", "rmat_16", "hubs", "directed", "unsorted"])
def test_bellman_ford(name, lengths, near):
    a = shape(name, lengths)
    with ps.options(device_memory=budget(a, near)):
        for source in sources(a, 1):
            told = found(a, source, f"{name} {lengths} {near}", method="bellman_ford")
            assert {step["kind"] for step in told["steps"]} <= {"scan"}


@pytest.mark.parametrize("near", [None, 0.5, 0])
@pytest.mark.parametrize("name", ["long_lists", "rmat_16", "grid", "road", "lift"])
def test_counted(name, near):
    """Lists that are on the GPU cost nothing; a round of Bellman and Ford over far ones reads each once at least."""
    a = shape(name, "bytes")
    with ps.options(device_memory=budget(a, near)):
        source = int(np.argmax(np.diff(a.indptr)))
        told = found(a, source, name, counted=True)
        far = told["graph"]["far_bytes"]
        assert (told["read"]["bytes"] > 0) <= (far > 0)
        if name in ("rmat_16", "lift") and near == 0:
            told = found(a, source, name, counted=True, method="bellman_ford")
            assert told["read"]["bytes"] >= 0.8 * far


def test_windows_are_pushed_pulled_and_small():
    a = shape("rmat_16", "bytes")
    kinds = {s["kind"] for s in found(a, int(np.argmax(np.diff(a.indptr))), "rmat_16")["steps"]}
    assert "pull" in kinds, kinds
    assert "small" in {s["kind"] for s in found(shape("road", "words"), 5, "road")["steps"]}


@pytest.mark.parametrize("delta", [1, 7, 1000, 1e9])
def test_delta_has_no_influence(delta):
    for name in ("rmat_16", "long_lists", "directed"):
        found(shape(name, "bytes"), 0, name, delta=delta)


def test_float32_and_sums_beyond_it():
    for lengths, most in (("bytes", 73), ("words", 60_000)):
        a = named("path", lengths, np.float32)
        told = found(a, 0, f"path {lengths}")
        assert told["schedule"] == "zero_copy" or told["graph"]["far_bytes"] == 0, most
    a = graph(70_000, np.arange(69_999), np.arange(1, 70_000), np.full(69_999, 65_000.0))
    found(a, 0, "beyond 2^31")
    with ps.options(device_memory=budget(a, 0.5)):  # room for distances of 4 bytes, and then of 8
        told = found(a, 0, "beyond 2^31, far")
        assert told["graph"]["far_bytes"] > 0
        found(a, 5, "beyond 2^31, far")


def test_dijkstra_with_limits_and_several_sources():
    a = shape("rmat_16", "bytes")
    on = GpuOptions(access="packed")
    starts = sources(a, 2)
    for limit in (60.0, np.inf):
        how = {"indices": starts, "limit": limit, "return_predecessors": True}
        for one in (True, False):
            got = ps.csgraph.dijkstra(a, device=0, gpu_options=on, min_only=one, **how)
            expected = ps.csgraph.dijkstra(a, device="cpu", min_only=one, **how)
            for part, right in zip(got, expected, strict=True):
                same(np.ravel(part), np.ravel(right), f"limit {limit}")


def test_searches_and_paths_in_turns(monkeypatch):
    """The GPU packs lists without lengths and then with them, which searches read, too; the CPU packs nothing."""
    a = shape("lift", "bytes")
    a._derived.symmetric_pattern = True
    a._derived.packed_paths = a._derived.packed_lists = None
    monkeypatch.setattr(_core, "pack_lengths", None)
    monkeypatch.setattr(_core, "pack_lists", None)
    packed = GpuOptions(placement="packed")
    levels = ps.csgraph.bfs(a, 3, device="cpu")
    far = ps.csgraph.sssp(a, 3, device="cpu")
    with ps.record() as told:
        for _ in range(2):
            same(ps.csgraph.bfs(a, 3, device=0, gpu_options=packed), levels, "bfs")
            same(ps.csgraph.sssp(a, 3, device=0, gpu_options=packed), far, "sssp")
    assert [e["graph"]["lengths"] for e in told] == [False, True, True, True]
    assert {e["graph"]["packed_by"] for e in told} == {"gpu"}
    a.release()


def test_packed_by_the_first_search():
    a = ps.generate.rmat(19, seed=9)
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)).astype(np.int64)
    values = 8.0 + (rows ^ np.asarray(a.indices)) % 65
    a = ps.csr_array._from_parts(*a.shape, np.asarray(a.indptr), np.asarray(a.indices), values)
    facts = path_lists(a, weights_of(a)).facts()
    a._derived.packed_paths = a._derived.packed_lists = None
    expected = ps.csgraph.sssp(a, 1, device="cpu")
    with ps.options(device_memory=facts["bytes"] + 13 * a.shape[0] + (13 << 20)):
        placed, packers = [], []
        for _ in range(3):
            plan = ps.csgraph.explain(a, "sssp", device=0)
            with ps.record() as events:
                same(ps.csgraph.sssp(a, 1, device=0), expected, "auto")
            placed.append(events[-1]["graph"]["placement"])
            packers.append(events[-1]["graph"]["packed_by"])
            assert plan.lists == placed[-1]
        assert placed == ["packed"] * 3 and packers == ["gpu"] * 3
        facts = events[-1]["graph"]
        lists = plan.gpu_bytes["lists"]
        assert abs(facts["packed_bytes"] - facts["offset_bytes"] - lists) < 1024
        assert abs(facts["edge_bytes"] - lists) < 0.05 * facts["edge_bytes"]
        assert facts["offset_bytes"] == plan.gpu_bytes["offsets"] and plan.link_bytes == 0


@pytest.mark.parametrize("lengths", [name for name in LENGTHS if name not in PACKABLE])
def test_lengths_that_are_refused(lengths):
    a = named("rmat_10", lengths)
    if lengths == "tiny_and_huge" or lengths == "fractions" or lengths == "some_infinite":
        match = "some with fractions, infinite"
    else:
        match = "choose another placement than"
    with pytest.raises(ValueError, match=match):
        ps.csgraph.sssp(a, 0, device=0, gpu_options=GpuOptions(placement="packed"))
    expected = ps.csgraph.sssp(a, 0, device="cpu")
    a._derived.path_link_seconds = 1e9
    same(ps.csgraph.sssp(a, 0, device=0), expected, "auto")


def test_refusals():
    a = named("rmat_10", "bytes")
    with pytest.raises(ValueError, match="packed lists are not cached"):
        ps.csgraph.sssp(a, 0, device=0, gpu_options=GpuOptions(placement="packed", cache="1MB"))
    pattern = named("rmat_10", "pattern")
    alone = _core.gpu_graph(
        pattern._core, 0, "packed"
    )  # packed by the GPU, where lists above 1022 entries are apart
    far = _core.sssp_gpu(alone, pattern._core, weights_of(pattern), np.array([0], np.int32))[0]
    same(far, ps.csgraph.sssp(pattern, 0, device="cpu"), "a pattern")
    plain = _core.gpu_graph(a._core, 0, "packed")
    with pytest.raises(ValueError, match="the packed lists have no lengths"):
        _core.sssp_gpu(plain, a._core, weights_of(a), np.array([0], np.int32))
