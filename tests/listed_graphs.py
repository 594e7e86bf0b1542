"""Graphs as a list of edges has them, for tests."""

import numpy as np

import penstock as ps


def as_listed(n, edges):
    """Rows in the order of the list, with its duplicates and self loops, and values that must not matter."""
    edges = sorted(edges, key=lambda e: e[0])
    indptr = np.searchsorted([e[0] for e in edges], np.arange(n + 1)).astype(np.int64)
    indices = np.array([e[1] for e in edges], np.int32)
    return ps.csr_array._from_parts(n, n, indptr, indices, np.zeros(indices.size))
