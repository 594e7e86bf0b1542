"""Graphs from arrays and lists of edges, without NetworkX's dicts: `nx.from_scipy_sparse_array(A, backend="penstock")`.

The result is a `Graph`, which the functions of this backend take. Its nodes, the order of the neighbours and the values
are those of the graph that NetworkX would build.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import Any

import networkx as nx
import numpy as np

from penstock._matrix.changing import Changing
from penstock._matrix.csr import csr_array
from penstock._matrix.transposed import Transposed
from penstock.nx_backend._graph import Graph, Nodes, Structure
from penstock.nx_backend._weights import Weights, numbers_of


def kind_of(create_using: Any) -> tuple[bool, bool]:
    """(directed, multigraph) of what `create_using` asks for."""
    made = nx.Graph if create_using is None else create_using
    return issubclass(made, nx.DiGraph), issubclass(made, nx.MultiGraph)


def from_scipy_sparse_array(
    A: Any, parallel_edges: bool = False, create_using: Any = None, edge_attribute: str = "weight"
) -> Graph:
    directed, multigraph = kind_of(create_using)
    n, columns = A.shape
    if n != columns:
        raise nx.NetworkXError(f"Adjacency matrix not square: nx,ny={A.shape}")
    if isinstance(A, Changing):
        A = A.to_csr()
    if isinstance(A, (csr_array, Transposed)):
        A = A.to_scipy()
        if A.dtype == np.bool_:  # a pattern, whose edges weigh 1
            A = A.astype(np.int8)
    if A.dtype.kind not in "iuf" or A.dtype.itemsize > 8:
        raise NotImplementedError(f"penstock takes weights that are numbers, not {A.dtype}")
    nodes = Nodes(list(range(n)))
    if A.format == "csr" and not multigraph and A.has_canonical_format and A.nnz < 2**31:
        structure = Structure(
            nodes, A.indptr.astype(np.int64), A.indices.astype(np.int32), None, directed
        )
        values = A.data.astype(np.float64)
        if directed or structure.is_mirrored(values):
            return Graph(structure, {edge_attribute: (1, _checked(A.data, edge_attribute))})
    given = A.tocoo()
    u, v, data = given.row, given.col, given.data
    if multigraph and parallel_edges and A.dtype.kind in "iu":
        counts = _checked(np.maximum(data, 0), edge_attribute).values.astype(np.int64)
        u, v, data = np.repeat(u, counts), np.repeat(v, counts), np.ones(counts.sum(), np.int64)
    if multigraph and not directed:
        upper = u <= v
        u, v, data = u[upper], v[upper], data[upper]
    return built(nodes, u, v, {edge_attribute: data}, directed, multigraph)


def _checked(values: np.ndarray, attribute: Any) -> Weights:
    whole = values.dtype.kind in "iu"
    if whole and values.size and max(-int(values.min()), int(values.max())) > 2**53:
        raise NotImplementedError(f"the edge attribute {attribute!r} has whole numbers above 2^53")
    return Weights(values.astype(np.float64), whole)


def built(
    nodes: Nodes,
    u: np.ndarray,
    v: np.ndarray,
    attributes: dict[Any, np.ndarray],
    directed: bool,
    multigraph: bool,
) -> Graph:
    """The graph that adding the edges one after the other makes: of repeated ones the first has the place, the last the
    values."""
    n, edges = len(nodes.labels), np.arange(u.size)
    if not directed:
        u, v = np.stack((u, v), axis=1).ravel(), np.stack((v, u), axis=1).ravel()
        edges = np.repeat(edges, 2)
        keep = np.ones(u.size, dtype=bool)
        keep[1::2] = u[1::2] != v[1::2]
        u, v, edges = u[keep], v[keep], edges[keep]
    key = u.astype(np.int64) * n + v
    order = np.argsort(key, kind="stable")
    sorted_key = key[order]
    new = np.ones(key.size, dtype=bool)
    new[1:] = sorted_key[1:] != sorted_key[:-1]
    begins = np.flatnonzero(new)
    counts = np.diff(np.append(begins, key.size))
    first = order[begins]
    # Rows one after the other, in each the neighbours as they came.
    place = np.lexsort((first, u[first]))
    ends = np.cumsum(np.bincount(u[first], minlength=n), dtype=np.int64)
    copies = counts[place].astype(np.int64) if multigraph else None
    structure = Structure(
        nodes, np.concatenate(([0], ends)), v[first][place].astype(np.int32), copies, directed
    )
    if multigraph:
        of_group = np.empty(place.size, dtype=np.int64)
        of_group[place] = np.arange(place.size)
        group = np.repeat(of_group, counts)
        chosen = edges[order[np.argsort(group, kind="stable")]]
    else:
        # An undirected edge given both ways has the value that came last in either direction.
        chosen = edges[order[begins + counts - 1]][place]
    weights = {name: (1, _checked(values[chosen], name)) for name, values in attributes.items()}
    return Graph(structure, weights)


def _numbered(u: Any, v: Any) -> tuple[Nodes, np.ndarray, np.ndarray]:
    """Nodes in the order in which edges name them, and the edges' ends as numbers."""
    labels = list(dict.fromkeys(chain.from_iterable(zip(u, v, strict=True))))
    if any(label is None for label in labels):
        raise NotImplementedError("None is no node; NetworkX says so")
    nodes = Nodes(labels)
    places = nodes.places
    if places is not None:
        return (
            nodes,
            places[np.fromiter(u, np.int64, len(u))],
            places[np.fromiter(v, np.int64, len(v))],
        )
    find = nodes.table.__getitem__
    return (
        nodes,
        np.fromiter(map(find, u), np.int64, len(u)),
        np.fromiter(map(find, v), np.int64, len(v)),
    )


