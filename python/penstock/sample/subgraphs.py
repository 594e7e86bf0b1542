"""Neighbourhoods of vertices, drawn hop by hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.given import as_matrix
from penstock.csgraph._graph import as_graph
from penstock.sample._arguments import flag, int64s, integer, on_host, seed_number

EdgeType = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The edges that were drawn, hop after hop, and the vertices at their ends, in the order in which they were found.

    All arrays are int64. Edge k is the entry `A.data[edges[k]]`, from `vertices[rows[k]]` to
    `vertices[columns[k]]`. The seeds are the first vertices. `vertices_per_hop` counts the seeds and then what each
    hop has found, `edges_per_hop` what each has drawn. `batch` says to which seed a vertex belongs, where the
    samples are disjoint; else it is None.
    """

    vertices: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    edges: np.ndarray
    vertices_per_hop: list[int]
    edges_per_hop: list[int]
    batch: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class HeteroSubgraph:
    """As Subgraph, of a graph with types: dicts by the type of a vertex, or by (source, relation, destination)."""

    vertices: dict[str, np.ndarray]
    rows: dict[EdgeType, np.ndarray]
    columns: dict[EdgeType, np.ndarray]
    edges: dict[EdgeType, np.ndarray]
    vertices_per_hop: dict[str, list[int]]
    edges_per_hop: dict[EdgeType, list[int]]
    batch: dict[str, np.ndarray] | None = None


def neighbors(
    A: Any,
    seeds: Any,
    fanouts: Any,
    *,
    replace: bool = False,
    weighted: bool = False,
    disjoint: bool = False,
    time: Any = None,
    seed_time: Any = None,
    seed: int = 0,
) -> Subgraph | HeteroSubgraph:
    """Draws edges of the seeds, then of the vertices that these lead to, and so on: a mini-batch of a large graph.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes; or a dict of matrices
        A stored entry (i, j) is an edge that leads from i to j. A dict has the types (source, relation, destination) as
        keys, all strings; its matrices have a row for each source vertex and a column for each destination. The entries
        may be mapped or in pinned memory; PlacementError, with the remedy, for those in a GPU's memory.
    seeds : integers, or a dict of them by the type of vertex
        The vertices at which to begin. One that repeats is sampled each time; what leads to it gets the first one's
        number.
    fanouts : sequence of integers, or a dict of them by the type of edge, all of one length
        How many edges are drawn of each vertex in each hop; -1 for all.
    replace : bool
        Whether an edge may be drawn again. Without it, all subsets are equally likely, and a vertex with fewer edges
        gives all of them.
    weighted : bool
        Edges are drawn in proportion to their values, without replacement one after the other. Edges of weight 0 are
        never drawn. A pattern has weights 1.
    disjoint : bool
        Every seed gets a sample of its own: vertices that several have found come once for each. Is so with `time`.
    time : integers, one an edge (as `A.data`), or a dict of them by the type of edge, optional
        An edge is used for a seed if its time is not later than the seed's. A type that is not in the dict has no
        times.
    seed_time : integers, one a seed, or a dict of them by the type of vertex
        Needed with `time`.
    seed : int
        Of the random numbers.

    Returns
    -------
    Subgraph, or HeteroSubgraph for a dict of matrices. The same for any number of threads.

    Raises ValueError for a seed outside the graph, and one that names the edge for a weight that was read and is
    negative, NaN or infinite; TypeError for what is no integer.

    PyTorch Geometric calls the edges into a vertex its neighbours: give the transpose for its sense, as `ps.pyg` does.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 4, ([0, 0, 1, 2], [1, 2, 3, 3])), shape=(4, 4))
    >>> S = ps.sample.neighbors(A, [0], [-1, -1])
    >>> S.vertices.tolist(), S.rows.tolist(), S.columns.tolist()
    ([0, 1, 2, 3], [0, 0, 1, 2], [1, 2, 3, 3])
    >>> S.vertices_per_hop, S.edges_per_hop
    ([1, 2, 1], [2, 2])
    """
    how = (flag(replace, "replace"), flag(weighted, "weighted"), seed_number(seed))
    disjoint = flag(disjoint, "disjoint") or time is not None
    if (time is None) != (seed_time is None):
        raise ValueError("time and seed_time go together: give both, or neither")
    if isinstance(A, Mapping):
        return _of_types(A, seeds, fanouts, how, disjoint, time, seed_time)
    if isinstance(seeds, Mapping) or isinstance(fanouts, Mapping) or isinstance(time, Mapping):
        raise TypeError("seeds, fanouts and time are dicts where A is a dict of matrices only")
    graph = on_host(as_graph(A, "neighbors"), "neighbors")
    # One type of vertices, and of edges.
    found = _of_types(
        {("", "", ""): graph},
        {"": seeds},
        {("", "", ""): fanouts},
        how,
        disjoint,
        None if time is None else {("", "", ""): time},
        None if seed_time is None else {"": seed_time},
    )
    (edges,) = found.edges
    return Subgraph(
        found.vertices[""],
        found.rows[edges],
        found.columns[edges],
        found.edges[edges],
        found.vertices_per_hop[""],
        found.edges_per_hop[edges],
        None if found.batch is None else found.batch[""],
    )


