"""The matrices of bench/page_kogge2018.py: the paper's by name out of a folder, or stand-ins of the same rows and
entries a row, which say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from studies.page_kogge2018.paper import TABLE_1, Matrix

_SEED = 18
_ENTRY = 30.0  # bytes of memory for an entry while a matrix is made and cut


@dataclass(frozen=True)
class Source:
    """`stand_in` says what is there in place of the paper's matrix; None: the matrix itself."""

    name: str
    stand_in: str | None
    size: float  # bytes, roughly
    make: Callable[[], Any]


def _file(folder: Path, name: str) -> Path | None:
    """NAME.mtx, NAME.mtx.gz, NAME/NAME.mtx, NAME.penstock, ..., whatever the case."""
    low = name.lower()
    for path in sorted(folder.iterdir()):
        if path.name.lower().split(".")[0] != low:
            continue
        if path.is_dir() and not (path / "header.json").exists():
            inner = [p for p in sorted(path.iterdir()) if p.name.lower().startswith(f"{low}.")]
            if inner:
                return inner[0]
        return path
    return None


def offsets(rows: int, per_row: float) -> list[int]:
    """Diagonals of a mesh: the nearest points of a cube of `rows` points, numbered along its axes.

    >>> offsets(1000, 7)
    [-100, -10, -1, 0, 1, 10, 100]
    """
    edge = max(2, round(rows ** (1 / 3)))
    half = max(1, round((per_row - 1) / 2))
    reach = 1 + math.ceil((half / 2) ** (1 / 3))
    near = [
        (x * x + y * y + z * z, x + edge * (y + edge * z))
        for x in range(-reach, reach + 1) for y in range(-reach, reach + 1) for z in range(-reach, reach + 1)
    ]  # fmt: skip
    ahead: list[int] = []
    for _, o in sorted(near):
        if 0 < o < rows and o not in ahead:
            ahead.append(o)
        if len(ahead) == half:
            break
    return sorted([*(-o for o in ahead), 0, *ahead])


def _stand_in(m: Matrix, shrink: int) -> tuple[str, Callable[[], Any]]:
    rows = max(64, m.rows // shrink)
    per_row = min(m.per_row, rows / 4)
    if m.kind == "stencil":
        edge = max(4, round(rows ** (1 / 3)))
        return f"7-point stencil, {edge}^3", lambda: ps.generate.laplacian((edge,) * 3)
    if m.kind == "mesh":
        how = f"mesh-like band, {rows:,} rows"
        return how, lambda: ps.generate.banded(rows, offsets(rows, per_row), seed=_SEED)
    scale = max(6, round(math.log2(rows)))

    def power() -> Any:
        # A rectangle of R-MAT: duplicates merge, so more edges are drawn than are wanted.
        factor, wanted = per_row / 2, per_row * 2**scale
        for _ in range(4):
            a = ps.generate.rmat(scale, factor, dtype=np.float64, seed=_SEED)
            if a.nnz > 0.9 * wanted:
                break
            factor *= wanted / max(a.nnz, 1)
        return a

    return f"R-MAT {scale}", power


def sources(folder: Path | None, names: list[str], shrink: int) -> list[Source]:
    """In the paper's order."""
    found = []
    for name in names:
        m = TABLE_1[name]
        path = _file(folder, name) if folder else None
        if path is not None:
            make = lambda path=path: _read(path)  # noqa: E731
            found.append(Source(name, None, _ENTRY * m.nnz, make))
        else:
            words, make = _stand_in(m, shrink)
            found.append(Source(name, words, _ENTRY * m.nnz / shrink, make))
    return found


def _read(path: Path) -> Any:
    a = ps.open(path) if path.is_dir() else ps.load(path)
    if a.dtype.kind == "c":
        raise ValueError(f"{path.name}: complex values")
    return a if a.dtype == np.float64 else a.astype(np.float64)
