"""What travels in a product of tiles: bytes against the least that can, and seconds.

python bench/tile_rows.py                              # bench/results/tile_rows.json
python bench/tile_rows.py --matrices bcsstk32,cnr-2000 --ranks 4,16 --copies 5
python bench/tile_rows.py --quick                      # toy matrices

Ranks are threads, each with a share of the rows; A's values are float32, B has --columns columns. Graphs are lifted
(--copies, `ps.generate.lift`), so that none is laid out as its file is. `between` counts what would travel if all rows
between the first and the last went, `bound` the rows of a minimum vertex cover of every tile away from the diagonal, by
SciPy's matching. `c` fetches single rows of B, `cover` the fewest rows of B and of sums; SUMMA broadcasts tiles.
`nodes` has bytes that cross between nodes of --node-ranks ranks: where ranks know of no nodes, and where those of a
node share rows and sums. `spgemm` has the bytes of A A where whole tiles of B travel, and where single rows do (not
where A A takes more than --products products).
"""

from __future__ import annotations

import argparse
import math
import os
from typing import Any

import numpy as np
from lib import harness, matrices
from lib.report import Report, add_options, show_table
from penstock.dist._tile_counts import count_spgemm, count_spmm
from penstock.dist._tile_price import price_product
from scipy.sparse.csgraph import maximum_bipartite_matching

import penstock as ps

GRAPHS = ("soc-Slashdot0902", "web-NotreDame", "cnr-2000", "fb-Cornell5")
OTHERS = ("bcsstk32", "t2dah_e", "trilinos-cage10")
KINDS = {"c": "ours", "b": "ours", "cover": "ours", "summa": "rival"}


