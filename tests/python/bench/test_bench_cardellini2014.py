"""The reproduction of cardellini-2014 with the host as its device: rows, verification, budget of time, figures."""

from __future__ import annotations

import doctest
import itertools
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from bench_files import read_report
from study_support import NEEDS_BENCH, Made, cases, main, program, tiny_run
from test_bench import run

import penstock as ps
from penstock import _core

pytestmark = [
    NEEDS_BENCH,
    pytest.mark.skipif(_core.device_count() > 0, reason="rows of a machine without a GPU"),
]
PARTS = {"kernel", "copies", "weak", "cg", "exchange", "throughput"}
TINY = (
    "--quick",
    "--repeats",
    1,
    "--turn-seconds",
    0,
    "--sizes",
    "5,6",
    "--weak",
    5,
    "--gpus",
    "1,2",
)
HERE = {"sync", "gather", "pinned", "index_standard", "index_pinned", "device_indexed", "device", "peer",
        "peer_packed", "auto"}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return tiny_run("cardellini2014", tmp_path_factory.mktemp("cardellini"), *TINY)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return program("cardellini2014", monkeypatch)


def test_every_part_has_rows_that_are_right(made: Made) -> None:
    data, said, _ = made
    assert (data["benchmark"], data["schema"], data["quick"]) == ("cardellini2014", 2, True)
    assert {c["part"] for c in data["cases"]} == PARTS == set(data["part_seconds"])
    for case in data["cases"]:
        for who, r in case["results"].items():
            assert r["status"] == "ok", f"{case['case']}, {who}: {r.get('reason')}"
            assert 0 <= r["error"] <= 1 and r["median"] > 0
    for case in cases(data, "throughput"):
        assert (
            set(case["results"]) == HERE and case["nnz"] == 7 * case["n"] ** 3 - 6 * case["n"] ** 2
        )
        for name, r in case["results"].items():
            assert r["gflops"] == pytest.approx(2 * case["nnz"] / r["median"] / 1e9)
            assert r["role"] == (
                "ours" if name in ("auto", "device", "peer", "peer_packed") else "rival"
            )
            assert r["strategy"] == name or (name == "auto" and r["strategy"] in HERE)
    assert {s["what"] for s in data["skipped"]} == {"nccl", "nvshmem"}
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"
    words = ("figure 1(b)", "figure 6", "IndexPinned", "Goals", "measure nothing", "by hand")
    assert all(w in said for w in words)


def test_exchanges_send_what_the_halo_has(made: Made) -> None:
    data, _, _ = made
    for case in cases(data, "copies") + cases(data, "exchange"):
        plane = 8 * case["n"] ** 2  # bytes; a cut of two blocks has one plane on each side
        assert case["exchanged_bytes"] == 2 * (case["ranks"] - 1) * plane
    for case in cases(data, "exchange"):
        hand = case["results"]["hand"]["median"]
        for r in case["results"].values():
            assert r["over_hand"] == pytest.approx(r["median"] / hand)


def test_what_is_drawn_and_the_page(made: Made, tmp_path: Path) -> None:
    data, _, plots = made
    parts = {*PARTS - {"throughput"}, "throughput_2_0"}
    assert {p.stem.removeprefix("cardellini2014_") for p in plots.iterdir()} == parts
    assert "index_pinned (IndexPinned)" in (plots / "cardellini2014_throughput_2_0.svg").read_text()
    results, docs = tmp_path / "results", tmp_path / "docs"
    results.mkdir()
    docs.mkdir()
    (results / "cardellini2014_tiny.json").write_text(json.dumps(data))
    (docs / "performance.md").write_text("<!-- results cardellini2014 -->\nstale\n<!-- end -->\n")
    run("plot.py", "--results", results, "--docs", docs)
    page = (docs / "performance.md").read_text()
    assert (
        "stale" not in page and "toy inputs" in page and "| pde6 |" in page and "**Goals**" in page
    )
    assert "(figures/cardellini2014/cardellini2014_tiny_weak.svg)" in page
    assert {
        p.stem.removeprefix("cardellini2014_tiny_")
        for p in (docs / "figures" / "cardellini2014").iterdir()
    } == parts


