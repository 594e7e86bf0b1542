"""What the part `gpus` of bench/brock2024.py multiplies: R-MAT graphs, even and skewed, a band, a Laplacian."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import penstock as ps

_SEED = 24
COLUMNS = 128  # of a dense B
_FINER = 4  # of skewed graphs
_HALF_BAND = 13  # diagonals on each side: 27 entries a row, nlpkkt160 has 28


@dataclass(frozen=True)
class Pair:
    """A, and B: dense with `columns`, or A itself where that is 0. `about`: what A is, in words. `seconds`: that one
    number of GPUs takes, about; it is not begun with less left."""

    name: str
    about: str
    columns: int
    seconds: float
    make: Callable[[], Any]
    grid: str | None = "auto"  # of ranks; None: the most square one, wherever the entries are
    # So many times the rows of tiles: thieves find something to take. Not of A A: tiles four times as fine both ways
    # took 43 ms on four GPUs where one a rank took 14.
    finer: int = 1

    @property
    def same(self) -> str:
        """Pairs of one matrix, one after the other, have this in common."""
        return self.name.removesuffix("-square")

    @property
    def op(self) -> str:
        return "spmm" if self.columns else "spgemm"


def _rmat(scale: int, edges: int, scramble: bool, on_gpu: bool) -> Any:
    """Skewed ones keep their first vertices' high degrees together: so tiles differ."""
    how = {"scramble": scramble, "dtype": np.float32, "seed": _SEED}
    if not on_gpu:
        return ps.generate.rmat(scale, edges, **how)
    return ps.generate.rmat(scale, edges, device=ps.device(0), **how).to("host")


NAMES = ("rmat24", "banded", "banded-square", "skewed22", "laplacian", "laplacian-square", "skewed18", "rmat16",
         "rmat19", "rmat20")  # fmt: skip


def pairs(names: list[str], quick: bool, on_gpu: bool) -> list[Pair]:
    """In that order: the largest last, which is left out where time is short. Quick: all of them are toys."""
    rows, edge, columns = (3_000, 8, 8) if quick else (8_000_000, 160, COLUMNS)
    band = list(range(-_HALF_BAND, _HALF_BAND + 1))

    def graph(name: str, scale: int, edges: int, columns: int, seconds: float) -> Pair:
        scale, even = min(scale, 10) if quick else scale, name.startswith("rmat")
        about = f"R-MAT {scale}, {edges} edges a vertex, {'' if even else 'not '}shuffled"
        made = partial(_rmat, scale, edges, even, on_gpu)
        return Pair(
            name, about, columns, seconds, made, finer=_FINER if columns and not even else 1
        )

    near = [
        Pair("banded", f"{len(band)} diagonals, {rows:,} rows", columns, 20,
             partial(ps.generate.banded, rows, band, dtype=np.float32, seed=_SEED)),
        Pair("laplacian", f"7-point Laplacian of {edge}^3", 0, 8,
             partial(ps.generate.laplacian, (edge, edge, edge), dtype=np.float32)),
    ]  # fmt: skip
    banded, laplacian = (
        [p, replace(p, name=f"{p.name}-square", about=f"{p.about}, square grid", grid=None)]
        for p in near
    )
    found = [
        graph("rmat24", 24, 16, columns, 30),
        *banded,
        graph("skewed22", 22, 16, columns, 10),
        *laplacian,
        graph("skewed18", 18, 4, 0, 6),
        graph("rmat16", 16, 16, 0, 6),
        graph("rmat19", 19, 4, 0, 15),
        graph("rmat20", 20, 4, 0, 45),
    ]  # fmt: skip
    return [replace(p, seconds=0.0) if quick else p for p in found if p.name in names]


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
