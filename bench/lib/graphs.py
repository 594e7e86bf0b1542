"""The graphs of the graph benchmark, by name: generated ones, and graphs of the data folder.

Every graph is simple (no self loops, no duplicates), so that everybody counts the same edges.
Weights are whole numbers: the graph's own where it has such, else 1 to 255 from a hash of the edge,
the same in both directions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lib import matrices

DATA = ("road-moscow", "road-seattle", "luxembourg_osm", "cnr-2000", "web-NotreDame",
        "soc-Slashdot0902", "fb-Cornell5", "git-dag-scipy")  # fmt: skip
MAX_WEIGHT = 255


@dataclass
class Graph:
    """`pattern` is a SciPy CSR array of ones; `own` its weights where the input has whole positive ones."""

    name: str
    pattern: Any
    own: np.ndarray | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.pattern.shape[0]

    @functools.cached_property
    def degrees(self) -> np.ndarray:
        return np.diff(self.pattern.indptr)

    @functools.cached_property
    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.n, dtype=np.int32), self.degrees)

    @functools.cached_property
    def undirected(self) -> bool:
        turned = self.pattern.T.tocsr()
        return bool(
            np.array_equal(turned.indptr, self.pattern.indptr)
            and np.array_equal(turned.indices, self.pattern.indices)
        )

    @property
    def edges(self) -> int:
        """An undirected edge counts once."""
        return self.pattern.nnz // 2 if self.undirected else self.pattern.nnz

    @functools.cached_property
    def weights(self) -> np.ndarray:
        if self.own is not None:
            return self.own
        u, v = self.rows.astype(np.uint64), self.pattern.indices.astype(np.uint64)
        low, high = np.minimum(u, v), np.maximum(u, v)
        mixed = (low * np.uint64(0x9E3779B97F4A7C15)) ^ (high * np.uint64(0xC2B2AE3D27D4EB4F))
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        return ((mixed >> np.uint64(40)) % np.uint64(MAX_WEIGHT)).astype(np.float64) + 1

    def csr(self, dtype: Any = bool) -> Any:
        """A new penstock csr_array: a pattern, or with the weights in a type."""
        import penstock as ps

        data = np.ones(self.pattern.nnz, bool) if dtype is bool else self.weights.astype(dtype)
        return ps.csr_array((data, self.pattern.indices, self.pattern.indptr), shape=(self.n,) * 2)

    def scipy(self, weighted: bool = False) -> Any:
        import scipy.sparse as sp

        data = self.weights if weighted else np.ones(self.pattern.nnz)
        return sp.csr_array((data, self.pattern.indices, self.pattern.indptr), shape=(self.n,) * 2)

    def mirrored(self) -> Graph:
        """Every edge in both directions."""
        if self.undirected:
            return self
        both = simple(self.pattern + self.pattern.T)
        return Graph(self.name, both, notes=self.notes)

    def sources(self, count: int, seed: int = 5) -> list[int]:
        candidates = np.flatnonzero(self.degrees)
        chosen = np.random.default_rng(seed).choice(
            candidates, min(count, candidates.size), replace=False
        )
        return [int(v) for v in chosen]


def simple(matrix: Any) -> Any:
    """A pattern of ones, sorted, without self loops and duplicates."""
    import scipy.sparse as sp

    coo = sp.coo_array(matrix)
    off = coo.row != coo.col
    ones = np.ones(int(off.sum()), np.int8)
    csr = sp.csr_array((ones, (coo.row[off], coo.col[off])), shape=coo.shape)
    csr.sum_duplicates()
    csr.sort_indices()
    csr.data = np.ones(csr.nnz, np.int8)
    csr.indices = csr.indices.astype(np.int32, copy=False)
    return csr


def from_matrix(name: str, a: Any) -> Graph:
    """Of a penstock csr_array; its values are kept as weights where they are whole, positive, and no entry
    had to go."""
    s = a.to_scipy()
    pattern = simple(s)
    own = None
    if a.dtype != np.bool_ and pattern.nnz == s.nnz:
        s.sort_indices()
        values = s.data.astype(np.float64)
        if (values > 0).all() and (values == np.floor(values)).all():
            own = values
    return Graph(name, pattern, own)


def _rmat(scale: int) -> Callable[[], Graph]:
    def make() -> Graph:
        from penstock import generate

        return from_matrix(f"rmat{scale}", generate.rmat(scale, edge_factor=16, seed=1))

    return make


def _uniform(scale: int) -> Callable[[], Graph]:
    def make() -> Graph:
        from penstock import generate

        a = generate.uniform(1 << scale, nnz_per_row=16, dtype=bool, seed=2).to_scipy()
        return Graph(f"uniform{scale}", simple(a + a.T))

    return make


def _road(edge: int) -> Callable[[], Graph]:
    def make() -> Graph:
        from penstock import generate

        return from_matrix(f"road{edge}", generate.road_grid(edge, edge, seed=3))

    return make


GENERATED = {
    "rmat18": _rmat(18),
    "rmat20": _rmat(20),
    "uniform18": _uniform(18),
    "uniform20": _uniform(20),
    "road2000": _road(2000),
}
TOY = {"rmat9": _rmat(9), "uniform9": _uniform(9), "road30": _road(30)}


def lifted(graph: Graph, copies: int) -> Graph:
    """The random lift of a graph, with its own weights where it has some."""
    from penstock import generate

    a = graph.csr() if graph.own is None else graph.csr(np.float64)
    return from_matrix(f"{graph.name}x{copies}", generate.lift(a, copies, seed=1))


def select(names: str, quick: bool, skip: Callable[[str, str], None]) -> Iterator[Graph]:
    """For a comma-separated list of names, files, "generated", "data" or "all". NAME*8 is a lift of 8 copies."""
    made = TOY if quick else GENERATED
    files = matrices.data_files()
    data = [] if quick else [name for name in DATA if name in files]
    groups = {"generated": [*made], "data": data, "all": [*made, *data]}
    wanted = [name for given in names.split(",") for name in groups.get(given, [given])]
    for wish in dict.fromkeys(wanted):
        name, star, copies = wish.rpartition("*") if "*" in wish else (wish, "", "1")
        if star and not (copies.isdigit() and int(copies) > 0):
            raise SystemExit(f"graph {wish!r}: say how many copies, as {name}*8")
        graph = _named(name, files, [*groups], skip)
        if graph is not None:
            yield lifted(graph, int(copies)) if star else graph


def _named(
    name: str, files: dict[str, Path], groups: list[str], skip: Callable[[str, str], None]
) -> Graph | None:
    import penstock as ps

    known = {**GENERATED, **TOY}
    if name in known:
        return known[name]()
    path = files.get(name, Path(name))
    if not path.exists():
        raise SystemExit(
            f"graph {name!r} is neither a file nor one of {', '.join([*known, *files, *groups])}"
        )
    a = ps.load(path)
    if a.shape[0] != a.shape[1]:
        skip(name, f"{a.shape[0]} x {a.shape[1]} is no graph")
        return None
    return from_matrix(path.name.removesuffix(".gz").rsplit(".", 1)[0], a)
