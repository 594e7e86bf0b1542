"""Text files, packed or not, as header lines and then large blocks of whole lines."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

import numpy as np

from penstock import _core
from penstock._io._errors import Inflation, broken

FIRST_CHUNK = 1 << 16
CHUNK = 1 << 24
LONGEST_HEADER_LINE = 1 << 16
LONGEST_LINE = 1 << 30
MOST_PACKED = 1032  # deflate cannot pack better than this


def count_byte(block: bytes | memoryview, byte: int) -> int:
    """NumPy counts ten times as fast as bytes.count."""
    data = np.frombuffer(block, np.uint8)
    step = 1 << 18  # in the cache
    return sum(
        int(np.count_nonzero(data[at : at + step] == byte)) for at in range(0, data.size, step)
    )


def count_lines(block: bytes | memoryview) -> int:
    """Newlines, and one more where the last line has none."""
    return count_byte(block, 10) + (len(block) > 0 and block[-1] != 10)


def is_gzip(path: Any) -> bool:
    """Whether the file starts as gzip does; refuses a `.gz` that does not."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed and os.fspath(path).endswith(".gz"):
        raise broken(path, "is not gzip in spite of its suffix: rename it, or fetch it again")
    return packed


def _unpacked(path: Any, file: BinaryIO, sizes: Iterator[int], limit: Inflation) -> Iterator[bytes]:
    """The bytes of a gzip file of one member or several."""
    stream, packed, size = zlib.decompressobj(31), b"", next(sizes)
    read = made = 0
    try:
        while True:
            if not packed:
                packed = file.read(1 << 18)
                read += len(packed)
            if not packed:
                if not stream.eof:
                    raise broken(
                        path, "the packed data ends early: the file is truncated, fetch it again"
                    )
                return
            if stream.eof:
                packed = packed.lstrip(b"\0")  # padding that tape tools leave
                if packed:
                    stream = zlib.decompressobj(31)
                continue
            data = stream.decompress(packed, size)
            packed = stream.unused_data if stream.eof else stream.unconsumed_tail
            if data:
                made += len(data)
                limit.check(read, made)
                yield data
                size = next(sizes)
    except zlib.error as error:
        raise broken(path, f"the packed data is damaged ({error}): fetch it again") from error


def _chunks(path: Any, limit: Inflation | None) -> Iterator[bytes]:
    """Of the text; where it is packed, within a limit."""

    def sizes() -> Iterator[int]:
        yield FIRST_CHUNK
        while True:
            yield CHUNK

    with open(path, "rb") as file:
        if limit is not None:
            pieces = _unpacked(path, file, sizes(), limit)
            yield from _joined(pieces)
        else:
            steps = sizes()
            while data := file.read(next(steps)):
                yield data


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of unpacked data, put together to chunks that are worth parsing on all threads."""
    held: list[bytes] = []
    size, wanted = 0, FIRST_CHUNK
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= wanted:
            yield b"".join(held)
            held, size, wanted = [], 0, CHUNK // 2
    if held:
        yield b"".join(held)


def _ahead(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks, the next one read (and unpacked) while this one is parsed."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = thread.submit(next, chunks, None)
            yield chunk


class TextFile:
    """Reads a header line by line, then the rest in blocks. `line` is the number of the next line. With ahead=False,
    for the header alone, no more of the file is read than that."""

    def __init__(self, path: Any, ahead: bool = True) -> None:
        self.path = path
        self.name = os.fspath(path)
        packed = is_gzip(path)
        size = os.path.getsize(path)
        limit = Inflation(path) if packed else None
        # Bytes of text that there can be.
        self.at_most = min(size * MOST_PACKED, limit.bound(size)) if limit else size
        self.exact_size = not packed
        if size == 0:
            raise broken(path, "the file is empty")
        chunks = _chunks(path, limit)
        self._chunks = _ahead(chunks) if ahead and (packed or size >= CHUNK) else chunks
        self._buffer = b""
        self._at = 0
        self.line = 1
        self.taken = 0  # bytes of header

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: Any) -> None:
        self._chunks.close()  # type: ignore[attr-defined]

    def broken(self, problem: str, line: int | None = None) -> ValueError:
        return broken(self.path, problem, line)

    def peek(self, longest: int = LONGEST_HEADER_LINE) -> bytes:
        """The next line with its newline, b"" at the end."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            rest = self._buffer[self._at :]
            if len(rest) > longest:
                raise self.broken(
                    f"the line is longer than {longest} bytes: this is not the text expected",
                    self.line,
                )
            chunk = next(self._chunks, b"")
            self._buffer, self._at = rest + chunk, 0
            if not chunk:
                return rest
        return self._buffer[self._at : end + 1]

    def take(self) -> bytes:
        """The next line, and goes past it."""
        line = self.peek()
        self._at += len(line)
        self.taken += len(line)
        self.line += 1
        return line

    def skip(self, comments: str, seen: Callable[[bytes, int], None] | None = None) -> None:
        """Past blank lines and comments; `seen` is told of them as blocks of lines and the number of the first."""
        while True:
            rest = np.frombuffer(self._buffer, np.uint8)[self._at :]
            size, lines = _core.skip_lines(rest, comments)
            if size:
                if seen is not None:
                    seen(self._buffer[self._at : self._at + size], self.line)
                self._at, self.taken, self.line = (
                    self._at + size,
                    self.taken + size,
                    self.line + lines,
                )
            line = self.peek()
            text = line.lstrip(b" \t\r\n")
            if not line or (text and text[:1].decode("latin-1") not in comments):
                return
            if seen is not None:
                seen(line, self.line)
            self.take()

    def take_data(self, comments: str, what: str) -> bytes:
        """The next line that is neither blank nor a comment; refuses the end of the file."""
        self.skip(comments)
        if text := self.take().strip():
            return text
        raise self.broken(f"the file ends before {what}: it is truncated")

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """The rest as (block of whole lines, number of its first line)."""
        rest, size = [self._buffer[self._at :]], len(self._buffer) - self._at
        self._buffer, self._at = b"", 0
        for chunk in self._chunks:
            end = chunk.rfind(b"\n") + 1
            if end == 0:
                rest.append(chunk)
                size += len(chunk)
                if size > LONGEST_LINE:
                    raise self.broken(f"the line is longer than {LONGEST_LINE} bytes", self.line)
                continue
            block = (
                b"".join((*rest, memoryview(chunk)[:end])) if size or end < len(chunk) else chunk
            )
            rest, size = [chunk[end:]], len(chunk) - end
            yield block, self.line
            self.line += count_lines(block)
        if size:
            block = b"".join(rest)
            yield block, self.line
            self.line += count_lines(block)

    def line_of_word(self, comments: str, word: int) -> int:
        """The line of a word of the rest, from 0: what errors alone need."""
        for block, first_line in self.blocks():
            lengths, lines, _ = _core.list_lines(
                np.frombuffer(block, np.uint8), comments, len(block)
            )
            ends = np.cumsum(lengths, dtype=np.int64)
            if ends.size and word < ends[-1]:
                return first_line + int(lines[np.searchsorted(ends, word, side="right")])
            word -= int(ends[-1]) if ends.size else 0
        return self.line
