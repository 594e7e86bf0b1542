"""Betweenness centrality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import flag, integer, seed_number
from penstock._matrix.csr import csr_array
from penstock.csgraph._gpu import chosen_gpus, note_link, report
from penstock.csgraph._graph import as_graph, simple, vertices, without_repeats
from penstock.csgraph._one_way import one_way
from penstock.csgraph.gpu_options import GpuOptions, settled


def betweenness_centrality(
    A: Any,
    k: int | None = None,
    *,
    directed: bool = True,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int | None = None,
    device: Any = None,
    gpu_options: GpuOptions | None = None,
) -> np.ndarray:
    """For each vertex, the share of shortest paths between others that lead through it, summed over all pairs.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j. Paths are measured in edges: values are not read. Duplicates and
        self loops make no difference.
    k : int, optional
        Sums over the paths from k vertices only, drawn by `seed`, and scales up: an estimate in k / n of the time.
        With k = 1 and no endpoints it says nothing about the source itself, which gets NaN, as in NetworkX.
    directed : bool
        False: every edge can be walked both ways, and a pair counts once.
    normalized : bool
        Divides by the number of pairs of other vertices (of all vertices with `endpoints`), as NetworkX does.
    endpoints : bool
        A path counts for its two ends, too.
    seed : int, optional
        Of the draw; 0 where it is None.
    device : as for `bfs`
    gpu_options : GpuOptions, optional
        Of `access`, `placement` and `counted`; see `GpuOptions`.

    Returns
    -------
    float64 array of shape (n,), on the CPU the same bits for any number of threads; on a GPU sums have another order
    in every run, and differ in the last digits.

    Raises ValueError for a matrix that is not square, a k that is not between 1 and n, a negative seed, a GPU that is
    not there, `gpu_options` on the CPU or with other fields, and where more than 1e4900 shortest paths lead from one
    source (on common processors); TypeError for numbers and flags of another type; MemoryError where 32 bytes a vertex
    do not fit the GPU, or on each of several 25 bytes a vertex and 25 more for each of its range.

    Brandes (2001), each source by one thread: two passes over the edges a source, 20 bytes a vertex and a bit an edge a
    thread, and 12 bytes a vertex for each result that waits to be added up, 256 MB at most or one a thread. On a GPU
    one source after another, with all threads on one level; sources with too many paths for float64 go to the CPU.
    Several GPUs have a range of the vertices each and work on the same level; they tell one another, vertex by vertex,
    the paths found to vertices of others, and on the way back the dependencies of their own.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 1], [1, 2, 3])), shape=(4, 4))
    >>> ps.csgraph.betweenness_centrality(A, directed=False)
    array([0., 1., 0., 0.])
    """
    given = as_graph(A, "betweenness_centrality")
    gpus = chosen_gpus(given, device)
    on = settled(gpu_options, "betweenness_centrality", bool(gpus))
    graph, sources, scale = _task(given, k, directed, normalized, endpoints, seed)
    if not gpus:
        sums = _sums(graph, sources, bool(endpoints))
        sums *= scale.others
        return scale.with_sources(sums)
    part_bytes = _core.betweenness_part_bytes()
    on_gpu = one_way(
        graph, gpus, on.home, on.access == "auto", _core.betweenness_vertex_bytes(), part_bytes
    )
    run = _core.betweenness_gpu if len(gpus) == 1 else _core.betweenness_parts
    sums, left, told = run(
        on_gpu, sources, bool(endpoints), on.access, scale=scale.others, count=on.counted
    )
    note_link(graph, on_gpu, told)
    report("betweenness", on_gpu, {"sources": sources.size, "on_cpu": left.size, **told})
    if left.size:
        sums += _sums(graph, left, bool(endpoints)) * scale.others
    return scale.with_sources(sums)


def verify_betweenness(
    A: Any,
    centrality: Any,
    k: int | None = None,
    *,
    directed: bool = True,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int | None = None,
    tol: float = 1e-9,
    samples: int = 64,
) -> None:
    """Raises ValueError, saying which vertex is wrong, unless `centrality` is what betweenness_centrality should
    return, to a relative `tol`.

    At up to `samples` vertices, drawn by `seed`, by the definition: with the numbers of shortest paths to the vertex,
    from it, and in all. And all vertices together: their sums are those of the distances, less one each. Takes as long
    as some such computations, and 12 bytes a vertex and sample.

    Raises ValueError, too, where k is not between 1 and n, or samples is below 1.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.verify_betweenness(A, [0.0, 0.5, 0.0])
    """
    samples = integer(samples, "samples", 1)
    graph, sources, factors = _task(A, k, directed, normalized, endpoints, seed)
    given = np.asarray(centrality, dtype=np.float64)
    n = graph.shape[0]
    if given.shape != (n,):
        raise ValueError(f"centrality has shape {given.shape}, not {(n,)}")
    scale = factors.with_sources(np.full(n, factors.others))
    unknown = np.isnan(scale)  # nothing is said about a source by itself: zero
    sums = np.where(unknown & np.isnan(given), 0.0, given / np.where(unknown, 1.0, scale))
    some = np.arange(n)
    if samples < n:
        some = np.sort(np.random.default_rng(seed or 0).choice(n, size=samples, replace=False))
    _core.betweenness_verify(
        graph._core, sources, some.astype(np.int32), sums, bool(endpoints), float(tol)
    )


def source_sums(A: Any, sources: Any = None, endpoints: bool = False) -> np.ndarray:
    """The sums that betweenness_centrality scales: for each vertex, over the shortest paths from `sources` to all
    others, the share that leads through it.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j, in that direction; see betweenness_centrality.
    sources : integers, optional
        Vertices, each as often as it is named. All where it is None.
    endpoints : bool
        A source gains one, too, for every other vertex that it reaches, and these gain one each.

    Returns
    -------
    float64 array of shape (n,), the same bits for any number of threads.

    Raises ValueError for a source that is not a vertex.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.source_sums(A, [0])
    array([0., 1., 0.])
    >>> ps.csgraph.source_sums(A, [0], endpoints=True)
    array([2., 2., 1.])
    """
    graph = as_graph(A, "source_sums")
    return _sums(without_repeats(graph), _some(graph, sources), bool(endpoints))


def edge_source_sums(A: Any, sources: Any = None) -> np.ndarray:
    """For each edge, the sum over the shortest paths from `sources` to all others of the share that leads over it.

    Parameters
    ----------
    A : csr_array of shape (n, n), or what csr_array takes
        A stored entry (i, j) is an edge from i to j, in that direction, measured as 1. No duplicates; self loops get 0.
    sources : integers, optional
        Vertices, each as often as it is named. All where it is None.

    Returns
    -------
    float64 array of shape (A.nnz,), in the order of A's entries, the same bits for any number of threads.

    Raises ValueError for a source that is not a vertex and for duplicates.

    Brandes (2008), "On variants of shortest-path betweenness centrality", section 3.1. Takes 8 bytes an edge for each
    of up to 16 sums, 256 MB in all or one.

    >>> import penstock as ps
    >>> from penstock.csgraph.betweenness import edge_source_sums
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 1], [1, 2, 3])), shape=(4, 4))
    >>> edge_source_sums(A, [0])
    array([3., 1., 1.])
    """
    graph = as_graph(A, "edge_source_sums")
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    if np.unique(rows * graph.shape[1] + graph.indices).size < graph.nnz:
        raise ValueError("edge_source_sums takes no duplicates: call A.sum_duplicates() first")
    sums: np.ndarray = _core.edge_betweenness(graph._core, _some(graph, sources))
    return sums


def _some(graph: csr_array, sources: Any) -> np.ndarray:
    if sources is None:
        return np.arange(graph.shape[0], dtype=np.int32)
    return vertices(graph, np.zeros(0, np.int32) if np.size(sources) == 0 else sources)


def _sums(graph: csr_array, sources: np.ndarray, endpoints: bool) -> np.ndarray:
    sums: np.ndarray = _core.betweenness(graph._core, sources, endpoints)
    return sums


def _task(
    A: Any, k: int | None, directed: bool, normalized: bool, endpoints: bool, seed: int | None
) -> tuple[csr_array, np.ndarray, _Scale]:
    graph = as_graph(A, "betweenness_centrality")
    n = graph.shape[0]
    directed, normalized = flag(directed, "directed"), flag(normalized, "normalized")
    endpoints = flag(endpoints, "endpoints")
    if k is None:
        sources = np.arange(n, dtype=np.int32)
    elif not 1 <= (k := integer(k, "k", -(2**62))) <= n:
        raise ValueError(f"k={k} must be between 1 and the {n} vertices, or None")
    else:
        draw = np.random.default_rng(0 if seed is None else seed_number(seed))
        sources = np.sort(draw.choice(n, size=k, replace=False)).astype(np.int32)
    edges = without_repeats(graph) if directed else simple(graph)
    return edges, sources, _scale(n, sources, k, directed, normalized, endpoints)


@dataclass(frozen=True)
class _Scale:
    """What sums are multiplied by: `others`, and beyond that `more` at `sources`. No array of n numbers: to make some
    took longer than a GPU needs for a source."""

    others: float
    more: float
    sources: np.ndarray

    def with_sources(self, sums: np.ndarray) -> np.ndarray:
        """The sums, which have been multiplied by `others`, with what sources get beyond."""
        if self.more != 1:
            sums[self.sources] *= self.more
        return sums


def _scale(
    n: int, sources: np.ndarray, k: int | None, directed: bool, normalized: bool, endpoints: bool
) -> _Scale:
    """NetworkX 3.6's rules."""
    others = n if endpoints else n - 1
    if others < 2:
        return _Scale(1.0, 1.0, sources)
    whole = 1 / (others - 1) if normalized else others if directed else others / 2
    if k is None:
        return _Scale(whole / others, 1.0, sources)
    # Without endpoints a source has nothing to say about itself: it has been asked by the k - 1 others.
    more = 1.0 if endpoints else k / (k - 1) if k > 1 else np.nan
    return _Scale(whole / k, more, sources)
