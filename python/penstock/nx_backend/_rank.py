"""PageRank and betweenness centrality, with NetworkX's conventions around them."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np

from penstock.csgraph.betweenness import edge_source_sums, source_sums
from penstock.nx_backend._graph import NETWORKX, Graph


def _vector(graph: Graph, given: dict[Any, float] | None) -> np.ndarray | None:
    """One number a node; 0 for nodes that the dict lacks."""
    if given is None:
        return None
    vector = np.zeros(len(graph))
    for label, value in given.items():
        if label in graph:
            vector[graph.nodes.number(label)] = value
    return vector


def pagerank(
    G: Graph,
    alpha: float = 0.85,
    personalization: dict[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-06,
    nstart: dict[Any, float] | None = None,
    weight: str | None = "weight",
    dangling: dict[Any, float] | None = None,
) -> dict[Any, float]:
    n = len(G)
    if n == 0:
        return {}
    if weight is not None and not G.edge_weights(weight).usable:
        raise NotImplementedError("penstock takes weights that are finite and not negative")
    if weight is not None and not G.edge_weights(weight).mirrored:
        raise NotImplementedError("an undirected view of a directed graph has edges of two weights")
    vectors = {
        "personalization": _vector(G, personalization),
        "nstart": _vector(G, nstart),
        "dangling": _vector(G, dangling),
    }
    for name, vector in vectors.items():
        if vector is None:
            continue
        if not np.isfinite(vector).all() or (vector < 0).any():
            raise NotImplementedError(f"penstock takes a {name} that is finite and not negative")
        if vector.sum() == 0:
            if name == "personalization":
                raise ZeroDivisionError
            raise NotImplementedError(f"the values of {name} add up to 0")
    ranks = _iterated(G, alpha, max_iter, tol, weight, vectors)
    return dict(zip(G.nodes.labels, ranks.tolist(), strict=True))


def _share(given: np.ndarray | None, otherwise: np.ndarray) -> np.ndarray:
    return otherwise if given is None else given / given.sum()


def _iterated(
    graph: Graph,
    alpha: float,
    max_iter: int,
    tol: float,
    weight: str | None,
    vectors: dict[str, np.ndarray | None],
) -> np.ndarray:
    """NetworkX's steps in float64, to its end: csgraph.pagerank would extrapolate, and begin in float32."""
    n, matrix = len(graph), graph.matrix(weight)
    # The weights of an undirected graph are mirrored: its matrix is its own transpose, but for the order in the rows.
    into = matrix.T.formed() if graph.is_directed() else matrix
    pattern = matrix.dtype == np.bool_
    out = np.diff(matrix.indptr).astype(np.float64) if pattern else matrix @ np.ones(n)
    leads = out != 0
    with np.errstate(over="ignore"):
        scale = np.divide(1.0, out, out=np.zeros(n), where=leads)
    if not (np.isfinite(out).all() and np.isfinite(scale).all()):
        raise NotImplementedError("the weights out of a node add up to a sum without a reciprocal")
    even = np.full(n, 1.0 / n)
    x, jump = (_share(vectors[name], even) for name in ("nstart", "personalization"))
    sunk = _share(vectors["dangling"], jump)
    stays = np.flatnonzero(~leads)
    with np.errstate(over="ignore", invalid="ignore"):  # an alpha above 1 may lead there
        for _ in range(max_iter):
            last = x
            x = alpha * (into @ (scale * last) + last[stays].sum() * sunk) + (1 - alpha) * jump
            if np.abs(x - last).sum() < n * tol:
                return x
    raise nx.PowerIterationFailedConvergence(max_iter)


def _sample(graph: Graph, k: int, seed: Any) -> np.ndarray:
    """The same call on the same sequence takes the same nodes as in NetworkX."""
    chosen = nx.utils.create_py_random_state(seed).sample(list(graph), k)
    return np.array([graph.nodes.number(label) for label in chosen], dtype=np.int32)


def betweenness_centrality(
    G: Graph,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: Any = None,
) -> dict[Any, float]:
    n = len(G)
    sources = None if k is None or k == n else _sample(G, k, seed)

    sums = source_sums(G.pattern, sources, endpoints)
    if NETWORKX < (3, 5):
        scales: Any = _scales_before_3_5(n, k, normalized, G.is_directed(), endpoints)
    else:
        scales = _scales(n, sources, normalized, G.is_directed(), endpoints)
    return dict(zip(G.nodes.labels, (sums * scales).tolist(), strict=True))


def _scales(
    n: int, sources: np.ndarray | None, normalized: bool, directed: bool, endpoints: bool
) -> np.ndarray:
    """What the sums over sources are multiplied by: a node that is a source itself was counted once less."""
    others = n if endpoints else n - 1
    scales = np.ones(n)
    if others < 2:
        return scales
    per_pair = 1 / (others - 1) if normalized else others / (1 if directed else 2)
    count = others if sources is None else len(sources)
    scales[:] = per_pair / count
    if sources is not None and not endpoints:
        scales[sources] = per_pair / (count - 1) if count > 1 else math.nan
    return scales


def _scales_before_3_5(
    n: int, k: int | None, normalized: bool, directed: bool, endpoints: bool
) -> float:
    """As `_scales`, where sampled nodes were not told from others."""
    if normalized:
        if n <= (1 if endpoints else 2):
            return 1.0
        scale = 1 / (n * (n - 1) if endpoints else (n - 1) * (n - 2))
    elif directed:
        return 1.0
    else:
        scale = 0.5
    return scale if k is None else scale * n / k


def edge_betweenness_centrality(
    G: Graph, k: int | None = None, normalized: bool = True, weight: None = None, seed: Any = None
) -> dict[tuple[Any, Any], float]:
    n, structure = len(G), G.structure
    sums = edge_source_sums(G.pattern, None if k is None else _sample(G, k, seed))
    once = structure.once
    if not structure.directed:
        keys = structure.rows.astype(np.int64) * n + structure.indices
        order = np.argsort(keys)
        back = structure.indices.astype(np.int64) * n + structure.rows
        # Paths lead over an edge in both directions; over a self loop none does.
        sums = sums + sums[order[np.searchsorted(keys, back, sorter=order)]]
    ends = (G.nodes.named(structure.rows[once]), G.nodes.named(structure.indices[once]))
    scaled = sums[once] * _edge_scale(n, k, normalized, structure.directed)
    return dict(zip(zip(*ends, strict=True), scaled.tolist(), strict=True))


def _edge_scale(n: int, k: int | None, normalized: bool, directed: bool) -> float:
    if NETWORKX < (3, 6):  # where sampled sources were not scaled up
        if normalized:
            return 1 / (n * (n - 1)) if n > 1 else 1.0
        return 1.0 if directed else 0.5
    if n < 2:
        return 1.0
    sources = n if k is None else k
    return 1 / (sources * (n - 1)) if normalized else n / (sources * (1 if directed else 2))
