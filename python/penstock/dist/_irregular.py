"""How much longer a matrix takes for its bytes than rows in order do: products timed here, and what that says."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_matrix
from penstock.dist._layouts import Counts, count
from penstock.dist._local_price import Irregular
from penstock.dist._network import Network
from penstock.dist._price import price

__all__ = ["irregular_of", "irregular_with_cache", "irregularity"]

_IRREGULAR = 0.2, 64.0


def irregularity(A: Any, network: Network, seconds: float = 0.3) -> Irregular:
    """The `irregular` with which the oracle prices `A @ x` on one rank of `network`, measured here, at the time that it
    takes: on as many threads as a rank had then. Of all of A, and of rows in cache where A is larger. Times some."""
    A = as_matrix(A, "irregularity")
    whole = irregular_of(_spent(A, network, seconds), count(A, "contiguous", 1), network)
    return irregular_with_cache(A, network, whole, seconds)


def irregular_with_cache(A: Any, network: Network, whole: float, seconds: float = 0.1) -> Irregular:
    """`whole`, with that of rows of A that lie in cache where A does not and they need no more of x than that."""
    part = _rows_in_cache(A, network)
    if part is None:
        return whole
    c = count(part, "contiguous", 1)
    return whole, irregular_of(_spent(part, network, seconds), c, network)


def _spent(A: Any, network: Network, seconds: float) -> float:
    """Seconds of a product, when nothing disturbs it, its call included."""
    threads = _core.num_threads()
    _core.set_num_threads(network.threads or threads)
    try:
        once = min(_core.time_products(A._core, 2))
        spent = _core.time_products(A._core, min(max(int(seconds / max(once, 1e-7)), 13), 1000))
    finally:
        _core.set_num_threads(threads)
    # The first bring the matrix to caches. What disturbs a product makes it slower, never faster.
    return float(np.quantile(spent[4:], 0.25)) + network.call_s


def _rows_in_cache(A: Any, network: Network) -> Any:
    """Rows from the middle of A, with the columns that they need; None where A is small, or they need too many."""
    best = max((rate for _, rate in network.rank_products), default=0.0)
    room = max((n for n, rate in network.rank_products if rate > 0.9 * best), default=0.0)
    entry = A.dtype.itemsize + 4
    size = entry * A.nnz + 8 * A.shape[0] + (entry - 4) * sum(A.shape)
    if size <= room or not room:
        return None
    rows = int(A.shape[0] * room / (2 * size))
    first = (A.shape[0] - rows) // 2
    begin, end = int(A.indptr[first]), int(A.indptr[first + rows])
    if rows < 1 or end == begin:
        return None
    columns = np.asarray(A.indices[begin:end])
    low, wide = int(columns.min()), int(columns.max() - columns.min()) + 1
    if (entry - 4) * wide > room / 4 or entry * (end - begin) > room:
        return None
    offsets = np.asarray(A.indptr[first : first + rows + 1]) - begin
    values = np.asarray(A.data[begin:end]) if A.dtype != bool else np.ones(end - begin)
    return csr_array((values, columns - low, offsets), shape=(rows, wide), copy=False)


def irregular_of(seconds: float, c: Counts, network: Network) -> float:
    """The `irregular`, of 0.2 to 64, with which a product on one rank is priced at so many seconds."""
    low, high = _IRREGULAR
    for _ in range(48):
        middle = (low * high) ** 0.5
        if price(c, network, irregular=middle).compute < seconds:
            low = middle
        else:
            high = middle
    return (low * high) ** 0.5
