"""What a product of tiles consists of, counted: bytes of every tile, flops of every C[i, j] += A[i, k] B[k, j], owners.

>>> import penstock as ps
>>> c = count_spmm(ps.generate.laplacian((8, 8)), 16, 4)
>>> c.grid, c.tiles, int(c.flops.sum()) == 2 * 288 * 16
((2, 2), (2, 2, 2), True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from penstock import _core
from penstock._matrix.csr import csr_array
from penstock._matrix.given import as_matrix
from penstock._matrix.spgemm import spgemm, spgemm_estimate

__all__ = ["ProductCounts", "count_spgemm", "count_spmm", "process_grid"]

MOST_CELLS = 2**25  # (i, k, j) of one count: about 1 GB of arrays
_OFFSET = 8  # bytes of a row's offset
_ROW_NAME = 4  # of its number, where it travels alone


@dataclass(frozen=True, repr=False)
class ProductCounts:
    """A is M x K tiles, B is K x N, C is M x N; `tiles` is (M, K, N). Ranks form a grid, row by row.

    Real tiles or counted ones: whoever has the arrays can make one.
    """

    op: str  # "spmm": B and C dense; "spgemm": sparse
    ranks: int
    grid: tuple[int, int]
    shape: tuple[int, int, int]  # rows of A, columns of A, columns of B
    a: np.ndarray  # (M, K) bytes of a tile, as one get moves it
    b: np.ndarray  # (K, N)
    c: np.ndarray  # (M, N)
    a_nnz: np.ndarray  # (M, K)
    part: np.ndarray  # (M, K, N), or what broadcasts to it: bytes of the partial product
    flops: np.ndarray  # (M, K, N): two for each product of two entries
    local: np.ndarray  # (M, K, N): bytes that the local product moves at least
    a_owner: np.ndarray  # (M, K)
    b_owner: np.ndarray  # (K, N)
    c_owner: np.ndarray  # (M, N)
    compression: float = 1.0  # products for each entry of C
    # (M, K, 6), where B is dense: where rows and columns of A[i, k] with entries begin and end, how many rows of a sum
    # and of B[k, j] travel, as shares of the tile's
    spans: np.ndarray | None = None
    # Where B is sparse: (M, K, N) bytes of B[k, j] that a product with A[i, k] fetches, and (M, K) those of them that
    # are row offsets, where single rows travel
    rows_of_b: tuple[np.ndarray, np.ndarray] | None = None
    word_of_b: int = 0  # bytes of a value of B
    # The columns of every tile of A, as rows of (M K) x columns of A; where B is sparse, entries of its rows by tiles
    lists: Callable[[], tuple[csr_array, csr_array | None]] | None = None

    def __repr__(self) -> str:
        m, k, n = self.tiles
        return f"<{self.op} of {self.shape} as {m} x {k} x {n} tiles on {self.grid[0]} x {self.grid[1]} ranks>"

    @property
    def tiles(self) -> tuple[int, int, int]:
        return self.flops.shape  # type: ignore[return-value]

    @property
    def needed(self) -> np.ndarray:
        """(M, K): how much of B[k, j] a product with A[i, k] fetches: of a dense B rows where A[i, k] has columns."""
        if self.spans is None:
            return np.ones(self.a.shape)
        return self.spans[..., 5]

    def needed_of_b(self, i: np.ndarray, k: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Bytes of B[k, j] that a product with A[i, k] fetches."""
        if self.rows_of_b is not None:
            return self.rows_of_b[0][i, k, j]  # type: ignore[no-any-return]
        return np.rint(self.b[k, j] * self.needed[i, k])

    def offsets_of_b(self, i: np.ndarray, k: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Of these bytes, the row offsets that are fetched before the entries; 0: B[k, j] comes whole, or is dense."""
        if self.rows_of_b is None:
            return np.zeros(i.size)
        single = self.rows_of_b[0][i, k, j] < self.b[k, j]
        return np.where(single, self.rows_of_b[1][i, k], 0.0)

    @property
    def done(self) -> np.ndarray:
        """(M, K, N): products of tiles whose entries meet; the others are left out."""
        return (self.a > 0)[:, :, None] & (self.b > 0)[None] & (self.flops > 0)

    @property
    def nnz_imbalance(self) -> float:
        """Most over mean entries of A that a rank owns: "load imb." of the paper's Table 1."""
        return _imbalance(np.bincount(self.a_owner.ravel(), self.a_nnz.ravel(), self.ranks))

    @property
    def imbalance(self) -> float:
        """Most over mean flops of a rank, from end to end, C stationary (figure 1a)."""
        return _imbalance(self.by_rank().sum(0))

    def stage_imbalance(self, offset: bool = True) -> float:
        """The same where ranks wait for one another after every stage, weighted by the stages' means (figure 1b).
        `offset`: stage s of tile (i, j) is k = i + j + s, as in the paper's figure; else all take the same k, as SUMMA
        does."""
        mine = self.by_rank(offset)
        mean = mine.mean(1).sum()
        return float(mine.max(1).sum() / mean) if mean else 1.0

    def by_rank(self, offset: bool = False) -> np.ndarray:
        """(K, ranks): flops of each stage, where the owner of C[i, j] computes."""
        owner, flops = self.c_owner.ravel(), self.flops
        if offset:
            i, k, j = np.ogrid[: flops.shape[0], : flops.shape[1], : flops.shape[2]]
            flops = np.take_along_axis(flops, (i + k + j) % flops.shape[1], axis=1)
        stages = flops.transpose(1, 0, 2).reshape(self.tiles[1], owner.size)  # there may be none
        found = [np.bincount(owner, s, self.ranks) for s in stages]
        return np.array(found).reshape(len(found), self.ranks)


def _imbalance(values: np.ndarray) -> float:
    mean = float(values.mean())
    return float(values.max()) / mean if mean else 1.0


def process_grid(ranks: int) -> tuple[int, int]:
    """The most square grid, no wider than high.

    >>> process_grid(12), process_grid(7)
    ((4, 3), (7, 1))
    """
    cols = next(c for c in range(math.isqrt(ranks), 0, -1) if ranks % c == 0)
    return ranks // cols, cols


def dealt(rows: int, cols: int, grid: tuple[int, int]) -> np.ndarray:
    """Owners of rows x cols tiles, dealt over the grid in turn both ways."""
    r, c = np.ogrid[:rows, :cols]
    return (r % grid[0]) * grid[1] + c % grid[1]


def cuts(length: int, parts: int) -> np.ndarray:
    """Where equal tiles begin, and the end; fewer than `parts` where the length is short.

    >>> cuts(10, 4).tolist(), cuts(2, 4).tolist()
    ([0, 3, 6, 9, 10], [0, 1, 2])
    """
    size = max(1, -(-length // parts))
    return np.append(np.arange(0, max(length, 1), size), length)


def tile_nnz(A: csr_array, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
    """Entries of every tile."""
    width, indptr = max(1, int(cols[1] - cols[0])), A.indptr
    ends = indptr[rows]
    return np.stack([
        np.bincount(A.indices[lo:hi] // width, minlength=cols.size - 1)
        for lo, hi in pairwise(ends)
    ])  # fmt: skip


def csr_bytes(nnz: np.ndarray, rows: np.ndarray, word: int) -> np.ndarray:
    """Of blobs: row offsets, columns of 4 bytes, padded to 8, values. An empty tile is known from the directory: nobody
    fetches it."""
    columns = np.ceil(nnz / 2) * 8.0
    return np.where(nnz > 0, columns + nnz * float(word) + (rows[:, None] + 1) * _OFFSET, 0.0)


def rows_alone(
    b: np.ndarray,
    spans: np.ndarray,
    met: np.ndarray,
    entries: np.ndarray,
    word: int,
    alone: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """`ProductCounts.rows_of_b`, as TileMap::bytes_for of the core has it. spans, met: (M, K) columns of A[i, k]
    from the first to the last, and those with entries. entries: (M, K, N) of B[k, j] in rows that these name.
    `alone`: b is (M, K), of one product each."""
    offsets = (spans + 1.0) * _OFFSET
    some = offsets[:, :, None] + entries * float(4 + word)
    named = some + 2.0 * _ROW_NAME * met[:, :, None]
    whole = b[:, :, None] if alone else b[None]
    return np.where(named < whole, some, whole), offsets


def _check(ranks: int, m: int, k: int, n: int) -> None:
    if m * k * n > MOST_CELLS:
        raise MemoryError(
            f"{ranks:,} ranks, {m} x {k} x {n} tiles: {m * k * n:,} products of tiles exceed {MOST_CELLS:,}; "
            "give a number of ranks whose grid has sides that divide one another"
        )


def _grids(
    ranks: int, grid: tuple[int, int] | None, m: int, k: int, n: int, tiles: int, dense: bool
) -> tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray]:
    """The grid, and the cuts of rows, inner, and columns: lcm of the grid's sides, times `tiles`, each way; columns of
    a dense B into as many as the grid has."""
    if ranks < 1:
        raise ValueError(f"{ranks} ranks: at least 1")
    grid = grid or process_grid(ranks)
    if grid[0] * grid[1] != ranks:
        raise ValueError(f"grid {grid[0]} x {grid[1]} is not of {ranks} ranks")
    each = (
        math.lcm(*grid) * tiles
    )  # as `tiles` cuts them: every rank has the same number, all matrices fit
    found = (cuts(m, each), cuts(k, each), cuts(n, grid[1] * tiles if dense else each))
    _check(ranks, *(f.size - 1 for f in found))
    return grid, *found


def count_spmm(
    A: Any,
    columns: int,
    ranks: int,
    *,
    grid: tuple[int, int] | None = None,
    tiles: int = 1,
    gathers: bool = True,
) -> ProductCounts:
    """C = A B, B dense with so many columns, on `ranks` ranks. `tiles`: times as many each way as
    `ps.dist.tiled_array` cuts by default: the least common multiple of the grid's sides, and of B's columns the
    grid's columns. `gathers`: single rows of B and of sums travel, not all between the first and the last."""
    A = as_matrix(A, "count_spmm")
    if columns < 1:
        raise ValueError(f"{columns} columns: at least 1")
    grid, rows, inner, cols = _grids(ranks, grid, *A.shape, columns, tiles, True)
    word = 8 if A.dtype == np.bool_ else A.dtype.itemsize
    nnz = tile_nnz(A, rows, inner)
    high, deep, wide = np.diff(rows), np.diff(inner), np.diff(cols)
    spans = np.zeros((*nnz.shape, 6))
    if A.nnz:
        found = _core.tile_spans(A._core, int(rows[1]), int(inner[1]), gathers)
        found = rows_that_travel(found.reshape(spans.shape), word * int(wide[0]))
        spans = shares(found, high, deep)
    a = csr_bytes(nnz, high, 0 if A.dtype == np.bool_ else word)
    b, c = deep[:, None] * wide * float(word), high[:, None] * wide * float(word)
    flops = 2.0 * nnz[:, :, None] * wide
    some = (nnz > 0)[:, :, None]
    part = parts(c, spans, high)
    local = np.where(some, a[:, :, None] + b[None] * spans[..., 5:] + part, 0.0)
    owners = _owners(grid, rows, inner, cols)
    shape = (*A.shape, columns)
    return ProductCounts(
        "spmm",
        ranks,
        grid,
        shape,
        a,
        b,
        c,
        nnz,
        part,
        flops,
        local,
        *owners,
        spans=spans,
        word_of_b=word,
        lists=lambda: (_spread(A, rows, inner), None),
    )


def worth_naming(met: np.ndarray, between: np.ndarray, row_bytes: Any) -> np.ndarray:
    """Whether so many rows travel one by one and not all `between` the first and the last, as the core has it: names
    of short rows count, an eighth of long ones pays for theirs.

    >>> worth_naming(np.array([87, 88]), np.array([100, 100]), 32).tolist()
    [True, False]
    >>> worth_naming(np.array([43, 44]), np.array([100, 100]), 4).tolist()
    [True, False]
    """
    row = np.asarray(row_bytes, float)
    each = row + np.where(row < _core.least_row_bytes(), _ROW_NAME, 0)
    return 8 * met * each < 7 * between * row  # type: ignore[no-any-return]


def rows_that_travel(spans: np.ndarray, row_bytes: int) -> np.ndarray:
    """(..., 6) of the core, which knows of long rows only, for a B whose tiles have rows of so many bytes."""
    met, between = spans[..., 4:], spans[..., 1:4:2] - spans[..., 0:3:2]
    kept = np.where(worth_naming(met, between, row_bytes), met, between)
    return np.concatenate([spans[..., :4], kept], axis=-1)


def shares(spans: np.ndarray, high: np.ndarray, deep: np.ndarray) -> np.ndarray:
    """Of rows and columns that tiles have entries in, (M, K, 6): as shares of the tiles' rows and columns."""
    down, across = (np.maximum(n, 1).astype(float) for n in (high, deep))
    of_rows = np.array([True, True, False, False, True, False])
    return spans / np.where(of_rows, down[:, None, None], across[None, :, None])


def one_by_one(share: np.ndarray, between: np.ndarray) -> np.ndarray:
    """Whether fewer rows travel than there are between the first and the last: then these are at most 7/8 of them."""
    return share < 15 / 16 * (between[..., 1] - between[..., 0])


def parts(c: np.ndarray, spans: np.ndarray, high: np.ndarray) -> np.ndarray:
    """(M, K, N): bytes of a partial product, C and B dense. Where some rows travel and not all between the first and
    the last, each has its number with it."""
    touched = spans[..., 4]
    names = np.where(one_by_one(touched, spans[..., :2]), _ROW_NAME * touched * high[:, None], 0.0)
    return c[:, None, :] * touched[:, :, None] + names[:, :, None]


def _owners(grid: tuple[int, int], *edges: np.ndarray) -> tuple[np.ndarray, ...]:
    m, k, n = (e.size - 1 for e in edges)
    return dealt(m, k, grid), dealt(k, n, grid), dealt(m, n, grid)


def _spread(A: csr_array, rows: np.ndarray, inner: np.ndarray) -> csr_array:
    """(M K) x k: how many entries of a row tile lie in each column, a row for each tile; B's rows then give flops."""
    parts, width, columns = inner.size - 1, max(1, int(inner[1] - inner[0])), A.shape[1]
    ends, counts, where, sizes = A.indptr[rows], [], [], []
    for lo, hi in pairwise(ends):
        if hi - lo > columns // 8:
            found = np.bincount(A.indices[lo:hi], minlength=columns)
            at = np.flatnonzero(found)
            found = found[at]
        else:
            at, found = np.unique(A.indices[lo:hi], return_counts=True)
        where.append(at)
        counts.append(found)
        sizes.append(np.bincount(at // width, minlength=parts))
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    data, at = np.concatenate(counts).astype(float), np.concatenate(where)
    return csr_array((data, at, offsets), shape=((rows.size - 1) * parts, columns))


def _first_to_last(spread: csr_array) -> np.ndarray:
    """Of each row, how many columns there are from its first entry to its last; columns ascend."""
    ends, out = spread.indptr, np.zeros(spread.shape[0], np.int64)
    some = np.diff(ends) > 0
    out[some] = spread.indices[ends[1:][some] - 1] - spread.indices[ends[:-1][some]] + 1
    return out


def _gathered(B: csr_array, cols: np.ndarray) -> csr_array:
    """k x N: how many entries each row of B has in each column tile."""
    parts, width = cols.size - 1, max(1, int(cols[1] - cols[0]))
    row = np.repeat(np.arange(B.shape[0]), np.diff(B.indptr))
    key = row * parts + B.indices // width
    if np.any(key[1:] < key[:-1]):
        key.sort()
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])) if key.size else key
    counts = np.diff(np.append(first, key.size)).astype(float)
    offsets = np.searchsorted(key[first], np.arange(B.shape[0] + 1) * parts)
    return csr_array((counts, key[first] % parts, offsets), shape=(B.shape[0], parts))


def _saturation(compression: float) -> float:
    """x with (1 - exp(-x)) / x = 1 / compression: how often products meet, as if thrown at random."""
    low, high = 1e-12, max(2.0, 2 * compression)
    for _ in range(80):
        x = (low + high) / 2
        low, high = (x, high) if -math.expm1(-x) / x > 1 / compression else (low, x)
    return x


def count_spgemm(
    A: Any,
    B: Any,
    ranks: int,
    *,
    grid: tuple[int, int] | None = None,
    tiles: int = 1,
    compression: float | None = None,
    gathers: bool = True,
) -> ProductCounts:
    """C = A B, all sparse. Flops are exact, and so is what is fetched of B: single rows of it where `gathers`. Entries
    of C follow from `compression` (by default of the whole product, sampled as `spgemm_estimate` does), a tile's share
    by its products; those of a partial product as if products met at random."""
    A, B = as_matrix(A, "count_spgemm"), as_matrix(B, "count_spgemm")
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"A has {A.shape[1]} columns and B {B.shape[0]} rows: these must be equal")
    grid, rows, inner, cols = _grids(ranks, grid, *A.shape, B.shape[1], tiles, False)
    found = compression or spgemm_estimate(A, B).compression
    a_nnz, b_nnz = tile_nnz(A, rows, inner), tile_nnz(B, inner, cols)
    spread, gathered = _spread(A, rows, inner), _gathered(B, cols)
    products = spgemm(spread, gathered).toarray()
    products = products.reshape(*a_nnz.shape, cols.size - 1)
    once = csr_array((np.ones(spread.nnz), spread.indices, spread.indptr), shape=spread.shape)
    entries = spgemm(once, gathered).toarray().reshape(products.shape)
    high, wide = np.diff(rows), np.diff(cols)
    area = (high[:, None] * wide).astype(float)
    whole = products.sum(1)  # of each tile of C
    x = _saturation(max(1.0, found))
    share = np.divide(products, whole[:, None, :], out=np.zeros_like(products), where=products > 0)
    part = np.minimum(-whole[:, None, :] / x * np.expm1(-x * share), area[:, None, :])
    part = np.minimum(part, products)
    c_nnz = np.minimum(whole / found, area)
    kinds = [m.dtype for m in (A, B) if m.dtype != np.bool_]
    word = max((k.itemsize for k in kinds), default=8)
    entry = 4 + word
    a, b = (
        csr_bytes(nnz, np.diff(edge), 0 if m.dtype == np.bool_ else m.dtype.itemsize)
        for nnz, edge, m in ((a_nnz, rows, A), (b_nnz, inner, B))
    )
    c = csr_bytes(c_nnz, high, word)
    travel = None
    if gathers:
        between, met = (
            n.reshape(a_nnz.shape) for n in (_first_to_last(spread), np.diff(spread.indptr))
        )
        number = 0 if B.dtype == np.bool_ else B.dtype.itemsize
        travel = rows_alone(b, between, met, entries, number)
    offsets = (high[:, None, None] + 1.0) * _OFFSET * (products > 0)
    local = entry * (3 * part + 2 * products) + offsets  # Gu et al. 2020, for each partial product
    shape = (*A.shape, B.shape[1])
    return ProductCounts(
        "spgemm", ranks, grid, shape, a, b, c, a_nnz, entry * part + offsets, 2 * products, local,
        *_owners(grid, rows, inner, cols), found, rows_of_b=travel,
        word_of_b=0 if B.dtype == np.bool_ else B.dtype.itemsize, lists=lambda: (spread, gathered),
    )  # fmt: skip
