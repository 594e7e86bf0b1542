"""What a network, its nodes and their memory give: the parameters of the scaling oracle, as presets or from a file.

A message of n bytes takes `latency_s + n / bytes_per_s`, and each end spends `overhead_s` on it (LogGP: Alexandrov,
Ionescu, Schauser and Scheiman 1995). Longer than `eager_bytes` the sender asks first (rendezvous): both ends spend
their overhead twice and the message starts `handshake_s` later.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from penstock._io._atomic import atomic_file

__all__ = ["Link", "Network", "networks"]

VERSION = 1  # of the file
# Measured over predicted seconds: 90 % lie between. By bench/page_kogge2018.py, 285 products on 1, 2 and 4 ranks, but
# for the last, which is assumed: nobody measured a preset.
SPREAD = {
    "one rank": (0.85, 1.2),
    "a core for each rank": (0.82, 1.3),
    "ranks that share cores": (0.85, 1.6),
    "several nodes": (0.75, 1.3),
    "a preset": (0.5, 2.0),
}


@dataclass(frozen=True)
class Link:
    """Messages between two ranks."""

    latency_s: float
    overhead_s: float  # of each end, for each message
    bytes_per_s: float
    eager_bytes: float  # messages up to here are sent at once
    handshake_s: float  # what longer ones wait for before they start
    copied_by_ranks: bool = (
        False  # the ranks' own cores move the bytes; else an adapter does, meanwhile
    )
    # (bytes of a message, share of its time on the way that passes while its ranks compute), ascending. Empty: all of
    # it up to `eager_bytes`, nothing beyond. Means nothing where ranks copy.
    hidden: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", _curve("hidden", self.hidden))


def _curve(name: str, points: Any) -> tuple[tuple[float, float], ...]:
    """ValueError where they are not pairs of numbers, ascending in bytes; rates are positive."""
    try:
        found = tuple((float(n), float(value)) for n, value in points)
    except (TypeError, ValueError):
        raise ValueError(
            f"network: {name} = {points!r} is not a list of pairs of numbers"
        ) from None
    for i, (n, value) in enumerate(found):
        _number(f"{name}[{i}][0]", n, True)
        _number(f"{name}[{i}][1]", value, name.endswith("products"))
        if i and n <= found[i - 1][0]:
            raise ValueError(
                f"network: {name} does not ascend: {found[i - 1][0]:.0f}, {n:.0f} bytes"
            )
    return found


@dataclass(frozen=True)
class Network:
    """A machine of equal nodes. `Network.load` reads what `calibrate` measured; `networks` are the presets."""

    name: str
    source: str  # of the figures, in words
    ranks_per_node: int
    at_once: (
        int  # ranks of a node that run at the same time: fewer than ranks where these share cores
    )
    inside: Link  # between ranks of a node
    outside: Link | None  # between nodes; None: there is a single node
    node_bytes_per_s: float  # a node's adapter, each way, shared by its ranks
    inside_bytes_per_s: float  # all messages within a node together
    rank_read: float  # bytes a second from memory of one rank alone (triad)
    node_read: float  # of all ranks of a node together
    cache_bytes: float  # last-level caches of a node
    cache_read: float  # bytes a second that one rank multiplies with, all of it there
    node_cached: float  # of all ranks of a node together
    call_s: float = 2e-6  # of a product besides: calls and timers
    nodes_per_switch: int = 0  # 0: all nodes hang on one
    hop_s: float = 0.0  # more latency between nodes of two switches
    row_s: float = 0.0  # of each row of a product on one rank, besides its bytes
    rank_flops: float = 0.0  # of one rank, a second; 0: memory alone bounds its products
    # Bytes a second of products with long rows: (bytes that the product reads, rate), ascending. Of one rank alone, and
    # of all ranks of a node, of whom each has an equal share of the bytes. Empty: cache_bytes tells cache from memory.
    rank_products: tuple[tuple[float, float], ...] = ()
    node_products: tuple[tuple[float, float], ...] = ()
    uneven_s: float = 0.0  # of each row that is not as long as the one before, on one rank
    # (bytes of x, seconds that an entry takes longer where it reads x at random), ascending. Empty: not known.
    gather_s: tuple[tuple[float, float], ...] = ()
    threads: int = 0  # of each rank that was measured; 0: not known
    # Of a product whose sums are gathered at a rank, besides its bytes: ranks meet before and after. 0: not known.
    gather_call_s: float = 0.0
    gathers: bool = True  # single rows of a dense tile travel, not all from one to another

    def __post_init__(self) -> None:
        for what, link in (("inside", self.inside), ("outside", self.outside)):
            for f in fields(Link)[:-1] if link else ():
                _number(f"{what}.{f.name}", getattr(link, f.name), f.name == "bytes_per_s")
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, (int, float)):
                _number(f.name, value, f.name.endswith(("per_s", "read", "cached", "node", "once")))
        for name in ("rank_products", "node_products", "gather_s"):
            object.__setattr__(self, name, _curve(name, getattr(self, name)))

    def save(self, path: Any, **more: Any) -> None:
        """As JSON; `more` is kept beside it (curves, when, how)."""
        text = json.dumps({"penstock_network": VERSION, **asdict(self), **more}, indent=1)
        with atomic_file(path) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def of(cls, facts: dict[str, Any], where: str = "network") -> Network:
        """From the dict that `calibrate` returns, or a file holds; more keys than needed are fine."""
        if facts.get("penstock_network") != VERSION:
            found = facts.get("penstock_network")
            raise ValueError(
                f"{where}: penstock_network is {found}, not {VERSION}: measure again (penstock.dist.calibrate)"
            )
        try:
            known = {f.name: facts[f.name] for f in fields(cls) if f.name in facts}
            links = {
                k: known[k] if known[k] is None else Link(**known[k]) for k in ("inside", "outside")
            }
            return cls(**{**known, **links})
        except (KeyError, TypeError) as e:
            raise ValueError(f"{where}: not a measured network: {e}") from None

    @classmethod
    def load(cls, path: Any) -> Network:
        """From a file that `save` or `penstock probe --mpi` wrote. ValueError where it is none."""
        try:
            facts = json.loads(Path(path).read_text())
        except ValueError as e:
            raise ValueError(f"{path}: not readable as JSON: {e}") from None
        if not isinstance(facts, dict):
            raise ValueError(f"{path}: not a measured network")
        return cls.of(facts, str(path))

    @property
    def measured(self) -> bool:
        """By `calibrate`; else these are a preset's figures."""
        return bool(self.rank_products)

    def job(self, ranks: int) -> str:
        """What a job of so many ranks is for a prediction: a key of SPREAD."""
        if not self.measured:
            return "a preset"
        if ranks == 1:
            return "one rank"
        if self.outside is not None and ranks > self.ranks_per_node:
            return "several nodes"
        here = min(ranks, self.ranks_per_node) if self.outside is not None else ranks
        return "a core for each rank" if here <= self.at_once else "ranks that share cores"

    def spread(self, ranks: int) -> tuple[float, float]:
        """Times a predicted time: nine of ten measured ones are expected between these two."""
        return SPREAD[self.job(ranks)]

    def on(self, ranks_per_node: int) -> Network:
        """The same nodes with another number of ranks on each: a rank has its share of the node's cores and memory."""
        if ranks_per_node < 1:
            raise ValueError(f"{ranks_per_node} ranks a node: at least 1")
        cores = max(self.at_once, 1)
        share = max(1.0, self.at_once / ranks_per_node)  # of what one rank had before
        return replace(
            self,
            ranks_per_node=ranks_per_node,
            at_once=min(cores, ranks_per_node),
            rank_read=min(self.rank_read * share, self.node_read),
            cache_read=min(self.cache_read * share, self.node_cached),
            rank_products=tuple((n, rate * share) for n, rate in self.rank_products),
        )


