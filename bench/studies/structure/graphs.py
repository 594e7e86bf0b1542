"""Lifts of real graphs, one of each kind that the data folder has; of small made ones where it is missing."""

from __future__ import annotations

import math
import os
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
    "bipartite": lambda: ps.generate.stochastic_block([20, 30], [[0, 0.2], [0.2, 0]], seed=3),
    "road": lambda: ps.generate.road_grid(9, 9, dtype=bool, seed=4),
    "mesh": lambda: ps.generate.random_geometric(60, 0.2, seed=5),
}
_MOST = 2**31 - 1  # vertices


def choices(quick: bool) -> list[str]:
    """The kinds that can be had here."""
    if quick:
        return [*TOY]
    files = matrices.data_files()
    return [kind for kind, name in KINDS.items() if name in files]


def base(name: str, quick: bool) -> Any:
    """A kind, a file or an R-MAT graph (rmatN), as an undirected pattern without self loops."""
    if quick and name in TOY:
        return TOY[name]()
    if name.startswith("rmat") and name[4:].isdigit():
        return ps.generate.rmat(int(name[4:]), 16, seed=1)
    files = matrices.data_files()
    path = files.get(KINDS.get(name, name), Path(name))
    if not path.exists():
        raise Unfit(f"neither a file nor one of {', '.join(choices(quick))}")
    found = ps.load(path)
    if found.shape[0] != found.shape[1]:
        raise Unfit(f"{found.shape[0]} x {found.shape[1]} is no graph")
    pattern = ps.csr_array(lib_graphs.from_matrix(name, found).mirrored().pattern.astype(bool))
    pattern._derived.symmetric_pattern = True
    return pattern


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

    label = Path(name).name.split(".")[0]
    return Source(f"{label}x{copies}", label, copies, 4.0 * a.nnz * copies, make)


def product(name: str, a: Any, copies: int | None, edges: float, degree: int) -> Source:
    """The Kronecker product of a random graph with `name`, which is denser by `degree`: copy c of every vertex has the
    neighbours that the vertex has, in each of the `degree` copies c + s and c - s. The shifts s are random (seeded)."""
    each = a.nnz * degree
    least = 2 * degree + 1  # copies, so that shifts differ
    copies = max(least, min(copies or math.ceil(edges / max(each, 1)), _MOST // max(a.shape[0], 1)))
    label = Path(name).name.split(".")[0]
    size = 4.0 * each * copies
    return Source(
        f"{label}x{copies}by{degree}", label, copies, size, lambda: _product(a, copies, degree)
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
