"""The study of stores that exceed memory: which graph it lifts, what its rows say, and bad arguments."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from study_support import NEEDS_BENCH
from test_bench import BENCH

import penstock as ps

pytestmark = NEEDS_BENCH


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH / "studies" / "structure"))
    return importlib.import_module("store_under_limit")


@contextlib.contextmanager
def no_group(limit: int) -> Iterator[None]:
    yield None


def start(study: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: Any) -> None:
    monkeypatch.setattr(study, "limited", no_group)
    monkeypatch.setattr(sys, "argv", ["store_under_limit.py", *map(str, words)])
    study.main()


def test_the_lift_of_a_file(
    tmp_path: Path, study: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    one = ps.generate.road_grid(9, 9, dtype=bool, seed=4)
    one.save(tmp_path / "road.mtx")
    start(
        study, monkeypatch, "--folder", tmp_path, "--graph", tmp_path / "road.mtx", "--edges", 900
    )
    said = capsys.readouterr().out
    a = ps.open(tmp_path / "limit.penstock")
    copies = -(-900 // one.nnz)
    assert a.nnz == copies * one.nnz >= 900
    assert f"{81 * copies:,} vertices, {a.nnz:,} edges" in said
    assert "no control group" in said
    roots = [0, 5, 17]
    raw, packed = (study.measure(tmp_path / "limit.penstock", f, roots) for f in ("raw", "packed"))
    assert raw["found"] == packed["found"]


def test_bad_arguments(
    tmp_path: Path, study: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    for words, told in (
        (("--graph", tmp_path / "none.mtx"), "none.mtx: no such file"),
        (("--folder", tmp_path / "none"), "no such folder"),
        (("--roots", 1), "--roots is at least 2"),
        (("--patience", 0), "positive"),
    ):
        with pytest.raises(SystemExit):
            start(study, monkeypatch, "--folder", tmp_path, *words)
        assert told in capsys.readouterr().err
    ps.csr_array((3, 3)).save(tmp_path / "empty.mtx")
    with pytest.raises(SystemExit, match="no edge"):
        start(study, monkeypatch, "--folder", tmp_path, "--graph", tmp_path / "empty.mtx")


def row(search: float, parts: float, found: int = 7) -> dict[str, Any]:
    return {"bfs": [9 * search, search, search], "bfs_read": [2e6] * 3, "components": [parts] * 3,
            "components_read": [1e6] * 3, "found": [found], "auto": "packed"}  # fmt: skip


def test_what_is_shown(study: ModuleType, capsys: Any) -> None:
    rows = {"as they are": row(3, 8), "packed": row(1, 2), "auto": "not done in 5 s"}
    study.show(rows)
    said = capsys.readouterr().out
    assert "auto | not done in 5 s" in said
    assert "as they are over packed: first search 3.00, search 3.00, components 4.00" in said
    study.show({**rows, "as they are": "killed: it needs more than the limit"})
    assert "over packed" not in capsys.readouterr().out
    with pytest.raises(SystemExit, match="packed: other levels"):
        study.show({**rows, "packed": row(1, 2, found=8)})


def test_a_row_that_takes_too_long_is_named(
    tmp_path: Path, study: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ps.generate.uniform(9, nnz_per_row=2, dtype=bool, seed=1).save(tmp_path / "a.penstock")
    assert study.run(tmp_path / "a.penstock", "raw", [0], None, 0.01) == "not done in 0.01 s"
