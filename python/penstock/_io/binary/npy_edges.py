"""Edges in NumPy's .npy files, which may be larger than memory: an array of m x 2 or 2 x m, or a file a side.

The arrays are mapped and walked in pieces: once for the largest id, once for the lengths of rows, once for the entries,
which go to where they stay. In memory are the matrix, two bytes an entry more while rows are sorted, and a piece.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import check_shape, checked
from penstock._io._entries import DUPLICATES, narrowed, to_csr, value_type
from penstock._io._errors import MAX_COLS, broken, check_rows
from penstock._io._npy import HEADER_ERRORS, map_any
from penstock._matrix.csr import csr_array

PIECE = 1 << 18  # edges


def _mapped(path: Any, what: str, kinds: str, remedy: str) -> np.ndarray:
    """Mapped, with NumPy's look at the header; an array without entries is read."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{os.fspath(path)}: there is no such file")
    try:
        array = map_any(os.fspath(path)) if os.path.getsize(path) else None
    except (*HEADER_ERRORS, OSError) as error:
        try:
            array = np.load(path)  # of no entries, which cannot be mapped
        except Exception:
            array = None
        if array is None or array.size:
            raise broken(
                path, f"is no .npy file that can be mapped ({str(error)[:120]})"
            ) from error
    if (
        not isinstance(array, np.ndarray)
        or array.dtype.kind not in kinds
        or array.dtype.names is not None
    ):
        found = "empty" if array is None else f"of {str(array.dtype)[:40]}"
        raise broken(path, f"is {found}: {what} must be {remedy}")
    return array


class _Edges:
    """Sources, targets and weights as they lie in the files."""

    def __init__(self, path: Any, base: int, target: Any, weight: Any, dtype: Any) -> None:
        self.path, self.base = path, base
        first = _mapped(path, "node ids", "iu", "integers")
        if target is not None:
            self.row, self.col = first, _mapped(target, "node ids", "iu", "integers")
            for name, side in ((path, self.row), (target, self.col)):
                if side.ndim != 1:
                    raise broken(
                        name,
                        f"has the shape {side.shape}: one dimension is needed where target= is given",
                    )
            if self.row.size != self.col.size:
                raise broken(
                    target,
                    f"has {self.col.size} ids, {os.fspath(path)} has {self.row.size}: give a pair",
                )
        elif first.ndim == 2 and first.shape[1] == 2:
            self.row, self.col = first[:, 0], first[:, 1]
        elif first.ndim == 2 and first.shape[0] == 2:
            self.row, self.col = first[0], first[1]
        else:
            raise broken(
                path,
                f"has the shape {first.shape}: edges are m x 2 or 2 x m; a file of sources needs target=",
            )
        self.size = self.row.size
        self.weight, self.values = None, None
        if weight is not None:
            self.weight = _mapped(weight, "weights", "biufc", "numbers").reshape(-1)
            if self.weight.size != self.size:
                raise broken(
                    weight,
                    f"has {self.weight.size} weights, there are {self.size} edges: give one an edge",
                )
            self.values = value_type("complex" if self.weight.dtype.kind == "c" else "real", dtype)
        self._weight_path = weight

    def pieces(self, values: bool) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        for first in range(0, self.size, PIECE):
            here = slice(first, first + PIECE)
            row, col = (np.ascontiguousarray(side[here], np.int64) for side in (self.row, self.col))
            weight = None
            if values and self.weight is not None and self.values is not None:
                try:
                    weight = checked(self.weight[here], self.values, "weight")
                except (ValueError, TypeError) as error:
                    raise broken(self._weight_path, f"edges from {first} on: {error}") from error
                weight = narrowed(self._weight_path, weight, self.values, first)
            yield row, col, weight

    def largest(self) -> int:
        """The largest id, from 0; refuses those that no matrix has."""
        most = -1
        for first in range(0, self.size, PIECE):
            for side in (self.row, self.col):
                part = side[first : first + PIECE]
                low, high = int(part.min()), int(part.max())
                if low < self.base or high - self.base >= MAX_COLS:
                    bad = (part < self.base) | (part > MAX_COLS - 1 + self.base)
                    at = first + int(np.flatnonzero(bad)[0])
                    raise broken(
                        self.path,
                        f"edge {at}: the node id {int(side[at])} is outside {self.base} .. 2^31 - 2; see base=",
                    )
                most = max(most, high - self.base)
        return most


