"""Packed neighbour lists: every list is given back, and a search of them finds what a search of the matrix does."""

import numpy as np
import pytest
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions, _gpu, _packing

import penstock as ps
from penstock import _core


def round_trip(a):
    offsets, columns = packed_lists(a).unpack()
    assert np.array_equal(offsets, a.indptr)
    rows = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    order = np.lexsort((a.indices, rows))
    assert np.array_equal(columns, np.asarray(a.indices)[order])


def pattern(offsets, columns):
    n = len(offsets) - 1
    return ps.csr_array._from_parts(
        n, n, np.asarray(offsets, np.int64), np.asarray(columns, np.int32), None
    )


@pytest.mark.parametrize("scale", [4, 10, 15])
def test_rmat(scale):
    a = ps.generate.rmat(scale, seed=2)
    round_trip(a)
    hub = int(np.argmax(np.diff(a.indptr)))
    assert np.array_equal(packed_lists(a).bfs(hub), ps.csgraph.bfs(a, hub))


@pytest.mark.parametrize(
    ("offsets", "columns"),
    [
        ([0], []),
        ([0, 0, 0], []),
        ([0, 1], [0]),
        ([0, 4, 4], [1, 1, 0, 1]),  # unsorted, and repeated
        ([0, 3, 5, 5], [2, 1, 0, 0, 2]),
    ],
)
def test_small_and_unsorted(offsets, columns):
    a = pattern(offsets, columns)
    round_trip(a)
    facts = packed_lists(a).facts()
    assert facts["edges"] == len(columns) and facts["vertices"] == len(offsets) - 1


