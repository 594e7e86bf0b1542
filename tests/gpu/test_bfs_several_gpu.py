"""Searches over several GPUs, or over one that is named several times, against those of the CPU."""

import json

import numpy as np
import pytest
from graphs import NAMES, graph, named, sources
from needed_gpus import needs
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu
SEVERAL = [[0, 0], [0, 0, 0], [0, 1], list(range(4))]
SHAPES = [name for name in NAMES if name != "path"]  # of 100000 levels; directed_chain has 2999
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "two_components", "rmat_10", "dense"]


@pytest.fixture(params=SEVERAL, ids=str)
def gpus(request):
    needs(request.param)
    return request.param


def same(got, expected, what):
    bad = np.flatnonzero(got != expected)
    assert not bad.size, (
        f"{what}: {bad.size} of {got.size} differ, vertex {bad[0]}: {got[bad[0]]} is not {expected[bad[0]]}"
    )


def searched(a, source, gpus, what="", **how):
    """Levels, checked against the CPU's; and what the trace tells."""
    with ps.record() as events:
        levels = ps.csgraph.bfs(a, source, device=gpus, gpu_options=GpuOptions(**how))
    same(levels, ps.csgraph.bfs(a, source, device="cpu"), f"{what} from {source} {how} {events}")
    return levels, events[-1]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in SHAPES]
)
def test_every_shape(name, gpus):
    a = named(name)
    for source in sources(a, 2):
        levels, event = searched(a, source, gpus, name)
        assert event["reached"] == np.count_nonzero(levels >= 0), event
        assert event["depth"] == levels.max(), event
        facts = event["graph"]
        assert facts["vertices"] == a.shape[0] and facts["edges"] == a.nnz, facts
        assert facts["gpus"] == gpus[: len(facts["parts"])], facts
        firsts = [part["first_vertex"] for part in facts["parts"]]
        assert firsts[0] == 0 and all(first % 32 == 0 for first in firsts), facts


@pytest.mark.parametrize("access", ["strided", "merged", "aligned", "direct"])
@pytest.mark.parametrize("name", SHAPES)
def test_every_access_top_down_and_automatic(name, access, gpus):
    a = named(name)
    for source in sources(a, 1):
        for method in ("auto", "top_down"):
            searched(a, source, gpus, name, access=access, method=method)


@pytest.mark.parametrize(
    "placement", ["pinned", "host_alloc", "managed_read_mostly", "managed_accessed_by", "device"]
)
@pytest.mark.parametrize("name", ["rmat_16", "star", "directed", "no_edges"])
def test_every_placement(name, placement, gpus):
    a = named(name)
    _, event = searched(a, 0, gpus, name, placement=placement)
    assert event["graph"]["placement"] == placement
    assert (event["schedule"] == "in_core") == (placement == "device")


@pytest.mark.parametrize("sample", [0, 4, 8, 16])
@pytest.mark.parametrize("name", SHAPES)
def test_every_sample_and_predecessors(name, sample, gpus):
    a = named(name)
    for source in sources(a, 1):
        levels, tree = ps.csgraph.bfs(
            a, source, device=gpus, return_predecessors=True, gpu_options=GpuOptions(sample=sample)
        )
        same(levels, ps.csgraph.bfs(a, source, device="cpu"), name)
        ps.csgraph.verify_bfs(a, source, levels, tree)


def _beyond_samples():
    """Vertices whose samples say nothing when a search from 0 reaches level 2, and how many they are: each has one
    neighbour in the frontier, and 38 of far higher degree that only they know. Ranges of three GPUs cut all groups."""
    rng = np.random.default_rng(12)
    f, g, o, h = np.split(1 + rng.permutation(26_200), [1000, 21_000, 26_000])
    tails = [np.zeros(f.size, int), np.repeat(f, 100), o, np.repeat(o, 38)]
    heads = [f, rng.choice(g, 100 * f.size), np.tile(f, 5), rng.choice(h, 38 * o.size)]
    return graph(26_201, np.concatenate(tails), np.concatenate(heads)), o.size + h.size


