"""A compaction that goes on: who does it, whether it has ended, and what its callers hold of it."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import Future, InvalidStateError


class Compaction:
    """`future` is for callers, and decides nothing here: they may do to it what they like."""

    def __init__(self) -> None:
        self.future: Future[None] = Future()
        self.future.set_running_or_notify_cancel()  # cancel() is False: the thread would go on
        self._ended = threading.Event()
        self._begun = threading.Lock()
        self._owner = os.getpid()

    def begin(self) -> bool:
        """True once: to the thread that does it, or to who could not start that thread."""
        return self._begun.acquire(blocking=False)

    @property
    def goes_on(self) -> bool:
        """Not in a process that was forked meanwhile: the thread is not there."""
        return not self._ended.is_set() and os.getpid() == self._owner

    def wait(self) -> None:
        """Until it has ended, whatever became of it."""
        if self.goes_on:
            self._ended.wait()

    def end(self, error: BaseException | None = None) -> None:
        """What waits goes on. The future comes last: what it calls may begin another compaction."""
        self._ended.set()
        with contextlib.suppress(InvalidStateError):
            if error is None:
                self.future.set_result(None)
            else:
                self.future.set_exception(error)
