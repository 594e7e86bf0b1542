"""Lifts of real graphs in bench/structure.py: the CPU's rows, those of a GPU that the CPU plays, and rivals."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, main, program
from test_bench import run
from test_bench_emogi2020 import PlayedGpu

import penstock as ps
from penstock import _core

pytestmark = NEEDS_BENCH
ON_CPU = ("--quick", "--device", "cpu")
KINDS = ("web", "social", "friends", "bipartite", "road", "history", "mesh")
EMOGI = """#!/bin/sh
while [ "$1" != -r ]; do shift; done
[ -z "$3" ] && echo "run   0: src $2, iteration   7, time    12.500000 ms"
"""
GAP = """#!/bin/sh
case "$*" in *-a*) echo "BFS Tree has {reached} nodes"; echo "There are 1 components";; esac
echo "Trial Time:            0.25000"
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("structure", monkeypatch)


def test_every_kind_and_algorithm(tmp_path: Path) -> None:
    out = tmp_path / "structure.json"
    raw = tmp_path / "raw.json"
    options = ("--sources", 4, "--rivals", "scipy", "--out", out, "--raw", raw)
    said = run("structure.py", *ON_CPU, *options)
    data = read_report(out)
    for case in read_report(raw)["cases"]:  # with all digits
        for result in case["results"].values():
            assert result["worst"] == pytest.approx(result["max"] / result["median"], rel=1e-4)
    assert data["skipped"] == []
    assert data["settings"]["on_host"]
    assert {(c["kind"], c["algorithm"]) for c in data["cases"]} == {
        (kind, algorithm) for kind in KINDS for algorithm in ("bfs", "cc", "sssp")
    }
    for case in data["cases"]:
        assert case["nnz"] >= 2000
        assert case["copies"] > 1
        assert case["turns"] == 4
        assert set(case["results"]) == {"cpu", "scipy"}
        for result in case["results"].values():
            assert result["status"] == "ok"
            assert 0 < result["min"] <= result["median"] <= result["max"]
        assert case["best_rival"] == "scipy"
        assert case["ratios"]["cpu"] > 0
        assert case["case"] in said


