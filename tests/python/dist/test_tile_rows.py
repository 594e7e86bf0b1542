"""Products of two sparse matrices: of B the row offsets travel, and the entries of rows that A has columns for."""

import numpy as np
import pytest
from dist_support import how_of, run
from penstock.dist._tile_counts import count_spgemm
from penstock.dist._tile_price import price_product

import penstock as ps
from penstock import _core

GRIDS = [(1, 1), (4, 1), (2, 2), (3, 2), (1, 3)]
KINDS = [(a, s) for a in "abc" for s in (False, "locality", "random")] + [("summa", False)]
WORD = {np.bool_: 0, np.float32: 4, np.float64: 8}


def graph(dtype, seed=5):
    """Most tiles of it have entries in some columns only."""
    a = ps.generate.rmat(9, 3, seed=seed, dtype=np.float64)
    return ps.csr_array((np.arange(a.nnz) % 7 + 1.0, a.indices, a.indptr), shape=a.shape).astype(
        dtype
    )


def ladder(rows, cols):
    """Rows that lie side by side, rows that do not, and empty ones."""
    r = np.array([0, 0, 1, 2, 5, 5, rows - 1])
    c = np.array([0, cols - 1, 3, 4, 5, 7, 1])
    return ps.csr_array((np.arange(1.0, 8), (r, c)), shape=(rows, cols))


