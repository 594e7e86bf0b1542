"""How searches read a graph that changes: as its base and the rows that changes touch, or as a matrix of now."""

from __future__ import annotations

from typing import Any

from penstock._matrix.changing import Changing
from penstock._matrix.patched import Patched
from penstock.csgraph._incoming import COST


def changed_rows(
    A: Any, directed: bool, device: Any, gpu_options: Any, lists: str
) -> Patched | None:
    """The rows that a search on the CPU reads, of a `DynamicGraph` that has changes. None for what is read as a matrix:
    other graphs, one without changes, edges that are to be walked both ways and go one way, and searches that ask for
    a GPU or for one form of the lists."""
    if not isinstance(A, Changing) or (A.directed and not directed):
        return None
    if device not in (None, "cpu") or gpu_options is not None or lists not in ("auto", "raw"):
        return None
    rows = A._patched()
    return rows if rows.changed else None


def search(rows: Patched, predecessors: bool, source: int) -> tuple[Any, Any]:
    """(levels, predecessors or None)."""
    return rows.search(source, predecessors, COST)


def weak_components(rows: Patched, return_labels: bool) -> Any:
    """(count, labels), or the count."""
    count, labels = rows.components(COST)
    return (count, labels) if return_labels else count
