"""One-sided gets and claims between two GPUs, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import _core
from penstock.dist._comm import run

__all__ = ["SIZES", "measure_gets"]

SIZES = (8, 256, 4096, 65536, 1 << 20, 4 << 20, 16 << 20, 64 << 20)  # bytes
UNDER_WAY = 4


def measure_gets(
    gpus: Sequence[int], seconds: float = 1.0, sizes: Sequence[int] = SIZES
) -> dict[str, Any] | None:
    """What one-sided gets of device memory take, by the first of two GPUs from the other.

    Parameters
    ----------
    gpus : sequence of int
        Two GPUs, or one twice; -1 twice is the CPU in their place. Each gets a rank, a thread of this process.
    seconds : float
        About what it may take.
    sizes : sequence of int
        Bytes of the gets, ascending; the arenas are as large as the last.

    Returns
    -------
    dict or None
        `transport` (its name), `gpus`, `gets` ([bytes, seconds], from the call until the bytes are here),
        `queued` (the same for each of 4 that are under way at once, as tiles are that are fetched ahead), `claim_s`
        (a fetch-and-add by one rank on a counter of the other) and `claim_at_once_s` (by both on one), in seconds.
        None where the GPUs do not reach one another's memory.

    >>> found = measure_gets([-1, -1], seconds=0.01, sizes=[8, 4096])
    >>> found["transport"], [n for n, _ in found["gets"]]
    ('peer', [8, 4096])
    """

    def rank(comm: Any) -> dict[str, Any]:
        t = _core.make_device_transport(comm, sizes[-1], "peer", gpus[comm.rank])
        each = seconds / 2 / len(sizes)
        times = _core.get_times(t, 0, 1, list(sizes), each)
        queued = _core.get_times(t, 0, 1, list(sizes), each, UNDER_WAY)
        found = {
            "transport": t.name,
            "gpus": list(gpus),
            "gets": [list(p) for p in zip(sizes, times, strict=True)],
            "queued": [list(p) for p in zip(sizes, queued, strict=True)],
            "claim_s": _core.claim_time(t, 1, 0),
            "claim_at_once_s": _core.claim_time(t, 0, -1),
        }
        t.barrier()
        return found

    if len(gpus) != 2:
        raise ValueError(f"gets are measured between two GPUs, not {len(gpus)}")
    try:
        return run(rank, 2)[0]
    except _core.PlacementError:
        return None
