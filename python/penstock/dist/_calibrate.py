"""A network measured: ping-pongs, bursts, rounds of exchanges, a triad, products and calls, over any `Comm`."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._atomic import atomic_file
from penstock._matrix.csr import csr_array
from penstock._plan import probe
from penstock.dist import _calibrate_products
from penstock.dist._matrix import csr_array as dist_array
from penstock.dist._network import VERSION, Link, Network

__all__ = ["cache_file", "calibrate", "fit", "keep", "known"]

SIZES = (8, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 1 << 20, 4 << 20)  # fmt: skip
HIDDEN = (2048, 8192, 16384, 32768, 65536, 262144)  # bytes of exchanges beside work, among SIZES
GETS = (8, 256, 4096, 32768, 262144, 1 << 20, 4 << 20, 16 << 20)  # bytes of one-sided gets
_ROUND_BYTES = 1 << 20  # of an exchange of all pairs at once
_LARGE = 48 << 20  # bytes of a rank's triad
_NO_STEP = 0.9  # of the squared error of one line: two lines must be better by more
Curve = list[tuple[int, float]]


def fit(curve: Curve) -> dict[str, float]:
    """Latency, rate, eager limit and handshake that explain a ping-pong best: one line, or two with a step between.

    `curve` is [(bytes, seconds), ...], ascending. Errors are relative, so that small messages count. The rate is that
    of the largest messages; where one line does as well, all messages are eager.

    >>> found = fit([(n, 2e-6 + n / 1e9 + (5e-6 if n > 4096 else 0)) for n in SIZES])
    >>> found["eager_bytes"], round(found["latency_s"] * 1e6, 3), round(found["handshake_s"] * 1e6, 3)
    (4096, 2.0, 5.0)
    """
    sizes, seconds = np.array([c[0] for c in curve], float), np.array([c[1] for c in curve], float)

    def line(some: slice) -> tuple[float, float, float]:
        n, t = sizes[some], seconds[some]
        design = np.stack([1 / t, n / t], 1)
        a, b = np.linalg.lstsq(design, np.ones_like(t), rcond=None)[0]
        if a < 0 or b <= 0:  # noise: through the least, or at the speed of the largest
            a, b = max(a, float(t[0]) * 0.5), max(b, float((t[-1] - t[0]) / max(n[-1] - n[0], 1)))
            b = max(b, 1e-13)
        return a, b, float((((a + b * n) / t - 1) ** 2).sum())

    whole = line(slice(None))
    latency, per_byte, error = whole
    found = {"latency_s": latency, "bytes_per_s": 1 / per_byte, "eager_bytes": float(sizes[-1]),
             "handshake_s": 0.0}  # fmt: skip
    for k in range(3, len(curve) - 2):  # at least three sizes on each side
        low, high = line(slice(0, k)), line(slice(k, None))
        step = high[0] - low[0]
        if low[2] + high[2] < _NO_STEP * error and step > 0.1 * low[0]:
            error = (low[2] + high[2]) / _NO_STEP
            found = {"latency_s": low[0], "bytes_per_s": 1 / high[1],
                     "eager_bytes": float(sizes[k - 1]), "handshake_s": step}  # fmt: skip
    return {k: int(v) if k == "eager_bytes" else float(v) for k, v in found.items()}


def cache_file() -> Path:
    """Where the last measured network of this machine is kept, whether it is there or not: what `--network measured`
    reads. PENSTOCK_CACHE overrides the folder."""
    return probe.cache_file().with_name(f"network-{probe.key()}.json")


def keep(facts: dict[str, Any]) -> Path:
    """Writes what `calibrate` returned there, whole or not at all. OSError where that cannot be."""
    path = cache_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as file:
        file.write(json.dumps(facts, indent=1).encode())
    return path


def known() -> Network | None:
    """The network kept for this machine; None where there is none, or a file that is damaged."""
    try:
        return Network.load(cache_file())
    except (OSError, ValueError):
        return None


def _node() -> str:
    """Equal on ranks that share memory and network; the host's name does not leave this machine."""
    try:
        space = os.stat("/proc/self/ns/net").st_ino
    except OSError:
        space = 0
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:12]


