"""The rooflines of Brock, Buluc and Yelick 2024 (section 4): of a local product, and of the network between ranks.

The roof of the inter-node roofline is the local one: a product can be no faster than its rank's memory lets it, nor
than flops for each byte that the network carries, times the network's rate.

>>> import penstock as ps
>>> from penstock.dist._tile_counts import count_spmm
>>> r = roofline(count_spmm(ps.generate.rmat(10, seed=1), 128, 16), ps.dist.networks["summit"])
>>> r.bound, r.flops_per_s == r.network_flops_per_s < r.local_flops_per_s
('network', True)
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.dist._network import Network
from penstock.dist._tile_counts import ProductCounts
from penstock.dist._tile_price import Machine

__all__ = ["Roofline", "roofline", "spgemm_intensity", "spmm_intensity"]


@dataclass(frozen=True)
class Roofline:
    """Of one product on so many ranks, C stationary. Rates are a rank's; seconds are of the whole product, balanced."""

    op: str
    ranks: int
    shape: tuple[int, int, int]
    compression: float
    local_intensity: float  # flops for each byte of memory
    network_intensity: (
        float  # flops for each byte that a rank fetches; infinite where none is fetched
    )
    memory_bytes_per_s: float
    network_bytes_per_s: float
    peak_flops_per_s: float  # infinite where the network does not tell it
    local_flops_per_s: float  # the roof: under memory and peak
    network_flops_per_s: float  # under the network
    seconds: float

    @property
    def flops_per_s(self) -> float:
        """The bound."""
        return min(self.local_flops_per_s, self.network_flops_per_s)

    @property
    def bound(self) -> str:
        """What bounds: "network", "memory" or "peak"."""
        if self.network_flops_per_s < self.local_flops_per_s:
            return "network"
        return "peak" if self.local_flops_per_s == self.peak_flops_per_s else "memory"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: infinities are None."""
        plain = {
            k: None if isinstance(v, float) and math.isinf(v) else v
            for k, v in asdict(self).items()
        }
        limit = self.flops_per_s
        return {**plain, "shape": list(self.shape), "bound": self.bound,
                "flops_per_s": None if math.isinf(limit) else limit}  # fmt: skip


def roofline(c: ProductCounts, network: Network, *, efficiency: float = 1.0) -> Roofline:
    """From counted or real tiles. On several nodes the network is a rank's share of its node's adapter, else of what
    the node carries inside."""
    m = Machine(network, c.ranks, efficiency)
    flops, local = float(c.flops.sum()), float(c.local.sum())
    some = c.done
    i, k, j = np.ogrid[: some.shape[0], : some.shape[1], : some.shape[2]]
    who = c.c_owner[i, j]
    b = c.needed_of_b(i, k, j)
    moved = some * (c.a[i, k] * (c.a_owner[i, k] != who) + b * (c.b_owner[k, j] != who))
    fetched = float(moved.sum())
    memory, peak = m.memory / m.turns, m.flops / m.turns
    near_roof = min(peak, flops / local * memory) if local else peak
    wire = flops / fetched * m.far if fetched else math.inf
    best = min(near_roof, wire)
    return Roofline(
        c.op, c.ranks, c.shape, c.compression, flops / local if local else 0.0,
        flops / fetched if fetched else math.inf, memory, m.far, peak, near_roof, wire,
        flops / c.ranks / best if best else 0.0,
    )  # fmt: skip


def spmm_intensity(
    m: int, k: int, n: int, density: float, ranks: int, word: int = 4
) -> tuple[float, float]:
    """(local, inter-node) flops a byte by the paper's formulas: sqrt(ranks) tiles a side, indices as wide as values.

    >>> local, network = spmm_intensity(1000, 1000, 100, 0.01, 4)
    >>> round(local, 3), round(network, 3)
    (1.126, 2.049)
    """
    side = math.sqrt(ranks)
    flops = 2 * density * m * k / ranks * n / side
    sparse = 2 * density * m * k / ranks + m / side + 1
    dense_b, dense_c = k * n / ranks, m * n / ranks
    return flops / (word * (sparse + dense_c + dense_b)), flops / (word * (sparse + dense_b))


def spgemm_intensity(
    m: int, k: int, n: int, density: float, ranks: int, flops: float, compression: float,
    word: int = 4, entry: int = 8,
) -> tuple[float, float]:  # fmt: skip
    """(local, inter-node) flops a byte by the paper's formulas; `flops` of one product of tiles. The local bound,
    cf / ((3 + 2 cf) b), is Gu et al.'s (2020), who count products; ours are flops, two each. `entry`: their b, bytes of
    an entry."""
    side = math.sqrt(ranks)
    a = 2 * density * m * k / ranks + m / side + 1
    b = 2 * density * k * n / ranks + k / side + 1
    local = 2 * compression / ((3 + 2 * compression) * entry)
    return local, flops / (word * (a + b))
