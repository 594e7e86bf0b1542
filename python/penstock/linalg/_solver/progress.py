"""A bar on a terminal that says how far a solve is: from the first residual down to the tolerance, on a log scale."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

EVERY = 0.1  # seconds from one drawing to the next
Step = Callable[[int, float], None]


@contextlib.contextmanager
def bar(shown: bool, what: str, target: float) -> Iterator[Step | None]:
    """A function of (iteration, residual) that moves the bar, which is on stderr and gone when done. None where
    nothing is to be `shown`, or stderr is no terminal: nobody is then called back."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    words = TextColumn("{task.description}", markup=False)
    drawn = Progress(
        words, BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )
    task = drawn.add_task(what, total=1.0)
    known: dict[str, Any] = {"first": 0.0, "least": math.inf, "last": 0.0}

    def step(iteration: int, residual: float) -> None:
        known["first"] = known["first"] or residual
        known["least"] = min(known["least"], residual)
        now = time.monotonic()
        if now - known["last"] >= EVERY:
            known["last"] = now
            text = (
                f"{what}: iteration {iteration:,}, residual {residual:.2e}, to reach {target:.2e}"
            )
            done = fraction(known["first"], known["least"], target)
            drawn.update(task, description=text, completed=done)

    with drawn:
        yield step


def fraction(first: float, residual: float, target: float) -> float:
    """How much of the way is done, 0 to 1.

    >>> fraction(1.0, 1e-4, 1e-8)
    0.5
    """
    if not 0 < target < first or not residual > 0:
        return 1.0 if residual <= target else 0.0
    return min(max(math.log(first / residual) / math.log(first / target), 0.0), 1.0)
