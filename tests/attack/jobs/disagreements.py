"""Calls in which one rank, the odd one, gives another argument: what they do, and what every rank must be told.

`disagreements.py` runs all after which ranks can go on, in one job; `disagreements.py NAME` one of the others."""

import sys
import time

import numpy as np

import penstock as ps

A = ps.generate.rmat(7, 8, seed=1, dtype=np.float64)
F = ps.generate.rmat(7, 8, seed=1, dtype=np.float32)
L = ps.generate.laplacian((6, 6))
LINALG, GRAPH = ps.dist.linalg, ps.dist.csgraph


def D(comm, matrix=A, **how):
    return ps.dist.csr_array(matrix, comm, **how)


def ones(d, *columns, dtype=float):
    return np.ones((d.local_shape[1], *columns), dtype)


def owners(odd):
    n = L.shape[0]
    return np.arange(n) % 2 if odd else np.arange(n) // (n // 2)


def product(comm, odd, matrix=A, columns=(), others=(), dtype=float, other=float, **how):
    d = D(comm, matrix)
    return d.dot(ones(d, *(others if odd else columns), dtype=other if odd else dtype), **how)


def turned(comm, odd):
    d = D(comm, L)
    return (d.T if odd else d) @ ones(d)


def matmul(comm, **how):
    t = ps.dist.tiled_array(A, comm)
    return ps.dist.matmul(t, t, **({"stationary": "c"} | how))