def _cpus() -> list[int]:
    """Those that this rank may use: a launcher may have bound it to some."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _link(comm: Any, a: int, b: int, seconds: float) -> tuple[Link, Curve]:
    """Between ranks that copy messages themselves."""
    curve = list(zip(SIZES, _core.ping_pong(comm, a, b, SIZES, seconds), strict=True))
    return Link(**_fitted(comm, a, b, curve), copied_by_ranks=True), curve


def _fitted(comm: Any, a: int, b: int, curve: Curve) -> dict[str, float]:
    found = fit(curve)
    return {**found, "overhead_s": min(_core.message_gap(comm, a, b), found["latency_s"]) / 2}


def _far_link(comm: Any, a: int, b: int, seconds: float) -> tuple[Link, Curve, Curve]:
    """Between ranks whose messages an adapter carries, and the curves of ping-pongs and of both ways at once. What goes
    one way at a time may be faster than what follows others: a link that is shaped lets the first bytes pass."""
    curve = list(zip(SIZES, _core.ping_pong(comm, a, b, SIZES, seconds), strict=True))
    partners = [b if r == a else a if r == b else -1 for r in range(comm.size)]

    def both_ways(size: int, work: float = 0.0, about: float = 0.0) -> float:
        rounds = max(4, min(15, int(seconds / max(about, 1e-7))))
        return float(_core.exchange_round(comm, partners, size, rounds, work))

    rounds: Curve = [
        (n, max(one, both_ways(n, about=one)) if n <= HIDDEN[-1] else one) for n, one in curve
    ]
    # Longer ones are as far above their ping-pongs as the last.
    above = dict(rounds)[HIDDEN[-1]] - dict(curve)[HIDDEN[-1]]
    rounds = [(n, s + above * (n > HIDDEN[-1])) for n, s in rounds]
    spent, hidden = dict(rounds), []
    for n in HIDDEN:
        work = min(spent[n], 1.0)
        left = min(both_ways(n, work, 2 * work) for _ in range(3)) - work  # noise hides nothing
        hidden.append((n, min(max(1 - left / spent[n], 0.0), 1.0)))
    return Link(**_fitted(comm, a, b, rounds), hidden=tuple(hidden)), curve, rounds


def _one_sided(comm: Any, pairs: dict[str, tuple[int, int]], seconds: float) -> dict[str, Any]:
    """Gets and claims of the ranks' transport, between the pairs of ranks."""
    transport = _core.make_transport(comm, GETS[-1])
    found: dict[str, Any] = {"transport": transport.name, "gets": {}, "claim_s": {}}
    for where, (a, b) in pairs.items():
        times = _core.get_times(transport, a, b, GETS, seconds / len(GETS))
        found["gets"][where] = [list(p) for p in zip(GETS, times, strict=True)]
        found["claim_s"][where] = _core.claim_time(transport, b, a)
    found["claim_at_once_s"] = _core.claim_time(transport, 0, -1)
    transport.barrier()
    return found


def _calls(comm: Any, **layout: str) -> float:
    """Seconds of a product of which nothing is left but its calls, as all ranks make it at once."""
    n = comm.size
    one = csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
    D = dist_array(one, comm, halo="isend", **layout)
    x, y = np.ones(D.local_shape[1]), np.zeros(D.local_shape[0])
    best = np.array([np.inf])
    for _ in range(5):
        comm.barrier()
        start = time.perf_counter()
        for _ in range(20):
            D.dot(x, out=y)
        best[0] = min(best[0], (time.perf_counter() - start) / 20)
    comm.all_reduce(best, "max")
    return float(best[0])


