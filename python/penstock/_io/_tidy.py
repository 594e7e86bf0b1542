"""Text brought to one shape before a library reads it, and the proof that it has that shape.

SciPy's Matrix Market reader is fast but lenient: it reads `1d5` as 1, `1.5` in a field of integers as 1, and passes
over whatever follows the last number that it wants. `is_plain` finds all of that without reading a number.
"""

from __future__ import annotations

import re

import numpy as np

from penstock import _core

_TO_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_TO_LINES = bytes.maketrans(b"\t\r ", b"\n\n\n")
_WORD = re.compile(rb"(?<![^ \n])[+-]?(?:nan|inf(?:inity)?)(?![^ \n])", re.IGNORECASE)
_INFINITE = re.compile(rb"(?<![a-zA-Z])inf", re.IGNORECASE)
_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
_LEADING_PLUS = re.compile(rb"(?<![^ \n])\+(?=[0-9.iInN])")
_QUOTED = re.compile(rb'"([^"\n,;\t ]*)"')


def is_plain(block: bytes | memoryview, columns: str) -> bool:
    """Whether every line holds the columns (i, j: index; v, w: number; n: integer) and nothing else, one blank between
    two, spelled with digits, a minus, a point and an exponent with e. The block ends with a newline."""
    return plain_lines(block, columns) >= 0


def plain_lines(block: bytes | memoryview, columns: str) -> int:
    """How many lines there are, or -1 where they are not plain."""
    return _core.plain_lines(np.frombuffer(block, np.uint8), columns)


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


def data_lines(block: bytes, comments: str) -> bytes:
    """Without blank lines and comments."""
    data = np.frombuffer(block, np.uint8)
    kept = np.empty_like(data)
    size = _core.copy_data_lines(data, comments, kept)
    return block if size == len(block) else kept[:size].tobytes()


def tidied(block: bytes, comments: str, separator: str = "") -> bytes:
    """One entry a line, fields parted by one blank (or the separator alone), without comments and quotes."""
    block = data_lines(block, comments)
    if separator:
        block = _QUOTED.sub(rb"\1", block)
    block = squeezed(block.translate(_TO_BLANKS))
    if separator:
        mark = separator.encode()
        block = re.sub(b" ?" + re.escape(mark) + b" ?", lambda _: mark, block)
    return block


def one_a_line(block: bytes, comments: str) -> bytes:
    return squeezed(data_lines(block, comments).translate(_TO_LINES))


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
