"""What each rank of bench/brock2024.py does: one product by every algorithm, in turns, checked and taken apart."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import penstock as ps

PARTS = ("compute", "communication", "accumulation", "imbalance", "prepare")
COUNTED = ("stolen", "fetched_bytes", "sent_bytes", "flops")


def how_of(stays: str, stealing: str) -> dict[str, Any]:
    """Arguments of ps.dist.matmul, of the parts of a name such as "c+random" or "summa"."""
    if stays == "summa":
        return {"algorithm": "summa"}
    return {"stationary": stays, "steal": stealing or False}


def error(got: Any, a: Any, b: Any) -> float:
    """In multiples of what is allowed: sums of float32, by a product with a vector of signs in float64."""
    x = np.where(np.arange(b.shape[1]) % 3, 1.0, -1.0)
    wide = lambda m: m.astype(np.float64) if m.dtype != np.float64 else m  # noqa: E731
    wanted = wide(a) @ (wide(b) @ x)
    scale = wide(a) @ (wide(b) @ np.abs(x)) + 1e-30  # entries are not negative
    return float(np.max(np.abs(wide(got) @ x - wanted) / scale, initial=0.0) / 1e-4)


def work(comm: Any, a: Any, b: Any, turns: int, algorithms: list[str]) -> dict[str, Any] | None:
    """On rank 0: algorithm -> seconds of each turn, what they were, bytes, the error. `b` None: A times itself."""
    left = ps.dist.tiled_array(a, comm)
    right = left if b is None else ps.dist.tiled_array(b, comm)
    seconds: dict[str, list[float]] = {name: [] for name in algorithms}
    parts: dict[str, list[list[float]]] = {name: [] for name in algorithms}
    found: dict[str, Any] = {}
    for turn in range(turns + 1):  # the first warms up, and is checked
        for name in algorithms:
            stays, _, stealing = name.partition("+")
            comm.barrier()
            begin = time.perf_counter()
            c = ps.dist.matmul(left, right, **how_of(stays, stealing))
            comm.barrier()
            spent = time.perf_counter() - begin
            if turn:
                seconds[name].append(spent)
                parts[name].append([float(c.times[p]) for p in (*PARTS, *COUNTED)])
            else:
                whole = c.collect()
                if comm.rank == 0:
                    found[name] = {"error": error(whole, a, a if b is None else b)}
                del whole
            del c
    for name in algorithms:
        total = comm.gather(np.median(np.array(parts[name]), axis=0), 0)
        if comm.rank == 0:
            mean, all_ranks = np.mean(total, axis=0).tolist(), np.sum(total, axis=0).tolist()
            found[name] |= {
                "seconds": seconds[name],
                **dict(zip(PARTS, mean[: len(PARTS)], strict=True)),
                **dict(zip(COUNTED, all_ranks[len(PARTS) :], strict=True)),
            }
    return found if comm.rank == 0 else None
