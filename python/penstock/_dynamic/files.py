"""The store behind a DynamicGraph: opened with its log, and replaced by a compaction."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from penstock._dynamic.log import ChangesFolder, Log
from penstock._dynamic.state import State
from penstock._io._atomic import require_named, sync
from penstock._io._errors import broken
from penstock._io.store import forms_of, open_store, write_store
from penstock._matrix.csr import csr_array

_REPLACED = "has been replaced since this graph was opened: save G.to_csr() under another name"


def _named(path: Any) -> str:
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"path={path!r} is no path: give the name of a store's folder")
    name = os.fsdecode(path)
    if not name:
        raise ValueError(f"path={path!r} is empty: give the name of a store's folder")
    return name


class Stored:
    """A store that is open for changes, and its log."""

    def __init__(self, path: Any, directed: bool) -> None:
        self.path = os.path.realpath(_named(path))  # wherever the process goes
        self._directed, self._owner = directed, os.getpid()
        self._doubt: str | None = None  # why nobody knows which log is the store's
        open_store(self.path)  # before a folder is made beside nothing
        self._folder = ChangesFolder(self.path)
        try:
            base = open_store(self.path)  # the one that the lock is for
            self._generation = self._checked(base._derived.generation)
            self._folder.require_none_lost(self._generation)
            sync(
                os.path.dirname(self.path)
            )  # of who was killed before: the store stays the one that is there
            self._folder.remove_others(self._generation)
            log = self._folder.log_of(self._generation)
            fresh = not os.path.exists(log)
            self.log = Log.create(log, self._generation, base, directed) if fresh else Log(log)
        except BaseException:
            self._folder.close()
            raise
        self._base: csr_array | None = base

    def take_base(self) -> csr_array:
        """What was opened, once: it is not kept here, so that it goes when a compaction has replaced it."""
        base, self._base = self._base, None
        assert base is not None
        return base

    def _checked(self, generation: Any) -> str:
        if not isinstance(generation, str) or not generation.isalnum() or len(generation) > 32:
            raise broken(
                self.path,
                "does not say which version it is, as stores of this library do: save it again",
            )
        return generation

    def _now(self) -> str:
        """The version that is there."""
        return self._checked(forms_of(self.path)[0])

    def replayed(self, base: csr_array) -> State:
        """The state that the log leads to from `base`, which is the store's with canonical rows."""
        state = State(base, base.shape[0], self._directed)
        for delta, vertices in self.log.replay(self._generation, base, self._directed):
            state = State(base, vertices, self._directed, active=state.active).after(
                delta, vertices
            )
        return state

    def replace(self, matrix: csr_array, mark: int, hold: Callable[[], object]) -> None:
        """Writes `matrix` in the store's place, with a log of the records from `mark` on.

        `hold` is called before the log is read: no batch may be written from then on until this returns."""
        self.require_usable()
        try:
            require_named(self.path)
        except ValueError:
            raise ValueError(
                f"{self.path}: the current folder is in this store, which compact() replaces: leave it (os.chdir) first"
            ) from None
        now, forms = forms_of(self.path)
        self._require_same(now)
        made: list[str] = []

        def ready(generation: str) -> None:
            hold()
            self._require_same(forms_of(self.path)[0])
            made.append(generation)
            tail = self.log.tail(mark)
            path = self._folder.log_of(generation)
            Log.create(path, generation, matrix, self._directed, tail).close()

        try:
            write_store(self.path, matrix, **forms, ready=ready)
        finally:
            if made:  # also after an error, for the store may be in its place all the same
                self._settle(made[0])

    def _require_same(self, now: Any) -> None:
        if now != self._generation:
            raise broken(self.path, _REPLACED)

    def _settle(self, made: str) -> None:
        """Goes on with the log of the store that is there. Where it cannot tell which that is, or whether it stays,
        both logs are kept, and nothing is changed any more: what went into the other log would be lost."""
        try:
            now = self._now()
            if now not in (made, self._generation):
                raise broken(self.path, _REPLACED)
            sync(os.path.dirname(self.path))
            self._folder.sync()
            path = self._folder.log_of(now)
            if not self.log.is_at(
                path
            ):  # else the old one, or one that has taken its place under the same name
                old, self.log = self.log, Log(path)
                old.close()
            self._generation = now
        except BaseException as error:
            self._doubt = str(error) or type(error).__name__
            raise
        self._folder.remove_others(now)

    def mapped(self) -> csr_array:
        """The store that `replace` has written."""
        base = open_store(self.path)
        self._require_same(base._derived.generation)
        return base

    @property
    def is_forked(self) -> bool:
        return os.getpid() != self._owner

    def require_usable(self) -> None:
        """RuntimeError in a process that was forked from the one that has opened the store, and where a compaction
        could not tell what is on the disk."""
        if self.is_forked:
            raise RuntimeError(
                f"{self.path} was opened for changes by the process that this one was forked from, and only that one "
                "changes it"
            )
        if self._doubt is not None:
            raise RuntimeError(
                f"{self.path}: a compaction failed when the store was replaced ({self._doubt}), and the graph is not "
                "changed any more: close it, and open it again"
            )

    def close(self) -> None:
        self.log.close()
        self._folder.close()
