"""Timed products: repeats, medians, and what the trace says was moved."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Measured:
    """One way of multiplying. `seconds` is the median of the traces, `trace` is the last one."""

    seconds: float
    best: float
    repeats: int
    trace: dict[str, Any]
    flops: int
    bandwidth: float  # of reading host memory, measured in this process

    @property
    def rate(self) -> float:
        """Bytes per second: what the kernel must read and write, over the time. Copies into a ring
        come on top."""
        return self.trace["kernel_bytes"] / self.seconds if self.seconds else 0.0

    @property
    def fraction(self) -> float:
        return self.rate / self.bandwidth

    def as_dict(self) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "seconds_best": self.best,
            "repeats": self.repeats,
            "gflops": self.flops / self.seconds / 1e9 if self.seconds else None,
            "gb_per_s": self.rate / 1e9,
            "fraction_of_bandwidth": self.fraction,
            "trace": self.trace,
        }


def flops(a: Any) -> int:
    """A multiplication and an addition per entry; of complex numbers 6 and 2 real operations."""
    return (8 if a.dtype.kind == "c" else 2) * a.nnz


def random_vector(n: int, dtype: Any, seed: int) -> np.ndarray:
    """Uniform in -1 .. 1, both parts of it for complex types."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    return (x + 1j * rng.uniform(-1, 1, n) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def measure(
    product: Callable[[np.ndarray | None], np.ndarray],
    work: int,
    repeats: int,
    tell: Callable[[float], None] = lambda fraction: None,
) -> tuple[np.ndarray, Measured]:
    """Runs `product(out)` once to warm up, then `repeats` times into the same result."""
    import penstock as ps

    bandwidth = ps.machine()["host_read"]
    y = product(None)
    times = []
    for n in range(repeats):
        with ps.record() as events:
            product(y)
        times.append(events[-1]["seconds"])
        tell((n + 1) / repeats)
    measured = Measured(statistics.median(times), min(times), repeats, events[-1], work, bandwidth)
    return y, measured
