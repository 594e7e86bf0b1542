"""Preconditioners of matrices that ranks share out: from the diagonal, the products, or each rank's own block."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock.dist._agree import agreed, require_same, total
from penstock.linalg import preconditioners as serial
from penstock.linalg._operators import PREPARE_AFTER, real_dtype
from penstock.linalg.preconditioners import Preconditioner, interval, spectrum


class DistPreconditioner(Preconditioner):
    """M ~ A^-1 over ranks. `M @ r` takes and returns the entries that this rank owns; collective, and so is making one.

    `shape` is (rows owned here, rows owned here). An error that one rank meets is raised on all.
    """

    _on_device: dict[str, Any] | None = None  # what is enough to apply it to vectors on a GPU
    _in_host_memory = False  # there is no form for a GPU


class _OfRank(DistPreconditioner):
    """Each rank has a matrix of its own, and solves with it."""

    _exchanges_as: Any = None  # the matrix whose exchanges it shares; None: it has none

    def __init__(self, native: Any) -> None:
        super().__init__(native)
        self._on_device = {"op": native}

    @property
    def levels(self) -> tuple[int, int] | None:
        """How many steps the triangular solves with L and with U take on this rank when all rows that can be solved
        at once are: what they cost on a GPU. None where there are no triangles (BlockJacobi of dense blocks).
        Counted anew each time."""
        return self._native_op.levels


def _type(a: Any, dtype: Any) -> np.dtype:
    wanted = real_dtype(a) if dtype is None else np.dtype(dtype)
    if wanted not in (np.float32, np.float64):
        raise TypeError(f"dtype={wanted}: preconditioners are float32 or float64")
    if wanted == np.float32 and np.dtype(a.dtype) == np.float64:
        raise TypeError("dtype=float32: the matrix is float64; convert it before it is shared out")
    return wanted


def _inverse_diagonal(a: Any, kind: np.dtype, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The diagonal, float64, and its inverse in the type of M."""
    diagonal = np.asarray(_core.dist_diagonal(a._core))

    def invert() -> np.ndarray:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            inverse = (1.0 / diagonal).astype(kind)
        wrong = ~np.isfinite(inverse) | (inverse == 0)
        if wrong.any():
            at = int(wrong.argmax())
            raise ValueError(
                f"{name}: the diagonal entry of row {int(a.rows[at])} is {diagonal[at]:.3g}, and its inverse is "
                "needed: reorder the matrix, or take another preconditioner"
            )
        return inverse

    return diagonal, agreed(a.comm, invert)


class Jacobi(DistPreconditioner):
    """The inverse of A's diagonal, for any partition: the same numbers as ps.linalg.Jacobi's.

    ValueError names the row of a zero diagonal entry. `dtype` is A's unless given; so for all of this module.
    """

    def __init__(self, A: Any, *, dtype: Any = None) -> None:
        kind = agreed(A.comm, lambda: _type(A, dtype))
        inverse = _inverse_diagonal(A, kind, "Jacobi")[1]
        self._on_device = {"diagonal": inverse, "degree": 0, "eigenvalues": (0.0, 0.0)}
        super().__init__(_core.diagonal_op(inverse))


def _on_block(a: Any, dtype: Any, make: Callable[[csr_array, np.dtype], Preconditioner]) -> Any:
    """`make` of this rank's rows and columns."""
    kind = agreed(a.comm, lambda: _type(a, dtype))
    block = csr_array._wrap(_core.dist_block(a._core))
    return agreed(a.comm, lambda: _counted(_first(a.rows), lambda: make(block, kind)))._native_op


def _counted(first: int, make: Callable[[], Preconditioner]) -> Preconditioner:
    try:
        return make()
    except ValueError as e:
        raise ValueError(
            f"{e} (rows are counted on the rank: its row 0 is row {first} of the matrix)"
        ) from e


def _first(rows: Any) -> int:
    return int(rows[0]) if len(rows) else -1


class BlockJacobi(_OfRank):
    """The inverses of diagonal blocks, which do not cross ranks: ps.linalg.BlockJacobi of each rank's own block.

    Parameters as there; `blocks` are counted on each rank. ValueError for partitions that split rows. On GPUs the
    inverses (inner="lu") or the factors ("ilu") are copied there once.
    """

    def __init__(
        self,
        A: Any,
        block_size: int | None = None,
        *,
        blocks: int | None = None,
        inner: str = "lu",
        shift: float = 0.0,
        dtype: Any = None,
    ) -> None:
        def make(block: csr_array, kind: np.dtype) -> Preconditioner:
            n = max(block.shape[0], 1)  # ranks may own fewer rows than a block has
            size = block_size if block_size is None else min(operator.index(block_size), n)
            count = blocks if blocks is None else min(operator.index(blocks), n)
            return serial.BlockJacobi(
                block, size, blocks=count, inner=inner, shift=shift, dtype=kind
            )

        super().__init__(_on_block(A, dtype, make))