# name: (call, words of the error). After these the ranks can go on.
CLEAN = {
    "count": (
        lambda c, odd: c.all_reduce(np.ones(2 if odd else 1)),
        "all_reduce: ranks disagree on values: .* 1, .* 2",
    ),
    "long counts": (
        lambda c, odd: c.all_reduce(np.ones(2000 if odd else 3000)),
        "disagree on values: .* 3000, .* 2000",
    ),
    "short and long": (
        lambda c, odd: c.all_reduce(np.ones(1 if odd else 3000)),
        "disagree on values: .* 3000, .* 1:",
    ),
    "type": (
        lambda c, odd: c.all_reduce(np.ones(2, np.int64 if odd else float)),
        "disagree on dtype: .* float64, .* int64",
    ),
    "operation": (
        lambda c, odd: c.all_reduce(np.ones(2), "max" if odd else "sum"),
        "disagree on op: .* sum, .* max",
    ),
    "root": (
        lambda c, odd: c.broadcast(np.ones(2), int(odd)),
        "broadcast: ranks disagree on root: .* 0, .* 1",
    ),
    "root of many": (
        lambda c, odd: c.broadcast(np.ones(9999), int(odd)),
        "broadcast: ranks disagree on root",
    ),
    "shape": (
        lambda c, odd: c.broadcast(np.ones((2, 3) if odd else 6)),
        "disagree on shape: .* 6, .* 2 x 3",
    ),
    "gathered": (
        lambda c, odd: c.all_gather(np.ones(2 + odd)),
        "all_gather: ranks disagree on shape: .* 2, .* 3",
    ),
    "gathered type": (
        lambda c, odd: c.all_gather(np.ones(2, np.int64 if odd else float)),
        "disagree on dtype",
    ),
    "gather's root": (
        lambda c, odd: c.gather(np.ones(2), int(odd)),
        "gather_v: ranks disagree on root",
    ),
    "share's root": (lambda c, odd: c.share("x", int(odd)), "disagree on root"),
    "collect's root": (lambda c, odd: c.collect("x", int(odd)), "disagree on root"),
    "call": (
        lambda c, odd: c.barrier() if odd else c.all_reduce(np.ones(1)),
        "ranks disagree: rank 0 calls all_reduce.*, rank 1 calls barrier",
    ),
    "operations": (
        lambda c, odd: GRAPH.bfs(D(c)) if odd else GRAPH.connected_components(D(c)),
        "rank 0 calls connected_components.*, rank 1 calls bfs",
    ),
    "columns": (
        lambda c, odd: product(c, odd, columns=(2,), others=(3,)),
        "distributed product: ranks disagree on columns of x: .* 2, .* 3",
    ),
    "vector or columns": (
        lambda c, odd: product(c, odd, others=(4,)),
        "disagree on columns of x: .* 1, .* 4",
    ),
    "dtype": (
        lambda c, odd: product(c, odd, F, other=np.float32),
        "disagree on dtype: .* float64, .* float32",
    ),
    "semiring": (
        lambda c, odd: product(c, odd, semiring="min_plus" if odd else "plus_times"),
        "disagree on semiring: .* plus_times, .* min_plus",
    ),
    "new product where nothing travels": (
        lambda c, odd: product(
            c, odd, ps.csr_array(np.eye(8)), semiring="min_plus" if odd else "plus_times"
        ),
        "disagree on semiring",
    ),
    "transposition": (turned, r"disagree on matrix: .* A, .* A\.T"),
    "owners": (
        lambda c, odd: D(c, L, partition=owners(odd)),
        "csr_array: ranks disagree on partition: .*checksum",
    ),
    "partition": (
        lambda c, odd: D(c, partition="bins" if odd else "balanced"),
        "disagree on partition: .* balanced, .* bins",
    ),
    "halo": (
        lambda c, odd: D(c, halo="isend" if odd else "put"),
        "disagree on halo: .* put, .* isend",
    ),
    "sums": (
        lambda c, odd: D(c, partition="grid", sums="owners" if odd else "reduce"),
        "disagree on sums",
    ),
    "matrix": (lambda c, odd: D(c, L if odd else A), "different matrices"),
    "collected of": (
        lambda c, odd: (lambda d: d.collect(ones(d), of="y" if odd else "x"))(D(c, L)),
        "collect: ranks disagree on of",
    ),
    "source": (
        lambda c, odd: GRAPH.bfs(D(c), 5 if odd else 1),
        "bfs: ranks disagree on source: .* 1, .* 5",
    ),
    "predecessors": (
        lambda c, odd: GRAPH.bfs(D(c), return_predecessors=odd),
        "disagree on return_predecessors",
    ),
    "direction": (
        lambda c, odd: GRAPH.bfs(D(c), direction="top_down" if odd else "auto"),
        "disagree on direction",
    ),
    "alpha": (
        lambda c, odd: GRAPH.pagerank(D(c), alpha=0.5 if odd else 0.85),
        r"pagerank: ranks disagree on alpha: .* 0\.85, .* 0\.5",
    ),
    "tol": (
        lambda c, odd: GRAPH.pagerank(D(c), tol=1e-3 if odd else 1e-9),
        "pagerank: ranks disagree on tol",
    ),
    "max_iter": (
        lambda c, odd: GRAPH.pagerank(D(c), max_iter=99 + odd),
        "disagree on max_iter: .* 99, .* 100",
    ),
    "weighted": (lambda c, odd: GRAPH.pagerank(D(c), weighted=odd), "disagree on weighted"),
    "jumps": (
        lambda c, odd: GRAPH.pagerank(D(c), personalization={3 + odd: 1.0}),
        "disagree on personalization",
    ),
    "rtol": (
        lambda c, odd: LINALG.cg(D(c, L), np.ones(len(D(c, L).rows)), rtol=1e-3 if odd else 1e-8),
        "cg: ranks disagree on rtol",
    ),
    "maxiter": (
        lambda c, odd: LINALG.gmres(D(c, L), np.ones(len(D(c, L).rows)), maxiter=3 + odd),
        "disagree on maxiter: .* 3, .* 4",
    ),
    "restart": (
        lambda c, odd: LINALG.gmres(D(c, L), np.ones(len(D(c, L).rows)), restart=3 + odd),
        "disagree on restart",
    ),
    "M": (
        lambda c, odd: LINALG.pipecg(
            D(c, L), np.ones(len(D(c, L).rows)), M="jacobi" if odd else None
        ),
        "disagree on M: .* None, .* jacobi",
    ),
    "columns of b": (
        lambda c, odd: LINALG.cg(D(c, L), np.ones((len(D(c, L).rows), 1 + odd))),
        "disagree on b",
    ),
    "degree": (
        lambda c, odd: LINALG.Chebyshev(D(c, L), degree=2 + odd),
        "disagree on degree, from 2 to 3",
    ),
    "tiles": (
        lambda c, odd: ps.dist.tiled_array(A, c, tile_rows=30 + odd),
        "tiled_array: ranks disagree on tile_rows: .* 30, .* 31",
    ),
    "grid": (
        lambda c, odd: ps.dist.tiled_array(A, c, grid=(1, c.size) if odd else (c.size, 1)),
        "disagree on grid",
    ),
    "stationary": (
        lambda c, odd: matmul(c, stationary="a" if odd else "c"),
        "matmul: ranks disagree on stationary: .* c, .* a",
    ),
    "steal": (lambda c, odd: matmul(c, steal=bool(odd)), "disagree on steal: .* none, .* locality"),
    "prefetch": (lambda c, odd: matmul(c, prefetch=1 + odd), "disagree on prefetch"),
    "summa": (
        lambda c, odd: matmul(c, stationary="auto", algorithm="summa" if odd else "one_sided"),
        "matmul: ranks disagree on algorithm: .* one_sided, .* summa",
    ),
    "replicas": (lambda c, odd: matmul(c, replicas=1 + odd), "disagree on replicas"),
    "split": (
        lambda c, odd: c.split(0).barrier() if odd else c.split(0).all_reduce(np.ones(1)),
        "rank 0 calls all_reduce",
    ),
}


