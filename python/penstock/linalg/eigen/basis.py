"""Orthonormal vectors as the rows of an array, extended block by block, by classical Gram-Schmidt.

What lies in the span already is replaced by random vectors, with a coefficient of zero, so invariant subspaces end
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import _core
from penstock.linalg._methods.passes import norm

# Multiplications up to which OpenBLAS wakes no threads: they would wait for one another in each call.
_ALONE = 1 << 18
_KEPT = 0.5  # of a norm: where a pass takes more away, the result is not orthogonal enough yet


def coefficients(basis: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Entry (i, c) is the inner product <basis_i, vectors_c>."""
    made = np.zeros((len(basis), len(vectors)), basis.dtype)
    _core.basis_dots(basis, vectors, made)
    return made


def subtract(basis: np.ndarray, h: np.ndarray, vectors: np.ndarray) -> None:
    """vectors_c -= sum over i of h[i, c] basis_i, in place."""
    _core.basis_subtract(basis, np.ascontiguousarray(h), vectors)


def project_out(basis: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Takes the basis' part away from `vectors`, in one pass; its coefficients."""
    h = coefficients(basis, vectors)
    subtract(basis, h, vectors)
    return h


def extend(
    rows: np.ndarray, size: int, block: np.ndarray, near: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Writes orthonormal vectors to rows[size : size + b] that span, with rows[:size], the b vectors of `block`.

    Returns (h, r): block_c = sum of h[i, c] rows_i + sum of r[d, c] rows_(size + d). The first pass takes only
    rows[near:size] away: a Lanczos method knows that its block is orthogonal to the others but for rounding. `block`
    is overwritten. ValueError where it is not finite.
    """
    b = len(block)
    h, squares = np.empty((size, b), rows.dtype), np.empty((2, b))
    _core.basis_orthogonalise(rows[:size], near, block, h, squares)
    require_finite(squares[0])
    before, after = np.sqrt(squares)
    r = finish(
        *(rows, size, block, h, negligible(before, rows.dtype), after),
        *(project_out, norm, lambda basis: another(basis, rng)),
    )
    return h, r


def finish(
    rows: np.ndarray,
    size: int,
    block: np.ndarray,
    h: np.ndarray,
    tiny: np.ndarray,
    after: np.ndarray,
    project_out: Callable[[np.ndarray, np.ndarray], np.ndarray],
    norm: Callable[[np.ndarray], float],
    another: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """r of `extend`, for a block that is orthogonal to rows[:size] already, with norms `after`: its vectors against one
    another. What they are made of besides is added to h. Ranks bring functions of their own."""
    b = len(block)
    r = np.zeros((b, b), rows.dtype)
    for c, v in enumerate(block):
        fresh = rows[size : size + c]
        left = after[c]
        for _ in range(2 if c else 0):
            r[:c, c] += project_out(fresh, v[None])[:, 0]
        kept = norm(v) if c else left
        if kept < _KEPT * left:  # the block's vectors lie near one another
            more = project_out(rows[: size + c], v[None])[:, 0]
            h[:, c] += more[:size]
            r[:c, c] += more[size:]
            kept = norm(v)
        if kept <= tiny[c]:
            rows[size + c] = another(rows[: size + c])
        else:
            r[c, c] = kept
            np.divide(v, kept, out=rows[size + c])
    return r


def require_finite(squares: Any) -> None:
    """Of the squares of a block of products."""
    if not np.isfinite(squares).all():
        raise ValueError(
            "a product with A is not finite: A has NaN or infinite entries, or entries too large to square"
        )


def orthonormal(rows: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the same span."""
    require_finite(rows)
    return np.ascontiguousarray(np.linalg.qr(rows.T)[0].T)


def negligible(before: Any, dtype: np.dtype) -> Any:
    """What is left of a vector of that norm where it lies in the span already."""
    return 8 * float(np.finfo(dtype).eps) * before


def another(basis: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random unit vector that is orthogonal to a basis, which must not span the whole space."""
    v = random_rows(1, basis.shape[1], basis.dtype, rng)
    for _ in range(3):
        project_out(basis, v)
        v /= norm(v[0])
    return v[0]


def random_rows(count: int, n: int, dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Normally distributed, for a complex type in both parts."""
    made = rng.standard_normal((count, n))
    if np.dtype(dtype).kind == "c":
        return (made + 1j * rng.standard_normal((count, n))).astype(dtype)
    return made.astype(dtype)


def rotate(rows: np.ndarray, size: int, y: np.ndarray) -> None:
    """rows[:q] = y^T rows[:size] for y of shape (size, q), in place, a range of columns at a time."""
    turn = np.ascontiguousarray(y.T.astype(rows.dtype, copy=False))
    columns = max(_ALONE // max(turn.size, 1), 32)
    for begin in range(0, rows.shape[1], columns):
        part = slice(begin, begin + columns)
        rows[: y.shape[1], part] = turn @ rows[:size, part]
