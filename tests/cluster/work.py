"""What the ranks of a cluster do; rank 0 prints a line of JSON for each part, which test_cluster.py judges.

Each part says what it found and, where bytes are predicted, how many each node sent while it ran (`sent`)."""

import os
import socket

import numpy as np
from measuring import comm, measured, tell
from scipy.sparse import csgraph
from work_matrix import MESSAGE, OF_TILES, PRODUCTS, RANKS_OF_A_NODE, WIDTH, N, entries

import penstock as ps


def where():
    shared = [os.stat(folder).st_dev for folder in ("/dev/shm", "/tmp")]
    names = [os.readlink(f"/proc/self/ns/{kind}") for kind in ("ipc", "net", "pid", "uts")]
    tell(
        "where",
        host=socket.gethostname(),
        memory=shared,
        namespaces=names,
        threads=ps.num_threads(),
    )


def link():
    """Every rank sends to the rank of the same place on the next node."""
    to = (comm.rank + RANKS_OF_A_NODE) % comm.size
    nothing = np.zeros(0, np.uint8)
    message = np.random.default_rng(comm.rank).integers(0, 256, MESSAGE, dtype=np.uint8)
    parts = [message if r == to else nothing for r in range(comm.size)]
    got = []
    found = measured(lambda: got.extend(comm.all_to_all(parts)))
    source = (comm.rank - RANKS_OF_A_NODE) % comm.size
    wanted = np.random.default_rng(source).integers(0, 256, MESSAGE, dtype=np.uint8)
    tell("link", right=bool(np.array_equal(got[source], wanted)), **found)


def halo(a, dense):
    """Products whose ranks want entries of x from one another."""
    D = ps.dist.csr_array(a, comm, partition="contiguous")
    mine, x = D.share(dense), dense
    y = D @ mine  # plans are there now
    found = measured(lambda: [D @ mine for _ in range(PRODUCTS)])
    right = np.allclose(D.collect(y), a.to_scipy() @ x)
    tell("halo", right=bool(right), rows=np.asarray(D.rows).tolist(), **found)


def tiles(a):
    x = np.random.default_rng(4).standard_normal((a.shape[0], 8))
    t, u = ps.dist.tiled_array(a, comm, 400, 400), ps.dist.tiled_array(x, comm, 400)
    S, right = a.to_scipy(), []
    for stationary in ("a", "c"):
        right.append(np.allclose(ps.dist.matmul(t, u, stationary=stationary).collect(), S @ x))
        c = ps.dist.matmul(t, t, stationary=stationary)
        right.append(c.transport == "mpi_rma")
        right.append(np.allclose(c.collect() @ x, S @ (S @ x)))
    tell("tiles", right=bool(all(right)))


def shared(a, dense, nodes):
    """Rows of B that both ranks of a node need cross once, where the product knows of nodes; sums, too."""
    t = ps.dist.tiled_array(a, comm, grid=(comm.size, 1))
    u = ps.dist.tiled_array(dense, comm, like=t)
    for stationary in ("c", "b"):
        made = []
        found = measured(
            lambda: made.append(ps.dist.matmul(t, u, stationary, nodes=nodes))  # noqa: B023
        )
        right = np.allclose(made[0].collect(), a.to_scipy() @ dense)
        loads = made[0].plan().loads
        far = [load["far_fetched"] + load["far_sent"] for load in loads]
        tell(f"{stationary} nodes={nodes}", right=bool(right), planned=sum(far), **found)


def solve():
    a = ps.generate.laplacian((40, 40))
    D, b = ps.dist.csr_array(a, comm), np.random.default_rng(5).standard_normal(1600)
    x, info = ps.dist.linalg.cg(D, D.share(b), rtol=1e-9)
    residual = np.linalg.norm(a.to_scipy() @ D.collect(x) - b) / np.linalg.norm(b)
    tell("solve", right=bool(info == 0 and residual < 2e-9))


def search():
    a = ps.generate.rmat(10, 8, seed=7)
    D = ps.dist.csr_array(a, comm)
    levels = D.collect(ps.dist.csgraph.bfs(D, 0))
    hops = csgraph.dijkstra(a.to_scipy(), indices=0, unweighted=True)
    tell("search", right=bool(np.array_equal(levels, np.where(np.isinf(hops), -1, hops))))


if __name__ == "__main__":
    random = ps.csr_array((np.ones(8 * N), entries()), shape=(N, N))
    where()
    link()
    halo(random, np.random.default_rng(6).standard_normal(N))
    wide = np.random.default_rng(8).standard_normal((N, WIDTH))
    full = entries(OF_TILES)
    full = ps.csr_array((np.ones(full[0].size), full), shape=(N, N))
    shared(full, wide, None)
    shared(full, wide, "auto")
    tiles(ps.generate.rmat(11, 4, seed=3, dtype=np.float64))
    solve()
    search()
