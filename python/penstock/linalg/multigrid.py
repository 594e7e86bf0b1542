"""Algebraic multigrid by smoothed aggregation, as a preconditioner and as a solver."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.linalg._amg.arguments import (
    options_of,
    require_complex_rows,
    require_scale,
    vectors_of,
    warn_of_one_level,
)
from penstock.linalg._amg.finest import Finest, finest_of, planned_like
from penstock.linalg._amg.place import gpu_of, same_entries
from penstock.linalg._amg.report import AMGExplanation, AMGLevel, ToldByLevels, with_link
from penstock.linalg._amg.stationary import cycles
from penstock.linalg._info import SolveInfo
from penstock.linalg._operators import is_complex
from penstock.linalg.preconditioners import Preconditioner, _entries, _for, _type


class AMG(ToldByLevels, Preconditioner):
    """One cycle of smoothed aggregation (Vanek, Mandel and Brezina 1996), for a symmetric (complex: Hermitian) positive
    definite A, or of its form for matrices that are not symmetric (Sala and Tuminaro 2008).

    Parameters
    ----------
    A : matrix with entries, n x n
        With a positive diagonal. A singular one (pure Neumann) is right where b is in its range.
    near_nullspace : array of shape (n,) or (n, k), optional
        Vectors that A takes nearly to zero, complex ones only where A is; ones, or one for each row of a block, where
        it is None.
    symmetry : "symmetric" or "nonsymmetric"
        "nonsymmetric" is for convection and diffusion, with gmres, bicgstab or fgmres: the restriction comes of A^T as
        the prolongator comes of A, each column damped by what makes A times it smallest. Strong convection takes
        fewer iterations with cycle="W".
    block_size : int
        Rows of a node, such as 3 for displacements in space: nodes are aggregated whole.
    strength : float, 0 to 1
        Entries weaker than this part of their rows' strongest do not join an aggregate. 0: every entry may.
    smoother : "chebyshev" or "l1_jacobi", optional
        None: "chebyshev" where A is symmetric. A matrix that is not takes "l1_jacobi", and cycle "V" or "W".
    degree : int
        Steps of the smoother before and after the coarse level.
    cycle : "V", "W" or "K"
        K (Notay and Vassilevski 2008) takes two steps of conjugate gradients on each coarse level, and is no linear
        map: take it with `fgmres`, or by `solve`.
    max_levels, max_coarse : int
        Levels end at max_levels, or at max_coarse rows, which are solved by a dense factorisation.
    precision : "float32" or "float64", optional
        Of the levels; the type of M where it is None. float32 moves half the bytes and is enough for most A.
    seed : int
        Of the order in which aggregates are chosen. Results do not depend on the number of threads.

    The levels of a complex A are those of its real and imaginary parts, rows of two numbers each: strength is that of
    the magnitudes. The CPU makes and applies them.

    Where A lies on a GPU (`A.to(ps.device(0))`), the AMG is set up and applied there: `gpu` is its number, the
    aggregates are those of the CPU, and the levels differ from the CPU's by rounding. Where A is not symmetric, the CPU
    makes the levels of a copy, and the GPU applies them.

    An A that exceeds the GPU's memory is streamed: put it into pinned memory, and give it a plan before the AMG is made
    (`A = A.to(ps.pinned); A.prepare(schedule=ps.Streamed(device=0, keep=False))`). A cycle then reads A over the
    link, `2 degree` times, and has all else on the GPU: the levels below, prolongators and vectors. With
    `ps.options(device_memory=...)` these and the plans stay within it. precision="float32" reads half the bytes of a
    copy in pinned memory.

    MemoryError: the levels do not fit the GPU; the message has the numbers and what to do.
    ValueError: A is not symmetric and `symmetry` does not say so; it has NaN, infinity, or a diagonal entry that is
    not positive; a coarse pivot is negative where it is symmetric; or squares of its entries are out of range.
    RuntimeWarning: near_nullspace has so many vectors that no coarse level is smaller than A.

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
        symmetry: str = "symmetric",
        block_size: int = 1,
        strength: float = 0.08,
        smoother: str | None = None,
        degree: int = 2,
        cycle: str = "V",
        max_levels: int = 20,
        max_coarse: int = 300,
        precision: str | None = None,
        seed: int = 0,
        dtype: Any = None,
    ) -> None:
        options = options_of(
            *(strength, smoother, degree, cycle, max_levels, max_coarse, precision),
            *(seed, block_size, symmetry),
        )
        a = _level_entries(A, True)
        n, kind = a.shape[0], _type(a, dtype)
        if kind.kind == "c":
            a = _entries(a, "AMG")
            require_complex_rows(a)
            options |= {"block": 2 * options["block"], "max_coarse": 2 * options["max_coarse"]}
        if a.place != "device":
            require_scale(a)
        if n % block_size:
            raise ValueError(f"block_size={block_size} does not divide the {n} rows of A")
        if kind in (np.float32, np.complex64) and precision == "float64":
            raise ValueError(
                f"precision='float64' with {kind}: give dtype={np.result_type(kind, np.float64)}, or leave it out"
            )
        self._parts_of = np.zeros(0, kind).real.dtype.name
        self._kind, self._a, self._precision = kind, a, precision
        self._symmetric = symmetry == "symmetric"
        self._may_stream = self._symmetric and kind.kind == "f"
        self._finest = self._streamed(a)
        gpu = gpu_of(a) if self._finest is None else self._finest.gpu
        b = vectors_of(near_nullspace, n, block_size, gpu is not None, kind.kind == "c")
        smoother = "l1_jacobi" if options["l1_jacobi"] else "chebyshev"
        self._words = cycle, smoother, precision or self._parts_of
        built, finest = self._parts(a, self._finest)
        self._hierarchy = _core.amg(
            *(built, precision or self._parts_of, b.reshape(-1), b.shape[1], options, gpu, finest),
            complex=kind.kind == "c",
        )
        super().__init__(self._hierarchy.op)
        columns = 0 if near_nullspace is None else b.shape[1]
        warn_of_one_level(self._hierarchy.levels, n, columns, options["block"], options)

    def _streamed(self, a: csr_array) -> Finest | None:
        return finest_of(a, self._kind, self._precision) if self._may_stream else None

    def _parts(self, a: csr_array, finest: Finest | None) -> tuple[Any, Any]:
        """What the levels are built of, and how the GPU reads it."""
        if finest is None:
            built = self._canonical(a)._core
            return (_core.matrix_of_parts(built) if self._kind.kind == "c" else built), None
        return finest.matrix._core, finest.core

    def _canonical(self, a: csr_array) -> csr_array:
        """The levels are built of rows that ascend, in the type of M."""
        return _for(a, self._kind).astype(self._kind).without_duplicates()

    def update(self, A: Any) -> None:
        """Takes a matrix with the same pattern and other values; keeps the aggregates, and builds the levels anew.

        ValueError where the pattern differs, and as for a new AMG.
        """
        a = _level_entries(A, self.gpu is not None)
        if is_complex(a) and self._kind.kind != "c":
            raise TypeError(
                f"A is {a.dtype}, and the AMG's levels are {self._kind}: make a new AMG, or give A.real"
            )
        if is_complex(a):
            require_complex_rows(a)
        finest = None
        if (
            self._finest is not None
        ):  # levels that the CPU made stay with it, whatever plans A has got
            planned_like(a, self._kind, self._finest)
            finest = self._streamed(a)
        if (gpu_of(a) if finest is None else finest.gpu) != self.gpu:
            raise ValueError(
                f"A is in {a.place} memory, and the AMG's levels are elsewhere: give a matrix where the first one was, "
                "with a plan if that had one, or make a new AMG"
            )
        if not same_entries(a, self._a):
            raise ValueError("A has another pattern than the AMG's matrix: make a new AMG")
        self._hierarchy = self._hierarchy.updated(*self._parts(a, finest))
        self._a, self._finest = a, finest
        super().__init__(self._hierarchy.op)

    def solve(
        self, b: Any, x0: Any = None, *, rtol: float = 1e-5, maxiter: int | None = None
    ) -> tuple[np.ndarray, SolveInfo]:
        """x and info of cycles x += M (b - A x), without a Krylov method.

        b has shape (n,) or (n, 1). It ends at norm(b - A x) <= rtol * norm(b), or after maxiter cycles (100); then, and
        where the residual grows, `info` is not 0 and says why. As the M of `cg` an AMG needs fewer cycles, and
        converges where cycles alone do not.

        >>> import numpy as np, penstock as ps
        >>> x, info = ps.linalg.AMG(ps.generate.laplacian((40, 40))).solve(np.ones(1600))
        >>> info.reason, info.iterations < 20
        ('converged', True)
        """
        return cycles(self, self._a, b, x0, rtol, maxiter)

    def explain(self) -> AMGExplanation:
        """Levels, complexities, the bytes that are kept, and those that a cycle reads; of a matrix that is streamed
        also the bytes of the link and the seconds that the planner foretells."""
        told, finest = self._explanation(), self._finest
        if self._kind.kind == "c":
            told = replace(told, bytes=told.bytes + self._complex_bytes())
        if finest is None:
            return told
        return with_link(told, finest.plan, self._hierarchy, finest.matrix.nbytes)

    def _matrix(self, level: int) -> csr_array:
        return csr_array._wrap(self._hierarchy.matrix(level))

    def _complex_bytes(self) -> int:
        """Of the complex matrices that cycles multiply by, beside those of parts: A, P and R of each level."""
        last = self._hierarchy.levels - 1
        kept = [self._matrix(level) for level in range(last + 1)]
        kept += [
            p
            for level in range(last)
            for p in (self._prolongator(level), self._prolongator(level).T)
        ]
        entry = 4 + 2 * np.dtype(self._words[2]).itemsize
        return sum(m.nnz // 4 * entry + 8 * (m.shape[0] // 2 + 1) for m in kept)

    def _prolongator(self, level: int) -> csr_array:
        return csr_array._wrap(self._hierarchy.prolongator(level))

    @property
    def gpu(self) -> int | None:
        """The GPU that has the levels, or None: the CPU applies M."""
        return self._hierarchy.gpu

    @property
    def streams(self) -> bool:
        """Whether A is streamed to the GPU that has the other levels."""
        return self._finest is not None

    @property
    def hermitian(self) -> bool:
        """Whether M is the same linear map as its adjoint: the cycle is V or W, and A is symmetric."""
        return self._symmetric and self._words[0] != "K"

    @property
    def levels(self) -> list[AMGLevel]:
        """The rows and entries of each level."""
        matrices = [self._matrix(level) for level in range(self._hierarchy.levels)]
        parts = 2 if self._kind.kind == "c" else 1  # of rows; an entry has four numbers then
        return [AMGLevel(a.shape[0] // parts, a.nnz // parts**2) for a in matrices]

    def __repr__(self) -> str:
        rows = " > ".join(str(level.rows) for level in self.levels)
        return (
            f"<AMG preconditioner, {self.dtype}, rows {rows}, operator complexity "
            f"{self.operator_complexity:.2f}, grid complexity {self.grid_complexity:.2f}>"
        )


def _level_entries(A: Any, stays: bool) -> csr_array:
    """Where the levels are made of them: complex ones by the CPU."""
    a = _entries(A, "AMG", stays)
    return _entries(a, "AMG") if is_complex(a) else a


def rigid_body_modes(coordinates: Any) -> np.ndarray:
    """Translations and rotations of points: the near-nullspace of linear elasticity, for AMG with block_size = d.

    `coordinates` has shape (points, d), d = 2 or 3. The result has shape (points * d, 3) or (points * d, 6); rows of a
    point are together. ValueError for another shape, NaN or infinity, TypeError for what is no array of real numbers.
    """
    x = np.asarray(coordinates)
    if x.dtype.kind not in "biuf":
        raise TypeError(f"coordinates are of type {x.dtype}: give real numbers")
    if x.ndim != 2 or x.shape[1] not in (2, 3):
        raise ValueError(f"coordinates has shape {x.shape}: give (points, 2) or (points, 3)")
    x = x.astype(np.float64)
    finite = np.isfinite(x).all(axis=1)
    if not finite.all():
        point = int(finite.argmin())
        raise ValueError(f"coordinates[{point}] = {x[point]}: give finite numbers")
    points, d = x.shape
    x = x - x.mean(axis=0) if points else x
    pairs = [(0, 1)] if d == 2 else [(0, 1), (1, 2), (0, 2)]
    modes = np.zeros((points, d, d + len(pairs)))
    modes[:, np.arange(d), np.arange(d)] = 1
    for k, (i, j) in enumerate(pairs):
        modes[:, i, d + k] = -x[:, j]
        modes[:, j, d + k] = x[:, i]
    return modes.reshape(points * d, d + len(pairs))
