"""Multigrid over processes; `python multigrid.py` on any number of ranks."""

import numpy as np

import penstock as ps

world = ps.dist.world()
A = ps.csr_array(ps.generate.laplacian((24, 22, 20)).to_scipy())
b = np.random.default_rng(6).standard_normal(A.shape[0])
D = ps.dist.csr_array(A, world)
M = ps.dist.linalg.AMG(D, max_coarse=50, rows_per_rank=200)
x, info = ps.dist.linalg.cg(D, D.share(b), rtol=1e-8, M=M)
assert info == 0, info.reason
whole = D.collect(x)
assert np.linalg.norm(b - A @ whole) <= 1.001e-8 * np.linalg.norm(b)
assert len(set(world.collect(whole.tobytes()))) == 1
assert M.levels[0].ranks == world.size and M.levels[-1].ranks == 1, M.levels
N = ps.dist.csr_array(ps.csr_array(-A.to_scipy()), world)
told = ""
try:
    ps.dist.linalg.cg(N, D.share(b), M="amg")
except ValueError as error:
    told = str(error)
assert "row 0 is not a positive number" in told, told
if world.rank == 0:
    one = ps.linalg.cg(A, b, rtol=1e-8, M=ps.linalg.AMG(A, max_coarse=50))[1].iterations
    print(f"{world.size} ranks took {info.iterations} iterations, one takes {one}")
