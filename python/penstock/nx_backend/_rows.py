"""Rows of sparse matrices: where the entries of some are, and what two rows share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._matrix.spgemm import spgemm


def places_of(indptr: np.ndarray, some: np.ndarray) -> np.ndarray:
    """The places of the entries of some rows, row by row."""
    lengths = indptr[some + 1] - indptr[some]
    before = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(indptr[some] - before, lengths)


def supports(n: int, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """For each edge of a simple graph that is there in both directions, the number of triangles that it is in."""
    matrix = csr_array._wrap(_core.coo_to_csr(n, n, rows, columns, None, True))
    matrix._derived.symmetric_pattern = True
    met = spgemm(matrix, matrix, mask=matrix)  # no entry where an edge is in no triangle
    met_rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(met.indptr))
    every = rows.astype(np.int64) * n + columns
    order = np.argsort(every)
    at = np.searchsorted(every, met_rows * n + met.indices, sorter=order)
    counts = np.zeros(every.size, dtype=np.int64)
    counts[order[at]] = met.data
    return counts


def with_root(matrix: csr_array, children: Sequence[int] | np.ndarray) -> csr_array:
    """The matrix, and one more vertex with edges to some in the order given: searches of several sources."""
    n = matrix.shape[0]
    indptr = np.append(matrix.indptr, matrix.indptr[-1] + len(children))
    indices = np.concatenate((matrix.indices, np.array(children, np.int32)))
    return csr_array._from_parts(n + 1, n + 1, indptr, indices, None, validate="cheap")
