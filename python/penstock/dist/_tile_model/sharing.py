"""What the ranks of a node share in a product of tiles, for the model: who fetches for whom, and how many bytes cross.

The core plans the same for real tiles (`share_within_nodes`). Rows of B that cross are counted from A's entries; of
sums of one node, rows are counted as if those of its tiles of A were independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock._matrix.csr import csr_array
from penstock._matrix.spgemm import spgemm
from penstock.dist._tile_counts import ProductCounts, rows_alone, worth_naming

__all__ = ["Shared", "share_sums", "share_tiles"]


@dataclass(frozen=True)
class Shared:
    """Of products, one entry each: whether its tile is shared in its node, and the rank that has it there. Of what is
    shared, one entry each: who fetches or adds it, bytes that cross, and the tile's owner."""

    some: np.ndarray
    source: np.ndarray
    rank: np.ndarray
    bytes: np.ndarray
    owner: np.ndarray


def _groups(key: np.ndarray, who: np.ndarray) -> tuple[np.ndarray, ...]:
    """Products of one key that two or more ranks have: (product's group or -1, a rank of each group, the groups' first
    products). The rank is the one with the fewest groups before."""
    pairs, at = np.unique(np.stack([key, who]), axis=1, return_index=True)
    keys, begin, users = np.unique(pairs[0], return_index=True, return_counts=True)
    several = users > 1
    number = np.where(several, np.cumsum(several) - 1, -1)
    had = np.zeros(int(who.max(initial=0)) + 1, np.int64)
    rank = np.empty(int(several.sum()), np.int64)
    for g, (first, count) in enumerate(zip(begin[several], users[several], strict=True)):
        ranks = pairs[1][first : first + count]
        rank[g] = ranks[np.argmin(had[ranks])]
        had[rank[g]] += 1
    return number[np.searchsorted(keys, key)], rank, at[begin][several]


def share_tiles(
    c: ProductCounts, node: np.ndarray, who: np.ndarray, at: tuple[np.ndarray, ...], of_a: bool
) -> Shared:
    """Of A whole tiles cross once for all ranks of a node, of B the rows that any of them needs. `at`: i, k, j."""
    i, k, j = at
    owner = c.a_owner[i, k] if of_a else c.b_owner[k, j]
    tile = i * c.tiles[1] + k if of_a else k * c.tiles[2] + j
    far = np.flatnonzero(node[owner] != node[who])
    size = c.tiles[0] * c.tiles[1] if of_a else c.tiles[1] * c.tiles[2]
    group, rank, first = _groups(node[who[far]].astype(np.int64) * size + tile[far], who[far])
    first = far[first]
    inside = group >= 0
    some, source = np.zeros(who.size, bool), owner.copy()
    some[far[inside]] = True
    source[far[inside]] = rank[group[inside]]
    crosses = c.a[i[first], k[first]]
    if not of_a:
        crosses = _unions(c, i[far[inside]], group[inside], k[first], j[first])
    return Shared(some, source, rank, crosses, owner[first])


def _unions(
    c: ProductCounts, i: np.ndarray, group: np.ndarray, k: np.ndarray, j: np.ndarray
) -> np.ndarray:
    """Bytes of the rows of B[k, j] that the tiles A[i, k] of each group name."""
    if not k.size or c.lists is None:
        return np.zeros(k.size)
    spread, gathered = c.lists()
    # Groups with the same rows of tiles and the same k need the same rows.
    order = np.lexsort((i, group))
    i, group = i[order], group[order]
    ends = np.searchsorted(group, np.arange(k.size + 1))
    found: dict[tuple[int, bytes], int] = {}
    number, columns = np.empty(k.size, np.int64), []
    for g in range(k.size):
        mine = np.unique(i[ends[g] : ends[g + 1]])
        number[g] = found.setdefault((int(k[g]), mine.tobytes()), len(found))
        if number[g] == len(columns):
            rows = mine * c.tiles[1] + int(k[g])
            lists = [spread.indices[spread.indptr[r] : spread.indptr[r + 1]] for r in rows]
            columns.append(np.unique(np.concatenate(lists)))
    met = np.array([x.size for x in columns])
    between = np.array([x[-1] - x[0] + 1 if x.size else 0 for x in columns])
    if gathered is None:
        depth = -(-c.shape[1] // c.tiles[1])
        deep = np.maximum(np.minimum(depth, c.shape[1] - k * depth), 1)
        met, between, row = met[number], between[number], c.b[k, j] / deep
        return np.rint(row * np.where(worth_naming(met, between, row), met, between))
    rows = csr_array(
        (np.ones(int(met.sum())), np.concatenate(columns), np.append(0, np.cumsum(met))),
        shape=(met.size, c.shape[1]),
    )
    entries = spgemm(rows, gathered).toarray()[number, j]
    size, _ = rows_alone(
        c.b[k, j][:, None], between[number][:, None], met[number][:, None],
        entries[:, None, None], c.word_of_b, alone=True,
    )  # fmt: skip
    return size.ravel()


def share_sums(
    c: ProductCounts,
    node: np.ndarray,
    who: np.ndarray,
    at: tuple[np.ndarray, ...],
    part: np.ndarray,
) -> Shared:
    """Sums of a node for another node's tile are added by one of its ranks. `part`: bytes of each product's."""
    i, _, j = at
    owner = c.c_owner[i, j]
    far = np.flatnonzero(node[owner] != node[who])
    tiles = c.tiles[0] * c.tiles[2]
    key = node[who[far]].astype(np.int64) * tiles + i[far] * c.tiles[2] + j[far]
    group, rank, first = _groups(key, who[far])
    first, inside = far[first], group >= 0
    some, source = np.zeros(who.size, bool), owner.copy()
    some[far[inside]] = True
    source[far[inside]] = rank[group[inside]]
    whole = np.maximum(c.c[i[first], j[first]], 1.0)
    share = np.minimum(part[far[inside]] / whole[group[inside]], 1.0)
    left = np.exp(np.bincount(group[inside], np.log1p(-np.minimum(share, 1 - 1e-12)), rank.size))
    return Shared(some, source, rank, whole * (1 - left), owner[first])
