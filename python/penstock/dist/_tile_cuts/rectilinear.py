"""Cuts of rows and columns for which the heaviest tile, or rank, is as light as can be.

`optimal` is the best cut of one side where the other is cut (Nicol, *Rectilinear partitioning of irregular data
parallel computations*, JPDC 1994: probe a bound, halve the interval); `alternate` does both sides in turn. Where both
sides must be cut at the same places, such a step is not exact (Yasar et al., *On symmetric rectilinear matrix
partitioning*, 2020): `descend` moves one cut at a time. Lines are rows or columns, or groups of these, with their first
numbers as `edges`.

>>> import numpy as np
>>> optimal(np.array([[4], [1], [1], [1], [1]]), np.arange(6), 2, 5)
array([0, 1, 5])
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["alternate", "descend", "optimal", "prefix"]

_CLOSE = 1e-3  # of the bound: halving it further changes nothing that can be measured
_SWEEPS = 8
_TRIED = 48  # places that a cut is tried at


def prefix(weights: np.ndarray) -> np.ndarray:
    """Sums of all cells above and left of each place, shape (rows + 1, columns + 1)."""
    out = np.zeros((weights.shape[0] + 1, weights.shape[1] + 1))
    out[1:, 1:] = weights.cumsum(0).cumsum(1)
    return out


def optimal(weights: np.ndarray, edges: np.ndarray, parts: int, most: int) -> np.ndarray | None:
    """`parts` + 1 places among the lines, so that the heaviest column of a part is as light as can be.

    Parameters
    ----------
    weights : (lines, columns)
        Work in each line for each part of the other side.
    edges : (lines + 1,)
    parts : int
    most : int
        Rows (columns) of a part.

    None where there are fewer lines than parts, or no such cut.
    """
    lines = weights.shape[0]
    if lines < parts:
        return None
    sums = np.zeros((weights.shape[1], lines + 1))
    sums[:, 1:] = weights.cumsum(0).T
    far = np.searchsorted(edges, edges + most, "right") - 1  # of a part that begins here

    def probe(bound: float) -> np.ndarray | None:
        at = [0]
        for left in range(parts - 1, -1, -1):
            begin = at[-1]
            end = min(int(far[begin]), lines - left)
            for column in sums:
                end = min(end, int(column.searchsorted(column[begin] + bound, "right")) - 1)
            if end <= begin:
                return None
            at.append(end)
        return np.array(at) if at[-1] == lines else None

    low, high = float(sums[:, -1].max(initial=0.0)) / parts, float(sums[:, -1].max(initial=0.0))
    found = probe(high)
    while found is not None and high - low > _CLOSE * high:
        middle = (low + high) / 2
        if (better := probe(middle)) is not None:
            found, high = better, middle
        else:
            low = middle
    return found


def alternate(
    sums: np.ndarray, edges: tuple[np.ndarray, np.ndarray], start: tuple[np.ndarray, np.ndarray],
    most: tuple[int, int], fixed: bool = False,
) -> list[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """All cuts that come of choosing rows for the columns, and columns for the rows, in turn. `sums`: of `prefix`;
    `fixed`: the rows stay."""
    rows, cols = start
    found = []
    for _ in range(_SWEEPS):
        before = rows, cols
        if not fixed:
            chosen = optimal(
                np.diff(np.diff(sums[:, cols], axis=0), axis=1), edges[0], rows.size - 1, most[0]
            )
            rows = rows if chosen is None else chosen
        chosen = optimal(
            np.diff(np.diff(sums[rows], axis=1), axis=0).T, edges[1], cols.size - 1, most[1]
        )
        cols = cols if chosen is None else chosen
        found.append((rows, cols))
        if np.array_equal(before[0], rows) and np.array_equal(before[1], cols):
            break
    return found


def descend(
    cost: Callable[[np.ndarray], float], edges: np.ndarray, start: np.ndarray, most: int
) -> np.ndarray:
    """Moves one cut at a time to where the cost is least, until none moves."""
    at, best = start.copy(), cost(start)
    for _ in range(_SWEEPS):
        before = best
        for n in range(1, at.size - 1):
            first = max(int(at[n - 1]) + 1, int(np.searchsorted(edges, edges[at[n + 1]] - most)))
            last = min(
                int(at[n + 1]) - 1,
                int(np.searchsorted(edges, edges[at[n - 1]] + most, "right")) - 1,
            )
            near = np.arange(max(first, at[n] - 4), min(last, at[n] + 4) + 1)
            places = np.unique(
                np.concatenate([np.linspace(first, max(last, first), _TRIED).astype(int), near])
            )
            for place in places[(places >= first) & (places <= last)]:
                moved = at.copy()
                moved[n] = place
                if (found := cost(moved)) < best:
                    at, best = moved, found
        if best == before:
            break
    return at
