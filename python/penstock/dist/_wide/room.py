"""Whether the entries of a matrix that ranks make fit into memory: asked before they are there, for a process that
takes more than there is may be killed without a word."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from penstock import _core
from penstock.dist._agree import agreed

UNASKED = 1 << 30  # bytes of one machine's ranks for which the system is not asked what it has


def entry_bytes(dtype: Any) -> int:
    """Of an entry with its two numbers."""
    return 16 if np.dtype(dtype) == np.dtype(bool) else 24


def available() -> int:
    """Bytes of this machine."""
    return int(_core.topology()["available_bytes"])


def require_room(comm: Any, entries: int, dtype: Any, does: str, remedy: str) -> None:
    """MemoryError on all ranks where those of a machine have not the memory for their entries, of which each `does`
    (reads, draws) so many, and for as many that they get meanwhile. Collective."""
    each, host = entry_bytes(dtype), platform.node()
    ours = [n for other, n in comm.collect((host, entries)) if other == host]
    needed = 2 * sum(ours) * each  # one rank alone copies them, too

    def check() -> None:
        if needed <= UNASKED or needed <= (there := available()):
            return
        raise MemoryError(
            f"rank {comm.rank} would {does} {entries} entries of {each} bytes: with as many that they "
            f"get, the ranks of this machine ({len(ours)}) need {needed >> 20} MiB, and {there >> 20} MiB are "
            f"available: use more machines{remedy}"
        )

    agreed(comm, check)
