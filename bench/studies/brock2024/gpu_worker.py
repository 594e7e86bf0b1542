"""What each rank of the part `gpus` of bench/brock2024.py does: a product by every algorithm, in turns, on its GPU;
each rank checks one of its tiles of every C."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from penstock.dist._tile_choice import count_maps
from penstock.dist._tile_counts import ProductCounts, csr_bytes
from penstock.dist._tile_grid import even_grid

import penstock as ps
from penstock import _core
from studies.brock2024.gpu_suite import Dense
from studies.brock2024.worker import COUNTED, PARTS, how_of

_ALLOWED = 1e-4  # of a sum of float32
_SAMPLE, _AT_ONCE = (
    1 << 16,
    1 << 12,
)  # rows of a dense tile that are looked at, and those that lie side by side
Span = tuple[int, int]


@dataclass
class Problem:
    """What is multiplied, and what its products are checked with."""

    a: Any
    b: Dense | None  # None: A times itself
    down: np.ndarray | None = None  # A b.down
    wide: Any = None  # A in float64, of a sparse B, and its absolute values
    size: Any = None

    def __post_init__(self) -> None:
        if self.b is not None:
            self.down = _wide(self.a) @ self.b.down
            return
        self.wide = a = _wide(self.a)
        self.size = ps.csr_array((np.abs(a.data), a.indices, a.indptr), shape=a.shape)


@dataclass
class Work:
    """What all ranks share."""

    problem: Problem
    devices: Any
    algorithms: list[str]
    turns: int
    seconds: float  # of all turns, at most; each algorithm has one at least
    grid: Any = None
    finer: int = 1


def _wide(a: Any) -> Any:
    return a if a.dtype == np.float64 else a.astype(np.float64)


def dense_error(p: Problem, fetch: Callable[[Span], np.ndarray], rows: Span, cols: Span) -> float:
    """In multiples of what is allowed, of rows all over a tile. All factors are positive. `fetch`: some of its rows."""
    high, worst = rows[1] - rows[0], 0.0
    step = max(_AT_ONCE, -(-high // (_SAMPLE // _AT_ONCE)))
    for first in range(0, high, step):
        end = min(first + _AT_ONCE, high)
        part = fetch((first, end))
        expected = (
            p.down[rows[0] + first : rows[0] + end, None] * p.b.across[None, cols[0] : cols[1]]
        )
        off = np.abs(part - expected)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(off == 0, 0.0, off / expected)
        worst = max(worst, float(np.max(share, initial=0.0)))
        if not np.isfinite(share).all():
            return 1e9
    return worst / _ALLOWED


def sparse_error(p: Problem, tile: Any, rows: Span, cols: Span) -> float:
    """By products with a vector of signs, of the tile and of all of A."""
    x = np.where(np.arange(cols[1] - cols[0]) % 3, 1.0, -1.0)
    padded = np.zeros(p.a.shape[1])
    padded[cols[0] : cols[1]] = x
    expected, bound = (m @ (m @ v) for m, v in ((p.wide, padded), (p.size, np.abs(padded))))
    here = slice(*rows)
    off = np.abs(tile @ x.astype(tile.dtype) - expected[here])
    return float(np.max(off / (bound[here] + 1e-30), initial=0.0) / _ALLOWED)


def _spans(c: Any, i: int, j: int) -> tuple[Span, Span]:
    (rows, cols), (high, wide) = c.shape, c.tile_shape
    return (i * high, min(rows, (i + 1) * high)), (j * wide, min(cols, (j + 1) * wide))


def _error(p: Problem, comm: Any, c: Any, number: int) -> float:
    """Of one of this rank's tiles, another for each `number`; the worst of all ranks."""
    down, across = c.tiles
    mine = [(i, j) for i in range(down) for j in range(across) if c.owner(i, j) == comm.rank]
    worst = 0.0
    if mine:
        at = mine[number % len(mine)]
        if p.b is None:
            worst = sparse_error(p, c.get_tile(*at), *_spans(c, *at))
        else:
            worst = dense_error(p, partial(c.get_tile, *at), *_spans(c, *at))
    found = np.array([worst if np.isfinite(worst) else 1e9])
    comm.all_reduce(found, "max")
    return float(found[0])


