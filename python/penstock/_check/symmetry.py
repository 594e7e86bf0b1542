"""Is a matrix symmetric, skew-symmetric or Hermitian: in its pattern, in its values, exactly or to
rounding?

Up to EXACT_LIMIT entries the matrix is compared with its transpose, which takes about three copies
of it. Above, one pass compares two sums modulo 2^64: of a hash of every (i, j, value), and of the
same hash with i and j exchanged. Equal sums mean an equal set of entries, but for a chance of about
2^-64; unequal sums are a proof. That pass needs no memory and cannot tell rounding from difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._check.chunks import row_chunks

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

EXACT_LIMIT = 1 << 25
# Two triangles that were assembled in different orders differ by a few roundings of their row's
# largest entry.
ROUNDING = 64


@dataclass(frozen=True)
class Symmetry:
    """kind: "symmetric", "skew-symmetric", "hermitian", "none", or "unknown" (see `method`).

    pattern: every stored (i, j) has its (j, i). matched: the share of entries off the diagonal that
    have it, None where only hashes were compared. error: the largest |a_ij - a_ji| over the larger
    of the two rows' largest entries, 0 where exact; None where it was not measured or kind is
    "none".
    """

    pattern: bool
    matched: float | None
    kind: str
    error: float | None
    method: str


def _mix(n: np.ndarray) -> np.ndarray:
    """A bijection of 64-bit words that spreads every bit (splitmix64's finisher, Steele et al.
    2014)."""
    n = (n ^ (n >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    n = (n ^ (n >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return n ^ (n >> np.uint64(31))


def _hash(i: np.ndarray, j: np.ndarray, word: Any) -> int:
    golden = np.uint64(0x9E3779B97F4A7C15)
    return int(_mix(_mix(i * golden + np.uint64(1)) + j * golden + word).sum(dtype=np.uint64))


def _words(values: np.ndarray) -> np.ndarray:
    """One 64-bit word per value; equal numbers give equal words (0.0 is added so that -0.0 counts
    as 0.0)."""
    if values.dtype.kind == "c":
        return _mix(_words(values.real)) + np.uint64(3) * _words(values.imag)
    return np.ascontiguousarray(values + 0.0, dtype=np.float64).view(np.uint64)


def _by_hash(a: csr_array, chunk: int) -> Symmetry:
    pattern = values = hermitian = 0
    kind_c, has_values = a.dtype.kind == "c", a.dtype != np.bool_
    for first, last in row_chunks(a.indptr, chunk):
        lo, hi = int(a.indptr[first]), int(a.indptr[last])
        i = np.repeat(np.arange(first, last, dtype=np.uint64), np.diff(a.indptr[first : last + 1]))
        j = a.indices[lo:hi].astype(np.uint64)
        pattern += _hash(i, j, np.uint64(0)) - _hash(j, i, np.uint64(0))
        if has_values:
            word = _mix(_words(a.data[lo:hi]))
            forward = _hash(i, j, word)
            values += forward - _hash(j, i, word)
            if kind_c:
                hermitian += forward - _hash(j, i, _mix(_words(a.data[lo:hi].conj())))
    same = pattern % 2**64 == 0
    method = f"hashes of {a.nnz} entries"
    if values % 2**64 == 0 and (has_values or same):
        return Symmetry(same, 1.0 if same else None, "symmetric", 0.0, method)
    if kind_c and hermitian % 2**64 == 0:
        return Symmetry(same, 1.0 if same else None, "hermitian", 0.0, method)
    # A pattern is decided; values may still agree to rounding or with the other sign.
    return Symmetry(
        same, 1.0 if same else None, "unknown" if same and has_values else "none", None, method
    )


def _row_scale(size: Any) -> np.ndarray:
    """The largest entry of each row of a matrix of absolute values."""
    scale = np.zeros(size.shape[0])
    filled = np.flatnonzero(np.diff(size.indptr))
    if filled.size:
        scale[filled] = np.maximum.reduceat(size.data, size.indptr[filled])
    return scale


def _largest(difference: Any, scale: np.ndarray) -> float:
    """The largest |d_ij| / max(scale_i, scale_j)."""
    size = np.abs(difference.data)
    if not np.all(np.isfinite(size)):
        return np.inf
    row = np.repeat(np.arange(difference.shape[0]), np.diff(difference.indptr))
    far = size > 0
    if not far.any():
        return 0.0
    return float((size[far] / np.maximum(scale[row[far]], scale[difference.indices[far]])).max())


def _by_transpose(a: csr_array, canonical: bool) -> Symmetry:
    import scipy.sparse as sp

    s = a.to_scipy()
    if not canonical:
        s = s.copy()
        s.sum_duplicates()
    t = s.T.tocsr()
    method = "compared with its transpose"
    on = int(np.count_nonzero(s.indices == np.repeat(np.arange(s.shape[0]), np.diff(s.indptr))))
    pattern = np.array_equal(s.indptr, t.indptr) and np.array_equal(s.indices, t.indices)
    if pattern:
        matched = 1.0
    else:
        ones = np.ones(s.nnz, np.int8)
        one, other = (sp.csr_array((ones, m.indices, m.indptr), shape=s.shape) for m in (s, t))
        matched = (one.multiply(other).nnz - on) / (s.nnz - on)
    if a.dtype == np.bool_:
        return Symmetry(
            pattern, matched, "symmetric" if pattern else "none", 0.0 if pattern else None, method
        )
    scale = _row_scale(abs(s))
    scale = np.maximum(scale, _row_scale(abs(t)))
    limit = ROUNDING * float(np.finfo(a.dtype).eps)
    kinds = {"symmetric": lambda: s - t, "skew-symmetric": lambda: s + t}
    if a.dtype.kind == "c":
        kinds = {"symmetric": kinds["symmetric"], "hermitian": lambda: s - t.conj(), **kinds}
    for kind, difference in kinds.items():
        error = _largest(difference().tocsr(), scale)
        if error <= limit:
            return Symmetry(pattern, matched, kind, error, method)
    return Symmetry(pattern, matched, "none", None, method)


def symmetry(a: csr_array, canonical: bool, duplicates: bool, limit: int, chunk: int) -> Symmetry:
    """`canonical`: columns ascend strictly within each row. Duplicates count as their sum."""
    if a.shape[0] != a.shape[1]:
        return Symmetry(False, None, "none", None, "not square")
    if a.nnz <= limit:
        return _by_transpose(a, canonical)
    if duplicates:
        return Symmetry(
            False, None, "unknown", None, f"not checked: duplicates among more than {limit} entries"
        )
    return _by_hash(a, chunk)