def from_pandas_edgelist(
    df: Any,
    source: Any = "source",
    target: Any = "target",
    edge_attr: Any = None,
    create_using: Any = None,
    edge_key: None = None,
) -> Graph:
    directed, multigraph = kind_of(create_using)
    if edge_attr is None:
        names: list[Any] = []
    elif edge_attr is True:
        names = [column for column in df.columns if column not in (source, target)]
    else:
        names = list(edge_attr) if isinstance(edge_attr, (list, tuple)) else [edge_attr]
    if edge_attr is not None and not names:
        raise nx.NetworkXError(f"Invalid edge_attr argument: No columns found with name: {names}")
    try:
        columns = {name: df[name] for name in names}
    except (KeyError, TypeError) as error:
        raise nx.NetworkXError(f"Invalid edge_attr argument: {edge_attr}") from error
    attributes = {name: _column(column, name) for name, column in columns.items()}
    ends = [_one_column(df[name], name).tolist() for name in (source, target)]
    nodes, u, v = _numbered(*ends)
    return built(nodes, u, v, attributes, directed, multigraph)


def _one_column(found: Any, name: Any) -> Any:
    if getattr(found, "ndim", 1) != 1:
        raise NotImplementedError(f"several columns are named {name!r}: penstock takes one")
    return found


def _column(found: Any, name: Any) -> np.ndarray:
    column = _one_column(found, name)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column.to_numpy()
    raise NotImplementedError(f"the column {name!r} is of {column.dtype}: penstock takes numbers")


def from_edgelist(edgelist: Any, create_using: Any = None) -> Graph:
    directed, multigraph = kind_of(create_using)
    edges = edgelist if isinstance(edgelist, list) else list(edgelist)
    sizes = set(map(len, edges))
    if not sizes <= {2, 3} or len(sizes) > 1:
        raise NotImplementedError("penstock takes edges that all are (u, v), or all (u, v, data)")
    attributes: dict[Any, np.ndarray] = {}
    if sizes == {3}:
        data = list(map(itemgetter(2), edges))
        if not all(type(one) is dict and one.keys() == data[0].keys() for one in data):
            raise NotImplementedError("penstock takes dicts of the same attributes on all edges")
        for name in data[0]:
            found = list(map(itemgetter(name), data))
            if set(map(type, found)) not in ({int}, {float}):
                raise NotImplementedError(
                    f"penstock takes edge attributes that are all int or all float: {name!r} is neither"
                )
            values, whole, _ = numbers_of(found, name)
            attributes[name] = values.astype(np.int64) if whole else values
    nodes, u, v = _numbered(list(map(itemgetter(0), edges)), list(map(itemgetter(1), edges)))
    return built(nodes, u, v, attributes, directed, multigraph)
