"""Seconds of each rank's own product: its bytes at the rate of the level that holds them, and its rows besides.

A rank alone takes `bytes / rate + rows * row_s + uneven * uneven_s`. The rate is that of products with long rows whose
bytes are as many: a core's work where caches hold them, memory's beyond. Rows that are not as long as the one before
end loops that a processor foretold wrongly, and a vector's last entries go unused; reading does not hide that. Ranks of
a node read no faster than all of them together do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.dist._layouts import Counts
from penstock.dist._network import Network

__all__ = ["BOUNDS", "Irregular", "Local", "local"]

# What a rank's own product waits for most, by `Prediction.bound`.
BOUNDS = {
    "bytes": "reading its matrix and vectors on one rank",
    "node": "what the ranks of a node read together",
    "rows": "beginning rows",
    "uneven": "rows whose lengths differ",
}


# A factor on the bytes: of the whole matrix on one rank, or of that and of rows that lie in cache.
Irregular = float | tuple[float, float]
_SHARED = 1.1  # times a rank's own time for its bytes, from which on the node is what it waits for
_LEAST_GATHER = 0.02  # of an entry's time, that reading x at random costs at least


@dataclass(frozen=True)
class Local:
    """Arrays have one number a rank: `seconds`, and what they are made of: the larger of `bytes` and `node`, and the
    rest."""

    seconds: np.ndarray
    bytes: np.ndarray
    rows: np.ndarray
    uneven: np.ndarray
    node: np.ndarray

    def bound(self) -> str:
        """Of the slowest rank: a name in BOUNDS."""
        r = int(self.seconds.argmax())
        if self.node[r] <= _SHARED * self.bytes[r]:
            return max(("bytes", "rows", "uneven"), key=lambda name: float(getattr(self, name)[r]))
        return max(BOUNDS, key=lambda name: float(getattr(self, name)[r]))


def _gather(c: Counts, w: Network) -> tuple[Any, Any]:
    """What an entry costs more where x is read at random, in seconds: of each rank, and where x is whole. A rank that
    needs all of x, however small its own part, reads it so; it reads two parts one after the other, its own and the
    halo, and pays for how large they are."""
    own = c.owned_x.astype(float)
    halo = np.bincount(c.pairs[:, 1], c.x, minlength=c.ranks) if c.pairs.size else 0 * own
    size, more = np.log(np.array([n for n, _ in w.gather_s])), np.array([s for _, s in w.gather_s])

    def cost(entries: Any) -> Any:
        bytes_ = np.log(np.maximum(entries * c.entry_bytes, 1.0))
        return np.interp(bytes_, size, more) + _LEAST_GATHER * 12 / w.cache_read

    needs, fair = (own + halo) / max(c.shape[1], 1), 1 / c.ranks
    random = np.clip((needs - fair) / (1 - fair), 0.0, 1.0)
    parts = (own * cost(own) + halo * cost(halo)) / np.maximum(own + halo, 1.0)
    whole = cost(float(c.shape[1]))
    return random * np.minimum(parts, whole) + (1 - random) * whole, whole


def _still_irregular(
    c: Counts, w: Network, irregular: Irregular, size: np.ndarray, total: np.ndarray
) -> Any:
    """What is left of the whole matrix's factor on one rank where ranks have parts of it. Where it lies in memory and
    parts lie in caches, it becomes that of rows in cache; where that is not known, as much less as memory adds to
    reading, for there it is prefetching that fails. What it has above 1 falls with what an entry's gathering costs."""
    whole, cached = irregular if isinstance(irregular, tuple) else (irregular, None)
    if c.ranks == 1 or (whole <= 1 and cached is None):
        return whole
    left: Any = whole
    if w.rank_products:
        far = _in_memory(w.rank_products, c.read_bytes.sum(keepdims=True).astype(float))
        here = _in_memory(w.rank_products, size)
        if w.node_products:
            here = np.maximum(here, _in_memory(w.node_products, total))
        if cached is None:
            cached = 1 + (whole - 1) * (1 - far)
        left = cached + (whole - cached) * np.minimum(here / np.maximum(far, 1e-9), 1.0)
    if w.gather_s:
        mine, whole_x = _gather(c, w)
        left = np.where(left > 1, 1 + (left - 1) * mine / whole_x, left)
    return left


def _per_byte(curve: tuple[tuple[float, float], ...], size: np.ndarray) -> np.ndarray:
    """Seconds of a byte where a product reads so many: between measured sizes, linear in their logarithms."""
    sizes, rates = np.array(curve).T
    return np.interp(np.log(np.maximum(size, 1.0)), np.log(sizes), 1 / rates)


def _in_memory(curve: tuple[tuple[float, float], ...], size: np.ndarray) -> np.ndarray:
    """0 where a product reads so many bytes as fast as any, 1 where as slowly."""
    slow = 1 / np.array([rate for _, rate in curve])
    return (_per_byte(curve, size) - slow.min()) / max(slow.max() - slow.min(), 1e-30)


def _rates(w: Network, size: np.ndarray, total: np.ndarray, turns: np.ndarray) -> Any:
    """Seconds of a byte of a rank alone, and of all of a node. `turns`: ranks that share a core and its caches."""
    cached = np.clip(2.0 - total / max(w.cache_bytes, 1.0), 0.0, 1.0)  # all, none at twice
    one = cached / w.cache_read + (1 - cached) / min(w.rank_read, w.cache_read)
    both = cached / w.node_cached + (1 - cached) / min(w.node_read, w.node_cached)
    if w.rank_products:
        one = _per_byte(w.rank_products, size * turns)
    if w.node_products:
        both = _per_byte(w.node_products, total)
    return one, both


def local(c: Counts, n: Any, irregular: Irregular) -> Local:
    """Of all ranks. `n`: which ranks share a node (`penstock.dist._price`)."""
    w: Network = n.network
    own, again = c.read_bytes.astype(float), c.again_bytes.astype(float)
    turns = np.maximum(1.0, n.filled[n.node] / n.at_once)
    one, both = _rates(w, own + again, n.total(own + again), turns)
    size, total = (own + again) * turns, n.total(own + again)
    moved = _still_irregular(c, w, irregular, size, total) * own + again
    parts = moved * one, w.row_s * c.walked, w.uneven_s * (c.uneven + 0 * c.walked)
    node = n.total(moved) * both
    reads = np.maximum(n.shared(parts[0]), node)
    return Local(reads + n.shared(parts[1] + parts[2]), *parts, node)
