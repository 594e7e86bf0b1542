"""Entries drawn one by one: R-MAT graphs and uniform matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.generate._arguments import (
    at_most_32_bits,
    extent,
    flag,
    integer,
    least_of,
    on_gpu,
    real,
    seed_of,
    value_type,
    wrap,
)


def rmat(
    scale: int,
    edge_factor: float = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    undirected: bool = True,
    self_loops: bool = False,
    scramble: bool = True,
    dtype: Any = bool,
    seed: int = 0,
    device: Any = None,
    _keep: Any = None,
) -> csr_array:
    """An R-MAT graph (Chakrabarti, Zhan, Faloutsos 2004).

    The default parameters are those of Buono et al. 2017, section 4.1.

    Parameters
    ----------
    scale : int
        2**scale vertices, 1 to 30; up to 60 where ranks make the graph (`ps.dist.csr_array`).
    edge_factor : float
        Edges per vertex before duplicates and self loops go; undirected edges are stored twice.
    a, b, c : float
        Probabilities of three quadrants; the fourth has what is left of 1.
    undirected : bool
        Store each edge in both directions, with the same weight.
    self_loops : bool
        Keep them.
    scramble : bool
        Shuffle the vertex numbers. Otherwise low numbers have the high degrees.
    dtype : bool, float32 or float64
        Weights, where wanted, are uniform in (0, 1].
    device : optional
        A GPU, as `ps.device(0)` or its number, which makes the same graph, bit for bit, in its own
        memory. Beside the graph it takes 16 bytes an edge to sort (twice that undirected), or less
        in several passes where less is free or the option `device_memory` says so; MemoryError
        with the numbers where that is too little, PlacementError where there is no such GPU,
        NotCompiledError without CUDA.

    >>> import penstock as ps
    >>> A = ps.generate.rmat(10, seed=1)
    >>> A.shape, A.dtype
    ((1024, 1024), dtype('bool'))
    >>> S = A.to_scipy()
    >>> bool((S != S.T).nnz == 0 and S.diagonal().sum() == 0)
    True
    """
    scale, edge_factor = integer("scale", scale), real("edge_factor", edge_factor)
    a, b, c = real("a", a), real("b", b), real("c", c)
    how = (
        at_most_32_bits("scale", scale), edge_factor, a, b, c,
        flag("undirected", undirected), flag("self_loops", self_loops),
        flag("scramble", scramble), value_type(dtype), seed_of(seed),
    )  # fmt: skip
    if (
        isinstance(_keep, tuple) and len(_keep) == 2
    ):  # ranks, and one of them: entries of any numbers
        entries = _core.DistEntries(value_type(dtype))
        entries.add_rmat(*_keep, *how[:8], how[9])
        return entries
    if device is None:
        among = isinstance(_keep, tuple)  # a rank's part, its Comm, the partition: all ranks draw
        make = _core.generate_rmat_among if among else _core.generate_rmat
        made = make(*_keep[1:], *how, _keep[0]) if among else make(*how, _keep)
    else:
        made, _ = _core.generate_rmat_gpu(*how, **on_gpu(device))
    return wrap(made, symmetric=bool(undirected) if _keep is None else None)


def uniform(
    rows: int,
    cols: int | None = None,
    nnz_per_row: float = 16,
    *,
    dtype: Any = np.float64,
    seed: int = 0,
    device: Any = None,
    _keep: Any = None,
) -> csr_array:
    """Entries at independent uniform positions (Erdos-Renyi), values uniform in (0, 1].

    `nnz_per_row` is the mean before duplicates are merged, at most `cols`, which is `rows` unless given. `device`
    is a GPU that makes the same matrix in its own memory, as in `rmat`.

    >>> import penstock as ps
    >>> ps.generate.uniform(1000, 500, 4, seed=1).shape
    (1000, 500)
    """
    rows = extent("rows", rows, least_of(_keep))
    cols = rows if cols is None else extent("cols", cols, least_of(_keep))
    per_row = real("nnz_per_row", nnz_per_row)
    if cols == 0 and per_row > 0:
        raise ValueError(f"nnz_per_row = {per_row:g} in rows of no columns: give 0")
    how = (max(rows, 1), max(cols, 1), per_row, value_type(dtype), seed_of(seed))
    instead = None if rows and cols else (rows, cols)
    if device is None:
        return wrap(_core.generate_uniform(*how, _keep), instead=instead)
    return wrap(_core.generate_uniform_gpu(*how, **on_gpu(device))[0], instead=instead)
