"""What processes that tests start are given, so that they find this Penstock and what the caller has on its path."""

from __future__ import annotations

import os
from pathlib import Path

import penstock as ps

PACKAGE = str(Path(ps.__file__).resolve().parents[1])


def python_path(*first: str) -> str:
    """PYTHONPATH of a child: `first`, this Penstock, and then the caller's, as neither an editable build nor a checkout
    is found without it."""
    return os.pathsep.join(filter(None, [*first, PACKAGE, os.environ.get("PYTHONPATH")]))


def environment(**more: str) -> dict[str, str]:
    """This process's, with `python_path()` and what else is given."""
    return {**os.environ, "PYTHONPATH": python_path(), **more}