class ILU0(_OfRank):
    """ps.linalg.ILU0 of each rank's own block: block Jacobi by ranks, so that more ranks take more iterations.

    For bicgstab and gmres; for cg use IC0. AdditiveSchwarz gives up less. ValueError names the row of a zero pivot, and
    is raised for partitions that split rows. The CPU makes the factors; on GPUs they are copied there once, and solves
    go level by level (`levels`).
    """

    def __init__(self, A: Any, *, shift: float = 0.0, dtype: Any = None) -> None:
        super().__init__(_on_block(A, dtype, lambda a, t: serial.ILU0(a, shift=shift, dtype=t)))


class IC0(_OfRank):
    """ps.linalg.IC0 of each rank's own block, for a symmetric positive definite A; otherwise as ILU0."""

    def __init__(self, A: Any, *, shift: float = 0.0, dtype: Any = None) -> None:
        super().__init__(_on_block(A, dtype, lambda a, t: serial.IC0(a, shift=shift, dtype=t)))


class Chebyshev(DistPreconditioner):
    """A polynomial in D^-1 A: ps.linalg.Chebyshev over ranks, with its parameters and, to rounding, its numbers.

    Products alone, no inner products: `degree` exchanges of x each time.
    """

    def __init__(
        self,
        A: Any,
        degree: int = 3,
        *,
        eigenvalues: tuple[float, float] | None = None,
        dtype: Any = None,
    ) -> None:
        kind = agreed(A.comm, lambda: _type(A, dtype))
        op = _core.dist_op(A._core, kind.name, PREPARE_AFTER)
        diagonal, inverse = _inverse_diagonal(A, kind, "Chebyshev")
        agreed(A.comm, lambda: _require_positive(diagonal, A.rows))
        jacobi = _core.diagonal_op(inverse)
        if eigenvalues is None:
            eigenvalues = spectrum(
                op, jacobi, A.shape[0], kind, np.asarray(A.rows), lambda part: total(A.comm, part)
            )
        bounds = eigenvalues
        self.eigenvalues = agreed(A.comm, lambda: interval(bounds))
        steps = agreed(A.comm, lambda: operator.index(degree))
        low, high = self.eigenvalues
        require_same(A.comm, {"degree": steps, "eigenvalues[0]": low, "eigenvalues[1]": high})
        self._on_device = {"diagonal": inverse, "degree": steps, "eigenvalues": (low, high)}
        super().__init__(_core.chebyshev(op, jacobi, steps, low, high))


def _require_positive(diagonal: np.ndarray, rows: Any) -> None:
    wrong = ~(diagonal > 0)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"Chebyshev: the diagonal entry of row {int(rows[at])} is {diagonal[at]:.3g}: A is not positive definite; "
            "use ILU0 or AdditiveSchwarz"
        )


_COMBINE = ("restricted", "weighted", "added")


class AdditiveSchwarz(_OfRank):
    """Solutions on overlapping subdomains, one a rank: the rows that it owns and those that they need (overlap one).

    Parameters
    ----------
    A : ps.dist.csr_array, n x n, whose partition keeps rows whole
    inner : "ilu0" or "ic0"
        What solves on a subdomain, approximately: ps.linalg.ILU0 or IC0.
    combine : "restricted", "weighted" or "added", optional
        What becomes of solutions where subdomains overlap. "restricted": each rank keeps what it owns (Cai and Sarkis
        1999), one exchange less; M is not symmetric, and cg needs the others. "weighted": r and the solutions are
        scaled by 1 / sqrt(subdomains that have the row), then added up. "added": as they are (Dryja and Widlund 1987);
        more iterations. "restricted" for "ilu0" and "weighted" for "ic0" where it is None.
    shift : float
        As for ILU0.

    The rows that others own are brought once, when M is made. With one rank it is ILU0 or IC0 itself. On GPUs it is
    applied there by solvers of the A that it was made of; their exchanges bring the entries of r.
    """

    def __init__(
        self,
        A: Any,
        inner: str = "ilu0",
        *,
        combine: str | None = None,
        shift: float = 0.0,
        dtype: Any = None,
    ) -> None:
        def check() -> tuple[np.dtype, Any]:
            if inner not in ("ilu0", "ic0"):
                raise ValueError(f"inner={inner!r} is unknown: choose 'ilu0' or 'ic0'")
            if how not in _COMBINE:
                raise ValueError(f"combine={how!r} is unknown: choose {', '.join(_COMBINE)}")
            return _type(A, dtype), serial.IC0 if inner == "ic0" else serial.ILU0

        how = combine or ("restricted" if inner == "ilu0" else "weighted")
        kind, factors = agreed(A.comm, check)
        require_same(A.comm, {"combine": _COMBINE.index(how)})
        domain = _core.dist_overlap(A._core)
        matrix = csr_array._wrap(domain.matrix)
        made = agreed(
            A.comm,
            lambda: _counted(domain.first_row, lambda: factors(matrix, shift=shift, dtype=kind)),
        )
        super().__init__(domain.schwarz(made._native_op, how))
        self._exchanges_as = A
