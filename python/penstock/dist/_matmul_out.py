"""Products of sparse tiles that are written to a store, some rows of tiles at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock import _core
from penstock._io._append import save_blocks
from penstock._io.store import require_replaceable
from penstock._matrix.csr import csr_array
from penstock.dist._agree import agreed
from penstock.dist._load import open_on_all
from penstock.dist._tiles import tiled_array

__all__ = ["multiply_into"]


def multiply_into(
    out: Any,
    A: tiled_array,
    B: tiled_array,
    how: tuple[Any, ...],
    mask: Any,
    replicas: int,
    nodes: list[int] | None = None,
) -> csr_array:
    """C = A B into a store at `out`. `how`: the arguments of the core's product, from `stationary` on. `nodes`: what
    the ranks of a node share of each product of some rows, they fetch for each. Collective."""
    comm = A.comm
    if not B.sparse:
        raise ValueError("out= is for products of sparse matrices: B is dense")
    if A.device is not None:
        raise ValueError(
            "out= is for tiles in host memory, whose size it goes by: cut them without device="
        )

    def target() -> None:
        if comm.rank == 0:
            require_replaceable(os.fspath(out))

    agreed(comm, target)
    chunks = _chunks(A, B, how, mask, replicas, nodes)
    product = _Chunks(A, B, how, mask, replicas, nodes)
    if comm.rank != 0:
        _told(comm, None)  # rank 0 has begun
        for chunk in chunks:
            c = product(*chunk)
            _told(comm, None)  # rank 0 has fetched and written it
            del c
    else:
        at = _Place()
        dtype = np.dtype(product.dtype())
        try:
            save_blocks(out, (A.shape[0], B.shape[1]), dtype, _blocks(chunks, product, comm, at))
        except Exception as e:
            if at.alone:
                _told(comm, f"{type(e).__name__}: {e}")
            raise
        _told(comm, None)
    return open_on_all(out, comm)


class _Place:
    """Whether rank 0 works by itself: then it must tell the others what goes wrong."""

    alone = True


class _Chunks:
    """C's rows of tiles [first, last)."""

    def __init__(
        self,
        A: tiled_array,
        B: tiled_array,
        how: tuple[Any, ...],
        mask: Any,
        replicas: int,
        nodes: list[int] | None,
    ) -> None:
        self.a, self.b, self.how, self.mask, self.replicas = A, B, how, mask, replicas
        self.nodes = nodes or []

    def __call__(self, first: int, last: int) -> tiled_array:
        mask = None if self.mask is None else self.mask._core.rows_of_tiles(first, last)
        a = self.a._core.rows_of_tiles(first, last)
        made = _core.tiles_multiply(a, self.b._core, *self.how, mask, self.replicas, self.nodes)
        return tiled_array._of(*made)

    def dtype(self) -> str:
        return _core.tile_product_dtype(self.a._core, self.b._core, self.how[3])


def _chunks(
    A: tiled_array,
    B: tiled_array,
    how: tuple[Any, ...],
    mask: Any,
    replicas: int,
    nodes: list[int] | None,
) -> list[tuple[int, int]]:
    """As many rows of tiles as every rank has memory for, with what the ranks of a node share for them. MemoryError, on
    all ranks, where one row is too much."""
    comm, rows, memory = A.comm, A.grid[0], how[4]
    core = None if mask is None else mask._core
    mine = _core.tile_row_needs(
        A._core, B._core, how[0], how[2], how[3], core, replicas, nodes or []
    )
    if memory < 0:
        free = _core.topology()["available_bytes"] // (comm.size if comm.name == "threads" else 1)
        memory = max(free - mine.landings, 0)
    facts = comm.collect((mine.rows, memory))
    needs, have = np.stack([f[0] for f in facts]), np.array([f[1] for f in facts])
    ends = np.concatenate([np.zeros((comm.size, 1)), np.cumsum(needs, axis=1)], axis=1)

    def needed(first: int, last: int) -> np.ndarray:
        shared = mine.shared(first * rows, min(last * rows, A.tiles[0])) if nodes else 0.0
        return ends[:, last] - ends[:, first] + shared  # type: ignore[no-any-return]

    found, first = [], 0
    while first < needs.shape[1]:
        fits = np.all(ends[:, first + 1 :] - ends[:, first, None] <= have[:, None], axis=0)
        last = first + max(1, fits.size if fits.all() else int(np.argmin(fits)))
        while np.any((asked := needed(first, last)) > have):
            if last == first + 1:
                worst = int(np.argmax(asked - have))
                raise MemoryError(
                    f"rank {worst} needs about {asked[worst] / 1e6:.4g} MB for {rows} rows of tiles of C from row "
                    f"{first * rows} on{', with what its node shares,' if nodes else ''} and has "
                    f"{have[worst] / 1e6:.4g} MB: give smaller tile_rows, use more ranks, or raise memory="
                )
            last = first + (last - first) // 2
        found.append((first * rows, min(last * rows, A.tiles[0])))
        first = last
    return found


def _blocks(
    chunks: list[tuple[int, int]], product: _Chunks, comm: Any, at: _Place
) -> Iterator[csr_array]:
    for chunk in chunks:
        at.alone = False
        _told(comm, None)
        c = product(*chunk)
        at.alone = True
        for i in range(c.tiles[0]):
            yield _row(c, i)
        del c


def _row(c: tiled_array, i: int) -> csr_array:
    """Tile row i as one matrix."""
    parts = [c.get_tile(i, j) for j in range(c.tiles[1])]  # none where C has no columns
    rows = int(np.diff(c._core.map.row_cuts[i : i + 2])[0])
    counts = np.array([np.diff(p.indptr) for p in parts], np.int64).reshape(len(parts), rows)
    indptr = np.concatenate([[0], np.cumsum(counts.sum(0))])
    before = indptr[:-1] + np.cumsum(counts, axis=0) - counts  # where a tile's part of a row begins
    indices = np.empty(indptr[-1], np.int32)
    data = np.empty(indptr[-1], c.dtype)
    first = c._core.map.col_cuts
    for j, part in enumerate(parts):
        to = np.repeat(before[j] - part.indptr[:-1], counts[j]) + np.arange(part.nnz)
        indices[to] = part.indices + first[j]
        data[to] = part.data
    return csr_array((data, indices, indptr), shape=(rows, c.shape[1]), copy=False)


def _told(comm: Any, why: str | None) -> None:
    """Rank 0 says that it can go on, or why not: then the others raise OSError."""
    why = comm.share(why, 0)
    if why is not None and comm.rank != 0:
        raise OSError(f"rank 0 cannot write C: {why}")
