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
_limit: Any = None


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Until the last of those that are inside leaves."""
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            found = _libraries()
            _limit = None if found is None else found.limit(limits=1)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.restore_original_limits()
                _limit = None


@functools.cache
def _libraries() -> Any:
    """Those that are loaded by now: NumPy's is."""
    try:
        import threadpoolctl
    except ImportError:  # speed is all that is lost
        return None
    return threadpoolctl.ThreadpoolController().select(user_api="blas")
