"""Which line of a text is wrong, and what is wrong with it: a slow, strict second look, taken only where a library, or
a check of what it read, has refused a block. All strictness about single fields is here, for every format."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from penstock._io._errors import MAX_COLS, LargeNumber, broken, shown

EXACT = 2**53  # beyond it float64 skips integers
INT64 = 2**63
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_REAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eEdD][+-]?[0-9]+)?")
_WORD = re.compile(rb"[+-]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
_BLANKS = re.compile(rb"[ \t\r]+")


class Unreadable(Exception):
    """A block that a library, or a check of what it read, refuses."""


class _TooLarge(str):
    """What is wrong with a number that is too large for one process alone."""


def integer_fault(token: bytes) -> str | None:
    if not _INTEGER.fullmatch(token):
        return f"{shown(token)} is not an integer"
    digits = token.lstrip(b"+-0")
    if len(digits) > 19 or int(digits or b"0") >= INT64:
        return f"{shown(token)} is too large for a 64-bit integer"
    return None


def _whole(token: bytes) -> int:
    """Of an integer without fault. Python reads no more than some thousand digits, and leading zeros count."""
    digits = int(token.lstrip(b"+-0") or b"0")
    return -digits if token.startswith(b"-") else digits


def real_fault(token: bytes) -> str | None:
    if _WORD.fullmatch(token):
        return None
    if not _REAL.fullmatch(token):
        return f"{shown(token)} is not a number"
    if math.isinf(float(token.replace(b"d", b"e").replace(b"D", b"e"))):
        return f"{shown(token)} is too large for float64"
    return None


@dataclass(frozen=True)
class Lines:
    """What a line holds, a letter a field: i row, j column, v value, w imaginary part, n value that is an integer, x
    anything, a the letter a itself. `hint` ends the message about a row or column number."""

    columns: str
    base: int
    rows: int
    cols: int
    hint: str
    comments: str = ""
    separator: str = (
        ""  # "": blanks; otherwise one between fields, which may stand in double quotes
    )
    whole_numbers: bool = False  # values may be integers, which are not rounded silently

    def is_comment(self, line: bytes) -> bool:
        text = line.strip(b" \t\r")
        return not text or text[:1].decode("latin-1") in self.comments

    def line_of(self, block: bytes, entry: int) -> int:
        """The line, from 0, of the k-th entry of a block."""
        for number, line in enumerate(block.split(b"\n")):
            if not self.is_comment(line):
                if entry == 0:
                    return number
                entry -= 1
        return 0

    def fault(self, block: bytes, path: Any, first_line: int, reason: str) -> ValueError:
        """The error for the first line of a block that is wrong; `reason` serves where none is found."""
        for number, line in enumerate(block.split(b"\n"), first_line):
            if not self.is_comment(line) and (problem := self._problem(line.strip(b" \t\r"))):
                error = broken(path, problem, number)
                return LargeNumber(str(error)) if isinstance(problem, _TooLarge) else error
        return broken(
            path,
            f"the lines from here on cannot be read ({reason}): write them again, plainly",
            first_line,
        )

    def _fields(self, line: bytes) -> list[bytes]:
        if not self.separator:
            return _BLANKS.split(line)
        fields = [field.strip(b" \t\r") for field in line.split(self.separator.encode())]
        return [f[1:-1] if len(f) > 1 and f[:1] == f[-1:] == b'"' else f for f in fields]

    def _problem(self, line: bytes) -> str | None:
        fields, n = self._fields(line), len(self.columns)
        for k, kind in enumerate(self.columns):
            if k >= len(fields) or not fields[k]:
                return f"the line has {k} of the {n} fields"
            if problem := self._field(kind, fields[k]):
                return problem
        return (
            f"the line goes on with {shown(fields[n])} after {n} fields"
            if len(fields) > n
            else None
        )

    def _field(self, kind: str, token: bytes) -> str | None:
        if kind in "ij":
            name, extent = ("row", self.rows) if kind == "i" else ("column", self.cols)
            if problem := integer_fault(token):
                return f"{name} number {problem}: {self.hint}"
            number = _whole(token)
            if self.base <= number < extent + self.base:
                return None
            problem = f"{name} number {number} is outside {self.base} .. {extent - 1 + self.base}: {self.hint}"
            return _TooLarge(problem) if number > self.base and extent == MAX_COLS else problem
        if kind == "a":
            return None if token == b"a" else f"the line starts with {shown(token)}, not with 'a'"
        if kind == "x":
            return None
        problem = number_fault(token, kind == "n")
        if problem is None and kind == "v" and self.whole_numbers and is_rounded(token):
            problem = beyond(
                token, "write it with a point or an exponent if rounding is acceptable"
            )
        return problem and f"value {problem}"


def number_fault(token: bytes, integer: bool) -> str | None:
    problem = integer_fault(token) if integer else real_fault(token)
    if problem is None and integer and abs(_whole(token)) > EXACT:
        return beyond(token, "scale the values, or declare them as real numbers in another file")
    return problem


def is_rounded(token: bytes) -> bool:
    """Whether a number is spelled as an integer, and lies where float64 skips integers."""
    digits = token.lstrip(b"+-0")
    return bool(_INTEGER.fullmatch(token)) and (
        len(digits) > 16 or (digits != b"" and int(digits) > EXACT)
    )


def beyond(token: bytes, remedy: str) -> str:
    return f"{shown(token)} is an integer beyond 2^53, where float64 rounds: {remedy}"


def fault_among_numbers(
    block: bytes, integers: bool, comments: str, path: Any, first_line: int, reason: str
) -> ValueError:
    """As Lines.fault, of lines that hold any count of numbers."""
    for number, line in enumerate(block.split(b"\n"), first_line):
        text = line.strip(b" \t\r")
        if not text or text[:1].decode("latin-1") in comments:
            continue
        for token in _BLANKS.split(text):
            if problem := number_fault(token, integers):
                return broken(path, problem, number)
    return broken(
        path,
        f"the numbers from here on cannot be read ({reason}): write them again, plainly",
        first_line,
    )
