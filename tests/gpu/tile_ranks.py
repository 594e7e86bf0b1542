"""Run by penstock run: tile_ranks.py TRANSPORT GPUS. Products of tiles shared out over processes with a GPU each, by
every algorithm. The last line says what was used, or why it is impossible here."""

import sys

import numpy as np

import penstock as ps
from penstock import _core

KINDS = [{"stationary": a, "steal": s} for a in "abc" for s in (False, "locality", "random")]
KINDS.append({"algorithm": "summa"})


def operands():
    """Small integers: sums are exact in any order. The lower half of A is sparser than the upper one."""
    rng = np.random.default_rng(11)
    r, c = rng.integers(0, 1700, (2, 14_000))
    r[r > 850] = r[r > 850] // 3 * 2
    A = ps.csr_array((rng.integers(1, 5, r.size).astype(float), (r, c)), shape=(1700, 1700))
    return A, rng.integers(-4, 5, (1700, 21)).astype(float)


def main(transport: str, gpus: list[int]) -> str:
    comm = ps.dist.world()
    A, X = operands()
    try:
        at = ps.dist.tiled_array(A, comm, 300, 300, transport=transport, device=gpus)
        xt = ps.dist.tiled_array(X, comm, 300, 11, transport=transport, device=gpus)
    except (_core.PlacementError, ImportError) as e:  # on all ranks alike
        return f"impossible: {e}"
    wanted, square = A @ X, ps.spgemm(A, A)
    for kind in KINDS:
        what = f"{kind}, rank {comm.rank}"
        np.testing.assert_array_equal(ps.dist.matmul(at, xt, **kind).collect(), wanted, what)
        C = ps.dist.matmul(at, at, **kind).collect()
        for part in ("indptr", "indices", "data"):
            got, right = (np.asarray(getattr(m, part)) for m in (C, square))
            np.testing.assert_array_equal(got, right, f"{what}: {part}")
    if at.transport == "peer":  # single rows travel
        fewest = ps.dist.matmul(at, xt, stationary="cover")
        np.testing.assert_array_equal(fewest.collect(), wanted, f"cover, rank {comm.rank}")
    return str(at.transport)


if __name__ == "__main__":
    said = main(sys.argv[1], [int(g) for g in sys.argv[2].split(",")])
    if ps.dist.world().rank == 0:
        print(said, flush=True)
