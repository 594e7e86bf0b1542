"""EMOGI's graphs: NAME.bel.col (offsets), NAME.bel.dst (targets) and, for shortest paths, NAME.bel.val (weights).

Little-endian; each file begins with the count of its numbers and one that means nothing, as uint64. Offsets and targets
are uint64, weights 4 bytes. The format: EMOGI's README; Min and others, PVLDB 14(2), 2020.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from penstock._io._atomic import atomic_file, require_named
from penstock._io._errors import broken
from penstock._io._rows import require_integers, row_slabs
from penstock._io.binary._numbers import Numbers, compressed, offsets_of
from penstock._matrix.csr import csr_array

PARTS = (".col", ".dst", ".val")
WEIGHTS = ("uint32", "float32")


def stem(path: Any) -> str:
    """NAME.bel of it or of one of its files."""
    text = os.fspath(path)
    return text[:-4] if text.lower().endswith(tuple(f".bel{part}" for part in PARTS)) else text


def _part(path: str, kind: Any, what: str) -> np.ndarray:
    with Numbers(path) as file:
        size = int(file.take("<u8", 2, "the header")[0])
        found = file.take(kind, size, what)
        file.end(what)
    return found


def read(
    path: Any, *, dtype: Any = None, max_rows: int | None = None, weights: Any = None
) -> csr_array:
    """weights: "uint32" (the default) or "float32", which EMOGI's programs know without the file; False: leave them."""
    if weights is not None and weights is not False and np.dtype(weights).name not in WEIGHTS:
        raise ValueError(f"weights={weights!r}: choose one of {', '.join(WEIGHTS)}, or False")
    name = stem(path)
    for part in PARTS[:2]:
        if not os.path.isfile(name + part):
            raise FileNotFoundError(
                f"{name + part}: there is no such file, a .bel graph has .col and .dst"
            )
    offsets = _part(name + PARTS[0], "<u8", "the offsets")
    targets = _part(name + PARTS[1], "<u8", "the targets")
    values = None
    if weights is not False and (weights is not None or os.path.isfile(name + PARTS[2])):
        values = _part(
            name + PARTS[2], np.dtype(weights or "uint32").newbyteorder("<"), "the weights"
        )
        if values.size != targets.size:
            raise broken(
                name + PARTS[2],
                f"has {values.size} weights for {targets.size} edges: it is of another graph",
            )
    if not offsets.size:
        raise broken(name + PARTS[0], "has no offsets: a graph has one more than vertices")
    if int(offsets.max()) > targets.size:
        raise broken(
            name + PARTS[0],
            f"an offset is {int(offsets.max())}, beyond the {targets.size} edges: it is damaged",
        )
    offsets_of(name + PARTS[0], offsets, targets.size, "the offsets")
    n = offsets.size - 1
    return compressed(name, "csr", (n, n), offsets.astype(np.int64), targets, values, max_rows)


def write(path: Any, a: csr_array, *, weights: Any = None) -> None:
    """NAME.bel.dst, .val where there are values, and .col at the end; weights: "uint32" or "float32"."""
    require_named(path)
    name = stem(path)
    if a.shape[0] != a.shape[1]:
        raise broken(
            name, f"a graph is square, the matrix is {a.shape[0]} x {a.shape[1]}: save it as .mtx"
        )
    kind = np.dtype("uint32" if weights is None else weights)
    if kind.name not in WEIGHTS:
        raise ValueError(f"weights={weights!r}: choose one of {', '.join(WEIGHTS)}")
    if a.dtype.kind == "c":
        raise broken(
            name, f"a .bel graph has real weights, the matrix is {a.dtype}: save it as .mtx"
        )
    pattern = a.dtype == np.bool_
    if not pattern and kind.kind == "u":
        require_integers(a, name, "a .bel graph", 0, 2**32 - 1)
    elif not pattern and not np.array_equal(a.data, a.data.astype(kind), equal_nan=True):
        raise broken(
            name,
            "a .bel graph holds weights of float32, which would round some: save A.astype('float32')",
        )
    for part, array, form in ((".dst", a.indices, "<u8"), (".val", a.data, kind.newbyteorder("<"))):
        if part == ".val" and pattern:
            continue
        with atomic_file(name + part) as file:
            file.write(np.array([a.nnz, 0], "<u8").tobytes())
            for first, last in row_slabs(a):
                file.write(array[int(a.indptr[first]) : int(a.indptr[last])].astype(form).data)
    if pattern and os.path.exists(name + ".val"):
        os.remove(name + ".val")  # of the graph that was here
    with atomic_file(name + ".col") as file:
        file.write(np.array([a.shape[0] + 1, 0], "<u8").tobytes())
        file.write(a.indptr.astype("<u8").data)
