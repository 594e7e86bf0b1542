"""Bands, stencils and road-like grids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.generate._arguments import extent, integer, least_of, real, seed_of, value_type, wrap


def banded(
    n: int,
    diagonals: int | Sequence[int],
    *,
    dtype: Any = np.float64,
    seed: int = 0,
    _keep: Any = None,
) -> csr_array:
    """n x n with full diagonals and values uniform in (0, 1].

    `diagonals` is a half bandwidth k (the diagonals -k to k) or a sequence of offsets, column minus
    row.

    >>> import penstock as ps
    >>> ps.generate.banded(4, 1, dtype=bool).to_scipy().toarray().astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1],
           [0, 0, 1, 1]])
    """
    n = extent("n", n, least_of(_keep))
    if np.ndim(diagonals) == 0:
        half = integer("diagonals", diagonals)
        if not 0 <= half < max(n, 1):
            raise ValueError(
                f"diagonals = {half}: a half bandwidth lies between 0 and n - 1 = {n - 1}"
            )
        offsets = list(range(-half, half + 1))
    else:
        offsets = [integer("a diagonal", d) for d in diagonals]
    made = _core.generate_banded(max(n, 1), offsets, value_type(dtype), seed_of(seed), _keep)
    return wrap(made, instead=None if n else (0, 0))


def advection_diffusion(
    n: int,
    *,
    a: float = 1 / 80,
    b: float = 3**-0.5,
    c: float = 0.0,
    dtype: Any = np.float64,
    _keep: Any = None,
) -> csr_array:
    """-a laplace(u) + b . grad(u) + c u on the unit cube: pdeN of Cardellini et al. 2014.

    n**3 rows, x fastest, at most 7 entries in each: central differences with step 1 / (n + 1), zero
    on the faces, the same `a` and `b` along each axis. The defaults are those of the pdegen test of
    PSBLAS.

    >>> import penstock as ps
    >>> A = ps.generate.advection_diffusion(10)
    >>> A.shape, A.nnz
    ((1000, 1000), 6400)
    """
    a, b, c = real("a", a), real("b", b), real("c", c)
    n = extent("n", n, least_of(_keep))
    made = _core.generate_advection_diffusion(max(n, 1), a, b, c, value_type(dtype), _keep)
    return wrap(made, instead=None if n else (0, 0))


def laplacian(
    shape: int | Sequence[int], *, dtype: Any = np.float64, _keep: Any = None
) -> csr_array:
    """The 3-, 5- or 7-point Laplacian on a grid (nx,), (nx, ny) or (nx, ny, nz), x fastest.

    Twice the number of axes on the diagonal, -1 for each neighbour; symmetric positive definite.

    >>> import penstock as ps
    >>> ps.generate.laplacian((2, 2)).to_scipy().toarray()
    array([[ 4., -1., -1.,  0.],
           [-1.,  4.,  0., -1.],
           [-1.,  0.,  4., -1.],
           [ 0., -1., -1.,  4.]])
    """
    extents = [shape] if np.ndim(shape) == 0 else list(shape)
    sizes = [extent(f"extent {axis}", e, least_of(_keep)) for axis, e in enumerate(extents)]
    empty = 0 in sizes
    made = _core.generate_laplacian([1] * len(sizes) if empty else sizes, value_type(dtype), _keep)
    return wrap(made, True if _keep is None else None, (0, 0) if empty else None)


def road_grid(
    nx: int,
    ny: int,
    *,
    removed: float = 0.3,
    diagonals: float = 0.05,
    dtype: Any = np.float64,
    seed: int = 0,
) -> csr_array:
    """A road-like graph: a grid of nx * ny with gaps and a few diagonals, undirected.

    Parameters
    ----------
    removed : float
        Share of the grid's edges left out; above about 0.5 the grid falls to pieces.
    diagonals : float
        Share of the diagonals put in.
    dtype : bool, float32 or float64
        Weights are whole numbers: 1 to 10 along the grid, 2 to 14 on diagonals.

    >>> import penstock as ps
    >>> A = ps.generate.road_grid(100, 100, seed=1)
    >>> 2.8 < A.nnz / 10_000 < 3.2
    True
    """
    nx, ny = extent("nx", nx), extent("ny", ny)
    removed, diagonals = real("removed", removed), real("diagonals", diagonals)
    sides = (nx, ny) if nx and ny else (1, 1)
    made = _core.generate_road(*sides, removed, diagonals, value_type(dtype), seed_of(seed))
    return wrap(made, True, None if nx and ny else (0, 0))