def test_one_long_list_among_empty_ones():
    n = 3_000_000
    columns = np.sort(np.random.default_rng(1).choice(n, 700_001, False))
    offsets = np.zeros(n + 1, np.int64)
    offsets[n // 2 + 1 :] = columns.size
    a = pattern(offsets, columns)
    round_trip(a)
    assert np.array_equal(packed_lists(a).bfs(n // 2), ps.csgraph.bfs(a, n // 2))


def test_runs_take_almost_nothing():
    """Consecutive neighbours have gaps of one: two bits each."""
    n, degree = 4096, 64
    columns = (np.arange(n)[:, None] // 64 * 64 + np.arange(degree)).ravel()
    a = pattern(np.arange(n + 1) * degree, columns)
    round_trip(a)
    assert 8 * packed_lists(a).facts()["list_bytes"] < 2.3 * a.nnz


def test_refusals():
    with pytest.raises(ValueError, match="a graph is a square matrix, not 2 x 3"):
        _core.pack_lists(ps.csr_array(([1.0], ([0], [2])), shape=(2, 3))._core)
    with pytest.raises(ValueError, match="does not read what placement='pinned' keeps"):
        GpuOptions(access="packed", placement="pinned")
    with pytest.raises(ValueError, match="does not read what placement='packed' keeps"):
        GpuOptions(access="merged", placement="packed")
    assert GpuOptions(access="packed").home == "packed" == GpuOptions(placement="packed").home
    a = ps.generate.rmat(4, seed=1)
    with pytest.raises(ValueError, match="source 99 is outside"):
        packed_lists(a).bfs(99)


def test_the_plan_for_a_budget(monkeypatch):
    """Raw lists where they fit, packed ones where only these do."""
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 25e9)  # slower than pages are locked
    a = ps.generate.rmat(18, seed=1)  # 41 MB as it is, 34 packed, the arrays of vertices included
    estimate = _packing.packed_bytes(a)
    assert abs(estimate - packed_lists(a).facts()["bytes"]) < 0.02 * estimate
    a._derived.packed_lists = None
    for budget, seconds, home in (
        (60e6, 100.0, "auto"),
        (38e6, 0.0, "packed"),
        (30e6, 0.0, "auto"),
        (30e6, 100.0, "packed"),
        (6e6, 100.0, "auto"),
    ):
        a._derived.link_seconds = seconds
        with ps.options(device_memory=int(budget)):
            assert _gpu._home([a], [0])[0] == home, (budget, seconds)
    # Where packed lists exceed the budget, what they would take over the link is subtracted for each call.
    room_there = _gpu.room_there
    with ps.options(device_memory=30_000_000):
        each, sizes = _gpu.room_of_each([a], [0], 1), _packing.sizes_of_packed(a)
        far = room_there(a, [0], each, "packed", sizes)["far_bytes"]
        a._derived.link_calls = 10
        packing = _gpu.gpu_pack_seconds(a, 0)
        for slots, price in (
            (0, packing + 10 * 1.125 * far / 25e9),
            (4, packing / (1 - far / (4 * a.nnz))),  # the share that samples leave
        ):
            monkeypatch.setattr(
                _gpu,
                "room_there",
                lambda *x, n=slots, **y: room_there(*x, **y) | {"sample_size": n},
            )
            for factor, home in ((0.99, "auto"), (1.01, "packed")):
                a._derived.link_seconds = factor * price
                told = _gpu._home([a], [0])
                assert told[0] == home, told
            assert "less of them packed" in told[1]
    # A second search that would read all columns for its sample packs instead, if the first one read its share.
    monkeypatch.setattr(
        _gpu, "room_there", lambda *x, **y: room_there(*x, **y) | {"sample_size": 4}
    )
    a._derived.link_calls, a_pass = 1, 4 * a.nnz / 25e9
    with ps.options(device_memory=30_000_000):
        for kind, seconds, home in (
            ("first", 0.13, "packed"),
            ("first", 0.12, "auto"),
            ("highest_degree", 0.13, "auto"),
        ):
            a._derived.gpu_graph = (0, "auto", 30_000_000, 0), Sampled(kind)
            a._derived.link_seconds = seconds * a_pass
            assert _gpu._home([a], [0])[0] == home, (kind, seconds)
    monkeypatch.setattr(_gpu, "room_there", room_there)
    a._derived.link_calls, a._derived.gpu_graph = 0, None
    packed_lists(a)  # it is there: no search has to pay for it
    a._derived.link_seconds = 0.0
    with ps.options(device_memory=38_000_000):
        assert _gpu._home([a], [0])[0] == "packed"
        assert _gpu._home([a, a], [0])[0] == "auto"  # half of the budget each


class Sampled:
    def __init__(self, kind):
        self.kind = kind

    def facts(self):
        return {"placement": "pinned", "sample_kind": self.kind, "gpu": 0, "used_bytes": 0}


def test_calls_over_the_link_are_added_up(monkeypatch):
    """Where lists are packed already, too: those that exceed the budget are read packed as soon as that is faster."""
    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 25e9)
    a = ps.generate.rmat(18, seed=1)
    packed_lists(a)

    class There:
        def facts(self):
            return {"placement": "pinned"}

    with ps.options(device_memory=30_000_000):
        assert _gpu._home([a], [0])[0] == "auto"
        _gpu.note_link(a, There(), {"seconds": 0.02})
        assert (a._derived.link_calls, a._derived.link_seconds) == (1, 0.02)
        assert _gpu._home([a], [0])[0] == "packed"


def test_what_packing_takes_beyond_the_next_search(monkeypatch):
    """A first search of lists as they are reads about as much, and a second one reads all for its sample."""
    a = ps.generate.rmat(12, seed=1)
    sizes, columns = 2 * a.shape[0], 4 * a.nnz

    monkeypatch.setattr(_gpu, "link_up", lambda gpu: 25e9)
    for place in ("host", "pinned"):
        monkeypatch.setattr(ps.csr_array, "place", place)
        assert _gpu._price(a, [0]) == 0
        assert _gpu.gpu_pack_seconds(a, 0) == pytest.approx((sizes + columns) / 25e9)
        assert _gpu.gpu_pack_seconds(a, 0, 2) == pytest.approx(_gpu.gpu_pack_seconds(a, 0) / 2)
    there = Sampled("first")
    a._derived.gpu_graph = ((0, "auto", 0), there)
    assert _gpu._price(a, [0]) == 0
    there.kind = "highest_degree"
    assert _gpu._price(a, [0]) == pytest.approx((sizes + columns) / 25e9)
    assert _gpu._price(a, [0, 1]) == 0  # several GPUs pack at their first search, too
    a._derived.gpu_parts = (((0, 1), "auto", 0), there)
    assert _gpu._price(a, [0, 1]) == pytest.approx(_gpu._price(a, [0]) / 2)
    assert _gpu._price(a, [0, 0]) == pytest.approx(_gpu._price(a, [0]))
    a._derived.gpu_graph, a._derived.row_order = None, (False, False)
    assert _gpu._price(a, [0]) == _gpu.pack_seconds(a)  # the CPU sorts these lists
    assert _gpu._price(a, [0, 1]) == _gpu.pack_seconds(a)
    packed_lists(a)
    assert _gpu._price(a, [0]) == 0 < _gpu._price(a, [0, 1])  # each range is packed anew
