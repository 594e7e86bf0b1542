"""Neighbourhoods of vertices, drawn hop by hop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, seed_number
from penstock._matrix.given import as_matrix
from penstock.csgraph._graph import as_graph
from penstock.csgraph._lists import for_cpu
from penstock.sample._arguments import int64s, on_host
from penstock.sample._device import DeviceDraws, device_draws
from penstock.sample._lists import lists_to_draw
from penstock.sample._moments import one_unit
from penstock.sample._room import require_room

EdgeType = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Subgraph:
    """The edges that were drawn, hop after hop, and the vertices at their ends, in the order in which they were found.

    All arrays are int64, of NumPy, or of the seeds' library where the seeds are on a GPU. Edge k is the entry
    `A.data[edges[k]]`, from `vertices[rows[k]]` to `vertices[columns[k]]`. The seeds are the first vertices.
    `vertices_per_hop` counts the seeds and then what each hop has found, `edges_per_hop` what each has drawn. `batch`
    says to which seed a vertex belongs, where the samples are disjoint; else it is None.
    """

    vertices: Any
    rows: Any
    columns: Any
    edges: Any
    vertices_per_hop: list[int]
    edges_per_hop: list[int]
    batch: Any = None


@dataclass(frozen=True, eq=False)
class HeteroSubgraph:
    """As Subgraph, of a graph with types: dicts by the type of a vertex, or by (source, relation, destination)."""

    vertices: dict[str, Any]
    rows: dict[EdgeType, Any]
    columns: dict[EdgeType, Any]
    edges: dict[EdgeType, Any]
    vertices_per_hop: dict[str, list[int]]
    edges_per_hop: dict[EdgeType, list[int]]
    batch: dict[str, Any] | None = None


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
    device: Any = None,
    lists: str = "auto",
) -> Subgraph | HeteroSubgraph:
    """Draws edges of the seeds, then of the vertices that these lead to, and so on: a mini-batch of a large graph.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes; or a dict of matrices
        A stored entry (i, j) is an edge that leads from i to j. A dict has the types (source, relation, destination) as
        keys, all strings; its matrices have a row for each source vertex and a column for each destination. On the CPU
        the entries may be mapped, too. For a GPU they are in its memory, or in pinned memory (`A.to(ps.pinned)`), of
        which it reads those that it draws; 8 bytes a vertex are kept there.
    seeds : integers, or a dict of them by the type of vertex
        The vertices at which to begin. Of NumPy, or int32 or int64 on a GPU (CuPy, PyTorch, JAX), which then draws.
        One that repeats is sampled each time; what leads to it gets the first one's number.
    fanouts : sequence of integers, or a dict of them by the type of edge, all of one length
        How many edges are drawn of each vertex in each hop; -1 for all.
    replace : bool
        Whether an edge may be drawn again. Without it, all subsets are equally likely, and a vertex with fewer edges
        gives all of them.
    weighted : bool
        Edges are drawn in proportion to their values, without replacement one after the other. Edges of weight 0 are
        never drawn; a vertex with fewer others than are wanted gives all of these. A pattern has weights 1.
    disjoint : bool
        Every seed gets a sample of its own: vertices that several have found come once for each. Is so with `time`.
    time : integers or datetime64, one an edge (as `A.data`), or a dict of them by the type of edge, optional
        An edge is used for a seed if its time is not later than the seed's. A type that is not in the dict has no
        times. In host memory; a GPU reads integers in pinned memory (`ps.empty`) in place, and copies others for each
        call.
    seed_time : as `time`, one a seed, or a dict of them by the type of vertex
        Needed with `time`. Both are integers, or both are datetime64; dates of several units are compared as dates.
    seed : int
        Of the random numbers.
    device : "cpu", the number of a GPU, `ps.device(n)`, or None
        None: the GPU where the seeds are, or the graph; else the CPU.
    lists : "auto", "raw" or "packed"
        What the CPU reads: the columns of A, or its packed lists, of which it decodes those of the vertices that it
        meets. "auto" is as for `csgraph.bfs`, decided at the first call with a matrix: "packed" where A is mapped,
        exceeds the memory that is free, and was saved with `lists=True`. "packed" packs the lists where nobody has, and
        needs rows that ascend. The sample is the same.

    Returns
    -------
    Subgraph, or HeteroSubgraph for a dict of matrices. The same for any number of threads, and for a GPU. It has arrays
    of the seeds' library, on the same GPU, where the seeds are there.

    Raises ValueError for a matrix that is not square, a seed outside the graph, types that do not agree, complex
    entries, weights of a vertex that add up to more than a float64 holds (with `replace`), one that names the edge
    for a weight that was read and is negative, NaN or infinite, and for a time that is NaT or beyond int64; TypeError
    for what is no integer, or no bool, and for dates beside integers; MemoryError for a hop on the CPU that may draw
    more edges than the free memory holds; PlacementError, with the remedy, for entries that the GPU, or the CPU,
    cannot read.

    Subsets are drawn by Floyd's method (Bentley, Floyd 1987), weighted ones by the smallest of exponential keys
    (Efraimidis, Spirakis 2006).

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
        return _of_types(A, seeds, fanouts, how, disjoint, time, seed_time, device, lists)
    if isinstance(seeds, Mapping) or isinstance(fanouts, Mapping) or isinstance(time, Mapping):
        raise TypeError("seeds, fanouts and time are dicts where A is a dict of matrices only")
    graph = as_graph(A, "neighbors")
    # One type of vertices, and of edges.
    found = _of_types(
        {("", "", ""): graph},
        {"": seeds},
        {("", "", ""): fanouts},
        how,
        disjoint,
        None if time is None else {("", "", ""): time},
        None if seed_time is None else {"": seed_time},
        device,
        lists,
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
    device: Any,
    lists: str,
) -> HeteroSubgraph:
    replace, weighted, random = how
    if not isinstance(seeds, Mapping):
        raise TypeError("seeds must be a dict by the type of vertex, as A is a dict of matrices")
    graphs = {_edge_type(t): as_matrix(a, "neighbors") for t, a in matrices.items()}
    sizes = _sizes(graphs)
    wanted = _fanouts(fanouts, graphs)
    on_gpu = device_draws("neighbors", graphs.values(), "seeds", seeds.values(), device)
    for_cpu(lists, on_gpu is not None, "neighbors", options=False)
    draws = _HostDraws(lists) if on_gpu is None else on_gpu
    held = {t: draws.graph(a) for t, a in graphs.items()}
    times, moments = _times(time, seed_time, graphs, seeds)
    tables: dict[str, Any] = {t: draws.table(n, disjoint) for t, n in sizes.items()}
    ends = _add_seeds(draws, tables, seeds, moments, _growth(wanted))
    hops: dict[EdgeType, list[Any]] = {t: [] for t in graphs}
    begins = dict.fromkeys(tables, 0)
    counts = {t: [table.size] for t, table in tables.items()}
    for hop in range(len(next(iter(wanted.values()), []))):
        until = {t: table.size for t, table in tables.items()}
        for relation, (t, a) in enumerate(held.items()):
            found = draws.hop(
                a, tables[t[0]], begins[t[0]], until[t[0]], tables[t[2]], wanted[t][hop],
                replace, weighted, random, relation, times.get(t), ends if t in times else None,
            )  # fmt: skip
            hops[t].append(found)
        for v, table in tables.items():
            counts[v].append(table.size - until[v])
        begins = until
    edges = {t: draws.joined(some) for t, some in hops.items()}
    ends_of = {t: draws.vertices(table, disjoint) for t, table in tables.items()}
    return HeteroSubgraph(
        {t: found for t, (found, _) in ends_of.items()},
        {t: some[0] for t, some in edges.items()},
        {t: some[1] for t, some in edges.items()},
        {t: some[2] for t, some in edges.items()},
        counts,
        {t: [len(hop) for hop in some] for t, some in hops.items()},
        {t: of for t, (_, of) in ends_of.items()} if disjoint else None,
    )