def test_samples_are_those_of_one_gpu():
    """Degrees of neighbours that another GPU has count as well: as many vertices stay open as on one GPU."""
    a, left_open = _beyond_samples()
    with ps.record() as events:
        for _ in range(2):  # the second search of a graph has the best sample made
            ps.csgraph.bfs(a, 0, device=0, gpu_options=GpuOptions(placement="pinned"))
    one = {step["first_level"]: step["open"] for step in events[-1]["steps"] if step["open"]}
    assert one == {2: left_open}, (left_open, events[-1]["steps"])
    _, event = searched(a, 0, [0, 0, 0], placement="pinned")
    several = {step["first_level"]: step["open"] for step in event["steps"] if step["open"]}
    # One kernel for small levels asks no samples: one GPU may have fewer such steps.
    assert several.get(2) == left_open, (left_open, event["steps"])


def test_directions():
    a = named("rmat_16")
    _, event = searched(a, int(np.argmax(np.diff(a.indptr))), [0, 0], placement="pinned")
    kinds = {step["kind"] for step in event["steps"]}
    assert "top_down" in kinds and {"bottom_up", "mixed"} & kinds, event["steps"]
    _, event = searched(a, 0, [0, 0], method="top_down")
    assert {step["kind"] for step in event["steps"]} == {"top_down"}, event["steps"]


def test_long_lists_are_probed_in_segments():
    a = named("late_hub")
    for how in ({}, {"counted": True}, {"sample": 8}):
        levels, event = searched(a, 0, [0, 0, 0], placement="pinned", **how)
        assert levels[39_001] == 2 and levels[30_001] == 3
        up = [step for step in event["steps"] if step["kind"] == "bottom_up"]
        assert up and up[0]["open"] > 0, event["steps"]


def test_directed_graphs_use_reversed_edges_once_there(gpus):
    rng = np.random.default_rng(5)
    n = 20_000
    offsets = np.arange(n + 1, dtype=np.int64) * 40
    a = ps.csr_array._from_parts(n, n, offsets, rng.integers(0, n, 40 * n, dtype=np.int32), None)
    _, before = searched(a, 1, gpus)
    assert before["missed"] > 0 and a._derived.transpose is None, before
    a.T.formed()
    _, after = searched(a, 1, gpus)
    assert {"bottom_up", "mixed"} & {step["kind"] for step in after["steps"]}, after["steps"]
    ps.csgraph.verify_bfs(a, 1, *ps.csgraph.bfs(a, 1, device=gpus, return_predecessors=True))


@pytest.mark.gpu_small
def test_sources_without_edges_into_them_and_the_last_vertex():
    a = graph(100, [99, 99, 40], [3, 64, 99], both_ways=False)
    a.T.formed()
    for source in (99, 40, 3):
        levels, tree = ps.csgraph.bfs(a, source, device=[0, 0, 0], return_predecessors=True)
        same(levels, ps.csgraph.bfs(a, source, device="cpu"), f"from {source}")
        ps.csgraph.verify_bfs(a, source, levels, tree)


def test_each_gpu_reads_the_lists_of_its_own_vertices():
    """Top-down, every list is read once, by whoever has it: together as many bytes as on one GPU."""
    a = named("rmat_16")
    how = {"method": "top_down", "placement": "pinned", "counted": True, "sample": 0}
    with ps.record() as events:
        levels = ps.csgraph.bfs(a, 0, device=0, gpu_options=GpuOptions(**how))
    _, event = searched(a, 0, [0, 0, 0], **how)
    assert (levels >= 0).sum() == event["reached"]
    # Each part's copy begins at a page, so a list may lie otherwise in its sectors: one more of them at most.
    assert abs(event["read"]["bytes"] - events[-1]["read"]["bytes"]) <= 32 * a.shape[0], event
    edges = [part["edges"] for part in event["graph"]["parts"]]
    assert sum(edges) == a.nnz and max(edges) < 0.6 * a.nnz, edges


