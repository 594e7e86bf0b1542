"""Preconditioners: objects with shape, dtype and matvec, for these solvers and for SciPy's."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import VALUE_TYPES
from penstock._matrix.csr import csr_array
from penstock.linalg._diagnosis import empty_row, not_finite
from penstock.linalg._names import PRECONDITIONERS
from penstock.linalg._operators import (
    as_matrix,
    as_op,
    is_complex,
    matrix_op,
    require_square,
    vector_dtype,
)

ESTIMATE_STEPS = 15  # of Lanczos; the largest eigenvalue is then known to a few percent
ESTIMATE_MARGIN = 1.1  # Lanczos comes from below
INTERVAL = 30.0  # largest / smallest eigenvalue that Chebyshev damps by default


class Preconditioner:
    """M ~ A^-1 as an operator: `M @ r` and `M.matvec(r)`. The solvers of this package apply it without Python."""

    __array_ufunc__ = None
    ndim = 2

    def __init__(self, native: Any) -> None:
        self._native_op = native
        self.shape: tuple[int, int] = (native.rows, native.rows)
        self.dtype = np.dtype(native.dtype)

    def matvec(self, x: Any) -> np.ndarray:
        """M x, of shape (n,) or (n, 1) as x, in the type of M."""
        x = np.asarray(x)
        n = self.shape[0]
        if x.shape not in ((n,), (n, 1)):
            raise ValueError(f"x has shape {x.shape}: give ({n},) or ({n}, 1)")
        if x.dtype.kind == "c" and self.dtype.kind != "c":
            return self.matvec(x.real) + 1j * self.matvec(x.imag)
        y = np.empty(n, self.dtype)
        self._native_op.apply(np.ascontiguousarray(x.reshape(n), self.dtype), y)
        return y.reshape(x.shape)

    def __matmul__(self, x: Any) -> np.ndarray:
        x = np.asarray(x)
        if x.ndim == 2 and x.shape[1] != 1:
            return np.stack([self.matvec(column) for column in x.T], axis=1)
        return self.matvec(x)

    @property
    def nbytes(self) -> int:
        """Bytes that one application reads besides x."""
        return self._native_op.matrix_bytes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} preconditioner, {self.shape[0]} rows, {self.dtype}>"


def _entries(A: Any, name: str, stays: bool = False) -> csr_array:
    """`stays`: a matrix on a GPU is taken as it is."""
    a = as_matrix(A)
    if not isinstance(a, csr_array):
        raise TypeError(
            f"{name} needs the entries of A, and a {type(a).__name__} does not give them: pass the matrix itself"
        )
    require_square(a)
    if a.place == "device" and not stays:  # the CPU makes and applies factors
        return csr_array._wrap(_core.to_place(a._core, "host"))
    return a


def _type(a: csr_array, dtype: Any) -> np.dtype:
    wanted = vector_dtype(a) if dtype is None else np.dtype(dtype)
    if is_complex(a):
        wanted = np.result_type(wanted, np.complex64)
    if wanted not in VALUE_TYPES:
        words = ", ".join(t.name for t in VALUE_TYPES)
        raise TypeError(f"dtype={wanted}: a preconditioner is of {words}")
    return wanted


@contextlib.contextmanager
def _told(a: csr_array) -> Iterator[None]:
    """An error of the core also names the entry that is NaN, or the row without entries."""
    try:
        yield
    except ValueError as error:
        found = not_finite(a) or empty_row(a)
        if found is None:
            raise
        raise ValueError(f"{str(error).split(': ', 1)[0]}: {found}") from error


def _real_type(a: csr_array, dtype: Any, name: str) -> np.dtype:
    wanted = _type(a, dtype)
    if wanted.kind == "c":
        others = ", ".join(kind.name for kind in PRECONDITIONERS.values() if kind.complex)
        raise TypeError(
            f"A or dtype is complex, and {name} is for real numbers: take one of {others} for complex systems, or an "
            "object of your own with shape and matvec"
        )
    return wanted


def _for(a: csr_array, dtype: np.dtype) -> csr_array:
    """In single precision where M is."""
    single = dtype in (np.float32, np.complex64)
    narrow = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    return a.astype(narrow[a.dtype]) if single and a.dtype in narrow else a


def _shift(value: float) -> float:
    number = float(value)
    if not 0 <= number < np.inf:
        raise ValueError(f"shift={value}: give a finite number, 0 or more")
    return number


class Jacobi(Preconditioner):
    """The inverse of A's diagonal. For cg, A's diagonal must be positive.

    ValueError names the row of a zero diagonal entry. `dtype` is A's unless given; so for all of this module. A complex
    A or dtype makes a complex M, which is Hermitian where the diagonal is real.

    >>> import numpy as np, penstock as ps
    >>> ps.linalg.Jacobi(ps.csr_array(np.diag([2.0, 4.0]))) @ np.array([1.0, 1.0])
    array([0.5 , 0.25])
    """

    def __init__(self, A: Any, *, dtype: Any = None) -> None:
        a = _entries(A, "Jacobi")
        kind = _type(a, dtype)
        with _told(a):
            super().__init__(_core.jacobi(_for(a, kind)._core, kind.name))


class BlockJacobi(Preconditioner):
    """The inverses of diagonal blocks: exact ones of small blocks, or ILU(0) of large ones.

    Parameters
    ----------
    A : matrix with entries, n x n
    block_size : int, optional
        Rows a block. inner="lu": 1 to 1024, 4 where neither is given; n * block_size numbers are kept.
    blocks : int, optional
        The number of blocks instead. inner="ilu": 16 where neither is given (fewer for small matrices).
    inner : "lu" or "ilu"
        "ilu" is ILU0 without the entries between blocks: its blocks are solved by several threads at once.
    shift : float
        Added to each diagonal entry, as a fraction of the largest absolute value of its row.

    For cg: positive definite with inner="lu" where A is; with "ilu" symmetric where A is, and usually positive
    definite. The blocks do not depend on the number of threads.
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
        if inner not in ("lu", "ilu"):
            raise ValueError(f"inner={inner!r} is unknown: choose 'lu' or 'ilu'")
        if block_size is not None and blocks is not None:
            raise ValueError(f"block_size={block_size} and blocks={blocks}: give one of them")
        a = _entries(A, "BlockJacobi")
        n, kind = max(a.shape[0], 1), _real_type(a, dtype, "BlockJacobi")
        for name, value in (("block_size", block_size), ("blocks", blocks)):
            if value is not None and not 1 <= operator.index(value) <= n:
                raise ValueError(f"{name}={value}: give 1 .. {n}, the rows of A")
        if inner == "lu":
            size = block_size or (-(-n // blocks) if blocks else min(4, n))
            with _told(a):
                native = _core.block_jacobi(_for(a, kind)._core, kind.name, size, _shift(shift))
        else:
            count = blocks or (-(-n // block_size) if block_size else max(1, min(16, n // 512)))
            with _told(a):
                native = _core.ilu0(_for(a, kind)._core, kind.name, _shift(shift), count)
        super().__init__(native)


class ILU0(Preconditioner):
    """(L U)^-1 with the incomplete factors of A on its own pattern (Saad 2003, section 10.3).

    For bicgstab and gmres; for cg use IC0. Chunks of rows are factored and solved level by level where that gives
    threads enough to do; results do not depend on their number. ValueError names the row of a zero pivot: `shift` (a
    fraction of the largest absolute value of each row, added to its diagonal entry; 1e-3 to 1e-1) is the remedy.
    """

    def __init__(self, A: Any, *, shift: float = 0.0, dtype: Any = None) -> None:
        a = _entries(A, "ILU0")
        kind = _real_type(a, dtype, "ILU0")
        with _told(a):
            super().__init__(_core.ilu0(_for(a, kind)._core, kind.name, _shift(shift), 1))


class IC0(Preconditioner):
    """(L D L^T)^-1 with the incomplete Cholesky factors of a symmetric positive definite A on its own pattern.

    A's upper triangle is not read. Positive definite, for cg. ValueError names the row of a pivot that is not positive,
    which happens for positive definite matrices, too, that are no M-matrices: `shift` as for ILU0.
    """

    def __init__(self, A: Any, *, shift: float = 0.0, dtype: Any = None) -> None:
        a = _entries(A, "IC0")
        kind = _real_type(a, dtype, "IC0")
        with _told(a):
            super().__init__(_core.ic0(_for(a, kind)._core, kind.name, _shift(shift), 1))


class Chebyshev(Preconditioner):
    """A polynomial of degree `degree` in D^-1 A, by Chebyshev's iteration (Saad 2003, section 12.3).

    Products with A and passes over vectors alone: no factors, no inner products. For a symmetric positive definite A,
    or an operator with a positive spectrum.

    Parameters
    ----------
    A : matrix, or an object with shape and matvec (D is then the identity)
    degree : int
        Products with A each time.
    eigenvalues : (smallest, largest) of D^-1 A, optional
        Where it is None, the largest is estimated by 15 steps of Lanczos' method from a fixed start and raised by a
        tenth, and the smallest is a thirtieth of it, or Lanczos' own where that is larger.
    """

    def __init__(
        self,
        A: Any,
        degree: int = 3,
        *,
        eigenvalues: tuple[float, float] | None = None,
        dtype: Any = None,
    ) -> None:
        a = as_matrix(A)
        n = require_square(a)
        if isinstance(a, csr_array):
            a = _entries(a, "Chebyshev")
            kind = _type(a, dtype)
            with _told(a):
                _require_positive(a.diagonal())
            op = matrix_op(_for(a, kind), kind, True)
            jacobi = _core.jacobi(_for(a, kind)._core, kind.name)
        else:
            kind = vector_dtype(a)
            op, jacobi = as_op(a, kind, True), None
        if eigenvalues is None:
            with _told(a) if isinstance(a, csr_array) else contextlib.nullcontext():
                eigenvalues = spectrum(op, jacobi, n, kind)
        self.eigenvalues = interval(eigenvalues)
        super().__init__(_core.chebyshev(op, jacobi, operator.index(degree), *self.eigenvalues))


def interval(eigenvalues: tuple[float, float]) -> tuple[float, float]:
    """(smallest, largest) as floats; ValueError where they are no interval of positive numbers."""
    low, high = (float(e) for e in eigenvalues)
    if not 0 < low < high < np.inf:
        raise ValueError(
            f"eigenvalues={eigenvalues}: give (smallest, largest), 0 < smallest < largest"
        )
    return low, high


def _require_positive(diagonal: np.ndarray) -> None:
    wrong = ~(diagonal.real > 0) | (diagonal.imag != 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"Chebyshev: the diagonal entry of row {row} is {diagonal[row]:.3g}: A is not positive definite; "
            "use ILU0"
        )


def start_vector(rows: np.ndarray) -> np.ndarray:
    """Numbers in (-1, 1) that look random and depend on the row alone, whoever holds it."""
    return mix(rows.astype(np.uint64)).astype(np.int64) / 2.0**63


def mix(x: np.ndarray) -> np.ndarray:
    """Bits that look random from uint64 that do not (Steele, Lea and Flood 2014: the finisher of SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def spectrum(
    op: Any,
    jacobi: Any,
    n: int,
    dtype: np.dtype,
    rows: np.ndarray | None = None,
    total: Callable[[float], float] = float,
) -> tuple[float, float]:
    """An interval for the eigenvalues of D^-1 A, by Lanczos' method as CG computes it.

    Vectors may be shared out: `rows` are then the numbers of the entries here, and total(part) adds up over all.
    Complex ones are taken by their parts, which have the same eigenvalues where A is Hermitian.
    """
    from scipy.linalg import eigvalsh_tridiagonal

    parts = np.zeros(0, dtype).real.dtype
    n *= dtype.itemsize // parts.itemsize
    rows = np.arange(n) if rows is None else rows

    def apply(m: Any, x: np.ndarray) -> np.ndarray:
        y = np.empty(len(rows), parts)
        m.apply(x.astype(parts).view(dtype), y.view(dtype))
        return y.astype(np.float64)

    if n == 0:
        return 0.5, 1.0
    r = start_vector(rows)
    alphas, betas = [], []
    z = apply(jacobi, r) if jacobi is not None else r
    p, rz = z.copy(), total(float(r @ z))
    for _ in range(min(ESTIMATE_STEPS, n)):
        q = apply(op, p)
        pq = total(float(p @ q))
        if not pq > 0 or not rz > 0:
            raise ValueError(
                f"Chebyshev: p.Ap = {pq:.3g} or r.D^-1 r = {rz:.3g} is not positive: A is not positive definite; use "
                "ILU0, or give eigenvalues=(smallest, largest)"
            )
        alphas.append(rz / pq)
        r = r - alphas[-1] * q
        z = apply(jacobi, r) if jacobi is not None else r
        before, rz = rz, total(float(r @ z))
        if rz <= 1e-24 * before:
            break
        betas.append(rz / before)
        p = z + betas[-1] * p
    off = np.sqrt(betas[: len(alphas) - 1]) / np.array(alphas[: len(alphas) - 1])
    main = 1 / np.array(alphas)
    main[1:] += np.array(betas[: len(alphas) - 1]) / np.array(alphas[:-1])
    found = eigvalsh_tridiagonal(main, off) if len(main) > 1 else main
    high = ESTIMATE_MARGIN * float(found[-1])
    low = max(high / INTERVAL, float(found[0]) / ESTIMATE_MARGIN)
    return min(low, 0.9 * high), high
