"""Edge lists in Parquet and Arrow, through polars: the first two or three columns, or those that are named."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock._arrays.convert import check_shape, checked
from penstock._io._atomic import atomic_file
from penstock._io._entries import narrowed, to_csr, value_type
from penstock._io._errors import MAX_COLS, Inflation, broken, check_rows
from penstock._io._faults import EXACT
from penstock._io._polars_text import polars
from penstock._io._rows import row_slabs
from penstock._matrix.csr import csr_array

_NUMPY_INTEGERS = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None, directed: bool = True, base: int = 0,
         shape: tuple[int, int] | None = None, columns: tuple[str, ...] | None = None,
         duplicates: str = "sum") -> csr_array:  # fmt: skip
    pl = polars()
    _check_ends(path, b"PAR1", "Parquet")
    table = _table(pl.scan_parquet, path, columns)
    return edges_of(path, table, dtype, max_rows, directed, base, shape, columns, duplicates)


def read_arrow(path: Any, *, dtype: Any = None, max_rows: int | None = None, directed: bool = True, base: int = 0,
               shape: tuple[int, int] | None = None, columns: tuple[str, ...] | None = None,
               duplicates: str = "sum") -> csr_array:  # fmt: skip
    """Arrow's IPC files, of which Feather's version 2 is one."""
    pl = polars()
    _check_ends(path, b"ARROW1", "an Arrow IPC file")
    table = _table(pl.scan_ipc, path, columns)
    return edges_of(path, table, dtype, max_rows, directed, base, shape, columns, duplicates)


def _check_ends(path: Any, mark: bytes, what: str) -> None:
    with open(path, "rb") as file:
        size = len(mark)
        ends = file.read(size) == mark and file.seek(-size, 2) >= size and file.read(size) == mark
    if not ends:
        raise broken(
            path, f"does not start and end as {what} does: it is truncated, or another format"
        )


def _table(scan: Callable[[Any], Any], path: Any, columns: tuple[str, ...] | None) -> Any:
    """The columns of a file, the rows of which are counted first: some bytes may hold a column of equal values of any
    length."""
    try:
        lazy = scan(path)
        rows = lazy.select(polars().len()).collect().item()
        names = list(columns or lazy.collect_schema().names())
        Inflation(path).check(os.path.getsize(path), 8 * rows * len(names))
        return lazy.select(names).collect()
    except BaseException as error:  # a panic in polars is not an Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        if isinstance(error, ValueError) and str(error).startswith(os.fspath(path)):
            raise
        raise broken(path, f"polars cannot read it: {str(error)[:200]}") from error


def edges_of(path: Any, table: Any, dtype: Any, max_rows: int | None, directed: bool, base: int,
             shape: tuple[int, int] | None, columns: tuple[str, ...] | None, duplicates: str) -> csr_array:  # fmt: skip
    """The matrix of a table of edges. Options: as of `read`."""
    pl = polars()
    names = list(columns or table.columns)
    if len(names) not in (2, 3):
        raise broken(
            path,
            f"has the columns {', '.join(names)[:200]}: name source, target and weight in columns=",
        )
    for name in names[:2]:
        if not table[name].dtype.is_integer() or table[name].null_count():
            raise broken(
                path,
                f"column {name!r} is {table[name].dtype}, or has gaps: node ids must be integers",
            )
    ids = [table[name] for name in names[:2]]
    low, high = (min, max) if len(table) else ((lambda _: base), (lambda _: base - 1))
    least, most = low(int(i.min() or 0) for i in ids), high(int(i.max() or 0) for i in ids)
    rows, cols = (max(most - base + 1, 0),) * 2 if shape is None else check_shape(shape)
    if least < base or max(most - base, 0) >= MAX_COLS:
        raise broken(
            path, f"node ids are {least} .. {most}: they must lie in {base} .. 2^31 - 2; see base="
        )
    if not directed and rows != cols:
        raise broken(path, f"directed=False needs a square shape, not {rows} x {cols}")
    check_rows(path, rows, len(table), max_rows, "renumber the ids, or " if shape is None else "")
    row, col = (i.cast(pl.Int64).to_numpy() - base for i in ids)
    values = None
    if len(names) == 3:
        weight = table[names[2]]
        if not weight.dtype.is_numeric() or weight.null_count():
            raise broken(
                path, f"column {names[2]!r} is {weight.dtype}, or has gaps: weights must be numbers"
            )
        try:
            wide = checked(_weights(pl, weight), np.dtype(float), f"column {names[2]!r}")
        except ValueError as error:
            raise broken(path, str(error)) from error
        values = narrowed(path, wide, value_type("real", dtype))
    return to_csr(
        path, rows, cols, row, col, values, "none" if directed else "symmetric", duplicates
    )


def _weights(pl: Any, weight: Any) -> np.ndarray:
    """As NumPy has them; types of 128 bits as float64, integers only where that is exact."""
    whole = weight.dtype.is_integer() or (weight.dtype.is_decimal() and weight.dtype.scale == 0)
    if not weight.dtype.is_decimal() and (not whole or str(weight.dtype) in _NUMPY_INTEGERS):
        return weight.to_numpy()
    if whole and len(weight) and max(-int(weight.min()), int(weight.max())) > EXACT:
        raise ValueError(
            f"column {weight.name!r} holds integers beyond 2^53, where float64 rounds: cast it to Float64 if rounding "
            "is acceptable"
        )
    return weight.cast(pl.Float64).to_numpy()


def write(path: Any, a: csr_array, *, base: int = 0) -> None:
    """Columns source, target and, of a matrix with values, weight."""
    table = table_of(path, a, base)
    with atomic_file(path) as file:
        table.write_parquet(file)


def write_arrow(path: Any, a: csr_array, *, base: int = 0) -> None:
    """As `write`."""
    table = table_of(path, a, base)
    with atomic_file(path) as file:
        table.write_ipc(file)


def table_of(path: Any, a: csr_array, base: int) -> Any:
    pl = polars()
    if a.dtype.kind == "c":
        raise broken(
            path, f"an edge list has one weight an edge, the matrix is {a.dtype}: save it as .mtx"
        )
    parts = []
    for first, last in row_slabs(a):
        entries = slice(int(a.indptr[first]), int(a.indptr[last]))
        row = np.repeat(np.arange(first, last) + base, np.diff(a.indptr[first : last + 1]))
        part = {"source": row, "target": a.indices[entries].astype(np.int64) + base}
        if a.dtype != np.bool_:
            part["weight"] = a.data[entries]
        parts.append(pl.DataFrame(part))
    if not parts:
        names = ("source", "target") if a.dtype == np.bool_ else ("source", "target", "weight")
        parts = [pl.DataFrame({name: np.empty(0, np.int64) for name in names})]
    return pl.concat(parts)
