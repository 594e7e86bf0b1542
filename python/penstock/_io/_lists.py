"""Formats whose lines are lists of numbers: a header, then line i belongs to row i."""

from __future__ import annotations

import numpy as np

from penstock import _core
from penstock._io._text import TextFile


class Lists:
    """All lines of the rest of a file: `values`, `lengths` (one a line, comments left out), `lines` (their numbers)."""

    def __init__(self, text: TextFile, comments: str) -> None:
        values, lengths, lines = (
            [np.empty(0, np.int64)],
            [np.empty(0, np.int64)],
            [np.empty(0, np.int64)],
        )
        for block, first_line in text.blocks():
            numbers, per_line = _core.parse_integers(block, comments, text.name, first_line)
            kept = np.flatnonzero(per_line >= 0)
            values.append(numbers)
            lengths.append(per_line[kept])
            lines.append(kept + first_line)
            text.line += per_line.size
        self.text = text
        self.values = np.concatenate(values)
        self.lengths = np.concatenate(lengths)
        self.lines = np.concatenate(lines)

    def keep_rows(self, n: int, what: str) -> None:
        """Holds the file to n lists. Missing ones at the end count as empty: editors cut trailing blank lines, and
        the formats' own counts of entries catch a truncated file."""
        extra = np.flatnonzero(self.lengths[n:])
        if extra.size:
            raise self.text.broken(
                f"goes on after the {n} {what} of the header: correct one",
                int(self.lines[n + extra[0]]),
            )
        missing = max(n - self.lengths.size, 0)
        self.lengths = np.concatenate([self.lengths[:n], np.zeros(missing, np.int64)])
        self.lines = np.concatenate([self.lines[:n], np.full(missing, self.text.line)])

    def drop_front(self, k: int, what: str) -> np.ndarray:
        """Takes the first k numbers off every list (weights of the row itself)."""
        short = np.flatnonzero(self.lengths < k)
        if short.size:
            i = int(short[0])
            raise self.text.broken(
                f"has {self.lengths[i]} numbers, {what} needs {k} first", int(self.lines[i])
            )
        starts = (
            np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
            if self.lengths.size
            else np.empty(0, np.int64)
        )
        front = (starts[:, None] + np.arange(k)).ravel()
        taken = self.values[front]
        self.values = np.delete(self.values, front)
        self.lengths = self.lengths - k
        return taken

    def split_pairs(self) -> np.ndarray:
        """Takes every second number off (weights of the entries)."""
        odd = np.flatnonzero(self.lengths % 2)
        if odd.size:
            i = int(odd[0])
            raise self.text.broken(
                f"has {self.lengths[i]} numbers, not pairs of vertex and weight", int(self.lines[i])
            )
        weights = self.values[1::2]
        self.values = self.values[::2]
        self.lengths = self.lengths // 2
        return np.ascontiguousarray(weights)

    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.lengths.size, dtype=np.int64), self.lengths)

    def check_range(self, n: int, what: str) -> None:
        """Refuses numbers outside 1 .. n."""
        bad = np.flatnonzero((self.values < 1) | (self.values > n))
        if bad.size:
            k = int(bad[0])
            line = int(self.lines[np.searchsorted(np.cumsum(self.lengths), k, side="right")])
            raise self.text.broken(
                f"{what} {self.values[k]} is outside 1 .. {n}: the header or this line is wrong",
                line,
            )
