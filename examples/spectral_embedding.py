"""Spectral embedding of a graph: eigenvectors of its random walk put related vertices side by side.

    python examples/spectral_embedding.py --groups 5 --size 400

The graph has groups: edges within a group are likelier than edges between groups. Orthogonal iteration finds the
leading eigenvectors of D^-1/2 (A + D) D^-1/2 / 2 by one product with several columns a step (Shi and Malik 2000). The
eigenvalues are compared with SciPy's `eigsh`, which calls our products.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

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


def embedding(walk: ps.csr_array, count: int, steps: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """(eigenvalues, eigenvectors as columns), the largest first."""
    basis = np.random.default_rng(0).standard_normal((walk.shape[0], count + 4))
    for _ in range(steps):
        basis, _ = np.linalg.qr(walk @ basis)
    values, turn = np.linalg.eigh(basis.T @ (walk @ basis))
    return values[::-1][:count], (basis @ turn)[:, ::-1][:, :count]


def draw(path: str, at: np.ndarray, group: np.ndarray) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    axes.scatter(at[:, 1], at[:, 2], c=group, s=5, cmap="Set1", alpha=0.7)
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
    n = graph.shape[0]
    degree = graph @ np.ones(n)
    scale = 1 / np.sqrt(degree)
    step = graph.scale(rows=scale, cols=scale)
    half = ps.csr_array((np.full(n, 0.5), np.arange(n), np.arange(n + 1)), shape=(n, n))
    walk = half + step.scale(rows=np.full(n, 0.5))  # positive semidefinite
    values, vectors = embedding(walk, args.groups)
    print(f"{n:,} vertices, {graph.nnz // 2:,} edges; eigenvalues {np.round(values, 3)}")
    operator = LinearOperator(walk.shape, matvec=lambda x: walk @ x, dtype=np.float64)
    wanted = np.sort(eigsh(operator, k=args.groups, return_eigenvectors=False))[::-1]
    if not np.allclose(values, wanted, atol=1e-6):
        raise SystemExit(f"SciPy finds {wanted}")

    group = np.arange(n) // args.size
    at = vectors * scale[:, None]
    centres = np.stack([at[group == g].mean(axis=0) for g in range(args.groups)])
    nearest = ((at[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    right = float((nearest == group).mean())
    print(f"{right:.1%} of the vertices lie nearest to the centre of their own group")
    if not right > 0.95:
        raise SystemExit("the groups are not apart")
    if args.picture:
        draw(args.picture, at, group)


if __name__ == "__main__":
    main()
