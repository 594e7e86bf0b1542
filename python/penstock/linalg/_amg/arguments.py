"""What `AMG` is asked for: options and vectors, checked."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from penstock.linalg._diagnosis import largest_of
from penstock.linalg._methods.passes import in_range

CYCLES = ("V", "W", "K")


def options_of(
    strength: Any,
    smoother: Any,
    degree: Any,
    cycle: Any,
    max_levels: Any,
    max_coarse: Any,
    precision: Any,
    seed: Any,
    block_size: Any,
    symmetry: Any = "symmetric",
) -> dict[str, Any]:
    """As the core takes them. ValueError for the first that is out of range."""
    if smoother is None:
        smoother = "chebyshev" if symmetry == "symmetric" else "l1_jacobi"
    for name, value, known in (
        ("smoother", smoother, ("chebyshev", "l1_jacobi")),
        ("cycle", cycle, CYCLES),
        ("symmetry", symmetry, ("symmetric", "nonsymmetric")),
        ("precision", precision, (None, "float32", "float64")),
    ):
        if value not in known:
            words = " or ".join(repr(k) for k in known if k is not None)
            raise ValueError(f"{name}={value!r} is unknown: choose {words}")
    if symmetry == "nonsymmetric" and (smoother != "l1_jacobi" or cycle == "K"):
        given = f"cycle={cycle!r}" if smoother == "l1_jacobi" else f"smoother={smoother!r}"
        raise ValueError(
            f"{given} is for symmetric matrices: symmetry='nonsymmetric' takes smoother='l1_jacobi', and cycle='V' "
            "or 'W'"
        )
    if not 0 <= float(strength) <= 1:
        raise ValueError(f"strength={strength}: give a number from 0 to 1")
    for name, number, most in (
        ("degree", degree, 10_000),
        ("max_levels", max_levels, 2**31 - 1),
        ("block_size", block_size, 2**31 - 1),
    ):
        if not 1 <= operator.index(number) <= most:
            raise ValueError(f"{name}={number}: give 1 .. {most}")
    if not 1 <= operator.index(max_coarse) <= 10_000:
        raise ValueError(
            f"max_coarse={max_coarse}: give 1 .. 10000, for the level is factored dense"
        )
    if not 0 <= operator.index(seed) < 2**64:
        raise ValueError(f"seed={seed}: give 0 .. 2**64 - 1")
    return {
        "symmetric": symmetry == "symmetric",
        "strength": float(strength),
        "l1_jacobi": smoother == "l1_jacobi",
        "degree": degree,
        "cycle": cycle,
        "max_levels": max_levels,
        "max_coarse": max_coarse,
        "seed": seed,
        "block": block_size,
    }


def require_complex_rows(a: Any) -> None:
    """ValueError that names a row of a complex matrix: in the core its rows are those of parts."""
    wrong = ~np.isfinite(a.data)
    if wrong.any():
        row = int(np.searchsorted(a.indptr, int(wrong.argmax()), side="right")) - 1
        raise ValueError(
            f"AMG: row {row} holds NaN or infinity, or numbers too large for the precision"
        )
    diagonal = a.diagonal()
    wrong = ~(diagonal.real > 0)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"AMG: the diagonal entry of row {row} is {diagonal[row]:.3g}, without a positive real part: A is not "
            "positive definite; take gmres with M='jacobi'"
        )


def require_nonzero(some: np.ndarray) -> None:
    """ValueError that names a near-nullspace vector without a nonzero; `some` says which have one."""
    if not some.all():
        raise ValueError(
            f"near_nullspace[:, {int(some.argmin())}] is zero: give vectors that A takes nearly to zero, or none"
        )


def require_scale(a: Any) -> None:
    """ValueError where squares of A's entries over- or underflow: set-up takes inner products of rows."""
    largest = largest_of(a.data) if a.dtype.kind in "fc" else 0.0
    if (
        largest > 0
        and np.isfinite(largest)
        and not in_range(largest * largest, np.dtype(np.float64))
    ):
        raise ValueError(
            f"AMG: A's largest entry is {largest:.3g}, whose square is beyond float64: divide A and b by it"
        )


def warn_of_one_level(
    levels: int, n: int, columns: int, block: int, options: dict[str, Any]
) -> None:
    """Where so many vectors were given that a coarse level would have as many rows as the fine one."""
    if levels == 1 and n > options["max_coarse"] and options["max_levels"] > 1 and columns > block:
        warnings.warn(
            f"near_nullspace has {columns} vectors, and no coarser level has fewer rows than the {n} of A: the AMG "
            "is a smoother alone; fewer vectors, which A takes nearly to zero, may give more levels",
            RuntimeWarning,
            stacklevel=3,
        )


def vectors_of(
    given: Any,
    n: int,
    block: int,
    on_gpu: bool = False,
    parts: bool = False,
    whole: bool = True,
) -> np.ndarray:
    """The near-nullspace as float64 of shape (n, k), finite; of shape (0, block) where a GPU makes it. `parts`: for the
    parts of complex vectors, (2 n, 2 k). `whole`: all rows are here."""
    if given is None and on_gpu:
        return np.empty((0, block))
    if given is None:
        return np.tile(np.eye(2 * block if parts else block), (n // block, 1))
    b = np.asarray(given)
    if b.dtype.kind not in "biufc":
        raise TypeError(f"near_nullspace is {type(given).__name__}: give an array of numbers")
    if b.dtype.kind == "c" and not parts:
        raise TypeError("near_nullspace is complex, and A is real: give real vectors")
    b = np.ascontiguousarray(b, np.complex128 if parts else np.float64)
    b = b[:, None] if b.ndim == 1 else b
    if b.ndim != 2 or b.shape[0] != n or b.shape[1] < 1:
        raise ValueError(f"near_nullspace has shape {np.shape(given)}: give ({n},) or ({n}, k)")
    if not np.isfinite(b).all():
        raise ValueError("near_nullspace must hold finite numbers only")
    if whole:
        require_nonzero(np.asarray(b.any(axis=0)))
    if not parts:
        return b
    both = np.stack([b, 1j * b], axis=2).reshape(n, -1)  # each vector, and i times it
    return np.stack([both.real, both.imag], axis=1).reshape(2 * n, -1)