def known_columns(comm, odd):
    """Both products have been called before: nothing is set up, and the messages would fit the wrong one."""
    d = D(comm)
    for columns in (1, 3):
        d @ ones(d, columns)
    return d @ ones(d, 3 if odd else 1)


def known_way(comm, odd):
    d = D(comm, L)
    d @ ones(d), d.T @ ones(d)
    return (d.T if odd else d) @ ones(d)


def known_and_new(comm, odd):
    d = D(comm)
    d @ ones(d)
    return d @ ones(d, 2) if odd else d @ ones(d)


def call_in_a_product(comm, odd):
    d = D(comm)
    d @ ones(d)
    return comm.barrier() if odd else d @ ones(d)


def one_product_less(comm, odd):
    d = D(comm)
    for _ in range(3 - odd):
        d @ ones(d)
    comm.barrier()


def without_neighbours(comm, odd):
    """No message passes between the ranks before the barrier: the calls before it were others."""
    d = D(comm, ps.csr_array(np.eye(8)), halo="isend")
    levels = ps.dist.csr_array(ps.csr_array(np.eye(8)), comm, halo="persistent")
    for e in (d, levels):
        GRAPH.bfs(e), e @ ones(e)
    if odd:
        comm.share(1, 0)
    comm.barrier()


def nothing_travels(comm, odd):
    d = D(comm, ps.csr_array(np.eye(8)))
    for semiring in ("plus_times", "min_plus"):
        d.dot(ones(d), semiring=semiring)
    return d.collect(d.dot(ones(d), semiring="min_plus" if odd else "plus_times"))


def early_end(comm, odd):
    d = D(comm)
    d @ ones(d)
    if odd:
        return
    d @ ones(d)


def early_end_of_a_search(comm, odd):
    d = D(comm)
    GRAPH.bfs(d)
    if not odd:
        GRAPH.bfs(d)


# After these they cannot; a rank that ends is told as CommError.
FATAL = {
    "known columns": (known_columns, "columns of x", ValueError),
    "known way": (known_way, "ranks disagree on matrix", ValueError),
    "known and new": (known_and_new, "columns of x", ValueError),
    "call in a product": (
        call_in_a_product,
        "ranks disagree: rank 0 calls a distributed product.*, rank 1 calls barrier",
        ValueError,
    ),
    "one product less": (
        one_product_less,
        "ranks disagree: .*a distributed product.*barrier",
        ValueError,
    ),
    "without neighbours": (
        without_neighbours,
        "ranks disagree: rank 0 calls barrier, rank 1 calls share|broadcast",
        ValueError,
    ),
    "nothing travels": (nothing_travels, "disagree on semiring", ValueError),
    "early end": (early_end, "rank 1 has ended|rank 1, which has ended", ps.dist.CommError),
    "early end of a search": (
        early_end_of_a_search,
        "rank 1 has ended|rank 1, which has ended",
        ps.dist.CommError,
    ),
}


def tried(comm, call):
    """What this rank was told, and the seconds that it took."""
    began = time.monotonic()
    try:
        call(comm, comm.rank == 1)
    except Exception as error:
        return type(error), str(error), time.monotonic() - began
    return None, "", time.monotonic() - began


if __name__ == "__main__":
    import re

    comm = ps.dist.world()
    if len(sys.argv) > 1:
        call, words, kind = FATAL[sys.argv[1]]
        told, text, seconds = tried(comm, call)
        ended = kind is ps.dist.CommError and comm.rank == 1
        fine = ended or (told is kind and re.search(words, text) and seconds < 10)
        print(f"rank {comm.rank}: {'fine' if fine else ('WRONG', told, text, seconds)}", flush=True)
        if not ended:
            sys.stdout.flush()
            time.sleep(
                3
            )  # the launcher stops the other rank when this one ends: it has time to be told, too
            raise SystemExit(3)
        raise SystemExit(0)
    wrong = []
    for name, (call, words) in CLEAN.items():
        told, text, seconds = tried(comm, call)
        if told is not ValueError or not re.search(words, text):
            wrong.append((name, comm.rank, told, text))
        total = np.ones(1)
        comm.all_reduce(total)  # they can go on
        if total[0] != comm.size:
            wrong.append((name, "goes on wrongly", total))
    found = comm.collect(wrong)
    if comm.rank == 0:
        for line in (line for some in found for line in some):
            print(*line)
        print(f"{len(CLEAN)} disagreements on {comm.size} ranks")
