"""Where the files of real matrices are, for the tests of all folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("PENSTOCK_DATA") or ROOT.parent / "shared" / "data")


def real_file(name: str) -> Path:
    """The file of that name; skips the test where the data folder lacks it."""
    if not (DATA / name).is_file():
        pytest.skip(f"{name} is not in the data folder, {DATA}: set PENSTOCK_DATA")
    return DATA / name
