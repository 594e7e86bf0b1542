"""The store behind a DynamicGraph: opened with its log, and replaced by a compaction."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from penstock._dynamic.log import ChangesFolder, Log
from penstock._dynamic.state import State
from penstock._io._errors import broken
from penstock._io.store import has_arrays, open_store, write_store
from penstock._matrix.csr import csr_array


class Stored:
    """A store that is open for changes, and its log."""

    def __init__(self, path: Any, directed: bool) -> None:
        self.path = os.fspath(path)
        self._directed, self._owner = directed, os.getpid()
        base = open_store(self.path)  # before a folder is made beside nothing
        self._folder = ChangesFolder(self.path)
        try:
            base = open_store(self.path)  # the one that the lock is for
            self._generation = self._named(base)
            self._folder.require_none_lost(self._generation)
            self._folder.remove_others(self._generation)
            log = self._folder.log_of(self._generation)
            fresh = not os.path.exists(log)
            self.log = Log.create(log, self._generation, base, directed) if fresh else Log(log)
        except BaseException:
            self._folder.close()
            raise
        self.base = base

    def _named(self, base: csr_array) -> str:
        generation = base._derived.generation
        if not isinstance(generation, str) or not generation.isalnum() or len(generation) > 32:
            raise broken(
                self.path,
                "does not say which version it is, as stores of this library do: save it again",
            )
        return generation

    def replayed(self, base: csr_array) -> State:
        """The state that the log leads to from `base`, which is the store's with canonical rows."""
        state = State(base, base.shape[0], self._directed)
        for delta, vertices in self.log.replay(self._generation, base, self._directed):
            state = State(base, vertices, self._directed, active=state.active).after(
                delta, vertices
            )
        return state

    def replace(
        self, matrix: csr_array, mark: int, hold: Callable[[], object], base: csr_array
    ) -> csr_array:
        """Writes `matrix` in the store's place, with a log of the records from `mark` on; returns it mapped.

        `hold` is called before the log is read: no batch may be written from then on until this returns."""
        now = self._named(open_store(self.path))
        if now != self._generation:
            raise broken(
                self.path,
                "has been replaced since this graph was opened: save G.to_csr() under another name",
            )
        old, made = self.log, {}

        def ready(generation: str) -> None:
            hold()
            path = self._folder.log_of(generation)
            tail = old.tail(mark)
            made["log"] = Log.create(path, generation, matrix, self._directed, tail)
            if generation == self._generation:  # the same entries: it is the log of either store
                self.log = made["log"]

        known = base._derived
        sample = known.neighbour_sample
        try:
            write_store(
                self.path,
                matrix,
                known.packed is not None and (has_arrays(self.path) or "only"),
                False if sample is None else sample[0],
                known.packed_lists is not None,
                ready,
            )
        finally:
            if "log" in made:  # also after an error, for the store may be in its place all the same
                self._settle(made["log"], old)
        return open_store(self.path)

    def _settle(self, made: Log, old: Log) -> None:
        """Goes on with the log of the store that is there."""
        now = self._named(open_store(self.path))
        used, other = (old, made) if now == self._generation and self.log is old else (made, old)
        self.log, self._generation = used, now
        other.close()
        self._folder.remove_others(now)

    def require_owner(self) -> None:
        """RuntimeError in a process that was forked from the one that has opened the store."""
        if os.getpid() != self._owner:
            raise RuntimeError(
                f"{self.path} was opened for changes by the process that this one was forked from, and only that one "
                "changes it"
            )

    def close(self) -> None:
        self.log.close()
        self._folder.close()