def test_large_arrays_are_read_in_place(gpus):
    a = ps.generate.rmat(19, seed=9)
    assert a.indices.nbytes > 32 << 20
    for source in sources(a, 1):
        _, event = searched(a, source, gpus, placement="pinned")
        assert event["graph"]["edge_bytes"] == 0, event["graph"]
        searched(a, source, 0, placement="pinned")  # shares the lock on the pages
    assert a._derived.gpu_parts is not None
    a.release()
    searched(a, 1, gpus, placement="pinned", method="top_down")


def test_budgets():
    a = ps.generate.rmat(17, seed=6)
    n = a.shape[0]
    with ps.options(device_memory=4 * n), pytest.raises(MemoryError, match="offsets of the lists"):
        ps.csgraph.bfs(a, 0, device=[0, 0])
    with ps.options(device_memory=60 * n):
        _, event = searched(a, 0, [0, 0])
    facts = event["graph"]
    assert facts["placement"] == "pinned" and facts["used_bytes"] <= 60 * n == facts["budget"], (
        facts
    )
    with ps.options(device_memory=200 * n):
        _, event = searched(a, 0, [0, 0], placement="pinned")
    assert event["graph"]["sample_size"] == 4, event["graph"]
    with ps.options(device_memory=4 * a.nnz + 100 * n):
        _, event = searched(a, 0, [0, 0])
    assert event["graph"]["placement"] == "device", event["graph"]
    with ps.options(device_memory=60 * n), pytest.raises(MemoryError, match="the edges"):
        ps.csgraph.bfs(a, 0, device=[0, 0], gpu_options=GpuOptions(placement="device"))


def test_many_sources(gpus):
    a = named("rmat_10")
    starts = np.arange(0, 1024, 100)
    levels = ps.csgraph.bfs(a, sources=starts, device=gpus)
    for k, start in enumerate(starts):
        same(levels[k], ps.csgraph.bfs(a, int(start), device="cpu"), f"from {start}")


def test_options_choose_several_gpus():
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    a = ps.generate.rmat(17, seed=6)
    n = a.shape[0]
    for count, memory, used in ((2, 100 * n, [0, 1]), (2, "4GB", [0]), (None, 100 * n, [0])):
        with ps.options(gpus=count, device_memory=memory), ps.record() as events:
            levels = ps.csgraph.bfs(a, 1)
        assert events[-1]["gpus"] == used, events[-1]
        same(levels, ps.csgraph.bfs(a, 1, device="cpu"), used)


def test_many_calls_take_no_more_memory():
    a = named("rmat_10")
    ps.csgraph.bfs(a, 0, device=[0, 0], return_predecessors=True)
    before = _core.gpu_info(0)["free_bytes"]
    for k in range(200):
        ps.csgraph.bfs(a, k, device=[0, 0], return_predecessors=k % 2 == 1)
    assert before - _core.gpu_info(0)["free_bytes"] < 32 << 20


def test_command_line(tmp_path):
    if _core.device_count() < 2:
        pytest.skip("needs two GPUs")
    runner = pytest.importorskip("typer.testing").CliRunner()
    from penstock.cli.app import app

    file = tmp_path / "graph.penstock"
    ps.save(file, named("rmat_10"))
    words = ["bfs", str(file), "--gpus", "2", "--trace", "--verify"]
    told = runner.invoke(app, [*words, "--json"])
    assert told.exit_code == 0, told.output
    facts = json.loads(told.stdout)
    assert facts["gpus"] == 2 and facts["trace"]["gpus"] == [0, 1], facts
    shown = runner.invoke(app, words)
    assert shown.exit_code == 0 and "GPUs 0, 1" in shown.output, shown.output


