"""bench/structure.py on several GPUs beside one, which the CPU plays: rows, ratios, the goal and the table."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, main, program
from test_bench_emogi2020 import PlayedGpu

import penstock as ps
from penstock import _core

pytestmark = NEEDS_BENCH
TINY = ("--quick", "--graphs", "web", "--sources", 3)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("structure", monkeypatch)


@pytest.fixture
def gpus(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> PlayedGpu:
    """Two GPUs, both played by the CPU."""
    if _core.device_count():
        pytest.skip("plays GPUs where there is none")
    played = PlayedGpu()
    for name in ("bfs", "sssp", "connected_components"):
        monkeypatch.setattr(ps.csgraph, name, played.function(getattr(ps.csgraph, name)))
    monkeypatch.setattr(bench, "_core", SimpleNamespace(device_count=lambda: 2))
    links = {"gpus": [], "together": {"1": {"h2d": 1e9}}}
    monkeypatch.setattr(bench, "probe", lambda on_host, fresh: links)
    return played


def test_rows_of_two_gpus_beside_one(
    tmp_path: Path, bench: ModuleType, gpus: PlayedGpu, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    out = tmp_path / "structure.json"
    assert main(bench, monkeypatch, *TINY, "--gpus", "1,0", "--share", 0.1, "--out", out) == 0
    data = read_report(out)
    assert data["settings"]["gpus"] == [1, 0]
    for case in data["cases"]:
        together = {n for n in case["results"] if n.endswith("_gpus")}
        expected = {"default_gpus", "packed_gpus", "ours_gpus"}
        assert together == (set() if case["algorithm"] == "sssp" else expected)
        for name in together:
            one, r = case["results"][name.removesuffix("_gpus")], case["results"][name]
            assert (one["status"], r["status"], r["gpu_count"]) == ("ok", "ok", 2)
            assert r["sources"] == one["sources"] == case["turns"]
            assert r["one_over"] == pytest.approx(one["median"] / r["median"], rel=1e-3)
            assert r["device_memory"] == one["device_memory"], "the budget is that of each GPU"
            assert r["how"]["device"] == [1, 0]
            assert one["how"]["device"] == 1, "the one GPU is the first of them"
    assert {tuple(h["device"]) for h in gpus.asked if isinstance(h["device"], list)} == {(1, 0)}
    assert "Several GPUs beside one" in capsys.readouterr().out


def test_gpus_that_are_not_there(
    bench: ModuleType, gpus: PlayedGpu, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for words, told in (
        (("--gpus", "0,2"), "--gpus 0,2: 2 GPUs are usable here"),
        (("--gpus", "0,1", "--device", "cpu"), "--device cpu: with --gpus give one of them"),
        (("--gpus", "0,1", "--algorithms", "sssp"), "several GPUs do bfs and cc"),
    ):
        with pytest.raises(SystemExit):
            main(bench, monkeypatch, *TINY, *words)
        assert told in capsys.readouterr().err
    assert not gpus.asked


@pytest.mark.skipif(_core.device_count() > 0, reason="there are GPUs")
def test_without_a_gpu(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main(bench, monkeypatch, *TINY, "--gpus", "0,1")
    assert "--gpus 0,1: 0 GPUs are usable here" in capsys.readouterr().err


def row(ms: float, **more: Any) -> dict[str, Any]:
    seconds = ms / 1e3
    times = {"median": seconds, "max": seconds, "seconds": [seconds] * 3}
    return {"role": "ours", "status": "ok", **times, **more}


def test_the_goal_is_about_one_gpu_that_reads_over_the_link(bench: ModuleType) -> None:
    from studies.structure import several

    results = {
        "ours": row(9, placement="pinned", kept_share=0.25),
        "ours_gpus": row(5, placement="pinned", kept_share=0.5),
        "packed": row(4, placement="packed", far_bytes=0),
        "packed_gpus": row(3.2, placement="packed", far_bytes=0),
        "default": row(4, placement="packed", far_bytes=100),
        "default_gpus": row(2, placement="packed", far_bytes=0),
    }
    several.compare(results, 2)
    assert results["ours_gpus"]["one_over"] == pytest.approx(1.8)
    case = {"case": "bfs web", "edge_bytes": 4000, "results": results}
    data = {"quick": False, "cases": [case]}
    (goal,) = several.targets(data)
    assert (goal["rows"], goal["met"], goal["got"]) == (2, True, pytest.approx(1.8))
    assert goal["where"] == "bfs web, as they are", "packed is all on one GPU: it does not count"
    for name in ("ours", "default"):  # counted reads tell more than where the lists are
        results[name]["read"] = {"amplification": 0.005}
    results["packed"]["read"] = {"amplification": 0.3}
    (goal,) = several.targets(data)
    assert (goal["rows"], goal["met"], goal["got"]) == (1, False, pytest.approx(1.25))
    ((_, header, rows),) = several.tables(data)
    assert all(len(cells) == len(header) for cells in rows)
    assert [cells[1] for cells in rows] == ["default", "packed", "as they are"]
    assert several.host_bytes(case, results["ours"]) == 3000
    assert several.targets({"quick": False, "cases": []}) == []
    results["ours_gpus"] = {"role": "ours", "status": "wrong", "reason": "other levels"}
    several.compare(results, 2)
    assert len(several.tables(data)[0][2]) == 2
