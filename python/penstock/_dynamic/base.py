"""The matrix that a graph that changes begins with."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.csgraph._graph import as_graph, has_symmetric_pattern, symmetric_weights


def as_base(A: Any, directed: bool) -> csr_array:
    """In canonical form, and symmetric unless `directed`; the errors are DynamicGraph's."""
    base = as_graph(A, "DynamicGraph")
    if base.place == "device":
        raise _core.PlacementError(
            "DynamicGraph changes on the CPU, but the matrix is in a GPU's memory: give A.to(ps.host)"
        )
    if not base.has_canonical_format:
        base = base.without_duplicates()
    if not directed and not _is_symmetric(base):
        raise ValueError(
            "directed=False: the matrix is not symmetric. Leave it out, or give one with every edge in both directions"
        )
    return base


def _is_symmetric(base: csr_array) -> bool:
    """Of a matrix in canonical form. The core compares real values."""
    if base.dtype.kind != "c":
        return symmetric_weights(base)
    if not has_symmetric_pattern(base):
        return False
    # Its columns are the same, and ascend in both.
    turned = csr_array._wrap(_core.transpose(base._core))
    return np.array_equal(base.data, turned.data, equal_nan=True)
