"""from_edges: a matrix from a table or list of edges whose vertices have any labels."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import MAX_COLS, as_type, result_dtype
from penstock._arrays.device_matrices import Numbers, any_on_gpu, from_coo, one_gpu, values_of
from penstock._arrays.tensors import host_array
from penstock._matrix.csr import csr_array
from penstock._matrix.edge_columns import columns_of
from penstock._matrix.labels import as_numpy, number_labels

__all__ = ["Labelled", "from_edge_index", "from_edges"]


class Labelled:
    """A matrix and what its rows and columns are called. `A, labels = ps.from_edges(...)` takes it apart.

    matrix : csr_array, square
    labels : array, or `range(n)` where vertices are called by their number; labels[i] belongs to row and column i
    """

    def __init__(self, matrix: csr_array, labels: np.ndarray | range, ascending: bool) -> None:
        self.matrix, self.labels = matrix, labels
        self._ascending = ascending
        self._numbers: dict[Any, int] | None = None  # of labels that have no order

    def __iter__(self) -> Iterator[Any]:
        return iter((self.matrix, self.labels))

    def __repr__(self) -> str:
        return f"<Labelled: {self.matrix!r}, {len(self.labels)} labels>"

    def label_of(self, index: Any) -> Any:
        """The label of a row number, or of each in an array of them."""
        if isinstance(self.labels, range):
            index = np.asarray(index)
            outside = (index < 0) | (index >= len(self.labels))
            if outside.any():
                raise IndexError(f"{index[outside].flat[0]} is outside 0 .. {len(self.labels) - 1}")
            return index[()]
        return self.labels[np.asarray(index)]

    def index_of(self, label: Any) -> Any:
        """The row number of a label: an int, or int32 for a list or array of labels. KeyError names one that is not
        there.

        >>> import penstock as ps
        >>> G = ps.from_edges([("b", "a"), ("b", "c")])
        >>> G.index_of("c"), G.index_of(["b", "a"]), G.label_of([2, 0])
        (2, array([1, 0], dtype=int32), array(['c', 'a'], dtype=object))
        """
        if not isinstance(label, (list, np.ndarray)):
            return int(self._find([label])[0])
        return self._find(label)

    def _find(self, wanted: Any) -> np.ndarray:
        if not self._ascending:
            if self._numbers is None:
                self._numbers = {name: i for i, name in enumerate(self.labels)}
            return np.array([self._numbers[name] for name in wanted], np.int32)
        labels = self.labels
        if isinstance(labels, range):
            known = np.array([w in labels for w in wanted], bool)
            at = np.where(known, np.asarray(wanted), 0)
        else:
            names, known = _comparable(wanted, labels)
            at = np.searchsorted(labels, names)
            known &= at < len(labels)
            known[known] = labels[at[known]] == names[known]
        if not known.all():
            raise KeyError(wanted[int(known.argmin())])
        return at.astype(np.int32)


def _comparable(wanted: Any, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is looked for as an array that compares with the labels, and which of them could be a label at all."""
    names = np.asarray(wanted)
    if labels.dtype.kind in "iuf" and names.dtype.kind in "iuf":
        return names, np.ones(len(names), bool)
    one = labels[:1].tolist()[0]  # there is one: without labels nothing ascends
    alike = (datetime.date, np.datetime64) if labels.dtype.kind == "M" else (type(one), np.str_)
    fit = np.array([isinstance(w, alike) for w in wanted], bool)
    names = np.full(len(fit), labels[0], dtype=labels.dtype)
    for i in np.flatnonzero(fit):
        names[i] = np.datetime64(wanted[i]) if labels.dtype.kind == "M" else wanted[i]
    return names, fit


