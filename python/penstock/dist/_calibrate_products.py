"""Local products measured, with all ranks of a node at work and with one: by the bytes they read, and by their rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.generate import banded

__all__ = ["caches", "products"]

_LEAST, _STEP = (
    1 << 20,
    2,
)  # bytes of the smallest product of a curve, and times as many of each next
_MOST = 256 << 20  # of the largest, of one rank
_ROUND, _LONGER = (
    8 << 20,
    3,
)  # bytes that a timed round reads at least, and times as many where ranks share cores
# Products that stay in cache, 5 MB, and are long beside their calls. Rows of many entries tell the rate. Rows with
# neighbours as long as they, of lengths that are no multiple of a vector's, tell what a row costs; lengths drawn below
# _UNEVEN, as parts of rows of meshes and graphs have them, what it costs that they differ.
_LONG_ROWS, _LONG = 6144, 64
_ALIKE, _ROWS, _UNEVEN = (3, 5, 7, 11), 65536, 11
_GATHERED = tuple((16 << 10) * n for n in (1, 2, 4, 8, 32, 128, 512))  # bytes of x, read at random
_SEED = 11


def caches(cpus: list[int]) -> tuple[int, int]:
    """Bytes of the largest last-level cache that one of these CPUs has, and of all of them."""
    return _core.last_level_caches(cpus)


def _size(rows: int, entries: int) -> int:
    """Bytes that a product reads: `Metrics.bytes` of one part."""
    return 12 * entries + 8 * (rows + 1) + 16 * rows


def _near(lengths: np.ndarray) -> Any:
    """A matrix with rows of these lengths, entries side by side from the diagonal on."""
    rows, ends = lengths.size, np.concatenate([[0], np.cumsum(lengths)])
    columns = np.repeat(np.arange(rows) - ends[:-1], lengths) + np.arange(ends[-1])
    shape = (rows, rows + int(lengths.max()))
    return csr_array((np.ones(ends[-1]), columns.astype(np.int32), ends), shape=shape)


def _first_rows(a: Any, size: int) -> Any:
    """So many that a product of them reads `size` bytes."""
    rows = min(max(size // _size(1, _LONG), 1), a.shape[0])
    end = int(a.indptr[rows])
    shape = (rows, min(rows + _LONG, a.shape[1]))
    return csr_array((a.data[:end], a.indices[:end], a.indptr[: rows + 1]), shape=shape)


def _gathered(crew: Any, near: float) -> list[list[float]]:
    """[bytes of x, seconds that an entry takes longer where x is read at random], never falling. `near`: seconds of as
    many entries in order."""
    rows, each, worst, found = _LONG_ROWS, _LONG, 0.0, []
    place = np.random.default_rng(_SEED).random((rows if crew.at_work else 1, each))
    place.sort(1)
    place = place.ravel()
    ends = np.arange(place.size // each + 1) * each
    for size in _GATHERED:
        a = csr_array(
            (np.ones(place.size), (place * (size // 8)).astype(np.int32), ends),
            shape=(ends.size - 1, size // 8),
        )
        worst = max(worst, (crew.seconds(a, 5) - near) / (rows * each))
        found.append([float(size), worst])
    return found


@dataclass(frozen=True)
class _Crew:
    """Who makes products at once. `turns`: ranks that share a core."""

    comm: Any
    at_work: bool
    turns: float = 1.0
    call: float = 0.0  # seconds of a product without entries

    def seconds(self, a: Any, rounds: int = 7) -> float:
        """Of a product, less its call, the slowest rank's."""
        least = _ROUND * (1 if self.turns <= 1 else _LONGER)
        sweeps = min(max(1, least // _size(a.shape[0], a.nnz)), 100)
        times: list[float] = []
        for _ in range(rounds):
            self.comm.barrier()
            start = time.perf_counter()
            each = _core.time_products(a._core, sweeps) if self.at_work else [0.0]
            spent = np.array([sum(each)])
            if self.turns > 1:  # ranks that take turns on a core are not counted as if each had one
                self.comm.barrier()
                spent[0] = time.perf_counter() - start
            self.comm.all_reduce(spent, "max")
            times.append(float(spent[0]) / sweeps)
        # Ranks that sleep while others have their core begin late now and then, which is no rate of theirs.
        found = min(times[1:]) if self.turns > 1 else float(np.quantile(times[1:], 0.25))
        return max(found - self.call * self.turns, 0.1 * found)

    def curve(self, top: int) -> list[list[float]]:
        """[bytes that one rank's product reads, seconds], up to `top`."""
        sizes = [n for n in (_LEAST * _STEP**k for k in range(16)) if 2 * n <= top] + [top]
        rows, found = top // _size(1, _LONG) if self.at_work else 1, []
        whole = banded(max(rows, 2 * _LONG), list(range(_LONG)))
        for size in sizes:
            a = _first_rows(whole, size)
            real = self.comm.collect(_size(a.shape[0], a.nnz))[0]
            found.append([float(real), self.seconds(a)])
        return found


def products(comm: Any, nodes: int, per_node: int, cpus: list[int]) -> dict[str, Any]:
    """What products of `comm.size` ranks on so many nodes cost; the same on all ranks. Collective.

    Parameters
    ----------
    comm : ps.dist.Comm
    nodes, per_node : int
        Nodes, and the ranks of the fullest.
    cpus : list of int
        That the ranks of this node may use.

    Returns
    -------
    dict
        `rank_products` and `node_products` ([bytes, bytes a second], of one rank and of all of a node), `cache_read`
        and `node_cached` (bytes a second of those that stay in cache), `row_s`, `uneven_s` (seconds, of one rank),
        `gather_s` ([bytes of x, seconds of an entry]) and `cache_bytes` (of a node).

    Notes
    -----
    One rank's curve goes to twice its last-level cache, that of all ranks to three times those of the node, so that its
    last point is memory's; at most 256 MB a rank, and a quarter of the memory that is free.
    """
    first = comm.rank == 0
    last_level, all_levels = comm.share(caches(cpus))
    room = comm.share(_core.topology()["available_bytes"]) // (4 * per_node)
    top = int(min(max(2 * last_level, 48 << 20), _MOST, max(room, _LEAST)))
    each = int(min(max(3 * all_levels // per_node, 16 << 20), top))
    turns = max(1.0, per_node / len(cpus))
    call = _Crew(comm, first).seconds(_near(np.array([1])))
    one_rank, all_ranks = _Crew(comm, first, 1.0, call), _Crew(comm, True, turns, call)

    drawn = np.random.default_rng(_SEED).integers(0, _UNEVEN, _ROWS)
    long = _near(np.full(_LONG_ROWS, _LONG))
    some = [long, _near(np.repeat(_ALIKE, _ROWS // len(_ALIKE))), _near(drawn)]
    alone, alike, mixed = (one_rank.seconds(a) for a in some)
    # alone = rows row_s + bytes / rate, and alike likewise.
    sizes = [_size(a.shape[0], a.nnz) for a in some]
    both = [[_LONG_ROWS, sizes[0]], [_ROWS, sizes[1]]]
    row = float(np.clip(np.linalg.solve(both, [alone, alike])[0], 0.0, 0.9 * alike / _ROWS))
    rest = max(alone - _LONG_ROWS * row, 0.1 * alone)
    besides = mixed - _ROWS * row - sizes[2] * rest / sizes[0]
    changes = np.count_nonzero(np.diff(drawn))
    together = all_ranks.seconds(long)
    one, mine = sizes[0] / rest, comm.size / nodes

    def rates(curve: list[list[float]], ranks: float, turns: float) -> list[list[float]]:
        """Of so many ranks, without what their rows cost."""
        begun = row * turns / _size(1, _LONG)  # seconds of a byte
        return [[n * ranks, n * ranks / max(s - n * begun, 0.1 * s)] for n, s in curve]

    of_one = rates(one_rank.curve(top), 1, 1)
    of_node = rates(all_ranks.curve(each), mine, turns)
    sizes_of_node, rates_of_node = np.array(of_node).T
    for point in of_one:  # alone a rank is no slower than among others
        among = np.interp(np.log(mine * point[0]), np.log(sizes_of_node), 1 / rates_of_node)
        point[1] = max(point[1], float(1 / among / mine))
    found = {
        "rank_products": of_one,
        "node_products": of_node,
        "cache_read": one,
        "node_cached": max(one * mine * alone / together, one),
        "row_s": row,
        "uneven_s": float(max(besides, 0.0) / changes),
        "gather_s": _gathered(one_rank, alone),
        "cache_bytes": float(all_levels),
    }
    return dict(comm.share(found))
