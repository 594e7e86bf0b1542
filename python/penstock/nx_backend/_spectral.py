"""Eigenvectors of the adjacency: power iteration as NetworkX does it, or SciPy's ARPACK over shared arrays."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from penstock.nx_backend._components import is_connected, is_strongly_connected
from penstock.nx_backend._graph import Graph


def _outgoing(graph: Graph, weight: Any) -> Any:
    """SciPy's adjacency, parallel edges added up; ones where the weight is None."""
    if weight is None:
        copies = graph.structure.copies
        return graph.structure.scipy(None if copies is None else copies.astype(np.float64))
    weights = graph.edge_weights(weight)
    if not weights.mirrored:
        raise NotImplementedError("an undirected view of a directed graph has edges of two weights")
    return graph.structure.scipy(graph.structure.summed(weights.values))


def _incoming(graph: Graph, weight: Any) -> Any:
    """The matrix whose product with x sums over the edges into each node."""
    return _outgoing(graph, weight).T.tocsr()


def _vector(graph: Graph, given: dict[Any, float]) -> np.ndarray:
    if len(given) != len(graph) or any(label not in given for label in graph):
        raise NotImplementedError("the dict given has other nodes than the graph")
    return np.array([given[label] for label in graph], dtype=np.float64)


def eigenvector_centrality(
    G: Graph,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: dict[Any, float] | None = None,
    weight: str | None = None,
) -> dict[Any, float]:
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    x = np.ones(n) if nstart is None else _vector(G, nstart)
    if not x.any():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    total = x.sum()
    if total == 0:
        raise ZeroDivisionError("division by zero")
    x = x / total
    matrix = _incoming(G, weight)
    for _ in range(max_iter):
        last = x
        x = last + matrix @ last
        x = x / (np.linalg.norm(x) or 1)
        if np.abs(x - last).sum() < n * tol:
            return G.named(x)
    raise nx.PowerIterationFailedConvergence(max_iter)


def katz_centrality(
    G: Graph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: dict[Any, float] | None = None,
    normalized: bool = True,
    weight: str | None = None,
) -> dict[Any, float]:
    n = len(G)
    if n == 0:
        return {}
    x = np.zeros(n) if nstart is None else _vector(G, nstart)
    try:
        b = np.full(n, float(beta))
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        b = _vector(G, beta)
    matrix = _incoming(G, weight)
    for _ in range(max_iter):
        last = x
        with np.errstate(over="ignore", invalid="ignore"):
            x = alpha * (matrix @ last) + b
            error_sum = np.abs(x - last).sum()
        if error_sum < n * tol:
            norm = np.linalg.norm(x) if normalized else 1.0
            return G.named(x * (1.0 / norm if norm else 1.0))
    raise nx.PowerIterationFailedConvergence(max_iter)


def hits(
    G: Graph,
    max_iter: int = 100,
    tol: float = 1.0e-8,
    nstart: dict[Any, float] | None = None,
    normalized: bool = True,
) -> tuple[dict[Any, float], dict[Any, float]]:
    from scipy.sparse.linalg import ArpackNoConvergence, svds

    if len(G) == 0:
        return {}, {}
    matrix = _outgoing(G, "weight")
    start = None if nstart is None else np.array(list(nstart.values()))
    if max_iter <= 0:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        _, _, turned = svds(matrix, k=1, v0=start, maxiter=max_iter, tol=tol)
    except ArpackNoConvergence as error:
        raise nx.PowerIterationFailedConvergence(max_iter) from error
    authorities = turned.flatten().real
    hubs = matrix @ authorities
    if normalized:
        hubs /= hubs.sum()
        authorities /= authorities.sum()
    return G.named(hubs), G.named(authorities)


def eigenvector_centrality_numpy(
    G: Graph, weight: str | None = None, max_iter: int = 50, tol: float = 0
) -> dict[Any, float]:
    from scipy.sparse.linalg import eigs

    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    if not (is_strongly_connected(G) if G.is_directed() else is_connected(G)):
        raise nx.AmbiguousSolution(
            "`eigenvector_centrality_numpy` does not give consistent results for disconnected graphs"
        )
    _, vectors = eigs(_incoming(G, weight), k=1, which="LR", maxiter=max_iter, tol=tol)
    largest = vectors.flatten().real
    return G.named(largest / (np.sign(largest.sum()) * np.linalg.norm(largest)))
