"""How searches read a graph that changes: as its base and the rows that changes touch, or as a matrix of now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._neighbours import packed_lists
from penstock._matrix.changing import Changing
from penstock._matrix.patched import Patched
from penstock.csgraph._incoming import COST
from penstock.csgraph._lists import cpu_lists, for_cpu


@dataclass(frozen=True)
class ChangedRows:
    """What a search on the CPU reads; `packed`: those lists of the base that no change touches are read packed."""

    rows: Patched
    packed: bool

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.shape

    def search(self, predecessors: bool, source: int) -> tuple[Any, Any]:
        """(levels, predecessors or None)."""
        how = (source, self.rows.plan, predecessors)
        levels, tree, missed = _core.bfs_patched(*self._sides(), *how)
        self.rows.missed += missed
        return levels, tree

    def weak_components(self) -> tuple[int, np.ndarray]:
        """(count, labels)."""
        count, labels, missed = _core.connected_components_patched(*self._sides(), self.rows.plan)
        self.rows.missed += missed
        return count, labels

    def _sides(self) -> tuple[Any, Any]:
        """The edges out of each vertex and into it, or None. A mapped base is not turned around for the latter."""
        mapped = self.rows.base.place == "mapped"
        back = self.rows.edges_in(float("inf") if mapped else COST)
        return self._side(self.rows), None if back is None else self._side(back)

    def _side(self, rows: Patched) -> tuple[Any, Any, Any]:
        return rows.side(packed_lists(rows.base) if self.packed else None)


def changed_rows(
    A: Any, directed: bool, device: Any, gpu_options: Any, lists: str
) -> ChangedRows | None:
    """What a search on the CPU reads of a `DynamicGraph` that has changes. None for what is read as a matrix: other
    graphs, one without changes, edges that are to be walked both ways and go one way, and searches that ask for a
    GPU."""
    if not isinstance(A, Changing) or (A.directed and not directed):
        return None
    if device not in (None, "cpu") or gpu_options is not None:
        return None
    wanted = for_cpu(lists, False, "")
    rows = A._patched()
    if not rows.changed:
        return None
    return ChangedRows(rows, cpu_lists(rows.base, wanted).kind == "packed")