@pytest.mark.parametrize("kind", ["pde", "symmetric", "couplings"])
@pytest.mark.parametrize(("n", "ranks"), [(2, 3), (4, 3), (5, 4)])
def test_the_reference(bench: ModuleType, kind: str, n: int, ranks: int) -> None:
    """NumPy's rows, by planes, are those of the matrix; a wrong entry shows."""
    from studies.cardellini2014.pde import Problem, values

    problem = Problem(kind, n, ranks)
    a = problem.whole().to_scipy()
    assert a.nnz == problem.nnz and a.shape == (problem.rows,) * 2
    if kind != "pde":
        assert (a != a.T).nnz == 0
    starts = [problem.rows * r // ranks for r in range(ranks + 1)]
    if kind == "couplings":
        owner = np.searchsorted(starts, np.arange(problem.rows), "right")
        assert (abs(owner[a.nonzero()[0]] - owner[a.nonzero()[1]]) == 1).all()
    y = a @ values(np.arange(problem.rows))
    for first, last in itertools.pairwise(starts):
        expected, bound = problem.expected(first, last)
        assert np.max(np.abs(y[first:last] - expected)) <= bound < 1e-9


def test_the_couplings_have_the_halo_of_the_cube(bench: ModuleType) -> None:
    from studies.cardellini2014.pde import Problem

    def traffic(kind: str) -> tuple[int, int]:
        a = Problem(kind, 6, 3).whole()
        m = ps.partition.contiguous(a, 3).metrics(a)
        return m.halo_volume, m.messages

    assert traffic("couplings") == traffic("pde") == (4 * 6**2, 4)


def spoiled(monkeypatch: pytest.MonkeyPatch, strategy: str, spoil: Any) -> None:
    """Spoils what each rank's products by that strategy write: spoil(the rank's matrix, y)."""
    from studies.cardellini2014.ways import OnDevice

    right = OnDevice.dot

    def dot(self: Any, x: Any, y: Any, times: int) -> None:
        right(self, x, y, times)
        if self.times()["strategy"] == strategy:
            spoil(self, y)

    monkeypatch.setattr(OnDevice, "dot", dot)


def off(of: Any, y: np.ndarray) -> None:
    y[-1] *= 1 + 1e-9


def left_out(of: Any, y: np.ndarray) -> None:
    y[0] = np.nan


def stale(of: Any, y: np.ndarray) -> None:
    if not hasattr(of, "first"):
        of.first = y[0].copy()
    y[0] = of.first


@pytest.mark.parametrize("spoil", [off, left_out, stale])
def test_a_wrong_row_of_a_rank_is_caught(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoil: Any
) -> None:
    spoiled(monkeypatch, "peer", spoil)
    out = tmp_path / "c.json"
    tiny = (*TINY, "--parts", "throughput", "--strategies", "peer,pinned", "--out", out)
    assert main(bench, monkeypatch, *tiny) == 1
    for case in read_report(out)["cases"]:
        assert {n: r["status"] for n, r in case["results"].items()} == {
            "pinned": "ok",
            "peer": "wrong",
        }
        assert "median" not in case["results"]["peer"]


def test_a_rank_that_fails_is_told(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(of: Any, y: np.ndarray) -> None:
        raise ArithmeticError("as the test wants it")

    spoiled(monkeypatch, "gather", fail)
    out = tmp_path / "c.json"
    tiny = (*TINY, "--parts", "throughput", "--strategies", "sync,gather,peer", "--out", out)
    bench_status = main(bench, monkeypatch, *tiny)
    for case in read_report(out)["cases"]:
        gather = case["results"]["gather"]
        assert (
            gather["status"] == "failed"
            and "ArithmeticError: as the test wants it" in gather["reason"]
        )
        assert case["results"]["sync"]["status"] == case["results"]["peer"]["status"] == "ok"
    assert bench_status == 0, "a strategy of the paper's is no fault of ours"


def test_no_time(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    assert main(bench, monkeypatch, *TINY, "--minutes", 1e-6, "--out", out) == 1
    data = read_report(out)
    assert not data["cases"] and {s["what"].split()[0] for s in data["skipped"]} == PARTS


def test_the_paper_and_the_goals(bench: ModuleType) -> None:
    """Rows of a machine that does not exist, near both sides of the goals."""
    from studies.cardellini2014 import paper, read
    from studies.cardellini2014.summary import targets

    for module in (paper, read):
        assert doctest.testmod(module).failed == 0
    assert [paper.weak_edge(160, n) ** 3 / 160**3 / n for n in (2, 4, 8)] == pytest.approx(
        [1] * 3, rel=0.01
    )

    def result(role: str, median: float, **more: Any) -> dict[str, Any]:
        return {"role": role, "status": "ok", "median": median, **more}

    def weak(count: int, ours: float, theirs: float) -> dict[str, Any]:
        return {"part": "weak", "case": f"{count}", "base": 160, "count": count, "results": {
            "peer": result("ours", 1.0, gflops=ours), "index_pinned": result("rival", 1.0, gflops=theirs)}}  # fmt: skip

    copies = {"part": "copies", "case": "e", "ranks": 2, "gpus": 2, "results": {
        "peer": result("ours", 2e-6), "pinned": result("rival", 5e-6), "sync": result("rival", 1e-6)}}  # fmt: skip
    hand = {"part": "exchange", "case": "h", "results": {
        "put": result("ours", 1.0, over_hand=1.2), "sync": result("rival", 9.0, over_hand=9.0)}}  # fmt: skip
    shared = {**copies, "case": "shared", "gpus": 1}
    found = {"quick": False, "settings": {"on_host": False},
             "cases": [weak(1, 90.0, 110.0), weak(8, 768.0, 400.0), copies, shared, hand]}  # fmt: skip
    verdicts = {t["what"]: (t["met"], t["got"]) for t in targets(found)}
    assert verdicts["weak scaling of SpMV: speed a GPU over one GPU's"] == (
        True,
        pytest.approx(0.96),
    )
    assert verdicts["exchange from GPU to GPU: pinned's time over it"] == (True, pytest.approx(2.5))
    assert verdicts["exchange from GPU to GPU: sync's time over it"] == (False, pytest.approx(0.5))
    assert verdicts["exchange on the CPU: time over the same messages by hand"] == (False, 1.2)
    on_host = targets({**found, "settings": {"on_host": True}})
    assert [t["what"] for t in on_host if t["met"] is not None] == [
        "exchange on the CPU: time over the same messages by hand"
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--parts", "weak,nonsense"), "unknown nonsense"),
        (("--strategies", "warp"), "unknown warp"),
        (("--gpus", 0), "positive"),
        (("--sizes", 1), "are 2 to 1000"),
    ],
)
def test_bad_options(
    bench: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    given: tuple[Any, ...],
    told: str,
) -> None:
    with pytest.raises(SystemExit) as end:
        main(bench, monkeypatch, "--quick", *given)
    assert end.value.code == 2 and told in capsys.readouterr().err
