"""Products over nodes: what several ranks of a node need crosses once, sums of theirs are added before they cross."""

import numpy as np
import pytest
from dist_support import run
from penstock.dist._tile_counts import count_spgemm, count_spmm
from penstock.dist._tile_price import price_product

import penstock as ps
from penstock import _core

WIDTH = 16
GRAPH = ps.generate.rmat(9, 5, seed=5, dtype=np.float64)
GRAPH = ps.csr_array(
    (np.arange(GRAPH.nnz) % 7 + 1.0, GRAPH.indices, GRAPH.indptr), shape=GRAPH.shape
)
BAND = ps.generate.banded(300, [-3, -1, 0, 2], dtype=np.float64, seed=3)
BAND = ps.csr_array((np.arange(BAND.nnz) % 5 - 2.0, BAND.indices, BAND.indptr), shape=BAND.shape)
# Ranks, grid, nodes: 2 x 2, two of another order, 4 x 2, one node, a node each, and nodes of unequal size
PLACES = [
    (4, (4, 1), 2),
    (4, (2, 2), 2),
    (4, (2, 2), [0, 1, 0, 1]),
    (4, (1, 4), 2),
    (6, (3, 2), [1, 1, 1, 1, 0, 0]),
    (8, (8, 1), 2),
    (8, (4, 2), 2),
    (8, (4, 2), 4),
    (3, (3, 1), 3),
    (4, (2, 2), 1),
]


def dense(A, dtype=np.float64):
    return np.random.default_rng(1).integers(-4, 5, (A.shape[1], WIDTH)).astype(dtype)


def summed(comm, c, *names):
    found = np.array([c.times[f"{name}_bytes"] for name in names])
    comm.all_reduce(found)
    return found.tolist()


NAMES = ("fetched", "far_fetched", "sent", "far_sent")


@pytest.mark.parametrize("ranks, grid, nodes", PLACES, ids=str)
@pytest.mark.parametrize("A", [GRAPH, BAND], ids=["graph", "band"])
def test_products_and_bytes_of_both_networks(A, ranks, grid, nodes):
    X = dense(A)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=grid)
        xt = ps.dist.tiled_array(X, comm, like=at)
        again = ps.dist.tiled_array(
            A, comm, grid=grid
        )  # whose tiles are not A's, which are here already
        out = []
        for stays in ("a", "b", "c", "cover"):
            for prefetch in (0, 2):
                for right in (xt, again):
                    if stays == "cover" and right is again:
                        continue
                    c = ps.dist.matmul(at, right, stays, prefetch=prefetch, nodes=nodes)
                    loads = c.plan().loads
                    planned = [sum(load[name] for load in loads) for name in NAMES]
                    whole = c.collect()
                    whole = whole if right is xt else whole.toarray()
                    moved = summed(comm, c, *NAMES)
                    size = len(c.plan().products["i"])
                    out.append((f"{stays} {prefetch}", right is xt, whole, moved, planned, size))
        return out

    wanted = {True: A.to_scipy() @ X, False: (A.to_scipy() @ A.to_scipy()).toarray()}
    for what, is_dense, c, moved, planned, size in run(work, ranks)[0]:
        np.testing.assert_array_equal(c, wanted[is_dense], err_msg=what)
        assert moved[0] <= planned[0] and moved[1] <= planned[1], what  # some tiles are still here
        if what == "c 0" and grid[1] == 1:
            assert moved[:2] == planned[:2], what
        if is_dense:  # each piece says where it belongs
            for sent, plan in ((moved[2], planned[2]), (moved[3], planned[3])):
                assert sent <= plan + 16 * size, what
                # With several tiles of A a rank, sums that follow one another leave as one.
                assert plan <= sent or grid in ((3, 2), (4, 2)), what
        if nodes == ranks:
            assert moved[1] == moved[3] == 0, what
        if nodes == 1:
            assert (moved[0], moved[2]) == (moved[1], moved[3]), what


def rows_needed(where, named=True, row=8 * WIDTH):
    """Row numbers of `row` bytes that travel: those, or all between, where these are at least 7/8 of them, or few more
    bytes than the rows with their numbers."""
    if where.size == 0:
        return where
    name = 4 if row < 32 else 0
    if named and 8 * where.size * (row + name) < 7 * (where[-1] - where[0] + 1) * row:
        return where
    return np.arange(where[0], where[-1] + 1)


