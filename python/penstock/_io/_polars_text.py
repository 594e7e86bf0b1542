"""Blocks of text through polars: lines of a fixed number of fields, such as the edges of a graph.

polars is strict about numbers, so a block is given to it as it stands; where it refuses, once more in tidy form (with
one separator between fields, and without comments, quotes and blank lines).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._faults import Lines, Unreadable
from penstock._io._text import count_lines
from penstock._io._tidy import c_numbers, infinities, tidied


def polars() -> Any:
    """The package, imported where it is needed first: it takes a tenth of a second."""
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
            none = np.empty(0, np.int64)
            return none, none, np.empty(0), lines.base
        return self._read(tidy, lines, separator)

    def _read(
        self, block: bytes, lines: Lines, separator: str
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        pl = polars()
        columns = lines.columns
        types = {
            "i": pl.Int64,
            "j": pl.Int64,
            "v": pl.Float64,
            "n": pl.Int64,
            "a": pl.String,
            "x": pl.String,
        }
        names = [kind if kind != "x" else f"x{k}" for k, kind in enumerate(columns)]
        schema = {name: types[name[0]] for name in names}
        wanted = [k for k, name in enumerate(names) if name[0] != "x"]
        try:
            table = pl.read_csv(
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
        if table.height != count_lines(block) or sum(table.null_count().row(0)):
            raise Unreadable("a line has fields that are empty")
        if "x" in columns and block.count(separator.encode()) != (len(columns) - 1) * table.height:
            raise Unreadable("a line has more or fewer fields")
        if "a" in columns and not (table["a"] == "a").all():
            raise Unreadable("a line does not start with 'a'")
        values = table["v"].to_numpy() if "v" in columns else None
        if values is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                finite = np.isfinite(values.sum())
            if not finite and np.count_nonzero(np.isinf(values)) != infinities(block):
                raise Unreadable("a number is too large for float64")
        return table["i"].to_numpy(), table["j"].to_numpy(), values, lines.base