def fewest_bytes(a: Any, ranks: int, row: int) -> int:
    """Of all tiles away from the diagonal: no fewer rows can travel."""
    size, rows = -(-a.shape[0] // ranks), 0
    for i in range(0, a.shape[0], size):
        band = a[i : i + size]
        for k in range(0, a.shape[0], size):
            tile = band[:, k : k + size].tocsr()
            if i == k or not tile.nnz:
                continue
            tile = tile[np.flatnonzero(np.diff(tile.indptr))]
            tile = tile[:, np.unique(tile.indices)]
            if tile.shape[0] < tile.shape[1]:  # SciPy's matching may take minutes otherwise
                tile = tile.T
            rows += np.count_nonzero(maximum_bipartite_matching(tile.tocsr(), "column") >= 0)
    return int(rows) * row


def measured(A: ps.csr_array, columns: int, ranks: int, repeats: int) -> dict[str, Any]:
    """Results of each kind: seconds of the slowest rank, bytes of all, and the error of one product."""
    X = np.random.default_rng(1).random((A.shape[1], columns), np.float32)
    right = A.to_scipy() @ X
    allowed = 1e-4 * (abs(A.to_scipy()) @ abs(X)).max()

    def work(comm: Any) -> dict[str, Any]:
        a = ps.dist.tiled_array(A, comm, grid=(ranks, 1))
        x = ps.dist.tiled_array(X, comm, like=a)
        found: dict[str, Any] = {kind: {"seconds": []} for kind in KINDS}
        for turn in range(repeats + 1):  # the first makes what is kept, and is checked
            for kind, result in found.items():
                how = {"algorithm": kind} if kind == "summa" else {"stationary": kind}
                c = ps.dist.matmul(a, x, **how)
                numbers = np.array([c.times["fetched_bytes"] + c.times["sent_bytes"]])
                comm.all_reduce(numbers)
                slowest = np.array([c.times["seconds"]])
                comm.all_reduce(slowest, "max")
                if turn == 0:
                    result["error"] = float(abs(c.collect() - right).max() / allowed)
                    result["first_call"] = float(slowest[0])
                else:
                    result["seconds"].append(float(slowest[0]))
                    result["bytes"] = int(numbers[0])
        return found

    return ps.dist.run(work, ranks, threads_per_rank=1)[0]  # type: ignore[no-any-return]


def crossing(A: ps.csr_array, columns: int, ranks: int, of_node: int) -> dict[str, Any]:
    """Bytes between nodes: [without sharing, with it] of each kind. Ranks have bands of rows: A does not travel."""
    X = np.random.default_rng(1).random((A.shape[1], columns), np.float32)

    def work(comm: Any) -> dict[str, Any]:
        a = ps.dist.tiled_array(A, comm, grid=(ranks, 1))
        x = ps.dist.tiled_array(X, comm, like=a)
        found = {}
        for kind in ("c", "cover"):
            p = ps.dist.matmul(a, x, kind).plan().products
            node = p["owner"] // of_node
            apart = p["fetched"][p["k"] // of_node != node].sum()
            apart += p["sent"][p["i"] // of_node != node].sum()
            c = ps.dist.matmul(a, x, kind, nodes=of_node)
            moved = np.array([c.times["far_fetched_bytes"] + c.times["far_sent_bytes"]])
            comm.all_reduce(moved)
            found[kind] = [int(apart), int(moved[0])]
        return found

    return ps.dist.run(work, ranks, threads_per_rank=1)[0]  # type: ignore[no-any-return]


def squared(A: ps.csr_array, ranks: int) -> dict[str, int]:
    """Bytes that A A moves, C stationary."""
    network = ps.dist.networks["shared-memory"]
    counts = count_spgemm(A, A, ranks, grid=(ranks, 1), gathers=False)

    def work(comm: Any) -> list[int]:
        a = ps.dist.tiled_array(A, comm, grid=(ranks, 1))
        c = ps.dist.matmul(a, a, stationary="c")
        moved = np.array([c.times["fetched_bytes"], c.times["counted_bytes"]])
        comm.all_reduce(moved)
        return moved.tolist()  # type: ignore[no-any-return]

    rows, counted = ps.dist.run(work, ranks, threads_per_rank=1)[0]
    return {
        "whole": price_product(counts, network, "c").bytes_all,
        "rows": rows,
        "counting": counted,
    }


def case(name: str, A: ps.csr_array, args: argparse.Namespace, ranks: int) -> dict[str, Any]:
    found = measured(A, args.columns, ranks, args.repeats)
    results = {}
    for kind, r in found.items():
        status = "ok" if r["error"] <= 1 else "wrong"
        about = {"role": KINDS[kind], "status": status, "reason": f"error {r['error']:.3g}"}
        if status == "ok":
            del about["reason"]
        results[kind] = about | r | harness.summary(r["seconds"])
    counts = count_spmm(A, args.columns, ranks, grid=(ranks, 1), gathers=False)
    between = price_product(counts, ps.dist.networks["shared-memory"], "c").bytes_all
    return {
        "case": f"{name}, {ranks} ranks",
        "rows": A.shape[0],
        "nnz": A.nnz,
        "columns": args.columns,
        "ranks": ranks,
        "work": 2.0 * A.nnz * args.columns,
        "traffic": 0.0,
        "load": os.getloadavg()[0],
        "turns": args.repeats,
        "between_bytes": between,
        "bound_bytes": fewest_bytes(A.to_scipy().tocsr(), ranks, 4 * args.columns),
        "nodes": crossing(A, args.columns, ranks, args.node_ranks),
        "spgemm": squared(A, ranks) if ps.spgemm_estimate(A, A).products <= args.products else None,
        "results": results,
    } | harness.compare(results)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--matrices", help=f"square ones ({','.join((*GRAPHS, *OTHERS))})")
    parser.add_argument("--ranks", default="4", help="numbers of ranks (4)")
    parser.add_argument("--columns", type=int, default=64, help="of B (64)")
    parser.add_argument("--copies", type=int, default=3, help="of each graph (3); 1: as it is")
    parser.add_argument("--node-ranks", type=int, default=2, help="ranks of a node (2)")
    parser.add_argument("--products", type=float, default=4e8, help="of A A, at most (4e8)")
    add_options(parser, turn_seconds=0.0)
    args = parser.parse_args()
    report = Report("tile_rows", args, {"repeats": args.repeats, "copies": args.copies}, 1)
    names = args.matrices or ("all" if args.quick else ",".join((*GRAPHS, *OTHERS)))
    rows, shared = [], []
    for name, matrix in matrices.select(names, args.quick, report.skip):
        if matrix.shape[0] != matrix.shape[1]:
            report.skip(name, f"{matrix.shape[0]} x {matrix.shape[1]}: square ones only")
            continue
        A = ps.csr_array(matrix.astype(np.float32))
        lifted = args.copies > 1 and name in GRAPHS
        if lifted:
            A = ps.generate.lift(A, args.copies, seed=1)
        for ranks in map(int, args.ranks.split(",")):
            entry = case(f"{name}{f' x {args.copies}' if lifted else ''}", A, args, ranks)
            report.add(entry)
            megabytes = [entry["between_bytes"]]
            megabytes += [entry["results"][kind]["bytes"] for kind in ("c", "cover")]
            over = entry["results"]["cover"]["bytes"] / max(entry["bound_bytes"], 1)
            seconds = {kind: r["median"] for kind, r in entry["results"].items()}
            rows.append(
                [entry["case"], *(f"{b / 1e6:.1f}" for b in megabytes), f"{over:.3f}"]
                + [f"{seconds['summa'] / seconds[kind]:.2f}" for kind in ("c", "cover")]
            )
            of_nodes = [b for pair in entry["nodes"].values() for b in pair]
            of_square = list((entry["spgemm"] or dict.fromkeys("abc", math.nan)).values())
            shared.append([entry["case"], *(f"{b / 1e6:.2f}" for b in of_nodes + of_square)])
    report.write()
    header = ["matrix", "between MB", "c MB", "cover MB", "cover/bound", "summa/c", "summa/cover"]
    show_table("Bytes that travel, and SUMMA's time over ours", header, rows)
    header = [
        "matrix",
        "c",
        "c shared",
        "cover",
        "cover shared",
        "A A whole",
        "A A rows",
        "counting",
    ]
    show_table(f"MB between nodes of {args.node_ranks} ranks; MB that A A moves", header, shared)
    return 1 if report.failed() or not report.data["cases"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