def calibrate(comm: Any, seconds: float = 2.0) -> dict[str, Any]:
    """Measures what the scaling oracle needs to know of these ranks, nodes and their memory. Collective.

    Parameters
    ----------
    comm : ps.dist.Comm
        Of any kind and size. With one rank only memory is measured, and messages are said to be free.
    seconds : float
        About what the ping-pongs take; the rest takes about a second.

    Returns
    -------
    dict
        The same on all ranks: what `Network.of` takes, with `curves` ([bytes, seconds one way] of the pairs measured),
        `one_sided`, `ranks`, `comm` (its name) and `measured_at` (ISO 8601, UTC) besides. Rates in bytes per second.
        `one_sided` (None with one rank) has `transport`, `gets` ([bytes, seconds] as `curves`), `claim_s` of the same
        pairs (a fetch-and-add by one rank) and `claim_at_once_s` (by all ranks on one counter).

    Notes
    -----
    Ranks are put in nodes by their host and network namespace. The latency and overhead of messages are those of ranks
    that wait for nothing else; where ranks share cores, `at_once` says so.

    >>> import penstock as ps
    >>> facts = ps.dist.run(lambda comm: ps.dist.calibrate(comm, seconds=0.05), 2)[0]
    >>> facts["ranks"], ps.dist.Network.of(facts).outside is None
    (2, True)
    """
    nodes = comm.collect(_node())
    first = nodes.index(nodes[0])
    mates = [r for r, n in enumerate(nodes) if n == nodes[0]]
    others = [r for r, n in enumerate(nodes) if n != nodes[0]]
    each = seconds / 2 / len(SIZES)
    curves: dict[str, Curve] = {}
    pairs: dict[str, tuple[int, int]] = {}
    inside = Link(1e-7, 5e-8, 1e10, 1 << 20, 0.0, copied_by_ranks=True)
    if len(mates) > 1:
        pairs["inside"] = (first, mates[1])
        inside, curves["inside"] = _link(comm, *pairs["inside"], each)
    outside = None
    if others:
        pairs["outside"] = (first, others[0])
        outside, curves["outside"], curves["both ways"] = _far_link(comm, *pairs["outside"], each)
        inside = inside if len(mates) > 1 else outside
    per_node = max(nodes.count(n) for n in set(nodes))
    topology = _core.topology()
    bound = comm.collect(_cpus())
    all_cpus = sorted(set().union(*(bound[r] for r in mates))) or list(range(topology["cpus"]))
    cores = len(all_cpus)
    adapter = outside.bytes_per_s if outside else inside.bytes_per_s
    if outside:
        adapter = max(adapter, _rate(comm, _across(nodes)) / 2)  # both ways: one of them
    within = inside.bytes_per_s
    if len(mates) > 1:
        within = max(within, _rate(comm, _neighbours(nodes)))
    threads = _core.num_threads()
    alone = _core.triad(comm, 1, _LARGE, 5)
    together = _core.triad(comm, comm.size, _LARGE, 5) / len(set(nodes))
    calls = _calls(comm, partition="contiguous")
    gathered = _calls(comm, partition="bins", sums="gather") if comm.size > 1 else calls
    crowd = max(1.0, per_node / cores)
    own = _calibrate_products.products(comm, len(set(nodes)), per_node, all_cpus)
    facts = {
        "penstock_network": VERSION,
        "name": "measured",
        "source": f"measured over {comm.name} with {comm.size} ranks on {len(set(nodes))} nodes of {cores} CPUs",
        "ranks_per_node": per_node,
        "at_once": max(1, min(per_node, cores)),
        "inside": asdict(inside),
        "outside": outside and asdict(outside),
        "node_bytes_per_s": float(adapter),
        "inside_bytes_per_s": float(within),
        "rank_read": float(alone),
        "node_read": float(max(together, alone)),
        **own,
        "call_s": calls / crowd,
        "gather_call_s": max(0.0, gathered - calls) / crowd,
        "ranks": comm.size,
        "threads": threads,
        "comm": comm.name,
        "curves": {k: [list(p) for p in c] for k, c in curves.items()},
        "one_sided": _one_sided(comm, pairs, seconds / 4) if pairs else None,
        "measured_at": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
    return comm.share(facts)


def _neighbours(nodes: list[str]) -> list[int]:
    """Of each rank of the first node one other: 0 and 1, 2 and 3, ..."""
    partners = [-1] * len(nodes)
    mates = [r for r, n in enumerate(nodes) if n == nodes[0]]
    for a, b in zip(mates[0::2], mates[1::2], strict=False):
        partners[a], partners[b] = b, a
    return partners


def _across(nodes: list[str]) -> list[int]:
    """Ranks of the first node with ranks of the next one."""
    partners = [-1] * len(nodes)
    other = next(n for n in nodes if n != nodes[0])
    here = [r for r, n in enumerate(nodes) if n == nodes[0]]
    there = [r for r, n in enumerate(nodes) if n == other]
    for a, b in zip(here, there, strict=False):
        partners[a], partners[b] = b, a
    return partners


def _rate(comm: Any, partners: list[int]) -> float:
    """Bytes a second of all pairs together, both ways."""
    spent = _core.exchange_round(comm, partners, _ROUND_BYTES, 9)
    return sum(p >= 0 for p in partners) * _ROUND_BYTES / max(spent, 1e-9)
