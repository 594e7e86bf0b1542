"""What benchmarks of iterations share: the check of a solution, and the time of one iteration."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

SLACK = 1.02  # PETSc tests a recurrence: its x may miss by a little


def residual_check(csr: Any, b: np.ndarray, rtol: float) -> Any:
    """norm(b - A x) as a multiple of what is allowed."""
    allowed = SLACK * rtol * float(np.linalg.norm(b))

    def check(x: np.ndarray) -> float:
        if x.shape != b.shape:
            raise ValueError(f"x has shape {x.shape}, not {b.shape}")
        return float(np.linalg.norm(b - csr @ x)) / allowed

    return check


def per_iteration(run: Callable[[int], Any], short: int, long: int) -> Callable[[], float]:
    """Seconds of one iteration: the difference of a long and a short run, over that of their lengths."""

    def timed() -> float:
        seconds = []
        for count in (short, long):
            begin = time.perf_counter()
            run(count)
            seconds.append(time.perf_counter() - begin)
        return (seconds[1] - seconds[0]) / (long - short)

    return timed
