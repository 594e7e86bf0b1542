"""Markov clustering (van Dongen 2000) on distributed tiles: square, inflate, prune, until nothing changes.

    python examples/markov_clustering.py --ranks 4

The square is SpGEMM with one-sided gets and stealing. Everything else is done to a rank's own tiles; column sums are
the only other thing that ranks exchange.
"""

from __future__ import annotations

import argparse

import numpy as np

import penstock as ps

Tile = ps.csr_array


def own_tiles(m: ps.dist.tiled_array) -> dict[tuple[int, int], Tile]:
    """Copies of the tiles of this rank."""
    down, across = m.tiles
    return {
        (i, j): m.get_tile(i, j)
        for i in range(down)
        for j in range(across)
        if m.owner(i, j) == m.comm.rank
    }


def changed(tile: Tile, values: np.ndarray, keep: np.ndarray) -> Tile:
    """The tile with other values, and only the entries of `keep`."""
    row = np.repeat(np.arange(tile.shape[0]), np.diff(tile.indptr))
    return ps.csr_array((values[keep], (row[keep], tile.indices[keep])), shape=tile.shape)


def normalised(
    m: ps.dist.tiled_array, tiles: dict[tuple[int, int], Tile]
) -> dict[tuple[int, int], Tile]:
    """Columns that sum to 1 over all ranks."""
    width = m.tile_shape[1]
    sums = np.zeros(m.shape[1])
    for (_, j), tile in tiles.items():
        np.add.at(sums, j * width + tile.indices, tile.data)
    m.comm.all_reduce(sums)
    return {
        (i, j): changed(tile, tile.data / sums[j * width + tile.indices], np.ones(tile.nnz, bool))
        for (i, j), tile in tiles.items()
    }


def cluster(
    comm: ps.dist.Comm,
    graph: ps.csr_array,
    inflation: float = 2.0,
    prune: float = 1e-4,
    steps: int = 60,
) -> np.ndarray:
    """A label for each vertex, the same within a cluster; on every rank. `graph`: symmetric, with self loops."""
    m = ps.dist.tiled_array(graph, comm)
    m.renew_tiles(normalised(m, own_tiles(m)))
    for _ in range(steps):
        square = ps.dist.matmul(m, m, steal=True)
        tiles = {}
        for at, tile in own_tiles(square).items():
            grown = tile.data**inflation
            tiles[at] = changed(tile, grown, grown > prune)
        square.renew_tiles(normalised(square, tiles))
        entries = np.array([float(square.nnz), float(m.nnz)])
        m, spread = square, np.zeros(1)
        for tile in own_tiles(m).values():
            spread[0] += float(np.sum(tile.data * (1 - tile.data)))
        comm.all_reduce(spread)
        if spread[0] < 1e-6 * m.shape[1] and entries[0] == entries[1]:
            break
    whole = m.collect()
    row = np.repeat(np.arange(whole.shape[0]), np.diff(whole.indptr))
    strong = whole.data > 1e-3
    links = ps.csr_array(
        (np.ones(strong.sum()), (row[strong], whole.indices[strong])), shape=whole.shape
    )
    return ps.csgraph.connected_components(links, directed=False)[1]


def communities(count: int, size: int, seed: int = 1) -> ps.csr_array:
    """A graph of dense groups with an edge between each two that follow one another, and self loops."""
    rng = np.random.default_rng(seed)
    n = count * size
    inside = np.kron(np.eye(count), np.ones((size, size))) * (rng.random((n, n)) < 0.7)
    a = np.maximum(inside, inside.T)
    ends = np.arange(count - 1) * size
    a[ends, ends + size] = a[ends + size, ends] = 1
    np.fill_diagonal(a, 1)
    return ps.csr_array(a)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=12)
    parser.add_argument("--size", type=int, default=25, help="vertices of a group")
    parser.add_argument("--ranks", type=int, default=4)
    args = parser.parse_args()
    labels = ps.dist.run(cluster, args.ranks, communities(args.groups, args.size))[0]
    groups = labels.reshape(args.groups, args.size)
    found = len(np.unique(labels))
    print(f"{labels.size:,} vertices, {found} clusters on {args.ranks} ranks")
    if found != args.groups or np.any(groups != groups[:, :1]):
        raise SystemExit(f"there are {args.groups} groups in the graph")


if __name__ == "__main__":
    main()
