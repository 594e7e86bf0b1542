"""Matrices in groups of HDF5 or Zarr: AnnData's .h5ad and .zarr, 10x Genomics' .h5, MATLAB's .mat of version 7.3.

A group is read by its names and attributes alone, and every size is held to what the file has before memory is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from penstock._io._errors import Inflation, broken, check_cols, check_rows
from penstock._io.binary._numbers import compressed, needed
from penstock._matrix.csr import csr_array

SLAB = 1 << 24  # entries of a dense matrix that are looked at together
KINDS = {"csr_matrix": "csr", "csc_matrix": "csc", "csr": "csr", "csc": "csc"}


@contextmanager
def opened(path: Any, what: str) -> Iterator[Any]:
    """The file, with errors of the library as ours."""
    h5py = needed("h5py", what, "hdf5")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError, TypeError, AttributeError, UnicodeError, MemoryError, OverflowError,
            ValueError, IndexError) as error:  # fmt: skip
        if isinstance(error, ValueError) and str(error).startswith(os.fspath(path)):
            raise
        raise broken(
            path, f"h5py cannot read it ({str(error)[:160]}): it is damaged, or another format"
        ) from error


def text_of(value: Any) -> str:
    """An attribute as text."""
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0] if value.size else ""
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def is_group(x: Any) -> bool:
    return hasattr(x, "keys")


class Group:
    """A group that holds data, indices and indptr."""

    def __init__(self, path: Any, where: str, group: Any) -> None:
        self.path, self.where, self._group = path, where, group

    def broken(self, problem: str) -> ValueError:
        return broken(self.path, f"{self.where}: {problem}")

    def item(self, name: str) -> Any:
        if name not in self._group:
            have = ", ".join(sorted(self._group.keys())[:12])
            raise self.broken(
                f"has no {name!r} (it has {have or 'nothing'}): it is no sparse matrix"
            )
        found = self._group[name]
        if is_group(found) or len(found.shape) != 1:
            raise self.broken(f"{name!r} is no array of one dimension: the file is damaged")
        return found

    def arrays(self, names: tuple[str, ...], kinds: tuple[str, ...]) -> list[np.ndarray]:
        """Read only after their sizes were compared with the file's."""
        items = [self.item(name) for name in names]
        for name, item, allowed in zip(names, items, kinds, strict=True):
            if item.dtype.kind not in allowed or not item.dtype.itemsize:
                raise self.broken(f"{name!r} is {item.dtype}, not numbers: the file is damaged")
        check_bytes(
            self.path, sum(int(np.prod(i.shape, dtype=object)) * i.dtype.itemsize for i in items)
        )
        return [np.asarray(item[...]) for item in items]


def check_bytes(path: Any, unpacked: int) -> None:
    """HDF5 and Zarr pack arrays, and hold those that were never written in no bytes at all."""
    size = os.path.getsize(path)
    if os.path.isdir(path):
        size = sum(
            os.path.getsize(os.path.join(at, f)) for at, _, files in os.walk(path) for f in files
        )
    Inflation(path).check(size, unpacked)


def sparse(path: Any, where: str, group: Any, kind: str, shape: tuple[int, int], max_rows: int | None,
           names: tuple[str, ...] = ("indptr", "indices", "data"), pattern: bool = False) -> csr_array:  # fmt: skip
    numbers = Group(path, where, group)
    wanted = names[:2] if pattern else names
    found = numbers.arrays(wanted, ("iu", "iu", "biufc")[: len(wanted)])
    check_rows(path, shape[0], found[1].size, max_rows)
    try:
        return compressed(
            path, kind, shape, found[0], found[1], None if pattern else found[2], max_rows
        )
    except ValueError as error:
        raise numbers.broken(str(error).removeprefix(f"{path}: ")) from error


def dense(path: Any, where: str, array: Any, max_rows: int | None) -> csr_array:
    """The entries of a dense matrix that are not zero, some rows at a time."""
    rows, cols = (int(n) for n in array.shape)
    if array.dtype.kind not in "biufc":
        raise broken(path, f"{where}: is {array.dtype}, not numbers: choose another matrix")
    check_cols(path, cols)
    check_bytes(path, rows * cols * array.dtype.itemsize)
    lengths, columns, values = (
        [np.zeros(1, np.int64)],
        [np.empty(0, np.int32)],
        [np.empty(0, array.dtype)],
    )
    step = max(1, SLAB // max(cols, 1))
    for first in range(0, rows, step):
        part = np.asarray(array[first : first + step])
        row, col = np.nonzero(part)
        lengths.append(np.bincount(row, minlength=part.shape[0]))
        columns.append(col.astype(np.int32))
        values.append(part[row, col])
    indptr = np.cumsum(np.concatenate(lengths), dtype=np.int64)
    return compressed(
        path, "csr", (rows, cols), indptr, np.concatenate(columns), np.concatenate(values), max_rows
    )


def two(path: Any, where: str, shape: Any) -> tuple[int, int]:
    """A shape that a file says."""
    numbers = np.asarray(shape).reshape(-1)
    if numbers.size != 2 or numbers.dtype.kind not in "iu" or (numbers < 0).any():
        raise broken(
            path, f"{where}: has the shape {str(shape)[:60]}: two numbers of 0 or more are needed"
        )
    return int(numbers[0]), int(numbers[1])
