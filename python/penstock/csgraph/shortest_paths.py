"""Shortest paths."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.out import Out, as_out
from penstock._matrix.csr import csr_array
from penstock.csgraph import _paths_gpu
from penstock.csgraph._graph import as_graph, readable, rows_of, vertex, vertices
from penstock.csgraph.gpu_options import GpuOptions


def sssp(
    A: Any,
    source: int = 0,
    *,
    directed: bool = True,
    return_predecessors: bool = False,
    delta: float | None = None,
    out: Any = None,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> Any:
    """Distances from `source` to every vertex: the least sum of weights over all paths.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j, its value the length. A pattern's edges have length 1. Explicit
        zeros are edges of length 0, of duplicates the shortest counts, and an infinite edge is none.
    source : int
    directed : bool
        False: every edge can be walked both ways.
    return_predecessors : bool
    delta : float, optional
        How far apart the distances may be of vertices that are worked on together. Chosen from the weights and degrees
        where it is None; it has no influence on the result.
    out : array of the shape and type of distances, optional
        Gets the distances, and is what is returned for them: a NumPy array, or an array of CuPy, PyTorch or another
        library on the GPU that searches. On a GPU nothing goes through the host: work that out's library has queued on
        its current stream comes before, and what it queues later sees the distances. Predecessors are then an array of
        out's library, too.
    device : None, "cpu", the number of a GPU, or `ps.device(n)`
        None: a GPU where A is in pinned or managed memory or `ps.options.device_memory` is set, and A has 2^20
        vertices and edges or more.
    gpu_options : GpuOptions, optional
        How a GPU searches: algorithm, reads of lists, place of edges and lengths, cache, counts; see `GpuOptions`.

    Returns
    -------
    distances : float64 array of shape (n,), float32 for a float32 matrix; inf where there is no path.
    predecessors : int32 array of shape (n,), where asked for
        The vertex before each on a shortest path: the smallest-numbered one that is nearer. Where only edges of
        length 0 lead to a vertex, the smallest-numbered on a path with the fewest of them. -9999, SciPy's mark, for
        the source and where there is no path.

    Both are the same, bit for bit, for any number of threads and any delta, on a CPU and on a GPU: a distance is the
    least of all sums along paths, each added up from the source on in the type of the result.

    Raises ValueError that names the edge where a length is negative or NaN, for a matrix that is not square, a source
    outside the graph, a GPU that is not there, `gpu_options` on the CPU or of another function, and an out of another
    shape, not contiguous, read-only, or not on the GPU that computes; TypeError for an out of another type; MemoryError
    where what a GPU must hold for each vertex exceeds its budget (`ps.options.device_memory`). The lengths are looked
    at once; the verdict, and a copy of whole numbers in the fewest bytes, are kept with A.

    Delta-stepping (Meyer, Sanders 2003, section 2) with a set of buckets for each thread (Zhang et al. 2020). On a GPU
    near and far piles (Davidson et al. 2014); where every edge has its mirror of the same length, the far vertices read
    their lists instead of the near ones where those hold fewer edges.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0, 5.0], ([0, 0, 2, 1], [1, 2, 1, 3])), shape=(5, 5))
    >>> ps.csgraph.sssp(A, 0)
    array([ 0.,  3.,  1.,  8., inf])
    >>> ps.csgraph.sssp(A, 0, return_predecessors=True)[1]
    array([-9999,     2,     0,     1, -9999], dtype=int32)
    """
    graph = as_graph(A, "sssp")
    on = _paths_gpu.chosen(graph, "sssp", device, gpu_options)
    start = np.array([vertex(graph, source)], dtype=np.int32)
    if not directed:
        graph = both_ways(graph)
    dtype = np.float32 if graph.dtype == np.float32 else np.float64
    to = as_out(out, (graph.shape[0],), dtype, [on.gpu] if on else [], "sssp")
    trees = _trees(to, return_predecessors, "sssp")
    distances, predecessors = search(
        graph, start, _delta(delta), math.inf, return_predecessors, on, to, trees
    )
    return _results(distances, predecessors, return_predecessors, to, trees)


def dijkstra(
    csgraph: Any,
    directed: bool = True,
    indices: Any = None,
    return_predecessors: bool = False,
    unweighted: bool = False,
    limit: float = np.inf,
    min_only: bool = False,
    *,
    out: Any = None,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> Any:
    """Distances from one or more vertices, with the signature of `scipy.sparse.csgraph.dijkstra`.

    Computed as in `sssp`, one source after the other.

    Parameters
    ----------
    csgraph : csr_array of shape (n, n), or what csr_array takes
        See `sssp`. A negative length is an error, where SciPy warns that distances may be wrong: `bellman_ford` and
        `johnson` take them.
    directed : bool
        False: every edge can be walked both ways.
    indices : int or array of integers, optional
        The sources, -n .. n - 1, in any shape; all vertices where it is None.
    return_predecessors : bool
    unweighted : bool
        True: every edge has length 1.
    limit : float >= 0
        Paths longer than this are not looked for.
    min_only : bool
        True: the distance from the nearest of `indices`, instead of one row for each.
    out : float64 array of the shape of dist_matrix, optional
        Gets the distances, and is what is returned for them; see `sssp`. On a GPU not with `min_only` and
        `return_predecessors`: the CPU finds the sources.
    device, gpu_options
        See `sssp`; sources follow one another on a GPU, too.

    Returns
    -------
    dist_matrix : float64 array of the shape of `indices` and n, or (n,) for `min_only`
        inf where there is no path.
    predecessors : int32 array of that shape, where asked for; see `sssp`.
    sources : int32 array of shape (n,), where predecessors and `min_only` are asked for
        The source whose path reaches each vertex, -9999 where none does.

    Raises what `sssp` raises, and ValueError for a limit below zero or NaN.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.dijkstra(A, indices=[0, 2])
    array([[ 0.,  3.,  1.],
           [inf,  2.,  0.]])
    >>> ps.csgraph.dijkstra(A, indices=[0, 2], min_only=True, return_predecessors=True)
    (array([0., 2., 0.]), array([-9999,     2, -9999], dtype=int32), array([0, 2, 2], dtype=int32))
    """
    graph = as_graph(csgraph, "dijkstra")
    on = _paths_gpu.chosen(graph, "dijkstra", device, gpu_options)
    if unweighted:
        graph = pattern(graph)
    if not directed:
        graph = both_ways(graph)
    if not isinstance(limit, numbers.Real):
        raise TypeError(
            f"limit={limit!r} is a {type(limit).__name__}: give a number, np.inf for none"
        )
    if not limit >= 0:
        raise ValueError(f"limit={limit!r} must be zero or more")
    starts, shape = rows_of(graph, indices)
    shape = shape[-1:] if min_only else shape
    to = as_out(out, shape, np.float64, [on.gpu] if on else [], "dijkstra")
    if min_only:
        if to and to.on_gpu and return_predecessors:
            raise ValueError(
                "dijkstra: with min_only the CPU finds each vertex's source from the predecessors: give a NumPy array "
                "as out, or leave return_predecessors out"
            )
        distances, tree = search(graph, starts, 0.0, limit, return_predecessors, on, to)
        if to is None or not to.on_gpu:
            distances = distances.astype(np.float64, copy=False)
        distances = to.filled(distances) if to else distances
        return (
            (distances, tree, _core.tree_roots(starts, tree)) if return_predecessors else distances
        )
    if to and to.on_gpu:
        there = _trees(to, return_predecessors, "dijkstra")
        for i in range(starts.size):
            search(graph, starts[i : i + 1], 0.0, limit, return_predecessors, on, to, there, i)
        return _results(None, None, return_predecessors, to, there)
    lengths, trees = each(graph, starts, limit, return_predecessors, on)
    lengths = lengths.reshape(shape)
    trees = None if trees is None else trees.reshape(shape)
    return _results(lengths, trees, return_predecessors, to, None)


def verify_sssp(A: Any, source: Any, distances: Any, predecessors: Any = None) -> None:
    """Raises ValueError, saying what is wrong where, unless `distances` (and `predecessors`) are those of shortest
    paths from `source`, or from the nearest of several: no edge shortens one, and a path explains each exactly.
    Looks at every edge; any shortest path is right for a predecessor.

    >>> import penstock as ps
    >>> A = ps.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    >>> ps.csgraph.verify_sssp(A, 0, [0.0, 3.0, 1.0])
    >>> ps.csgraph.verify_sssp(A, 0, [0.0, 4.0, 1.0])
    Traceback (most recent call last):
    ...
    ValueError: sssp: the edge 2 -> 1 shortens 4 to 3
    """
    graph = as_graph(A, "verify_sssp")
    dtype = np.float32 if graph.dtype == np.float32 else np.float64
    tree = None
    if predecessors is not None:
        tree = np.ascontiguousarray(predecessors, dtype=np.int32)
    _core.sssp_verify(
        graph._core,
        vertices(graph, source, "source"),
        np.ascontiguousarray(distances, dtype=dtype),
        tree,
    )


def each(
    graph: csr_array,
    starts: np.ndarray,
    limit: float,
    predecessors: bool,
    on: _paths_gpu.OnGpu | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """(distances in float64, predecessors or None), a row for each source, one source after the other."""
    lengths = np.empty((starts.size, graph.shape[0]))
    trees = np.empty(lengths.shape, np.int32) if predecessors else None
    for i in range(starts.size):
        lengths[i], tree = search(graph, starts[i : i + 1], 0.0, limit, predecessors, on)
        if trees is not None:
            trees[i] = tree
    return lengths, trees


def search(
    graph: csr_array,
    starts: np.ndarray,
    delta: float,
    limit: float,
    predecessors: bool,
    on: _paths_gpu.OnGpu | None = None,
    to: Out | None = None,
    trees: Out | None = None,
    row: int = 0,
) -> Any:
    """(distances, predecessors or None), or None for what a GPU has written to `to` and `trees`."""
    weights = weights_of(graph, mirrored=on is not None and _paths_gpu.may_pull(on.options))
    if on is not None:
        return _paths_gpu.search(
            graph, weights, starts, delta, limit, predecessors, on, to, trees, row
        )
    return _core.sssp(graph._core, weights, starts, delta, float(limit), bool(predecessors))


def _trees(to: Out | None, wanted: bool, function: str) -> Out | None:
    """An array for the predecessors beside distances that stay on a GPU."""
    return to.beside(np.int32, function) if to and to.on_gpu and wanted else None


def _results(
    distances: Any, predecessors: Any, wanted: bool, to: Out | None, trees: Out | None
) -> Any:
    """What is returned: the caller's array, where there is one, with or without predecessors."""
    distances = to.filled(distances) if to else distances
    return (distances, trees.array if trees else predecessors) if wanted else distances


