"""C = A B for two sparse matrices: `spgemm`, by blocks of rows, and what it will take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_factor
from penstock._matrix.writer import writer
from penstock._plan.schedules import parse_bytes
from penstock._product.sparse import Factors, SpgemmEstimate, blocks, estimate

__all__ = ["SpgemmEstimate", "spgemm", "spgemm_blocks", "spgemm_estimate"]


def _factors(a: Any, b: Any, semiring: str, mask: Any, dtype: Any) -> Factors:
    a, b = as_factor(a, "A"), as_factor(b, "B")
    return Factors(a, b, semiring, None if mask is None else as_factor(mask, "mask"), dtype)


def _blocks(
    f: Factors, memory: int, accumulator: str, place: Any
) -> Iterator[tuple[int, csr_array]]:
    made = blocks(f, memory, accumulator, place)
    return ((first, csr_array._product(core)) for first, core in made)


def spgemm(
    A: Any,
    B: Any,
    *,
    semiring: str = "plus_times",
    mask: Any = None,
    dtype: Any = None,
    memory: int | str | None = None,
    out: str | os.PathLike[str] | None = None,
    place: Any = None,
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
    place : `ps.host` or a GPU's `ps.device(n)`, or such a name, optional
        The memory in which C is made; by default that of A and B. For A and B on a GPU, `ps.host` is for a C that does
        not fit there: blocks of its rows are computed, and travel to host memory while the next ones are.
    accumulator : "auto", "merge", "hash" or "dense"
        How the products of a row are added up; for experiments.

    Returns
    -------
    csr_array of shape (m, n), columns strictly ascending in every row. An entry stands where any products meet, also
    where their sum is 0 (SciPy drops these). Sums run in the order of A's rows: the same bits for any number of
    threads.

    A and B on one GPU (`A.to(ps.device(0))`), and the mask, are multiplied there, and C stays, unless `place` or
    `out` says otherwise: plus_times of float32, float64 and patterns, and or_and, without accumulator. Its
    entries are counted first. In rows of more than 256 entries (128 on a GPU with 64 KB of shared memory, in
    float64; 64 products, if columns of B do not ascend) sums run in any order: last bits may differ from one run
    to the next. With a mask, blocks of rows are computed whole and then filtered. `options.device_memory` bounds
    what A, B and C, or blocks of C, take together. `ps.record()` tells the blocks, launches of kernels, and how
    often the host waited.

    Raises MemoryError before the work where C would not fit, with the estimated size (on a GPU the exact one; with a
    mask there, once a block does not fit); see `spgemm_estimate`, `spgemm_blocks`, `out` and `place`.
    PlacementError where A, B and mask are not all in host memory or on one GPU, ValueError for a `place` that is
    neither. Peak memory is C and some MB a thread: rows are computed once, without a symbolic pass, and written
    to their final place (Gustavson, ACM TOMS 4, 1978; accumulators after Nagasaka et al., Parallel Computing 90,
    2019).

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> (A @ A).toarray()
    array([[6., 0.],
           [0., 6.]])
    >>> ps.spgemm(A, A, semiring="min_plus").toarray()
    array([[5., 0.],
           [0., 5.]])
    """
    f = _factors(A, B, semiring, mask, dtype)
    if out is not None:
        if place is not None:
            raise ValueError(f"place={place!r} is given with out, a store: leave place out")
        limit = parse_bytes("1GB" if memory is None else memory, "memory")
        rows = (block for _, block in _blocks(f, limit, accumulator, "host"))
        return writer().save_blocks(out, f.shape, f.dtype, rows)
    limit = -1 if memory is None else parse_bytes(memory, "memory")
    return csr_array._product(f.all(limit, accumulator, place))


def spgemm_blocks(
    A: Any,
    B: Any,
    *,
    memory: int | str = "1GB",
    semiring: str = "plus_times",
    mask: Any = None,
    dtype: Any = None,
    place: Any = None,
) -> Iterator[tuple[int, csr_array]]:
    """C = A B as consecutive blocks of rows, none of which takes more than `memory` bytes.

    Yields `(first, block)`: `block` is rows `first` to `first + block.shape[0]` of C. The cut follows an upper bound
    (a row's products, or all columns), so blocks are usually smaller. Options are `spgemm`'s; a single row that exceeds
    the limit raises MemoryError when its turn comes. Blocks of A and B on a GPU are there, or in host memory with
    `place=ps.host`.

    >>> import numpy as np, penstock as ps
    >>> A = ps.csr_array(np.eye(4))
    >>> [(first, block.nnz) for first, block in ps.spgemm_blocks(A, A, memory=60)]
    [(0, 2), (2, 2)]
    """
    limit = parse_bytes(memory, "memory")
    return _blocks(_factors(A, B, semiring, mask, dtype), limit, "auto", place)


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
    return estimate(_factors(A, B, semiring, None, dtype), exact)
