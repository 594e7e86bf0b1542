"""Blocks of text through polars: lines of a fixed number of fields, such as the edges of a graph.

polars is strict about numbers, so a block is given to it as it stands; where it refuses, once more in tidy form (with
one separator between fields, and without comments, quotes and blank lines).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._forks import check_polars
from penstock._io._faults import EXACT, Lines, Unreadable, is_rounded
from penstock._io._text import count_byte, count_lines
from penstock._io._tidy import c_numbers, data_lines, infinities, tidied


def polars() -> Any:
    """The package, imported where it is needed first: it takes a tenth of a second."""
    check_polars()
    try:
        import polars
    except ImportError as error:
        raise ImportError(
            "edge lists, .gr and Parquet files need polars: pip install polars"
        ) from error
    return polars


class Columns:
    """Reads the blocks of a file. Remembers that a file needs tidying."""

    def __init__(self) -> None:
        self._untidy = False

    def read(
        self, block: bytes, lines: Lines
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        """(row, column, values or None, what the first row and column are called)"""
        # In polars an empty line is an entry of gaps, and takes as much memory.
        if block[:1] == b"\n" or any(b"\n" + c.encode() in block for c in ("\n", *lines.comments)):
            block = data_lines(block, lines.comments)
            if not block:
                return _nothing(lines)
        separator = lines.separator or ("\t" if b"\t" in block[: 1 << 16] else " ")
        if not self._untidy and not any(
            c.encode() in block for c in lines.comments if c.isascii() and not c.isalpha()
        ):
            try:
                return self._read(block, lines, separator)
            except Unreadable:
                self._untidy = True
        separator = lines.separator or " "
        tidy = c_numbers(tidied(block, lines.comments, lines.separator))
        if tidy == b"\n":
            return _nothing(lines)
        return self._read(tidy, lines, separator)

    def _read(
        self, block: bytes, lines: Lines, separator: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        # Counted first: a line of a million empty fields takes a gigabyte in polars.
        entries = count_lines(block)
        if count_byte(block, ord(separator)) != (len(lines.columns) - 1) * entries:
            raise Unreadable("a line has more or fewer fields")
        table = _table(block, lines.columns, separator)
        if table.height != entries or sum(table.null_count().row(0)):
            raise Unreadable("a line has fields that are empty")
        if "a" in lines.columns and not (table["a"] == "a").all():
            raise Unreadable("a line does not start with 'a'")
        values = table["v"].to_numpy() if "v" in lines.columns else None
        if values is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                finite = np.isfinite(values.sum())
            if not finite and np.count_nonzero(np.isinf(values)) != infinities(block):
                raise Unreadable("a number is too large for float64")
            if lines.whole_numbers and _rounds(block, lines.columns, separator, values):
                raise Unreadable("an integer is beyond 2^53")
        return table["i"].to_numpy(), table["j"].to_numpy(), values, lines.base


def _nothing(lines: Lines) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    none = np.empty(0, np.int64)
    return none, none, np.empty(0), lines.base


def _table(block: bytes, columns: str, separator: str, only: str = "") -> Any:
    """The fields of a block by their letters; of one alone as text."""
    pl = polars()
    types = {"i": pl.Int64, "j": pl.Int64, "v": pl.Float64, "n": pl.Int64}
    names = [kind if kind != "x" else f"x{k}" for k, kind in enumerate(columns)]
    schema = {name: pl.String if only else types.get(name[0], pl.String) for name in names}
    wanted = [k for k, name in enumerate(names) if (name == only if only else name[0] != "x")]
    try:
        return pl.read_csv(
            block,
            has_header=False,
            separator=separator,
            schema=schema,
            columns=wanted,
            quote_char=None,
        )
    except (KeyboardInterrupt, SystemExit, MemoryError, TypeError):
        raise
    except BaseException as error:  # a panic in polars is not an Exception
        raise Unreadable(f"polars says: {str(error).splitlines()[0][:200]}") from error


def _rounds(block: bytes, columns: str, separator: str, values: np.ndarray) -> bool:
    """Whether a value is spelled as an integer that float64 does not hold: numbers so large are rare, and their text is
    looked at."""
    with np.errstate(invalid="ignore"):
        large = np.abs(values) >= EXACT
    if not large.any():
        return False
    spelled = _table(block, columns, separator, only="v")["v"].filter(polars().Series(large))
    return any(is_rounded(text.encode()) for text in spelled.unique())
