"""Algebraic multigrid by smoothed aggregation, as a preconditioner."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.linalg.preconditioners import Preconditioner, _entries, _for, _type


class AMGLevel(NamedTuple):
    """One level of a hierarchy: level 0 is A."""

    rows: int
    nnz: int


class AMG(Preconditioner):
    """One cycle of smoothed aggregation (Vanek, Mandel and Brezina 1996), for a symmetric positive definite A.

    Parameters
    ----------
    A : matrix with entries, n x n
        Symmetric, with a positive diagonal. A singular one (pure Neumann) is right where b is in its range.
    near_nullspace : array of shape (n,) or (n, k), optional
        Vectors that A takes nearly to zero; ones, or one for each row of a block, where it is None.
    block_size : int
        Rows of a node, such as 3 for displacements in space: nodes are aggregated whole.
    strength : float, 0 to 1
        Entries weaker than this part of their rows' strongest do not join an aggregate. 0: every entry may.
    smoother : "chebyshev" or "l1_jacobi"
    degree : int
        Steps of the smoother before and after the coarse level.
    cycle : "V" or "W"
    max_levels, max_coarse : int
        Levels end at max_levels, or at max_coarse rows, which are solved by a dense factorisation.
    precision : "float32" or "float64", optional
        Of the levels; the type of M where it is None. float32 moves half the bytes and is enough for most A.
    seed : int
        Of the order in which aggregates are chosen. Results do not depend on the number of threads.

    ValueError: A is not symmetric, has NaN, infinity, a diagonal entry that is not positive, or a negative coarse
    pivot.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((40, 40))
    >>> x, info = ps.linalg.cg(A, np.ones(1600), rtol=1e-8, M=ps.linalg.AMG(A))
    >>> info == 0, info.iterations < 20
    (True, True)
    """

    def __init__(
        self,
        A: Any,
        near_nullspace: Any = None,
        *,
        block_size: int = 1,
        strength: float = 0.08,
        smoother: str = "chebyshev",
        degree: int = 2,
        cycle: str = "V",
        max_levels: int = 20,
        max_coarse: int = 300,
        precision: str | None = None,
        seed: int = 0,
        dtype: Any = None,
    ) -> None:
        for name, value, known in (
            ("smoother", smoother, ("chebyshev", "l1_jacobi")),
            ("cycle", cycle, ("V", "W")),
            ("precision", precision, (None, "float32", "float64")),
        ):
            if value not in known:
                words = " or ".join(repr(k) for k in known if k is not None)
                raise ValueError(f"{name}={value!r} is unknown: choose {words}")
        if not 0 <= float(strength) <= 1:
            raise ValueError(f"strength={strength}: give a number from 0 to 1")
        for name, number in (
            ("degree", degree),
            ("max_levels", max_levels),
            ("block_size", block_size),
        ):
            if operator.index(number) < 1:
                raise ValueError(f"{name}={number}: give at least 1")
        if not 1 <= operator.index(max_coarse) <= 10_000:
            raise ValueError(
                f"max_coarse={max_coarse}: give 1 .. 10000, for the level is factored dense"
            )
        if not 0 <= operator.index(seed) < 2**64:
            raise ValueError(f"seed={seed}: give 0 .. 2**64 - 1")
        a = _entries(A, "AMG")
        n, kind = a.shape[0], _type(a, dtype)
        if n % block_size:
            raise ValueError(f"block_size={block_size} does not divide the {n} rows of A")
        if kind == np.float32 and precision == "float64":
            raise ValueError(
                "precision='float64' with float32: give dtype=np.float64, or leave precision out"
            )
        b = _vectors(near_nullspace, n, block_size)
        # The levels are built of rows that ascend, in the type of M.
        canonical = _for(a, kind).astype(kind).without_duplicates()
        options = {
            "strength": float(strength),
            "l1_jacobi": smoother == "l1_jacobi",
            "degree": degree,
            "w_cycle": cycle == "W",
            "max_levels": max_levels,
            "max_coarse": max_coarse,
            "seed": seed,
            "block": block_size,
        }
        self._hierarchy = _core.amg(
            canonical._core, precision or kind.name, b.reshape(-1), b.shape[1], options
        )
        super().__init__(self._hierarchy.op)

    def _matrix(self, level: int) -> csr_array:
        return csr_array._wrap(self._hierarchy.matrix(level))

    def _prolongator(self, level: int) -> csr_array:
        return csr_array._wrap(self._hierarchy.prolongator(level))

    @property
    def levels(self) -> list[AMGLevel]:
        """The rows and entries of each level."""
        matrices = [self._matrix(level) for level in range(self._hierarchy.levels)]
        return [AMGLevel(a.shape[0], a.nnz) for a in matrices]

    @property
    def operator_complexity(self) -> float:
        """Entries of all levels / entries of A."""
        levels = self.levels
        return sum(level.nnz for level in levels) / max(levels[0].nnz, 1)

    @property
    def grid_complexity(self) -> float:
        """Rows of all levels / rows of A."""
        levels = self.levels
        return sum(level.rows for level in levels) / max(levels[0].rows, 1)

    def __repr__(self) -> str:
        rows = " > ".join(str(level.rows) for level in self.levels)
        return (
            f"<AMG preconditioner, {self.dtype}, rows {rows}, operator complexity "
            f"{self.operator_complexity:.2f}, grid complexity {self.grid_complexity:.2f}>"
        )


def _vectors(given: Any, n: int, block: int) -> np.ndarray:
    """The near-nullspace as float64 of shape (n, k), finite."""
    if given is None:
        return np.tile(np.eye(block), (n // block, 1))
    b = np.asarray(given)
    if b.dtype.kind == "c":
        raise TypeError("near_nullspace is complex: AMG works on real numbers")
    b = np.ascontiguousarray(b, np.float64)
    b = b[:, None] if b.ndim == 1 else b
    if b.ndim != 2 or b.shape[0] != n or b.shape[1] < 1:
        raise ValueError(f"near_nullspace has shape {np.shape(given)}: give ({n},) or ({n}, k)")
    if not np.isfinite(b).all():
        raise ValueError("near_nullspace must hold finite numbers only")
    return b


def rigid_body_modes(coordinates: Any) -> np.ndarray:
    """Translations and rotations of points: the near-nullspace of linear elasticity, for AMG with block_size = d.

    `coordinates` has shape (points, d), d = 2 or 3. The result has shape (points * d, 3) or (points * d, 6); rows of a
    point are together.
    """
    x = np.asarray(coordinates, np.float64)
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise ValueError(f"coordinates has shape {x.shape}: give (points, 2) or (points, 3)")
    points, d = x.shape
    x = x - x.mean(axis=0) if points else x
    pairs = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (0, 2)]
    modes = np.zeros((points, d, d + len(pairs)))
    modes[:, np.arange(d), np.arange(d)] = 1
    for k, (i, j) in enumerate(pairs):
        modes[:, i, d + k] = -x[:, j]
        modes[:, j, d + k] = x[:, i]
    return modes.reshape(points * d, -1)
