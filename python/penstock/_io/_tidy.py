"""Text brought to one shape before a library reads it, and the proof that it has that shape.

SciPy's Matrix Market reader is fast but lenient: it reads `1d5` as 1, `1.5` in a field of integers as 1, and passes
over whatever follows the last number that it wants. `is_plain` finds all of that without reading a number: what is not
a digit (some six bytes a line) is looked at together with its neighbour, for a megabyte at once.
"""

from __future__ import annotations

import re
from itertools import product

import numpy as np

_NEWLINE, _BLANK, _MINUS, _PLUS, _DOT, _E, _OTHER = range(7)
_KINDS = bytearray([_OTHER] * 256)
for _chars, _kind in (
    (b"\n", _NEWLINE),
    (b" ", _BLANK),
    (b"-", _MINUS),
    (b"+", _PLUS),
    (b".", _DOT),
    (b"eE", _E),
):
    for _char in _chars:
        _KINDS[_char] = _kind
_EXPONENT_MINUS = 14 * _E + 2 * _MINUS
STEP = 1 << 19  # bytes at a time: the arrays stay in the cache

_TO_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_TO_LINES = bytes.maketrans(b"\t\r ", b"\n\n\n")
_WORD = re.compile(rb"(?<![^ \n])[+-]?(?:nan|inf(?:inity)?)(?![^ \n])", re.IGNORECASE)
_INFINITE = re.compile(rb"(?<![a-zA-Z])inf", re.IGNORECASE)
_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
_LEADING_PLUS = re.compile(rb"(?<![^ \n])\+(?=[0-9.iInN])")
_QUOTED = re.compile(rb'"([^"\n,;\t ]*)"')


def _pairs(real: bool) -> bytes:
    """The good pairs of bytes that are no digits, as 14 a + 2 b + (digits stand between)."""
    good = []
    for a, b, digits in product(range(_OTHER), range(_OTHER), range(2)):
        if b in (_NEWLINE, _BLANK):  # a number ends
            fine = digits or a == _DOT
        elif b == _MINUS:
            fine = not digits and a in (_NEWLINE, _BLANK, _E)
        elif b == _PLUS:
            fine = not digits and a == _E
        elif b == _DOT:
            fine = real and a in (_NEWLINE, _BLANK, _MINUS)
        else:
            fine = real and a not in (_E, _PLUS) and (digits or a == _DOT)
        if fine:
            good.append(14 * a + 2 * b + digits)
    return bytes(good)


_GOOD = {True: _pairs(True), False: _pairs(False)}


def plain_lines(block: bytes | memoryview, columns: str) -> int:
    """How many lines there are, if each holds the columns (i, j: index; v, w: number; n: integer) and nothing else, one
    blank between two, spelled with digits, a minus, a point and an exponent with e; otherwise -1."""
    data = np.frombuffer(block, np.uint8)
    lines = first = 0
    while first < data.size:
        end = min(first + STEP, data.size)
        if end < data.size:
            ends = np.flatnonzero(data[first:end] == 10)
            end = first + int(ends[-1]) + 1 if ends.size else data.size
        found = _plain_lines(data[first:end], columns)
        if found < 0:
            return -1
        lines += found
        first = end
    return lines


def _plain_lines(data: np.ndarray, columns: str) -> int:
    at = np.flatnonzero(data - np.uint8(48) > 9)
    if at.size == 0 or at[-1] != data.size - 1:
        return -1
    kind = np.frombuffer(data.take(at).tobytes().translate(_KINDS), np.uint8)
    code = np.empty(at.size, np.uint8)
    code[0] = 2 * kind[0] + (at[0] > 0)  # as after a newline
    np.multiply(kind[:-1], 14, out=code[1:])
    code[1:] += kind[1:] * np.uint8(2)
    code[1:] += at[1:] - at[:-1] > 1
    if code.tobytes().translate(None, _GOOD["v" in columns]):
        return -1
    if ((code[:-1] == _EXPONENT_MINUS) & (kind[1:] > _BLANK)).any():  # such as 1e-.5
        return -1
    newline = kind == _NEWLINE
    lines = int(np.count_nonzero(newline))
    if kind[-1] != _NEWLINE or np.count_nonzero(kind == _BLANK) != (len(columns) - 1) * lines:
        return -1
    # An index has no sign, point or exponent: the next byte that is no digit is the blank behind it.
    for k in range(1, min(sum(c in "ij" for c in columns), len(columns) - 1) + 1):
        if kind[min(k - 1, kind.size - 1)] != _BLANK or (newline[:-k] & (kind[k:] != _BLANK)).any():
            return -1
    return lines


def is_plain(block: bytes, columns: str) -> bool:
    return plain_lines(block, columns) >= 0


def squeezed(block: bytes) -> bytes:
    """Blanks at the ends of lines and all but one between fields taken out, and empty lines."""
    data = np.frombuffer(block, np.uint8)
    if data.size == 0:
        return b"\n"
    blank, newline = data == 32, data == 10
    space = blank | newline
    drop = blank.copy()
    drop[:-1] &= space[1:]
    if drop.any():
        data = data[~drop]
        if data.size == 0:
            return b"\n"
        newline = data == 10
        space = newline | (data == 32)
    drop = space
    drop[1:] &= newline[:-1]
    if drop.any():
        data = data[~drop]
    tidy = data.tobytes()
    return tidy if tidy.endswith(b"\n") else tidy + b"\n"


def without_comments(block: bytes, comments: str) -> bytes:
    if not any(c.encode() in block for c in comments):
        return block
    return re.sub(rb"(?m)^[ \t\r]*[" + re.escape(comments.encode()) + rb"][^\n]*\n?", b"", block)


def tidied(block: bytes, comments: str, separator: str = "") -> bytes:
    """One entry a line, fields parted by one blank (or the separator alone), without comments and quotes."""
    block = without_comments(block, comments)
    if separator:
        block = _QUOTED.sub(rb"\1", block)
    block = squeezed(block.translate(_TO_BLANKS))
    if separator:
        mark = separator.encode()
        block = re.sub(b" ?" + re.escape(mark) + b" ?", lambda _: mark, block)
    return block


def one_a_line(block: bytes, comments: str) -> bytes:
    return squeezed(without_comments(block, comments).translate(_TO_LINES))


def c_numbers(block: bytes) -> bytes:
    """Fortran's exponent letter and leading plus signs in the spelling of C."""
    if b"d" in block or b"D" in block:
        block = _FORTRAN.sub(b"e", block)
    return _LEADING_PLUS.sub(b"", block) if b"+" in block else block


def without_words(block: bytes) -> bytes:
    """nan and inf as 0, for `is_plain`."""
    if not any(letter in block for letter in (b"n", b"N", b"i", b"I")):
        return block
    return _WORD.sub(b"0", block)


def infinities(block: bytes) -> int:
    """How many infinities are spelled out: one more among the numbers is a number too large for its type."""
    return sum(1 for _ in _INFINITE.finditer(block))
