"""What every graph algorithm asks of its matrix: that it is square, its edges in both directions, its vertices.

Derived matrices are kept with the `csr_array` that they come from, so a second call finds them.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import not_integers
from penstock._arrays.convert import as_array, is_dense
from penstock._matrix.changing import Changing
from penstock._matrix.csr import csr_array


def as_graph(a: Any, what: str) -> csr_array:
    """A square csr_array from anything that csr_array takes; `what` names the algorithm in errors."""
    if isinstance(a, Changing):
        a = a.to_csr()
    elif not isinstance(a, csr_array):
        a = _from_dense(a) if is_dense(a) else csr_array(a, copy=False)
    graph: csr_array = a  # what was made here is gone after the call
    if graph.shape[0] != graph.shape[1]:
        raise ValueError(
            f"{what} needs a square adjacency matrix, this one is {graph.shape[0]} x {graph.shape[1]}"
        )
    return graph


def _from_dense(a: Any) -> csr_array:
    """SciPy's reading of a dense graph: zeros, infinities and NaN are no edges; in a masked array what is masked is
    none, and everything else is one, zeros included."""
    values = np.ma.getdata(a) if np.ma.isMaskedArray(a) else as_array(a)
    if values.ndim != 2 or values.dtype.kind not in "biufc":
        return csr_array(a)  # for its errors
    if np.ma.isMaskedArray(a):
        keep = ~np.ma.getmaskarray(a)
        values = values.astype(np.float64) if values.dtype == np.bool_ else values
    else:
        keep = values != 0
        if values.dtype.kind in "fc":
            keep &= np.isfinite(values)
    row, col = np.nonzero(keep)
    return csr_array((values[row, col], (row, col)), shape=values.shape)


def vertex(graph: csr_array, v: Any, name: str = "source") -> int:
    """v as a vertex number; negative numbers are refused."""
    try:
        number = operator.index(v)
    except TypeError:
        raise TypeError(f"{name}={v!r} is not a vertex: give an integer") from None
    if not 0 <= number < graph.shape[0]:
        raise ValueError(f"{name}={number} is outside a graph of {graph.shape[0]} vertices")
    return number


def vertices(graph: csr_array, some: Any, name: str = "sources") -> np.ndarray:
    """Vertex numbers as an int32 array, each checked."""
    numbers = np.atleast_1d(np.asarray(some))
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise not_integers(some, numbers, name)
    outside = (numbers < 0) | (numbers >= graph.shape[0])
    if outside.any():
        raise ValueError(
            f"{name}[{int(outside.argmax())}]={numbers[outside.argmax()]} is outside a graph of "
            f"{graph.shape[0]} vertices"
        )
    return numbers.astype(np.int32)


def rows_of(graph: csr_array, indices: Any) -> tuple[np.ndarray, tuple[int, ...]]:
    """(sources, the shape of what is found from each), as SciPy reads `indices`: all vertices for None, any shape, and
    negative numbers counted from the end."""
    n = graph.shape[0]
    if indices is None:
        return np.arange(n, dtype=np.int32), (n, n)
    numbers = np.asarray(indices)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, not {numbers.dtype}")
    flat = numbers.reshape(-1)
    outside = (flat < -n) | (flat >= n)
    if outside.any():
        raise ValueError(
            f"indices has {flat[outside.argmax()]}, which is outside a graph of {n} vertices"
        )
    return np.where(flat < 0, flat + n, flat).astype(np.int32), (*numbers.shape, n)


def incoming(graph: csr_array) -> csr_array:
    """The edges reversed, in CSR: the graph itself where its pattern is symmetric, else its transpose, formed once."""
    return graph if has_symmetric_pattern(graph) else graph.T.formed()


def readable(graph: csr_array) -> csr_array:
    """The graph itself where the CPU can read it; of one on a GPU a copy in host memory, which is kept with it."""
    if graph.place != "device":
        return graph
    made: csr_array = graph._derived.once("on_host", lambda: graph.to("host"))
    return made


def has_symmetric_pattern(graph: csr_array) -> bool:
    """Whether every (i, j) has as many (j, i), found once per graph, on the CPU."""
    known = graph._derived.symmetric_pattern
    if known is None:
        known = _core.has_symmetric_pattern(readable(graph)._core)
        graph._derived.symmetric_pattern = known
    return known


def symmetric_weights(graph: csr_array) -> bool:
    """Whether every edge has its mirror of the same value, found once per graph."""
    if graph.dtype == np.bool_:
        return has_symmetric_pattern(graph)  # a store with packed lists says so
    derived = graph._derived
    known = derived.symmetric_weights
    if known is None:
        known = derived.symmetric_pattern is not False and _core.symmetric_weights(
            readable(graph)._core
        )
        derived.symmetric_weights = known
    return known


def undirected(graph: csr_array) -> csr_array:
    """Every edge in both directions, as a pattern: the graph itself where its pattern is symmetric."""
    if has_symmetric_pattern(graph):
        return graph
    known = graph._derived.undirected
    if known is None:
        out = _core.pattern(graph._core)
        if not graph.has_canonical_format:
            out = _core.sort_rows(out, True)
        known = csr_array._wrap(_core.join(out, _core.transpose(out), "plus"))
        known._derived.symmetric_pattern = True
        graph._derived.undirected = known
    return known


def simple(graph: csr_array) -> csr_array:
    """Every edge in both directions and once, self loops left out, as a pattern whose rows ascend: the graph itself
    where it is that. Kept with it."""
    known = graph._derived.simple
    if known is None:
        known = _without_repeats(undirected(graph))
        graph._derived.simple = True if known is graph else known
    return graph if known is True else known


def without_repeats(graph: csr_array) -> csr_array:
    """Every edge once, self loops left out, as a pattern whose rows ascend: the graph itself where it is that. Kept
    with it."""
    known = graph._derived.without_repeats
    if known is None:
        known = _without_repeats(graph)
        graph._derived.without_repeats = True if known is graph else known
    return graph if known is True else known


def _without_repeats(edges: csr_array) -> csr_array:
    if _core.is_simple(edges._core):
        return edges
    row = np.repeat(np.arange(edges.shape[0], dtype=np.int32), np.diff(edges.indptr))
    keep = row != edges.indices
    made = csr_array._wrap(
        _core.coo_to_csr(*edges.shape, row[keep], edges.indices[keep], None, True)
    )
    made._derived.symmetric_pattern = has_symmetric_pattern(edges)
    return made
