"""What `csgraph.explain` says of a search, beside what the search then takes of the GPU."""

import numpy as np
import pytest
from penstock._io._neighbours import packed_lists
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import has_symmetric_pattern

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def from_the_hub(a, **how):
    return ps.csgraph.bfs(a, int(np.argmax(np.diff(a.indptr))), **how)


FUNCTIONS = {"bfs": from_the_hub, "connected_components": ps.csgraph.connected_components}


def graph():
    a = ps.generate.rmat(18, seed=1)
    has_symmetric_pattern(a)
    return a


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("placement", ["auto", "pinned", "device", "packed"])
@pytest.mark.parametrize("budget", [30_000_000, 38_000_000, 200_000_000])
def test_as_it_happens(function, placement, budget):
    a = graph()
    how = GpuOptions(placement=placement)
    with ps.options(device_memory=budget):
        if placement == "device" and budget < 200_000_000:
            pytest.skip("does not fit")
        if placement == "packed":
            packed_lists(a)  # so that the plan knows their size
        plan = ps.csgraph.explain(a, function, device=0, gpu_options=how)
        for _ in range(3):
            with ps.record() as told:
                FUNCTIONS[function](a, device=0, gpu_options=how)
    facts = told[-1]["graph"]
    if placement == "auto" and facts["placement"] == "packed" != plan.lists:
        # packed, since the searches had taken as long as that
        with ps.options(device_memory=budget):
            plan = ps.csgraph.explain(a, function, device=0, gpu_options=how)
    assert facts["placement"] == plan.lists and facts["budget"] == plan.budget
    assert facts["offset_bytes"] == plan.gpu_bytes["offsets"]
    if plan.lists == "packed":
        room = 1.05 if placement == "auto" else 1.0  # the plan had an estimate
        assert facts["edge_bytes"] <= room * plan.gpu_bytes["lists"] + 16
        assert facts["edge_bytes"] >= 0.9 * plan.gpu_bytes["lists"]
        assert facts["far_bytes"] <= plan.link_bytes or facts["far_bytes"] == 0
    else:
        assert facts["edge_bytes"] == plan.gpu_bytes["lists"]
    assert facts["sample_bytes"] == plan.gpu_bytes["sample"]
    if function == "bfs":
        assert facts["cache_bytes"] <= plan.gpu_bytes["cache"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_search_reads_no_more_over_the_link_than_told(function):
    a = graph()
    how = GpuOptions(placement="pinned", counted=True)
    with ps.options(device_memory=30_000_000 if function == "bfs" else 38_000_000):
        plan = ps.csgraph.explain(a, function, device=0, gpu_options=how)
        with ps.record() as told:
            FUNCTIONS[function](a, device=0, gpu_options=how)
    read = told[-1]["read"]["bytes"]
    assert read <= plan.link_bytes
    assert read > 0 or function != "bfs", "components may be found in the samples alone"


def test_lists_of_a_store_are_not_packed_again(tmp_path, monkeypatch):
    a = graph()
    levels = ps.csgraph.bfs(a, 5, device="cpu")
    a.save(tmp_path / "g.penstock", lists=True)

    def never(*_):
        raise AssertionError("packed again")

    monkeypatch.setattr(_core, "pack_lists", never)
    b = ps.open(tmp_path / "g.penstock")
    with ps.options(device_memory=38_000_000):
        assert ps.csgraph.explain(b, "bfs", device=0).lists == "packed"
        with ps.record() as told:
            found = ps.csgraph.bfs(b, 5, device=0)
    assert told[-1]["graph"]["placement"] == "packed"
    assert np.array_equal(found, levels)
