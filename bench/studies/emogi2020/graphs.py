"""The graphs of bench/emogi2020.py, one at a time: patterns in pinned memory, and the same with weights."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core
from studies.buono2017 import matrices as inputs
from studies.emogi2020 import paper

VERTEX_BYTES = 32  # of device memory, for its offset and what an algorithm keeps of it
_FIXED = 64 << 20  # counters, and pieces of long lists
_CHUNK = 1 << 22  # edges whose weights are made at once
_UNIFORM = {"a": 0.25, "b": 0.25, "c": 0.25}


@dataclass(frozen=True)
class Source:
    """A graph by name. `size`: bytes, roughly, before it is made; `kind`: "kron", "uniform", "road", "file"."""

    name: str
    kind: str
    scale: int
    size: float
    make: Callable[[], Any]


def generated(kind: str, scale: int, gpu: int | None) -> Source:
    """R-MAT with GAP's parameters, or with equal ones: edge factor 16, undirected. On a GPU where one is given."""

    def make() -> Any:
        how = {} if kind == "kron" else _UNIFORM
        device = None if gpu is None else ps.device(gpu)
        return ps.generate.rmat(scale, 16, seed=1, device=device, **how)

    return Source(f"{kind}{scale}", kind, scale, 136.0 * 2**scale, make)


def road(edge: int) -> Source:
    make = lambda: ps.generate.road_grid(edge, edge, dtype=bool, seed=3)  # noqa: E731
    return Source(f"road{edge}", "road", 0, 20.0 * edge * edge, make)


def files(folder: Path, least: int) -> Iterator[Source]:
    for found in inputs.files(folder, least):
        yield Source(found.name, "file", 0, found.size, lambda found=found: square(found.make()))


def square(a: Any) -> Any:
    """As an undirected pattern; Unfit where it is no graph."""
    if a.shape[0] != a.shape[1]:
        raise inputs.Unfit(f"{a.shape[0]} x {a.shape[1]} is no graph")
    pattern = inputs.as_pattern(a)
    symmetric = pattern._derived.symmetric_pattern
    if symmetric is None:
        symmetric = (pattern.to_scipy() != pattern.to_scipy().T).nnz == 0
    if not symmetric:
        s = pattern.to_scipy()
        pattern = ps.csr_array((s + s.T).astype(bool))
    pattern._derived.symmetric_pattern = True
    return pattern


def pinned(a: Any) -> Any:
    """In memory whose pages a GPU reads in place."""
    moved = a.to(ps.pinned)
    moved._derived.symmetric_pattern = True
    return moved


def twin(a: Any) -> Any:
    """The same arrays in a matrix that shares nothing derived from them: another GPU's view, or another plan."""
    other = ps.csr_array._wrap(a._core)
    other._derived.symmetric_pattern = a._derived.symmetric_pattern
    other._derived.symmetric_weights = a._derived.symmetric_weights
    return other


def weights(a: Any) -> np.ndarray:
    """8 to 72 as in the paper, from a hash of the edge, the same in both directions; float32."""
    low, high = paper.WEIGHTS
    indptr, indices = a.indptr, a.indices
    on_gpu = _core.device_count() > 0
    values = ps.empty(a.nnz, np.float32, place=ps.pinned if on_gpu else ps.host)
    cuts = np.searchsorted(indptr, np.arange(0, a.nnz, _CHUNK), side="right") - 1
    cuts = np.unique(np.append(cuts, a.shape[0]))

    def fill(rows: tuple[int, int]) -> None:
        first, last = rows
        span = slice(int(indptr[first]), int(indptr[last]))
        tails = np.repeat(
            np.arange(first, last, dtype=np.uint64), np.diff(indptr[first : last + 1])
        )
        heads = indices[span].astype(np.uint64)
        mixed = np.minimum(tails, heads) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= np.maximum(tails, heads) * np.uint64(0xC2B2AE3D27D4EB4F)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        values[span] = (mixed >> np.uint64(40)) % np.uint64(high - low + 1) + np.uint64(low)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(fill, zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)))
    return values


def spaced(a: Any, count: int, evenly: bool, seed: int = 5) -> list[int]:
    """`count` vertices with edges: random ones, or as EMOGI's programs take them, every n / count-th."""
    n, indptr = a.shape[0], a.indptr
    if evenly:
        return [v for v in range(0, n - n % count, max(n // count, 1)) if indptr[v] < indptr[v + 1]]
    rng, found = np.random.default_rng(seed), dict[int, None]()
    for _ in range(1000):
        some = rng.integers(0, n, 4 * count)
        found |= dict.fromkeys(some[indptr[some] < indptr[some + 1]].tolist())
        if len(found) >= count:
            break
    return list(found)[:count]


class Shelf:
    """One graph at a time."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.seconds = 0.0
        self._made: Any = None
        self._weighted: Any = None
        self._degrees: np.ndarray | None = None

    def get(self, source: Source, weighted: bool = False) -> Any:
        if source is not self.source:
            self.clear()
            begin = time.perf_counter()
            made = source.make()
            self._made = pinned(made) if _core.device_count() else made
            del made
            self.source, self.seconds = source, time.perf_counter() - begin
        if not weighted:
            return self._made
        if self._weighted is None:
            a = self._made
            self._weighted = ps.csr_array._from_parts(
                *a.shape, a.indptr, a.indices, weights(a), validate="cheap"
            )
            self._weighted._derived.symmetric_pattern = True
            self._weighted._derived.symmetric_weights = True
        return self._weighted

    def degrees(self) -> np.ndarray:
        if self._degrees is None:
            self._degrees = np.diff(self._made.indptr).astype(np.int32)
        return self._degrees

    def clear(self) -> None:
        self.source = self._made = self._weighted = self._degrees = None
        gc.collect()


def budget(a: Any, edge_bytes: int, share: float) -> int:
    """Device memory: the vertices' arrays and at most `share` of the edges' bytes."""
    return VERTEX_BYTES * a.shape[0] + _FIXED + int(share * edge_bytes)
