"""What does not come with a fork: the threads of polars, for which a child would wait for ever. The library's own
threads start anew."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

_WORKER = re.compile(r"polars-\d")  # the names of its threads; to import it starts another one
_running = False  # whether polars had threads at the last fork
_lost = False  # whether this process, or one that it descends from, was forked then


def _look() -> None:
    global _running
    _running = "polars" in sys.modules
    with contextlib.suppress(OSError):
        tasks = Path("/proc/self/task").iterdir() if _running else ()
        _running = any(_WORKER.match((task / "comm").read_text()) for task in tasks)


def _lose() -> None:
    global _lost
    _lost |= _running


def watch() -> None:
    """Looks, from now on, at each fork of this process."""
    os.register_at_fork(before=_look, after_in_child=_lose)


def check_polars() -> None:
    """Before polars is to work.

    Raises
    ------
    RuntimeError
        In a process that was forked from one in which polars had worked.
    """
    if _lost:
        raise RuntimeError(
            "this process was forked after polars had been used, whose threads do not come with it: start processes "
            "by multiprocessing.get_context('spawn') or 'forkserver'. Edge lists, .gr and Parquet files and labels "
            "need polars; .npz, .mtx and .penstock are read in forked processes too"
        )
