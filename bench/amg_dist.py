"""Multigrid over ranks that are threads: how its work grows with the ranks, each with as many rows (weak scaling).

python bench/amg_dist.py                        # 32^3 rows a rank, 1 to 4 ranks
python bench/amg_dist.py --side 48 --ranks 1,2,4,8

Iterations, complexities and levels are counts, the same on every machine. Work is iterations times operator complexity:
entries of all levels that a rank reads in a solve. `one` are the iterations of one process with the same matrix: what
grows there too grows with the problem, and not with the ranks. Seconds of set-up and solve are medians of --turns, in
turns of all numbers of ranks; they say nothing where ranks share cores. Every x is checked against A with NumPy. The
exit code is 1 where ranks take more than 1.3 times as many iterations as one process.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import penstock as ps


def problem(kind: str, side: int, ranks: int) -> ps.csr_array:
    """A box of cubes with `side` points, one a rank; "jumps": a coefficient of 1 or 1000 for each of its corners."""
    shape = (side * ranks, side, side)
    A = ps.generate.laplacian(shape)
    if kind == "laplacian":
        return A
    corner = np.indices(shape) * 2 // side
    k = np.where(corner.sum(axis=0).ravel() % 2 == 0, 1.0, 1000.0)
    S = A.to_scipy().tocoo()
    off = S.row != S.col
    i, j = S.row[off], S.col[off]
    w = 2 / (1 / k[i] + 1 / k[j])
    diagonal = np.bincount(i, w, A.shape[0]) + (6 - np.bincount(i, minlength=A.shape[0])) * k
    every = np.arange(A.shape[0])
    entries = np.concatenate([-w, diagonal])
    places = np.concatenate([i, every]), np.concatenate([j, every])
    return ps.csr_array((entries, places), shape=A.shape)


def solve(comm: Any, A: ps.csr_array, b: np.ndarray, strength: float) -> dict[str, Any]:
    D = ps.dist.csr_array(A, comm)
    comm.barrier()
    begin = time.perf_counter()
    M = ps.dist.linalg.AMG(D, strength=strength)
    setup = time.perf_counter() - begin
    x, info = ps.dist.linalg.cg(D, D.share(b), rtol=1e-8, M=M)
    whole = D.collect(x)
    if info != 0 or np.linalg.norm(b - A @ whole) > 1.001e-8 * np.linalg.norm(b):
        raise SystemExit(f"wrong: {info.reason}")
    return {
        "iterations": info.iterations,
        "complexity": M.operator_complexity,
        "levels": " > ".join(f"{level.rows} ({level.ranks})" for level in M.levels),
        "setup": setup,
        "seconds": info.seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=32, help="points of a rank's cube, each way")
    parser.add_argument("--ranks", default="1,2,3,4")
    parser.add_argument("--strength", type=float, default=0.08, help="as of ps.linalg.AMG")
    parser.add_argument("--turns", type=int, default=7)
    args = parser.parse_args()
    everyone = [int(n) for n in args.ranks.split(",")]
    lost = False
    for kind in ("laplacian", "jumps"):
        cases = {n: problem(kind, args.side, n) for n in everyone}
        rng = np.random.default_rng(0)
        sides = {n: rng.standard_normal(A.shape[0]) for n, A in cases.items()}
        found: dict[int, list[dict[str, Any]]] = {n: [] for n in everyone}
        for _ in range(args.turns):
            for n, A in cases.items():
                found[n].append(ps.dist.run(solve, n, A, sides[n], args.strength)[0])
        print(
            f"{kind}, {args.side}^3 rows a rank: rows of levels, and in brackets the ranks that share them"
        )
        first = found[everyone[0]][0]
        for n, turns in found.items():
            r = turns[0]
            scaling = (
                first["iterations"] * first["complexity"] / (r["iterations"] * r["complexity"])
            )
            M = ps.linalg.AMG(cases[n], strength=args.strength)
            one = ps.linalg.cg(cases[n], sides[n], rtol=1e-8, M=M)[1].iterations
            lost |= r["iterations"] > 1.3 * one
            setup, seconds = (
                statistics.median(t[key] for t in turns) for key in ("setup", "seconds")
            )
            print(
                f"  {n} ranks: {r['iterations']} iterations (one: {one}), operator complexity {r['complexity']:.2f}, "
                f"weak scaling of work {scaling:.2f}, set-up {setup:.2f} s, solve {seconds:.2f} s; {r['levels']}"
            )
    return int(lost)


if __name__ == "__main__":
    raise SystemExit(main())