def crossing(A, ranks, of_node, sums):
    """By hand, C stationary (rows of B) or B stationary (rows of sums), a band of rows a rank: rows that cross."""
    a = A.to_scipy().tocsr()
    a = a.T.tocsr() if sums else a  # rows of sums are columns of the transpose
    size, total = -(-A.shape[0] // ranks), 0
    for node in range(ranks // of_node):
        mine = range(node * of_node, (node + 1) * of_node)
        for k in set(range(ranks)) - set(mine):
            need = [
                np.unique(a[i * size : (i + 1) * size, k * size : (k + 1) * size].tocoo().col)
                for i in mine
            ]
            users = [rows for rows in need if rows.size]
            if len(users) == 1:
                total += rows_needed(users[0]).size
            elif users:
                total += rows_needed(np.unique(np.concatenate(users))).size
    return total


@pytest.mark.parametrize("ranks, of_node", [(4, 2), (8, 2), (8, 4)])
def test_a_row_crosses_once(ranks, of_node):
    """On this graph no tile's rows are nearly all between the first and the last, so that single ones travel."""
    A = ps.generate.lift(ps.generate.barabasi_albert(90, 2, seed=2), 12, seed=3)
    X = dense(A)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(ranks, 1))
        xt = ps.dist.tiled_array(X, comm, like=at)
        found = {}
        for stays in "cb":
            for nodes in (of_node, 1):
                c = ps.dist.matmul(at, xt, stays, nodes=nodes)
                far = sum(p["far_fetched"] + p["far_sent"] for p in c.plan().loads)
                assert 0 <= sum(summed(comm, c, "far_fetched", "far_sent")) - far <= 16 * ranks**2
                found[stays, nodes] = far
        assert "between nodes" in str(c.plan())
        return found

    found = run(work, ranks)[0]
    network = ps.dist.networks["hdr-infiniband"].on(of_node)
    counts = count_spmm(A, WIDTH, ranks, grid=(ranks, 1))
    assert price_product(counts, network, "c+nodes").bytes_far == found["c", of_node]
    assert price_product(counts, network, "b+nodes").bytes_far == pytest.approx(
        found["b", of_node], rel=0.1
    )  # whose sums are counted as if their rows were independent
    row = 8 * WIDTH
    assert found["c", of_node] == crossing(A, ranks, of_node, False) * row
    assert found["c", of_node] < 0.95 * found["c", 1]
    # Where B stays, tiles of A travel besides, and each row of a sum has its number with it.
    of_a = {n: found["b", n] - crossing(A, ranks, n, True) * (row + 4) for n in (of_node, 1)}
    assert 0 < of_a[of_node] < of_a[1]
    assert found["b", of_node] < 0.95 * found["b", 1]


@pytest.mark.parametrize(
    "grid, nodes, of",
    [((8, 1), 4, {"B"}), ((4, 2), 4, {"B"}), ((2, 4), 2, {"A"}), ((4, 2), 8, set())],
    ids=str,
)
def test_the_model_counts_the_bytes_of_both_networks(grid, nodes, of):
    """Of two sparse matrices; where a row of the grid has several nodes, these share tiles of A."""
    A, B = GRAPH, ps.generate.rmat(9, 4, seed=8, dtype=np.float64)
    ranks = grid[0] * grid[1]

    def work(comm):
        at, bt = (ps.dist.tiled_array(m, comm, grid=grid) for m in (A, B))
        out = {}
        for of_node in (None, nodes):
            c = ps.dist.matmul(at, bt, "c", prefetch=0, nodes=of_node)
            out[of_node] = summed(comm, c, "fetched", "far_fetched")
        return out, {s["of"] for s in c.plan().shared}

    found, shared = run(work, ranks)[0]
    network = ps.dist.networks["hdr-infiniband"].on(nodes)
    counts = count_spgemm(A, B, ranks, grid=grid)
    alone = price_product(counts, network, "c", prefetch=0)
    together = price_product(counts, network, "c+nodes", prefetch=0)
    assert shared == of
    assert alone.bytes_all == found[None][0]
    assert together.bytes_far == found[nodes][1] <= alone.bytes_far
    assert together.bytes_all == pytest.approx(found[nodes][0], rel=0.05)
    assert together.seconds > 0


def test_a_prediction_for_many_ranks():
    A = ps.generate.rmat(14, 8, seed=1, dtype=np.float32)
    f = ps.dist.predict_products(
        A, [4096], "hdr-infiniband", op="spmm", algorithms=["c", "c+nodes", "a", "a+nodes"]
    )
    for stays in "ca":
        alone, together = f.at(stays, 4096), f.at(f"{stays}+nodes", 4096)
        assert together.bytes_far < 0.8 * alone.bytes_far


def test_what_is_shared_is_in_the_plan():
    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, grid=(4, 1))
        xt = ps.dist.tiled_array(dense(GRAPH), comm, like=at)
        plan = ps.dist.matmul(at, xt, "c", nodes=2).plan()
        assert ps.dist.matmul(at, xt, "c").plan().shared == []
        b = ps.dist.matmul(at, xt, "b", nodes=[3, 3, 7, 7]).plan()
        return plan.shared, plan.products, b.shared, b.products

    shared, products, with_sums, products_b = run(work, 4)[0]
    assert [(s["of"], s["node"], s["tile"]) for s in shared] == [
        ("B", 0, 2), ("B", 0, 3), ("B", 1, 0), ("B", 1, 1)]  # fmt: skip
    assert all(s["rank"] // 2 == s["node"] for s in shared)
    assert len({s["rank"] for s in shared}) == 4, "one rank fetches all"
    assert not products["far_fetched"].any() and products["fetched"].any()
    sums = [s for s in with_sums if s["of"] == "C"]
    assert len(sums) == 4 and not products_b["far_sent"].any()


@pytest.mark.parametrize("dtype", [np.bool_, np.float32])
def test_values_masks_and_semirings(dtype):
    A = ps.generate.rmat(8, 6, seed=1, dtype=dtype)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(4, 1))
        out = [ps.dist.matmul(at, at, "c", mask=at, nodes=2).collect().toarray()]
        for semiring in ("or_and",) if dtype == np.bool_ else ("min_plus",):
            xt = ps.dist.tiled_array(dense(A, dtype), comm, like=at)
            for stays in "abc":
                there, here = (
                    ps.dist.matmul(at, b, stays, semiring=semiring, nodes=2).collect()
                    for b in (xt, at)
                )
                again = ps.dist.matmul(at, xt, stays, semiring=semiring).collect()
                np.testing.assert_array_equal(there, again)
                same = ps.dist.matmul(at, at, stays, semiring=semiring).collect()
                assert (here.toarray() == same.toarray()).all()
        return out[0]

    dense_a = A.toarray().astype(np.float64)
    np.testing.assert_allclose(run(work, 4)[0], (dense_a @ dense_a) * (dense_a != 0), rtol=1e-5)


