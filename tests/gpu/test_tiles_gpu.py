"""Products of tiles on GPUs: ranks as threads that share a GPU or have one each."""

import numpy as np
import pytest
from needed_gpus import needs
from process_ranks import last_line

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu

# Every algorithm with every kind of stealing.
KINDS = [(a, s) for a in "abc" for s in (False, "locality", "random")] + [("summa", False)]
DEVICES = [[0], [0, 0], [0, 0, 0, 0], [0, 1], [0, 1, 2, 3]]


def random_matrix(rows, cols, per_row, seed, dtype=np.float64):
    """Small integers: sums are exact in any order. Some rows are empty, one is full, the last quarter is sparse."""
    rng = np.random.default_rng(seed)
    r = rng.integers(0, rows, rows * per_row)
    r[r % 7 == 3] = rows // 2
    r[r >= rows - rows // 4] //= 2
    c = rng.integers(0, cols, r.size)
    A = ps.csr_array((np.ones(r.size), (r, c)), shape=(rows, cols))
    values = rng.integers(1, 5, A.nnz) if dtype != np.bool_ else np.ones(A.nnz)
    return ps.csr_array((values.astype(dtype), A.indices, A.indptr), shape=A.shape)


def dense_matrix(rows, cols, seed, dtype=np.float64):
    return np.random.default_rng(seed).integers(-4, 5, (rows, cols)).astype(dtype)


def multiply(a, b, devices, sizes, kinds=KINDS, grid=None, **named):
    """A B on all ranks, [rank][kind] -> (C, times). `sizes` of tiles: rows of A, its columns, those of B."""

    def work(comm):
        at = ps.dist.tiled_array(a, comm, sizes[0], sizes[1], grid, device=devices)
        bt = (
            at if b is a else ps.dist.tiled_array(b, comm, sizes[1], sizes[2], grid, device=devices)
        )
        assert at.device == ps.device(devices[comm.rank]), at.explain()
        out = []
        for stationary, steal in kinds:
            how = {"stationary": stationary, "steal": steal}
            how = {"algorithm": "summa"} if stationary == "summa" else how
            c = ps.dist.matmul(at, bt, **how, **named)
            assert c.device == at.device, (stationary, steal)
            out.append((c.collect(), c.times))
        return out

    return ps.dist.run(work, len(devices), timeout=120)


def check_dense(found, wanted, kinds=KINDS):
    for rank, results in enumerate(found):
        for kind, (c, _) in zip(kinds, results, strict=True):
            np.testing.assert_array_equal(c, wanted, err_msg=f"{kind}, rank {rank}")


def check_sparse(found, wanted, kinds=KINDS):
    for rank, results in enumerate(found):
        for kind, (c, _) in zip(kinds, results, strict=True):
            assert (c.shape, c.dtype) == (wanted.shape, wanted.dtype), (kind, rank)
            for part in ("indptr", "indices", "data"):
                got, expected = (np.asarray(getattr(m, part)) for m in (c, wanted))
                np.testing.assert_array_equal(got, expected, err_msg=f"{kind}, rank {rank}: {part}")


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spmm_by_every_algorithm(devices, dtype):
    needs(devices)
    A, X = random_matrix(2003, 1501, 9, 1, dtype), dense_matrix(1501, 37, 2, dtype)
    check_dense(multiply(A, X, devices, (400, 300, 10)), A @ X)


@pytest.mark.parametrize("devices", DEVICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spgemm_by_every_algorithm(devices, dtype):
    needs(devices)
    A, B = random_matrix(1203, 1001, 6, 3, dtype), random_matrix(1001, 900, 6, 4, dtype)
    check_sparse(multiply(A, B, devices, (300, 250, 225)), ps.spgemm(A, B))


@pytest.mark.parametrize("sparse", [False, True])
def test_copies_of_c_add_up(sparse):
    A = random_matrix(803, 803, 6, 21)
    B = random_matrix(803, 803, 6, 22) if sparse else dense_matrix(803, 20, 22)
    kinds = [("c", False)]
    found = multiply(A, B, [0, 0, 0, 0], (200, 200, 200 if sparse else 5), kinds, replicas=2)
    if sparse:
        check_sparse(found, ps.spgemm(A, B), kinds)
    else:
        check_dense(found, A @ B, kinds)


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
@pytest.mark.parametrize("columns", [1, 2, 3, 32, 130])
def test_spmm_of_any_width_and_patterns(devices, columns):
    needs(devices)
    kinds = [("c", False), ("a", "locality"), ("b", "random")]
    P, X = random_matrix(997, 997, 7, 5, np.bool_), dense_matrix(997, columns, 6)
    check_dense(multiply(P, X, devices, (None, None, None), kinds), P @ X, kinds)


@pytest.mark.gpu_small
@pytest.mark.parametrize("sparse", [False, True])
def test_small(sparse):
    kinds = [("c", False), ("a", "locality"), ("b", False)]
    A = random_matrix(61, 61, 4, 7)
    B = random_matrix(61, 61, 4, 8) if sparse else dense_matrix(61, 5, 8)
    found = multiply(A, B, [0, 0], (20, 20, 20 if sparse else 2), kinds)
    if sparse:
        check_sparse(found, ps.spgemm(A, B), kinds)
    else:
        check_dense(found, A @ B, kinds)


@pytest.mark.parametrize("devices", [[0, 0, 0], [0, 1]], ids=str)
@pytest.mark.parametrize("shape", [(0, 5, 4), (5, 0, 4), (5, 4, 0), (1, 1, 1)], ids=str)
def test_matrices_without_entries(devices, shape):
    needs(devices)
    m, k, n = shape
    kinds = [("c", False), ("a", True), ("b", "random")]
    E, F = (ps.csr_array(s, dtype=np.float64) for s in ((m, k), (k, n)))
    check_dense(multiply(E, np.ones((k, n)), devices, (2, 2, 2), kinds), np.zeros((m, n)), kinds)
    check_sparse(multiply(E, F, devices, (2, 2, 2), kinds), ps.spgemm(E, F), kinds)


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
def test_sums_of_many_pieces(devices):
    """Partial tiles of 80 MB: their rows with products travel, in several pieces, while their owner multiplies."""
    needs(devices)
    A, X = random_matrix(40_000, 3_000, 3, 9), dense_matrix(3_000, 512, 10)
    kinds = [("a", False), ("b", "locality")]
    found = multiply(A, X, devices, (20_000, 750, 512), kinds, grid=(1, len(devices)))
    check_dense(found, A @ X, kinds)
    sums, row = 0, 512 * 8
    theirs = (
        A.to_scipy().tocsc()[:, np.arange(3_000) // 750 % 2 == 1].tocsr()
    )  # rank 0 has all of C
    for first in (0, 20_000):
        rows = np.flatnonzero(np.diff(theirs[first : first + 20_000].indptr))
        single = 8 * rows.size < 7 * (np.ptp(rows) + 1)
        sums += rows.size * (row + 4) if single else (np.ptp(rows) + 1) * row
    assert sums > 2 * (32 << 20)
    assert sums <= sum(results[0][1]["sent_bytes"] for results in found) < sums + 4096
    for k in range(len(kinds)):
        sent, received = (
            sum(results[k][1][name] for results in found)
            for name in ("sent_bytes", "received_bytes")
        )
        assert sent == received


def test_idle_ranks_steal_on_one_gpu():
    """All entries in the first rows, which are one rank's."""
    A = random_matrix(512, 4096, 400, 11)
    A = ps.csr_array(
        (A.data, A.indices, np.r_[np.asarray(A.indptr), [A.nnz] * 1536]), shape=(2048, 4096)
    )
    X = dense_matrix(4096, 64, 12)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 512, 64, grid=(4, 1), device=0)
        xt = ps.dist.tiled_array(X, comm, 64, 64, grid=(4, 1), device=0)
        c = ps.dist.matmul(at, xt, "c", "random", prefetch=0)
        return c.collect(), c.times["own"], c.times["stolen"]

    found = ps.dist.run(work, 4, timeout=120)
    for c, _, _ in found:
        np.testing.assert_array_equal(c, A @ X)
    assert sum(own + stolen for _, own, stolen in found) == 64
    assert sum(stolen for _, _, stolen in found) > 0, "nobody stole"


def test_the_same_bits_each_time():
    rng = np.random.default_rng(13)
    A = random_matrix(1500, 1500, 8, 14)
    A = ps.csr_array((rng.standard_normal(A.nnz), A.indices, A.indptr), shape=A.shape)
    X = rng.standard_normal((1500, 24))
    first, second = (multiply(A, X, [0, 0], (300, 300, 24), [("c", False)]) for _ in range(2))
    for x, y in zip(first, second, strict=True):
        np.testing.assert_array_equal(x[0][0], y[0][0])


@pytest.mark.parametrize("devices", [[0, 0], [0, 1]], ids=str)
def test_tiles_are_read_and_written_from_the_host(devices):
    needs(devices)
    A, X = random_matrix(300, 300, 5, 15), dense_matrix(300, 8, 16)

    def work(comm):
        x = ps.dist.tiled_array(X, comm, 75, 4, device=devices)
        if comm.rank == 1:
            x.replace_tile(0, 0, -X[:75, :4])
        x.barrier()
        s = ps.dist.tiled_array(A, comm, 100, 150, device=devices)
        whole = s.collect() @ np.eye(300)
        mine = next((i, j) for i in range(3) for j in range(2) if s.owner(i, j) == comm.rank)
        s.renew_tiles({mine: ps.csr_array((100, 150), dtype=np.float64)} if comm.rank else {})
        return x.collect(), whole, s.collect() @ np.eye(300), s.get_tile(2, 1) @ np.eye(150), mine

    found = ps.dist.run(work, 2, timeout=120)
    wanted, renewed, negated = A @ np.eye(300), A @ np.eye(300), X.copy()
    i, j = found[1][4]
    renewed[100 * i : 100 * i + 100, 150 * j : 150 * j + 150] = 0
    negated[:75, :4] *= -1
    for x, whole, after, tile, _ in found:
        np.testing.assert_array_equal(x, negated)
        np.testing.assert_array_equal(whole, wanted)
        np.testing.assert_array_equal(after, renewed)
        np.testing.assert_array_equal(tile, renewed[200:, 150:])


def test_refusals():
    A, X = random_matrix(50, 50, 3, 17), dense_matrix(50, 4, 18)
    count = _core.device_count()
    with pytest.raises(_core.PlacementError, match=f"can use {count} GPU"):
        ps.dist.run(lambda comm: ps.dist.tiled_array(A, comm, device=count), 2)

    def apart(comm):
        ps.dist.matmul(ps.dist.tiled_array(A, comm, device=0), ps.dist.tiled_array(X, comm), "c")

    with pytest.raises(ValueError, match="give both the same device="):
        ps.dist.run(apart, 2)

    def too_little(comm):
        at = ps.dist.tiled_array(A, comm, device=0)
        ps.dist.matmul(at, at, "c", memory=100)

    with pytest.raises(MemoryError, match="needs about"):
        ps.dist.run(too_little, 2)

    def no_such_product(comm):
        at, xt = (ps.dist.tiled_array(m, comm, device=0) for m in (A, X))
        ps.dist.matmul(at, xt, "c", semiring="min_plus")

    with pytest.raises(_core.NotCompiledError, match="without device="):
        ps.dist.run(no_such_product, 2)


def test_a_rank_that_fails_stops_the_others():
    A = random_matrix(400, 400, 5, 19)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 50, 50, device=0)
        if comm.rank == 1:
            raise RuntimeError("gone fishing")
        ps.dist.matmul(at, at, "a")

    with pytest.raises(RuntimeError, match="gone fishing"):
        ps.dist.run(work, 3, timeout=60)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("devices", [[0, 0], [0, 1], [0, 1, 2, 3]], ids=str)
@pytest.mark.parametrize("transport", ["peer", "nvshmem"])
def test_every_algorithm_among_processes(transport, devices):
    needs(devices)
    used = last_line("tile_ranks.py", len(devices), transport, ",".join(map(str, devices)))
    assert used == transport
