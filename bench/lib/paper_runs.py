"""What the reproductions of papers share (buono2017.py, emogi2020.py): options, time left, host memory, links."""

from __future__ import annotations

import argparse
import copy
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lib.report import Report
from penstock import _core


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",") if word]


def words(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        given = [word for word in text.split(",") if word]
        if unknown := set(given) - set(known):
            raise argparse.ArgumentTypeError(
                f"unknown {', '.join(sorted(unknown))}: choose from {', '.join(known)}"
            )
        return given

    return parse


def available() -> int:
    """Bytes of host memory free now."""
    return int(_core.topology()["available_bytes"])


@dataclass
class PaperRun:
    """One run of a reproduction, which keeps to its time: every step gets a share of what is left."""

    args: argparse.Namespace
    report: Report
    on_host: bool  # there is no GPU
    deadline: float
    weight_left: float = 0.0

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def share(self, weight: float) -> float:
        """Seconds that a step may take of those left, by its weight among the steps left."""
        return max(self.left(), 0.0) * weight / max(self.weight_left, weight)

    def memory_for(self, what: str, needed: float) -> bool:
        """Is there host memory? If not, says so."""
        free = 0.95 * available()
        if needed > free:
            why = f"needs {needed / 1e9:.1f} GB of host memory, {free / 1e9:.1f} GB are free"
            self.report.skip(what, why)
        return needed <= free

    def rate(self, kind: str, count: int = 1) -> float | None:
        """Probed bytes a second over the links of `count` GPUs at once: h2d, d2h, zero_copy. None: not probed."""
        together = self.report.data["probe"]["together"].get(str(count))
        return together.get(kind) if together else None

    def step(self, part: str, what: str, work: Callable[[], None]) -> bool:
        """Does one step of a part, unless the time is over, and adds its seconds. Whether it broke: too little memory
        is no fault."""
        if self.left() <= 0:
            self.report.skip(what, "no time is left of --minutes")
            return False
        begin, broke = time.monotonic(), False
        try:
            work()
        except MemoryError as e:
            self.report.skip(what, str(e))
        except Exception as e:
            broke = True
            self.told(what, e)
        spent = self.report.data["part_seconds"]
        spent[part] = spent.get(part, 0.0) + time.monotonic() - begin
        return broke

    def told(self, what: str, e: Exception) -> None:
        """A fault is kept and shown; it is not the end of what comes after it."""
        self.report.skip(what, f"{type(e).__name__}: {e}")
        traceback.print_exc()


def probe(on_host: bool, fresh: bool) -> dict[str, Any]:
    """Bandwidths of the links, and of what they bound; the planner knows them, too. `fresh`: not those of an earlier
    probe."""
    if on_host:
        return {"gpus": [], "together": {}}
    from penstock._plan import probe as _probe

    known = None if fresh else _probe.measured()
    found = copy.deepcopy(known or _probe.measure())
    del found["key"]
    for gpu in found["gpus"]:
        del gpu["bus"]
    return found
