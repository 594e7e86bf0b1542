"""PETSc's binary matrices, as MatView and PetscBinaryIO.py write them: big-endian, of rows.

The number 1211216, rows, columns, entries (-1: a dense matrix follows), the length of each row, columns, values. With
64-bit indices every integer takes 8 bytes. What a value is the file does not say: its size tells.
The format: PETSc manual pages of MatLoad and PetscViewerBinaryOpen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._errors import broken
from penstock._io._rows import row_slabs
from penstock._io.binary._numbers import Numbers, compressed
from penstock._matrix.csr import csr_array

MATRIX, VECTOR = 1211216, 1211214
OTHERS = {
    VECTOR: "a vector",
    1211218: "an index set",
    1211219: "a bag of parameters",
    1211221: "a random state",
}
SCALARS = ("float64", "complex128", "float32", "complex64")


def is_petsc(path: Any) -> bool:
    with open(path, "rb") as file:
        head = file.read(8)
    return MATRIX in (int.from_bytes(head[:4], "big"), int.from_bytes(head, "big"))


def _header(file: Numbers) -> tuple[str, list[int]]:
    """The type of integers, and rows, columns and entries."""
    head = file.take(">i4", 2, "the first numbers").tolist()
    wide = head[0] == 0 and head[1] in (MATRIX, *OTHERS)
    first = head[1] if wide else head[0]
    if first in OTHERS:
        raise broken(
            file.path,
            f"byte 0: holds {OTHERS[first]} ({first}), not a matrix ({MATRIX}): save the matrix with MatView",
        )
    if first != MATRIX:
        raise broken(
            file.path,
            f"byte 0: begins with {first}, not with {MATRIX} in big-endian order: it is no matrix of PETSc's",
        )
    integer = ">i8" if wide else ">i4"
    sizes = [] if wide else [head[1]]
    sizes += file.take(integer, 3 - len(sizes), "the sizes").tolist()
    if sizes[0] < 0 or sizes[1] < 0 or sizes[2] < -1:
        raise broken(
            file.path,
            f"byte {4 << wide}: the sizes {sizes} must not be negative: the file is damaged",
        )
    return integer, sizes


def _scalar(file: Numbers, entries: int, scalar: Any) -> np.dtype:
    """The type of values: what makes the file end with the last one, or with another object's begin."""
    left = file.size - file.at
    if scalar is not None:
        if np.dtype(scalar).name not in SCALARS:
            raise ValueError(f"scalar={scalar!r}: choose one of {', '.join(SCALARS)}")
        return np.dtype(scalar).newbyteorder(">")
    kinds = [np.dtype(name).newbyteorder(">") for name in SCALARS[:3]]
    # The mark of another object first: real values and a vector may be as long as complex values.
    for kind in kinds:
        end = file.at + entries * kind.itemsize
        if end < file.size and _object_at(file.path, end):
            return kind
    for kind in kinds:
        if entries * kind.itemsize == left:
            return kind
    raise broken(
        file.path,
        f"byte {file.at}: {left} bytes are left for {entries} values, which take 4, 8 or 16 each: it is truncated; if "
        "something else follows the matrix, pass scalar= with the type of its values, such as 'float64'",
    )


def _object_at(path: Any, byte: int) -> bool:
    with open(path, "rb") as file:
        file.seek(byte)
        head = file.read(8)
    known = (MATRIX, *OTHERS)
    return int.from_bytes(head[:4], "big") in known or (
        len(head) == 8 and int.from_bytes(head, "big") in known
    )


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, scalar: Any = None
) -> csr_array:
    """The first matrix of the file; scalar: the type of its values, where the size of the file does not tell."""
    with Numbers(path) as file:
        integer, (rows, cols, entries) = _header(file)
        if entries < 0:
            return _dense(file, rows, cols, scalar, max_rows)
        lengths = file.take(integer, rows, "the lengths of rows")
        if (lengths.size and int(lengths.min()) < 0) or int(lengths.sum(dtype=np.int64)) != entries:
            raise broken(
                path,
                f"the rows have {int(lengths.sum(dtype=np.int64))} entries together, the header says {entries}: the "
                "file is damaged",
            )
        indices = file.take(integer, entries, "the columns")
        values = file.take(_scalar(file, entries, scalar), entries, "the values")
    indptr = np.zeros(rows + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    return compressed(path, "csr", (rows, cols), indptr, indices, values, max_rows)


def _dense(file: Numbers, rows: int, cols: int, scalar: Any, max_rows: int | None) -> csr_array:
    values = file.take(_scalar(file, rows * cols, scalar), rows * cols, "the values").reshape(
        rows, cols
    )
    row, col = np.nonzero(values)
    indptr = np.zeros(rows + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=rows), out=indptr[1:])
    return compressed(file.path, "csr", (rows, cols), indptr, col, values[row, col], max_rows)


def write(path: Any, a: csr_array, *, indices: int | None = None) -> None:
    """indices: 32 or 64 bits; by default 64 where 32 are not enough. Values are float64 or complex128."""
    if a.dtype == np.bool_:
        raise broken(path, "PETSc's matrices have values, this is a pattern: save A.astype(float)")
    if indices not in (None, 32, 64):
        raise ValueError(f"indices={indices!r}: give 32 or 64")
    wide = max(*a.shape, a.nnz) >= 2**31
    if indices == 32 and wide:
        raise broken(
            path, f"{a.nnz} entries or {a.shape[0]} rows do not fit 32 bits: leave indices= out"
        )
    integer = ">i8" if wide or indices == 64 else ">i4"
    scalar = ">c16" if a.dtype.kind == "c" else ">f8"
    with atomic_file(path) as file:
        file.write(np.array([MATRIX, *a.shape, a.nnz], integer).tobytes())
        slabs = row_slabs(a)
        for first, last in slabs:
            file.write(np.diff(a.indptr[first : last + 1]).astype(integer).data)
        for array, kind in ((a.indices, integer), (a.data, scalar)):
            for first, last in slabs:
                file.write(array[int(a.indptr[first]) : int(a.indptr[last])].astype(kind).data)