def test_denser_products(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from scipy import sparse
    from studies.structure import graphs

    a = graphs.base("web", quick=True)
    source = graphs.product("web", a, 20, 0, degree=6)
    found = source.make().to_scipy()
    n = a.shape[0]
    factor = sparse.csr_matrix((20, 20), dtype=bool)
    factor[0] = [found[0, c * n : (c + 1) * n].nnz > 0 for c in range(20)]
    around = [np.roll(factor[0].toarray().ravel(), c) for c in range(20)]
    assert np.sum(around[0]) == 6
    assert not around[0][0]
    assert (found != sparse.kron(np.array(around), a.to_scipy()).tocsr()).nnz == 0
    assert (found != found.T).nnz == 0
    out = tmp_path / "structure.json"
    words = ("--graphs", "web,social", "--denser", 6, "--algorithms", "bfs,cc", "--sources", 2)
    assert main(bench, monkeypatch, *ON_CPU, *words, "--out", out) == 0
    cases = read_report(out)["cases"]
    assert [c["graph"] for c in cases] == ["webx13by6"] * 2 + ["socialx13by6"] * 2
    with pytest.raises(SystemExit):
        main(bench, monkeypatch, *ON_CPU, "--denser", 5)


def test_every_kind_has_a_stand_in(bench: ModuleType) -> None:
    from studies.structure import graphs

    assert tuple(graphs.TOY) == tuple(graphs.KINDS) == KINDS
    for make in graphs.TOY.values():
        a = make().to_scipy()
        assert (a != a.T).nnz == 0
        assert not a.diagonal().any()


def test_a_random_geometric_graph_by_name(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    from studies.structure import graphs

    a = graphs.base("geo400", quick=False)
    radius = np.sqrt(12 / (np.pi * 400))
    assert (a.to_scipy() != ps.generate.random_geometric(400, radius, seed=1).to_scipy()).nnz == 0
    with pytest.raises(graphs.Unfit, match="at least 2 vertices"):
        graphs.base("geo1", quick=False)
    out = tmp_path / "structure.json"
    words = ("--graphs", "geo60", "--copies", 4, "--algorithms", "bfs", "--sources", 2)
    assert main(bench, monkeypatch, *ON_CPU, *words, "--out", out) == 0
    (case,) = read_report(out)["cases"]
    assert (case["graph"], case["kind"], case["rows"]) == ("geo60x4", "geo", 240)


def test_a_file_copies_and_a_graph_that_is_none(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps.generate.uniform(40, nnz_per_row=3, dtype=bool, seed=1).save(tmp_path / "some.mtx")
    ps.generate.uniform(4, 5, nnz_per_row=1, seed=1).save(tmp_path / "wide.mtx")
    out = tmp_path / "structure.json"
    names = f"{tmp_path}/some.mtx,{tmp_path}/wide.mtx,no-such,rmat5"
    words = ("--graphs", names, "--copies", 7, "--algorithms", "cc", "--sources", 2, "--out", out)
    assert main(bench, monkeypatch, *ON_CPU, *words) == 1
    data = read_report(out)
    assert [c["graph"] for c in data["cases"]] == ["somex7", "rmat5x7"]
    assert data["cases"][0]["rows"] == 7 * 40
    told = {s["what"]: s["why"] for s in data["skipped"]}
    assert "4 x 5 is no graph" in told["wide.mtx"]
    assert "neither a file nor rmatN, geoN or one of web" in told["no-such"]
    assert str(tmp_path) not in json.dumps(data["settings"])


def test_bad_arguments(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for words, told in (
        (("--device", "77"), "77"),
        (("--device", "fast"), "fast"),
        (("--copies", 0), "are positive"),
        (("--mix", 2), "--mix 0 to 1"),
        (("--gap", tmp_path / "none"), "no such folder"),
        (("--algorithms", "bfs,tsp"), "unknown tsp"),
        (("--copies", 2, "--edges", 3), "not allowed with"),
        (("--gpus", "0"), "0: give the numbers of two GPUs or more"),
        (("--gpus", "1,1"), "1,1: give the numbers of two GPUs or more"),
        (("--gpus", "0,77"), "--gpus 0,77: "),
        (("--gpus", "0,1", "--programs-only"), "not allowed with"),
        (("--programs-only",), "give --emogi or --gap"),
    ):
        with pytest.raises(SystemExit):
            main(bench, monkeypatch, "--quick", *words)
        assert told in capsys.readouterr().err


def test_programs_of_gap(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that print what GAP's print: found right where the number of vertices is, wrong elsewhere."""
    for reached, status in ((300, "ok"), (299, "wrong")):
        for name in ("bfs", "cc", "sssp"):
            file = tmp_path / name
            file.write_text(GAP.format(reached=reached))
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        out = tmp_path / "structure.json"
        words = (
            "--graphs",
            "web",
            "--copies",
            5,
            "--algorithms",
            "bfs",
            "--sources",
            3,
            "--mix",
            1,
        )
        others = ("--rivals", "", "--gap", tmp_path, "--out", out)
        main(bench, monkeypatch, *ON_CPU, *words, *others)
        (case,) = read_report(out)["cases"]
        assert case["results"]["gap"]["status"] == status
        assert (case["best_rival"] == "gap") == (status == "ok")
        if status == "ok":
            assert case["results"]["gap"]["sources"] == 3
            assert case["results"]["gap"]["median"] == 0.25


def played(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> PlayedGpu:
    gpu = PlayedGpu()
    for name in ("bfs", "sssp", "connected_components"):
        monkeypatch.setattr(ps.csgraph, name, gpu.function(getattr(ps.csgraph, name)))
    monkeypatch.setattr(bench, "settle", _with_a_gpu(bench.settle))
    monkeypatch.setattr(
        bench, "probe", lambda on_host, fresh: {"gpus": [], "together": {"1": {"h2d": 1e9}}}
    )
    return gpu


def _with_a_gpu(real: Any) -> Any:
    def settle(parser: Any, args: Any) -> bool:
        args.device = "cpu"
        real(parser, args)
        return False

    return settle


@pytest.mark.skipif(_core.device_count() > 0, reason="plays a GPU where there is none")
def test_rows_of_a_gpu(tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, out = played(bench, monkeypatch), tmp_path / "structure.json"
    assert main(bench, monkeypatch, "--quick", "--graphs", "web,road", "--sources", 3, "--out", out) == 0  # fmt: skip
    data = read_report(out)
    assert len(data["cases"]) == 6
    for case in data["cases"]:
        assert {"in_core", "ours", "aligned", "cpu"} <= set(case["results"])
        size = 5 if case["algorithm"] == "sssp" else 4
        assert case["edge_bytes"] == size * case["nnz"]
        assert case["pass_seconds"] == pytest.approx(case["edge_bytes"] / 1e9, rel=1e-4)
        limit = 32 * case["rows"] + (64 << 20) + case["edge_bytes"] // 4
        assert case["results"]["ours"]["device_memory"] == pytest.approx(limit, abs=1)
        assert case["results"]["in_core"].get("device_memory") is None
        assert case["results"]["ours"]["read"]["bytes"] > 0
    budgets = {how["budget"] for how in gpu.asked if how["placement"] == "pinned"}
    assert None not in budgets


@pytest.mark.skipif(_core.device_count() > 0, reason="plays a GPU where there is none")
def test_a_process_of_emogi_for_each_root(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(bench, monkeypatch)
    file, out = tmp_path / "bfs_32", tmp_path / "structure.json"
    file.write_text(EMOGI)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    words = ("--quick", "--graphs", "web", "--algorithms", "bfs", "--sources", 5, "--out", out)
    assert main(bench, monkeypatch, *words, "--emogi", tmp_path) == 0
    (case,) = read_report(out)["cases"]
    for name in ("emogi", "emogi_in_core"):
        assert case["results"][name]["sources"] == 4
        assert case["results"][name]["median"] == pytest.approx(0.0125)


@pytest.mark.skipif(_core.device_count() > 0, reason="plays a GPU where there is none")
def test_a_wrong_result_is_found(
    tmp_path: Path, bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu, out = played(bench, monkeypatch), tmp_path / "structure.json"
    in_core = lambda how: how["placement"] == "device"  # noqa: E731
    gpu.spoil = lambda how, found: np.where(found == 2, 3, found) if in_core(how) else found
    words = ("--quick", "--graphs", "web", "--algorithms", "bfs", "--sources", 3, "--out", out)
    assert main(bench, monkeypatch, *words) == 1
    (case,) = read_report(out)["cases"]
    assert case["results"]["in_core"]["status"] == "wrong"
    assert case["results"]["ours"]["status"] == "ok"


@pytest.mark.parametrize("name", ["networkit"])
def test_optional_rivals(tmp_path: Path, name: str) -> None:
    pytest.importorskip(name)
    out = tmp_path / "structure.json"
    run("structure.py", *ON_CPU, "--rivals", name, "--sources", 2, "--out", out)  # fmt: skip
    assert all(c["results"][name]["status"] == "ok" for c in read_report(out)["cases"])


def test_lifts_in_the_other_graph_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "graph.json"
    graph_cpu = program("graph_cpu", monkeypatch)
    words = ("--quick", "--repeats", 1, "--sources", 2, "--out", out, "--algorithms", "bfs,sssp")
    words = (*words, "--contestants", "penstock,scipy", "--graphs")
    assert main(graph_cpu, monkeypatch, *words, "rmat9*3,road30*2") == 0
    cases = read_report(out)["cases"]
    assert {(c["graph"], c["vertices"]) for c in cases} == {
        ("rmat9x3", 3 * 512),
        ("road30x2", 1800),
    }
    assert all(r["status"] == "ok" for c in cases for r in c["results"].values())
    with pytest.raises(SystemExit, match="say how many copies"):
        main(graph_cpu, monkeypatch, *words, "rmat9*x")
    emogi, out = program("emogi2020", monkeypatch), tmp_path / "emogi.json"
    words = ("--quick", "--parts", "bfs,sssp", "--scales", "", "--uniform", "", "--sources", 3)
    assert main(emogi, monkeypatch, *words, "--lifts", "web*5,road*4", "--out", out) == 0
    cases = read_report(out)["cases"]
    assert {(c["part"], c["graph"]) for c in cases} == {
        (part, graph) for part in ("bfs", "sssp") for graph in ("webx5", "roadx4")
    }
    with pytest.raises(SystemExit, match="neither a file"):
        main(emogi, monkeypatch, *words, "--lifts", "no-such*5", "--out", out)
