"""Galois' binary graphs (.gr), versions 1 and 2, little-endian.

First version, bytes of an edge's weight (0: none), vertices, edges, as uint64; then the end of each vertex's edges,
uint64; targets, uint32 (version 1, filled up to 8 bytes) or uint64 (version 2); weights. DIMACS graphs have the same
suffix and are text. The format: Galois, "Graph file formats" of its documentation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file
from penstock._io._errors import broken
from penstock._io._rows import require_integers, row_slabs
from penstock._io.binary._numbers import Numbers, compressed, offsets_of
from penstock._matrix.csr import csr_array

WEIGHTS = {4: ("uint32", "int32", "float32"), 8: ("uint64", "int64", "float64")}


def is_galois(path: Any) -> bool:
    """Whether a .gr begins with the number of a version, which no text does."""
    with open(path, "rb") as file:
        head = file.read(8)
    return len(head) == 8 and head[0] in (1, 2) and not any(head[1:])


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, weights: Any = None
) -> csr_array:
    """weights: their type, which the file does not say; by default uint32 or uint64, by their size."""
    with Numbers(path) as file:
        version, size, vertices, edges = (int(n) for n in file.take("<u8", 4, "the header"))
        if version not in (1, 2):
            raise broken(
                path, f"byte 0: version {version} is not 1 or 2: it is no binary graph of Galois'"
            )
        if size not in (0, 4, 8):
            raise broken(
                path,
                f"byte 8: weights of {size} bytes are not read, only of 4 or 8: convert the graph",
            )
        kind = _kind(path, size, weights)
        ends = file.take("<u8", vertices, "the offsets")
        targets = file.take("<u4" if version == 1 else "<u8", edges, "the targets")
        if version == 1 and edges % 2 and (size or file.size - file.at == 4):
            file.skip(4)
        values = file.take(kind, edges, "the weights") if kind else None
        file.end("the weights" if kind else "the targets")
    indptr = np.concatenate([np.zeros(1, np.uint64), ends])
    if indptr.max() > edges:
        raise broken(
            path, f"an offset is {int(indptr.max())}, beyond the {edges} edges: the file is damaged"
        )
    offsets_of(path, indptr, edges, "the offsets")
    return compressed(
        path, "csr", (vertices, vertices), indptr.astype(np.int64), targets, values, max_rows
    )


def _kind(path: Any, size: int, weights: Any) -> np.dtype | None:
    if size == 0:
        if weights is not None:
            raise broken(
                path, f"weights={weights!r}, but the file says that edges have none: leave it out"
            )
        return None
    name = WEIGHTS[size][0] if weights is None else np.dtype(weights).name
    if name not in WEIGHTS[size]:
        raise broken(
            path,
            f"weights={weights!r}, but they take {size} bytes: choose {', '.join(WEIGHTS[size])}",
        )
    return np.dtype(name).newbyteorder("<")


def write(path: Any, a: csr_array, *, weights: Any = None) -> None:
    """Version 1; weights: the type of what is written, uint32 by default."""
    if a.shape[0] != a.shape[1]:
        raise broken(
            path, f"a graph is square, the matrix is {a.shape[0]} x {a.shape[1]}: save it as .mtx"
        )
    pattern = a.dtype == np.bool_
    kind = None if pattern else np.dtype("uint32" if weights is None else weights)
    if kind is not None and (kind.name not in WEIGHTS[4] + WEIGHTS[8] or a.dtype.kind == "c"):
        raise broken(
            path,
            f"weights of {a.dtype} are not written as {kind}: choose uint32, int64, float64 ...",
        )
    if kind is not None and kind.kind in "iu":
        require_integers(a, path, f"a .gr file with weights of {kind}",
                         max(np.iinfo(kind).min, -(2**53)), min(np.iinfo(kind).max, 2**53))  # fmt: skip
    with atomic_file(path) as file:
        file.write(np.array([1, kind.itemsize if kind else 0, a.shape[0], a.nnz], "<u8").tobytes())
        file.write(a.indptr[1:].astype("<u8").data)
        file.write(np.ascontiguousarray(a.indices, "<i4").data)
        file.write(bytes(4 * (a.nnz % 2)))
        if kind is not None:
            form = kind.newbyteorder("<")
            for first, last in row_slabs(a):
                file.write(a.data[int(a.indptr[first]) : int(a.indptr[last])].astype(form).data)
