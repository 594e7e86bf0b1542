"""Is y = A x right? Checked against a product that shares no code with ours, in float64.

The bound is the usual one for sums of products (Higham, Accuracy and Stability of Numerical
Algorithms, 2002, section 3.1): whatever the order of n terms, the computed sum is within n u / (1 -
n u) of the exact one, relative to the sum of the absolute values of the terms. With eps = 2 u of
the coarser type, (n + 2) eps covers both products, the rounding of the terms and complex
multiplication. The other semirings round each term once at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock._check.chunks import row_chunks
from penstock._choices import SEMIRINGS

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

CHUNK = 1 << 23  # entries at a time
SAMPLE_ABOVE = 1 << 31  # entries: beyond, SciPy's speed on one thread would take minutes
SAMPLE = 1 << 28


@dataclass(frozen=True)
class Check:
    """error: the largest |y_i - reference_i| / (|A| |x|)_i. of_bound: the largest error as a share
    of its own row's bound, at most 1 where the product is right. bound: the loosest bound of a row.
    rows: how many were compared; skipped: those of them whose terms are not finite. complete: every
    row was compared."""

    ok: bool
    error: float
    of_bound: float
    bound: float
    rows: int
    skipped: int
    complete: bool
    reference: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def _blocks(
    a: csr_array, sample_above: int, sample: int, seed: int
) -> tuple[list[tuple[int, int]], bool]:
    blocks = list(row_chunks(a.indptr, CHUNK))
    if a.nnz <= sample_above:
        return blocks, True
    order = np.random.default_rng(seed).permutation(len(blocks))
    return [blocks[i] for i in sorted(order[: max(1, sample // CHUNK)])], False


def _terms(block: Any, x: np.ndarray, semiring: str) -> np.ndarray:
    data = block.data if SEMIRINGS[semiring].boolean else block.data.astype(np.float64)
    return SEMIRINGS[semiring].products(data, x[block.indices])


def _reference(
    block: Any, x: np.ndarray, semiring: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y, the sum of absolute terms, and the number of terms, per row of a SciPy block."""
    lengths = np.diff(block.indptr)
    if semiring == "plus_times":
        return block @ x, abs(block) @ np.abs(x), lengths
    kind = SEMIRINGS[semiring]
    y = np.full(block.shape[0], kind.zero, dtype=bool if kind.boolean else np.float64)
    filled = np.flatnonzero(lengths)
    if filled.size:  # the semiring's zero is part of every sum, such as of a maximum
        terms = kind.sums.reduceat(_terms(block, x, semiring), block.indptr[filled])
        y[filled] = kind.sums(y[filled], terms)
    return y, np.abs(y), np.zeros_like(lengths)


def _transposed(
    a: csr_array, x: np.ndarray, semiring: str, tell: Callable[[float], None] | None
) -> tuple[Any, ...]:
    """The same for A^T x, of all columns at once."""
    cols = a.shape[1]
    plus = semiring == "plus_times"
    kind = SEMIRINGS[semiring]
    y = np.full(cols, kind.zero, dtype=bool if kind.boolean else np.result_type(x, np.float64))
    scale, lengths = np.zeros(cols), np.zeros(cols, np.int64)
    for first, last in row_chunks(a.indptr, CHUNK):
        block, part = a[first:last].to_scipy(), x[first:last]
        lengths += np.bincount(block.indices, minlength=cols)
        if plus:
            y += block.T @ part
            scale += abs(block).T @ np.abs(part)
        else:
            spread = np.repeat(part, np.diff(block.indptr))
            with_row = block.copy()
            with_row.indices = np.arange(block.nnz, dtype=np.int64)  # entry k meets spread[k]
            kind.sums.at(y, block.indices, _terms(with_row, spread, semiring))
        if tell:
            tell(last / a.shape[0])
    return (y, scale, lengths) if plus else (y, np.abs(y), np.zeros_like(lengths))


def _parts(
    a: csr_array, y: np.ndarray, x: np.ndarray, semiring: str, blocks: Any, tell: Any
) -> Iterator[tuple[np.ndarray, ...]]:
    for n, (first, last) in enumerate(blocks):
        yield y[first:last], *_reference(a[first:last].to_scipy(), x, semiring)
        if tell:
            tell((n + 1) / len(blocks))


def verify(
    a: csr_array,
    x: np.ndarray,
    y: np.ndarray,
    semiring: str = "plus_times",
    transposed: bool = False,
    *,
    sample_above: int = SAMPLE_ABOVE,
    sample: int = SAMPLE,
    seed: int = 0,
    tell: Callable[[float], None] | None = None,
) -> Check:
    """Compares y with A x (or A^T x) computed independently.

    Rows are checked in blocks, so that the check needs little memory and no 64-bit indices. Above
    `sample_above` entries a seeded sample of about `sample` of them is checked and the result says
    so; A^T x is always complete.

    >>> import numpy as np, penstock as ps
    >>> a, x = ps.csr_array(np.eye(3)), np.ones(3)
    >>> verify(a, x, a @ x).ok, verify(a, x, np.zeros(3)).ok
    (True, False)
    """
    wide = x if SEMIRINGS[semiring].boolean else x.astype(np.result_type(x.dtype, np.float64))
    eps = 0.0 if y.dtype == np.bool_ else float(np.finfo(y.dtype).eps)
    tiny = 0.0 if y.dtype == np.bool_ else float(np.finfo(y.dtype).tiny)
    blocks, complete = _blocks(a, sample_above, sample, seed)
    if transposed:
        parts: Any = [(y, *_transposed(a, wide, semiring, tell))]
        complete = True
    else:
        parts = _parts(a, y, wide, semiring, blocks, tell)
    error = of_bound = bound = 0.0
    rows = skipped = 0
    with np.errstate(all="ignore"):
        for got, want, scale, lengths in parts:
            rows += got.size
            if y.dtype == np.bool_:
                wrong = bool(np.any(got != want))
                error, of_bound = max(error, float(wrong)), max(of_bound, np.inf if wrong else 0.0)
                continue
            # A type's infinity may be a double's large number: such rows cannot be compared.
            usable = np.isfinite(scale) & (scale <= np.finfo(y.dtype).max / 4)
            same = got == want  # infinities of min_plus
            skipped += int(np.count_nonzero(~usable & ~same))
            off = np.where(same, 0.0, np.abs(got - want))[usable]
            limit = (lengths[usable] + 2) * eps
            bound = max(bound, float(limit.max(initial=0)))
            ratio = off / (limit * scale[usable] + (lengths[usable] + 2) * tiny)
            relative = np.where(
                off == 0, 0.0, off / np.where(scale[usable] > 0, scale[usable], tiny)
            )
            error = max(error, _worst(relative))
            of_bound = max(of_bound, _worst(ratio))
    reference = "SciPy, float64" if semiring == "plus_times" else "NumPy, float64"
    return Check(of_bound <= 1.0, error, of_bound, bound, rows, skipped, complete, reference)


def _worst(values: np.ndarray) -> float:
    """The maximum, with NaN as the worst of all."""
    worst = float(values.max(initial=0.0))
    return np.inf if np.isnan(worst) else worst
