"""Whether a product by a vertex cover (`stationary="cover"`) is worth cutting A in two, and whether it is the fastest.

Cutting takes time before it is known what it saves. So it is put off until products with the same A have spent as long
on the network as cutting will take: then at most half of the time is lost, whatever comes of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.dist._network import Network
from penstock.dist._tile_counts import ProductCounts, dealt
from penstock.dist._tile_price import Machine, ProductPrediction, play

__all__ = ["cover_seconds", "cutting_seconds", "may_win"]

# Of one entry of A, on its owner: the matching and both parts, seconds (bench/results/tile_rows.json: first calls of
# "cover", 1.9e-7 to 2.4e-7), and bytes that are sent to other ranks at most.
_ENTRY_S, _ENTRY_SENT = 2e-7, 20.0


def may_win(
    c: ProductCounts, found: dict[str, ProductPrediction], network: Network, share: float
) -> bool:
    """Whether less communication could make a product so much faster: `share` is what of its time may be left. Not
    where ranks of one machine copy the bytes: twice as many products then cost what copies save (docs/tiles.md)."""
    m = Machine(network, c.ranks)
    if m.copies and not m.node[-1]:
        return False
    best = min(found.values(), key=lambda p: p.seconds)
    without = min(p.compute for p in found.values())
    return c.op == "spmm" and c.grid[0] > 1 and without < share * best.seconds


def cutting_seconds(c: ProductCounts, network: Network) -> float:
    """Of the rank with most entries of A."""
    m = Machine(network, c.ranks)
    entries = float(np.bincount(c.a_owner.ravel(), c.a_nnz.ravel(), c.ranks).max(initial=0.0))
    return entries * (_ENTRY_S * m.turns + _ENTRY_SENT / m.far) + 2 * c.ranks * m.far_s


def cover_seconds(
    stays: ProductCounts, leaves: ProductCounts, network: Network, prefetch: int = 1
) -> tuple[float, int]:
    """Seconds of one product, and bytes that all ranks move. `stays`: A's entries that are multiplied where C is;
    `leaves`: those that are multiplied where B is, whose sums travel."""
    m = Machine(network, stays.ranks)
    of_b, of_c = play(leaves, m, "b", prefetch), play(stays, m, "c", prefetch)
    total = of_b.total() + of_c.total()
    moved = of_b.fetched.sum() + of_c.fetched.sum()
    return float(total.max(initial=0.0)) + network.call_s, int(moved)


def turned(c: ProductCounts, rows: int, cols: int, grid: Any) -> ProductCounts:
    """The part of A that goes to B lies on the grid turned over."""
    return replace(c, a_owner=dealt(cols, rows, grid).T)
