"""Edges as users hand them in, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._arguments import integer, not_integers
from penstock._arrays.convert import MAX_COLS, as_array, as_type
from penstock._matrix.csr import csr_array


def ends(some: Any, name: str) -> np.ndarray:
    """Vertex numbers, int32 or int64, of one dimension."""
    numbers = np.atleast_1d(as_array(some))
    if numbers.size == 0:
        numbers = numbers.astype(np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise not_integers(some, numbers, name)
    if numbers.dtype == np.uint64 and numbers.size and numbers.max() > np.iinfo(np.int64).max:
        at = int(numbers.argmax())
        raise ValueError(f"{name}[{at}]={numbers[at]} is beyond int64")
    return np.ascontiguousarray(numbers, np.int32 if numbers.dtype == np.int32 else np.int64)


def pair(rows: Any, cols: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of each edge."""
    u, v = ends(rows, "rows"), ends(cols, "cols")
    if u.size != v.size:
        raise ValueError(f"rows has {u.size} entries and cols {v.size}: every edge has both ends")
    return u, v


def weights(values: Any, count: int, dtype: np.dtype) -> np.ndarray | None:
    """One value an edge, of the graph's type; None for a pattern."""
    if dtype == np.bool_:
        if values is not None:
            raise ValueError(
                "values are given, and the graph is a pattern, which has none: leave them out, or make the graph of "
                "A.astype(float)"
            )
        return None
    given = as_array(1 if values is None else values)
    if given.dtype.kind not in "biufc":
        raise TypeError(f"values has dtype {given.dtype}: give numbers")
    if given.shape not in ((), (count,)):
        raise ValueError(
            f"values has shape {given.shape}: give one number, or one for each of {count} edges"
        )
    return np.ascontiguousarray(np.broadcast_to(as_type(given, dtype, "values"), (count,)))


def changes(
    base: csr_array,
    u: np.ndarray,
    v: np.ndarray,
    values: np.ndarray | None,
    vertices: int,
    directed: bool,
    *,
    remove: bool,
) -> Any:
    """The core's changes; ValueError that names an end outside the vertices."""
    return _core.EdgeDelta.from_edges(
        base._core, u, v, values, vertices=vertices, remove=remove, mirror=not directed
    )


def keys_of(u: np.ndarray, v: np.ndarray, vertices: int) -> np.ndarray:
    """Edges as the core looks them up; ValueError that names an end outside the vertices."""
    for name, some in (("rows", u), ("cols", v)):
        bad = (some < 0) | (some >= vertices)
        if bad.any():
            at = int(bad.argmax())
            raise ValueError(f"{name}[{at}]={some[at]} is outside a graph of {vertices} vertices")
    return u.astype(np.uint64) << np.uint64(32) | v.astype(np.uint64) << np.uint64(1)


def ends_of(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the core's keys."""
    return (keys >> np.uint64(32)).astype(np.int64), (
        (keys & np.uint64(0xFFFFFFFF)) >> np.uint64(1)
    ).astype(np.int64)


def number_of_vertices(n: Any, name: str, least: int) -> int:
    """An integer that a graph can have as its vertices, at least so many."""
    number = integer(n, name, least)
    if number > MAX_COLS:
        raise ValueError(f"{name}={number}: a graph has at most 2^31 - 1 vertices")
    return number
