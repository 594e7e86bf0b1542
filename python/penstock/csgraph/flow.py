"""Maximum flows, by SciPy's function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from penstock._matrix.csr import csr_array
from penstock.csgraph._scipy import MOST, as_scipys_own, theirs

__all__ = ["MaximumFlowResult", "maximum_flow"]


@dataclass(frozen=True)
class MaximumFlowResult:
    """What `maximum_flow` returns: `flow_value`, an int, and `flow`, a csr_array of float64 that holds whole numbers,
    with each (i, j) its opposite at (j, i); SciPy's of int32 for a SciPy graph.

    >>> import penstock as ps
    >>> A = ps.csr_array(([3.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.maximum_flow(A, 0, 2)
    MaximumFlowResult with value of 2
    """

    flow_value: int
    flow: Any

    def __repr__(self) -> str:
        return f"MaximumFlowResult with value of {self.flow_value}"


def maximum_flow(
    csgraph: Any, source: int, sink: int, *, method: str = "dinic"
) -> MaximumFlowResult:
    """The most that can flow from one vertex to another, by SciPy's function of this name.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or SciPy's in CSR
        The value of an entry (i, j) is the capacity of the edge: a whole number below 2^31. 1 in a pattern. Duplicates
        are added up.
    source, sink : int
    method : "dinic" or "edmonds_karp"

    Returns a MaximumFlowResult. Raises ValueError for capacities that are not whole or too large, vertices outside the
    graph, a source that is the sink, and an unknown method; TypeError for what is not in CSR.

    >>> import penstock as ps
    >>> A = ps.csr_array(([3.0, 2.0, 1.0], ([0, 1, 0], [1, 2, 2])), shape=(3, 3))
    >>> ps.csgraph.maximum_flow(A, 0, 2).flow.toarray()
    array([[ 0.,  2.,  1.],
           [-2.,  0.,  2.],
           [-1., -2.,  0.]])
    """
    scipys = sp.issparse(csgraph)
    given = as_scipys_own(csgraph, "maximum_flow")
    if scipys and given.dtype.kind in "iu":
        _check_range(given.data)
    elif sp.issparse(given) and not scipys:
        given = _whole(csr_array(given, copy=False).without_duplicates())
    found = theirs.maximum_flow(given, source, sink, method=method)
    flow = found.flow if scipys else csr_array(found.flow, copy=False)
    return MaximumFlowResult(int(found.flow_value), flow)


def _whole(graph: csr_array) -> Any:
    """In int32, over arrays that SciPy's code may have for itself."""
    values = graph.data
    if values.dtype.kind == "c":
        raise ValueError("capacities must be real, these are complex")
    broken = values != np.trunc(values) if values.dtype.kind == "f" else np.zeros(0, bool)
    if broken.any():
        k = int(broken.argmax())
        raise ValueError(
            f"capacities must be whole numbers, and data[{k}] = {values[k]}: scale them, and round"
        )
    _check_range(values)
    parts = values.astype(np.int32), graph.indices.copy(), graph.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=graph.shape)


def _check_range(values: np.ndarray) -> None:
    if values.dtype == np.bool_:
        return
    far = (values > MOST) | (values < -MOST)
    if far.any():
        k = int(far.argmax())
        raise ValueError(
            f"capacities are int32 in SciPy's code, and data[{k}] = {values[k]} is not: scale them"
        )