def weights_of(graph: csr_array, mirrored: bool = False) -> Any:
    """The verdict on the weights, found once; raises ValueError for a negative or NaN one. mirrored: the caller asks
    `symmetric_weights` next, which the same pass over the edges answers."""
    derived = graph._derived

    def look() -> Any:
        asks = (
            mirrored
            and derived.symmetric_weights is None
            and derived.symmetric_pattern is not False
        )
        found = _core.path_weights(readable(graph)._core, symmetric=asks)
        if asks:
            derived.symmetric_weights = found.symmetric
        return found

    return derived.once("path_weights", look)


def finite_weights(graph: csr_array) -> bool:
    """Whether all weights are finite, found once, where nothing else is asked of them; ValueError as `weights_of`."""
    derived = graph._derived
    known = derived.finite_weights
    if known is None:
        told = derived.path_weights or _core.path_weights(readable(graph)._core, narrow=False)
        derived.finite_weights = known = bool(told.finite)
    return known


def pattern(graph: csr_array) -> csr_array:
    """The same edges without values; unlike astype(bool), zeros stay edges."""
    if graph.dtype == np.bool_:
        return graph
    known = graph._derived.pattern
    if known is None:
        known = csr_array._from_parts(
            *graph.shape, graph.indptr, graph.indices, None, validate="cheap"
        )
        graph._derived.pattern = known
    return known


def both_ways(graph: csr_array) -> csr_array:
    """Every edge in both directions with its value; kept with the graph."""
    known = graph._derived.both_ways
    if known is None:
        row = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
        known = csr_array._wrap(
            _core.coo_to_csr(
                *graph.shape, row, graph.indices, graph._core.values, False, "symmetric"
            )
        )
        known._derived.symmetric_weights = True
        graph._derived.both_ways = known
    return known


def _delta(delta: float | None) -> float:
    if delta is None:
        return 0.0
    if not (isinstance(delta, (int, float, np.number)) and 0 < delta < math.inf):
        raise ValueError(f"delta={delta!r} must be a positive number, or None")
    return float(delta)
