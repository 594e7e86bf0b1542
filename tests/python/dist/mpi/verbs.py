"""Every verb of a communicator, checked by each rank; `python verbs.py LARGEST` on any number of ranks."""

import sys

import numpy as np

import penstock as ps
from penstock import _core


def check(comm):
    n, me = comm.size, comm.rank
    comm.barrier()
    x = np.array([me + 1.0, -me])
    comm.all_reduce(x)
    np.testing.assert_array_equal(x, [n * (n + 1) / 2, -n * (n - 1) / 2])
    for op, result in (("max", n - 1), ("min", 0), ("sum", n * (n - 1) // 2)):
        k = np.full(100, me, dtype=np.int64)
        comm.all_reduce(k, op)
        np.testing.assert_array_equal(k, result)
    for root in {0, n - 1}:
        a = np.arange(300) * (1 + root) if me == root else np.zeros(300, dtype=np.int64)
        comm.broadcast(a, root)
        np.testing.assert_array_equal(a, np.arange(300) * (1 + root))
        assert comm.share({"from": me} if me == root else None, root) == {"from": root}
        parts = comm.gather(np.full(7 * me, me), root)  # rank 0 gives nothing
        assert (parts is None) == (me != root)
        if me == root:
            assert [p.tolist() for p in parts] == [[r] * (7 * r) for r in range(n)]
        mine = comm.scatter([np.full(5 * r, r) for r in range(n)] if me == root else None, root)
        assert mine.tolist() == [me] * (5 * me)
    assert [p.tolist() for p in comm.gather(np.full(40 * me, me))] == [
        [r] * (40 * r) for r in range(n)
    ]
    np.testing.assert_array_equal(
        comm.all_gather(np.full(50, me)), np.repeat(np.arange(n)[:, None], 50, axis=1)
    )
    to_all = comm.all_to_all([np.full((me + 2 * r) % 3 * 20, 10 * me + r) for r in range(n)])
    assert [p.tolist() for p in to_all] == [
        [10 * r + me] * ((r + 2 * me) % 3 * 20) for r in range(n)
    ]
    assert comm.collect(me * "x") == [r * "x" for r in range(n)]
    part = comm.split(me % 2, -me)
    assert part.size == len(range(me % 2, n, 2))
    assert part.collect(me) == list(range(me % 2, n, 2))[::-1]


def products(comm):
    """Every way to exchange halos gives the same bits, on square and wide matrices with empty ranks."""
    rng = np.random.default_rng(5)
    for shape in ((301, 301), (40, 90), (2, 500), (64, 64)):
        dense = np.where(rng.random(shape) < 0.05, rng.random(shape), 0.0)
        if shape == (64, 64):  # neighbours want entries that lie side by side
            dense = np.tri(64, k=5) * np.tri(64, k=5).T
        rows, columns = np.nonzero(dense)
        A = ps.csr_array((dense[rows, columns], (rows, columns)), shape=shape)
        x = rng.random(shape[1])
        results = {}
        for halo in ("isend", "persistent", "neighborhood", "indexed", "put", "sync"):
            D = ps.dist.csr_array(A, comm, partition="balanced", halo=halo)
            parts = [D.share(scale * x) for scale in (2.0, -1.0, 1.0)]  # x moves
            results[halo] = np.stack([D.collect(D @ part) for part in parts])
            assert D.halo["strategy"] == halo
        np.testing.assert_allclose(results["isend"], np.outer((2.0, -1.0, 1.0), A @ x), rtol=1e-12)
        for halo, y in results.items():
            np.testing.assert_array_equal(y, results["isend"], err_msg=halo)


world = ps.dist.world()
assert ps.dist.world() is world and world.name.startswith("MPI ("), world.name
check(world)
# Messages over 64 bytes: as if they exceeded what MPI counts.
small = _core.mpi_comm(0, 60.0, 64)
check(small)
products(small)
del small
_core.mpi_comm(0, 60.0)  # the usual limit again
products(world)
if "mpi4py" in sys.argv:
    from mpi4py import MPI

    half = MPI.COMM_WORLD.Split(world.rank % 2, 0)
    theirs = ps.dist.world(half)
    assert (theirs.rank, theirs.size) == (half.rank, half.size)
    check(theirs)
if world.rank == 0:
    print(f"{world.size} ranks of {world.name} agree")
