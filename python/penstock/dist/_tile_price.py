"""Seconds of a product of tiles by each algorithm, from its counts and a network; after Brock, Buluc and Yelick 2024.

Of one-sided algorithms every rank is played alone: its gets run one product ahead, partial products go to the owner of
their tile of C, which adds them up, and all meet at the end. SUMMA is played stage by stage: a broadcast waits for its
row and column. Stealing is a fluid: what ranks would wait at the end, they spend on others' products, at what those
cost them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.dist._network import Network
from penstock.dist._tile_counts import ProductCounts, one_by_one
from penstock.dist._tile_model.sharing import Shared, share_sums, share_tiles

__all__ = ["ALGORITHMS", "ProductPrediction", "price_product"]

ALGORITHMS = {
    "c": "tiles of C stay, A and B are fetched",
    "a": "tiles of A stay, B is fetched, partial products travel",
    "b": "tiles of B stay, A is fetched, partial products travel",
    "summa": "bulk-synchronous: A broadcast along rows, B along columns",
    "c+random": "C stays, idle ranks steal anywhere",
    "a+random": "A stays, idle ranks steal anywhere",
    "b+random": "B stays, idle ranks steal anywhere",
    "c+locality": "C stays, idle ranks steal what they own a tile of",
    "a+locality": "A stays, idle ranks steal what they own a tile of",
    "b+locality": "B stays, idle ranks steal what they own a tile of",
}
REPLICATED = {
    f"c*{n}": f"C stays, summed up in {n} copies by layers of ranks, which travel"
    for n in (2, 4, 8)
}  # where n divides a side of the grid
NODES = {
    f"{stays}+nodes": f"{stays.upper()} stays; what ranks of a node share crosses between nodes once"
    for stays in "abc"
}
_ADDED = 3.0  # times the bytes of a partial product that adding it to C moves: read both, write one
_PLACED = 2.0  # times the bytes of a sparse tile of C that putting it in its owner's arena moves


@dataclass(frozen=True)
class ProductPrediction:
    """compute + communicate + accumulate + imbalance = seconds. The first three are means over ranks, and imbalance is
    what ranks wait for the last one on average, as the columns of the paper's Table 2; of SUMMA, for one another at
    every stage."""

    algorithm: str
    op: str
    ranks: int
    grid: tuple[int, int]
    tiles: tuple[int, int, int]
    seconds: float
    compute: float
    communicate: float
    accumulate: float
    imbalance: float
    gflops: float
    flops: float
    bytes_most: int  # that one rank fetches, partial products included
    bytes_all: int
    bytes_far: int | None  # of these, those that cross between nodes; None: not counted (SUMMA)
    messages_all: int  # gets (SUMMA: broadcasts received)
    memory_most: int  # bytes of one rank's tiles and buffers
    flops_imbalance: float  # most over mean flops of a rank, before any stealing
    nnz_imbalance: float

    @property
    def layout(self) -> str:
        return self.algorithm

    @property
    def ratio(self) -> float:
        """Communication and accumulation over computation."""
        return (self.communicate + self.accumulate) / self.compute if self.compute else 0.0


class Machine:
    """What the network gives one rank while all are busy."""

    def __init__(self, network: Network, ranks: int, efficiency: float = 1.0) -> None:
        self.network, self.ranks = network, ranks
        per = network.ranks_per_node if network.outside else max(ranks, 1)
        self.node = np.arange(ranks) // per
        here = min(per, ranks)
        inside, outside = network.inside, network.outside
        self.turns = max(1.0, here / max(1, network.at_once))
        running = min(here, max(1, network.at_once))
        self.memory = min(network.rank_read, network.node_read / running) * efficiency
        self.flops = (network.rank_flops or math.inf) * efficiency
        self.near = min(inside.bytes_per_s, network.inside_bytes_per_s / here)
        self.copies = inside.copied_by_ranks
        # There and back, unless a rank reaches for the bytes itself.
        self.near_s = inside.latency_s * (1 if self.copies else 2) + inside.overhead_s
        self.far, self.far_s = self.near, self.near_s
        if outside and self.node[-1]:
            self.far = min(outside.bytes_per_s, network.node_bytes_per_s / here)
            self.far_s = 2 * outside.latency_s + outside.overhead_s
        self.claim_s = inside.overhead_s

    def work(self, flops: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """The local roofline."""
        return np.maximum(flops / self.flops, moved / self.memory) * self.turns

    def get(self, size: np.ndarray, to: np.ndarray, source: np.ndarray) -> tuple[np.ndarray, ...]:
        """Seconds that the rank itself spends on a get, seconds that may pass meanwhile, bytes."""
        moved = np.where((to != source) & (size > 0), size, 0.0)
        near = self.node[to] == self.node[source]
        seconds = np.where(near, self.near_s + moved / self.near, self.far_s + moved / self.far)
        seconds = np.where(moved > 0, seconds, 0.0)
        own = seconds * (near & self.copies) * self.turns
        return own, seconds * ~(near & self.copies), moved


@dataclass
class _Played:
    """Of each rank, in seconds; `stolen_s`: what a second of its work costs another rank."""

    compute: np.ndarray
    communicate: np.ndarray
    accumulate: np.ndarray
    fetched: np.ndarray  # bytes
    messages: int
    longest: float  # product, as seconds
    far: int | None = None  # bytes that cross between nodes
    stolen_s: float = 1.0

    def total(self) -> np.ndarray:
        return self.compute + self.communicate + self.accumulate


def layered(c: ProductCounts, copies: int, i: Any, k: Any, j: Any) -> Any:
    """The rank of product (i, k, j) where C stays in so many copies, as GridLayers of the core."""
    rows, cols = c.grid
    if cols % copies and rows % copies:
        raise ValueError(
            f"c*{copies} on a grid of {rows} x {cols} ranks: {copies} divides neither of its sides"
        )
    row, col = np.asarray(i) % rows, np.asarray(j) % cols
    layer = np.asarray(k) % copies
    if cols % copies == 0:
        return row * cols + col - col % copies + layer
    return (row - row % copies + layer) * cols + col


def play(c: ProductCounts, m: Machine, stays: str, prefetch: int, stealing: str = "") -> _Played:
    """A one-sided algorithm."""
    at = np.nonzero(c.done)
    i, k, j = at
    size = c.tiles
    stays, _, copied = stays.partition("*")
    copies = int(copied or 1)
    ao, bo, co = c.a_owner[i, k], c.b_owner[k, j], c.c_owner[i, j]
    who = {"a": ao, "b": bo, "c": co}[stays] if copies == 1 else layered(c, copies, i, k, j)
    tile, turn = {
        "c": (i * size[2] + j, (k - i - j) % size[1]),
        "a": (i * size[1] + k, (j - i - k) % size[2]),
        "b": (k * size[2] + j, (i - k - j) % size[0]),
    }[stays]
    if copies > 1:
        tile = tile * copies + k % copies
    order = np.argsort((who.astype(np.int64) * (tile.max(initial=0) + 1) + tile) * max(size) + turn)
    i, k, j, who, ao, bo, co = (v[order] for v in (i, k, j, who, ao, bo, co))
    wanted = c.a[i, k] * (ao != who), c.needed_of_b(i, k, j) * (bo != who)
    order = _soonest(c, who, tile[order], wanted)
    i, k, j, who, ao, bo, co = (v[order] for v in (i, k, j, who, ao, bo, co))
    work = m.work(c.flops[i, k, j], c.local[i, k, j])
    a_size, b_size, first_size = c.a[i, k], c.needed_of_b(i, k, j), c.offsets_of_b(i, k, j)
    early = _asks_for_a_early(c, prefetch, who, i, k, ao != who, (bo != who, first_size > 0))
    here_a, here_b = _here_already(c, prefetch, early, who, i, k, j, first_size > 0)
    crossing: list[Shared] = []
    shared = stealing == "nodes"
    if shared:
        crossing = [share_tiles(c, m.node, who, (i, k, j), of_a) for of_a in (True, False)]
        ao, bo = (s.source for s in crossing)
    own_a, soon_a, got_a = m.get(np.where(here_a, 0.0, a_size), who, ao)
    own_b, soon_b, got_b = m.get(np.where(here_b, 0.0, b_size - first_size), who, bo)
    own_o, soon_o, got_o = m.get(first_size, who, bo)
    own, soon = own_a + own_b + own_o, soon_a + soon_b + soon_o
    fetched = int(np.count_nonzero(got_a) + np.count_nonzero(got_b) + np.count_nonzero(got_o))
    got_b = got_b + got_o
    first = np.concatenate([[True], who[1:] != who[:-1]]) if who.size else np.zeros(0, bool)
    before = np.where(first, 0.0, np.roll(work, 1)) if prefetch else np.zeros_like(soon)
    waits = own + np.maximum(0.0, soon - before)
    part = np.broadcast_to(c.part, size)[i, k, j]
    if c.spans is not None:
        part = np.rint(part)  # whole rows
    leaves = part
    if copies > 1 and who.size:  # a copy of a tile leaves once, with its first product
        key = (i * size[2] + j) * copies + k % copies
        begin = np.flatnonzero(
            np.concatenate([[True], (key[1:] != key[:-1]) | (who[1:] != who[:-1])])
        )
        leaves = np.zeros(who.size)
        whole = c.c[i[begin], j[begin]]
        if c.spans is None:
            leaves[begin] = np.minimum(np.add.reduceat(part, begin), whole)
        else:  # rows that its products touch, at most all from the first to the last
            rows = c.spans[i, k]
            ends = np.maximum.reduceat(rows[:, 1], begin)
            between = np.rint(whole * (ends - np.minimum.reduceat(rows[:, 0], begin)))
            leaves[begin] = np.minimum(np.add.reduceat(part, begin), between)
    to = co
    if shared:
        sums = share_sums(c, m.node, who, (i, k, j), leaves)
        to = sums.source
    push, later, sent = m.get(leaves, to, who)  # the owner fetches it
    added = _ADDED * leaves / m.memory * m.turns
    if c.op == "spmm":
        added = np.where(to == who, 0.0, added)  # a dense product adds to its own C by itself
    elif copies > 1:
        added = _ADDED * np.where(co == who, part, part + leaves) / m.memory * m.turns
    elif c.op == "spgemm" and size[1] == 1:
        added = np.zeros_like(added)
    each = lambda where, v: np.bincount(where, v, minlength=c.ranks) * 1.0  # noqa: E731
    claims = m.claim_s if stealing and not shared else 0.0
    queued = np.where(sent > 0, m.far_s, 0.0)
    accumulate = each(to, push + later + added) + each(who, queued) + _place(c, m)
    distant = lambda source, to, v: float(v[m.node[source] != m.node[to]].sum())  # noqa: E731
    far = distant(ao, who, got_a) + distant(bo, who, got_b) + distant(who, to, sent)
    played = _Played(
        each(who, work), each(who, waits + claims), accumulate,
        each(who, got_a + got_b) + each(to, sent),
        fetched + int(np.count_nonzero(sent)),
        float((work + waits).max(initial=0.0)),
    )  # fmt: skip
    for s in crossing:  # before the first product
        _cross(played, s, s.rank, m)
        far += float(s.bytes.sum())
    if shared:
        _cross(played, sums, sums.owner, m, added=True)
        far += float(sums.bytes.sum())
    played.far = round(far)
    served = each(ao, got_a) + each(bo, got_b) + each(who, sent)
    short = np.maximum(0.0, served / m.far - played.total())  # a source that all ask takes its time
    played.communicate += short
    if stealing and not shared and work.sum() > 0:
        remote = lambda size: np.where(size > 0, m.far_s + size / m.far, 0.0)  # noqa: E731
        all_a, all_b, all_c = remote(a_size), remote(b_size), remote(part)
        fetch = all_a + all_b + all_c
        if stealing == "locality":  # one of the two that did not stay is the thief's
            pair = {"a": (all_b, all_c), "b": (all_a, all_c), "c": (all_a, all_b)}[stays]
            fetch = fetch - (pair[0] + pair[1]) / 2
        mine = float((work + waits + added).sum())
        played.stolen_s = float((work + fetch + added + 2 * m.far_s).sum()) / mine
    return played


def _cross(p: _Played, s: Shared, to: np.ndarray, m: Machine, added: bool = False) -> None:
    """Adds what crosses for all ranks of a node to those that get it. `added`: to their tiles of C."""
    each = lambda v: np.bincount(to, v, m.ranks) * 1.0  # noqa: E731
    seconds = np.where(s.bytes > 0, m.far_s + s.bytes / m.far, 0.0)
    if added:
        p.accumulate += each(seconds + _ADDED * s.bytes / m.memory * m.turns)
    else:
        p.communicate += each(seconds)
    p.fetched += each(s.bytes)
    p.messages += int(np.count_nonzero(s.bytes))


def _soonest(
    c: ProductCounts, who: np.ndarray, tile: np.ndarray, waits: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The order of products where each rank begins its first tile with what it has to fetch least for, as the executor
    does: even if all others of a row or column of the grid ask the same owner. `waits`: bytes of A and B."""
    order = np.arange(who.size)
    new = np.ones(who.size, bool)
    new[1:] = (who[1:] != who[:-1]) | (tile[1:] != tile[:-1])
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], who.size)
    first = np.ones(begins.size, bool)
    first[1:] = who[begins[1:]] != who[begins[:-1]]
    alone = waits[0] + waits[1]
    crowded = waits[0] * max(c.grid[1] - 1, 1) + waits[1] * max(c.grid[0] - 1, 1)
    for begin, end in zip(begins[first], ends[first], strict=True):
        best = int(np.argmin(crowded[begin:end]))
        if crowded[begin + best] < alone[begin]:
            order[begin:end] = np.roll(order[begin:end], -best)
    return order


