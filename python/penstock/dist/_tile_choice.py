"""What should stay in a product of tiles: the model asked for A, B and C, with the real tiles' directory."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from penstock import _core
from penstock._plan import probe
from penstock.dist import _calibrate
from penstock.dist._network import Network, networks
from penstock.dist._tile_counts import (
    ProductCounts,
    csr_bytes,
    dealt,
    parts,
    rows_alone,
    rows_that_travel,
    shares,
)
from penstock.dist._tile_model.cover import cover_seconds, cutting_seconds, may_win, turned
from penstock.dist._tile_price import ProductPrediction, price_product

__all__ = ["choose", "choose_cover", "choose_stationary", "count_maps", "network_of"]

_WORTH_MOVING = 0.95  # of the time with C stationary: less of a gain is not worth the queues
_MOST_CELLS = 2**21  # products of tiles that are priced; with more, C stays


def choose_stationary(
    c: ProductCounts, network: Network, *, steal: str = "none", prefetch: int = 1
) -> tuple[str, dict[str, ProductPrediction]]:
    """What should stay: (one of "a", "b", "c", the prediction of each). C, which needs no queues, unless another is
    clearly faster.

    Parameters
    ----------
    c : ProductCounts
        Of the real tiles.
    network : Network
    steal : str
        "none", "random" or "locality".
    """
    suffix = f"+{steal}" if steal not in ("", "none") else ""
    found = {
        name: price_product(c, network, name + suffix, prefetch=prefetch)
        for name in ("c", "a", "b")
    }
    best = min(found, key=lambda name: found[name].seconds)
    return (best if found[best].seconds < _WORTH_MOVING * found["c"].seconds else "c"), found


def _fit(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a.col_cuts, b.row_cuts))


def count_maps(a: Any, b: Any) -> ProductCounts:
    """From the directories of A and B (`TileMap`), without their entries: products of sparse tiles are counted as if
    entries were spread evenly within tiles. ValueError where B's rows are not cut as A's columns."""
    if not _fit(a, b):
        raise ValueError(
            f"A is {a.shape} in tiles of {a.tile_shape}, B {b.shape} in tiles of {b.tile_shape}: "
            "A's columns must be as many as B's rows, and be cut alike: cut B with like= the tiles of A"
        )
    if not a.sparse:
        raise ValueError("A's tiles are dense: give sparse ones")
    high, deep, wide = np.diff(a.row_cuts), np.diff(a.col_cuts), np.diff(b.col_cuts)
    word, grid = np.dtype(b.dtype).itemsize, tuple(a.grid)
    number = lambda m: 0 if m.dtype == "bool" else np.dtype(m.dtype).itemsize  # noqa: E731
    a_nnz = np.asarray(a.nnz).reshape(high.size, deep.size)
    a_bytes = csr_bytes(a_nnz, high, number(a))
    travel = None
    area = (high[:, None] * wide).astype(float)[:, None, :]
    if b.sparse:
        b_nnz = np.asarray(b.nnz).reshape(deep.size, wide.size)
        b_bytes = csr_bytes(b_nnz, deep, number(b))
        entry = 4 + (max(number(a), number(b)) or 8)
        products = a_nnz[:, :, None] * b_nnz[None] / np.maximum(deep, 1)[None, :, None]
        spread = lambda n, room: room * -np.expm1(-n / np.maximum(room, 1))  # noqa: E731
        part = spread(products, area)
        local = entry * (3 * part + 2 * products)
        c_nnz = spread(products.sum(1), area[:, 0])
        c_bytes, part, flops = csr_bytes(c_nnz, high, entry - 4), entry * part, 2 * products
        compression, spans = float(products.sum() / max(c_nnz.sum(), 1.0)), None
        if a.gathers and b.gathers:
            found = np.array(a.spans).reshape(*a_nnz.shape, 6)
            met = found[..., 5]
            entries = met[:, :, None] * b_nnz[None] / np.maximum(deep, 1)[None, :, None]
            travel = rows_alone(b_bytes, found[..., 3] - found[..., 2], met, entries, number(b))
    else:
        b_bytes = deep[:, None] * wide * float(word)
        c_bytes = area[:, 0] * word
        found = np.array(a.spans).reshape(*a_nnz.shape, 6)
        found = rows_that_travel(found, word * int(wide.max(initial=0)))
        spans = shares(found, high, deep)
        part, compression = parts(c_bytes, spans, high), 1.0
        flops = 2.0 * a_nnz[:, :, None] * wide
        local = (a_nnz > 0)[:, :, None] * (
            a_bytes[:, :, None] + b_bytes[None] * spans[..., 5:] + part
        )
    owners = (
        dealt(*a_nnz.shape, grid),
        dealt(*b_bytes.shape, tuple(b.grid)),
        dealt(*area[:, 0].shape, grid),
    )
    shape = (*a.shape, b.shape[1])
    op = "spgemm" if b.sparse else "spmm"
    return ProductCounts(
        op, grid[0] * grid[1], grid, shape, a_bytes, b_bytes, c_bytes, a_nnz, part, flops, local, *owners, compression,
        spans, travel,
    )  # fmt: skip


def choose(
    comm: Any,
    a: Any,
    b: Any,
    *,
    steal: str = "none",
    prefetch: int = 1,
    network: Any = None,
    gpus: bool = False,
) -> str:
    """`choose_stationary` for real tiles: one of "a", "b", "c". Collective: rank 0 decides, as files with a measured
    network may differ between hosts.

    Parameters
    ----------
    comm : Comm
    a, b : TileMap
    steal : str
        "none", "random" or "locality".
    network : Network, optional
        By default what `penstock probe --mpi` measured here, else the preset "shared-memory", or "hdr-infiniband" where
        `comm` is MPI's.
    gpus : bool
        Tiles are in the memory of GPUs: by default what `penstock probe` measured of those here, else the preset
        "h200".
    """
    name = "c"
    if comm.rank == 0 and comm.size > 1:
        cells = int(np.prod(a.tiles)) * b.tiles[1]
        if cells <= _MOST_CELLS:
            net = network or (_of_gpus() if gpus else network_of(comm))
            with contextlib.suppress(
                ValueError
            ):  # of tiles that do not fit: the product says so, on all ranks
                name = choose_stationary(count_maps(a, b), net, steal=steal, prefetch=prefetch)[0]
    return comm.share(name, 0) if comm.size > 1 else name


def choose_cover(
    A: Any, B: Any, name: str, *, prefetch: int = 1, network: Network | None = None
) -> str:
    """What should stay in a product of real tiles for which `choose` has found `name`: that, or "cover", once it pays
    to have cut A in two. Collective.

    Parameters
    ----------
    A, B : tiled_array
    name : str
        "a", "b" or "c".
    network : Network, optional
        As of `choose`.
    """
    a, b, comm = A._core.map, B._core.map, A.comm
    fits = not b.sparse and a.gathers and b.gathers and a.grid == b.grid and a.grid[0] > 1
    if (
        not fits
        or not _fit(a, b)
        or int(np.prod(a.tiles)) * b.tiles[1] > _MOST_CELLS
        or B.shape[1] in A._auto.lost
    ):
        return name
    seconds, was_cut = 0.0, A._core.is_split
    if comm.rank == 0:
        net = network or network_of(comm)
        _, found = choose_stationary(count_maps(a, b), net, prefetch=prefetch)
        seconds = found[name].seconds
        cut = was_cut
        if not cut:
            c = count_maps(a, b)
            A._auto.waited += max(0.0, seconds - found[name].compute)
            cut = may_win(c, found, net, _WORTH_MOVING) and A._auto.waited > cutting_seconds(c, net)
    if not comm.share(bool(cut) if comm.rank == 0 else None, 0):
        return name
    parts = _core.tile_split_maps(A._core)
    wins = False
    if comm.rank == 0 and parts is not None:
        stays, leaves = (count_maps(part, b) for part in parts)
        leaves = turned(leaves, *a.tiles, a.grid)
        wins = cover_seconds(stays, leaves, net, prefetch)[0] < _WORTH_MOVING * seconds
    if comm.share(wins if comm.rank == 0 else None, 0):
        return "cover"
    if not was_cut:
        A._core.drop_split()  # it would take A's memory once more for nothing
    A._auto.lost.add(B.shape[1])
    return name


def _of_gpus() -> Network:
    """Ranks with a GPU each, as the probe measured the GPUs of this machine; the preset, whose figures are others',
    where it did not."""
    preset, known = networks["h200"], probe.measured()
    if not known or not known["gpus"]:
        return preset
    gpu, gets = known["gpus"][0], known["one_sided"]
    peers = [g["peer"]["copy"] for g in known["gpus"] if g["peer"]]
    # Gets through host memory cross the link twice.
    rate = min(peers) if peers else gpu["h2d"]["bytes_per_s"] / 2
    latency = preset.inside.latency_s
    if gets:
        rate = max(size / seconds for size, seconds in gets["gets"])
        latency = min(seconds for _, seconds in gets["gets"]) / 2
    ranks, memory = preset.ranks_per_node, gpu["device_copy"]
    return replace(
        preset,
        name="gpus",
        source=f"measured by `penstock probe` on {known['measured_at']}",
        inside=replace(preset.inside, latency_s=latency, bytes_per_s=rate),
        node_bytes_per_s=rate,
        inside_bytes_per_s=ranks * rate,
        rank_read=memory,
        node_read=ranks * memory,
        cache_bytes=float(ranks * gpu["cache_bytes"]),
        cache_read=memory,
        node_cached=ranks * memory,
        # Of arithmetic the probe says nothing; products of tiles are bound by memory before.
        rank_flops=preset.rank_flops * memory / preset.rank_read,
    )


def network_of(comm: Any) -> Network:
    """What `penstock probe --mpi` measured here, else a preset for the kind of ranks."""
    found = _calibrate.known()
    return found or networks["shared-memory" if comm.name == "threads" else "hdr-infiniband"]
