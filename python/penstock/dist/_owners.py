"""Who keeps which rows of a matrix that no rank has as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from penstock import _core
from penstock._choices import PARTITIONERS
from penstock.partition import Partition


@dataclass(frozen=True)
class Options:
    """What a distributed matrix is made with; the names are those of `ps.dist.csr_array`."""

    partition: Any
    halo: str
    sums: str
    algorithm: str
    schedule: Any  # of the core, or None
    scatter: str

    def owners(self, shared: bool) -> dict[str, Any]:
        """The partition, in what all ranks must give alike; nothing where one rank's counts for all."""
        p = self.partition
        if not shared:
            return {}
        if isinstance(p, Partition):
            p = p._core
            parts = (p.row_cuts, p.col_cuts) if p.row_cuts.size else (p.owners, *p.pieces)
            p = np.concatenate([np.asarray(v).ravel().astype(np.int64) for v in parts])
        elif not isinstance(p, str):
            p = np.asarray(p)
            p = p.astype(np.int64) if p.dtype.kind in "iu" else p
        return {"partition": p}

    def core(self) -> tuple[Any, ...]:
        return (self.halo, self.sums, self.algorithm, self.schedule)


def _labels(owners: Any, rows: int, cols: int, parts: int) -> Any:
    """A partition by owners, of a matrix of which only the shape is known."""
    owners = np.ascontiguousarray(owners)
    if owners.dtype.kind not in "iu":
        raise TypeError(f"owners are integers, not {owners.dtype}")
    return _core.partition_of_owners(owners.astype(np.int32, copy=False), rows, cols, parts)


def given(how: Options, rows: int, cols: int, parts: int) -> Any:
    """The partition that the caller gave, for the core to use up, or None where it is a name."""
    if isinstance(how.partition, Partition):
        core = how.partition._core
        if core.shape != (rows, cols):
            raise ValueError(
                f"the partition is of a matrix of {core.shape[0]} x {core.shape[1]}, this one has {rows} x {cols}"
            )
        return core.copy()
    return None if isinstance(how.partition, str) else _labels(how.partition, rows, cols, parts)


def by_shape(how: Options, rows: int, cols: int, parts: int) -> Any:
    """The partition where the shape is enough for it, else None."""
    p = given(how, rows, cols, parts)
    if p is None and PARTITIONERS[how.partition].reads == "shape":
        p = _core.partition_of_shape(how.partition, rows, cols, parts)
    if p is not None and p.parts != parts:
        raise ValueError(f"the partition has {p.parts} parts, but there are {parts} ranks")
    return p


class Kept:
    """The rows, and columns, of which this rank has entries by a partition."""

    def __init__(self, comm: Any, p: Any, cols: int) -> None:
        self.partition, self._rank = p, comm.rank
        if p.row_cuts.size:
            i, j = divmod(comm.rank, p.grid[1])
            columns = (int(p.col_cuts[j]), int(p.col_cuts[j + 1])) if p.grid[1] > 1 else (0, cols)
            self.first, last = int(p.row_cuts[i]), int(p.row_cuts[i + 1])
            self.core = _core.kept_range(self.first, last - self.first, *columns)
        else:
            self.core = _core.kept_rows(p, comm.rank)

    def numbers(self) -> np.ndarray:
        """Of the rows, ascending."""
        p = self.partition
        if p.row_cuts.size:
            return np.arange(self.first, p.row_cuts[self._rank // p.grid[1] + 1])
        row, _, _, part = p.pieces
        return np.union1d(np.flatnonzero(p.owners == self._rank), row[part == self._rank])

    def distributed(self, comm: Any, made: Any, how: Options) -> Any:
        """The core's distributed matrix of a csr_array of these rows; it, and this, are used up."""
        p = self.partition
        return _core.dist_of_share(
            comm, made._core, self.core, bool(p.pieces[0].size), p, *how.core()
        )


def hand_on(comm: Any, p: Any, cuts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """From lengths of an equal range of rows on each rank to those of the rows that it keeps."""
    first, last = cuts[comm.rank : comm.rank + 2]
    if p.row_cuts.size:
        ends = np.clip(p.row_cuts, first, last) - first
        mine = [lengths[a:b] for a, b in pairwise(ends)]
    else:
        row, _, _, part = p.pieces
        here = (row >= first) & (row < last)
        row, part, owners = row[here] - first, part[here], p.owners[first:last]
        mine = [
            lengths[np.union1d(np.flatnonzero(owners == r), row[part == r])]
            for r in range(comm.size)
        ]
    return np.concatenate(comm.all_to_all(mine))


def hand_back(comm: Any, kept: Kept, cuts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The reverse."""
    ids = kept.numbers()
    own = kept.partition.owners[ids] == comm.rank  # a split row is told once
    ids, lengths = ids[own], lengths[own]
    ends = np.searchsorted(ids, cuts)
    found = [
        np.concatenate(comm.all_to_all([told[a:b] for a, b in pairwise(ends)]))
        for told in (ids, lengths)
    ]
    first, last = cuts[comm.rank : comm.rank + 2]
    out = np.zeros(last - first, np.int64)
    out[found[0] - first] = found[1]
    return out


def same(p: Any, q: Any) -> bool:
    """Whether two partitions give everybody the same entries of one matrix."""
    pairs = [(p.owners, q.owners), *zip(p.pieces, q.pieces, strict=True)]
    return all(np.array_equal(a, b) for a, b in pairs)
