"""Where the benchmarks are and how their result files are read, for the tests of both folders."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

BENCH = Path(__file__).resolve().parents[1] / "bench"


def results() -> ModuleType:
    """bench/lib/results.py, which needs nothing but Python."""
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module("lib.results")
    finally:
        sys.path.remove(str(BENCH))


def read_report(path: Path) -> Any:
    """A result or a raw file."""
    return results().read(path)
