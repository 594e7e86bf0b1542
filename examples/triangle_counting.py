"""Triangles of a graph by masked SpGEMM on distributed tiles: the sum of (L L) where L has entries.

    python examples/triangle_counting.py --scale 14 --ranks 4

L is the lower triangle of the adjacency matrix. Each rank owns tiles of the mask, fetches the tiles of the factors that
it needs, which their owners do not notice, and computes nothing outside the mask (Azad, Buluc and Gilbert, 2015).
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def triangles(comm: ps.dist.Comm, graph: ps.csr_array) -> int:
    """On every rank. `graph`: undirected, without self loops, the same on all ranks."""
    lower = ps.dist.tiled_array(ps.tril(graph, -1), comm)
    paths = ps.dist.matmul(lower, lower, mask=lower)
    down, across = paths.tiles
    mine = sum(
        int(paths.get_tile(i, j).sum())
        for i in range(down)
        for j in range(across)
        if paths.owner(i, j) == comm.rank
    )
    total = np.array([mine])
    comm.all_reduce(total)
    return int(total[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=12, help="2**scale vertices of an R-MAT graph")
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    graph = ps.generate.rmat(args.scale, 8, seed=1)
    found = ps.dist.run(triangles, args.ranks, graph)[0]
    wanted = ps.csgraph.triangle_count(graph)
    print(
        f"{graph.shape[0]:,} vertices, {graph.nnz // 2:,} edges: {found:,} triangles on {args.ranks} ranks"
    )
    if found != wanted:
        raise SystemExit(f"one rank alone counts {wanted:,}")


if __name__ == "__main__":
    main()
