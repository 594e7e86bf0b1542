"""SciPy's reverse Cuthill-McKee order; `penstock.reorder.rcm` is ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.csgraph._graph import as_graph
from penstock.csgraph.shortest_paths import pattern


def reverse_cuthill_mckee(graph: Any, symmetric_mode: bool = False) -> np.ndarray:
    """The reverse Cuthill-McKee order of a square matrix, as int32 numbers of its rows, by SciPy's function of this
    name: works on the pattern of A + A^T, or of A alone where `symmetric_mode=True` says that it is symmetric.

    `ps.reorder.rcm` starts each component elsewhere, which makes the band a little narrower, and has no limit of size.
    Raises ValueError for a matrix that is not square, and for one that exceeds what SciPy can number in int32.

    >>> import penstock as ps
    >>> A = ps.csr_array(([1.0] * 3, ([0, 3, 1], [3, 1, 2])), shape=(4, 4))  # the path 0 3 1 2
    >>> ps.csgraph.reverse_cuthill_mckee(A)
    array([2, 1, 3, 0], dtype=int32)
    """
    from penstock.csgraph._scipy import as_scipy, theirs  # not for `import penstock.reorder`

    # A pattern: values of A and A^T could cancel
    edges = pattern(as_graph(graph, "reverse_cuthill_mckee"))
    if edges.shape[0] == 0:
        return np.empty(0, np.int32)
    return theirs.reverse_cuthill_mckee(as_scipy(edges, "reverse_cuthill_mckee"), symmetric_mode)
