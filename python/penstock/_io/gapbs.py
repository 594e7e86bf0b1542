"""GAP benchmark suite's serialized graphs: .sg, and .wsg with int32 weights.

Little-endian: a byte that says whether the graph is directed, int64 arcs, int64 vertices, int64 offsets (vertices + 1),
int32 neighbours (.wsg: pairs of neighbour and weight); of a directed graph then the same for the incoming side.
The format: gapbs, src/writer.h.
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._entries import symmetry_fault, transposed, value_type
from penstock._io._errors import broken, check_rows
from penstock._io._rows import require_integers, row_slabs
from penstock._matrix.csr import csr_array

HEAD = 17


def _weighted(path: Any) -> bool:
    return os.fspath(path).lower().endswith(".wsg")


def _side(
    path: Any, file: BinaryIO, vertices: int, arcs: int, weighted: bool
) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.fromfile(file, "<i8", vertices + 1)
    entries = np.fromfile(file, "<i4", arcs * (2 if weighted else 1))
    if indptr[0] != 0 or indptr[-1] != arcs:
        raise broken(
            path,
            f"the offsets run from {indptr[0]} to {indptr[-1]}, not from 0 to {arcs}: the file is damaged",
        )
    return indptr, entries


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, weighted: bool | None = None
) -> csr_array:
    """weighted: whether the entries are pairs; by default whether the suffix is .wsg."""
    weighted = _weighted(path) if weighted is None else weighted
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(HEAD)
        if len(head) < HEAD:
            raise broken(
                path, f"has {len(head)} bytes, the header alone takes {HEAD}: it is truncated"
            )
        directed = head[0]
        arcs, vertices = (int(n) for n in np.frombuffer(head, "<i8", 2, 1))
        if directed > 1 or arcs < 0 or not 0 <= vertices < 2**31:
            raise broken(
                path,
                f"the header says directed {directed}, {arcs} arcs, {vertices} vertices: not a GAPBS graph",
            )
        needed = HEAD + (1 + directed) * (8 * (vertices + 1) + arcs * (8 if weighted else 4))
        if size != needed:
            raise broken(
                path,
                f"has {size} bytes, {vertices} vertices and {arcs} arcs take {needed}: it is truncated, or "
                + ("holds no weights (.sg)" if weighted else "holds weights (.wsg)"),
            )
        check_rows(path, vertices, arcs, max_rows)
        indptr, entries = _side(path, file, vertices, arcs, weighted)
    indices = np.ascontiguousarray(entries[::2]) if weighted else entries
    values = entries[1::2].astype(value_type("real", dtype)) if weighted else None
    try:
        return csr_array._from_parts(vertices, vertices, indptr, indices, values)
    except ValueError as error:
        raise broken(path, str(error)) from error


def _write_side(file: BinaryIO, a: csr_array, weighted: bool) -> None:
    file.write(np.ascontiguousarray(a.indptr, "<i8").data)
    for first, last in row_slabs(a):
        part = slice(int(a.indptr[first]), int(a.indptr[last]))
        entries = a.indices[part]
        if weighted:
            entries = np.column_stack([entries, a.data[part].astype("<i4")])
        file.write(np.ascontiguousarray(entries, "<i4").data)


def write(path: Any, a: csr_array, *, directed: bool | None = None) -> None:
    """directed: by default, whether the matrix differs from its transpose."""
    if a.shape[0] != a.shape[1]:
        raise broken(
            path, f"a graph is square, the matrix is {a.shape[0]} x {a.shape[1]}: save it as .mtx"
        )
    weighted = _weighted(path)
    if weighted != (a.dtype != np.bool_):
        raise broken(
            path,
            "a .wsg file needs weights: name it .sg"
            if weighted
            else "a .sg file holds no weights: name it .wsg",
        )
    if weighted:
        require_integers(a, path, "a .wsg file", -(2**31), 2**31 - 1)
    fault = symmetry_fault(a) if directed is not True else None
    if directed is False and fault:
        raise broken(
            path,
            f"directed=False, but A[{fault[0]}, {fault[1]}] differs from its mirror: pass directed=True",
        )
    directed = directed is True or fault is not None
    with atomic_file(path) as file:
        file.write(bytes([directed]) + np.array([a.nnz, a.shape[0]], "<i8").tobytes())
        _write_side(file, a, weighted)
        if directed:
            _write_side(file, transposed(a), weighted)
