"""Seconds of a product from its counts and a network: LogGP with two protocols, adapters and memory that ranks share.

Every rank works on its rows, and meanwhile messages that an adapter carries by itself travel; those that ask first
(rendezvous), and those that the ranks copy themselves, travel when their ranks wait for them. The slowest rank counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.dist._layouts import LAYOUTS, Counts
from penstock.dist._local_price import Irregular, local
from penstock.dist._network import Link, Network

__all__ = ["Prediction", "price"]

# Bytes moved for each byte sent: by packing (the index, the value read, the value written), and by adding up sums (the
# index, the sum, and y, read and written).
_PACKED, _ADDED = 2.5, 3.5
# Bytes moved for each byte of a reduction: before it (zeros, and the index, the sum read, and written), in each stage,
# and after it (the same, into another buffer, then as _ADDED).
_SPREAD, _SUMMED, _TAKEN = 4.0, 3.0, 7.0
HALOS = ("messages", "sync")


@dataclass(frozen=True)
class Prediction:
    """A product in a layout on so many ranks. `compute` + `communicate` = `seconds`, of the slowest rank."""

    layout: str
    ranks: int
    halo: str  # "messages": each entry to who needs it; "sync": all of x to everyone
    seconds: float
    compute: float
    communicate: float  # what messages and waiting add
    gflops: float
    nnz_most: int
    bytes_most: int  # sent or received by one rank, whichever is more
    bytes_all: int  # sent by all
    messages_most: int  # sent or received by one rank
    messages_all: int
    memory_most: int  # bytes that one rank holds
    mad: float
    imbalance: float
    grid: tuple[int, int]
    bound: str = "bytes"  # of the slowest rank's own product: a name in `_local_price.BOUNDS`

    @property
    def ratio(self) -> float:
        """Communication over computation."""
        return self.communicate / self.compute if self.compute else 0.0


class _Nodes:
    """Which ranks share a node, and what of a node's time each costs."""

    def __init__(self, network: Network, ranks: int) -> None:
        self.network, self.ranks = network, ranks
        per = network.ranks_per_node if network.outside else max(ranks, 1)
        self.node = np.arange(ranks) // per
        self.count = int(self.node[-1]) + 1
        self.filled = np.bincount(self.node)  # ranks of each
        self.at_once = max(1, min(network.at_once, per))

    def total(self, values: np.ndarray) -> np.ndarray:
        """Of each rank's node."""
        return np.bincount(self.node, values, minlength=self.count)[self.node]

    def shared(self, seconds: np.ndarray) -> np.ndarray:
        """When each rank is done with so much work of its processor. Where more ranks than cores take turns, it shares
        its core with others, whoever they are: each holds it up for as long as both have work."""
        most = self.filled[self.node]
        if (most <= self.at_once).all():
            return seconds
        order = np.lexsort((seconds, self.node))  # of each node, ascending
        place, value = np.arange(self.ranks), seconds[order]
        start = (np.cumsum(self.filled) - self.filled)[self.node]  # ranks are in the order of nodes
        below = np.cumsum(value) - value
        least = (
            below - below[start] + value * (start + most - 1 - place)
        )  # min(own, other's), summed
        out = np.empty_like(value)
        turns = np.maximum(most / self.at_once, 1.0)
        out[order] = value + (turns - 1) * least / np.maximum(most - 1, 1)
        return out


@dataclass
class _Phase:
    """What one exchange takes of each rank."""

    cpu: np.ndarray  # its processor's
    wait: np.ndarray  # before the first byte comes
    late: np.ndarray  # on the wire, while ranks wait
    soon: np.ndarray  # on the wire, while ranks may work


def _beside(link: Link, size: np.ndarray) -> np.ndarray:
    """The share of messages' time on the wire that passes while their ranks work."""
    if not link.hidden:
        return np.where(size > link.eager_bytes, 0.0, 1.0)
    sizes, shares = np.array(link.hidden).T
    return np.interp(np.log(size), np.log(sizes), shares)