def _of_types(
    matrices: Mapping[EdgeType, Any],
    seeds: Any,
    fanouts: Any,
    how: tuple[bool, bool, int],
    disjoint: bool,
    time: Any,
    seed_time: Any,
) -> HeteroSubgraph:
    replace, weighted, random = how
    graphs = {
        _edge_type(t): on_host(as_matrix(a, "neighbors"), "neighbors") for t, a in matrices.items()
    }
    sizes = _sizes(graphs)
    wanted = _fanouts(fanouts, graphs)
    times = _times(time, graphs)
    tables: dict[str, Any] = {t: _core.VertexTable(n, disjoint) for t, n in sizes.items()}
    ends = _add_seeds(tables, seeds, seed_time)
    rows: dict[EdgeType, list[np.ndarray]] = {t: [] for t in graphs}
    columns: dict[EdgeType, list[np.ndarray]] = {t: [] for t in graphs}
    edges: dict[EdgeType, list[np.ndarray]] = {t: [] for t in graphs}
    begins = dict.fromkeys(tables, 0)
    counts = {t: [table.size] for t, table in tables.items()}
    for hop in range(len(next(iter(wanted.values()), []))):
        until = {t: table.size for t, table in tables.items()}
        for relation, (t, a) in enumerate(graphs.items()):
            source, destination = tables[t[0]], tables[t[2]]
            r, c, e = _core.sample_hop(
                a._core, source, begins[t[0]], until[t[0]], destination, wanted[t][hop],
                replace, weighted, random, relation, times.get(t), ends if t in times else None,
            )  # fmt: skip
            rows[t].append(r)
            columns[t].append(c)
            edges[t].append(e)
        for v, table in tables.items():
            counts[v].append(table.size - until[v])
        begins = until
    return HeteroSubgraph(
        {t: table.vertices for t, table in tables.items()},
        {t: _joined(some) for t, some in rows.items()},
        {t: _joined(some) for t, some in columns.items()},
        {t: _joined(some) for t, some in edges.items()},
        counts,
        {t: [len(some) for some in hops] for t, hops in edges.items()},
        {t: table.seeds for t, table in tables.items()} if disjoint else None,
    )


def _joined(hops: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(hops) if hops else np.empty(0, np.int64)


def _edge_type(key: Any) -> EdgeType:
    if not (isinstance(key, tuple) and len(key) == 3 and all(isinstance(k, str) for k in key)):
        raise TypeError(
            f"{key!r} is no type of edges: give (source, relation, destination), all strings"
        )
    return key


def _sizes(graphs: Mapping[EdgeType, Any]) -> dict[str, int]:
    """The vertices of each type, on which all matrices must agree."""
    if not graphs:
        raise ValueError("A is an empty dict: give at least one matrix")
    sizes: dict[str, int] = {}
    for t, a in graphs.items():
        for v, n in zip((t[0], t[2]), a.shape, strict=True):
            if sizes.setdefault(v, n) != n:
                raise ValueError(
                    f"the matrix of {t} has {n} vertices of type {v!r}, another one has {sizes[v]}"
                )
    return sizes


def _fanouts(fanouts: Any, graphs: Mapping[EdgeType, Any]) -> dict[EdgeType, list[int]]:
    if isinstance(fanouts, Mapping):
        if set(fanouts) != set(graphs):
            raise ValueError(
                f"fanouts has the types {list(fanouts)}, A has {list(graphs)}: they must be the same"
            )
        wanted = {t: _fanout_list(fanouts[t]) for t in graphs}
    else:
        wanted = dict.fromkeys(graphs, _fanout_list(fanouts))
    if len({len(some) for some in wanted.values()}) > 1:
        raise ValueError(
            "fanouts has lists of several lengths: give every type of edges as many hops"
        )
    return wanted


def _fanout_list(some: Any) -> list[int]:
    if isinstance(some, str) or not isinstance(some, (Sequence, np.ndarray)):
        raise TypeError(f"fanouts={some!r} must be a sequence of integers, one a hop")
    return [integer(f, f"fanouts[{i}]", -1, 2**31 - 1) for i, f in enumerate(some)]


def _times(time: Any, graphs: Mapping[EdgeType, Any]) -> dict[EdgeType, np.ndarray]:
    if time is None:
        return {}
    if not isinstance(time, Mapping):
        raise TypeError("time must be a dict by the type of edge, as A is")
    for t in time:
        if t not in graphs:
            raise ValueError(f"time has the type {t!r}, which A has not")
    times = {t: _moments(some, "time") for t, some in time.items()}
    for t, some in times.items():
        if some.size != graphs[t].nnz:
            raise ValueError(f"time has {some.size} numbers for {graphs[t].nnz} edges")
    return times


def _moments(some: Any, name: str) -> np.ndarray:
    """Times as int64; NumPy's datetime64 counts in its own unit."""
    given = np.asarray(some)
    return int64s(given.view(np.int64) if given.dtype.kind == "M" else given, name)


def _add_seeds(tables: Mapping[str, Any], seeds: Any, seed_time: Any) -> np.ndarray | None:
    """Puts seeds into their tables; the time of each, in the order of their numbers."""
    if not isinstance(seeds, Mapping):
        raise TypeError("seeds must be a dict by the type of vertex, as A is a dict of matrices")
    if seed_time is not None and not isinstance(seed_time, Mapping):
        raise TypeError("seed_time must be a dict by the type of vertex, as seeds is")
    if seed_time is not None and set(seed_time) != set(seeds):
        raise ValueError(f"seed_time has the types {list(seed_time)}, seeds has {list(seeds)}")
    times, first = [], 0
    for t, some in seeds.items():
        if t not in tables:
            raise ValueError(f"seeds has vertices of type {t!r}, of which A has no edges")
        numbers = int64s(some, "seeds")
        tables[t].add_seeds(numbers, first)
        first += numbers.size
        if seed_time is not None:
            times.append(_moments(seed_time[t], "seed_time"))
            if times[-1].size != numbers.size:
                raise ValueError(f"seed_time has {times[-1].size} numbers for {numbers.size} seeds")
    return _joined(times) if seed_time is not None else None
