"""PageRank of a web graph: which pages matter, beyond the number of links to them.

    python examples/web_ranking.py --scale 16
    python examples/web_ranking.py --graph web-NotreDame.txt.gz

The graph is generated, or read from a file in any format. The ranks are compared with a plain power iteration in NumPy
and SciPy (Page et al. 1999).
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def by_hand(graph: ps.csr_array, alpha: float = 0.85, steps: int = 200) -> np.ndarray:
    """PageRank as the paper writes it, with SciPy's products."""
    links = graph.to_scipy().astype(np.float64)
    n, out = links.shape[0], np.asarray(links.sum(axis=1)).ravel()
    share = np.divide(1.0, out, out=np.zeros(n), where=out > 0)
    rank = np.full(n, 1 / n)
    for _ in range(steps):
        lost = rank[out == 0].sum()  # of pages without links: given to all
        rank = alpha * (links.T @ (rank * share) + lost / n) + (1 - alpha) / n
    return rank


def draw(path: str, graph: ps.csr_array, rank: np.ndarray) -> None:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(4.8, 3.0), layout="constrained")
    axes = fig.subplots()
    incoming = np.bincount(graph.indices, minlength=graph.shape[0])
    axes.loglog(incoming + 1, rank, ".", markersize=2, alpha=0.4, color="#1c86c4", rasterized=True)
    best = np.argsort(-rank)[:5]
    axes.loglog(incoming[best] + 1, rank[best], "o", color="#f6b73c", markersize=7)
    axes.set(xlabel="links to a page + 1", ylabel="PageRank")
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graph", help="a file; without it a random graph")
    parser.add_argument("--scale", type=int, default=12, help="2**scale pages of the random graph")
    parser.add_argument("--picture", metavar="FILE", help="draw it (matplotlib)")
    args = parser.parse_args()
    made = None if args.graph else ps.generate.rmat(args.scale, 8, undirected=False, seed=3)
    graph = ps.load(args.graph) if made is None else made
    rank = ps.csgraph.pagerank(graph, tol=1e-10, max_iter=200, weighted=False)
    print(f"{graph.shape[0]:,} pages, {graph.nnz:,} links; the first five:")
    for page in np.argsort(-rank)[:5]:
        print(f"  page {page}: {rank[page]:.5f}")
    error = float(np.abs(rank - by_hand(graph)).sum())
    print(f"difference from a power iteration in SciPy: {error:.1e}")
    if not error < 1e-8:
        raise SystemExit("the ranks are wrong")
    if args.picture:
        draw(args.picture, graph, rank)


if __name__ == "__main__":
    main()