def _messages(pairs: np.ndarray, size: np.ndarray, n: _Nodes, sums: bool) -> _Phase:
    w, ranks = n.network, n.ranks
    keep = size > 0
    sender, receiver, size = pairs[keep, 0], pairs[keep, 1], size[keep].astype(float)
    near = n.node[sender] == n.node[receiver]
    far_link = w.outside or w.inside
    pick = lambda name: np.where(near, getattr(w.inside, name), getattr(far_link, name))  # noqa: E731
    asks = size > pick("eager_bytes")
    busy = pick("overhead_s") * (1.0 + asks)
    start = pick("latency_s") + asks * pick("handshake_s")
    if w.nodes_per_switch:
        switch = n.node // w.nodes_per_switch
        start = start + w.hop_s * (switch[sender] != switch[receiver])
    each = lambda at, values: np.bincount(at, values, minlength=ranks)  # noqa: E731
    packed = each(receiver, size) * _ADDED if sums else each(sender, size) * _PACKED
    copied = np.where(near, w.inside.copied_by_ranks, far_link.copied_by_ranks)
    travel = size / pick("bytes_per_s")
    cpu = each(sender, busy) + each(receiver, busy) + packed / w.rank_read
    cpu += each(receiver, travel * copied)

    wait = np.zeros(ranks)
    np.maximum.at(wait, receiver, start)
    wires = []
    beside = np.where(near, _beside(w.inside, size), _beside(far_link, size))
    for late in (True, False):  # what ranks wait for, and what passes beside their work
        some = (~copied) * ((1 - beside) if late else beside)
        out, into = each(sender, travel * some), each(receiver, travel * some)
        far = size * some * ~near
        node_out, node_in = n.total(each(sender, far)), n.total(each(receiver, far))
        wire = np.maximum(np.maximum(out, into), np.maximum(node_out, node_in) / w.node_bytes_per_s)
        wires.append(wire * (out + into > 0))
    within = n.total(each(receiver, size * near)) / w.inside_bytes_per_s
    took_part = each(sender, near) + each(receiver, near) > 0
    return _Phase(np.maximum(n.shared(cpu), within * took_part), wait, *wires)


def _stages(parts: int, n: _Nodes) -> list[Link]:
    """The links that a binomial tree over `parts` neighbouring ranks goes over, stage by stage."""
    w, per = n.network, n.network.ranks_per_node
    return [
        w.inside if w.outside is None or 2**k < per else w.outside
        for k in range(math.ceil(math.log2(parts)) if parts > 1 else 0)
    ]


@dataclass
class _Reduction:
    """Rows added up in each grid row by a binomial tree, and what each rank sends and gets for it."""

    phase: _Phase
    sent: np.ndarray
    got: np.ndarray
    messages: np.ndarray
    arrivals: np.ndarray


def _reduced(c: Counts, n: _Nodes) -> _Reduction:
    wide, rank = c.grid[1], np.arange(n.ranks)
    place, size = (
        rank % wide,
        c.rows[rank - rank % wide].astype(np.int64) * 8,
    )  # its grid row's rows
    cpu, late, wait, got = (np.zeros(n.ranks) for _ in range(4))
    arrivals = np.zeros(n.ranks, np.int64)
    longest = float(size.max(initial=0))
    if wide > 1:
        cpu += (_SPREAD + _TAKEN) * longest / n.network.rank_read
    for k, link in enumerate(_stages(wide, n)):
        gets = (place % 2 ** (k + 1) == 0) & (place + 2**k < wide)
        arrivals += gets
        got += gets * size
        # The last row master waits for every stage: all ranks are charged what the longest row's costs.
        asks = longest > link.eager_bytes
        cpu += 2 * link.overhead_s * (1 + asks) + _SUMMED * longest / n.network.rank_read
        cpu += longest / link.bytes_per_s * link.copied_by_ranks
        late += link.latency_s + asks * link.handshake_s
        late += longest / link.bytes_per_s * (not link.copied_by_ranks)
    sends = (place > 0).astype(np.int64)
    phase = _Phase(n.shared(cpu), wait, late, np.zeros(n.ranks))
    return _Reduction(phase, sends * size, got.astype(np.int64), sends, arrivals)


def _after(c: Counts, ready: np.ndarray, reduces: bool) -> np.ndarray:
    """When each rank has its own sums and all those that others have for it."""
    out = ready.copy()
    if reduces:
        first = np.arange(c.ranks) // c.grid[1] * c.grid[1]
        np.maximum.at(out, first, ready)
        return out[first]
    some = c.sums > 0
    np.maximum.at(out, c.pairs[some, 1], ready[c.pairs[some, 0]])
    return out


