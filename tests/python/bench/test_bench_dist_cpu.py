"""The benchmark of distributed matrices on toy inputs: its ranks as threads, checks, layouts, goals and page."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from bench_files import read_report
from test_bench import BENCH, checked, run

import penstock as ps

REPEATS = 2
pytestmark = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    from studies.dist_cpu import tables

    return tables


def test_layouts_on_a_toy_graph(tmp_path: Path, bench: ModuleType) -> None:
    out = tmp_path / "d.json"
    said = run("dist_cpu.py", "--quick", "--parts", "layouts", "--repeats", REPEATS, "--out", out)
    data = checked_layouts(out)
    a = ps.generate.rmat(10, dtype=np.float64, seed=1)
    naive = ps.partition.grid(a, 4).metrics(a)
    for case in data["cases"]:
        assert case["best_rival"] == "naive" and set(case["ratios"]) >= {"bins", "balanced"}
        got = case["results"]["naive"]
        assert got["halo_entries"] == naive.halo_volume
        assert got["partial_sums"] == naive.partial_volume
    assert {c["clock"] for c in data["cases"]} == {"seconds", "cpu"}
    assert {t["met"] for t in data["targets"]} == {None}, "toy sizes meet and miss nothing"
    assert "naive / it" in said and "not measured" in said
    text = "\n".join(bench.body("dist_cpu", data, "figures"))
    assert "CPU of the slowest rank" in text and "| bins |" in text


def checked_layouts(out: Path) -> dict[str, Any]:
    """`checked`, of a report that has some keys more."""
    data = read_report(out)
    assert data.pop("load") >= 0 and data.pop("seconds") > 0
    assert set(data.pop("part_seconds")) == {"layouts"}
    targets = data.pop("targets")
    out.write_text(json.dumps(data))
    return checked(out, "dist_cpu", REPEATS) | {"targets": targets}


def test_the_check_of_a_product(bench: ModuleType) -> None:
    from studies.dist_cpu.parts import product_check

    a = sp.random_array((40, 40), density=0.2, rng=np.random.default_rng(1), format="csr")
    x = np.random.default_rng(2).uniform(-1, 1, 40)
    check = product_check(a, x)
    y = a @ x
    assert check(y) <= 1
    y[3] += 1e-9
    assert check(y) > 1
    y[3] = np.nan
    assert not check(y) <= 1
    with pytest.raises(ValueError, match="shape"):
        check(y[:-1])


def test_goals_take_the_worst_rank(bench: ModuleType) -> None:
    case = {"case": "store rmat20", "part": "memory", "source": "store", "ratio": [1.1, 1.4]}
    got = {t["what"]: t for t in bench.targets({"quick": False, "cases": [case]})}
    assert got["peak memory / share and halo, store"]["met"] is False
    assert got["peak memory / share and halo, store"]["where"] == "store rmat20, rank 1"
    case["ratio"] = [1.1, 1.2]
    got = {t["what"]: t for t in bench.targets({"quick": False, "cases": [case]})}
    assert got["peak memory / share and halo, store"]["met"] is True


def test_a_program_that_does_not_start_is_named(bench: ModuleType) -> None:
    import sys

    from lib.fifo_ranks import FifoRanks

    with pytest.raises(ImportError, match="toy did not start: no such luck"):
        FifoRanks("toy", 1, lambda _: [sys.executable, "-c", "raise SystemExit('no such luck')"],
                  lambda _: None, {})  # fmt: skip
