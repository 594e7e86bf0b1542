"""Products of tiles between GPUs: single rows against all rows from the first to the last.

python bench/tile_rows_gpu.py                                    # a rank on each of two GPUs, or two on one
python bench/tile_rows_gpu.py --gpus 0,0 --matrices cnr-2000     # two ranks on one
python bench/tile_rows_gpu.py --quick                            # toy matrices; without a GPU the CPU plays it

Ranks are threads, each with a share of the rows of A (float32), which is lifted to about --entries entries
(`ps.generate.lift`), so that it is not laid out as its file is. B has --columns columns. `all` moves all rows of B from
the first to the last that is met, `c` those that are met, `cover` the fewest rows of B and of sums; `A A` is the
product of two sparse matrices, of whose right factor whole tiles travel, or the entries of single rows. Times are
medians of the slowest rank's, all kinds in turns; `error` is the largest of some rows of the result over what rounding
allows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

import numpy as np
from lib import matrices
from lib.report import show_table

import penstock as ps
from penstock import _core

NAMES = "soc-Slashdot0902,web-NotreDame,cnr-2000"
KINDS = {"all": "c", "c": "c", "cover": "cover"}
CHECKED = 500  # rows


def lifted(matrix: Any, entries: float, quick: bool) -> ps.csr_array:
    A = ps.csr_array(matrix.astype(np.float32))
    copies = 2 if quick else max(2, round(entries / max(A.nnz, 1)))
    return ps.generate.lift(A, copies, seed=1)


def measured(
    A: ps.csr_array, columns: int, gpus: list[Any], repeats: int
) -> dict[str, dict[str, float]]:
    """Of each kind: seconds, bytes of all ranks, and the error. `columns` 0: A A."""
    X = np.random.default_rng(1).random((A.shape[1], columns), np.float32) if columns else None
    left = A.to_scipy()[:CHECKED]
    right = A.to_scipy() if X is None else X
    kinds = {k: s for k, s in KINDS.items() if X is not None or s == "c"}

    def work(comm: Any) -> dict[str, dict[str, list[float]]]:
        a = ps.dist.tiled_array(A, comm, grid=(len(gpus), 1), device=gpus)
        b = a if X is None else ps.dist.tiled_array(X, like=a)
        found: dict[str, dict[str, list[float]]] = {
            k: {"s": [], "bytes": [], "error": []} for k in kinds
        }
        for turn in range(repeats + 2):  # the first two make what is kept
            for kind, result in found.items():
                for m in (a, b):
                    m._core.gathers_rows(kind != "all")
                comm.barrier()
                c = ps.dist.matmul(a, b, stationary=kinds[kind])
                slowest = np.array([c.times["seconds"]])
                comm.all_reduce(slowest, "max")
                moved = np.array([c.times["fetched_bytes"] + c.times["sent_bytes"]])
                comm.all_reduce(moved)
                if turn > 1:
                    result["s"].append(float(slowest[0]))
                result["bytes"] = [float(moved[0])]
                if turn == 0 and comm.rank == 0:
                    result["error"] = [error(c, left, right)]
                del c
        return found

    found = ps.dist.run(work, len(gpus))[0]
    return {
        k: {"s": statistics.median(r["s"]), "bytes": r["bytes"][0], "error": r["error"][0]}
        for k, r in found.items()
    }


def error(c: Any, left: Any, right: Any) -> float:
    """Of rows of the first tile."""
    n = min(left.shape[0], c.tile_shape[0])
    if c.sparse:
        got = np.asarray(c.get_tile(0, 0).to_scipy()[:n].sum(axis=1)).ravel()
        wanted = np.asarray((left[:n] @ right)[:, : c.tile_shape[1]].sum(axis=1)).ravel()
    else:
        got, wanted = c.get_tile(0, 0, (0, n)), left[:n] @ right
    return float(abs(got - wanted).max() / (1e-4 * abs(wanted).max()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", help=f"square ones, or files ({NAMES})")
    parser.add_argument("--gpus", help="of each rank (0,1; 0,0 where there is one)")
    parser.add_argument("--columns", type=int, default=64, help="of B (64)")
    parser.add_argument("--entries", type=float, default=3e7, help="of A, with a dense B (3e7)")
    parser.add_argument("--squared", type=float, default=4e6, help="entries of A of A A (4e6)")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="toy sizes")
    args = parser.parse_args()
    present = _core.device_count()
    gpus: list[Any] = [0, min(1, max(present - 1, 0))]
    if args.gpus:
        gpus = [int(g) for g in args.gpus.split(",")]
    if max(gpus) >= present:
        if present or not args.quick:
            parser.error(f"--gpus {gpus}: {present} can be used here")
        gpus = ["cpu"] * len(gpus)
    names = args.matrices or ("rmat10" if args.quick else NAMES)
    rows, wrong = [], False
    for name, matrix in matrices.select(names, args.quick, lambda *why: print(*why)):
        for columns in (args.columns, 0):
            A = lifted(matrix, args.entries if columns else args.squared, args.quick)
            found = measured(A, columns, gpus, args.repeats)
            wrong |= any(r["error"] > 1 for r in found.values())
            for kind, r in found.items():
                what = f"A B, {columns} columns" if columns else "A A"
                of_all = found["all"]
                rows.append(
                    [name, f"{A.nnz / 1e6:.1f}", what, kind, f"{r['bytes'] / 1e6:.1f}"]
                    + [f"{1e3 * r['s']:.2f}", f"{of_all['s'] / r['s']:.2f}", f"{r['error']:.2g}"]
                )
    header = ["matrix", "M entries", "product", "rows", "MB", "ms", "all's time over it", "error"]
    show_table(f"Products of tiles on GPUs {gpus}", header, rows)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
