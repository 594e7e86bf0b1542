"""Distributed matrices out of entries that ranks have in any order, numbered with 64 bits."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np

from penstock import _core, generate
from penstock._arrays.convert import as_array
from penstock.dist._agree import agreed
from penstock.dist._owners import Options
from penstock.dist._wide.numbers import as_shape, beyond, check_way, is_wide
from penstock.dist._wide.room import require_room

SIGNS = {"none": 0, "symmetric": 1, "skew": -1}  # of the mirrored entry, by a file's symmetry


class Entries:
    """The entries that one rank has of a distributed matrix, for `ps.dist.csr_array`: each rank gives its own, in any
    order, and none of them needs to belong to it. Entries of one place add up.

    Parameters
    ----------
    row, col : arrays of integers of one length, shape (entries,)
        Numbers from 0, of up to 62 bits.
    values : array of float32 or float64, shape (entries,), optional
        None: a pattern, dtype bool. Of the same type on all ranks.
    shape : (rows, columns), the same on all ranks

    TypeError and ValueError for what these are not, and for a number outside the shape, with its place.

    >>> import numpy as np, penstock as ps
    >>> def work(comm):
    ...     mine = ps.dist.Entries([comm.rank], [2**32], [2.0 + comm.rank], shape=(2**33, 2**33))
    ...     D = ps.dist.csr_array(mine, comm)
    ...     return D.nnz, D.rows.tolist()
    >>> ps.dist.run(work, 2)
    [(2, [0]), (2, [1, 4294967296])]
    """

    def __init__(self, row: Any, col: Any, values: Any = None, *, shape: tuple[int, int]) -> None:
        self.shape = as_shape(shape)
        self.row, self.col = (
            _numbers(name, given, extent)
            for name, given, extent in zip(("row", "col"), (row, col), self.shape, strict=True)
        )
        self.values = None if values is None else _values(values)
        lengths = [a.size for a in (self.row, self.col, self.values) if a is not None]
        if len(set(lengths)) > 1:
            raise ValueError(f"row, col and values have {lengths} entries: give equally many")

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(bool) if self.values is None else self.values.dtype

    def __len__(self) -> int:
        return self.row.size

    def __repr__(self) -> str:
        return f"<{len(self)} entries of a {self.shape[0]}x{self.shape[1]} matrix, {self.dtype}>"


def _numbers(name: str, given: Any, extent: int) -> np.ndarray:
    a = as_array(given)
    if a.size == 0:
        a = a.astype(np.int64).reshape(-1)
    if a.ndim != 1 or a.dtype.kind not in "iu":
        raise TypeError(f"{name} has shape {a.shape} and type {a.dtype}: give one list of integers")
    if a.size:
        bad = (a < 0) | (a >= extent)  # before a conversion, which wraps numbers of uint64
        if bad.any():
            k = int(bad.argmax())
            raise ValueError(
                f"{name}[{k}] = {int(a[k])} is outside 0 .. {extent - 1}: give a larger shape="
            )
    return np.ascontiguousarray(a, np.int64)


def _values(given: Any) -> np.ndarray:
    a = as_array(given)
    if a.size == 0 and a.dtype.kind != "f":
        a = a.astype(np.float64).reshape(-1)
    if a.ndim != 1 or a.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"values have shape {a.shape} and type {a.dtype}: give one list of float32 or float64, "
            "or None for a pattern"
        )
    return np.ascontiguousarray(a)


def from_entries(source: Entries, comm: Any, how: Options) -> Any:
    """The core's distributed matrix of what all ranks give. Collective."""
    facts = comm.collect((source.shape, source.dtype.name))
    for rank, fact in enumerate(facts):
        if fact != facts[0]:
            raise ValueError(
                f"the ranks' Entries are of different matrices: rank 0 gives {facts[0][0]}, {facts[0][1]}, rank "
                f"{rank} gives {fact[0]}, {fact[1]}: give all of them one shape and type"
            )

    agreed(comm, lambda: check_way(how, "a matrix of Entries"))
    require_room(comm, len(source), source.dtype, "give", ", or fewer entries")

    def take() -> Any:
        held = _core.DistEntries(source.dtype.name)
        held.reserve(len(source))
        add(held, source.row, source.col, source.values, 0, source.shape, 0)
        return held

    return made(agreed(comm, take), comm, source.shape, how)


def add(
    held: Any, row: Any, col: Any, values: Any, base: int, shape: tuple[int, int], mirror: int
) -> None:
    """Puts entries, numbered from `base`, to those that are held."""
    row, col = (np.ascontiguousarray(a, np.int64) for a in (row, col))
    if values is None:
        held.add_pattern(row, col, base, *shape, mirror)
    else:
        held.add(row, col, values, base, *shape, mirror)


def made(held: Any, comm: Any, shape: tuple[int, int], how: Options, add_up: bool = True) -> Any:
    """The core's distributed matrix of what is held, which is used up. Collective."""
    balanced = how.partition == "balanced"
    return held.matrix(comm, *shape, balanced, is_wide(shape), add_up, *how.core())


def generated(source: functools.partial, shape: tuple[int, int], comm: Any, how: Options) -> Any:
    """The same of an R-MAT graph, of which each rank draws a part. Collective."""
    if source.func is not generate.rmat:
        raise ValueError(
            f"ps.generate.{source.func.__name__} makes at most 2^31 - 1 rows and columns for ranks, not {shape[0]} x "
            f"{shape[1]}: ps.generate.rmat makes more, and ps.dist.Entries takes entries of any numbers"
        )
    check_way(how, beyond(shape))
    asked = inspect.signature(source.func).bind(*source.args, **source.keywords)
    asked.apply_defaults()
    edges = int(float(asked.arguments["edge_factor"]) * shape[0]) // comm.size + 1
    drawn = edges * (2 if asked.arguments["undirected"] else 1)
    require_room(comm, drawn, asked.arguments["dtype"], "draw", ", or a smaller edge_factor")
    held = agreed(comm, lambda: source(_keep=(comm.size, comm.rank)))
    return made(held, comm, shape, how, add_up=False)