def test_rows_that_are_written_to_a_store(tmp_path):
    """Some rows of tiles at a time: what a node shares of each of these products crosses once for it."""

    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, 64, 64, (4, 1))
        needs = _core.tile_row_needs(at._core, at._core, "c", 1, "plus_times", None)
        most = int(1.01 * np.max(comm.collect(needs.rows)))  # of one row of the grid, not of two
        found = []
        for nodes in (None, 2, [1, 0, 1, 0]):
            shared = _core.tile_row_needs(
                at._core, at._core, "c", 1, "plus_times", None, 1, nodes_of(nodes)
            )
            room = most + int(np.max(shared.shared(0, at.tiles[0])))
            C = ps.dist.matmul(at, at, "c", memory=room, out=tmp_path / "c.penstock", nodes=nodes)
            found.append(ps.load(tmp_path / "c.penstock").to_scipy())
            del C
            comm.barrier()
        return found, at.tiles[0]

    found, tiles = run(work, 4)[0]
    assert tiles > 4  # more than one range of rows
    wanted = GRAPH.to_scipy() @ GRAPH.to_scipy()
    for c in found:
        assert abs(c - wanted).max() < 1e-9


def nodes_of(nodes, ranks=4):
    if nodes is None or isinstance(nodes, list):
        return nodes or []
    return [rank // nodes for rank in range(ranks)]


@pytest.mark.parametrize("stays", ["a", "b", "c"])
@pytest.mark.parametrize("nodes", [2, [0, 1, 0, 1]], ids=str)
def test_memory_for_what_nodes_share_is_asked_for_before_anything_moves(tmp_path, stays, nodes):
    """The least memory that is said to be enough is enough, and with one byte less the product is refused. (The bytes
    of B's tiles count whole, so the product itself, of all rows, takes a little less.)"""

    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, 64, 64, (4, 1))
        out = tmp_path / "c.penstock"
        needs = _core.tile_row_needs(
            at._core, at._core, stays, 1, "plus_times", None, 1, nodes_of(nodes)
        )
        mine = np.array(comm.collect(needs.rows))
        units = mine.shape[1]
        assert units > 1
        shared = [needs.shared(4 * u, min(4 * u + 4, at.tiles[0])) for u in range(units)]
        assert np.max(shared) > 0
        least = int(np.ceil(max((mine[:, u] + shared[u]).max() for u in range(units))))
        C = ps.dist.matmul(at, at, stays, memory=least, out=out, nodes=nodes)
        found = C.to_scipy()
        del C
        comm.barrier()
        with pytest.raises(MemoryError, match="what its node shares"):
            ps.dist.matmul(at, at, stays, memory=least - 1, out=out, nodes=nodes)
        whole = mine.sum(1)  # of C alone
        with pytest.raises(MemoryError, match=r"what its node shares \(nodes=\)"):
            ps.dist.matmul(at, at, stays, memory=int(whole.max() + 1), nodes=nodes)
        ps.dist.matmul(
            at, at, stays, memory=int((whole + needs.shared(0, at.tiles[0])).max() + 1), nodes=nodes
        )
        return found

    wanted = GRAPH.to_scipy() @ GRAPH.to_scipy()
    for c in run(work, 4):
        assert abs(c - wanted).max() < 1e-9


