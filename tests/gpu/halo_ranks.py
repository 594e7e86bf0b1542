"""Run by penstock run: halo_ranks.py STRATEGY GPUS. Products and CG of a matrix shared out over processes with a GPU
each (-1: the CPU in its place), against one process. The last line says what was used, or why it is impossible here."""

import sys

import numpy as np

import penstock as ps
from penstock import _core


def main(strategy: str, gpus: list[int]) -> str:
    comm = ps.dist.world()
    A = ps.generate.laplacian((40, 24, 20), dtype=np.float64)
    where = ps.device(gpus[comm.rank]) if gpus[comm.rank] >= 0 else ps.host
    x = np.random.default_rng(5).integers(-8, 9, A.shape[0]).astype(np.float64)
    try:
        D = ps.dist.csr_array(A, comm, device=where, halo=strategy)
        mine = D.share(x)
        for k in range(3):  # other vectors between
            D @ (mine * (k + 2))
        y = D @ mine
    except (_core.PlacementError, ImportError) as e:  # on all ranks alike
        return f"impossible: {e}"
    np.testing.assert_array_equal(D.collect(y), A @ x, err_msg=f"rank {comm.rank}, {strategy}")
    z, info = ps.dist.linalg.cg(D, mine, rtol=1e-10, maxiter=500)
    assert info == 0, info
    residual = np.linalg.norm(A @ D.collect(z) - x) / np.linalg.norm(x)
    assert residual < 1e-8, residual
    return str(D.halo["strategy"])


if __name__ == "__main__":
    said = main(sys.argv[1], [int(g) for g in sys.argv[2].split(",")])
    if ps.dist.world().rank == 0:
        print(said, flush=True)
