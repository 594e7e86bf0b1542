"""Counts of the 3-, 5- and 7-point stencils on any number of ranks, by arithmetic: no matrix is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.dist._layouts import Counts

__all__ = ["stencil_counts"]


def process_grid(ranks: int, axes: int) -> tuple[int, ...]:
    """The most cubic grid of so many ranks, largest extent last.

    >>> process_grid(12, 3), process_grid(64, 3), process_grid(7, 2)
    ((2, 2, 3), (4, 4, 4), (1, 7))
    """
    if axes == 1:
        return (ranks,)
    best: tuple[int, ...] = (1,) * (axes - 1) + (ranks,)
    for first in range(1, int(ranks ** (1 / axes) + 1e-9) + 1):
        if ranks % first == 0:
            found = (first, *process_grid(ranks // first, axes - 1))
            best = min(best, tuple(sorted(found)), key=lambda g: (sum(g), g))
    return best


def _counts(layout: str, extent: Sequence[int], grid: Sequence[int]) -> Counts:
    ranks, points, axes = math.prod(grid), math.prod(extent), len(extent)
    place = np.stack(np.unravel_index(np.arange(ranks), grid[::-1])[::-1])  # x fastest
    stride = np.cumprod([1, *grid[:-1]])
    nnz, halo, pairs, values = np.full(ranks, points), np.zeros(ranks, np.int64), [], []
    for axis in range(axes):
        face = points // extent[axis]
        nnz += 2 * face * (extent[axis] - 1)
        for way in (-1, 1):
            me = np.flatnonzero(
                (place[axis] + way >= 0) & (place[axis] + way < grid[axis])
            )  # has a neighbour there
            nnz[me] += face
            halo[me] += face
            pairs.append(np.stack([me + way * stride[axis], me], 1))
            values.append(np.full(me.size, face))
    read = 12 * nnz + 8 * (points + 1) + 8 * (2 * points + halo)
    total = int(nnz.sum())
    mean = total / ranks
    x = np.concatenate(values).astype(np.int64)
    return Counts(
        layout, ranks, (points * ranks, points * ranks), nnz, np.full(ranks, points), read,
        np.concatenate(pairs).astype(np.int64), x, np.zeros_like(x), np.full(ranks, points), (ranks, 1),
        float(np.abs(nnz - mean).mean() / total), float(nnz.max() / mean), 8,
    )  # fmt: skip


def stencil_counts(extent: Sequence[int], ranks: int) -> list[Counts]:
    """What products with the Laplacian of a grid of `ranks` boxes of `extent` points move, one box a rank, float64.

    Parameters
    ----------
    extent : sequence of 1, 2 or 3 int
        Points of a rank along each axis, x fastest.
    ranks : int

    Returns
    -------
    list of Counts
        "slabs": boxes stacked along the last axis, which is the contiguous layout; and, with more than one axis, "cubes":
        the most cubic process grid.
    """
    if not 1 <= len(extent) <= 3 or min(extent) < 1 or ranks < 1:
        raise ValueError(f"stencil of {tuple(extent)} points on {ranks} ranks: 1 to 3 axes, from 1")
    slabs = (1,) * (len(extent) - 1) + (ranks,)
    found = [_counts("slabs", extent, slabs)]
    if len(extent) > 1:
        found.append(_counts("cubes", extent, process_grid(ranks, len(extent))))
    return found
