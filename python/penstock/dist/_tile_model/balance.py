"""Whether uneven products of tiles are dealt to other ranks, and at which price of a byte."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from penstock.dist._tile_choice import count_maps, network_of
from penstock.dist._tile_price import Machine

__all__ = ["operations_per_byte"]

MOST_PRODUCTS = 2**18  # of tiles: the core deals no more


def operations_per_byte(
    a: Any, b: Any, comm: Any, network: Any = None, *, forced: bool = False
) -> float:
    """Operations that a rank does in the time of a byte between ranks, by the model; below 0: nothing is dealt, because
    ranks share CPUs, and one that waits leaves its CPU to others. `forced`: it is dealt all the same. Collective: rank
    0 decides, as files with a measured network may differ between hosts.

    Parameters
    ----------
    a, b : TileMap
    comm : ps.dist.Comm
    network : Network, optional
        As of `choose`.
    """
    found = -1.0
    if comm.rank == 0:
        machine = Machine(network or network_of(comm), comm.size)
        counts = None
        if int(np.prod(a.tiles)) * b.tiles[1] <= MOST_PRODUCTS and (forced or machine.turns == 1):
            with contextlib.suppress(
                ValueError
            ):  # of tiles that do not fit: the product says so, on all ranks
                counts = count_maps(a, b)
        flops = 0.0 if counts is None else float(counts.flops.sum())
        if counts is not None and flops > 0:
            seconds = float(machine.work(counts.flops, counts.local).sum()) / machine.turns
            found = flops / seconds / (machine.far if machine.node[-1] else machine.near)
    return float(comm.share(found, 0))
