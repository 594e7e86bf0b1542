"""A text file that all ranks read: each one the lines that begin in its share of the bytes, twice, sending what it
finds to whom it belongs, first for the lengths of rows and then for their entries."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import accumulate
from typing import Any, NoReturn

import numpy as np

from penstock import _core
from penstock._choices import PARTITIONERS
from penstock._io import edge_list, matrix_market
from penstock._io._entries import Body, too_few, too_many
from penstock._io._errors import FREE_ROWS, broken
from penstock._io._part import newlines, part_blocks
from penstock._io._scipy_text import one_thread
from penstock._io._text import TextFile, is_gzip
from penstock._io.formats import find_format
from penstock._matrix.csr import csr_array
from penstock.dist._agree import agreed, any_rank
from penstock.dist._owners import Kept, Options, by_shape, hand_back, hand_on, same
from penstock.dist._walk import Fault, Walk, fault_at
from penstock.dist._wide.build import SIGNS, add, made
from penstock.dist._wide.numbers import MOST, beyond, check_way, is_wide
from penstock.dist._wide.room import require_room

# Bytes of text a round: of all ranks, for they may all find entries of one; and of each, for calls cost more below it.
# R-MAT 20 on two ranks: with 4 MB a round as long, and 1 to 4 MB more of memory; blocks of 256 KB take a sixth longer.
ROUND, LEAST = 2 << 20, 1 << 18
MOST_THREADS = 8  # of a rank; each holds a block
_BODIES: dict[str, Callable[..., Body | None]] = {
    "matrix-market": matrix_market.body,
    "edge-list": edge_list.body,
}


def reads_pattern(how: Options) -> bool:
    """Whether the partition is made from the whole pattern."""
    name = how.partition
    return isinstance(name, str) and PARTITIONERS[name].reads == "graph"


def from_text(path: Any, comm: Any, how: Options, beyond_one: bool = False) -> Any:
    """The core's distributed matrix; None where rank 0 should read the file alone: because there is no other rank, the
    partition asks for the whole pattern, not all ranks see the same file, or it is none of lines. A file with numbers
    beyond 32 bits is read here, or refused, where its header tells of them, or there is a second rank, or `beyond_one`:
    one process could not read it. Collective."""
    path = os.fspath(path)
    found = agreed(comm, lambda: _look(path))
    facts = comm.collect(found and found[1:])
    if found is None or None in facts or len(set(facts)) > 1:
        return None
    body, size, _ = found
    if body.shape is None or not is_wide(body.shape):
        alone = comm.size == 1 and not beyond_one
        if alone or how.scatter == "masters" or reads_pattern(how):
            return None
    require_real(path, body)
    with one_thread() if body.alone else nullcontext():
        return _Readers(path, body, size, comm, how).matrix()


def require_real(path: Any, body: Body) -> None:
    """NotCompiledError for complex values."""
    if body.values is not None and body.values.kind == "c":
        raise _core.NotCompiledError(
            f"{path}: distributed matrices have values of bool, float32 or float64, these are complex: load the file, "
            "and distribute the real or the imaginary part"
        )


def body_of(path: Any) -> Callable[..., Body | None] | None:
    """What reads the header of such a file; None where it is none of lines of entries."""
    return _BODIES.get(find_format(path).name)


def _look(path: str) -> tuple[Body, int, int] | None:
    """What the header says, the size of the file and a checksum of its begin; None where it is not to be read in parts,
    or not here, so that the ordinary reader says what is wrong with it."""
    if not os.path.isfile(path):
        return None
    find = body_of(path)
    if find is None or is_gzip(path):
        return None
    with TextFile(path, ahead=False) as text:
        body = find(text, most=MOST)
    if body is None:
        return None
    with open(path, "rb") as file:
        return body, os.path.getsize(path), zlib.crc32(file.read(1 << 16))


class _Readers:
    """The ranks, each with its share of the bytes. All methods but `_blocks` are collective."""

    def __init__(self, path: str, body: Body, size: int, comm: Any, how: Options) -> None:
        self._path, self._body, self._comm, self._how = path, body, comm, how
        self._threads = min(_core.num_threads(), MOST_THREADS) if body.alone else 1
        text = size - body.first
        self._part = [body.first + text * r // comm.size for r in (comm.rank, comm.rank + 1)]

    def _blocks(self) -> Iterator[tuple[bytes, int]]:
        size = max(LEAST, ROUND // self._comm.size // self._threads)
        return part_blocks(self._path, *self._part, self._body.first, size)

    def _walk(self, values: bool) -> Walk:
        return Walk(self._path, self._body, self._blocks(), values, self._threads)

    def matrix(self) -> Any:
        comm, how = self._comm, self._how
        rows, cols = self._shape()
        if is_wide((rows, cols)):
            return self._wide((rows, cols))
        p = by_shape(how, rows, cols, comm.size)
        if p is not None:
            kept = Kept(comm, p, cols)
            made = self._entries(kept, self._lengths(kept))
        else:
            kept, made = self._by_lengths(rows, cols)
        return kept.distributed(comm, made, how)

    def _shape(self) -> tuple[int, int]:
        known = self._body.shape
        few = self._body.promised is not None or (known is not None and known[0] <= FREE_ROWS)
        if known is not None and (few or is_wide(known)):
            return known
        walk = self._walk(False)
        walk.finish()
        found = self._comm.collect((walk.fault is not None, walk.entries, walk.largest))
        if any(failed for failed, _, _ in found):
            self._give_up(walk)
        largest = max(n for _, _, n in found)
        if known is None and is_wide((largest + 1, 0)):
            return largest + 1, largest + 1
        return edge_list.settled(self._path, known, largest, sum(n for _, n, _ in found))

    def _wide(self, shape: tuple[int, int]) -> Any:
        """Lines are counted first; then in one pass each rank holds the entries that it reads, until they are sent to
        their owners."""
        check_way(self._how, beyond(shape))
        body, walk, comm = self._body, self._walk(True), self._comm
        dtype = np.dtype(bool) if body.values is None else body.values
        lines = agreed(comm, lambda: newlines(self._path, *self._part)) + 1
        most = lines if body.promised is None else min(lines, body.promised)
        most *= 1 if body.mirror == "none" else 2
        require_room(comm, most, dtype, "read", "")

        def reserved() -> Any:
            held = _core.DistEntries(dtype.name)
            held.reserve(most)  # a list that grows has up to three times the entries
            return held

        held = agreed(comm, reserved)
        sign = SIGNS[body.mirror]
        walk.finish(
            lambda _, row, col, values, base: add(held, row, col, values, base, shape, sign)
        )
        if any_rank(comm, walk.fault is not None)[0]:
            self._give_up(walk)
        self._hold_to_promise(comm.collect(walk.entries))
        return made(held, comm, shape, self._how)

    def _lengths(self, kept: Kept) -> np.ndarray:
        """The first pass: how many entries come in each row that is kept here."""
        walk = self._walk(False)
        lengths = _core.count_among(self._comm, kept.partition, kept.core, self._body.mirror, walk)
        if lengths is None:
            self._give_up(walk)
        self._hold_to_promise(self._comm.collect(walk.entries))
        return lengths

    def _entries(self, kept: Kept, lengths: np.ndarray) -> csr_array:
        """The second: the rows that are kept here. `lengths` is used up."""
        walk = self._walk(True)
        dtype = "bool" if self._body.values is None else self._body.values.name
        try:
            made = _core.assemble_among(
                self._comm, kept.partition, kept.core, self._body.mirror, dtype, lengths, walk
            )
        except ValueError as error:
            raise broken(self._path, str(error)) from error
        if made is None:
            self._give_up(walk)
        return csr_array._wrap(made)

    def _by_lengths(self, rows: int, cols: int) -> tuple[Kept, csr_array]:
        """Counts in equal ranges of rows; then each rank is told the lengths of what it gets. Where entries were given
        twice, rows are shorter than they seemed, and are read once more if that puts them elsewhere."""
        comm = self._comm
        equal = _core.partition_of_shape("contiguous", rows, cols, comm.size)
        cuts = equal.row_cuts
        first = int(cuts[comm.rank])
        lengths = self._lengths(Kept(comm, equal, cols))

        def by(lengths: np.ndarray) -> Any:
            offsets = np.zeros(lengths.size + 1, np.int64)
            np.cumsum(lengths, out=offsets[1:])
            return _core.partition_of_lengths(self._how.partition, comm, first, offsets, rows, cols)

        def kept_by(p: Any) -> tuple[Kept, csr_array, bool]:
            kept = Kept(comm, p, cols)
            mine = hand_on(comm, p, cuts, lengths)
            said = int(mine.sum())
            made = self._entries(kept, mine)
            return kept, made, made.nnz < said

        p = by(lengths)
        kept, made, summed = kept_by(p)
        if any_rank(comm, summed)[0]:
            better = by(hand_back(comm, kept, cuts, np.diff(made.indptr)))
            if not same(p, better):
                del made
                kept, made, _ = kept_by(better)
        return kept, made

    def _hold_to_promise(self, entries: list[int]) -> None:
        """Of the header, by what each rank found."""
        promised, found = self._body.promised, sum(entries)
        if promised is None or found == promised:
            return
        if found < promised:
            raise broken(self._path, too_few(found, promised), self._body.line - 1)
        failed = next(r for r, n in enumerate(accumulate(entries)) if n > promised)
        left = promised - sum(entries[:failed])
        here = self._comm.rank == failed
        self._refuse(failed, agreed(self._comm, lambda: self._entry(left) if here else None))

    def _entry(self, k: int) -> Fault:
        """Where the k-th entry of this rank is, which is one too many."""
        lines, promised, read = self._body.lines, self._body.promised, self._body.places()
        for block, at in self._blocks():
            entries = read(block, lines)[0].size
            if k < entries:
                return fault_at(self._path, at, lines.line_of(block, k), too_many(promised or 0))
            k -= entries
        raise broken(self._path, "the file changed while it was read: read it again when it is at rest")  # fmt: skip

    def _give_up(self, walk: Walk) -> NoReturn:
        """Raises what is wrong first in the file, of a walk that stopped on some rank."""
        stopped = self._comm.collect(walk.fault is not None)
        if self._comm.rank < stopped.index(True):
            walk.finish()  # the others are further on
        fault = walk.fault
        kinds = self._comm.collect(None if fault is None else fault.at is None)
        failed = next(r for r, kind in enumerate(kinds) if kind is not None)
        if not kinds[failed]:
            self._refuse(failed, fault)

        def raise_own() -> None:
            if fault is not None and self._comm.rank == failed:
                raise fault.error(0)

        agreed(self._comm, raise_own)
        raise AssertionError("a rank that had failed did not say so")

    def _refuse(self, failed: int, fault: Fault | None) -> NoReturn:
        """Raises a fault of rank `failed` on all, with the number of the line in the whole file."""
        first, last = self._part
        if fault is not None and self._comm.rank == failed:
            last = fault.at or first
        elif self._comm.rank >= failed:
            last = first
        before = agreed(self._comm, lambda: newlines(self._path, first, last))
        line = self._body.line + sum(self._comm.collect(before))
        mine = str(fault.error(line)) if fault is not None and self._comm.rank == failed else None
        raise ValueError(self._comm.share(mine, failed))