def _asks_for_a_early(
    c: ProductCounts,
    prefetch: int,
    who: np.ndarray,
    i: np.ndarray,
    k: np.ndarray,
    far_a: np.ndarray,
    b: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Whether the rank of each product fetches tiles of A one product ahead of B: another rank's tile of A, or row
    offsets of a sparse B, say which rows of B travel. `far_a`, b[0]: whether A's and B's tile are other ranks'; b[1]:
    whether row offsets are asked for."""
    if not prefetch:
        return np.zeros(who.size, bool)
    waits = b[0] & b[1]
    if c.spans is not None:
        waits = far_a & b[0] & one_by_one(c.spans[i, k, 5], c.spans[i, k, 2:4])
    return np.bincount(who, waits, c.ranks)[who] > 0  # type: ignore[no-any-return]


def _here_already(
    c: ProductCounts,
    prefetch: int,
    early: np.ndarray,
    who: np.ndarray,
    i: np.ndarray,
    k: np.ndarray,
    j: np.ndarray,
    some: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Whether one of the products before, whose tiles a rank still has, had the tile of A, and what is needed of that
    of B. `early`: where tiles of A are asked for one product ahead, they stay one longer. `some`: of a sparse tile of B
    single rows are fetched."""
    kept = prefetch + 1 + early
    a, b = np.zeros(who.size, bool), np.zeros(who.size, bool)
    spans = np.zeros((who.size, 6)) if c.spans is None else c.spans[i, k]
    begin, end = spans[:, 2], spans[:, 3]
    whole = ~some & ~one_by_one(spans[:, 5], spans[:, 2:4])
    for back in range(1, min(kept.max(initial=0), who.size - 1) + 1):
        new, old = slice(back, None), slice(None, -back)
        same = (who[new] == who[old]) & (k[new] == k[old]) & (kept[new] >= back)
        a[new] |= same & (i[new] == i[old])
        covered = whole[old] & (begin[new] >= begin[old]) & (end[new] <= end[old])
        b[new] |= same & (j[new] == j[old]) & covered & (back <= prefetch + 1)
    return a, b


def _place(c: ProductCounts, m: Machine) -> np.ndarray:
    """Seconds of each rank."""
    if c.op == "spmm":
        return np.zeros(c.ranks)
    moved = np.bincount(c.c_owner.ravel(), c.c.ravel(), c.ranks)
    return _PLACED * moved / m.memory * m.turns


def _steal(p: _Played) -> tuple[float, np.ndarray, np.ndarray]:
    """(end, seconds that each rank loses, seconds that each spends on others'): thieves take `stolen_s` as long."""
    total = p.total()
    low, high = float(total.mean()), float(total.max(initial=0.0))
    for _ in range(60):
        end = (low + high) / 2
        room, left = np.maximum(0.0, end - total).sum(), np.maximum(0.0, total - end).sum()
        low, high = (low, end) if room >= left * p.stolen_s else (end, high)
    end = min(float(total.max(initial=0.0)), high + p.longest / 2)  # products are not cut
    lost = np.maximum(0.0, total - end)
    room = np.maximum(0.0, end - total)
    spent = room * min(1.0, lost.sum() * p.stolen_s / max(room.sum(), 1e-300))
    return end, lost, spent


def _summa(c: ProductCounts, m: Machine) -> tuple[_Played, float]:
    """Played stage by stage, and when it ends."""
    rows, cols = c.grid
    rank = np.arange(c.ranks).reshape(rows, cols)
    size = c.tiles
    finish = np.zeros((rows, cols))
    made = {
        name: np.zeros((rows, cols)) for name in ("compute", "communicate", "accumulate", "bytes")
    }
    across = np.array([np.ptp(m.node[r]) > 0 for r in rank])
    along = np.array([np.ptp(m.node[r]) > 0 for r in rank.T])
    longest, messages = 0.0, 0

    def fold(v: np.ndarray, axis: int, n: int) -> np.ndarray:
        return np.stack(
            [v.take(range(q, v.shape[axis], n), axis).sum(axis) for q in range(n)], axis
        )

    part = np.broadcast_to(c.part, size)
    for k in range(size[1]):
        a = fold(c.a[:, k], 0, rows)
        b = fold(c.b[k], 0, cols)
        ta, tb = _broadcast(a, cols, across, m)[:, None], _broadcast(b, rows, along, m)[None, :]
        work = m.work(c.flops[:, k], c.local[:, k])
        work = fold(fold(work, 0, rows), 1, cols)
        added = np.zeros_like(work)
        if c.op == "spgemm" and size[1] > 1:
            added = fold(fold(part[:, k], 0, rows), 1, cols) * _ADDED / m.memory * m.turns
        if cols > 1:
            finish = np.where(ta > 0, finish.max(1, keepdims=True) + ta, finish)
        if rows > 1:
            finish = np.where(tb > 0, finish.max(0, keepdims=True) + tb, finish)
        finish = finish + work + added
        longest = max(longest, float(work.max(initial=0.0)))
        made["compute"] += work
        made["communicate"] += ta + tb
        made["accumulate"] += added
        root_a, root_b = np.arange(cols) == k % cols, np.arange(rows) == k % rows
        made["bytes"] += a[:, None] * ~root_a[None, :] + b[None, :] * ~root_b[:, None]
        messages += int((a > 0).sum() * (cols - 1) + (b > 0).sum() * (rows - 1))
    placed = _place(c, m).reshape(rows, cols)
    made["accumulate"] += placed
    finish = finish + placed
    flat = {name: v.ravel() for name, v in made.items()}
    played = _Played(
        flat["compute"], flat["communicate"], flat["accumulate"], flat["bytes"], messages, longest
    )
    return played, float(finish.max(initial=0.0))


def _broadcast(size: np.ndarray, ranks: int, outside: np.ndarray, m: Machine) -> np.ndarray:
    """A binomial tree, or scatter and gather of large ones."""
    if ranks == 1:
        return np.zeros_like(size)
    steps = math.ceil(math.log2(ranks))
    rate, start = np.where(outside, m.far, m.near), np.where(outside, m.far_s, m.near_s)
    turns = m.turns if m.copies else 1.0
    large = steps * start + 2 * size * (1 - 1 / ranks) / rate
    small = steps * (start + size / rate)
    return np.where(size > 0, np.minimum(small, large) * turns, 0.0)


def price_product(
    c: ProductCounts,
    network: Network,
    algorithm: str,
    *,
    prefetch: int = 1,
    efficiency: float = 1.0,
) -> ProductPrediction:
    """Seconds of one product.

    Parameters
    ----------
    c : ProductCounts
    network : Network
        With `rank_flops`, products are bound by it, too.
    algorithm : str
        A key of ALGORITHMS, REPLICATED or NODES: what stays, in how many copies, how idle ranks steal, and whether
        ranks of a node share what crosses.
    prefetch : int
        0: gets and products in turn; else the next product's gets run meanwhile.
    efficiency : float
        Of local products: how much of the local roofline they reach.
    """
    known = ALGORITHMS | REPLICATED | NODES
    if algorithm not in known:
        raise ValueError(f"algorithm {algorithm!r} is not one of {', '.join(known)}")
    if not efficiency > 0:
        raise ValueError(f"efficiency {efficiency}: more than 0")
    m = Machine(network, c.ranks, efficiency)
    stays, _, stealing = algorithm.partition("+")
    if algorithm == "summa":
        played, end = _summa(c, m)
    else:
        played = play(c, m, stays, prefetch, stealing)
        end = float(played.total().max(initial=0.0))
    compute, communicate, accumulate = (
        float(v.mean()) for v in (played.compute, played.communicate, played.accumulate)
    )
    if stealing and algorithm not in NODES:
        end, lost, spent = _steal(played)
        # What is stolen is computed as before; the rest of a thief's time goes to fetching.
        communicate += float((spent - lost).mean())
    imbalance = max(0.0, end - compute - communicate - accumulate)
    seconds = compute + communicate + accumulate + imbalance + network.call_s
    flops = float(c.flops.sum())
    owned = sum(
        np.bincount(o.ravel(), np.broadcast_to(v, o.shape).ravel(), c.ranks)
        for o, v in ((c.a_owner, c.a), (c.b_owner, c.b), (c.c_owner, c.c))
    )
    buffers = (1 + bool(prefetch)) * float(c.a.max(initial=0.0) + c.b.max(initial=0.0))
    where = {"a": (c.a_owner, 2), "b": (c.b_owner, 0)}.get(stays)
    mine = c.by_rank().sum(0) if where is None else np.bincount(
        where[0].ravel(), c.flops.sum(where[1]).ravel(), c.ranks)  # fmt: skip
    if algorithm in REPLICATED:
        owner = layered(c, int(algorithm[2:]), *np.indices(c.tiles))
        mine = np.bincount(owner.ravel(), c.flops.ravel(), c.ranks)
        buffers += float(c.c.max(initial=0.0))
    return ProductPrediction(
        algorithm, c.op, c.ranks, c.grid, c.tiles, seconds, compute + network.call_s, communicate, accumulate,
        imbalance, flops / seconds / 1e9 if seconds else 0.0, flops, int(played.fetched.max(initial=0.0)),
        int(played.fetched.sum()), played.far,
        played.messages, int(np.max(owned) + buffers), float(mine.max() / mine.mean()) if flops else 1.0,
        c.nnz_imbalance,
    )  # fmt: skip


def as_dict(p: ProductPrediction) -> dict[str, Any]:
    return {**p.__dict__, "grid": list(p.grid), "tiles": list(p.tiles), "ratio": p.ratio}
