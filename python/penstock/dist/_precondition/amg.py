"""Algebraic multigrid of a matrix that ranks share out."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

import numpy as np

from penstock import _core
from penstock.dist._agree import about, agreed, any_rank
from penstock.dist._preconditioners import DistPreconditioner, _type
from penstock.linalg._amg.arguments import options_of, require_nonzero, vectors_of
from penstock.linalg._amg.report import AMGExplanation, SharedLevel, ToldByLevels


class AMG(ToldByLevels, DistPreconditioner):
    """One cycle of smoothed aggregation over ranks (Vanek, Mandel and Brezina 1996), for a symmetric positive definite
    A, or with symmetry="nonsymmetric" of its form for other matrices (Sala and Tuminaro 2008).

    Aggregates cross ranks: where ranks own ranges of rows, levels and iterations are those of ps.linalg.AMG on one
    rank, to rounding. Sums have the same bits in every run with the same number of ranks. Coarse levels are shared by
    fewer ranks, and rank 0 factors the last one.

    Parameters
    ----------
    A : ps.dist.csr_array, n x n, whose partition keeps rows whole
    near_nullspace : array of shape (rows owned here,) or (rows owned here, k), optional
        This rank's rows, in the order of A.rows, of vectors that A takes nearly to zero.
    rows_per_rank : int
        A level with fewer rows than this for each rank is shared by fewer ranks: with few rows a rank waits for
        messages longer than it computes.
    symmetry, block_size, strength, smoother, degree, cycle, max_levels, max_coarse, precision, seed, dtype
        As for ps.linalg.AMG. With block_size the partition keeps the rows of a node on one rank. "K" is no linear map:
        take it with `fgmres`.

    Collective. ValueError, on all ranks, as for ps.linalg.AMG, and where ranks give different arguments or a partition
    splits rows or nodes. The levels are in host memory: solvers whose A is on GPUs then compute on the CPU.

    >>> import numpy as np, penstock as ps
    >>> A = ps.generate.laplacian((40, 40))
    >>> def work(comm):
    ...     D = ps.dist.csr_array(A, comm)
    ...     M = ps.dist.linalg.AMG(D)
    ...     return ps.dist.linalg.cg(D, np.ones(len(D.rows)), rtol=1e-8, M=M)[1].iterations
    >>> max(ps.dist.run(work, 3)) < 20
    True
    """

    _in_host_memory = True

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
        rows_per_rank: int = 500,
        precision: str | None = None,
        seed: int = 0,
        dtype: Any = None,
    ) -> None:
        def check() -> tuple[dict[str, Any], np.dtype, np.ndarray]:
            options = options_of(
                *(strength, smoother, degree, cycle, max_levels, max_coarse, precision),
                *(seed, block_size, symmetry),
            )
            if operator.index(rows_per_rank) < 1:
                raise ValueError(f"rows_per_rank={rows_per_rank}: give at least 1")
            n = A.shape[0]
            if A.shape[0] != A.shape[1]:
                raise ValueError(f"A has shape {A.shape}: AMG needs a square matrix")
            if n % block_size:
                raise ValueError(f"block_size={block_size} does not divide the {n} rows of A")
            kind = _type(A, dtype)
            if kind == np.float32 and precision == "float64":
                raise ValueError(
                    "precision='float64' with float32: give dtype=np.float64, or leave precision out"
                )
            options["rows_of_rank"] = min(operator.index(rows_per_rank), 2**31)
            return options, kind, vectors_of(near_nullspace, len(A.rows), block_size, whole=False)

        columns = "ones" if near_nullspace is None else "given"
        with contextlib.suppress(
            ValueError, TypeError
        ):  # of lists that are no array: check() says so
            if near_nullspace is not None:
                columns = f"columns {np.shape(near_nullspace)[1:]}"
        with about(
            A.comm,
            "ps.dist.linalg.AMG",
            near_nullspace=columns,
            symmetry=symmetry,
            block_size=block_size,
            strength=strength,
            smoother=smoother,
            degree=degree,
            cycle=cycle,
            max_levels=max_levels,
            max_coarse=max_coarse,
            rows_per_rank=rows_per_rank,
            precision=precision,
            seed=seed,
            dtype=getattr(dtype, "__name__", str(dtype)),
        ):
            options, kind, b = agreed(A.comm, check)
            if near_nullspace is not None:  # a rank's part may be zero, not all
                require_nonzero(any_rank(A.comm, b.any(axis=0)))
            told = "l1_jacobi" if options["l1_jacobi"] else "chebyshev"
            self._words = cycle, told, precision or kind.name
            self._hierarchy = _core.dist_amg(
                A._core, kind.name, precision or kind.name, b.reshape(-1), b.shape[1], options
            )
        super().__init__(self._hierarchy.op)

    def update(self, A: Any) -> None:
        """Takes a matrix with the same pattern and partition and other values; keeps the aggregates, and builds the
        levels anew. Collective.

        ValueError where the pattern differs, and as for a new AMG.
        """
        self._hierarchy = self._hierarchy.updated(A._core)
        super().__init__(self._hierarchy.op)

    @property
    def levels(self) -> list[SharedLevel]:
        """The rows and entries of each level, on all ranks, and how many ranks share it."""
        return [SharedLevel(*level) for level in self._hierarchy.levels]

    def explain(self) -> AMGExplanation:
        """Levels and complexities, of all ranks; the bytes that this rank keeps, and those that a cycle reads here.
        Local."""
        return self._explanation()