def uneven(n, nnz, seed):
    """All entries in the first eighth of the rows, so that one rank has the work of a stationary C."""
    rng = np.random.default_rng(seed)
    key = np.unique(rng.integers(0, n // 8, nnz) * n + rng.integers(0, n, nnz))
    return ps.csr_array(
        (rng.integers(1, 4, key.size).astype(float), (key // n, key % n)), shape=(n, n)
    )


@pytest.mark.parametrize(
    "steal, sparse", [("locality", False), ("locality", True), ("random", True)]
)
@pytest.mark.parametrize(
    "ranks, grid, nodes", [(4, (4, 1), 2), (4, (2, 2), [0, 1, 0, 1]), (8, (4, 2), 4)], ids=str
)
def test_what_is_stolen_stays_within_its_node(ranks, grid, nodes, steal, sparse):
    A = uneven(1600, 200_000, 3)
    B = A if sparse else np.tile(dense(A), 4)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 400, 400, grid)
        bt = at if sparse else ps.dist.tiled_array(B, like=at)
        out = []
        for stays in "cab":
            C = ps.dist.matmul(at, bt, stays, steal=steal, nodes=nodes)
            far, planned = summed(comm, C, *NAMES), C.plan().loads
            done = np.array([[C.times["own"], C.times["stolen"]]])
            p = C.plan().products
            parts = np.bincount(p["owner"], p["parts"], ranks)
            planned = [sum(load[name] for load in planned) for name in NAMES]
            out.append((stays, C.collect(), far, planned, comm.all_gather(done), parts))
        return out

    node = np.array(nodes if isinstance(nodes, list) else nodes_of(nodes, ranks))
    wanted = A.to_scipy() @ (A.to_scipy() if sparse else B)
    for stays, c, moved, planned, done, parts in run(work, ranks)[0]:
        c = c.toarray() if sparse else c
        np.testing.assert_array_equal(c, wanted.toarray() if sparse else wanted, err_msg=stays)
        done = done.reshape(ranks, 2)
        assert moved[1] <= planned[1], (
            stays
        )  # what crosses is what the plan says: thieves fetch nothing from afar
        for n in set(node):  # a node's ranks do its products, whoever of them, and no others'
            assert done[node == n].sum() == parts[node == n].sum(), stays
        if stays == "c":
            assert parts.max() > 3  # there is something to take
            assert moved[3] == planned[3] == 0


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "grid, nodes, copies, steal",
    [((4, 2), 4, 2, False), ((4, 2), 2, 2, False), ((2, 4), 4, 4, False), ((4, 2), [0, 1] * 4, 2, False),
     ((2, 4), 4, 2, "random")],
    ids=str,
)  # fmt: skip
def test_copies_of_c_over_nodes(grid, nodes, copies, steal, sparse):
    """Layers of ranks sum up a copy of C each; copies of a node for another node's tile cross as one."""
    ranks = grid[0] * grid[1]

    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, grid=grid)
        bt = at if sparse else ps.dist.tiled_array(dense(GRAPH), like=at)
        C = ps.dist.matmul(at, bt, replicas=copies, nodes=nodes, steal=steal, prefetch=0)
        planned = [sum(load[name] for load in C.plan().loads) for name in NAMES]
        return (
            C.collect(),
            summed(comm, C, *NAMES),
            planned,
            C.plan().shared,
            len(C.plan().products["i"]),
        )

    c, moved, planned, shared, size = run(work, ranks)[0]
    A = GRAPH.to_scipy()
    wanted = (A @ A).toarray() if sparse else A @ dense(GRAPH)
    np.testing.assert_array_equal(c.toarray() if sparse else c, wanted)
    assert moved[1] <= planned[1]
    if not steal:
        assert moved[0] <= planned[0]
    if not sparse:  # copies that cross alone are counted at most; each piece says where it belongs
        assert moved[3] <= planned[3] + 16 * size
    sums = [s for s in shared if s["of"] == "C"]
    if (grid, copies) == (
        (2, 4),
        4,
    ):  # a node is a row of the grid: all copies of its tiles are in it
        assert not sums and moved[3] == 0
    if nodes == [0, 1] * 4:
        assert moved[3] > 0


def test_sums_of_copies_cross_once_and_are_counted_exactly():
    """Four copies of C, two of each tile in either node: both of the other node's are added there."""

    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm, grid=(1, 4))
        bt = ps.dist.tiled_array(dense(GRAPH), like=at)
        out = []
        for nodes in (2, 1):
            C = ps.dist.matmul(at, bt, replicas=4, nodes=nodes)
            sums = [s for s in C.plan().shared if s["of"] == "C"]
            out.append((C.collect(), summed(comm, C, "far_sent")[0], sums))
        return out

    (c, far, sums), (d, alone, none) = run(work, 4)[0]
    np.testing.assert_array_equal(c, GRAPH.to_scipy() @ dense(GRAPH))
    np.testing.assert_array_equal(c, d)
    assert len(sums) == 16 and not none  # of all tiles, by the node that does not own them
    assert 0 <= far - sum(s["bytes"] for s in sums) <= 16 * len(sums)
    assert far < 0.7 * alone


def test_what_cannot_be_is_said():
    def work(comm):
        at = ps.dist.tiled_array(GRAPH, comm)
        on_device = ps.dist.tiled_array(GRAPH, comm, device="cpu")
        for how, text in (
            ({"nodes": 0}, "at least 1"),
            ({"nodes": [0, 1]}, "each of the 4 ranks"),
            ({"nodes": "hosts"}, "'auto'"),
            ({"nodes": [0, -1, 0, 0]}, "from 0 on"),
            ({"nodes": 2, "algorithm": "summa"}, "leave nodes out"),
        ):
            with pytest.raises(ValueError, match=text):
                ps.dist.matmul(at, at, **how)
        with pytest.raises(ps.NotCompiledError, match="host memory"):
            ps.dist.matmul(on_device, on_device, nodes=2)
        c = ps.dist.matmul(at, at, nodes="auto")  # threads of one host
        return c.times["far_fetched_bytes"], c.nnz

    assert {far for far, _ in run(work, 4)} == {0}
