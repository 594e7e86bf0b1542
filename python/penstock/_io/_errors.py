"""What is wrong with a file: one exception, and the checks that keep a lying header from taking memory."""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Iterator
from typing import Any

MAX_COLS = 2**31 - 1
MAX_ROWS = 2**63 - 2
FREE_ROWS = 2**24  # row offsets of 128 MiB are never worth a refusal
ROWS_AN_ENTRY = 1024
# Matrices as text pack 3 to 20 times, the most regular ones some 100 times; deflate at most 1032 times.
MAX_INFLATION = 200.0
FREE_BYTES = 2**28  # of unpacked data are never worth a refusal

_max_inflation = contextvars.ContextVar("max_inflation", default=MAX_INFLATION)


class LargeNumber(ValueError):
    """Rows, columns or ids beyond those that one process holds: ranks may read them (`ps.dist.csr_array`)."""


def broken(file: Any, problem: str, line: int | None = None) -> ValueError:
    """The error for a file that cannot be read: `file:line: problem`."""
    return ValueError(f"{file}: {problem}" if line is None else f"{file}:{line}: {problem}")


def shown(token: bytes | str) -> str:
    """A piece of a file as a message can show it."""
    text = token.decode("latin-1") if isinstance(token, bytes) else token
    text = text.strip()
    short = text[:40] + ("..." if len(text) > 40 else "")
    return ascii(short)


def count(
    token: bytes | str, what: str, file: Any, line: int | None = None, most: int = MAX_ROWS
) -> int:
    """A size or count from a header."""
    text = token.decode("latin-1") if isinstance(token, bytes) else token
    if not re.fullmatch(r"\+?[0-9]+", text):
        kind = "negative" if re.fullmatch(r"-[0-9]+", text) else "not an integer"
        raise broken(file, f"{what} {shown(text)} is {kind}: the header must give 0 or more", line)
    digits = text.lstrip("+0") or "0"
    if len(digits) > 20 or int(digits) > most:
        raise broken(file, f"{what} {shown(text)} is over {most}, the most that is supported", line)
    return int(digits)


def check_size(
    file: Any, entries: int, what: str, bytes_each: int, at_most: int, line: int | None = None
) -> None:
    """Refuses a header whose entries cannot all be in the file; `at_most` bounds its (unpacked) bytes."""
    if entries * bytes_each > at_most + 1:  # the last newline may be missing
        raise broken(
            file,
            f"the header promises {entries} {what}, at least {entries * bytes_each} bytes, but the file holds at "
            f"most {at_most}: it is truncated, or the count is wrong",
            line,
        )


def check_rows(file: Any, rows: int, entries: int, max_rows: int | None, remedy: str = "") -> None:
    """Refuses a matrix that is nearly all empty rows: row offsets take 8 bytes a row whatever is in it."""
    if rows > (max(FREE_ROWS, ROWS_AN_ENTRY * entries) if max_rows is None else max_rows):
        error = broken(
            file,
            f"{rows} rows for {entries} entries: row offsets alone would take {8 * rows / 2**30:.1f} GiB; "
            f"{remedy}pass max_rows={rows} if this is meant",
        )
        raise LargeNumber(str(error)) if rows > MAX_COLS else error


def check_cols(file: Any, cols: int, line: int | None = None, most: int = MAX_COLS) -> None:
    if cols > most:
        remedy = "split the matrix by columns, or read it, as text, over ranks by ps.dist.csr_array"
        said = f"2^31 - 1: {remedy}" if most == MAX_COLS else f"{most}: renumber them"
        error = broken(file, f"{cols} columns exceed {said}", line)
        raise LargeNumber(str(error)) if most == MAX_COLS else error


@contextlib.contextmanager
def inflation_limit(most: float | None) -> Iterator[None]:
    """Inside, files may hold `most` times as much as they have bytes; None changes nothing. For the readers that are
    made inside: they ask once."""
    if most is None:
        yield
        return
    if isinstance(most, bool) or not isinstance(most, (int, float)) or not most >= 1:
        raise ValueError(
            f"max_inflation={most!r}: give how many times its size a file may unpack to, 1 or more"
        )
    token = _max_inflation.set(float(most))
    try:
        yield
    finally:
        _max_inflation.reset(token)


class Inflation:
    """What a packed file may unpack to, by the limit in force when this is made."""

    def __init__(self, file: Any) -> None:
        self.file, self.most = file, _max_inflation.get()

    def bound(self, packed: int) -> int:
        """The most bytes that so many packed ones may become."""
        return int(max(FREE_BYTES, min(packed * self.most, 2.0**62)))

    def check(self, packed: int, unpacked: int) -> None:
        if unpacked > self.bound(packed):
            raise broken(
                self.file,
                f"{packed} bytes unpack to {unpacked} or more, over {self.most:g} times as many: it is damaged, or "
                "made to fill memory; if it is not, pass max_inflation=inf to load (on the command line: penstock "
                "--max-inflation inf ...)",
            )
