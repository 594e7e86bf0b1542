"""What the tests of the papers' benchmarks share: a tiny run of one, and its program as a module."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from bench_files import read_report
from test_bench import BENCH, run

import penstock as ps

NEEDS_BENCH = pytest.mark.skipif(
    not BENCH.is_dir(), reason="the bench folder is not beside the tests"
)


class Made(NamedTuple):
    """What a run left: its raw report, what it printed, its folder of plots."""

    data: dict[str, Any]
    said: str
    plots: Path


def tiny_run(name: str, folder: Path, *options: Any) -> Made:
    """A run of bench/NAME.py in a process of its own, with everything that it writes in `folder`."""
    pytest.importorskip("matplotlib")
    raw, plots = folder / "raw.json", folder / "plots"
    files = ("--out", folder / "out.json", "--raw", raw, "--plots", plots)
    said = run(f"{name}.py", *options, *files)
    return Made(read_report(raw), said, plots)


def folder_of_graphs(folder: Path, **graphs: ps.csr_array) -> Path:
    """A folder to give as --folder: the graphs as stores, and broken.mtx, which no reader takes."""
    where = folder / "graphs"
    where.mkdir()
    for name, graph in graphs.items():
        ps.save(where / f"{name.replace('_', '-')}.penstock", graph)
    (where / "broken.mtx").write_text("no matrix\n")
    return where


def program(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """bench/NAME.py, imported."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module(name)


def main(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> int:
    """The program's status, run in this process by these arguments."""
    monkeypatch.setattr("sys.argv", [f"{bench.__name__}.py", *map(str, arguments)])
    return bench.main()


def cases(data: dict[str, Any], part: str) -> list[dict[str, Any]]:
    return [c for c in data["cases"] if c["part"] == part]
