"""Formats whose lines are lists of numbers: a header, then line i belongs to row i."""

from __future__ import annotations

import numpy as np

from penstock import _core
from penstock._io._scipy_text import read_numbers
from penstock._io._text import TextFile


class Lists:
    """The lines of the rest of a file, comments left out: `values`, `lengths` (one a line). After the `most` lines that
    the header promises come only blank lines and comments."""

    def __init__(self, text: TextFile, comments: str, most: int, what: str) -> None:
        values, lengths = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        self.text, self._comments = text, comments
        found = 0
        for block, first_line in text.blocks():
            data = np.frombuffer(block, np.uint8)
            per_line, _, size = _core.list_lines(data, comments, most - found)
            found += per_line.size
            if found == most:
                skipped, _ = _core.skip_lines(data[size:], comments)
                self._check_end(block, size + skipped, first_line, f"{most} {what}")
            if size:
                here = block if size == len(block) else block[:size]
                values.append(read_numbers(text, here, first_line, True, comments))
            lengths.append(per_line)
        self.values = np.concatenate(values)
        self.lengths = np.concatenate(lengths)

    def _check_end(self, block: bytes, at: int, first_line: int, lists: str) -> None:
        """Only the last line of a file may follow byte `at`, empty or a comment, without a newline."""
        words = block[at : at + 256].lstrip(b" \t\r")
        if words and words[:1].decode("latin-1") not in self._comments:
            raise self.text.broken(
                f"goes on after the {lists} of the header: correct one",
                first_line + block.count(b"\n", 0, at),
            )

    def line_of(self, i: int) -> int:
        """The line of list i: what errors alone need, so it is looked for in the file again."""
        with TextFile(self.text.path) as again:
            again.take_data(self._comments, "the header")
            for block, first_line in again.blocks():
                data = np.frombuffer(block, np.uint8)
                _, lines, _ = _core.list_lines(data, self._comments, i + 1)
                if i < lines.size:
                    return first_line + int(lines[i])
                i -= lines.size
            return again.line

    def drop_front(self, k: int, what: str) -> np.ndarray:
        """Takes the first k numbers off every list (weights of the row itself)."""
        short = np.flatnonzero(self.lengths < k)
        if short.size:
            i = int(short[0])
            raise self.text.broken(
                f"has {self.lengths[i]} numbers, {what} needs {k} first", self.line_of(i)
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
                f"has {self.lengths[i]} numbers, not pairs of vertex and weight", self.line_of(i)
            )
        weights = self.values[1::2]
        self.values = self.values[::2]
        self.lengths = self.lengths // 2
        return np.ascontiguousarray(weights)

    def rows(self) -> np.ndarray:
        return np.repeat(np.arange(self.lengths.size, dtype=np.int64), self.lengths)

    def check_range(self, n: int, what: str, base: int = 1) -> None:
        """Refuses numbers outside the n from `base` on."""
        bad = np.flatnonzero((self.values < base) | (self.values >= n + base))
        if bad.size:
            k = int(bad[0])
            line = self.line_of(int(np.searchsorted(np.cumsum(self.lengths), k, side="right")))
            raise self.text.broken(
                f"{what} {self.values[k]} is outside {base} .. {n - 1 + base}: the header or this line is wrong",
                line,
            )
