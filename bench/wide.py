"""An R-MAT graph with numbers of 64 bits over ranks: seconds, and bytes of each rank as predicted and as measured.

    penstock run -n 4 bench/wide.py                   # 2^33 vertices, 40 million edges: 3 GB in all
    penstock run -n 4 bench/wide.py --edges 1e5       # seconds

Levels of a search are checked by products: a level's vertices are those that A^T times the level before meets and no
product before has met. Products are checked by sums: 1^T (A x) = (A^T 1)^T x. Ranks must be processes.
"""

from __future__ import annotations

import argparse
import functools
import time
from typing import Any

import numpy as np

import penstock as ps


def status(name: str) -> int:
    """Bytes of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def measured(comm: Any, work: Any) -> tuple[Any, float, int]:
    """(what work() gives, seconds of the slowest rank, bytes at the height of this one beside what there was)."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the height so far is forgotten
    before = status("VmRSS")
    comm.barrier()
    start = time.perf_counter()
    result = work()
    seconds = np.array([time.perf_counter() - start])
    height = status("VmHWM") - before
    comm.all_reduce(seconds, "max")
    return result, float(seconds[0]), height


def check(D: Any, source: int, levels: np.ndarray) -> None:
    x = (D.cols % 1013).astype(float)
    sums = np.array([(D @ x).sum(), (D.T @ np.ones(len(D.rows))) @ x])
    D.comm.all_reduce(sums)
    assert np.isclose(sums[0], sums[1], rtol=1e-12), sums
    front = (D.rows == source).astype(float)
    seen, level = front > 0, 0
    while True:
        assert np.array_equal(levels == level, front > 0), f"level {level}"
        met = (D.T @ front > 0) & ~seen
        some = np.array([met.sum()])
        D.comm.all_reduce(some)
        if some[0] == 0:
            break
        seen, front, level = seen | met, met.astype(float), level + 1
    assert np.array_equal(levels >= 0, seen)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=int, default=33)
    parser.add_argument("--edges", type=float, default=4e7, help="each is stored twice")
    args = parser.parse_args()
    comm = ps.dist.world()
    make = functools.partial(
        ps.generate.rmat, args.scale, edge_factor=args.edges / 2**args.scale, seed=1
    )
    ps.dist.csr_array(functools.partial(make, edge_factor=1e3 / 2**args.scale), comm)
    D, making, height = measured(comm, lambda: ps.dist.csr_array(make, comm))
    kept = status("VmRSS")
    degrees = D @ np.ones(len(D.cols))  # also makes ready what products need
    source = max(comm.collect((degrees.max(initial=0), int(D.rows[degrees.argmax()]))))[1]
    product = min(measured(comm, lambda: D @ degrees)[1] for _ in range(7))
    bfs = functools.partial(
        ps.dist.csgraph.bfs, D, source, return_predecessors=True, return_info=True
    )
    (levels, _, info), search, searching = measured(comm, bfs)
    check(D, source, levels)
    plan = D._core.plan
    m = ps.dist.listed_memory(
        D.local_nnz, len(D.rows), int(plan["receive_offsets"][-1]), sent=int(plan["send_offsets"][-1]),
        given=int(2 * args.edges / comm.size),
    )  # fmt: skip
    told = comm.collect((len(D.rows), D.local_nnz, m.matrix, m.making, height, m.search, searching))
    if comm.rank == 0:
        print(f"{D!r}; {kept / 1e6:.0f} MB of rank 0 stay")
        print(f"made in {making:.1f} s, A x {product:.3f} s, search {search:.2f} s: {info}")
        for rank, (rows, nnz, *sizes) in enumerate(told):
            held, *pairs = (f"{size / 1e6:.0f}" for size in sizes)
            print(f"rank {rank}: {rows} rows, {nnz} entries, {held} MB; height of making it predicted {pairs[0]} MB, "
                  f"measured {pairs[1]}; of the search {pairs[2]}, measured {pairs[3]}")  # fmt: skip


if __name__ == "__main__":
    main()
