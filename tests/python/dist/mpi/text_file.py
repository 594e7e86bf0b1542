"""A text file that all ranks read; `python text_file.py FOLDER` on any number of ranks, who all see the folder."""

import sys
from pathlib import Path

import numpy as np

import penstock as ps
from penstock.dist import _file

world = ps.dist.world()
_file.ROUND, _file.LEAST = 2048, 256
good, bad = (Path(sys.argv[1], f"{name}.mtx") for name in ("good", "bad"))
A = ps.generate.rmat(8, 8, seed=3, dtype=np.float64)
if world.rank == 0:
    ps.save(good, A)
    lines = good.read_text().splitlines()
    lines[-9] += " 7"
    bad.write_text("\n".join(lines))
world.barrier()
x = np.random.default_rng(5).random(A.shape[1])
for partition in ("balanced", "bins", "grid"):
    products = []
    for source in (A, good):
        D = ps.dist.csr_array(source, world, partition, halo="isend")
        products.append((D.local_nnz, (D @ D.share(x)).tobytes()))
    assert products[0] == products[1], partition


def of_wide_file(comm):
    """Numbers, and what is found for them, of a graph with vertices beyond 2^32."""
    D = ps.dist.csr_array(wide, comm, halo="isend")
    levels, before = ps.dist.csgraph.bfs(D, 2**33 - 1, return_predecessors=True)
    count, labels = ps.dist.csgraph.connected_components(D)
    assert D.shape == (2**33, 2**33) and count > 2**33 - 2000
    return D.rows, levels, before, labels, D @ (D.cols % 97.0)


wide = Path(sys.argv[1], "wide.tsv")
if world.rank == 0:
    rng = np.random.default_rng(1)
    ends = rng.choice(np.append(rng.integers(0, 2**33, 500), 2**33 - 1), (1500, 2))
    ends[0] = 2**33 - 1, 2**31
    np.savetxt(wide, ends, "%d", "\t")
world.barrier()
whole, mine = ps.dist.run(of_wide_file, 1)[0], of_wide_file(world)
here = np.searchsorted(whole[0], mine[0])
for ours, theirs in zip(mine, whole, strict=True):
    assert np.array_equal(ours, theirs[here])

try:
    ps.dist.csr_array(bad, world)
except ValueError as error:
    told = world.collect(str(error))
    assert len(set(told)) == 1, told
    if world.rank == 0:
        print(f"{world.size} ranks were told: {told[0]}")