class _Hop:
    """The edges of one hop, as many as its length."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, edges: np.ndarray) -> None:
        self.rows, self.columns, self.edges = rows, columns, edges

    def __len__(self) -> int:
        return self.rows.size


class _HostDraws:
    """Draws on the CPU: what `DeviceDraws` does on a GPU."""

    def __init__(self, lists: str) -> None:
        self._lists = lists

    def graph(self, a: Any) -> Any:
        return on_host(a, "neighbors"), lists_to_draw(a, self._lists, "neighbors")

    def table(self, vertices: int, disjoint: bool) -> Any:
        return _core.VertexTable(vertices, disjoint)

    def add_seeds(self, table: Any, some: Any, first: int, growth: int) -> int:
        numbers = int64s(some, "seeds")
        table.add_seeds(numbers, first)
        return int(numbers.size)

    def hop(
        self, graph: tuple[Any, Any], source: Any, begin: int, end: int, into: Any, fanout: int, replace: bool,
        *how: Any,
    ) -> _Hop:  # fmt: skip
        matrix, lists = graph
        require_room(matrix, source, begin, end, fanout, replace)
        drawn = _core.sample_hop(
            matrix._core, source, begin, end, into, fanout, replace, *how, lists
        )
        return _Hop(*drawn)

    def joined(self, hops: Sequence[_Hop]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (
            _joined([h.rows for h in hops]),
            _joined([h.columns for h in hops]),
            _joined([h.edges for h in hops]),
        )

    def vertices(self, table: Any, disjoint: bool) -> tuple[np.ndarray, np.ndarray | None]:
        return table.vertices, table.seeds if disjoint else None


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
        wanted = {t: fanout_list(fanouts[t]) for t in graphs}
    else:
        wanted = dict.fromkeys(graphs, fanout_list(fanouts))
    if len({len(some) for some in wanted.values()}) > 1:
        raise ValueError(
            "fanouts has lists of several lengths: give every type of edges as many hops"
        )
    return wanted


def _growth(wanted: Mapping[EdgeType, list[int]]) -> int:
    """How many vertices may come of one seed, itself included, with one type of edges; 1 where that is not known.

    >>> _growth({("", "", ""): [10, 5]})
    61
    """
    if len(wanted) != 1:
        return 1
    most = last = 1
    for fanout in next(iter(wanted.values())):
        if fanout < 0:
            break
        last *= fanout
        most += last
    return most


def fanout_list(some: Any, name: str = "fanouts") -> list[int]:
    """Integers from -1 on, one a hop."""
    if isinstance(some, str) or not isinstance(some, (Sequence, np.ndarray)):
        raise TypeError(f"{name}={some!r} must be a sequence of integers, one a hop")
    return [integer(f, f"{name}[{i}]", -1, 2**31 - 1) for i, f in enumerate(some)]


def _times(
    time: Any, seed_time: Any, graphs: Mapping[EdgeType, Any], seeds: Mapping[str, Any]
) -> tuple[dict[EdgeType, np.ndarray], dict[str, np.ndarray] | None]:
    """Those of the edges and of the seeds, in one unit."""
    if time is None:
        return {}, None
    if not isinstance(time, Mapping):
        raise TypeError("time must be a dict by the type of edge, as A is")
    for t in time:
        if t not in graphs:
            raise ValueError(f"time has the type {t!r}, which A has not")
    if not isinstance(seed_time, Mapping):
        raise TypeError("seed_time must be a dict by the type of vertex, as seeds is")
    if set(seed_time) != set(seeds):
        raise ValueError(f"seed_time has the types {list(seed_time)}, seeds has {list(seeds)}")
    times, moments = one_unit(time, seed_time)
    for t, some in times.items():
        if some.size != graphs[t].nnz:
            raise ValueError(f"time has {some.size} numbers for {graphs[t].nnz} edges")
    return times, moments


def _add_seeds(
    draws: _HostDraws | DeviceDraws,
    tables: Mapping[str, Any],
    seeds: Mapping[str, Any],
    moments: Mapping[str, np.ndarray] | None,
    growth: int,
) -> np.ndarray | None:
    """Puts seeds into their tables; the time of each, in the order of their numbers."""
    times, first = [], 0
    for t, some in seeds.items():
        if t not in tables:
            raise ValueError(f"seeds has vertices of type {t!r}, of which A has no edges")
        count = draws.add_seeds(tables[t], some, first, growth)
        first += count
        if moments is not None:
            times.append(moments[t])
            if times[-1].size != count:
                raise ValueError(f"seed_time has {times[-1].size} numbers for {count} seeds")
    return _joined(times) if moments is not None else None
