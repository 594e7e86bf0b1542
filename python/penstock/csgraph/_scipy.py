"""SciPy's code behind SciPy's names: a graph's arrays as SciPy reads them, without a copy of the entries.

Loaded with the first function that needs it, for SciPy takes its time to load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as theirs

from penstock._arrays.convert import as_array, is_dense
from penstock._matrix.changing import Changing
from penstock._matrix.csr import csr_array
from penstock._matrix.names import Guarded

__all__ = [
    "MOST",
    "as_given",
    "as_scipy",
    "as_scipys_own",
    "is_dense_graph",
    "require_real_weights",
    "theirs",
]

MOST = 2**31 - 1  # entries and vertices, which SciPy's graph functions number in int32


def as_scipy(graph: csr_array, what: str, weights: bool = False) -> Any:
    """The graph over the same entries, as SciPy's function `what` takes it; ValueError for one that is too large, or
    has complex weights that are read, whose imaginary parts SciPy drops."""
    _check_size(graph, what)
    if weights:
        require_real_weights(graph, what)
    return graph.to_scipy()


def require_real_weights(graph: csr_array, what: str) -> None:
    if graph.dtype.kind == "c":
        raise ValueError(
            f"{what} needs real weights, these are complex: give those of A.real, or abs(A)"
        )


def as_scipys_own(a: Any, what: str) -> Any:
    """What SciPy's function `what` is to be handed: what is SciPy's or dense as it is, and of everything else that
    csr_array takes the arrays."""
    if isinstance(a, Changing):
        return as_scipy(a.to_csr(), what)
    if isinstance(a, Guarded):
        return as_scipy(a._matrix(), what)
    if sp.issparse(a):
        _check_size(a, what)
        return a
    if is_dense(a):
        return a if isinstance(a, np.ndarray) else as_array(a)
    return as_scipy(csr_array(a, copy=False), what)


def as_given(made: csr_array, given: Any) -> Any:
    """A sparse result as whoever asked expects it: to a SciPy sparse array or matrix SciPy's, in float64 as SciPy makes
    it and with arrays of its own; to everything else the csr_array."""
    if not sp.issparse(given):
        return made
    kind = sp.csr_matrix if isinstance(given, sp.spmatrix) else sp.csr_array
    return kind(made.to_scipy(), dtype=np.float64, copy=True)


def is_dense_graph(a: Any) -> bool:
    return not isinstance(a, Changing | Guarded) and not sp.issparse(a) and is_dense(a)


def _check_size(a: Any, what: str) -> None:
    if a.nnz > MOST or max(a.shape) > MOST:
        raise ValueError(
            f"{what} runs SciPy's code, which numbers vertices and entries in int32: this graph has "
            f"{max(a.shape)} vertices and {a.nnz} entries, and at most {MOST} of each can be"
        )
