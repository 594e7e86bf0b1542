"""A part of a text file, for one of several readers: the lines that begin in a range of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock._io._errors import broken
from penstock._io._text import LONGEST_LINE

_STEP = 1 << 16  # of a search for the end of a line


def part_blocks(
    path: Any, first: int, last: int, start: int, size: int
) -> Iterator[tuple[bytes, int]]:
    """The lines that begin at bytes first .. last - 1, as (block of whole lines, byte at which it begins); a block has
    about `size` bytes. A line begins at `start`, and after every newline."""
    with open(path, "rb", buffering=0) as file:
        at = first if first <= start else _line_after(file, first)
        file.seek(at)
        rest = b""
        while at + len(rest) < last:
            chunk = file.read(min(size, last - at - len(rest)))
            if not chunk:
                break
            end = chunk.rfind(b"\n") + 1
            if end:
                yield b"".join((rest, memoryview(chunk)[:end])), at
                at += len(rest) + end
                rest = chunk[end:]
            else:
                rest = _longer(path, rest, chunk)
        while rest and (chunk := file.read(_STEP)):  # its end is the next reader's
            end = chunk.find(b"\n") + 1
            rest = _longer(path, rest, chunk[: end or len(chunk)])
            if end:
                break
        if rest:
            yield rest, at


def _longer(path: Any, rest: bytes, chunk: bytes) -> bytes:
    if len(rest) + len(chunk) > LONGEST_LINE:
        raise broken(path, f"a line is longer than {LONGEST_LINE} bytes")
    return rest + chunk


def _line_after(file: Any, first: int) -> int:
    """Where the first line begins that does so at byte `first` or later."""
    at = first - 1
    file.seek(at)
    while chunk := file.read(_STEP):
        if end := chunk.find(b"\n") + 1:
            return at + end
        at += len(chunk)
    return at


def newlines(path: Any, first: int, last: int) -> int:
    """How many there are at bytes first .. last - 1."""
    found = 0
    with open(path, "rb", buffering=0) as file:
        file.seek(first)
        while first < last and (chunk := file.read(min(1 << 20, last - first))):
            found += chunk.count(b"\n")
            first += len(chunk)
    return found
