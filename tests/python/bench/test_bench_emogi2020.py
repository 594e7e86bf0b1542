"""The reproduction of min-2020: the CPU's rows, and all others with a GPU that the CPU plays; figures, page, goals."""

from __future__ import annotations

import doctest
import inspect
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from bench_files import read_report
from child_environment import python_path
from penstock._plan.report import active
from study_support import NEEDS_BENCH, Made, cases, folder_of_graphs, main, program, tiny_run
from test_bench import run

import penstock as ps
from penstock import _core

pytestmark = NEEDS_BENCH
TINY = ("--quick", "--sources", 3, "--scales", 9, "--uniform", 8, "--weighted", 9, "--road", 20)
REQUESTS = {32: 1, 64: 2, 96: 3, 128: 10}
NO_GPU = pytest.mark.skipif(_core.device_count() > 0, reason="rows of a machine without a GPU")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("emogi")
    rng = np.random.default_rng(4)
    graphs = folder_of_graphs(
        folder,
        com_friendster=ps.csr_array((np.ones(300), rng.integers(0, 90, (2, 300))), shape=(90, 90)),
        wide=ps.csr_array(([1.0], ([0], [3])), shape=(2, 5)),
    )
    return tiny_run("emogi2020", folder, *TINY, "--folder", graphs)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("emogi2020", monkeypatch)


class PlayedGpu:
    """Searches for a GPU run on the CPU, and the trace tells what a GPU's would. `spoil(how, result)` changes results,
    `fail(how)` raises."""

    def __init__(self) -> None:
        self.spoil: Any = lambda how, result: result
        self.fail: Any = lambda how: None
        self.asked: list[dict[str, Any]] = []

    def function(self, real: Any) -> Any:
        def search(
            A: Any, source: Any = None, *, device: Any = None, gpu_options: Any = None
        ) -> Any:
            on = gpu_options or ps.csgraph.GpuOptions()
            how = {**asdict(on), "device": device, "budget": ps.options.device_memory}
            first = (A,) if source is None else (A, source)
            result = real(*first, **({"device": "cpu"} if "device" in known else {}))
            if device == "cpu":
                return result
            self.asked.append(how)
            self.fail(how)
            facts = {"placement": on.placement, "used_bytes": 10, "sample_bytes": 2, "cache_bytes": 1,
                     "build_seconds": 1e-3, "sample_seconds": 2e-3}  # fmt: skip
            read = {"bytes": 1600, "requests": REQUESTS} if on.counted else None
            active().append(
                {"graph": facts, "seconds": 1e-3 if on.method == "auto" else 1e-2, "read": read}
            )
            return self.spoil(how, result)

        known = inspect.signature(real).parameters
        return search


