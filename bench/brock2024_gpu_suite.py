"""What the part `gpus` of bench/brock2024.py multiplies: R-MAT graphs, even and skewed, a band, a Laplacian."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import penstock as ps

_SEED = 24
COLUMNS = 128  # of a dense B
_HALF_BAND = 13  # diagonals on each side: 27 entries a row, nlpkkt160 has 28


@dataclass(frozen=True)
class Pair:
    """A, and B: dense with `columns`, or A itself where that is 0. `about`: what A is, in words."""

    name: str
    about: str
    columns: int
    make: Callable[[], Any]

    @property
    def op(self) -> str:
        return "spmm" if self.columns else "spgemm"


def _rmat(scale: int, edges: int, scramble: bool, on_gpu: bool) -> Any:
    """Skewed ones keep their first vertices' high degrees together: so tiles differ."""
    how = {"scramble": scramble, "dtype": np.float32, "seed": _SEED}
    if not on_gpu:
        return ps.generate.rmat(scale, edges, **how)
    return ps.generate.rmat(scale, edges, device=ps.device(0), **how).to("host")


def _square(n: int) -> Any:
    return ps.generate.laplacian((n, n, n), dtype=np.float32)


NAMES = ("rmat24", "banded", "skewed22", "laplacian", "skewed", "rmat16", "rmat20")


def pairs(names: list[str], quick: bool, on_gpu: bool) -> list[Pair]:
    """In that order: the largest last, which is left out where time is short."""
    small, medium, large, skewed = (10, 8, 9, 10) if quick else (16, 18, 20, 22)
    wide, columns = (10, 8) if quick else (24, COLUMNS)
    rows, edge = (3_000, 8) if quick else (8_000_000, 160)

    def graph(scale: int, edges: int, scramble: bool) -> Callable[[], Any]:
        return lambda: _rmat(scale, edges, scramble, on_gpu)

    band = list(range(-_HALF_BAND, _HALF_BAND + 1))
    found = {
        "rmat24": Pair("rmat24", f"R-MAT {wide}, 16 edges a vertex, shuffled", columns, graph(wide, 16, True)),
        "banded": Pair("banded", f"{len(band)} diagonals, {rows:,} rows", columns,
                       lambda: ps.generate.banded(rows, band, dtype=np.float32, seed=_SEED)),
        "skewed22": Pair("skewed22", f"R-MAT {skewed}, 16 edges a vertex, not shuffled", columns,
                         graph(skewed, 16, False)),
        "laplacian": Pair("laplacian", f"7-point Laplacian of {edge}^3", 0, lambda: _square(edge)),
        "skewed": Pair("skewed", f"R-MAT {medium}, 4 edges a vertex, not shuffled", 0, graph(medium, 4, False)),
        "rmat16": Pair("rmat16", f"R-MAT {small}, 16 edges a vertex, shuffled", 0, graph(small, 16, True)),
        "rmat20": Pair("rmat20", f"R-MAT {large}, 4 edges a vertex, shuffled", 0, graph(large, 4, True)),
    }  # fmt: skip
    return [found[name] for name in NAMES if name in names]


@dataclass(frozen=True)
class Dense:
    """B = rows x columns of rank one: all entries differ, and a product with it is checked by one with a vector."""

    whole: np.ndarray
    down: np.ndarray  # float64
    across: np.ndarray


def dense(rows: int, columns: int) -> Dense:
    """By several threads: it may take gigabytes."""
    rng = np.random.default_rng(_SEED)
    down, across = rng.random(rows, np.float32) + 0.5, rng.random(columns, np.float32) + 0.5
    whole = np.empty((rows, columns), np.float32)
    cuts = np.linspace(0, rows, (os.cpu_count() or 1) + 1).astype(int)

    def fill(n: int) -> None:
        at = slice(cuts[n], cuts[n + 1])
        np.multiply(down[at, None], across[None], out=whole[at])

    with ThreadPoolExecutor(len(cuts) - 1) as pool:
        list(pool.map(fill, range(len(cuts) - 1)))
    return Dense(whole, down.astype(np.float64), across.astype(np.float64))
