"""Lifts of real graphs, one of each kind that the data folder has; of small made ones where it is missing."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from lib import graphs as lib_graphs
from lib import matrices

import penstock as ps
from penstock import _core
from studies.buono2017.matrices import Unfit
from studies.emogi2020.graphs import Source

# kind -> a graph of the data folder
KINDS = {
    "web": "cnr-2000",
    "social": "soc-Slashdot0902",
    "friends": "fb-Cornell5",
    "bipartite": "gowalla-bipartite",
    "road": "road-moscow",
    "history": "git-dag-git",
    "mesh": "mdual",
}
# Stand-ins of the same kinds, for machines without the folder and for tests.
TOY: dict[str, Callable[[], Any]] = {
    "web": lambda: ps.generate.watts_strogatz(60, 8, 0.1, seed=1),
    "social": lambda: ps.generate.barabasi_albert(60, 4, seed=2),
    "friends": lambda: ps.generate.planted_partition(4, 15, 0.8, 0.2, seed=6),
    "bipartite": lambda: ps.generate.stochastic_block([20, 30], [[0, 0.2], [0.2, 0]], seed=3),
    "road": lambda: ps.generate.road_grid(9, 9, dtype=bool, seed=4),
    "history": lambda: _history(12, 8),
    "mesh": lambda: ps.generate.random_geometric(60, 0.2, seed=5),
}
_MOST = 2**31 - 1  # vertices


def choices(quick: bool) -> list[str]:
    """The kinds that can be had here."""
    if quick:
        return [*TOY]
    files = matrices.data_files()
    return [kind for kind, name in KINDS.items() if name in files]


def _numbered(name: str) -> tuple[str, int]:
    """
    >>> _numbered("geo412000"), _numbered("web")
    (('geo', 412000), ('', 0))
    """
    found = re.fullmatch("(rmat|geo)([0-9]+)", name)
    return (found[1], int(found[2])) if found else ("", 0)


def _geometric(n: int) -> Any:
    """A random geometric graph of mean degree 12 (but for the border), the radius to eight decimals."""
    if n < 2:
        raise Unfit(f"geo{n}: give at least 2 vertices")
    return ps.generate.random_geometric(n, round(math.sqrt(12 / (math.pi * n)), 8), seed=1)


def _history(commits: int, files: int) -> Any:
    """A chain of commits, each with a folder of so many files, one of which is new."""
    versions = np.array([(np.arange(files) <= c % files) + c // files for c in range(commits)])
    numbers = versions * files + np.arange(files)  # files that did not change are shared
    u = np.concatenate(
        [np.arange(commits - 1), np.arange(commits), commits + np.repeat(np.arange(commits), files)]
    )
    v = np.concatenate(
        [np.arange(1, commits), commits + np.arange(commits), 2 * commits + numbers.ravel()]
    )
    n, ends = int(v.max()) + 1, (np.append(u, v), np.append(v, u))
    pattern = ps.csr_array((np.ones(2 * u.size, bool), ends), shape=(n, n))
    pattern._derived.symmetric_pattern = True
    return pattern


def base(name: str, quick: bool) -> Any:
    """A kind, a file, an R-MAT graph (rmatN) or a geometric one of N vertices (geoN), as an undirected pattern without
    self loops."""
    if quick and name in TOY:
        return TOY[name]()
    model, number = _numbered(name)
    if model == "rmat":
        return ps.generate.rmat(number, 16, seed=1)
    if model == "geo":
        return _geometric(number)
    files = matrices.data_files()
    path = files.get(KINDS.get(name, name), Path(name))
    if not path.exists():
        raise Unfit(f"neither a file nor rmatN, geoN or one of {', '.join(choices(quick))}")
    found = ps.load(path)
    if found.shape[0] != found.shape[1]:
        raise Unfit(f"{found.shape[0]} x {found.shape[1]} is no graph")
    pattern = ps.csr_array(lib_graphs.from_matrix(name, found).mirrored().pattern.astype(bool))
    pattern._derived.symmetric_pattern = True
    return pattern


def _names(name: str) -> tuple[str, str]:
    """What a lift is called, and its kind.

    >>> _names("geo412000"), _names("data/my.mtx")
    (('geo412000', 'geo'), ('my', 'my'))
    """
    label = Path(name).name.split(".")[0]
    return label, "geo" if _numbered(label)[0] == "geo" else label


def lifted(
    name: str, a: Any, copies: int | None, edges: float, mix: float, gpu: int | None
) -> Source:
    """The lift of a graph by so many copies, or by as many as make at least so many entries. It is made on the GPU
    where one is given and its memory suffices."""
    if copies is None:
        copies = math.ceil(edges / max(a.nnz, 1))
    copies = max(1, min(copies, _MOST // max(a.shape[0], 1)))

    def make() -> Any:
        if gpu is not None and _core.device_count() > 0:
            try:
                return ps.generate.lift(a, copies, mix, seed=1, device=ps.device(gpu))
            except MemoryError:
                pass  # the CPU makes the same
        return ps.generate.lift(a, copies, mix, seed=1)

    label, kind = _names(name)
    return Source(f"{label}x{copies}", kind, copies, 4.0 * a.nnz * copies, make)


def product(name: str, a: Any, copies: int | None, edges: float, degree: int) -> Source:
    """The Kronecker product of a random graph with `name`, which is denser by `degree`: copy c of every vertex has the
    neighbours that the vertex has, in each of the `degree` copies c + s and c - s. The shifts s are random (seeded)."""
    each = a.nnz * degree
    least = 2 * degree + 1  # copies, so that shifts differ
    copies = max(least, min(copies or math.ceil(edges / max(each, 1)), _MOST // max(a.shape[0], 1)))
    label, kind = _names(name)
    size = 4.0 * each * copies
    return Source(
        f"{label}x{copies}by{degree}", kind, copies, size, lambda: _product(a, copies, degree)
    )


def _product(a: Any, copies: int, degree: int) -> Any:
    n, lengths, start = a.shape[0], np.diff(a.indptr), a.indptr[:-1]
    shifts = 1 + np.random.default_rng(1).choice((copies - 1) // 2, degree // 2, replace=False)
    all_shifts = np.concatenate([shifts, -shifts])
    step = np.repeat(lengths, lengths)  # of each entry: the length of its list
    first = np.repeat(start * (degree - 1), lengths) + np.arange(a.nnz)
    columns = np.empty(copies * a.nnz * degree, np.int32)

    def fill(c: int) -> None:
        part = columns[c * a.nnz * degree : (c + 1) * a.nnz * degree]
        for k, other in enumerate(np.sort((c + all_shifts) % copies)):
            part[first + k * step] = a.indices + np.int32(other * n)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(fill, range(copies)))
    indptr = np.concatenate([[0], np.cumsum(np.tile(lengths * degree, copies))])
    ones = np.ones(columns.size, bool)
    return ps.csr_array((ones, columns, indptr), shape=(n * copies, n * copies))
