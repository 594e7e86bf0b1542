"""One-sided exchanges give what messages give, wherever the ranks are and whenever they come."""

import random
import time

import numpy as np

import penstock as ps
from penstock import _core

rng = np.random.default_rng(3)
PIECE = 40  # rows of a rank


def couplings(ranks, pairs, width):
    """Each rank's rows want `width` entries of those that `pairs` (row's rank, column's rank) names; scattered ones."""
    n = PIECE * ranks
    rows, columns = [np.arange(n)], [np.arange(n)]
    for to, of in pairs:
        rows.append(to * PIECE + rng.integers(0, PIECE, width))
        columns.append(of * PIECE + rng.choice(PIECE, width, replace=False))
    row, column = np.concatenate(rows), np.concatenate(columns)
    return ps.csr_array((rng.random(len(row)), (row, column)), shape=(n, n))


def shapes(n):
    """One way, both ways, everyone with everyone; the last rank of three or more has no neighbour but in that."""
    most = max(n - 1, 2) if n > 1 else 1
    chain = [(r, r - 1) for r in range(1, most)]
    return {
        "down": couplings(n, chain, 7),
        "up": couplings(n, [(of, to) for to, of in chain], 33),
        "both": couplings(n, chain + [(of, to) for to, of in chain], 20),
        "all": couplings(n, [(a, b) for a in range(n) for b in range(n) if a != b], 11),
        "none": couplings(n, [], 0),
    }


def long_messages(comm, entries):
    """Messages of several pieces, one way and both ways."""
    n, row = entries * comm.size, np.arange(entries * comm.size)
    owners = np.repeat(np.arange(comm.size, dtype=np.int32), entries)
    for steps in ((-entries,), (-entries, entries)):
        reached = [row + step for step in (0, *steps)]
        kept = [(column >= 0) & (column < n) for column in reached]
        rows = np.concatenate([row[k] for k in kept])
        columns = np.concatenate([column[k] for column, k in zip(reached, kept, strict=True)])
        a = ps.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))
        d = ps.dist.csr_array(a, comm, partition=owners, halo="put")
        for turn in range(20):
            x = row + float(turn)
            np.testing.assert_array_equal(d @ d.share(x), d.share(a @ x, of="y"))


def same(comm, matrices):
    """Products, transposed ones too, have the bits of those by messages, while many exchanges are alive."""
    rows = np.repeat(np.arange(comm.size, dtype=np.int32), PIECE)
    made = {}
    for name, a in matrices.items():
        for halo in ("put", "isend"):
            made[name, halo] = ps.dist.csr_array(a, comm, partition=rows, halo=halo)
    for turn in range(4):
        x = np.random.default_rng(turn).random(PIECE * comm.size)
        for name in matrices:
            mine, theirs = made[name, "put"], made[name, "isend"]
            part = mine.share(x)
            np.testing.assert_array_equal(mine @ part, theirs @ part, err_msg=name)
            np.testing.assert_array_equal(mine.T @ part, theirs.T @ part, err_msg=name)
    return {name: made[name, "put"] for name in matrices}


def often(comm, made, times):
    """Exchanges of several matrices in turn; ranks are late, each on its own, so that some are ahead of others."""
    late = random.Random(comm.rank)
    for name, d in made.items():
        for k in range(times):
            if late.random() < 0.05:
                time.sleep(late.random() * 0.002)
            y = d @ np.full(d.local_shape[1], k + 1.0)
            if k % 50 == 0:
                wanted = d @ np.ones(d.local_shape[1])
                np.testing.assert_allclose(y, (k + 1) * wanted, rtol=1e-13, err_msg=f"{name} {k}")


def freed_in_any_order(comm, matrices):
    """Each rank drops its exchanges in an order of its own, and goes on with others."""
    made = dict(same(comm, matrices))
    order = list(made)
    random.Random(comm.rank).shuffle(order)
    for name in order[: len(order) // 2]:
        del made[name]
    comm.barrier()
    left = same(comm, {name: matrices[name] for name in ("down", "both")})
    kept = [name for name in matrices if all(comm.collect(name in made))]
    often(comm, {name: made[name] for name in kept}, 5)
    often(comm, left, 5)


world = ps.dist.world()
for node_ranks in (0, 1, 2):  # all of this host, none, pairs
    comm = _core.mpi_comm(0, 60.0, 0x7FFFFFFF, node_ranks)
    some = shapes(comm.size)
    often(comm, same(comm, some), 1000)
    freed_in_any_order(comm, some)
    long_messages(comm, 100_001)  # 800 kB
small = _core.mpi_comm(0, 60.0, 64, 1)  # messages over 64 bytes are derived types
same(small, shapes(small.size))
del small
_core.mpi_comm(0, 60.0)  # the usual limit again
if world.rank == 0:
    print(f"{world.size} ranks of {world.name} put")