def by_hand(A, B, grid, tile, stays):
    """Bytes that are fetched in all, tile by tile and row by row."""
    a, b = A.to_scipy().tocsr(), B.to_scipy().tocsr()
    high, deep, wide = tile

    def blob(rows, nnz, word):
        return 8 * (rows + 1) + 8 * -(-nnz // 2) + nnz * word

    def owner(i, j):
        return i % grid[0], j % grid[1]

    words = [WORD[m.dtype.type] for m in (A, B)]
    total = 0
    for i in range(-(-a.shape[0] // high)):
        for k in range(-(-a.shape[1] // deep)):
            left = a[i * high : (i + 1) * high, k * deep : (k + 1) * deep]
            columns = np.unique(left.tocoo().col)
            for j in range(-(-b.shape[1] // wide)):
                right = b[k * deep : (k + 1) * deep, j * wide : (j + 1) * wide]
                lengths = np.diff(right.indptr)[columns]
                if not lengths.any():
                    continue
                who = {"a": owner(i, k), "b": owner(k, j), "c": owner(i, j)}[stays]
                if who != owner(i, k):
                    total += blob(left.shape[0], left.nnz, words[0])
                if who != owner(k, j):
                    some = 8 * (columns[-1] - columns[0] + 2) + lengths.sum() * (4 + words[1])
                    whole = blob(right.shape[0], right.nnz, words[1])
                    total += some if some + 8 * columns.size < whole else whole
    return int(total)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.float64])
@pytest.mark.parametrize("device", [None, "cpu"])
def test_what_is_fetched_is_what_is_planned(grid, dtype, device):
    A, B = graph(dtype), graph(dtype, 6)

    def work(comm):
        at, bt = (ps.dist.tiled_array(m, comm, grid=grid, device=device) for m in (A, B))
        out = []
        for kind in KINDS:
            for prefetch in (None,) if kind[0] == "summa" else (0, 1):
                c = ps.dist.matmul(at, bt, prefetch=prefetch, **how_of(*kind))
                moved = np.array([c.times["fetched_bytes"], c.times["counted_bytes"]])
                comm.all_reduce(moved)
                loads = c.plan().loads
                out.append((kind, prefetch, c.collect(), moved.tolist(), loads, at.tile_shape))
        return out

    wanted = (A.to_scipy().astype(np.float64) @ B.to_scipy().astype(np.float64)).toarray()
    for (stays, steal), prefetch, c, (fetched, counted), loads, tile in run(
        work, grid[0] * grid[1]
    )[0]:
        what = f"{stays} {steal} {prefetch}"
        np.testing.assert_allclose(c.toarray(), wanted, rtol=1e-5, err_msg=what)
        assert (counted > 0) == (grid != (1, 1)), what
        if steal or stays == "summa":
            continue
        planned = sum(p["fetched"] for p in loads)
        assert planned == by_hand(A, B, grid, (*tile, tile[1]), stays), what
        assert fetched <= planned, what  # some tiles are still there
        if prefetch == 0 and grid in ((4, 1), (2, 2)):
            assert fetched == planned, what
        counts = count_spgemm(A, B, grid[0] * grid[1], grid=grid)
        network = ps.dist.networks["h200"]
        if stays == "c" and prefetch == 1 and device is None:  # on a device more are held
            assert fetched == price_product(counts, network, stays).bytes_all, what


@pytest.mark.parametrize("device", [None, "cpu"])
def test_rows_side_by_side_single_and_empty(device):
    A, B = ladder(40, 90), ladder(90, 33)

    def work(comm):
        at = ps.dist.tiled_array(A, comm, 7, 8, device=device)
        bt = ps.dist.tiled_array(B, comm, 8, 5, device=device)
        return [
            (ps.dist.matmul(at, bt, **how_of(*kind)).collect(), how_of(*kind)) for kind in KINDS
        ]

    wanted = (A.to_scipy() @ B.to_scipy()).toarray()
    for c, kind in run(work, 4)[0]:
        np.testing.assert_array_equal(c.toarray(), wanted, err_msg=str(kind))


@pytest.mark.parametrize("device", [None, "cpu"])
def test_fewer_bytes_than_whole_tiles(device):
    A = ps.generate.lift(ps.generate.barabasi_albert(300, 3, seed=2), 8, seed=3)

    def work(comm):
        found = []
        at = ps.dist.tiled_array(A, comm, grid=(8, 1), tile_cols=A.shape[1] // 8, device=device)
        for single in (True, False):
            at._core.gathers_rows(single)
            c = ps.dist.matmul(at, at, stationary="c")
            fetched = np.array([c.times["fetched_bytes"]])
            comm.all_reduce(fetched)
            found.append((int(fetched[0]), c.collect()))
        return found

    (some, c), (whole, d) = run(work, 8)[0]
    assert some < 0.8 * whole
    assert (c != d).nnz == 0


@pytest.mark.parametrize("device", [None, "cpu"])
def test_renewed_tiles_travel_as_was_asked_for(device):
    A = ps.generate.lift(ps.generate.barabasi_albert(300, 3, seed=2), 8, seed=3)

    def work(comm):
        found = {}
        for single in (True, False):
            at = ps.dist.tiled_array(A, comm, grid=(4, 1), tile_cols=A.shape[1] // 4, device=device)
            at._core.gathers_rows(single)
            for turn in (0, 1):
                found[single, turn] = sum(
                    r["fetched"] for r in ps.dist.matmul(at, at, "c").plan().loads
                )
                at.renew_tiles({(comm.rank, 0): at.get_tile(comm.rank, 0)} if turn == 0 else {})
        return found

    found = run(work, 4)[0]
    assert found[True, 0] == found[True, 1] < found[False, 0] == found[False, 1]


def test_a_product_whose_entries_do_not_meet_is_left_out():
    """A has columns 0 to 9 of a tile, B rows 10 to 19."""
    A = ps.csr_array((np.ones(10), (np.arange(10), np.arange(10))), shape=(40, 40))
    B = ps.csr_array((np.ones(10), (np.arange(10, 20), np.arange(10))), shape=(40, 40))

    def work(comm):
        at, bt = (ps.dist.tiled_array(m, comm, 20, 20, (2, 1)) for m in (A, B))
        c = ps.dist.matmul(at, bt, stationary="c")
        return c.nnz, c.plan().skipped, c.times["fetched_bytes"]

    assert run(work, 2) == [(0, 8, 0)] * 2


def test_ranges_of_bytes():
    def rank(comm):
        t = _core.make_transport(comm, 4000)
        arena = t.arena()
        arena[:] = (np.arange(4000) * 7 + comm.rank) % 251
        t.barrier()
        other = (comm.rank + 1) % comm.size
        theirs = (np.arange(4000) * 7 + other) % 251
        out = np.zeros(100, np.uint8)
        t.get_ranges(out, other, 11, np.array([[0, 50, 3], [40, 0, 17], [3, 90, 0], [8, 99, 1]]))
        wanted = np.zeros(100, np.uint8)
        wanted[50:53], wanted[:17], wanted[99] = theirs[11:14], theirs[51:68], theirs[19]
        np.testing.assert_array_equal(out, wanted)
        t.get_ranges(out, other, 0, np.zeros((0, 3), np.int64))
        for ranges, at, text in (
            ([[0, 90, 11]], 0, "exceeds the 100 bytes of the array"),
            ([[3990, 0, 11]], 0, "11 bytes at 3990 of rank 0 lie outside its arena"),
            ([[0, 0, 8]], 3999, "8 bytes at 3999 of rank 0 lie outside its arena"),
            ([[-1, 0, 8]], 8, "begin at 0 or later"),
        ):
            with pytest.raises(ValueError, match=text):
                t.get_ranges(out, 0, at, np.array(ranges))
        t.barrier()
        device = _core.make_device_transport(comm, 64, "peer", -1)
        device.arena()[:] = np.arange(64)
        device.barrier()
        device.get_ranges(out, 0, 5, np.array([[0, 40, 3], [7, 0, 2]]))
        np.testing.assert_array_equal(out[[0, 1, 40, 41, 42]], [12, 13, 5, 6, 7])
        out[:] = 0
        device.get_rows(out, other, 3, 5, np.array([0, 1, 11], np.int32))
        np.testing.assert_array_equal(np.flatnonzero(out), [*range(10), *range(55, 60)])
        np.testing.assert_array_equal(
            out[[*range(10), *range(55, 60)]], [*range(3, 13), *range(58, 63)]
        )
        with pytest.raises(ValueError, match="from 0 on that ascend"):
            device.get_rows(out, other, 3, 5, np.array([2, 2], np.int32))
        with pytest.raises(ValueError, match="65 bytes at 0 of rank 0 lie outside"):
            device.get_rows(out, 0, 0, 5, np.array([0, 12], np.int32))
        with pytest.raises(ValueError, match="8 bytes at 60 of rank 1 lie outside"):
            device.get_ranges(out, 1, 60, np.array([[0, 0, 8]]))
        device.barrier()

    run(rank, 2)
