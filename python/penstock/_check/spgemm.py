"""Is C = A B right? Checked without our own products: by a random vector and by rows computed one by one.

C x = A (B x) is compared for all rows at once (Freivalds, 1977: a wrong C passes for almost no x), with SciPy's
products in float64 and the rounding bound of sums of products (Higham 2002, section 3.1). Sampled rows are then
computed product by product with NumPy: their columns must be exactly those that products fall on, and their values
within that bound. Other semirings are checked by rows alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock._choices import SEMIRINGS

_SAMPLES = 64


@dataclass(frozen=True)
class SpgemmCheck:
    """error: the largest share of its bound that any comparison used, at most 1 where C is right. rows: how many rows
    were computed one by one. vector: whether C x was compared."""

    ok: bool
    error: float
    rows: int
    vector: bool
    problem: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _wide(a: Any) -> Any:
    """As SciPy's array, of float64 or complex128."""
    s = a.to_scipy() if hasattr(a, "to_scipy") else a
    return s.astype(np.result_type(s.dtype, np.float64))


def _row(a: Any, b: Any, row: int, semiring: str) -> tuple[np.ndarray, ...]:
    """Columns, values, sums of absolute products, and numbers of products of a row of A B."""
    first, last = a.indptr[row], a.indptr[row + 1]
    starts, ends = b.indptr[a.indices[first:last]], b.indptr[a.indices[first:last] + 1]
    counts = ends - starts
    at = np.repeat(starts - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    at = (at + np.arange(counts.sum())).astype(np.int64)
    x = np.repeat(a.data[first:last], counts)
    kind = SEMIRINGS[semiring]
    columns, terms = b.indices[at], kind.products(x, b.data[at])
    if kind.boolean:
        columns, terms = columns[terms != 0], terms[terms != 0]
    order = np.argsort(columns, kind="stable")
    columns, terms = columns[order], terms[order]
    unique, start, number = np.unique(columns, return_index=True, return_counts=True)
    if not unique.size:
        return unique, np.ones(0), np.ones(0), number
    values = kind.sums(kind.zero, kind.sums.reduceat(terms, start))  # zero is part of every sum
    if kind.boolean:  # C is the pattern of what is one
        return unique[values], np.ones(values.sum()), np.ones(values.sum()), number[values]
    return unique, values, np.add.reduceat(np.abs(terms), start), number


def verify_spgemm(
    A: Any, B: Any, C: Any, semiring: str = "plus_times", *, samples: int = _SAMPLES, seed: int = 0
) -> SpgemmCheck:
    """Compares C with A B computed independently. A, B and C are csr_arrays or SciPy CSR arrays; C's columns must
    ascend.

    >>> import numpy as np, penstock as ps
    >>> a = ps.csr_array(np.eye(3) + 1)
    >>> verify_spgemm(a, a, a @ a).ok, verify_spgemm(a, a, a).ok
    (True, False)
    """
    if C.shape != (A.shape[0], B.shape[1]):
        shape = (A.shape[0], B.shape[1])
        return SpgemmCheck(False, np.inf, 0, False, f"C is {C.shape}, A B is {shape}")
    boolean = C.dtype == np.bool_
    eps = 0.0 if boolean else float(np.finfo(C.dtype).eps)
    rng = np.random.default_rng(seed)
    a, b = _wide(A), _wide(B)
    columns, starts = np.asarray(C.indices), np.asarray(C.indptr)
    inside = np.ones(max(columns.size - 1, 0), bool)  # of a row, with the entry before
    inside[starts[(starts > 0) & (starts < columns.size)] - 1] = False
    if not np.all((np.diff(columns) > 0) | ~inside):
        return SpgemmCheck(False, np.inf, 0, False, "columns do not ascend in some row")
    error, vector = 0.0, semiring == "plus_times"
    if vector:
        x = rng.uniform(0.5, 1.5, B.shape[1])
        c = _wide(C)
        want, scale = a @ (b @ x), abs(a) @ (abs(b) @ x)
        terms = np.diff(a.indptr) + np.max(np.diff(b.indptr), initial=0) + np.diff(c.indptr)
        off, limit = np.abs(c @ x - want), 2 * (terms + 4) * eps * scale
        error = _worst(off, limit)
        if not error <= 1:
            row = int(np.argmax(np.where(limit > 0, off / np.where(limit > 0, limit, 1), off > 0)))
            return SpgemmCheck(False, error, 0, True, f"row {row} of C x is not that of A (B x)")
    rows = rng.choice(A.shape[0], min(samples, A.shape[0]), replace=False)
    for row in rows.tolist():
        unique, values, scale, number = _row(a, b, row, semiring)
        first, last = starts[row], starts[row + 1]
        if not np.array_equal(columns[first:last], unique):
            return SpgemmCheck(False, np.inf, len(rows), vector, f"row {row} has other columns")
        if boolean:
            continue
        off = np.abs(np.asarray(C.data[first:last]) - values)
        off[np.asarray(C.data[first:last]) == values] = 0  # infinities
        share = _worst(off, 2 * (number + 2) * eps * scale)
        error = max(error, share)
        if not share <= 1:
            return SpgemmCheck(False, share, len(rows), vector, f"row {row} has other values")
    return SpgemmCheck(True, error, len(rows), vector, "")


def _worst(off: np.ndarray, limit: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        share = np.where(off == 0, 0.0, off / limit)
    worst = float(share.max(initial=0.0))
    return np.inf if np.isnan(worst) else worst