def test_bad_input():
    a = named("rmat_10")
    g = _core.gpu_parts(a._core, [0, 0])
    with pytest.raises(ValueError, match="source 1024 is outside"):
        _core.bfs_parts(g, g, 1024)
    with pytest.raises(ValueError, match="4, 8 or 16"):
        _core.bfs_parts(g, g, 0, sample=5)
    _core.bfs_parts(g, g, 0)  # a search that failed leaves all as it was
    other = _core.gpu_parts(named("dense")._core, [0, 0])
    with pytest.raises(ValueError, match="of another graph"):
        _core.bfs_parts(g, other, 0)
    with pytest.raises(ValueError, match="of another graph"):
        _core.gpu_parts(named("dense")._core, [0, 0], like=g)
    with pytest.raises(ValueError, match="runs on one GPU"):
        ps.csgraph.bfs(a, 0, device=[0, 0], gpu_options=GpuOptions(method="level_synchronous"))
    with pytest.raises(ValueError, match="GPUs are usable|GPU is usable"):
        ps.csgraph.bfs(a, 0, device=[0, 999])
    with pytest.raises(ValueError, match="names GPUs alone"):
        ps.csgraph.bfs(a, 0, device=[0, "cpu"])
    moved = ps.csr_array._wrap(_core.to_place(a._core, "device"))
    moved._derived.symmetric_pattern = True
    with pytest.raises(ValueError, match="searched on that GPU"):
        ps.csgraph.bfs(moved, 0, device=[0, 0])


def packed_budgets(a, gpus):
    """Of each GPU: everything near; about half of the lists; next to none of them."""
    n, facts = a.shape[0], packed_lists(a).facts()
    named_most = max(gpus.count(gpu) for gpu in gpus)
    part = -(-n // len(gpus)) * 27 + facts["head_bytes"] + 9 * n + (16 << 20) + (1 << 16)
    return [None, named_most * (part + facts["list_bytes"] // len(gpus) // 2), named_most * part]


@pytest.mark.parametrize("near", [0, 1, 2])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in SHAPES]
)
def test_packed_lists(name, near, gpus):
    """Each GPU packs a range of its own."""
    a = named(name)
    with ps.options(device_memory=packed_budgets(a, gpus)[near]):
        for source in sources(a, 2):
            for how in ({}, {"sample": 0}, {"method": "top_down"}, {"counted": True}):
                _, event = searched(a, source, gpus, name, placement="packed", **how)
                facts = event["graph"]
                assert facts["placement"] == "packed" and facts["used_bytes"] <= facts["budget"]
                if near == 0:
                    assert facts["far_bytes"] == 0
        levels, tree = ps.csgraph.bfs(
            a, 0, device=gpus, return_predecessors=True, gpu_options=GpuOptions(placement="packed")
        )
        ps.csgraph.verify_bfs(a, 0, levels, tree)


def test_automatic_choice_packs_where_only_that_fits(gpus):
    """At the first search, as on one GPU; and after searches over the link when these have taken as long as packing."""
    a = ps.generate.lift(named("rmat_16"), 16, seed=3)
    a._derived.symmetric_pattern = True
    n = a.shape[0]
    most = max(gpus.count(gpu) for gpu in gpus)
    fits = -(-n // len(gpus)) * 32 + 9 * n + (17 << 20) + 2 * a.nnz // len(gpus)
    with ps.options(device_memory=most * fits):
        _, event = searched(a, 0, gpus)
        assert event["graph"]["placement"] == "packed" and event["graph"]["far_bytes"] == 0
        a._derived.gpu_parts = None
        searched(a, 0, gpus, placement="pinned")
        there = a._derived.gpu_parts
        a._derived.gpu_parts = ((*there[0][:1], "auto", *there[0][2:]), *there[1:])
        _, event = searched(a, 0, gpus)  # its sample is there
        assert event["graph"]["placement"] == "pinned"
        a._derived.link_seconds = 1e9
        _, event = searched(a, 0, gpus)
        assert event["graph"]["placement"] == "packed" and event["graph"]["far_bytes"] == 0
        told = ps.csgraph.explain(a, "bfs", device=gpus)
        assert told.lists == "packed", told
