"""Keeps the threads of NumPy's BLAS asleep while a method runs on the threads of this library.

A LAPACK call on a matrix of 30 rows wakes the threads of OpenBLAS, which then look for more work for a tenth of a
second: on two cores, our products would share the second one with them.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_inside = 0
_before: list[int] = []  # threads of each library


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Until the last of those that are inside leaves, on whichever thread."""
    global _inside, _before
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = [library.num_threads for library in _libraries()]
            _set([1] * len(_before))
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _set(_before)


def _set(counts: list[int]) -> None:
    for library, count in zip(_libraries(), counts, strict=True):
        library.set_num_threads(count)
        # From threadpoolctl 3.8 on only the thread that has set OpenBLAS's may set it again: here another may be last.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release()


@functools.cache
def _libraries() -> list[Any]:
    """Those that are loaded by now: NumPy's is."""
    try:
        import threadpoolctl
    except ImportError:  # speed is all that is lost
        return []
    return list(threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers)
