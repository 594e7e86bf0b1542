"""Breadth-first search from many vertices at once, by SpMM over or_and on distributed tiles.

    python examples/multi_source_bfs.py --scale 14 --sources 64 --ranks 4

The frontier is a dense matrix, a column for each source. A step is one product with the transposed graph; what was
reached before leaves the frontier, tile by tile, where the tiles are.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps


def levels(comm: ps.dist.Comm, backwards: ps.csr_array, sources: np.ndarray) -> np.ndarray:
    """Hops from each source to each vertex, -1 where there is no path: int64, (vertices, sources), on every rank.

    `backwards`: a pattern whose row v names the vertices with an edge to v.
    """
    n = backwards.shape[0]
    start = np.zeros((n, sources.size), np.uint8)
    start[sources, np.arange(sources.size)] = 1
    a, frontier = ps.dist.tiled_array(backwards, comm), ps.dist.tiled_array(start, comm)
    mine = [(i, j) for i in range(frontier.tiles[0]) for j in range(frontier.tiles[1])
            if frontier.owner(i, j) == comm.rank]  # fmt: skip
    level = {at: np.where(frontier.get_tile(*at) > 0, 0, -1) for at in mine}
    for depth in range(1, n + 1):
        frontier = ps.dist.matmul(a, frontier, semiring="or_and")
        found = np.zeros(1, np.int64)
        for at in mine:
            reached = frontier.get_tile(*at) > 0
            fresh = reached & (level[at] < 0)
            level[at][fresh] = depth
            found[0] += int(fresh.sum())
            frontier.replace_tile(*at, fresh.astype(np.uint8))
        frontier.barrier()
        comm.all_reduce(found)
        if not found[0]:
            break
    rows, cols = frontier.tile_shape
    whole = np.zeros((n, sources.size), np.int64)
    for (i, j), tile in level.items():
        whole[i * rows : i * rows + tile.shape[0], j * cols : j * cols + tile.shape[1]] = tile
    comm.all_reduce(whole)
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=12, help="2**scale vertices of an R-MAT graph")
    parser.add_argument("--sources", type=int, default=32)
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    graph = ps.generate.rmat(args.scale, 8, undirected=False, seed=1)
    sources = np.random.default_rng(1).choice(graph.shape[0], args.sources, replace=False)
    found = ps.dist.run(levels, args.ranks, graph.T.formed(), sources)[0]
    reached, deepest = int((found >= 0).sum()), int(found.max())
    print(
        f"{args.sources} searches, {reached:,} vertices reached, at most {deepest} hops, on {args.ranks} ranks"
    )
    if not np.array_equal(ps.csgraph.bfs(graph, sources=sources), found.T):
        raise SystemExit("one search after the other gets other levels")


if __name__ == "__main__":
    main()
