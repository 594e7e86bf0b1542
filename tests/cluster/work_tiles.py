"""Products of tiles on the ranks of a cluster, for test_cluster_tiles.py: what each rank was to move by the plan, what
it counted, and what its node sent."""

import functools

import numpy as np
from measuring import comm, measured, tell
from work_matrix import LEFT, OF_TILES, WIDTH, N, entries

import penstock as ps

COUNTERS = ("fetched", "sent", "far_fetched", "far_sent")


def matrix(per_row):
    where = entries(per_row)
    values = np.arange(where[0].size) % 7 - 3.0
    return ps.csr_array((values, where), shape=(N, N))


def product(part, A, B, wanted, single=True, **how):
    """One product of tiles that no rank has fetched before; of B all rows travel where they are not `single`."""
    t = ps.dist.tiled_array(A, comm, grid=(comm.size, 1))
    cut = {"tile_cols": N} if isinstance(B, ps.csr_array) else {}
    u = ps.dist.tiled_array(B, comm, like=t, **cut)
    for tiles in (t, u):
        tiles._core.gathers_rows(single)
    made = []
    found = measured(lambda: made.append(ps.dist.matmul(t, u, prefetch=0, **how)))
    (c,) = made
    plan = c.plan()
    tell(part, right=bool(abs(c.collect() - wanted).max() == 0), transport=c.transport,
         planned={name: int(plan.loads[comm.rank][name]) for name in COUNTERS},
         moved={name: int(c.times[f"{name}_bytes"]) for name in COUNTERS},
         products=int((plan.products["owner"] == comm.rank).sum()), **found)  # fmt: skip


if __name__ == "__main__":
    A, B = matrix(LEFT), matrix(OF_TILES)
    X = np.random.default_rng(8).integers(-4, 5, (N, WIDTH)).astype(float)
    for name, right, kinds in (("dense", X, ("c", "b", "cover")), ("sparse", B, ("c",))):
        given = right if right is X else right.to_scipy()
        play = functools.partial(product, A=A, B=right, wanted=A.to_scipy() @ given)
        play(f"{name} whole", single=False, stationary="c")
        for stationary in kinds:
            for nodes in (None, "auto"):
                play(f"{name} {stationary} {nodes}", stationary=stationary, nodes=nodes)
