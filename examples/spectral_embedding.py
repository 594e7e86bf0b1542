"""Spectral clustering of a graph: eigenvectors of its random walk put related ones side by side, k-means finds them.

    python examples/spectral_embedding.py --groups 5 --size 400

The graph has groups: edges within a group are likelier than edges between groups. `ps.linalg.eigsh` finds the leading
eigenvectors of D^-1/2 A D^-1/2 (Shi and Malik 2000), and k-means clusters the vertices' rows of them, at length 1
(Ng, Jordan and Weiss 2002). Neither is told the groups: they are compared with the clusters at the end.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.optimize import linear_sum_assignment

import penstock as ps


def planted(groups: int, size: int, inside: float, outside: float) -> ps.csr_array:
    """A random graph; vertex v belongs to group v // size. So many edges a vertex within and between groups."""
    rng, n = np.random.default_rng(4), groups * size
    a = np.repeat(np.arange(n), int(inside + outside))
    near = rng.random(a.size) < inside / (inside + outside)
    b = np.where(
        near, a // size * size + rng.integers(size, size=a.size), rng.integers(n, size=a.size)
    )
    return ps.from_edges((a[a != b], b[a != b]), directed=False, num_nodes=n).matrix


def embedding(graph: ps.csr_array, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(eigenvalues, one row for each vertex, of length 1), the largest eigenvalue first."""
    degree = graph @ np.ones(graph.shape[0])
    scale = 1 / np.sqrt(np.maximum(degree, 1))
    values, vectors = ps.linalg.eigsh(graph.scale(rows=scale, cols=scale), k=count, which="LA")
    rows = vectors[:, ::-1]
    return values[::-1], rows / np.linalg.norm(rows, axis=1, keepdims=True)


def agreement(found: np.ndarray, group: np.ndarray, count: int) -> float:
    """The part of the vertices that are in the cluster of their group, for the best pairs of clusters and groups."""
    both = np.zeros((count, count), np.int64)
    np.add.at(both, (found, group), 1)
    return float(both[linear_sum_assignment(-both)].sum() / group.size)


def draw(path: str, at: np.ndarray, cluster: np.ndarray) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    axes.scatter(at[:, 1], at[:, 2], c=cluster, s=5, cmap="Set1", alpha=0.7)
    axes.set(xticks=[], yticks=[], xlabel="second eigenvector", ylabel="third")
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--size", type=int, default=150, help="vertices of a group")
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    graph = planted(args.groups, args.size, inside=14, outside=3).astype(np.float64)
    values, rows = embedding(graph, args.groups)
    print(
        f"{graph.shape[0]:,} vertices, {graph.nnz // 2:,} edges; eigenvalues {np.round(values, 3)}"
    )
    found = kmeans2(rows, args.groups, minit="++", rng=0)[1]
    right = agreement(found, np.arange(graph.shape[0]) // args.size, args.groups)
    print(f"{right:.1%} of the vertices are in the cluster of their own group")
    if not right > 0.95:
        raise SystemExit("the clusters are not the groups")
    if args.picture:
        draw(args.picture, rows, found)


if __name__ == "__main__":
    main()