class _Walk:
    """What the core calls for entries: (whether more follow, row, column, values, the first number)."""

    def __init__(self, edges: _Edges, values: bool) -> None:
        self._pieces, self._edges, self._typed = edges.pieces(values), edges, values
        self.error: Exception | None = None

    def __call__(self) -> Any:
        try:
            row, col, weight = next(self._pieces)
            return True, row, col, weight, self._edges.base
        except StopIteration:
            none, values = np.empty(0, np.int64), self._edges.values
            return False, none, none, np.empty(0, values) if self._typed and values else None, 0
        except Exception as error:
            self.error = error
            return None


def read(path: Any, *, dtype: Any = None, max_rows: int | None = None, directed: bool = True, base: int = 0,
         shape: tuple[int, int] | None = None, target: Any = None, weight: Any = None,
         duplicates: str = "sum") -> csr_array:  # fmt: skip
    """target, weight: .npy files of one number an edge; then `path` holds the sources."""
    if duplicates not in DUPLICATES:
        raise ValueError(f"duplicates={duplicates!r}: choose one of {', '.join(DUPLICATES)}")
    edges = _Edges(path, base, target, weight, dtype)
    most = edges.largest()
    rows, cols = (most + 1, most + 1) if shape is None else check_shape(shape)
    if not directed and rows != cols:
        raise broken(path, f"directed=False needs a square shape, not {rows} x {cols}")
    check_rows(path, rows, edges.size, max_rows, "renumber the ids, or " if shape is None else "")
    mirror = "none" if directed else "symmetric"
    if duplicates != "sum" or (edges.values is not None and edges.values.kind == "c"):
        return _at_once(edges, rows, cols, mirror, duplicates)
    comm, partition = (
        _core.threads_group(1)[0],
        _core.partition_of_shape("contiguous", rows, cols, 1),
    )
    kept = _core.kept_range(0, rows, 0, cols)
    kind = "bool" if edges.values is None else edges.values.name

    def walked(values: bool, call: Any, *more: Any) -> Any:
        walk = _Walk(edges, values)
        try:
            found = call(comm, partition, kept, mirror, *more, walk)
        except ValueError as error:
            raise broken(path, str(error)) from error
        if found is None:
            raise walk.error or broken(
                path, "the files changed while they were read: read them again"
            )
        return found

    _check_shape(edges, rows, cols)
    lengths = walked(False, _core.count_among)
    return csr_array._wrap(walked(True, _core.assemble_among, kind, lengths))


def _check_shape(edges: _Edges, rows: int, cols: int) -> None:
    for side, extent, what in ((edges.row, rows, "source"), (edges.col, cols, "target")):
        for first in range(0, edges.size, PIECE):
            part = side[first : first + PIECE]
            if int(part.max()) - edges.base >= extent:
                at = first + int(np.flatnonzero(part > extent - 1 + edges.base)[0])
                raise broken(
                    edges.path,
                    f"edge {at}: the {what} {int(side[at])} is outside {edges.base} .. {extent - 1 + edges.base}: "
                    "correct shape= or base=",
                )


def _at_once(edges: _Edges, rows: int, cols: int, mirror: str, duplicates: str) -> csr_array:
    """In memory, where pieces are not enough to tell which of several values stays."""
    parts = list(edges.pieces(True))
    row, col = (
        np.concatenate([part[k] for part in parts] or [np.empty(0, np.int64)]) - edges.base
        for k in (0, 1)
    )
    values = None
    if edges.values is not None:
        values = np.concatenate([part[2] for part in parts] or [np.empty(0, edges.values)])  # type: ignore[misc]
    _check_shape(edges, rows, cols)
    return to_csr(edges.path, rows, cols, row, col, values, mirror, duplicates)
