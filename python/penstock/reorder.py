"""Orders of rows and vertices, as permutations p of int32 numbers: new vertex i is old vertex p[i].

`A.permute(p, p)` renumbers the matrix, `x[p]` a vector with it, and `y[np.argsort(p)]` turns a vector back.

>>> import penstock as ps
>>> A = ps.generate.road_grid(30, 30, seed=1)
>>> p = ps.reorder.scramble(A, seed=1)
>>> ps.reorder.bandwidth(A.permute(p, p)) > 500
True
>>> B = A.permute(p, p)
>>> q = ps.reorder.rcm(B)
>>> ps.reorder.bandwidth(B.permute(q, q)) < 100
True
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._matrix.given import as_matrix
from penstock.csgraph._graph import as_graph, undirected

if TYPE_CHECKING:
    pass

__all__ = ["bandwidth", "degree", "rcm", "scramble"]

_MOST = 2**31 - 1


def degree(A: Any, descending: bool = True) -> np.ndarray:
    """Rows by their number of stored entries, the most first; equal ones by number.

    Brings the few rows that most entries of a power-law graph name close together, so that they stay in the cache.
    """
    return np.array(_core.degree_order(as_matrix(A, "degree")._core, bool(descending)))


def rcm(A: Any) -> np.ndarray:
    """Reverse Cuthill-McKee (Cuthill and McKee 1969): brings the entries of a mesh or a road network close to the
    diagonal, which makes the gathers of a product local and the fill of a factorisation small.

    Works on the pattern of A + A^T, for any square matrix; each component is numbered on its own, beginning at a
    pseudo-peripheral vertex (George and Liu 1979). On one thread; the same order on every machine.
    `ps.csgraph.reverse_cuthill_mckee` is SciPy's order, which begins elsewhere.
    """
    graph = as_graph(as_matrix(A, "rcm"), "rcm")
    return np.array(_core.reverse_cuthill_mckee(undirected(graph)._core))


def scramble(n: Any, seed: int = 0) -> np.ndarray:
    """A random order of n rows, or of a matrix's rows, each as probable: NumPy's `default_rng(seed)` draws it."""
    shape = getattr(n, "shape", None)
    try:
        count = operator.index(n) if shape is None or shape == () else int(shape[0])
    except TypeError:
        raise TypeError(
            f"scramble takes a number of rows or a matrix, not {type(n).__name__}"
        ) from None
    if not 0 <= count <= _MOST:
        raise ValueError(f"scramble({count}): an int32 permutation has 0 .. 2^31 - 1 numbers")
    order = np.arange(count, dtype=np.int32)
    np.random.default_rng(seed).shuffle(order)
    return order


def bandwidth(A: Any) -> int:
    """The largest |i - j| of a stored entry (i, j); 0 where there is none."""
    return _core.bandwidth(as_matrix(A, "bandwidth")._core)
