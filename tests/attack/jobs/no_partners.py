"""Every distributed operation where ranks have no neighbours, no rows or no entries; run on any number of ranks:
`no_partners.py FOLDER [short]`. Each rank compares with SciPy or one process."""

import functools
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import penstock as ps
from penstock import _core

HALOS = ("auto", *(h.name for h in _core.halos()))
PRECONDITIONERS = (None, "jacobi", "block_jacobi", "ilu0", "ic0", "chebyshev", "schwarz")


def matrices(ranks):
    """Name, and a whole symmetric matrix."""
    block = 4 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1)
    yield "blocks", np.kron(np.eye(ranks), block)  # a component a rank
    yield (
        "one rank alone",
        sp.block_diag([ps.generate.laplacian((4 * ranks,)).to_scipy(), 2 * np.eye(5)]).toarray(),
    )
    yield "few rows", ps.generate.laplacian((3,)).to_scipy().toarray()
    yield "one row", np.array([[2.0]])
    yield "no rows", np.zeros((0, 0))
    yield "no entries", np.zeros((7, 7))
    yield "diagonal", np.diag(np.arange(1.0, 12))


def products(comm, S, halo, partition="balanced"):
    A = ps.csr_array(S)
    D = ps.dist.csr_array(A, comm, partition=partition, halo=halo)
    rng = np.random.default_rng(3)
    x, X = rng.random(S.shape[1]), rng.random((S.shape[1], 3))
    y, Y = rng.random(S.shape[0]), rng.random((S.shape[0], 2))
    for _ in range(2):
        same(D.collect(D @ D.share(x)), S @ x)
        same(D.collect(D @ D.share(X)), S @ X)
        same(D.collect(D.T @ D.share(y, of="y"), of="x"), S.T @ y)
        same(D.collect(D.T @ D.share(Y, of="y"), of="x"), S.T @ Y)
    same(D.collect(D.dot(D.share(x), semiring="min_plus")), A.dot(x, semiring="min_plus"))
    same(D.collect(D.dot(D.share(x > 0.5), semiring="or_and")), A.dot(x > 0.5, semiring="or_and"))
    whole = D.share(x if comm.rank == comm.size - 1 else None, comm.size - 1)
    got = D.collect(D @ whole, root=0)
    assert (got is None) == (comm.rank != 0)
    D.metrics()
    return D


def graphs(comm, D, S):
    A, graph = ps.csr_array(S), ps.dist.csgraph
    if S.shape[0] == 0:
        assert graph.connected_components(D)[0] == 0
        return
    for direction in ("auto", "bottom_up"):
        for source in (0, S.shape[0] - 1):
            levels, before = graph.bfs(D, source, return_predecessors=True, direction=direction)
            a, b = ps.csgraph.bfs(A, source, return_predecessors=True)
            same(D.collect(levels), a)
            same(D.collect(before), b)
    count, labels = graph.connected_components(D)
    a, b = ps.csgraph.connected_components(A)
    assert count == a
    same(D.collect(labels), b)
    P = ps.dist.csr_array(abs(A), comm, halo=D.halo["strategy"])
    for weighted in (True, False):
        ranks = graph.pagerank(P, tol=1e-9, weighted=weighted)
        graph.verify_pagerank(P, ranks, tol=1e-8, weighted=weighted)
        same(P.collect(ranks), ps.csgraph.pagerank(abs(A), tol=1e-9, weighted=weighted), 1e-7)


def solvers(comm, D, S):
    b = np.linspace(1, 2, S.shape[0])
    for method in ("cg", "pipecg", "bicgstab", "gmres"):
        for M in PRECONDITIONERS[:: 6 if short else 1]:
            x, info = getattr(ps.dist.linalg, method)(D, D.share(b, of="y"), rtol=1e-9, M=M)
            assert info == 0, (method, M, info)
            same(S @ D.collect(x), b, 1e-6)


def tiles(comm, S):
    T = ps.dist.tiled_array(ps.csr_array(S), comm)
    for how in (*({"stationary": name} for name in "abc"), {"algorithm": "summa"}):
        C = ps.dist.matmul(T, T, **how)
        same(C.collect().toarray(), (S @ S).toarray())
        if S.shape[1]:
            X = np.arange(2.0 * S.shape[1]).reshape(-1, 2)
            same(ps.dist.matmul(T, ps.dist.tiled_array(X, like=T), **how).collect(), S @ X)
    same(ps.dist.matmul(T, T, stationary="c", steal=True).collect().toarray(), (S @ S).toarray())


def loads(comm, S, folder):
    A = ps.csr_array(S)
    text, store = folder / "a.mtx", folder / "a.penstock"
    if comm.rank == 0:
        ps.save(text, A)
        A.save(store)
    comm.barrier()
    x = np.arange(1.0, S.shape[1] + 1)
    for source in (A, text, store, A if comm.rank == comm.size - 1 else None):
        for partition in ("contiguous", "balanced", "grid", "bins")[: 2 if short else 4]:
            D = ps.dist.csr_array(source, comm, partition=partition)
            same(D.collect(D @ D.share(x)), S @ x)
    comm.barrier()


def same(a, b, rtol=1e-12):
    np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=rtol, atol=1e-12)


comm = ps.dist.world()
done = 0
short = "short" in sys.argv  # fewer of what takes long: halos, preconditioners
for name, dense in matrices(comm.size):
    S = sp.csr_array(dense)
    try:
        for halo in HALOS[:3] if short and name != "blocks" else HALOS:
            graphs(comm, products(comm, S, halo), S)
        last = np.full(S.shape[0], comm.size - 1)
        for partition in ("contiguous", "grid", "bins", "label_propagation", last):
            D = products(comm, S, "auto", partition)
        if name not in ("no entries", "no rows"):
            solvers(comm, ps.dist.csr_array(ps.csr_array(S), comm), S)
        tiles(comm, S)
        folder = Path(sys.argv[1]) / name.replace(" ", "-")
        folder.mkdir(exist_ok=True)
        loads(comm, S, folder)
    except Exception as error:
        error.add_note(f"matrix: {name}")
        raise
    done += 1
for shape in ((3,), (1,), (2, 2)):
    D = ps.dist.csr_array(
        functools.partial(ps.generate.laplacian, shape), comm, partition="contiguous"
    )
    S = ps.generate.laplacian(shape).to_scipy()
    same(D.collect(D @ D.share(np.ones(S.shape[0]))), S @ np.ones(S.shape[0]))
wide = sp.random_array((2, 40), density=0.3, rng=5, format="csr")
products(comm, wide, "auto")
products(comm, wide.T.tocsr(), "auto")
products(comm, sp.csr_array((0, 6)), "auto")
products(comm, sp.csr_array((6, 0)), "auto")
if comm.rank == 0:
    print(f"{done} matrices on {comm.size} ranks of {comm.name}")