def counted(a: Any, b: Any, c: Any) -> ProductCounts:
    """From the tiles themselves; of SpGEMM with the plan's counted flops and the real entries of C."""
    counts = count_maps(a._core.map, b._core.map)
    if not b.sparse:
        return counts
    p, flops = c.plan().products, np.zeros(counts.tiles)
    flops[p["i"], p["k"], p["j"]] = p["flops"]
    word = a.dtype.itemsize
    high = np.diff(np.append(np.arange(0, a.shape[0], a.tile_shape[0]), a.shape[0]))
    local = (4 + word) * flops + 3 * np.minimum(counts.part, (4 + word) * flops / 2)
    return replace(counts, flops=flops, local=local, c=csr_bytes(c.tile_nnz, high, word),
                   compression=float(flops.sum() / 2 / max(c.nnz, 1)))  # fmt: skip


def run(comm: Any, work: Work) -> dict[str, Any] | None:
    """On rank 0: `results`, algorithm -> seconds of each turn and where they went; `counts`; `tiles`."""
    begin = time.perf_counter()
    b = work.problem.b
    left = _tiles(work, comm)
    right = left if b is None else ps.dist.tiled_array(b.whole, like=left)
    made = time.perf_counter() - begin
    seconds: dict[str, list[float]] = {name: [] for name in work.algorithms}
    parts: dict[str, list[list[float]]] = {name: [] for name in work.algorithms}
    found: dict[str, Any] = {name: {} for name in work.algorithms}
    counts, turn, begin = None, 0, time.perf_counter()
    while comm.share(
        turn <= work.turns and (turn < 2 or time.perf_counter() - begin < work.seconds), 0
    ):
        for number, name in enumerate(work.algorithms):
            stays, _, stealing = name.partition("+")
            comm.barrier()
            start = time.perf_counter()
            c = ps.dist.matmul(left, right, **how_of(stays, stealing))
            comm.barrier()
            spent = time.perf_counter() - start
            if turn:
                seconds[name].append(spent)
                parts[name].append([float(c.times[p]) for p in (*PARTS, *COUNTED)])
            else:  # warms up, and is checked
                counts = counts or counted(left, right, c)
                found[name]["error"] = _error(work.problem, comm, c, number)
                if "broadcasts" in c.times:
                    found[name]["broadcasts"] = c.times["broadcasts"]
            del c
        turn += 1
        if turn == 1:
            begin = time.perf_counter()
    for name in work.algorithms:
        every = comm.gather(np.median(np.array(parts[name]), axis=0), 0)
        if comm.rank == 0:
            mean, total = np.mean(every, axis=0).tolist(), np.sum(every, axis=0).tolist()
            found[name] |= {"seconds": seconds[name], **dict(zip(PARTS, mean[: len(PARTS)], strict=True)),
                            **dict(zip(COUNTED, total[len(PARTS) :], strict=True))}  # fmt: skip
    if comm.rank:
        return None
    about = {"grid": list(left.grid), "tiles": [*left.tiles, right.tiles[1]], "transport": left.transport,
             "making_seconds": made}  # fmt: skip
    return {"results": found, "counts": counts, "about": about}


def _tiles(work: Work, comm: Any) -> Any:
    """Of A, with as many rows as the case wants."""
    a, grid = work.problem.a, work.grid
    if work.finer == 1:
        return ps.dist.tiled_array(a, comm, grid=grid, device=work.devices)
    grid = even_grid(a, comm.size) if grid == "auto" else _core.square_grid(comm.size)
    rows = -(-a.shape[0] // (math.lcm(*grid) * work.finer))
    return ps.dist.tiled_array(a, comm, rows, grid=grid, device=work.devices)


def gets(comm: Any, devices: Any, sizes: list[int], seconds: float) -> list[list[float]] | None:
    """[bytes, seconds alone, seconds each of 4 under way] of gets by rank 0 out of rank 1's arena."""
    gpu = -1 if devices == "cpu" else devices[comm.rank]
    transport = _core.make_device_transport(comm, max(sizes), "peer", gpu)
    times = [_core.get_times(transport, 0, 1, sizes, seconds / len(sizes) / 2, n) for n in (1, 4)]
    transport.barrier()
    return [list(p) for p in zip(sizes, *times, strict=True)] if comm.rank == 0 else None
