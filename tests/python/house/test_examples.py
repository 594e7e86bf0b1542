"""The examples, on small inputs: each checks itself, and those of the gallery draw."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
GALLERY = EXAMPLES.parent / "docs" / "gallery"
pytestmark = pytest.mark.skipif(
    not EXAMPLES.is_dir(), reason="the examples are not beside the tests"
)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("triangle_counting", "--scale 8 --ranks 3", "triangles on 3 ranks"),
        ("markov_clustering", "--groups 4 --size 12 --ranks 2", "4 clusters"),
        ("feature_propagation", "--scale 7 --features 5 --hops 2 --ranks 4", "2 hops"),
        ("multi_source_bfs", "--scale 7 --sources 6 --ranks 4", "6 searches"),
        ("device_budgets", "--scale 13", "streamed in"),
        ("heat_equation", "--side 40 --steps 3", "is off by"),
        ("image_segmentation", "--side 60", "are right"),
        ("recommender", "--users 600 --items 300", "hidden likes among ten"),
        ("road_components", "--side 50", "components"),
        ("similar_documents", "--documents 400", "of one topic"),
        ("social_bridges", "", "most between: [0, 33, 32]"),
        ("spectral_embedding", "--size 60", "of their own group"),
        ("travel_times", "--side 40", "can be reached"),
        ("web_ranking", "--scale 9", "the first five"),
    ],
)
def test_an_example_runs(
    name: str,
    options: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if name == "social_bridges":
        nx = pytest.importorskip("networkx", reason="networkx is not installed")
        if "penstock" not in nx.config.backends:
            pytest.skip("penstock is not installed, so NetworkX does not find it")
    draws = "--picture" in (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    picture = tmp_path / "drawn.png"
    if draws:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    more = ["--picture", str(picture)] if draws else []
    monkeypatch.setattr("sys.argv", [name, *options.split(), *more])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
    assert not draws or picture.read_bytes().startswith(b"\x89PNG")


def test_the_gallery_has_ten_small_pictures_and_every_program_is_run_here() -> None:
    drawn = {path.stem: path.stat().st_size for path in GALLERY.glob("*.png")}
    assert len(drawn) >= 10 and sum(drawn.values()) < 150_000
    programs = {path.stem: path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*.py")}
    assert set(drawn) == {name for name, text in programs.items() if "--picture" in text}
    here = Path(__file__).read_text(encoding="utf-8")
    assert not [
        name for name in programs if f'("{name}", ' not in here and f"{name}.py" not in here
    ]


@pytest.mark.parametrize(
    ("name", "target", "spoiled"),
    [
        ("web_ranking", "csgraph.pagerank", lambda rank: rank[::-1]),
        ("travel_times", "csgraph.sssp", lambda minutes: minutes + 1),
        ("heat_equation", "linalg.cg", lambda pair: (pair[0] * 1.001, pair[1])),
    ],
)
def test_programs_of_the_gallery_notice_wrong_results(
    name: str, target: str, spoiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, function = target.partition(".")
    real = getattr(getattr(ps, module), function)
    monkeypatch.setattr(
        getattr(ps, module), function, lambda *args, **how: spoiled(real(*args, **how))
    )
    monkeypatch.setattr("sys.argv", [name])
    with pytest.raises((SystemExit, ValueError)):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")


GCN = "--scale 7 --features 6 --hidden 5 --classes 3 --epochs 4"


@pytest.mark.parametrize(
    "more", ["", " --streamed", " --device-memory 8KB", " --device-memory 1MB"]
)
def test_a_graph_convolutional_network(
    more: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("sys.argv", ["gcn", *(GCN + more).split()])
    with ps.options():
        runpy.run_path(str(EXAMPLES / "gcn.py"), run_name="__main__")
    said = capsys.readouterr().out
    losses = [float(line.split()[-1]) for line in said.splitlines() if line.startswith("epoch")]
    assert len(losses) == 4 and losses[-1] < losses[0]
    way = "streamed" if more in (" --streamed", " --device-memory 8KB") else "in_core"
    assert f"products {way} (" in said
    assert "the losses differ by" in said


def test_the_network_notices_wrong_products(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    real = ps.torch.matmul
    monkeypatch.setattr(ps.torch, "matmul", lambda a, x, schedule: real(a, x) * 1.1)
    monkeypatch.setattr("sys.argv", ["gcn", *GCN.split()])
    with pytest.raises(SystemExit, match=r"torch\.sparse finds other losses"):
        runpy.run_path(str(EXAMPLES / "gcn.py"), run_name="__main__")


def test_examples_notice_wrong_results(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ps.csgraph.triangle_count
    monkeypatch.setattr(ps.csgraph, "triangle_count", lambda g: real(g) + 1)
    monkeypatch.setattr("sys.argv", ["triangle_counting", "--scale", "6", "--ranks", "2"])
    with pytest.raises(SystemExit, match="one rank alone"):
        runpy.run_path(str(EXAMPLES / "triangle_counting.py"), run_name="__main__")


def test_two_triangles_that_share_an_edge() -> None:
    edges = np.array([(0, 1), (1, 2), (2, 0), (1, 3), (3, 2)])
    both = np.concatenate([edges, edges[:, ::-1]])
    graph = ps.csr_array((np.ones(10), (both[:, 0], both[:, 1])), shape=(4, 4))
    count = runpy.run_path(str(EXAMPLES / "triangle_counting.py"))["triangles"]
    assert ps.dist.run(count, 4, graph) == [2, 2, 2, 2]


@pytest.mark.parametrize(("budget", "place"), [("4KB", "mapped files"), ("1GB", "memory")])
def test_graphsage_learns_the_groups(
    budget: str,
    place: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch_geometric")
    options = f"--vertices 3000 --epochs 6 --budget {budget}"
    monkeypatch.setattr("sys.argv", ["graphsage", *options.split()])
    runpy.run_path(str(EXAMPLES / "graphsage.py"), run_name="__main__")
    said = capsys.readouterr().out
    losses = [float(line.split()[-1]) for line in said.splitlines() if line.startswith("epoch")]
    assert len(losses) == 6 and losses[-1] < 0.5 * losses[0] and "are right" in said
    assert f": in {place}\n" in said and " epochs a minute" in said
    assert "PyTorch Geometric's own loader" in said


@pytest.mark.parametrize("wrong", ["--budget much", "--device tpu"])
def test_graphsage_says_what_is_wrong_with_its_options(
    wrong: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch_geometric")
    monkeypatch.setattr("sys.argv", ["graphsage", *wrong.split()])
    with pytest.raises(SystemExit):
        runpy.run_path(str(EXAMPLES / "graphsage.py"), run_name="__main__")
    assert wrong in capsys.readouterr().err
