"""Text files, packed or not, as header lines and then large blocks of whole lines."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, BinaryIO

import numpy as np

from penstock._io._errors import broken

FIRST_CHUNK = 1 << 16
CHUNK = 1 << 24
LONGEST_HEADER_LINE = 1 << 16
LONGEST_LINE = 1 << 30
MOST_PACKED = 1032  # deflate cannot pack better than this


def count_lines(block: bytes | memoryview) -> int:
    """Newlines, and one more where the last line has none. NumPy counts them ten times as fast as bytes.count."""
    data = np.frombuffer(block, np.uint8)
    step = 1 << 18  # in the cache
    newlines = sum(
        int(np.count_nonzero(data[at : at + step] == 10)) for at in range(0, data.size, step)
    )
    return newlines + (len(block) > 0 and block[-1] != 10)


def is_gzip(path: Any) -> bool:
    """Whether the file starts as gzip does; refuses a `.gz` that does not."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed and os.fspath(path).endswith(".gz"):
        raise broken(path, "is not gzip in spite of its suffix: rename it, or fetch it again")
    return packed


def _unpacked(path: Any, file: BinaryIO, sizes: Iterator[int]) -> Iterator[bytes]:
    """The bytes of a gzip file of one member or several."""
    stream, packed, size = zlib.decompressobj(31), b"", next(sizes)
    try:
        while True:
            if not packed and not (packed := file.read(1 << 18)):
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
                yield data
                size = next(sizes)
    except zlib.error as error:
        raise broken(path, f"the packed data is damaged ({error}): fetch it again") from error


def _chunks(path: Any, packed: bool) -> Iterator[bytes]:
    def sizes() -> Iterator[int]:
        yield FIRST_CHUNK
        while True:
            yield CHUNK

    with open(path, "rb") as file:
        if packed:
            pieces = _unpacked(path, file, sizes())
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
        self.at_most = size * MOST_PACKED if packed else size  # bytes of text that there can be
        self.exact_size = not packed
        if size == 0:
            raise broken(path, "the file is empty")
        chunks = _chunks(path, packed)
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

    def take_data(self, comments: bytes, what: str) -> bytes:
        """The next line that is neither blank nor a comment; refuses the end of the file."""
        while line := self.take():
            if (text := line.strip()) and text[:1] not in [
                comments[i : i + 1] for i in range(len(comments))
            ]:
                return text
        raise self.broken(f"the file ends before {what}: it is truncated")

    def blocks(self) -> Iterator[tuple[bytes, int]]:
        """The rest as (block of whole lines, number of its first line)."""
        rest = self._buffer[self._at :]
        self._buffer, self._at = b"", 0
        for chunk in self._chunks:
            end = chunk.rfind(b"\n") + 1
            if end == 0:
                rest += chunk
                if len(rest) > LONGEST_LINE:
                    raise self.broken(f"the line is longer than {LONGEST_LINE} bytes", self.line)
                continue
            block = b"".join((rest, memoryview(chunk)[:end])) if rest or end < len(chunk) else chunk
            rest = chunk[end:]
            yield block, self.line
            self.line += count_lines(block)
        if rest:
            yield rest, self.line
            self.line += count_lines(rest)