def _gathered(c: Counts, n: _Nodes) -> _Phase:
    """All of x to everyone: its bytes enter each node once, and each rank's memory."""
    w, zero = n.network, np.zeros(n.ranks)
    size = float(c.shape[1]) * c.entry_bytes
    others = size - c.owned_x * c.entry_bytes
    stages = _stages(n.ranks, n)
    wait = sum(s.latency_s + (size / n.ranks > s.eager_bytes) * s.handshake_s for s in stages)
    cpu = sum(2 * s.overhead_s for s in stages) + others * (
        w.inside.copied_by_ranks / w.inside.bytes_per_s
    )
    within = n.total(others) / w.inside_bytes_per_s * (n.filled[n.node] > 1)
    missing = size - n.total(c.owned_x.astype(float)) * c.entry_bytes  # on this node
    wire = zero if n.count == 1 else missing / w.node_bytes_per_s
    return _Phase(np.maximum(n.shared(zero + cpu), within), zero + wait, wire, zero)


def price(
    c: Counts, network: Network, *, halo: str = "messages", irregular: Irregular = 1.0
) -> Prediction:
    """Seconds of one product.

    Parameters
    ----------
    c : Counts
    network : Network
    halo : str
        "messages" (isend, persistent, neighbourhood and put move the same) or "sync".
    irregular : float or (float, float)
        How many times as long the local product takes for its bytes, rows apart, as one whose rows are long and in
        order: what gathering x costs besides. Of the whole matrix on one rank; or of that, and of rows of it that lie
        in cache, where the whole does not.
    """
    if halo not in HALOS:
        raise ValueError(f"halo {halo!r} is not one of {', '.join(HALOS)}")
    n = _Nodes(network, c.ranks)
    work = local(c, n, irregular)
    own = work.seconds
    x_bytes, sum_bytes = c.phases()
    sync = halo == "sync" and c.ranks > 1
    x = _gathered(c, n) if sync else _messages(c.pairs, x_bytes, n, sums=False)
    ends = LAYOUTS[c.layout].sums if c.layout in LAYOUTS else "owners"
    reduces = ends == "reduce"
    out, into = c.pairs[:, 0], c.pairs[:, 1]
    each = lambda at, values: np.bincount(at, values, minlength=c.ranks).astype(np.int64)  # noqa: E731
    if sync:
        others = c.ranks - 1
        sent, got = c.owned_x * c.entry_bytes * others, (c.shape[1] - c.owned_x) * c.entry_bytes
        tags = arrivals = np.full(c.ranks, others)
    else:
        sent, got = each(out, x_bytes), each(into, x_bytes)
        tags, arrivals = each(out, c.x > 0), each(into, c.x > 0)
    if reduces:
        r = _reduced(c, n)
        sums = r.phase
        sent, got, tags, arrivals = (
            sent + r.sent,
            got + r.got,
            tags + r.messages,
            arrivals + r.arrivals,
        )
    else:
        sums = _messages(c.pairs, sum_bytes, n, sums=True)
        sent, got = sent + each(out, sum_bytes), got + each(into, sum_bytes)
        tags, arrivals = tags + each(out, c.sums > 0), arrivals + each(into, c.sums > 0)
    ready = own + x.cpu + x.late + np.maximum(0.0, x.wait + x.soon - own)
    total = _after(c, ready, reduces) + sums.cpu + sums.late + sums.soon + sums.wait
    calls = n.shared(np.full(c.ranks, network.call_s))
    meetings = n.shared(
        np.full(c.ranks, network.gather_call_s * (ends == "gather" and c.ranks > 1))
    )
    seconds = float((total + calls + meetings).max(initial=0.0))
    compute = float((own + calls).max(initial=0.0))
    flops = 2.0 * int(c.nnz.sum())
    return Prediction(
        c.layout, c.ranks, "sync" if sync else "messages", seconds, compute, seconds - compute,
        flops / seconds / 1e9 if seconds else 0.0, int(c.nnz.max()),
        int(max(sent.max(initial=0), got.max(initial=0))), int(sent.sum()),
        int(max(tags.max(initial=0), arrivals.max(initial=0))), int(tags.sum()),
        int(c.read_bytes.max()), c.mad, c.imbalance, c.grid, work.bound(),
    )  # fmt: skip


def as_dict(p: Prediction) -> dict[str, Any]:
    return {**p.__dict__, "grid": list(p.grid), "ratio": p.ratio}
