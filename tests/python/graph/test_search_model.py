"""What `csgraph.explain` predicts of searches on a GPU and on the CPU, beside what has been measured."""

import re

import pytest
from bench_files import BENCH, read_report
from penstock.csgraph import _search_model as model

RESULTS = BENCH / "results/structure.json"
RULE = BENCH.parent / "src/penstock/graph/bfs/bfs_gpu_rule.hpp"
FUNCTIONS = {"bfs": "bfs", "cc": "connected_components", "sssp": "sssp"}
KINDS = ("web", "social", "bipartite")  # of some dozens of levels
MEASURED = ("in_core", "packed", "cpu")

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="no results are here")


def rows(on_cpu):
    """(case, how, row of results) of all searches of one GPU that has all or most of the lists, or of the CPU."""
    if not RESULTS.exists():
        return []
    found = []
    for case in read_report(RESULTS)["cases"]:
        if case["kind"] not in KINDS or case["algorithm"] not in FUNCTIONS:
            continue
        for how in MEASURED:
            row = case["results"].get(how)
            if row is not None and row["status"] == "ok" and (how == "cpu") == on_cpu:
                found.append(pytest.param(case, how, row, id=f"{case['case']} {how}"))
    return found


def test_there_is_something_to_compare():
    assert len(rows(False)) >= 2 * len(KINDS) * len(FUNCTIONS) and rows(True)


@pytest.mark.parametrize(("case", "how", "row"), rows(False))
def test_within_twice_of_what_a_gpu_took(case, how, row):
    probe = read_report(RESULTS)["probe"]["gpus"][0]
    function, packed = FUNCTIONS[case["algorithm"]], how == "packed"
    uses = model.on_gpus(
        function,
        case["nnz"],
        packed,
        there=row["used_bytes"],
        lists=case["edge_bytes"],
        link=model.link_bytes(
            row["far_bytes"] or 0, case["rows"], case["nnz"], packed=packed, near=row["used_bytes"]
        ),
        device_read=probe["device_read"],
        up=probe["h2d"]["bytes_per_s"],
    )
    told = max(u["seconds"] for u in uses)
    assert 0.5 < told / row["median"] < 2, (told, row["median"])


@pytest.mark.parametrize(("case", "how", "row"), rows(True))
def test_what_the_cpu_took(case, how, row, monkeypatch):
    machine = read_report(RESULTS)["machine"]
    monkeypatch.setattr(model._core, "machine", lambda: machine)
    monkeypatch.setattr(model._core, "num_threads", lambda: machine["threads"])
    moved = 8 * case["rows"] + case["edge_bytes"]
    uses = model.on_cpu(FUNCTIONS[case["algorithm"]], case["rows"], case["nnz"], moved, False)
    told = max(u["seconds"] for u in uses)
    # A search of the web's many levels takes longer, which the plan says.
    least = 0.2 if (case["algorithm"], case["kind"]) == ("bfs", "web") else 0.5
    assert least < told / row["median"] < 2, (told, row["median"])


def test_the_bound_is_that_of_the_searches():
    """A search keeps to constants of C++, which no GPU is needed to read."""
    text = RULE.read_text()
    share = re.search(r"kSpareShare = ([0-9.]+);", text)
    spare = re.search(r"kSpareBytes = (\d+) << (\d+);", text)
    assert float(share[1]) == model.SPARE_SHARE
    assert int(spare[1]) << int(spare[2]) == model.SPARE_BYTES
    most = model.most_link_bytes(8 << 20, 100, 4 << 20, packed=False)
    assert most == (8 << 20) + 56 * 100 + (1 << 20) + (16 << 20)
    assert model.most_link_bytes(0, 100, 4 << 20, packed=True) == 0


def test_several_gpus_and_slower_memory():
    one = model.kernel_seconds("bfs", 10**9, False, 4.6e12)
    assert one == pytest.approx(4.5e-3)
    assert model.kernel_seconds("bfs", 10**9, False, 4.6e12, gpus=2) == pytest.approx(one / 2)
    assert model.kernel_seconds("bfs", 10**9, False, 2.3e12) == pytest.approx(2 * one)