def from_edges(
    edges: Any,
    source: str = "source",
    target: str = "target",
    weight: str | None = None,
    *,
    directed: bool = True,
    num_nodes: int | None = None,
    relabel: bool | None = None,
    sum_duplicates: bool = True,
) -> Labelled:
    """The adjacency matrix of a table or list of edges, and the labels of its vertices.

    Parameters
    ----------
    edges : one of
        a frame of pandas or polars, or an Arrow table, whose columns `source`, `target` and `weight` name;
        a tuple of arrays, (sources, targets) or (sources, targets, weights);
        a list, or another iterable, of edges: (u, v), (u, v, number) or, as NetworkX says them, (u, v, dict);
        an array of shape (E, 2).
    source, target : names of columns
    weight : name of a column, or key of the dicts, optional
        Without it these make a pattern. Numbers in a third array or place are weights in any case. Float32 stays
        float32, other real numbers become float64.
    directed : bool
        False puts every edge in both directions. An edge that is listed both ways then counts twice.
    num_nodes : int, optional
        Vertices are the integers 0 .. num_nodes - 1, and are not renamed.
    relabel : bool, optional
        False takes integers as they are, up to the largest that is there. By default the vertices are numbered in the
        ascending order of their labels (integers, strings, dates, floats), or in the order of their first appearance
        where labels have no common order.
    sum_duplicates : bool
        Weights of parallel edges add up; False keeps the edges side by side.

    Returns
    -------
    Labelled, with `.matrix`, `.labels`, `.index_of(label)` and `.label_of(index)`; `A, labels = ...` takes it apart.

    Raises ValueError that names the edge where a label is missing or a weight is missing or NaN, where columns differ
    in length, or beyond 2^31 - 1 vertices; KeyError for a column that is not there; TypeError for other input.

    >>> import penstock as ps
    >>> A, labels = ps.from_edges([("Bern", "Chur", 240.0), ("Chur", "Davos", 60.0)], directed=False)
    >>> labels
    array(['Bern', 'Chur', 'Davos'], dtype=object)
    >>> A.toarray()
    array([[  0., 240.,   0.],
           [240.,   0.,  60.],
           [  0.,  60.,   0.]])
    """
    u, v, w, names = columns_of(edges, source, target, weight)
    if len(u) != len(v):
        raise ValueError(
            f"{names[0]} has {len(u)} entries and {names[1]} {len(v)}: every edge has both ends"
        )
    weights = None if w is None else weights_of(w, len(u), names[2])
    if relabel is None:
        relabel = num_nodes is None
    elif relabel and num_nodes is not None:
        raise ValueError(
            "num_nodes says that vertices are numbers already: leave it out, or relabel=True"
        )
    if not relabel:
        u, v = whole_numbers(u, names[0]), whole_numbers(v, names[1])
        n = numbered(u, v, num_nodes, names[0], names[1])
        a = matrix_of(n, u, v, weights, directed, sum_duplicates)
        return Labelled(a, range(n), True)
    row, col, labels, ascending = number_labels(u, v, names)
    a = matrix_of(len(labels), row, col, weights, directed, sum_duplicates)
    return Labelled(a, labels, ascending)


def from_edge_index(
    edge_index: Any, edge_weight: Any = None, num_nodes: int | None = None
) -> csr_array:
    """The adjacency matrix of PyTorch Geometric's edges: entry (edge_index[0, e], edge_index[1, e]) for every edge e.

    Parameters
    ----------
    edge_index : integers of shape (2, E): an array, or anything with `__dlpack__` (PyTorch, JAX)
        If it is an array of CuPy or PyTorch on a GPU, edge_weight is on the same GPU, too, and the edges are sorted
        there: the matrix is in that GPU's memory, with the same entries. Another library's array on a device is copied
        to the host where that library can do so, and refused otherwise.
    edge_weight : E numbers, optional
        Float32 stays float32; without them the matrix is a pattern. Weights of parallel edges add up.
    num_nodes : int, optional
        Rows and columns; by default one more than the largest number in edge_index.

    Raises ValueError that names an edge outside the matrix, or a number of vertices beyond 2^31 - 1.

    >>> import numpy as np, penstock as ps
    >>> ps.from_edge_index(np.array([[0, 0, 2], [1, 2, 1]])).toarray().astype(int)
    array([[0, 1, 1],
           [0, 0, 0],
           [0, 1, 0]])
    """
    if any_on_gpu(edge_index, edge_weight):
        return _on_gpu(edge_index, edge_weight, num_nodes)
    index = host_array(edge_index, "edge_index")
    if index.ndim != 2 or index.shape[0] != 2 or (index.size and index.dtype.kind not in "iu"):
        raise ValueError(
            f"edge_index has dtype {index.dtype} and shape {index.shape}: give integers of shape (2, E)"
        )
    index = index.astype(np.int64) if index.size == 0 else index
    weights = None
    if edge_weight is not None:
        weights = weights_of(host_array(edge_weight, "edge_weight"), index.shape[1], "edge_weight")
    n = numbered(index[0], index[1], num_nodes, "edge_index[0]", "edge_index[1]")
    return matrix_of(n, index[0], index[1], weights, True, True)