def _number(name: str, value: Any, positive: bool) -> None:
    if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0) or (
        positive and value <= 0
    ):
        raise ValueError(
            f"network: {name} = {value!r} is not a {'positive' if positive else 'non-negative'} number"
        )


_EPYC = {"ranks_per_node": 128, "at_once": 128, "rank_read": 18e9, "node_read": 330e9,
         "cache_bytes": 512e6, "cache_read": 15e9, "node_cached": 1900e9}  # fmt: skip
_SHARED = Link(0.5e-6, 0.15e-6, 8e9, 4096, 1.0e-6, copied_by_ranks=True)
_V100 = {"inside": Link(1.5e-6, 0.5e-6, 50e9, 0, 0.0), "rank_read": 900e9, "cache_read": 2000e9, "call_s": 1e-5,
         "rank_flops": 16e12}  # fmt: skip

networks: dict[str, Network] = {
    n.name: n
    for n in (
        Network(
            "shared-memory",
            "one host of two 64-core processors with eight DDR4-3200 channels each (409.6 GB/s by data sheet, 330 "
            "assumed); messages through shared memory, eager up to 4 KiB as Open MPI's btl_sm; latencies are typical, "
            "not measured",
            inside=_SHARED, outside=None, node_bytes_per_s=25e9, inside_bytes_per_s=120e9, **_EPYC,
        ),
        Network(
            "hdr-infiniband",
            "200 Gb/s HDR by specification, 24 of 25 GB/s assumed; 1.1 us MPI latency and an eager limit of 16 KiB are "
            "typical of vendors' MPI; nodes as shared-memory, 40-port leaf switches half of whose ports go up",
            inside=_SHARED, outside=Link(1.1e-6, 0.25e-6, 24e9, 16384, 2.2e-6), node_bytes_per_s=24e9,
            inside_bytes_per_s=120e9, nodes_per_switch=20, hop_s=0.3e-6, **_EPYC,
        ),
        Network(
            "slingshot",
            "200 Gb/s Slingshot 11 by specification; 0.35 us a switch after De Sensi et al. (SC 2020), 1.9 us MPI "
            "latency and an eager limit of 16 KiB typical; nodes as shared-memory, 16 to a switch, then a dragonfly",
            inside=_SHARED, outside=Link(1.9e-6, 0.35e-6, 23e9, 16384, 3.8e-6), node_bytes_per_s=23e9,
            inside_bytes_per_s=120e9, nodes_per_switch=16, hop_s=0.7e-6, **_EPYC,
        ),
        Network(
            "fdr-infiniband",
            "the cluster of Page and Kogge (2018, V-B): two Xeon E5-2650v2 a node (59.7 GB/s each by data sheet, 45 "
            "assumed), a rank a socket, 56 Gb/s FDR (6 GB/s assumed), 36 nodes on each of two switches (VI-B); the "
            "latencies are typical",
            ranks_per_node=2, at_once=2, inside=Link(0.6e-6, 0.25e-6, 5e9, 8192, 1.2e-6, True),
            outside=Link(1.3e-6, 0.4e-6, 6e9, 17408, 2.6e-6), node_bytes_per_s=6e9,
            inside_bytes_per_s=10e9, rank_read=45e9, node_read=90e9, cache_bytes=40e6, cache_read=80e9,
            node_cached=160e9,
            nodes_per_switch=36, hop_s=1.0e-6,
        ),
        Network(
            "10gbe",
            "10 Gb/s Ethernet by specification, 1.17 GB/s after headers; MPI over TCP with 15 us latency (typical), "
            "eager up to 64 KiB as Open MPI's btl_tcp; nodes of 16 cores with 80 GB/s",
            ranks_per_node=16, at_once=16, inside=Link(0.5e-6, 0.15e-6, 8e9, 4096, 1e-6, True),
            outside=Link(15e-6, 3e-6, 1.17e9, 65536, 30e-6), node_bytes_per_s=1.17e9,
            inside_bytes_per_s=30e9, rank_read=12e9, node_read=80e9, cache_bytes=32e6, cache_read=12e9,
            node_cached=190e9,
            nodes_per_switch=48, hop_s=2e-6,
        ),
        Network(
            "summit",
            "Brock, Buluc and Yelick (2024, sections 4 and 6): six V100 a node, a rank each, 23 GB/s of "
            "dual-rail EDR a node (3.83 GB/s a GPU), NVLink of 50 GB/s, 16 TFLOP/s in float32; 900 GB/s of memory by "
            "data sheet; latencies are typical",
            outside=Link(2.0e-6, 0.5e-6, 11.5e9, 0, 0.0), node_bytes_per_s=23e9, inside_bytes_per_s=300e9,
            ranks_per_node=6, at_once=6, node_read=5400e9, cache_bytes=36e6, node_cached=12000e9, **_V100,
            gathers=False,
        ),
        Network(
            "dgx2",
            "Brock, Buluc and Yelick (2024, section 6): sixteen V100 of one host, a rank each, NVLink of 50 GB/s "
            "between any two, 16 TFLOP/s in float32; 900 GB/s of memory by data sheet; latencies are typical",
            outside=None, node_bytes_per_s=50e9, inside_bytes_per_s=800e9,
            ranks_per_node=16, at_once=16, node_read=14400e9, cache_bytes=96e6, node_cached=32000e9, **_V100,
            gathers=False,
        ),
        Network(
            "h200",
            "eight H200 of one host, a rank each: gets of 9.6 us and 372 GB/s between any two, copies within a GPU at "
            "4.2 TB/s (measured on two); 34 TFLOP/s in float64 by data sheet",
            inside=Link(4.8e-6, 1e-7, 372e9, 0, 0.0), outside=None, node_bytes_per_s=372e9,
            inside_bytes_per_s=2976e9, ranks_per_node=8, at_once=8, rank_read=4200e9, node_read=33600e9,
            cache_bytes=400e6, cache_read=4200e9, node_cached=33600e9, call_s=2e-5, rank_flops=34e12,
        ),
    )
}  # fmt: skip
