"""SciPy's name for `penstock.reorder.rcm`."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock.csgraph._graph import as_graph, undirected


def reverse_cuthill_mckee(A: Any, symmetric_mode: bool = False) -> np.ndarray:
    """The reverse Cuthill-McKee order of a square matrix, as int32 numbers of its rows.

    Works on the pattern of A + A^T, which is formed where A's is not symmetric; `symmetric_mode=True` says that it is
    and saves the check. The order differs from SciPy's, which starts each component elsewhere: see `ps.reorder.rcm`.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0] * 3, ([0, 3, 1], [3, 1, 2])), shape=(4, 4))  # the path 0 3 1 2
    >>> ps.csgraph.reverse_cuthill_mckee(A)
    array([2, 1, 3, 0], dtype=int32)
    """
    graph = as_graph(A, "reverse_cuthill_mckee")
    both = graph if symmetric_mode else undirected(graph)
    return np.array(_core.reverse_cuthill_mckee(both._core))
