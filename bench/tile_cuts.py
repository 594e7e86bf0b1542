"""Tiles cut by area and by work: how uneven ranks' work is, counted; and how long ranks wait, measured.

python bench/tile_cuts.py                         # work for 4, 16 and 64 ranks: exact, of any machine
python bench/tile_cuts.py --waits --ranks 2       # also products on ranks that are threads: run it on an idle machine
python bench/tile_cuts.py --quick                 # toy matrices

Work is most over mean of what ranks of a square grid do, from A's entries, which SciPy counts again in the tiles that
were chosen. `A X, c` and `A X, a`: entries, in rows of tiles and in tiles, which are the work with a dense X where C or
A stays. `A A`: products of entries in C's tiles (not where A A takes more than --products products). `rows`: the rows
of the largest tile over the mean.

Waits are seconds that all ranks spend waiting for others at the end of A X, C stationary, on a grid of one column, over
all seconds of all ranks; medians of --repeats products, all kinds in turn.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from lib import matrices
from lib.report import show_table
from penstock.dist._tile_cuts.choice import equal_cuts, work_cuts

import penstock as ps
from penstock import _core

NAMES = "soc-Slashdot0902,web-NotreDame,cnr-2000,fb-Cornell5,G2_circuit,bcsstk32,road-moscow"
KINDS = {
    "equal": ("area", False),
    "equal, stealing": ("area", "random"),
    "by nonzeros": ("nonzeros", False),
    "by nonzeros, stealing": ("nonzeros", "random"),
}


def _sums(length: int, cuts: np.ndarray) -> sp.csr_array:
    """The matrix that adds up the lines of each tile."""
    of = np.searchsorted(cuts, np.arange(length), "right") - 1
    return sp.csr_array((np.ones(length), (of, np.arange(length))), shape=(cuts.size - 1, length))


def _uneven(tiles: np.ndarray, grid: tuple[int, int]) -> tuple[float, float]:
    """Most over mean of the ranks' tiles, and of the rows of ranks."""
    i, j = np.ogrid[: tiles.shape[0], : tiles.shape[1]]
    owner = i % grid[0] * grid[1] + j % grid[1]
    ranks = np.bincount(owner.ravel(), tiles.ravel(), grid[0] * grid[1]).reshape(grid)
    rows = ranks.sum(1)
    return float(ranks.max() / ranks.mean()), float(rows.max() / rows.mean())


def work(name: str, A: Any, ranks: int, products: float) -> list[list[str]]:
    """A row of the table for each kind of cuts."""
    grid = tuple(_core.square_grid(ranks))
    each = math.lcm(*grid)
    ones = sp.csr_array((np.ones(A.nnz), A.indices, A.indptr), shape=A.shape)
    equal = tuple(equal_cuts(n, -(-n // each)) for n in A.shape)
    squares = float(np.diff(A.indptr)[A.indices].sum()) if A.shape[0] == A.shape[1] else math.inf
    whole = ps.csr_array(ones)

    def chosen(comm: Any, by: str) -> Any:
        return work_cuts(_core.entries_of_whole(comm, whole._core), comm, by, equal, grid)

    rows = []
    for by in ("area", "nonzeros", "flops"):
        if by == "flops" and squares > products:
            continue
        cuts = equal
        if by != "area":
            found = ps.dist.run(chosen, 1, by)[0]
            cuts = found.rows, found.cols
        down, across = (_sums(n, c) for n, c in zip(A.shape, cuts, strict=True))
        stays, rows_of = _uneven(((down @ ones) @ across.T).toarray(), grid)
        square = "-"
        if squares <= products:
            square = f"{_uneven(((down @ ones) @ (ones @ across.T)).toarray(), grid)[0]:.2f}"
        largest = max(np.diff(c).max() * (c.size - 1) / c[-1] for c in cuts)
        rows.append(
            [f"{name}, {ranks}", by, f"{rows_of:.2f}", f"{stays:.2f}", square, f"{largest:.2f}"]
        )
    return rows


def waits(name: str, A: Any, ranks: int, columns: int, repeats: int) -> list[str]:
    """A row: imbalances, then of each kind the share of time that ranks wait, and its seconds over the first kind's."""
    matrix = ps.csr_array(A.astype(np.float32))
    X = np.ones((A.shape[1], columns), np.float32)

    def play(comm: Any) -> dict[str, Any]:
        found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
        held = {}
        for by in ("area", "nonzeros"):
            T = ps.dist.tiled_array(matrix, comm, grid=(ranks, 1), cuts=by)
            held[by] = T, ps.dist.tiled_array(X, like=T)
        for turn in range(repeats + 1):  # the first warms up
            for kind, (by, steal) in KINDS.items():
                comm.barrier()
                C = ps.dist.matmul(*held[by], "c", steal=steal)
                sums = np.array([C.times["imbalance"], C.times["seconds"]])
                comm.all_reduce(sums)
                if turn:
                    found[kind].append((sums[0] / sums[1], sums[1]))
                flops = np.array([r["flops"] for r in C.plan().loads])
                found.setdefault(by, flops.max() / flops.mean())
        return found

    found = ps.dist.run(play, ranks, threads_per_rank=1)[0]
    first = np.array([s for _, s in found["equal"]])
    row = [f"{name}, {ranks}", f"{found['area']:.2f}", f"{found['nonzeros']:.2f}"]
    for kind in KINDS:
        share, seconds = np.array(found[kind]).T
        row.append(f"{np.median(share):.3f} ({np.median(seconds / first):.2f})")
    return row


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", help=NAMES)
    parser.add_argument("--ranks", help="numbers of ranks (4,16,64; with --waits 2)")
    parser.add_argument("--columns", type=int, default=64, help="of X, with --waits (64)")
    parser.add_argument("--products", type=float, default=4e8, help="of A A, at most (4e8)")
    parser.add_argument("--repeats", type=int, default=7, help="of each product (7)")
    parser.add_argument("--waits", action="store_true", help="also products on threads")
    parser.add_argument("--quick", action="store_true", help="toy matrices")
    args = parser.parse_args()
    names = args.matrices or ("all" if args.quick else NAMES)
    said = lambda name, why: print(f"skipped {name}: {why}")  # noqa: E731
    counted, waited = [], []
    for name, matrix in matrices.select(names, args.quick, said):
        A = sp.csr_array(matrix)
        for ranks in map(int, (args.ranks or ("2" if args.waits else "4,16,64")).split(",")):
            if args.waits:
                waited.append(waits(name, A, ranks, args.columns, args.repeats))
            else:
                counted += work(name, A, ranks, args.products)
    if counted:
        header = ["matrix, ranks", "tiles by", "A X, c", "A X, a", "A A, c", "rows"]
        show_table("Most over mean work of a rank", header, counted)
    if waited:
        header = ["matrix, ranks", "c, equal", "c, by nonzeros", *KINDS]
        show_table(
            "Share of time that ranks wait (and time over that of equal tiles)", header, waited
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
