"""C = A B for two sparse matrices: types, limits of memory, blocks of rows, and what it will take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import VALUE_TYPES, result_dtype
from penstock._matrix.csr import csr_array
from penstock._plan.report import human_bytes
from penstock._plan.schedules import parse_bytes
from penstock._product.dense import SEMIRINGS, Transposed

__all__ = ["SpgemmEstimate", "spgemm", "spgemm_blocks", "spgemm_estimate"]

_BUFFERS = 32 << 20  # of blocks that wait for their place, all threads together
_SCRATCH = 4 << 20  # a thread's accumulators, unless one row asks for more
_DENSE_SHARE = 8  # wider windows than this many columns a product are hashed


def _as_csr(x: Any, name: str) -> csr_array:
    if isinstance(x, csr_array):
        return x
    if isinstance(x, Transposed):
        return x.formed()
    if not hasattr(x, "tocsr"):
        raise TypeError(f"{name} is a {type(x).__name__}: give a csr_array or a SciPy sparse array")
    return csr_array(x, copy=False)  # gone after the product


def _ascending(b: csr_array) -> bool:
    """Looked at once and kept with the matrix, whose arrays never change."""
    if "ascending" not in b._derived:
        b._derived["ascending"] = _core.ascending_rows(b._core)
    return b._derived["ascending"]


def _number_type(a: csr_array, b: csr_array, semiring: str, dtype: Any) -> np.dtype:
    if semiring not in SEMIRINGS:
        raise ValueError(f"semiring={semiring!r} is unknown: choose one of {', '.join(SEMIRINGS)}")
    if semiring == "or_and":
        if dtype is not None and np.dtype(dtype) != np.bool_:
            raise TypeError(f"dtype={dtype}: a product over or_and is a pattern (bool)")
        return np.dtype(bool)
    with_values = [m.dtype for m in (a, b) if m.dtype != np.bool_]
    number = result_dtype(*with_values) if with_values else np.dtype(np.float64)
    if dtype is not None:
        wanted = np.dtype(dtype)
        if wanted not in VALUE_TYPES:
            raise TypeError(
                f"dtype={wanted} is not supported: choose float32, float64, complex64 or complex128"
            )
        if wanted.kind != "c" and number.kind == "c":
            raise TypeError(f"dtype={wanted} would lose the imaginary part of the product")
        number = wanted
    if semiring != "plus_times" and number.kind == "c":
        raise TypeError(f"{semiring} needs an order, which complex numbers do not have")
    return number


def _ones(a: csr_array, dtype: np.dtype) -> csr_array:
    """A pattern with its ones written out, for products that have no kernel for patterns."""
    return csr_array._from_parts(
        *a.shape, a.indptr, a.indices, np.ones(a.nnz, dtype), validate="cheap"
    )


class _Factors:
    """A, B and the mask as the core takes them."""

    def __init__(self, a: Any, b: Any, semiring: str, mask: Any, dtype: Any) -> None:
        a, b = _as_csr(a, "A"), _as_csr(b, "B")
        if a.shape[1] != b.shape[0]:
            raise ValueError(
                f"A is {a.shape[0]} x {a.shape[1]} and B {b.shape[0]} x {b.shape[1]}: "
                "A's columns must be as many as B's rows"
            )
        self.semiring, self.dtype = semiring, _number_type(a, b, semiring, dtype)
        self.a = a if a.dtype == np.bool_ else a.astype(self.dtype)
        keeps_pattern = semiring == "or_and" or (
            semiring == "plus_times" and self.dtype.kind == "f"
        )
        if b.dtype != np.bool_:
            self.b = b.astype(self.dtype)
        else:
            self.b = b if keeps_pattern else _ones(b, self.dtype)
        if self.a.dtype == np.bool_ and semiring != "or_and" and not keeps_pattern:
            self.a = _ones(self.a, self.dtype)
        self.mask = None if mask is None else _as_csr(mask, "mask")
        self.shape = (a.shape[0], b.shape[1])
        if self.mask is not None and self.mask.shape != self.shape:
            raise ValueError(f"mask is {self.mask.shape}, the product {self.shape}")

    @property
    def entry_bytes(self) -> int:
        return 4 + (0 if self.dtype == np.bool_ else self.dtype.itemsize)

    @property
    def gpu(self) -> int | None:
        """The GPU that holds both A and B and can multiply them."""
        if self.a.place != "device" or self.b.place != "device" or self.mask is not None:
            return None
        gpu = _core.ordinal(self.a._core)
        return gpu if gpu == _core.ordinal(self.b._core) else None

    def rows(self, first: int, last: int, memory: int, accumulator: str) -> csr_array:
        whole = (first, last) == (0, self.shape[0])
        gpu = self.gpu
        if gpu is not None and whole and accumulator == "auto":
            factors = (self.a._core, self.b._core, self.semiring, str(self.dtype), gpu)
            return csr_array._wrap(_core.spgemm_gpu(*factors, memory=memory))
        a = self.a if whole else self.a[first:last]
        mask = self.mask if whole or self.mask is None else self.mask[first:last]
        core = _core.spgemm(
            a._core,
            self.b._core,
            self.semiring,
            str(self.dtype),
            None if mask is None else mask._core,
            accumulator,
            _ascending(self.b),
            memory,
        )
        c = csr_array._wrap(core)
        c._derived["ascending"] = True
        return c


def spgemm(
    A: Any,
    B: Any,
    *,
    semiring: str = "plus_times",
    mask: Any = None,
    dtype: Any = None,
    memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    accumulator: str = "auto",
) -> csr_array:
    """C = A B over a semiring; `A @ B` is this with the defaults.

    Parameters
    ----------
    A, B : csr_array, transposed view (`A.T`, which is formed and kept), or SciPy sparse array
        A of shape (m, k), B of shape (k, n). Rows may be unsorted, and duplicates add up.
    semiring : "plus_times", "min_plus", "max_times" or "or_and"
        Over or_and only where entries are not zero counts, and C is a pattern.
    mask : sparse, of shape (m, n), optional
        C keeps only what lies on the mask's stored entries, whatever their values.
    dtype : optional
        Of C: by default NumPy's promotion of A's and B's values. A pattern counts as ones; of two patterns, C counts
        the paths from i to j in float64.
    memory : bytes, or "8GB", optional
        What C may take; by default what the machine has available.
    out : path of a native store, optional
        C is computed in blocks of rows that fit `memory` (default 1 GB), written one after another, and mapped. For
        products larger than memory.
    accumulator : "auto", "merge", "hash" or "dense"
        How the products of a row are added up; for experiments.

    Returns
    -------
    csr_array of shape (m, n), columns strictly ascending in every row. An entry stands where any products meet, also
    where their sum is 0 (SciPy drops these). Sums run in the order of A's rows: the same bits for any number of
    threads.

    A and B on one GPU (`A.to(ps.device(0))`) are multiplied there, and C stays: plus_times of float32, float64 and
    patterns, and or_and, without mask, out and accumulator. Its entries are counted first. In rows of more than 64
    products sums run in any order: last bits may differ from one run to the next.

    Raises MemoryError before the work where C would not fit, with the estimated size; see `spgemm_estimate`,
    `spgemm_blocks` and `out`. Peak memory is C and some MB a thread: rows are computed once, without a symbolic pass,
    and written to their final place (Gustavson, ACM TOMS 4, 1978; accumulators after Nagasaka et al., Parallel
    Computing 90, 2019).

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> (A @ A).toarray()
    array([[6., 0.],
           [0., 6.]])
    >>> ps.spgemm(A, A, semiring="min_plus").toarray()
    array([[5., 0.],
           [0., 5.]])
    """
    f = _Factors(A, B, semiring, mask, dtype)
    if out is not None:
        from penstock._io._append import save_blocks

        limit = parse_bytes("1GB" if memory is None else memory, "memory")
        blocks = (block for _, block in _blocks(f, limit, accumulator))
        save_blocks(out, f.shape, f.dtype, blocks)
        from penstock._io.store import open_store

        return open_store(out)
    limit = -1 if memory is None else parse_bytes(memory, "memory")
    return f.rows(0, f.shape[0], limit, accumulator)


def _blocks(f: _Factors, memory: int, accumulator: str) -> Iterator[tuple[int, csr_array]]:
    offsets = _core.product_offsets(f.a._core, f.b._core)
    most = np.minimum(np.diff(offsets), f.shape[1])
    if f.mask is not None:
        most = np.minimum(most, np.diff(f.mask.indptr))
    ends = np.concatenate([[0], np.cumsum(most * f.entry_bytes + 8)])
    first, rows = 0, f.shape[0]
    while first < rows:
        fits = int(np.searchsorted(ends, ends[first] + memory - 8, side="right")) - 1
        last = max(first + 1, min(fits, rows))
        yield first, f.rows(first, last, memory, accumulator)
        first = last


def spgemm_blocks(
    A: Any,
    B: Any,
    *,
    memory: int | str = "1GB",
    semiring: str = "plus_times",
    mask: Any = None,
    dtype: Any = None,
) -> Iterator[tuple[int, csr_array]]:
    """C = A B as consecutive blocks of rows, none of which takes more than `memory` bytes.

    Yields `(first, block)`: `block` is rows `first` to `first + block.shape[0]` of C. The cut follows an upper bound
    (a row's products, or all columns), so blocks are usually smaller. Options are `spgemm`'s; a single row that exceeds
    the limit raises MemoryError when its turn comes.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.eye(4))
    >>> [(first, block.nnz) for first, block in ps.spgemm_blocks(A, A, memory=60)]
    [(0, 2), (2, 2)]
    """
    limit = parse_bytes(memory, "memory")
    return _blocks(_Factors(A, B, semiring, mask, dtype), limit, "auto")


@dataclass(frozen=True)
class SpgemmEstimate:
    """What C = A B takes. `products`: multiplications, counted. `nnz`: entries of C, counted where `exact`, else
    estimated from a sample, usually within some percent; `bound`: an upper bound of them. `nbytes`: of C; `peak_bytes`:
    with the buffers of the computation, without A and B; `available_bytes`: of the machine, now."""

    products: int
    nnz: int
    bound: int
    exact: bool
    nbytes: int
    peak_bytes: int
    available_bytes: int

    @property
    def compression(self) -> float:
        """Products for each entry of C."""
        return self.products / self.nnz if self.nnz else 1.0

    @property
    def fits(self) -> bool:
        return self.peak_bytes <= self.available_bytes

    def __str__(self) -> str:
        about = "" if self.exact else "about "
        fits = "fits" if self.fits else "does not fit: use spgemm_blocks or out="
        return (
            f"{self.products:,} products, {about}{self.nnz:,} entries "
            f"({self.compression:.2f} products each)\n"
            f"result {human_bytes(self.nbytes)}, peak {human_bytes(self.peak_bytes)}; "
            f"{human_bytes(self.available_bytes)} available: {fits}"
        )

    __repr__ = __str__


def _scratch(f: _Factors) -> int:
    """What the threads' accumulators take: a sum and some flags a column, of the columns that a window can reach. It
    follows the longest row's products, however many columns there are."""
    products = np.diff(_core.product_offsets(f.a._core, f.b._core))
    longest = int(products.max(initial=0))
    a_column = f.dtype.itemsize + 2
    window = min(f.shape[1], _DENSE_SHARE * longest)
    each = min(_SCRATCH, a_column * f.shape[1]) + a_column * window
    return min(_core.num_threads(), np.count_nonzero(products)) * each


def spgemm_estimate(
    A: Any, B: Any, *, semiring: str = "plus_times", dtype: Any = None, exact: bool = False
) -> SpgemmEstimate:
    """What C = A B will take, before it is computed.

    The products are counted in a pass over A. nnz(C) comes from rows drawn in proportion to their products, about
    2 % of the work; with `exact` from a symbolic product. The sample is the same each time.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.ones((3, 3)))
    >>> e = ps.spgemm_estimate(A, A, exact=True)
    >>> e.products, e.nnz, e.compression
    (27, 9, 3.0)
    """
    f = _Factors(A, B, semiring, None, dtype)
    e = _core.spgemm_estimate(f.a._core, f.b._core, exact)
    nbytes = e["nnz"] * f.entry_bytes + 8 * (f.shape[0] + 1)
    scratch = _scratch(f)
    buffers = min(_BUFFERS, e["bound"] * f.entry_bytes)
    return SpgemmEstimate(
        products=e["products"],
        nnz=e["nnz"],
        bound=e["bound"],
        exact=e["exact"],
        nbytes=nbytes,
        peak_bytes=nbytes + scratch + buffers,
        available_bytes=_core.topology()["available_bytes"],
    )
