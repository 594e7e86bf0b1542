"""Labels of vertices to numbers: integers by a table, what polars can sort by polars, everything else by a dict."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from penstock._forks import check_polars

_MISSING = ("float", "float16", "float32", "float64", "datetime64", "NaTType", "NAType")
_ALIKE = (str, bytes, datetime.datetime, datetime.date)


def _missing(name: str, at: int) -> ValueError:
    return ValueError(f"{name}[{at}] is missing: drop the edge, or name the vertex")


def as_numpy(column: Any, name: str) -> np.ndarray:
    """A column as an array; missing numbers are an error."""
    if hasattr(column, "null_count"):  # polars
        if column.null_count():
            raise ValueError(
                f"{name}[{int(column.is_null().arg_max() or 0)}] is missing or NaN: drop the edge"
            )
        if column.dtype.is_decimal():
            column = column.cast(float)
        return column.to_numpy()
    return np.asarray(column)


def _series(column: Any, name: str) -> Any:
    """A polars series of labels that have an order, or None where a dict must number them."""
    import polars as pl

    if isinstance(column, pl.Series):
        series = column
        if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
            series = series.cast(pl.String)
    elif isinstance(column, np.ndarray) and column.dtype.kind in "iufMU":
        if column.ndim != 1:
            raise ValueError(f"{name} has shape {column.shape}: give one dimension")
        series = pl.Series(column.tolist() if column.dtype.kind == "U" else column)
    else:
        values = list(column)
        if isinstance(values[0], str):
            try:
                return _series(pl.Series(values, dtype=pl.String, strict=True), name)
            except TypeError:  # not all of them are strings
                pass
        for at, value in enumerate(values):
            if value is None or value != value:
                raise _missing(name, at)
        kinds = set(map(type, values))
        whole = all(issubclass(k, (int, np.integer)) and k is not bool for k in kinds)
        if whole and all(-(2**63) <= x < 2**63 for x in values):
            series = pl.Series(np.array(values, np.int64))
        elif len(kinds) == 1 and kinds <= set(_ALIKE):
            series = pl.Series(values)
        elif kinds and all(issubclass(k, (float, np.floating)) for k in kinds):
            series = pl.Series(np.array(values, np.float64))
        else:
            return None
    if series.null_count():
        raise _missing(name, int(series.is_null().arg_max() or 0))
    if series.dtype.is_float() and series.is_nan().any():
        raise _missing(name, int(series.is_nan().arg_max() or 0))
    if not (series.dtype.is_numeric() or series.dtype.is_temporal()) and series.dtype not in (
        pl.String,
        pl.Binary,
        pl.Null,
    ):
        return None
    return series


def _by_table(
    u: np.ndarray, v: np.ndarray, low: int, high: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    present = np.zeros(high - low + 1, bool)
    u, v = (ids.astype(np.int64) - low if low else ids for ids in (u, v))
    present[u] = present[v] = True
    number = np.cumsum(present, dtype=np.int64) - 1
    number = number.astype(np.int32) if number.size and number[-1] < 2**31 - 1 else number
    return number[u], number[v], np.flatnonzero(present) + low


def _by_polars(u: Any, v: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    import polars as pl

    check_polars()
    both = pl.concat([u, v])
    labels = both.gather(both.arg_unique()).sort()
    codes = both.replace_strict(
        labels, pl.Series(np.arange(len(labels), dtype=np.int64)), return_dtype=pl.Int64
    ).to_numpy()
    return codes[: len(u)], codes[len(u) :], labels.to_numpy()


def _by_dict(u: Any, v: Any, names: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    number: dict[Any, int] = {}
    codes = np.empty((2, len(u)), np.int64)
    u, v = (c.to_list() if hasattr(c, "to_list") else list(c) for c in (u, v))
    for at, ends in enumerate(zip(u, v, strict=True)):
        for side, label in enumerate(ends):
            try:
                codes[side, at] = number.setdefault(label, len(number))
            except TypeError:
                raise TypeError(
                    f"{names[side]}[{at}] = {label!r} cannot name a vertex: labels are hashable"
                ) from None
    labels = np.empty(len(number), object)
    labels[:] = list(number)
    return codes[0], codes[1], labels


def number_labels(u: Any, v: Any, names: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """(row, col, labels, whether labels ascend) of the two ends of edges."""
    if len(u) == 0:
        none = np.empty(0, np.int32)
        return none, none, np.empty(0, object), False
    first, second = _series(u, names[0]), _series(v, names[1])
    if first is None or second is None:
        return *_by_dict(u, v, names), False
    if first.dtype.is_integer() and second.dtype.is_integer():
        a, b = first.to_numpy(), second.to_numpy()
        low, high = min(int(a.min()), int(b.min())), max(int(a.max()), int(b.max()))
        if high >= 2**63:
            return *_by_dict(first, second, names), False
        if high - low < 4 * len(a) + 1024:
            return *_by_table(a, b, low, high), True
    elif first.dtype != second.dtype and not (
        first.dtype.is_numeric() and second.dtype.is_numeric()
    ):
        return *_by_dict(first, second, names), False
    if first.dtype != second.dtype:
        import polars as pl

        common = pl.Float64 if first.dtype.is_float() or second.dtype.is_float() else pl.Int64
        first, second = first.cast(common), second.cast(common)
    return *_by_polars(first, second), True