@pytest.fixture
def gpu(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> PlayedGpu:
    if _core.device_count():
        pytest.skip("there is a GPU: tests/gpu has the test")
    from studies.emogi2020 import graphs

    played, rmat, reads = PlayedGpu(), ps.generate.rmat, _core.time_reads
    devices = type("Core", (), {"device_count": staticmethod(lambda: 1)})
    monkeypatch.setattr(graphs, "_core", devices)
    monkeypatch.setattr("studies.emogi2020.options._core", devices)
    monkeypatch.setattr(graphs, "pinned", lambda a: a)
    monkeypatch.setattr(ps, "empty", lambda n, dtype, place: np.empty(n, dtype))
    monkeypatch.setattr(ps.generate, "rmat", lambda *a, device=None, **k: rmat(*a, **k))
    monkeypatch.setattr(_core, "time_reads", lambda *a: reads(*a[:-1], -1))
    monkeypatch.setattr(_core, "time_copy_gpu", lambda *a: [1e-3] * 7)
    links = {"gpus": [], "together": {"1": {"h2d": 55e9, "zero_copy": 50e9}}}
    monkeypatch.setattr(bench, "probe", lambda *a, **k: links)
    for name in ("bfs", "connected_components", "sssp"):
        monkeypatch.setattr(ps.csgraph, name, played.function(getattr(ps.csgraph, name)))
    return played


NO_PAGERANK = "toy,bfs,cold,cc,sssp,gpus,road"


@NO_GPU
def test_every_part_has_rows_that_are_right(made: Made) -> None:
    data, _, _ = made
    assert (data["benchmark"], data["schema"], data["quick"]) == ("emogi2020", 2, True)
    assert data["settings"]["on_host"] and data["command"][1] == "bench/emogi2020.py"
    assert data["machine"]["cpu"] and set(data["part_seconds"]) >= {"toy", "graphs", "bfs", "road"}
    assert {c["part"] for c in data["cases"]} == {"toy", "bfs", "cc", "sssp", "pagerank", "road"}
    for case in data["cases"]:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert r["median"] > 0 and len(r["seconds"]) == r.get("sources", len(r["seconds"]))
    found = {c["graph"]: c for c in cases(data, "bfs")}
    assert set(found) == {"kron9", "uniform8", "com-friendster"}
    assert set(found["kron9"]["results"]) == {"cpu"} and found["kron9"]["turns"] == 3
    assert found["kron9"]["edge_bytes"] == 4 * found["kron9"]["nnz"]
    assert {c["graph"] for c in cases(data, "sssp")} == {"kron9", "com-friendster"}
    assert {c["graph"] for c in cases(data, "road")} == {"road20"}
    left_out = {s["what"]: s["why"] for s in data["skipped"]}
    assert "no GPU" in left_out["cold"] and "no graph" in left_out["wide"] and "broken" in left_out
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"


@NO_GPU
def test_what_is_printed_and_drawn(made: Made) -> None:
    _, said, plots = made
    wanted = ("Figures 3 and 4", "figure 9", "figure 11", "PageRank", "road-like", "Goals", "measure nothing",
              "paper: EMOGI on a V100")  # fmt: skip
    assert all(words in said for words in wanted)
    assert {p.stem for p in plots.iterdir()} == {f"emogi2020_{p}" for p in ("toy", "bfs", "beyond")}
    for picture in plots.iterdir():
        assert picture.read_text().lstrip().startswith("<?xml") and picture.stat().st_size > 1500


@NO_GPU
def test_the_page(made: Made, tmp_path: Path) -> None:
    data, _, _ = made
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    docs.mkdir()
    (results / "emogi2020_tiny.json").write_text(json.dumps(data))
    (docs / "performance.md").write_text("<!-- results emogi2020 -->\nstale text\n<!-- end -->\n")
    arguments = ("plot.py", "--results", results, "--docs", docs)
    assert "make plots" in run(*arguments, "--check", status=1)
    run(*arguments)
    page = (docs / "performance.md").read_text()
    assert "stale text" not in page and "no GPU in this run" in page and "**Goals**" in page
    assert "| kron9 | ours on the CPU |" in page
    for name in ("toy", "bfs", "beyond"):
        assert f"(figures/emogi2020/emogi2020_tiny_{name}.svg)" in page
        assert (docs / "figures" / "emogi2020" / f"emogi2020_tiny_{name}.svg").is_file()
    run(*arguments, "--check")


def test_a_gpu_that_is_played(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    out = tmp_path / "e.json"
    options = ("--parts", NO_PAGERANK, "--out", out, "--plots", tmp_path / "plots", "--share", 0.2)
    pytest.importorskip("matplotlib")
    assert main(bench, monkeypatch, *TINY, *options) == 0
    data, said = read_report(out), capsys.readouterr().out
    assert not data["settings"]["on_host"]
    everybody = {"aligned", "ours", "merged", "strided", "in_core", "in_core_baseline", "host_alloc",
                 "managed_accessed_by", "managed_read_mostly", "cpu"}  # fmt: skip
    for part in ("bfs", "cc", "sssp"):
        case = next(c for c in cases(data, part) if c["graph"] == "kron9")
        assert set(case["results"]) == everybody, part
        ours = case["results"]["ours"]
        assert ours["speedup"] == pytest.approx(10) and ours["kept_share"] == pytest.approx(
            3 / case["edge_bytes"], rel=1e-4
        )
        read = ours["read"]
        assert read["count"] == 16 and read["requests"]["128"] == 10
        assert read["amplification"] == pytest.approx(1600 / case["edge_bytes"], rel=1e-4)
        assert read["bytes_per_s"] == pytest.approx(1.6e6)
        assert read["link_seconds"] == pytest.approx(1600 / 50e9)
        vertices = ours["device_memory"] - int(0.2 * case["edge_bytes"]) - (64 << 20)
        assert vertices == 32 * case["rows"]
        assert case["edge_bytes"] == (5 if part == "sssp" else 4) * case["nnz"]
        assert case["results"]["in_core"]["device_memory"] is None
    (cold, _) = cases(data, "cold")
    assert set(cold["results"]) == {"ours_cold", "aligned_cold", "aligned"}
    assert cold["results"]["ours_cold"]["median"] != 1e-3, "whole calls, not the GPU's clock"
    assert set(cases(data, "road")[0]["results"]) == {"ours", "in_core", "cpu"}
    assert all(words in said for words in ("Figures 5, 7, 8 and 10", "managed memory", "not seen"))
    assert {p.stem.removeprefix("emogi2020_") for p in (tmp_path / "plots").iterdir()} == {
        "toy", "requests", "bfs", "amplification", "beyond"}  # fmt: skip
    baseline = {how["method"] for how in gpu.asked if how["access"] == "strided"}
    assert baseline == {"level_synchronous", "label_propagation", "bellman_ford"}
    budgets = {how["placement"]: how["budget"] for how in gpu.asked}
    assert budgets["pinned"] and budgets["device"] is None


@pytest.mark.parametrize("who", ["ours", "aligned"])
@pytest.mark.parametrize("verified", [1, 3])
def test_a_wrong_result_is_caught(
    bench: ModuleType,
    gpu: PlayedGpu,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    who: str,
    verified: int,
) -> None:
    """Also past the searches that are verified, and whoever comes first."""
    calls = {"n": 0}

    def spoil(how: dict[str, Any], levels: Any) -> Any:
        mine = how["method"] == "auto" if who == "ours" else how["access"] == "aligned"
        if mine and how["placement"] == "pinned" and not how["counted"]:
            calls["n"] += 1
            if calls["n"] == 3:  # after getting ready, the second source
                levels = levels.copy()
                levels[int(np.argmax(levels))] += 1
        return levels

    gpu.spoil = spoil
    out = tmp_path / "e.json"
    options = (*TINY, "--parts", "bfs", "--uniform", "", "--verify", verified, "--out", out)
    assert main(bench, monkeypatch, *options) == 1
    (case,) = cases(read_report(out), "bfs")
    wrong = {name for name, r in case["results"].items() if r["status"] != "ok"}
    assert wrong == {who} and case["results"][who]["status"] == "wrong"
    assert "median" not in case["results"][who]


def test_labels_that_differ_are_caught(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where the verifier lets both pass."""

    def other(how: dict[str, Any], found: Any) -> Any:
        return found if how["access"] != "merged" else (found[0], found[1][::-1].copy())

    gpu.spoil = other
    monkeypatch.setattr(ps.csgraph, "verify_components", lambda *a: None)
    out = tmp_path / "e.json"
    options = (*TINY, "--parts", "cc", "--uniform", "", "--out", out)
    assert main(bench, monkeypatch, *options) == 1
    (case,) = cases(read_report(out), "cc")
    assert {n for n, r in case["results"].items() if r["status"] == "wrong"} == {"merged"}


def test_faults_of_one_way(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(how: dict[str, Any]) -> None:
        if how["placement"] == "device":
            raise MemoryError("the edges need 5 bytes")
        if how["access"] == "merged":
            raise RuntimeError("no luck")

    gpu.fail = fail
    out = tmp_path / "e.json"
    options = (*TINY, "--parts", "bfs", "--uniform", "", "--out", out)
    assert main(bench, monkeypatch, *options) == 1
    data = read_report(out)
    results = cases(data, "bfs")[0]["results"]
    assert results["merged"]["status"] == "failed" and "no luck" in results["merged"]["reason"]
    assert "in_core" not in results and results["ours"]["status"] == "ok"
    assert any("in_core" in s["what"] and "5 bytes" in s["why"] for s in data["skipped"])


_PROGRAM = """#!{python}
import sys
import numpy as np
import penstock as ps
o = dict(zip(sys.argv[1::2], sys.argv[2::2]))
name = {name!r}
if name.endswith("_32"):
    def read(end, kind):
        raw = open(o["-f"] + end, "rb").read()
        count = int(np.frombuffer(raw[:8], "<u8")[0])
        data = np.frombuffer(raw[16:], kind)
        assert data.size == count
        return data
    col, dst = read(".col", "<u8"), read(".dst", "<u8")
    assert col[-1] == dst.size and dst.max() < col.size - 1
    if name == "sssp_32":
        val = read(".val", "<u4")
        assert val.size == dst.size and 8 <= val.min() and val.max() <= 72
    n, runs = col.size - 1, int(o.get("-i", 1))
    if name == "cc_32":
        a = ps.csr_array._from_parts(n, n, col.astype(np.int64), dst.astype(np.int32), None)
        print("total components:", ps.csgraph.connected_components(a)[0])
        print("total time: 2.500000 ms")
    else:
        for i in range(runs):
            print(f"run {{i:3}}: src {{i * (n // runs):12}}, iteration   7, time     5.000000 ms")
else:
    a = ps.load(o["-f"])
    for _ in range(int(o["-n"])):
        print("Trial Time: 0.00300")
    if name == "cc":
        print("There are", ps.csgraph.connected_components(a)[0], "components")
    elif name == "bfs":
        print("BFS Tree has", int((ps.csgraph.bfs(a, int(o["-r"])) >= 0).sum()), "nodes and 1 edges")
    else:
        reached = int(np.isfinite(ps.csgraph.sssp(a, int(o["-r"]))).sum())
        print("SSSP Tree reaches", reached + {more}, "nodes")
"""


def test_public_programs(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Stand-ins that read the files which they are given, and print what the programs print."""
    for name in ("bfs_32", "cc_32", "sssp_32", "bfs", "cc", "sssp"):
        program = tmp_path / name
        more = 1 if name == "sssp" else 0  # GAP's tree is found wrong
        program.write_text(_PROGRAM.format(python=sys.executable, name=name, more=more))
        program.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", python_path())
    out, where = tmp_path / "e.json", tmp_path / "files"
    where.mkdir()
    options = ("--parts", "bfs,cc,sssp", "--uniform", "", "--emogi", tmp_path, "--gap", tmp_path,
               "--temporary", where, "--out", out)  # fmt: skip
    assert main(bench, monkeypatch, *TINY, *options) == 0
    data = read_report(out)
    for part, seconds in (("bfs", 5e-3), ("cc", 2.5e-3), ("sssp", 5e-3)):
        (case,) = cases(data, part)
        for name in ("emogi", "emogi_in_core"):
            r = case["results"].get(name)
            assert r and r["status"] == "ok", f"{part} {name}: {r}, {data['skipped']}"
            assert r["median"] == pytest.approx(seconds) and r["sources"] > 0
            assert r["speedup"] == pytest.approx(1e-2 / seconds)
        assert case["results"]["gap"]["status"] == ("wrong" if part == "sssp" else "ok")
        assert case["best_rival"] and case["ratios"]["ours"] > 1
    assert not list(where.iterdir())


def test_no_time(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "e.json"
    assert main(bench, monkeypatch, *TINY, "--minutes", 1e-6, "--out", out) == 0
    data = read_report(out)
    assert {c["part"] for c in data["cases"]} == {"toy"}
    left_out = {s["what"] for s in data["skipped"] if "no time" in s["why"]}
    assert {"bfs kron9", "cc uniform8", "road road20"} <= left_out


def test_weights_and_sources(bench: ModuleType) -> None:
    from studies.emogi2020 import graphs

    a = ps.generate.rmat(9, seed=3)
    values = graphs.weights(a)
    w = ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, values).to_scipy()
    assert values.min() == 8 and values.max() == 72 and (values == np.floor(values)).all()
    assert (w != w.T).nnz == 0 and len(np.unique(values)) == 65
    degrees = np.diff(a.indptr)
    some = graphs.spaced(a, 20, evenly=False)
    assert len(set(some)) == 20 and (degrees[some] > 0).all()
    even = graphs.spaced(a, 20, evenly=True)
    assert set(even) == {v for v in range(0, 20 * (512 // 20), 512 // 20) if degrees[v]}
    other = graphs.twin(a)
    kept = {name: value for name, value in vars(other._derived).items() if value is not None}
    assert kept == {"symmetric_pattern": True} and other.nnz == a.nnz
    assert graphs.spaced(ps.csr_array((8, 8)), 3, evenly=False) == []


def test_weights_of_chunks(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from studies.emogi2020 import graphs

    a = ps.generate.rmat(9, seed=3)
    whole = graphs.weights(a)
    monkeypatch.setattr(graphs, "_CHUNK", 50)  # hubs are longer
    assert np.array_equal(whole, graphs.weights(a))


def test_the_paper(bench: ModuleType) -> None:
    from studies.emogi2020 import paper, rivals, toy

    for module in (paper, toy, rivals):
        assert doctest.testmod(module).failed == 0
    for key, (seconds, subway) in paper.TABLE_3.items():
        assert subway / seconds == pytest.approx(paper.TABLE_3_SPEED[key], rel=6e-3)
    for pattern in ("strided", "merged", "misaligned", "aligned"):
        nbytes = sum(int(size) * count for size, count in toy.requests(pattern).items())
        least = 4 * toy._SHAPES[pattern][0]
        most = (
            1.25 if pattern == "merged" else 1.01
        )  # sectors between two steps of a warp count twice
        assert least <= nbytes <= most * least


def test_goals(bench: ModuleType) -> None:
    """Rows of a machine that does not exist, near both sides of the goals."""
    from studies.emogi2020.summary import targets

    def result(median: float, **more: Any) -> dict[str, Any]:
        return {"role": "ours", "status": "ok", "median": median, **more}

    def case(part: str, graph: str, **results: Any) -> dict[str, Any]:
        return {"part": part, "case": f"{part} {graph}", "graph": graph, "results": results}

    found = [
        case("bfs", "kron25", ours=result(0.015, speedup=9.0, kept_share=0.12), in_core=result(0.012),
             aligned=result(0.16), emogi=result(0.15)),
        case("bfs", "kron27", ours=result(0.037, speedup=18.0, gteps=54.0, kept_share=0.26)),
        case("cold", "kron25", ours_cold=result(0.4), aligned=result(0.3)),
        case("pagerank", "kron25", packed=result(0.1, over_bound=1.04)),
        case("road", "road4096", ours=result(0.05), cpu=result(0.1)),
    ]  # fmt: skip
    data = {"quick": False, "settings": {"on_host": False}, "cases": found}
    verdicts = {t["what"]: (t["met"], t["got"]) for t in targets(data)}
    assert verdicts["Breadth-first search: the baseline's time over EMOGI's"] == (
        False,
        pytest.approx(16 / 15),
    )
    assert verdicts["Breadth-first search, kron25: ms"] == (True, pytest.approx(15))
    assert verdicts["Breadth-first search, kron25: speed over the baseline"] == (False, 9.0)
    assert verdicts["Breadth-first search, kron27: speed over the baseline"] == (True, 18.0)
    assert verdicts["Breadth-first search, kron27: GTEPS"] == (False, 54.0)
    assert verdicts["one cold search, sample included: time over the warm baseline's"][0] is False
    assert verdicts["PageRank, all edges travelling: a pass over the link's time"] == (True, 1.04)
    assert verdicts["Breadth-first search: time over ours in core"] == (True, pytest.approx(1.25))
    assert verdicts["Breadth-first search: speed over GAP on the CPU"] == (
        True,
        pytest.approx(0.1206 / 0.015),
    )
    assert verdicts["road-like grid: speed over the CPU"] == (True, pytest.approx(2))
    assert verdicts["edges kept on the GPU, of their bytes"] == (False, 0.26)
    assert verdicts["Connected components, kron25: ms"] == (None, None)
    assert {t["met"] for t in targets(data | {"quick": True})} == {None}


def test_several_gpus(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any
) -> None:
    """In turns on one, two and all; speeds, goals and the table."""
    devices = type("Core", (), {"device_count": staticmethod(lambda: 4)})
    monkeypatch.setattr("studies.emogi2020.options._core", devices)
    out = tmp_path / "e.json"
    options = (*TINY, "--parts", "gpus", "--uniform", "", "--gpus", "1,4,2", "--out", out)
    assert main(bench, monkeypatch, *options) == 0
    data, said = read_report(out), capsys.readouterr().out
    assert data["settings"]["gpus"] == [1, 2, 4]
    bfs, cc = cases(data, "gpus")
    assert (bfs["algorithm"], cc["algorithm"]) == ("bfs", "cc")
    for case in (bfs, cc):
        assert list(case["results"]) == ["gpus_1", "gpus_2", "gpus_4"]
        for count, r in zip((1, 2, 4), case["results"].values(), strict=True):
            assert r["status"] == "ok" and r["sources"] == 3 and r["gpu_count"] == count
            assert r["over_fewest"] == pytest.approx(1) and r["read"]["bytes"] == 1600
            assert r["how"] == {
                "device": 0 if count == 1 else list(range(count)),
                "placement": "pinned",
            }
    order = [how["device"] for how in gpu.asked[6:12]]  # after the first two calls of each
    assert order == [0, [0, 1], [0, 1, 2, 3]] * 2, "turns"
    assert "Several GPUs, edges in pinned memory" in said

    from studies.emogi2020 import gpu_tables as several

    bfs["graph"] = several._GOAL_GRAPH
    (goal, none) = several.targets({"cases": [bfs]})
    assert goal["met"] is False and goal["got"] == pytest.approx(1) and none["met"] is None


def test_one_gpu_has_nobody_to_be_compared_with(
    bench: ModuleType, gpu: PlayedGpu, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "e.json"
    assert (
        main(bench, monkeypatch, *TINY, "--parts", "bfs,gpus", "--uniform", "", "--out", out) == 0
    )
    data = read_report(out)
    assert not cases(data, "gpus")
    assert any(s["what"] == "gpus" and "nothing to compare" in s["why"] for s in data["skipped"])


def test_bad_options() -> None:
    assert "unknown nonsense" in run("emogi2020.py", "--parts", "bfs,nonsense", status=2)
    assert "no such folder" in run("emogi2020.py", "--quick", "--gap", "/nowhere/at/all", status=2)
    assert "positive" in run("emogi2020.py", "--quick", "--sources", 0, status=2)
    assert "--gpus 1,99" in run("emogi2020.py", "--quick", "--gpus", "1,99", status=2)
    assert "scales are 1 to 30" in run("emogi2020.py", "--quick", "--scales", 31, status=2)
