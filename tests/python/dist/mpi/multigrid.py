"""Multigrid over processes; `python multigrid.py` on any number of ranks."""

import numpy as np
import scipy.sparse

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
# Not symmetric, and a K cycle.
C = ps.csr_array(A.to_scipy() + 0.4 * scipy.sparse.eye_array(A.shape[0], k=1))
E = ps.dist.csr_array(C, world)
G = ps.dist.linalg.AMG(E, symmetry="nonsymmetric", max_coarse=50, rows_per_rank=200)
x, general = ps.dist.linalg.gmres(E, E.share(b), rtol=1e-8, M=G)
assert general == 0 and np.linalg.norm(b - C @ E.collect(x)) <= 1.001e-8 * np.linalg.norm(b)
one = ps.linalg.AMG(C, symmetry="nonsymmetric", max_coarse=50)
assert [a[:2] for a in G.levels] == [tuple(a) for a in one.levels], (G.levels, one.levels)
assert general.iterations == ps.linalg.gmres(C, b, rtol=1e-8, M=one)[1].iterations
K = ps.dist.linalg.AMG(D, cycle="K", max_coarse=50, rows_per_rank=200)
x, flexible = ps.dist.linalg.fgmres(D, D.share(b), rtol=1e-8, M=K)
assert flexible == 0 and np.linalg.norm(b - A @ D.collect(x)) <= 1.001e-8 * np.linalg.norm(b)
if world.rank == 0:
    one = ps.linalg.cg(A, b, rtol=1e-8, M=ps.linalg.AMG(A, max_coarse=50))[1].iterations
    print(f"{world.size} ranks took {info.iterations} iterations, one takes {one}")
