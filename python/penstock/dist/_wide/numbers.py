"""Which matrices are held by lists of their numbers, and what these need."""

from __future__ import annotations

import operator
from typing import Any

from penstock._io._errors import MAX_COLS
from penstock.dist._owners import Options

LIMIT = MAX_COLS  # rows, or columns, beyond which ranks list those that have entries
MOST = 2**62 - 1  # rows or columns at all
_CUTS = ("contiguous", "balanced")


def is_wide(shape: tuple[int, int]) -> bool:
    return max(shape) > LIMIT


def as_shape(shape: Any) -> tuple[int, int]:
    try:
        rows, cols = (operator.index(n) for n in shape)
    except (TypeError, ValueError):
        raise TypeError(f"shape={shape!r}: give (rows, columns), two integers") from None
    if not (0 <= rows <= MOST and 0 <= cols <= MOST):
        raise ValueError(f"shape={(rows, cols)}: rows and columns are 0 to 2^62 - 1")
    return rows, cols


def check_way(how: Options, what: str) -> None:
    """That `how` is a way to share out a matrix by ranges of its rows, whose entries come in any order."""
    if not isinstance(how.partition, str) or how.partition not in _CUTS:
        shown = (
            repr(how.partition) if isinstance(how.partition, str) else type(how.partition).__name__
        )
        names = " or ".join(map(repr, _CUTS))
        raise ValueError(f"partition={shown}: {what} is shared out by ranges of rows: give {names}")
    for name, value, only in (("sums", how.sums, "owners"), ("scatter", how.scatter, "direct")):
        if value != only:
            raise ValueError(f"{name}={value!r}: {what} takes {name}={only!r} alone")


def beyond(shape: tuple[int, int]) -> str:
    """Such a matrix in words."""
    return f"a matrix of {shape[0]} x {shape[1]}, more than {LIMIT} one way,"
