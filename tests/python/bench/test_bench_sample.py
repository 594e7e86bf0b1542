"""bench/sample.py, bench/communities.py and bench/dynamic.py on toy inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from study_support import NEEDS_BENCH
from test_bench import BENCH, checked, run

pytestmark = NEEDS_BENCH
LOADERS = {"NodeLoader", "LinkNeighborLoader"}  # need PyTorch Geometric


def test_samples(tmp_path: Path) -> None:
    out = tmp_path / "sample.json"
    run("sample.py", "--quick", "--graphs", "rmat9,road30", "--out", out)
    data = checked(out, "sample", 7)
    assert {(c["graph"], c["what"]) for c in data["cases"] if not c["what"].endswith("Loader")} == {
        (graph, what)
        for graph in ("rmat9", "road30")
        for what in (
            "neighbors 10, 10",
            "neighbors 10, 10, weighted",
            "uniform walks",
            "node2vec p=0.5 q=2",
            "node2vec p=4 q=0.25",
        )
    }
    assert all(case["results"]["penstock"]["billions_a_second"] > 0 for case in data["cases"])
    loaders = {c["what"] for c in data["cases"]} & LOADERS
    assert loaders | {s["what"] for s in data["skipped"]} >= LOADERS  # there, or with a reason


def test_a_gpu_that_is_not_there() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH / "sample.py"), "--gpu", "1000"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "GPUs can be used here" in done.stderr


def test_communities(tmp_path: Path) -> None:
    out = tmp_path / "communities.json"
    run("communities.py", "--quick", "--graphs", "planted-toy,rmat9", "--out", out)
    data = checked(out, "communities", 1)
    assert {(c["graph"], c["method"]) for c in data["cases"]} == {
        (graph, method)
        for graph in ("planted 20 x 50", "rmat9")
        for method in ("louvain", "leiden", "label_propagation")
    }
    for case in data["cases"]:
        value = case["results"]["penstock"]["modularity"]
        assert -0.5 <= value <= 1
        if case["graph"].startswith("planted") and case["method"] != "label_propagation":
            assert value > 0.4


def test_changing_graphs(tmp_path: Path) -> None:
    out = tmp_path / "dynamic.json"
    run("dynamic.py", "--quick", "--rivals", "scipy,networkx", "--out", out)
    data = checked(out, "dynamic", 7)
    assert len(data["cases"]) == 2 * (2 * 3 + 2)
    for case in data["cases"]:
        assert {"penstock", "networkx" if case["share"] > 1 else "rebuild"} <= set(case["results"])
        assert all(result["status"] == "ok" for result in case["results"].values())
