"""Neighbour samples made on a GPU are those of the CPU, bit for bit; one that is given is used and not made again."""

import numpy as np
import pytest
from graphs import NAMES, graph, named
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
KINDS = ["highest_degree", "first"]
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]


def same(got, expected, what):
    assert got is not None and got[:2] == expected[:2], (what, got and got[:2], expected[:2])
    bad = np.flatnonzero(got[2] != expected[2])
    assert got[2].size == expected[2].size and not bad.size, (
        f"{what}: {bad.size} of {got[2].size} slots differ, slot {bad[:1]}: {got[2][bad[:1]]} is not "
        f"{expected[2][bad[:1]]}"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in NAMES]
)
def test_as_the_cpu_makes_it(name, kind):
    a = named(name)
    for size in (4, 8, 16):
        g = _core.gpu_graph(a._core, 0, "pinned")
        assert g.sample() is None
        g.make_sample(size, kind)
        expected = _core.sample_neighbours(a._core, size, kind)
        same(g.sample(), expected, f"{name} {size} {kind}")
        assert not g.facts()["sample_given"]
        given = _core.gpu_graph(a._core, 0, "pinned", 0, expected)
        given.make_sample(size, kind)
        same(given.sample(), expected, f"{name} {size} {kind}, given")
        assert (
            given.facts()["sample_given"] and given.facts()["sample_bytes"] == 4 * expected[2].size
        )


def test_repeats_in_long_lists():
    """Neighbours that come many times, at every distance: each is in the sample once, wherever the list begins."""
    rng = np.random.default_rng(4)
    tails = np.repeat(np.arange(300), rng.integers(0, 400, 300))
    a = graph(300, tails, rng.integers(0, 12, tails.size), both_ways=False)
    for size in (4, 8, 16):
        g = _core.gpu_graph(a._core, 0, "pinned")
        g.make_sample(size, "highest_degree")
        same(g.sample(), _core.sample_neighbours(a._core, size), f"{size} slots")


@pytest.mark.parametrize("name", ["rmat_16", "directed", "two_components"])
def test_of_parts(name):
    a = named(name)
    g = _core.gpu_parts(a._core, [0, 0, 0], "pinned")
    assert g.sample() is None
    _core.bfs_parts(g, None, 0)
    expected = _core.sample_neighbours(a._core, 4)
    same(g.sample(), expected, name)
    given = _core.gpu_parts(a._core, [0, 0, 0], "pinned", 0, None, expected)
    levels, _, _ = _core.bfs_parts(given, None, 0)
    assert given.facts()["sample_given"] and not g.facts()["sample_given"]
    same(given.sample(), expected, f"{name}, given")
    assert np.array_equal(levels, ps.csgraph.bfs(a, 0, device="cpu"))


def test_only_the_size_and_kind_that_is_wanted_is_used():
    a = named("rmat_10")
    first, eight = (_core.sample_neighbours(a._core, *how) for how in ((4, "first"), (8, KINDS[0])))
    for sample in (first, eight):
        g = _core.gpu_graph(a._core, 0, "pinned", 0, sample)
        _core.bfs_gpu(g, g, 0)  # the first search takes any
        assert g.facts()["sample_given"] == (sample is first), sample[:2]
        _core.bfs_gpu(g, g, 0)
        assert not g.facts()["sample_given"], sample[:2]
        same(g.sample(), _core.sample_neighbours(a._core, 4), sample[:2])
    g = _core.gpu_graph(a._core, 0, "pinned", 0, _core.sample_neighbours(a._core, 4))
    _core.components_gpu(g, g)  # any kind serves
    assert g.facts()["sample_given"], g.facts()
    g = _core.gpu_graph(a._core, 0, "pinned", 0, eight)
    _core.components_gpu(g, g)
    same(g.sample(), first, "components of a graph with another size")
    with pytest.raises(ValueError, match="is not of 1024 vertices"):
        _core.gpu_graph(a._core, 0, "pinned", 0, (*eight[:2], eight[2][:-8]))


def test_through_a_store(tmp_path):
    """A search makes it, the store keeps it, a search of what is opened takes it."""
    a = ps.generate.rmat(16, seed=2)
    path = tmp_path / "a.penstock"
    hub = int(np.argmax(np.diff(a.indptr)))
    pinned = GpuOptions(placement="pinned")
    expected = ps.csgraph.bfs(a, hub, device=0, gpu_options=pinned)
    a.save(tmp_path / "b.penstock")
    assert ps.open(tmp_path / "b.penstock")._derived.neighbour_sample is None
    ps.csgraph.bfs(a, hub, device=0, gpu_options=pinned)  # the second search makes the best one
    a.save(path)
    for gpus in (0, [0, 0]):
        b = ps.open(path, validate=True)
        b._derived.symmetric_pattern = True
        same(b._derived.neighbour_sample, _core.sample_neighbours(a._core, 4), "in the store")
        with ps.record() as events:
            levels = ps.csgraph.bfs(b, hub, device=gpus, gpu_options=pinned)
        assert events[-1]["graph"]["sample_given"], events[-1]["graph"]
        assert np.array_equal(levels, expected)


def test_one_that_does_not_fit_is_not_taken():
    a = ps.generate.rmat(15, seed=3)
    n = a.shape[0]
    a._derived.neighbour_sample = _core.sample_neighbours(a._core, 4)
    with ps.options(device_memory=30 * n), ps.record() as events:
        levels = ps.csgraph.bfs(a, 1, device=0)
    facts = events[-1]["graph"]
    assert facts["sample_size"] == 0 and not facts["sample_given"], facts
    assert np.array_equal(levels, ps.csgraph.bfs(a, 1, device="cpu"))
