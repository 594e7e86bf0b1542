"""What was done, what would be done, and what was built: record, Explanation, show_config."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock import _core
from penstock._plan.options import Inherited


class _Record:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.open = True


_records: Inherited[_Record] = Inherited("penstock_records")


@contextlib.contextmanager
def record() -> Iterator[list[dict[str, Any]]]:
    """Collects what each product inside the block did: schedule, kernel, tiles, bytes, seconds. Products of tasks and
    threads that are started inside are collected, too, until the block ends; those of other threads are not.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.eye(3))
    >>> with ps.record() as t:
    ...     y = A @ np.ones(3)
    >>> t[0]["schedule"], t[0]["tiles"]
    ('in_core', 1)
    """
    own = _Record()
    _records.set((*_records.get(), own))
    try:
        yield own.events
    finally:
        own.open = False  # for threads that go on
        _records.remove(own)


def active() -> list[dict[str, Any]] | None:
    """Where the innermost `record` around this thread or task collects, or None."""
    stack = _records.get()
    return next((one.events for one in reversed(stack) if one.open), None) if stack else None


def human_bytes(n: float) -> str:
    """1536 -> "1.5 KiB".

    >>> human_bytes(512), human_bytes(3 << 20)
    ('512 B', '3.0 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024:
            return f"{n:.0f} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return f"{n:.1f} TiB"


@dataclass(frozen=True)
class Explanation:
    """A plan in words and numbers: predicted bytes and seconds per resource, and which one binds.

    schedule, reason : what would be done, and why
    seconds : of one product; first_call_seconds: once before it, for packing, locking pages and moving what stays
    binding : the resource that takes longest; uses: a dictionary of bytes, bandwidth and seconds for each
    alternatives : what else was considered: dictionaries of schedule, seconds and first_call_seconds
    figures : where the bandwidths come from
    """

    schedule: str
    reason: str
    seconds: float
    binding: str
    uses: list[dict[str, Any]]
    flops: int
    first_call_seconds: float = 0.0
    alternatives: list[dict[str, Any]] = field(default_factory=list)
    figures: str = ""

    def __str__(self) -> str:
        rate = self.flops / self.seconds / 1e9 if self.seconds else 0.0
        lines = [
            f"schedule: {self.schedule} ({self.reason})",
            f"predicted: {self.seconds * 1e3:.3g} ms, {rate:.3g} GFLOP/s at most; {self.binding} binds",
        ]
        lines += lines_of(self.uses)
        if self.first_call_seconds:
            lines.append(f"before the first product: {self.first_call_seconds * 1e3:.3g} ms")
        if self.alternatives:
            lines.append("considered:")
            lines += [f"  {_words(other)}" for other in self.alternatives]
        if self.figures:
            lines.append(f"bandwidths: {self.figures}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks: the same, with a picture of the seconds of each resource."""
        from penstock._plan.picture import html  # notebooks alone need it

        return html(self)


def lines_of(uses: list[dict[str, Any]]) -> list[str]:
    """What each resource is asked for, and how long that takes it: a line of an explanation each."""
    return [
        f"  {u['resource']}: {human_bytes(u['bytes'])} at {u['bandwidth'] / 1e9:.3g} GB/s"
        f" = {u['seconds'] * 1e3:.3g} ms"
        for u in uses
    ]


def _words(other: dict[str, Any]) -> str:
    first = other["first_call_seconds"]
    once = f", and {first * 1e3:.3g} ms once" if first else ""
    return f"{other['schedule']}: {other['seconds'] * 1e3:.3g} ms{once}"


def show_config() -> str:
    """What this installation was built with and runs on, one item a line.

    >>> import penstock as ps
    >>> print(ps.show_config().splitlines()[0].split()[0])
    penstock
    """
    c, t = _core.config(), _core.topology()
    if c["cuda"]:
        count = t["gpus"]
        cuda = f"{c['cuda_compiler']}, {c['cuda_kernels']}; {count} usable GPU{'s' * (count != 1)}"
    else:
        cuda = f"not built in: {c['why_no_cuda']}"
    return "\n".join(
        [
            f"penstock {c['version']} ({c['build_type']}, {c['compiler']})",
            f"python   {platform.python_version()} on {platform.machine()}",
            f"cpu      {t['cpu'] or 'unknown'}: {t['cpus']} CPUs, SIMD {c['simd']}, "
            f"{_core.num_threads()} threads",
            f"memory   {human_bytes(t['memory_bytes'])}, {human_bytes(t['available_bytes'])} free",
            f"cuda     {cuda}",
        ]
    )
