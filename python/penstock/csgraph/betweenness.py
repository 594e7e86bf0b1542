"""Betweenness centrality."""

from __future__ import annotations

import operator
from typing import Any, cast

import numpy as np

from penstock import _core
from penstock._csr import csr_array
from penstock.csgraph._graph import as_graph, vertices


def betweenness_centrality(
    A: Any,
    k: int | None = None,
    *,
    directed: bool = True,
    normalized: bool = True,
    endpoints: bool = False,
    seed: int | None = None,
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

    Returns
    -------
    float64 array of shape (n,), the same bits for any number of threads.

    Raises ValueError where k is not between 1 and n.

    Brandes (2001), one source a thread: n edges' passes in all, and 32 bytes a vertex and thread.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 3, ([0, 1, 1], [1, 2, 3])), shape=(4, 4))
    >>> ps.csgraph.betweenness_centrality(A, directed=False)
    array([0., 1., 0., 0.])
    """
    graph, sources, scale = _task(A, k, directed, normalized, endpoints, seed)
    return cast(np.ndarray, _core.betweenness(graph._core, sources, bool(endpoints))) * scale


def source_sums(A: Any, sources: Any = None, endpoints: bool = False) -> np.ndarray:
    """What betweenness_centrality scales: for each vertex the sum, over all paths from `sources` (all vertices where it
    is None) along directed edges, of its share of them. For those who draw and scale by rules of their own.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 2])), shape=(3, 3))
    >>> source_sums(A, [0])
    array([0., 1., 0.])
    """
    graph = as_graph(A, "betweenness_centrality")
    starts = np.arange(graph.shape[0], dtype=np.int32)
    if sources is not None:
        starts = vertices(graph, sources)
    return cast(np.ndarray, _core.betweenness(_simple(graph, True)._core, starts, bool(endpoints)))


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
) -> None:
    """Raises ValueError, saying which vertex is wrong, unless `centrality` is what betweenness_centrality should
    return, to a relative `tol`. By the definition, pair by pair: for at most 2000 vertices.

    >>> import penstock as ps
    >>> A = ps.csr_array(([True] * 2, ([0, 1], [1, 2])), shape=(3, 3))
    >>> ps.csgraph.verify_betweenness(A, [0.0, 0.5, 0.0])
    """
    graph, sources, scale = _task(A, k, directed, normalized, endpoints, seed)
    values = np.asarray(centrality, dtype=np.float64) / scale
    values[np.isnan(scale) & np.isnan(values)] = 0.0
    _core.betweenness_verify(graph._core, sources, values, bool(endpoints), float(tol))


def _task(
    A: Any, k: int | None, directed: bool, normalized: bool, endpoints: bool, seed: int | None
) -> tuple[csr_array, np.ndarray, np.ndarray]:
    graph = as_graph(A, "betweenness_centrality")
    n = graph.shape[0]
    simple = _simple(graph, directed)
    if k is None:
        sources = np.arange(n, dtype=np.int32)
    elif not 1 <= operator.index(k) <= n:
        raise ValueError(f"k={k} must be between 1 and the {n} vertices, or None")
    else:
        draw = np.random.default_rng(0 if seed is None else seed)
        sources = np.sort(draw.choice(n, size=k, replace=False)).astype(np.int32)
    return simple, sources, _scale(n, sources, k, directed, normalized, endpoints)


def _scale(
    n: int, sources: np.ndarray, k: int | None, directed: bool, normalized: bool, endpoints: bool
) -> np.ndarray:
    """What each vertex's sum is multiplied by: NetworkX 3.6's rules."""
    others = n if endpoints else n - 1
    if others < 2:
        return np.ones(n)
    # Without endpoints a source has nothing to say about itself: it has been asked by the k - 1 others.
    asked = np.full(n, float(others if k is None else k))
    if k is not None and not endpoints:
        asked[sources] -= 1
    whole = 1 / (others - 1) if normalized else others if directed else others / 2
    with np.errstate(divide="ignore"):
        return np.where(asked > 0, whole / asked, np.nan)


def _simple(graph: csr_array, directed: bool) -> csr_array:
    """The graph without duplicates and self loops (and in both directions), kept with it."""
    name = "simple" if directed else "simple_undirected"
    known = graph._derived.get(name)
    if known is None:
        row = np.repeat(np.arange(graph.shape[0], dtype=np.int32), np.diff(graph.indptr))
        keep = row != graph.indices
        mirror = "none" if directed else "symmetric"
        known = graph._derived[name] = csr_array._wrap(
            _core.coo_to_csr(*graph.shape, row[keep], graph.indices[keep], None, True, mirror)
        )
    return known
