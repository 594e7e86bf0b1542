"""The matrices of bench/brock2024.py: the paper's by name out of a folder, or stand-ins with their entries a row and
the imbalance of Table 1, which say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from studies.brock2024.paper import TABLE_1, Matrix
from studies.page_kogge2018.suite import _file as found_file

_SEED = 24
_BAND = 10.0  # imbalance of a band on a 10 x 10 grid; of even entries it is 1


@dataclass(frozen=True)
class Source:
    """`stand_in` says what is there in place of the paper's matrix; None: the matrix itself."""

    name: str
    stand_in: str | None
    make: Callable[[], Any]


def _values(rows: np.ndarray, cols: np.ndarray, n: int) -> Any:
    value = np.random.default_rng(_SEED).random(rows.size, np.float32)
    return ps.csr_array((value, (rows, cols)), shape=(n, n))


def band(rows: int, per_row: float, imbalance: float) -> Any:
    """So many diagonals side by side, and so much spread evenly, that the fullest tile has what is asked."""
    share = min(1.0, max(0.0, (imbalance - 1) / (_BAND - 1)))
    near = max(1, round(per_row * share))
    a = ps.generate.banded(
        rows, list(range(-(near // 2), near - near // 2)), dtype=np.float32, seed=_SEED
    )
    far = max(0, round(per_row - near))
    if not far:
        return a
    b = ps.generate.uniform(rows, nnz_per_row=far, seed=_SEED)
    row = np.concatenate([np.repeat(np.arange(rows), np.diff(m.indptr)) for m in (a, b)])
    return _values(row, np.concatenate([a.indices, b.indices]), rows)


def power(rows: int, per_row: float, imbalance: float) -> Any:
    """R-MAT, not shuffled: its first tile of 10 x 10 has a^log2(10) of the edges, before duplicates go."""
    scale = max(6, round(math.log2(rows)))
    a = (imbalance / 100) ** (1 / math.log2(10))
    rest = (1 - a) / 3
    return ps.generate.rmat(
        scale,
        per_row,
        a=a,
        b=rest,
        c=rest,
        undirected=False,
        scramble=False,
        dtype=np.float32,
        seed=_SEED,
    )


def _stand_in(m: Matrix, entries: int) -> tuple[str, Callable[[], Any]]:
    per_row = min(m.per_row, math.sqrt(entries) / 4)
    rows = max(200, min(m.rows, int(entries / per_row)))
    if m.kind == "even":
        how = f"{per_row:.0f} entries a row anywhere, {rows:,} rows"
        return how, lambda: ps.generate.uniform(
            rows, nnz_per_row=round(per_row), dtype=np.float32, seed=_SEED
        )
    make = {"band": band, "power": power}[m.kind]
    edges = f"R-MAT {max(6, round(math.log2(rows)))}, unshuffled"
    how = f"a band and scattered entries, {rows:,} rows" if m.kind == "band" else edges
    return how, lambda: make(rows, per_row, m.imbalance)


def _read(path: Path) -> Any:
    a = ps.open(path) if path.is_dir() else ps.load(path)
    return a if a.dtype == np.float32 else a.astype(np.float32)


def sources(folder: Path | None, names: list[str], entries: int) -> list[Source]:
    """In the paper's order."""
    found = []
    for name in names:
        path = found_file(folder, name) if folder else None
        if path is not None:
            found.append(Source(name, None, lambda path=path: _read(path)))
        else:
            found.append(Source(name, *_stand_in(TABLE_1[name], entries)))
    return found
