"""Where the benchmarks are and how their result files are read, for the tests of both folders."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

BENCH = Path(__file__).resolve().parents[1] / "bench"


def results() -> ModuleType:
    """bench/lib/results.py, which needs nothing else of the benchmarks."""
    spec = importlib.util.spec_from_file_location("bench_results", BENCH / "lib" / "results.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_report(path: Path) -> Any:
    """A result or a raw file."""
    return results().read(path)
