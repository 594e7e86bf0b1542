"""The graph benchmark on toy inputs, its references, and programs that stand for the GAP suite's."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bench_files import read_report
from test_bench import BENCH, checked, run

pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)
ALGORITHMS = ("bfs", "sssp", "cc", "pagerank", "triangles", "core")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    monkeypatch.syspath_prepend(str(BENCH))
    import graph_cpu
    from lib import graph_checks, graphs, harness
    from rivals import gap as rivals_gap
    from rivals import graph as rivals_graph

    return SimpleNamespace(
        checks=graph_checks, cpu=graph_cpu, gap=rivals_gap, graphs=graphs, harness=harness,
        rivals=rivals_graph,
    )  # fmt: skip


def directed(n: int = 60, seed: int = 0) -> Any:
    return sp.random_array((n, n), density=0.05, rng=np.random.default_rng(seed), format="csr")


def test_on_toy_graphs(tmp_path: Path) -> None:
    out = tmp_path / "graph.json"
    run("graph_cpu.py", "--quick", "--contestants", "penstock,penstock_tree,scipy", "--repeats", 2,
        "--sources", 3, "--out", out, "--temporary", tmp_path)  # fmt: skip
    data = checked(out, "graph_cpu", 2)
    assert len(data["cases"]) == 3 * len(ALGORITHMS)
    for case in data["cases"]:
        assert case["undirected"]
        assert case["work"] > 0
        ours = case["results"]["penstock"]
        assert ours["gteps"] == pytest.approx(case["work"] / ours["median"] / 1e9, rel=1e-4)
        if case["algorithm"] in ("bfs", "sssp"):
            assert len(set(case["sources"])) == ours["sources"] == 3
            assert case["best_rival"] == "scipy"
    assert {case["dtype"] for case in data["cases"]} == {None, "float32"}
    assert [p.name for p in tmp_path.iterdir()] == ["graph.json"]


def test_a_directed_file(tmp_path: Path) -> None:
    sp.save_npz(tmp_path / "web.npz", directed())
    out = tmp_path / "graph.json"
    run("graph_cpu.py", "--quick", "--graphs", tmp_path / "web.npz", "--repeats", 1, "--sources", 2,
        "--contestants", "penstock,scipy", "--out", out)  # fmt: skip
    cases = {case["algorithm"]: case for case in checked(out, "graph_cpu", 1)["cases"]}
    assert set(cases) == {*ALGORITHMS, "scc"}
    assert not cases["bfs"]["undirected"]
    assert cases["triangles"]["undirected"]


@pytest.mark.parametrize("name", ["networkit", "igraph"])
def test_optional_rivals(tmp_path: Path, name: str) -> None:
    pytest.importorskip(name)
    path, out = tmp_path / "web.npz", tmp_path / "graph.json"
    sp.save_npz(path, directed())
    run("graph_cpu.py", "--quick", "--graphs", f"rmat9,{path}", "--contestants", f"penstock,{name}",
        "--repeats", 1, "--sources", 2, "--threads", 1, "--out", out)  # fmt: skip
    cases = checked(out, "graph_cpu", 1)["cases"]
    assert len(cases) == 2 * len(ALGORITHMS) + 1
    for case in cases:
        assert case["results"][name]["status"] == "ok"


def fake(folder: Path, program: str, *lines: str) -> None:
    """A program that prints what one of the suite would, and notes how it was called."""
    text = "\n".join(["#!/bin/sh", f'echo "$OMP_NUM_THREADS $@" >> {folder}/{program}.log',
                      *(f"echo '{line}'" for line in lines)])  # fmt: skip
    path = folder / program
    path.write_text(text + "\n")
    path.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="the programs are shell scripts")
def test_gap_programs(tmp_path: Path) -> None:
    import penstock as ps

    count = ps.csgraph.connected_components(ps.generate.rmat(9, seed=1))[0]
    fake(tmp_path, "cc", "Trial Time:            0.00300", "Trial Time:            0.00100",
         "Trial Time:            0.00200", f"There are {count} components",
         "Verification:           PASS")  # fmt: skip
    out = tmp_path / "graph.json"
    options = ("--quick", "--graphs", "rmat9", "--algorithms", "cc", "--repeats", 2, "--threads", 2)
    run("graph_cpu.py", *options, "--contestants", "penstock,gap", "--gap", tmp_path, "--out", out,
        "--raw", tmp_path / "raw.json")  # fmt: skip
    case = checked(out, "graph_cpu", 2)["cases"][0]
    raw = read_report(tmp_path / "raw.json")["cases"][0]
    assert raw["results"]["gap"]["seconds"] == [0.002, 0.002]
    assert case["best_rival"] == "gap"
    calls = (tmp_path / "cc.log").read_text().splitlines()
    assert all(call.startswith("2 -f ") and "rmat9.sg" in call for call in calls)
    assert [("-v" in call.split(), "-n 3" in call) for call in calls] == [
        (True, False), *[(False, True)] * 3, (True, False)
    ]  # fmt: skip

    fake(tmp_path, "cc", "Trial Time: 0.001", "There are 1 components", "Verification: PASS")
    run("graph_cpu.py", *options, "--contestants", "penstock,gap", "--gap", tmp_path, "--out", out)
    with pytest.raises(AssertionError, match="gap"):
        checked(out, "graph_cpu", 2)
    assert "no such folder" in run("graph_cpu.py", "--quick", "--gap", tmp_path / "no", status=2)


def test_references(bench: SimpleNamespace) -> None:
    import networkx as nx

    graph = bench.graphs.Graph("g", bench.graphs.simple(directed()))
    g = nx.from_scipy_sparse_array(graph.scipy(weighted=True), create_using=nx.DiGraph)
    sources = graph.sources(3)
    for s, levels in zip(sources, bench.checks.bfs_levels(graph, sources), strict=True):
        expected = nx.single_source_shortest_path_length(g, s)
        assert levels.tolist() == [expected.get(v, -1) for v in range(60)]
    for s, far in zip(sources, bench.checks.distances(graph, sources), strict=True):
        expected = nx.single_source_dijkstra_path_length(g, s)
        assert far.tolist() == [expected.get(v, np.inf) for v in range(60)]
    both = g.to_undirected()
    assert bench.checks.triangles(graph) == sum(nx.triangles(both).values()) // 3
    assert bench.checks.cores(graph).tolist() == [nx.core_number(both)[v] for v in range(60)]
    ranks = nx.pagerank(g, tol=1e-13, max_iter=500, weight=None)
    np.testing.assert_allclose(bench.checks.ranks(graph), [ranks[v] for v in range(60)], atol=1e-11)


def test_wrong_results_are_wrong(bench: SimpleNamespace) -> None:
    c = bench.checks
    levels = [np.array([0, 1, 2, -1], np.int32)]
    assert c.same([levels[0].copy()], levels) == 0
    assert c.same([np.array([0, 1, 1, -1])], levels) > 1
    assert c.same([], levels) > 1
    parts = np.array([0, 0, 1, 2])
    assert c.same_parts([5, 5, 3, 1], parts) == 0
    for wrong in ([0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0]):
        assert c.same_parts(wrong, parts) > 1
    ranks = np.array([0.5, 0.3, 0.2])
    assert c.rank_error(2 * ranks, ranks) < 1e-9
    assert c.rank_error(ranks + [1e-3, 0, -1e-3], ranks) > 1
    assert c.rank_error(ranks * np.nan, ranks) > 1


def test_weights_are_the_same_both_ways(bench: SimpleNamespace) -> None:
    graph = bench.graphs.TOY["rmat9"]()
    a = graph.scipy(weighted=True)
    assert graph.undirected
    assert (a != a.T).nnz == 0
    assert a.data.min() >= 1
    assert a.data.max() <= 255
    assert np.unique(a.data).size > 200
    road = bench.graphs.TOY["road30"]()  # has its own
    assert road.weights.max() <= 14


def test_times_are_of_one_unit(bench: SimpleNamespace) -> None:
    h, ticks = bench.harness, iter(range(1000))
    people = [
        h.Contestant("four", lambda: next(ticks), "ours", units=4),
        h.Contestant("own", lambda: 0, timed=lambda: 0.25),
    ]
    clock = iter(np.arange(0.0, 1000.0, 1.0))
    saved, h.time = h.time, SimpleNamespace(perf_counter=lambda: next(clock), sleep=lambda _: None)
    try:
        entry = h.measure(
            h.Case("c", lambda _: 0.0, work=1e9, rate="gteps"), people,
            h.Settings(3, 0.0, warm_turns=False),
        )  # fmt: skip
    finally:
        h.time = saved
    assert entry["results"]["four"]["seconds"] == [0.25] * 3  # a call takes one tick
    assert entry["results"]["own"]["seconds"] == [0.25] * 3
    assert entry["results"]["four"]["gteps"] == 4.0
