"""C = A B for two sparse matrices, as the core computes it: types, blocks of rows, and what it will take.

Takes matrices of this package, and returns the core's: `spgemm` and `A @ B` make matrices of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import _core
from penstock._arrays.convert import VALUE_TYPES, result_dtype
from penstock._choices import semiring_named
from penstock._plan.report import human_bytes
from penstock._product import sparse_gpu

if TYPE_CHECKING:
    from penstock._matrix.csr import csr_array

__all__ = ["Factors", "SpgemmEstimate", "blocks", "estimate"]

_BUFFERS = 32 << 20  # of blocks that wait for their place, all threads together
_SCRATCH = 4 << 20  # a thread's accumulators, unless one row asks for more
_DENSE_SHARE = 8  # wider windows than this many columns a product are hashed


def _ascending(b: csr_array) -> bool:
    """Looked at once and kept with the matrix, whose arrays never change."""
    if b._derived.ascending is None:
        b._derived.ascending = _core.ascending_rows(b._core)
    return b._derived.ascending


def _number_type(a: csr_array, b: csr_array, semiring: str, dtype: Any) -> np.dtype:
    if semiring_named(semiring).boolean:
        if dtype is not None and np.dtype(dtype) != np.bool_:
            raise TypeError(f"dtype={dtype}: a product over {semiring} is a pattern (bool)")
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
    return type(a)._from_parts(
        *a.shape, a.indptr, a.indices, np.ones(a.nnz, dtype), validate="cheap"
    )


class Factors:
    """A, B and the mask as the core takes them."""

    def __init__(
        self,
        a: csr_array,
        b: csr_array,
        semiring: str = "plus_times",
        mask: csr_array | None = None,
        dtype: Any = None,
    ) -> None:
        if a.shape[1] != b.shape[0]:
            raise ValueError(
                f"A is {a.shape[0]} x {a.shape[1]} and B {b.shape[0]} x {b.shape[1]}: "
                "A's columns must be as many as B's rows"
            )
        self.semiring, self.dtype = semiring, _number_type(a, b, semiring, dtype)
        boolean = semiring_named(semiring).boolean
        self.a = a if a.dtype == np.bool_ else a.astype(self.dtype)
        keeps_pattern = boolean or (semiring == "plus_times" and self.dtype.kind == "f")
        if b.dtype != np.bool_:
            self.b = b.astype(self.dtype)
        else:
            self.b = b if keeps_pattern else _ones(b, self.dtype)
        if self.a.dtype == np.bool_ and not keeps_pattern:
            self.a = _ones(self.a, self.dtype)
        self.mask = mask
        self.shape = (a.shape[0], b.shape[1])
        if self.mask is not None and self.mask.shape != self.shape:
            raise ValueError(f"mask is {self.mask.shape}, the product {self.shape}")

    @property
    def entry_bytes(self) -> int:
        return 4 + (0 if self.dtype == np.bool_ else self.dtype.itemsize)

    @cached_property
    def ordered_mask(self) -> Any:
        """The mask's pattern with rows that ascend, or None; the core's matrix."""
        if self.mask is None:
            return None
        pattern = _core.pattern(self.mask._core)
        return pattern if self.mask.has_canonical_format else _core.sort_rows(pattern, True)

    def all(self, memory: int = -1, accumulator: str = "auto", place: Any = None) -> Any:
        return self.rows(0, self.shape[0], memory, accumulator, place)

    def _gpu(self, accumulator: str) -> int | None:
        """The GPU that holds A, B and the mask."""
        gpu = sparse_gpu.gpu_of(self.a, self.b, self.mask)
        if gpu is not None and accumulator != "auto":
            raise ValueError(
                f"accumulator={accumulator!r} is for the CPU, and A is on a GPU: leave it at auto"
            )
        return gpu

    def rows(self, first: int, last: int, memory: int, accumulator: str, place: Any = None) -> Any:
        """Rows `first` to `last` of C, as the core's matrix; ascending in each row. Made on a GPU that holds the
        factors, and left there unless `place` is the host."""
        gpu = self._gpu(accumulator)
        host = sparse_gpu.to_host(place, gpu)
        if gpu is not None:
            return sparse_gpu.multiply(self, gpu, first, last, memory, host)
        whole = (first, last) == (0, self.shape[0])
        a = self.a if whole else self.a[first:last]
        mask = self.mask if whole or self.mask is None else self.mask[first:last]
        return _core.spgemm(
            a._core,
            self.b._core,
            self.semiring,
            str(self.dtype),
            None if mask is None else mask._core,
            accumulator,
            _ascending(self.b),
            memory,
        )

    def most_entries(self) -> np.ndarray:
        """An upper bound of the entries of each row of C."""
        gpu = self._gpu("auto")
        if gpu is not None:
            return np.minimum(sparse_gpu.products_of_rows(self, gpu), self.shape[1])
        offsets = _core.product_offsets(self.a._core, self.b._core)
        most = np.minimum(np.diff(offsets), self.shape[1])
        return most if self.mask is None else np.minimum(most, np.diff(self.mask.indptr))


def blocks(
    f: Factors, memory: int, accumulator: str, place: Any = None
) -> Iterator[tuple[int, Any]]:
    """(the first row, the core's matrix) of consecutive blocks of rows that take at most `memory` bytes each."""
    ends = np.concatenate([[0], np.cumsum(f.most_entries() * f.entry_bytes + 8)])
    first, rows = 0, f.shape[0]
    while first < rows:
        fits = int(np.searchsorted(ends, ends[first] + memory - 8, side="right")) - 1
        last = max(first + 1, min(fits, rows))
        yield first, f.rows(first, last, memory, accumulator, place)
        first = last


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


def _scratch(f: Factors) -> int:
    """What the threads' accumulators take: a sum and some flags a column, of the columns that a window can reach. It
    follows the longest row's products, however many columns there are."""
    products = np.diff(_core.product_offsets(f.a._core, f.b._core))
    longest = int(products.max(initial=0))
    a_column = f.dtype.itemsize + 2
    window = min(f.shape[1], _DENSE_SHARE * longest)
    each = min(_SCRATCH, a_column * f.shape[1]) + a_column * window
    return min(_core.num_threads(), int(np.count_nonzero(products))) * each


def estimate(f: Factors, exact: bool) -> SpgemmEstimate:
    """See `spgemm_estimate`."""
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
