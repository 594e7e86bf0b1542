"""A rank's part of a text file, as entries: a block of text a call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._entries import Body, check_range, diagonal_fault
from penstock._io._errors import broken
from penstock._io._faults import Unreadable

_NONE = np.empty(0, np.int32)
Chunk = tuple[bool, np.ndarray, np.ndarray, "np.ndarray | None", int]


@dataclass
class Fault:
    """Something wrong, as error(number of the line that begins at byte `at`); with no line where that is None."""

    at: int | None
    error: Callable[[int], Exception]


def fault_at(path: str, at: int, lines: int, problem: str) -> Fault:
    """So many lines behind the one that begins at byte `at`."""
    return Fault(at, lambda line: broken(path, problem, line + lines))


class Walk:
    """Once over some lines, as what the core calls for entries. Its answers: (whether more may follow, row, column,
    values or None, what the first row and column are called); None where it cannot go on, because of `fault`. Parses on
    `threads` threads, a block on each."""

    def __init__(
        self, path: str, body: Body, blocks: Iterator[tuple[bytes, int]], values: bool, threads: int
    ) -> None:
        self._path, self._body = path, body
        self._read = body.reader() if values else body.places()
        self._values = body.values if values else None
        self._parsed = (
            map(self._parse, blocks) if threads == 1 else _ahead(self._parse, blocks, threads)
        )
        self.entries, self.largest = 0, -1  # so far: how many, and the largest number, from 0
        self.fault: Fault | None = None

    def __call__(self) -> Chunk | None:
        try:
            return self._next()
        except Exception as e:
            self._failed(e)
        return None

    def _failed(self, error: Exception) -> None:
        self.fault = Fault(None, lambda _: error)

    def finish(self, take: Callable[..., None] = lambda *_: None) -> None:
        """To the end, or a fault, sending nothing; take(*answer) is called of each, and may fail, too."""
        while self.fault is None and (said := self()) is not None and said[0]:
            try:
                take(*said)
            except Exception as e:
                self._failed(e)

    def _next(self) -> Chunk | None:
        found = next(self._parsed, None)
        if found is None:
            return False, _NONE, _NONE, self._typed(_NONE), 0
        if isinstance(found, Fault):
            self.fault = found
            return None
        _, row, col, _, base = found
        self.entries += row.size
        if row.size and self._body.shape is None:
            self.largest = max(self.largest, int(row.max()) - base, int(col.max()) - base)
        return found

    def _parse(self, lines_at: tuple[bytes, int]) -> Chunk | Fault:
        (block, at), lines, path = lines_at, self._body.lines, self._path
        try:
            row, col, values, base = self._read(block, lines)
            check_range(row, base, lines.rows)
            check_range(col, base, lines.cols)
        except Unreadable as error:
            reason = str(error)
            return Fault(at, lambda line: lines.fault(block, path, line, reason))
        if wrong := diagonal_fault(self._body.mirror, row, col, values, base):
            k, problem = wrong
            return fault_at(path, at, lines.line_of(block, k), problem)
        row, col = (np.ascontiguousarray(i) for i in (row, col))
        return True, row, col, self._typed(values if row.size else _NONE), base

    def _typed(self, values: Any) -> np.ndarray | None:
        if self._values is None:
            return None
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(values, self._values)


def _ahead(parse: Callable[[Any], Any], blocks: Iterator[Any], threads: int) -> Iterator[Any]:
    """parse(block) of all blocks, in order; so many are under way at a time."""

    def alone(block: Any) -> Any:
        with _core.ThreadsHere(1):
            return parse(block)

    with ThreadPoolExecutor(threads) as pool:
        under_way: deque[Future[Any]] = deque()
        for block in blocks:
            under_way.append(pool.submit(alone, block))
            if len(under_way) == threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
