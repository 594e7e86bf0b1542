"""Packed text files with numbers beyond 32 bits: rank 0 unpacks and parses them, and all ranks get what they own."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._entries import Entries, diagonal_fault
from penstock._io._errors import broken
from penstock._io._scipy_text import one_thread
from penstock._io._text import TextFile, is_gzip
from penstock.dist._agree import agreed
from penstock.dist._file import body_of, require_real
from penstock.dist._owners import Options
from penstock.dist._wide.build import SIGNS, add, made
from penstock.dist._wide.numbers import MOST, beyond, check_way, is_wide
from penstock.dist._wide.room import require_room


def is_packed_text(path: Any) -> bool:
    return os.path.isfile(path) and is_gzip(path) and body_of(path) is not None


def tells_of_large_numbers(path: Any) -> bool:
    """Whether it is such a file, and its header says so."""
    find = body_of(path) if is_packed_text(path) else None
    if find is None:
        return False
    with TextFile(path, ahead=False) as text:
        body = find(text, most=MOST)
    return body is not None and body.shape is not None and is_wide(body.shape)


def from_packed(path: Any, comm: Any, how: Options) -> Any:
    """The core's distributed matrix of a file that one process cannot hold for its numbers. Collective."""
    held, mirror = agreed(comm, lambda: _read(path) if comm.rank == 0 else (None, "none"))
    shape, dtype, count = comm.share(held and (held[0], held[1].name, held[2].count), root=0)
    agreed(comm, lambda: check_way(how, beyond(shape)))
    count *= 1 if mirror == "none" else 2
    require_room(comm, count if comm.rank == 0 else 0, dtype, "read", "")

    def take() -> Any:
        out = _core.DistEntries(dtype)
        if held is not None:
            out.reserve(count)
            of = held[2]
            values = None if of.values is None else of.values[: of.count]
            add(out, of.row[: of.count], of.col[: of.count], values, 0, shape, SIGNS[mirror])
        return out

    return made(agreed(comm, take), comm, shape, how)


def _read(path: Any) -> tuple[tuple[tuple[int, int], np.dtype, Entries], str]:
    """(shape, type of the values, entries), and how they are mirrored."""
    find = body_of(path)
    assert find is not None
    with TextFile(path) as text:
        body = find(text, most=MOST)
        if body is None:
            raise broken(path, "holds no entries: read it with ps.load")
        require_real(path, body)
        entries = Entries(body.values, min(body.promised or 0, text.at_most), MOST, MOST)
        with one_thread() if body.alone else nullcontext():
            entries.parse(text, body.lines, body.reader(), body.promised)
    row, col = entries.row[: entries.count], entries.col[: entries.count]
    if (wrong := diagonal_fault(body.mirror, row, col, entries.values)) is not None:
        raise broken(path, f"entry {wrong[0]}: {wrong[1]}")
    shape = body.shape
    if shape is None:
        largest = max(int(row.max(initial=-1)), int(col.max(initial=-1)))
        shape = largest + 1, largest + 1
    dtype = np.dtype(bool) if body.values is None else body.values
    return (shape, dtype, entries), body.mirror
