"""The matrices of bench/buono2017.py, with their values, one at a time."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock import _core
from studies.buono2017.reference import Reference, random_numbers

_GRAPH = 32 * 12.0  # bytes a vertex of R-MAT and BTER
_PACKED = 4.0  # bytes of a file for each that it has packed
_WORTH_IT = 1.3  # a generator's time grows a little faster than the graph
_SMALLER = 5  # scales between a graph and the one whose time foretells it,
_LEAST = 10  # which has at least this scale


@dataclass(frozen=True)
class Source:
    """A matrix by name. `label` is the name in the paper's table 2; `scale` is 0 but for graphs made at one.
    `size`: bytes, roughly, before it is made."""

    name: str
    label: str
    kind: str  # "rmat", "bter", "stencil", "file"
    scale: int
    size: float
    make: Callable[[], Any]


def rmat(scale: int, gpu: int | None) -> Source:
    """The paper's parameters (section 4.1). On GPU `gpu`, where one is given: the same graph, sooner."""

    def make() -> Any:
        if gpu is None:
            return ps.generate.rmat(scale, seed=1)
        return ps.generate.rmat(scale, seed=1, device=ps.device(gpu)).to(ps.host)

    return Source(f"rmat{scale}", f"R-MAT {scale}", "rmat", scale, _GRAPH * 2**scale, make)


def bter(scale: int) -> Source:
    def make() -> Any:
        return ps.generate.bter(scale, seed=1)

    return Source(f"bter{scale}", f"BTER {scale}", "bter", scale, _GRAPH * 2**scale, make)


def bter_seconds(scale: int) -> float:
    """What generating it will take, from a graph 32 times smaller; 0 where it is small itself."""
    small = max(scale - _SMALLER, _LEAST)
    if small >= scale:
        return 0.0
    begin = time.perf_counter()
    ps.generate.bter(small, seed=1)
    return (time.perf_counter() - begin) * 2 ** (scale - small) * _WORTH_IT


def laplacian(edge: int) -> Source:
    name = f"laplacian{edge}"
    make = lambda: ps.generate.laplacian((edge,) * 3)  # noqa: E731
    return Source(name, name, "stencil", 0, 92.0 * edge**3, make)


class Unfit(Exception):
    """A file that cannot be a contestant's matrix; the message says why."""


_KNOWN = {"friendster": "Friendster", "it-2004": "IT-2004", "arabic-2005": "Arabic-2005",
          "orkut": "Orkut"}  # fmt: skip


def files(folder: Path, least: int) -> Iterator[Source]:
    """Everything in a folder: files of any format that penstock reads, and native stores, which are mapped. Those with
    fewer than `least` nonzeros are Unfit."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix.lower() == ".md":
            continue
        name = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        label = next((v for k, v in _KNOWN.items() if k in name.lower()), name)
        parts = [p for p in path.iterdir() if p.is_file()] if path.is_dir() else [path]
        size = sum(p.stat().st_size for p in parts) * (_PACKED if path.suffix == ".gz" else 1)
        yield Source(name, label, "file", 0, size, lambda path=path: _read(path, least))


def _read(path: Path, least: int) -> Any:
    try:
        a = ps.open(path) if path.is_dir() else ps.load(path)
    except (ValueError, NotImplementedError) as e:
        raise Unfit(str(e).replace(f"{path.parent}{os.sep}", "")) from e
    if a.dtype.kind == "c" or a.nnz < max(least, 1):
        raise Unfit(f"complex values, or fewer than {max(least, 1)} nonzeros: {a.dtype}, {a.nnz}")
    return a


def as_pattern(a: Any) -> Any:
    """The same positions without values, arrays shared."""
    if a.dtype == np.bool_:
        return a
    return ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, None, validate="cheap")


def with_values(a: Any, dtype: Any) -> Any:
    """With values of `dtype`: its own, or seeded random ones where it is a pattern; positions shared."""
    if a.dtype != np.bool_:
        return a if a.dtype == dtype else a.astype(dtype)
    values = random_numbers(a.nnz, 3, dtype)
    return ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, values, validate="cheap")


def unprepared(a: Any) -> Any:
    """The same arrays in a matrix that shares no plans with it."""
    values = None if a.dtype == np.bool_ else a.data
    return ps.csr_array._from_parts(*a.shape, a.indptr, a.indices, values, validate="cheap")


class Shelf:
    """One matrix at a time, with and without values, in pinned memory where there is a GPU. They share positions."""

    def __init__(self) -> None:
        self.source: Source | None = None
        self.seconds = 0.0  # that making the last one took
        self._made: Any = None
        self._kinds: dict[str, Any] = {}
        self._references: dict[str, Reference] = {}

    def put(self, source: Source) -> None:
        """Makes or reads it, in the place of the last one."""
        self.clear()
        begin = time.perf_counter()
        self._made, self.source = source.make(), source
        self.seconds = time.perf_counter() - begin

    def get(self, source: Source, kind: str) -> Any:
        """`kind` is "pattern", "float32" or "float64"; of the two with values, one at a time is kept."""
        if source is not self.source:
            self.put(source)
        if kind not in self._kinds:
            for other in {"float32", "float64"} & self._kinds.keys():
                del self._kinds[other]
                self._references.pop(other, None)
            gc.collect()
            a = as_pattern(self._made) if kind == "pattern" else with_values(self._made, kind)
            self._kinds[kind] = a.to(ps.pinned) if _core.device_count() else a
        return self._kinds[kind]

    def reference(self, a: Any, x: np.ndarray) -> Reference:
        """Of a matrix that `get` gave, for the x that all products take; kept as long as it."""
        for kind, known in self._kinds.items():
            if known is a:
                if kind not in self._references:
                    self._references[kind] = Reference(a, x)
                return self._references[kind]
        return Reference(a, x)

    def clear(self) -> None:
        self._made = self.source = None
        self._kinds.clear()
        self._references.clear()
        gc.collect()