def _on_gpu(edge_index: Any, edge_weight: Any, num_nodes: int | None) -> csr_array:
    """`from_edge_index` of arrays on a GPU."""
    named = {"edge_index": edge_index}
    if edge_weight is not None:
        named["edge_weight"] = edge_weight
    ops, _, gpu, (index, *weights) = one_gpu(**named)
    with ops.on(gpu):
        kind = ops.dtype(index).kind
        if index.ndim != 2 or index.shape[0] != 2 or (index.shape[1] and kind not in "iu"):
            raise ValueError(
                f"edge_index has dtype {index.dtype} and shape {tuple(index.shape)}: give integers of shape (2, E)"
            )
        u, v = index[0], index[1]
        n = numbered(Numbers(u), Numbers(v), num_nodes, "edge_index[0]", "edge_index[1]")
        values = None
        if weights:
            values = _weights_on_gpu(weights[0], u.shape[0], ops)
        return csr_array._wrap(from_coo(values, u, v, (n, n), None))


def _weights_on_gpu(w: Any, count: int, ops: Any) -> Any:
    if tuple(w.shape) != (count,):
        raise ValueError(
            f"edge_weight has shape {tuple(w.shape)}: give one weight for each of {count} edges"
        )
    kind = ops.dtype(w)
    if kind == np.bool_:
        return ops.cast(w, np.dtype(np.float64))
    values, _ = values_of(w, None, ops, "edge_weight")
    bad = values != values
    if bool(bad.any()):
        raise ValueError(
            f"edge_weight[{ops.first(bad)}] is missing or NaN: drop the edge, or give it a weight"
        )
    return values


def whole_numbers(ids: Any, name: str) -> np.ndarray:
    """Vertex numbers as an integer array."""
    ids = as_numpy(ids, name)
    if ids.size == 0:
        return ids.astype(np.int64)
    if ids.dtype.kind not in "iu":
        raise TypeError(
            f"{name} has {ids.dtype} entries like {ids[0]!r}: vertices that are not renamed are integers"
        )
    return ids


def numbered(u: Any, v: Any, num_nodes: Any, first: str, second: str) -> int:
    """How many vertices integers name; every one of them is looked at."""
    if num_nodes is not None:
        try:
            num_nodes = operator.index(num_nodes)
        except TypeError:
            raise TypeError(f"num_nodes={num_nodes!r}: give an integer") from None
    n = 0
    for ids, name in ((u, first), (v, second)):
        if ids.size == 0:
            continue
        low, high = int(ids.min()), int(ids.max())
        if low < 0:
            raise ValueError(f"{name}[{int(ids.argmin())}] = {low}: vertices are numbered from 0")
        if num_nodes is not None and high >= num_nodes:
            raise ValueError(
                f"{name}[{int(ids.argmax())}] = {high} is outside the {num_nodes} vertices of num_nodes"
            )
        n = max(n, high + 1)
    n = n if num_nodes is None else num_nodes
    if not 0 <= n <= MAX_COLS:
        raise ValueError(
            f"{n} vertices: a matrix has 0 .. 2^31 - 1. Let from_edges rename them (relabel=True) where fewer are used"
        )
    return n


def weights_of(w: Any, count: int, name: str) -> np.ndarray:
    w = as_numpy(w, name)
    if w.shape != (count,):
        raise ValueError(f"{name} has shape {w.shape}: give one weight for each of {count} edges")
    if w.size and w.dtype.kind not in "biufc":
        raise TypeError(f"{name} has {w.dtype} entries like {w[0]!r}: weights are numbers")
    w = w if w.size else w.astype(np.float64 if w.dtype.kind not in "fc" else w.dtype)
    dtype = result_dtype(w.dtype)
    bad = np.isnan(w) if w.dtype.kind in "fc" else np.zeros(0, bool)
    if bad.any():
        raise ValueError(
            f"{name}[{int(bad.argmax())}] is missing or NaN: drop the edge, or give it a weight"
        )
    return as_type(w, dtype, name)


def matrix_of(
    n: int,
    row: np.ndarray,
    col: np.ndarray,
    weights: np.ndarray | None,
    directed: bool,
    merge: bool,
) -> csr_array:
    if n > MAX_COLS:
        raise ValueError(f"{n} vertices exceed 2^31 - 1, the most that one matrix has")
    row, col = (
        np.ascontiguousarray(i, np.int32 if i.dtype == np.int32 else np.int64) for i in (row, col)
    )
    mirror = "none" if directed else "symmetric"
    return csr_array._wrap(_core.coo_to_csr(n, n, row, col, weights, bool(merge), mirror))
