"""What a DynamicGraph holds at one moment: a base and runs of changes. Readers keep the moment that they began with."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._matrix.patched import Patched

# A run is merged with the one before it, unless that one is so many times longer: each change is moved O(log) times.
_LONGER = 2


class State:
    """`frozen` are runs that a compaction is writing, `active` those after it, each from the oldest to the newest."""

    def __init__(
        self,
        base: csr_array,
        vertices: int,
        directed: bool,
        frozen: Sequence[Any] = (),
        active: Sequence[Any] = (),
    ) -> None:
        self.base, self.vertices, self.directed = base, vertices, directed
        self.frozen, self.active = tuple(frozen), tuple(active)
        self._lock = threading.Lock()
        self._rows: Patched | None = None

    def after(self, delta: Any, vertices: int) -> State:
        """The state with one more batch."""
        runs = [*self.active, delta] if len(delta) else list(self.active)
        while len(runs) > 1 and len(runs[-2]) < _LONGER * len(runs[-1]):
            newer = runs.pop()
            runs[-1] = runs[-1].merged(newer)
        return State(self.base, vertices, self.directed, self.frozen, runs)

    def sealed(self) -> State:
        """The same state, all of whose runs are frozen. It keeps what was made of them."""
        made = State(self.base, self.vertices, self.directed, (*self.frozen, *self.active))
        made._rows = self._rows
        return made

    def on(self, base: csr_array) -> State:
        """The state whose frozen runs are in a new base."""
        return State(base, self.vertices, self.directed, (), self.active)

    @property
    def runs(self) -> tuple[Any, ...]:
        return (*self.frozen, *self.active)

    @property
    def changes(self) -> int:
        return sum(map(len, self.runs))

    def has(self, keys: Any) -> Any:
        """One byte for each of the core's keys: whether the graph has the edge."""
        return _core.has_edges(self.base._core, list(reversed(self.runs)), keys)

    def rows(self) -> Patched:
        """The rows of now, merged at the first call; the active runs stay merged."""
        with self._lock:
            if self._rows is None:
                self.active = _as_one(self.active)
                whole = _as_one(self.runs)
                self._rows = Patched(
                    self.base, whole[0] if whole else None, self.vertices, self.directed
                )
            return self._rows


def _as_one(runs: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(runs) < 2:
        return runs
    # From the newest on, which are the shortest.
    return (functools.reduce(lambda newer, older: older.merged(newer), reversed(runs)),)
