"""Counts of the 3-, 5- and 7-point stencils on any number of ranks, by arithmetic: no matrix is made."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.dist._layouts import Counts, again_bytes

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


def _made(layout: str, points: int, nnz: np.ndarray, pairs: np.ndarray, x: np.ndarray) -> Counts:
    ranks = nnz.size
    halo = np.bincount(pairs[:, 1], x, minlength=ranks).astype(np.int64)
    total = int(nnz.sum())
    mean = total / ranks
    mine = np.full(ranks, points)
    return Counts(
        layout, ranks, (points * ranks, points * ranks), nnz, mine,
        12 * nnz + 8 * (points + 1) + 8 * (2 * points + halo), pairs, x, np.zeros_like(x), mine, (ranks, 1),
        float(np.abs(nnz - mean).mean() / total), float(nnz.max() / mean), 8,
        mine + np.minimum(halo, points), again_bytes(np.minimum(halo, points), False, 8),
    )  # fmt: skip


def _cubes(extent: Sequence[int], grid: Sequence[int]) -> Counts:
    """A box a rank, in a process grid."""
    ranks, points = math.prod(grid), math.prod(extent)
    place = np.unravel_index(np.arange(ranks), grid[::-1])[::-1]  # x fastest
    stride = np.cumprod([1, *grid[:-1]])
    nnz, pairs, values = np.full(ranks, points), [], []
    for axis, (points_along, parts) in enumerate(zip(extent, grid, strict=True)):
        face = points // points_along
        nnz += 2 * face * (points_along - 1)
        for way in (-1, 1):
            me = np.flatnonzero((place[axis] + way >= 0) & (place[axis] + way < parts))
            nnz[me] += face
            pairs.append(np.stack([me + way * stride[axis], me], 1))
            values.append(np.full(me.size, face))
    return _made("cubes", points, nnz, np.concatenate(pairs), np.concatenate(values))


def _ranges(extent: Sequence[int], grid: Sequence[int]) -> Counts | None:
    """The same points in order, equally many a rank; None where that is less than a plane."""
    ranks, points = math.prod(grid), math.prod(extent)
    whole = [n * parts for n, parts in zip(extent, grid, strict=True)]
    stride = np.cumprod([1, *whole])  # of each axis; then all points
    plane, cuts = int(stride[len(whole) - 1]), np.arange(ranks + 1, dtype=np.int64) * points
    if points < plane:
        return None
    nnz = np.full(ranks, points * (1 + 2 * len(whole)), np.int64)
    for axis in range(len(whole)):
        small, large = int(stride[axis]), int(stride[axis + 1])
        runs, rest = np.divmod(
            cuts, large
        )  # points below each cut that have no neighbour before, or after
        before = runs * small + np.minimum(rest, small)
        after = runs * small + np.maximum(rest - (large - small), 0)
        nnz -= np.diff(before) + np.diff(after)
    low = np.arange(ranks - 1, dtype=np.int64)
    pairs = np.concatenate([np.stack([low, low + 1], 1), np.stack([low + 1, low], 1)])
    return _made("contiguous", points, nnz, pairs, np.full(2 * (ranks - 1), plane, np.int64))


def stencil_counts(extent: Sequence[int], ranks: int) -> list[Counts]:
    """What products with the Laplacian of a grid that grows with the ranks move: each has a box of `extent` points, and
    boxes stand in the most cubic process grid. float64.

    Parameters
    ----------
    extent : sequence of 1, 2 or 3 int
        Points of a rank along each axis, x fastest.
    ranks : int

    Returns
    -------
    list of Counts
        "contiguous", the points in order, as long as each rank has a whole plane of them; and "cubes", a box a rank.

    >>> import penstock as ps
    >>> [c.layout for c in ps.dist.stencil_counts((32, 32, 32), 64)]
    ['contiguous', 'cubes']
    """
    if not 1 <= len(extent) <= 3 or min(extent) < 1 or ranks < 1:
        raise ValueError(f"stencil of {tuple(extent)} points on {ranks} ranks: 1 to 3 axes, from 1")
    grid = process_grid(ranks, len(extent))
    found = [_ranges(extent, grid), _cubes(extent, grid)]
    return [c for c in found if c is not None]
