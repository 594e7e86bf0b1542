"""Where tiles have entries: what is fetched of a dense factor, what is sent of sums, and which grid is even."""

import functools

import numpy as np
import pytest
from dist_support import how_of, run
from penstock.dist._tile_choice import count_maps
from penstock.dist._tile_counts import count_spmm
from penstock.dist._tile_grid import even_grid
from penstock.dist._tile_price import price_product

import penstock as ps
from penstock import _core

KINDS = [(a, s) for a in "abc" for s in (False, "locality", "random")] + [("summa", False)]
ROWS, COLUMNS = 400, 12
BAND = ps.generate.banded(ROWS, [-3, -1, 0, 2], dtype=np.float64, seed=3)
BAND = ps.csr_array((np.arange(BAND.nnz) % 7 - 3.0, BAND.indices, BAND.indptr), shape=BAND.shape)
X = np.random.default_rng(4).integers(-4, 5, (ROWS, COLUMNS)).astype(np.float64)


def sparse(rows, cols, nnz, seed):
    rng = np.random.default_rng(seed)
    where = rng.integers(0, rows, nnz) // 3 * 3, rng.integers(cols // 5, max(cols // 2, 1), nnz)
    return ps.csr_array((np.ones(nnz), where), shape=(rows, cols))


def spans_by_hand(A, high, wide, gathers):
    found = []
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    for i in range(0, A.shape[0], high):
        for j in range(0, A.shape[1], wide):
            here = (row // high == i // high) & (A.indices // wide == j // wide)
            r, c = row[here] - i, A.indices[here] - j
            if r.size:
                rows, columns = np.unique(r), np.unique(c)
                spans = [rows[0], rows[-1] + 1, columns[0], columns[-1] + 1]
                travel = [
                    met.size if gathers and 8 * met.size < 7 * span else span
                    for met, span in ((rows, np.ptp(rows) + 1), (columns, np.ptp(columns) + 1))
                ]
            found.append(spans + travel if r.size else [0] * 6)
    return np.array(found)


@pytest.mark.parametrize("tile", [(1, 1), (7, 5), (400, 400), (64, 400)])
@pytest.mark.parametrize("A", [BAND, sparse(90, 61, 40, 1), sparse(5, 5, 0, 2)], ids=repr)
def test_spans_are_those_of_the_entries(A, tile):
    named, all_between = (spans_by_hand(A, *tile, g) for g in (True, False))
    for wanted, how in ((named, ()), (all_between, (False,))):
        found = _core.tile_spans(A._core, *tile, *how)
        np.testing.assert_array_equal(found.reshape(-1, 6), wanted)

    def work(comm):
        return [
            ps.dist.tiled_array(A, comm, *tile, device=d)._core.map.spans for d in (None, "cpu")
        ]

    for rank in run(work, 3):
        for spans in rank:
            np.testing.assert_array_equal(spans.reshape(-1, 6), named)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("grid", [(4, 1), (2, 2)], ids=str)
def test_products_fetch_and_send_only_those_rows(grid, device):
    def work(comm):
        at = ps.dist.tiled_array(BAND, comm, grid=grid, device=device)
        xt = ps.dist.tiled_array(X, comm, like=at)
        assert (xt.grid, xt.device, xt.transport) == (at.grid, at.device, at.transport)
        counts = count_maps(at._core.map, xt._core.map)
        out = []
        for kind in KINDS:
            c = ps.dist.matmul(at, xt, **how_of(*kind))
            moved = np.array([c.times["fetched_bytes"], c.times["sent_bytes"]])
            comm.all_reduce(moved)
            out.append((kind, c.collect(), moved.tolist(), c.plan().loads))
        whole = xt.get_tile(1, 0)  # a part of it was fetched before
        return out, counts, whole

    row = 8 * COLUMNS // grid[1]
    for found, counts, whole in run(work, 4):
        np.testing.assert_array_equal(whole, X[ROWS // grid[0] :][: len(whole), : whole.shape[1]])
        for (stays, steal), c, (fetched, sent), loads in found:
            what = f"{stays} {steal}"
            np.testing.assert_array_equal(c, BAND @ X, err_msg=what)
            if steal or stays == "summa":
                continue
            assert fetched == sum(p["fetched"] for p in loads), what
            planned = sum(p["sent"] for p in loads)
            # Each piece says where it belongs; those of a device are padded.
            assert planned <= sent <= planned + 64 * (16 if device is None else 128), what
            network = ps.dist.networks["h200"]
            assert fetched + planned == price_product(counts, network, stays).bytes_all, what
            if grid == (4, 1) and stays != "b":  # of three borders, 3 rows down and 2 up
                assert (fetched, planned) == (3 * (3 + 2) * row, 0), what


def test_a_tile_that_is_held_in_part_is_fetched_again_for_more():
    """A(0, 1) needs one row of B(1, 0), A(1, 1) of the same rank other ones."""
    A = ps.csr_array((np.ones(3), ([0, 9, 19], [10, 19, 10])), shape=(20, 20))
    B = np.arange(40.0).reshape(20, 2)

    def work(comm):
        at, bt = (ps.dist.tiled_array(m, comm, 10, n, (1, 2)) for m, n in ((A, 10), (B, 1)))
        return [ps.dist.matmul(at, bt, how, prefetch=p).collect() for how in "abc" for p in (0, 3)]

    for found in run(work, 2):
        for c in found:
            np.testing.assert_array_equal(c, A @ B)


@pytest.mark.parametrize("stays", ["c", "cover"])
def test_memory_of_a_fetched_tile_ends_with_the_rows_that_are_needed(stays):
    """13 entries a row, all in the first columns of the other rank's tile: panels of B are copied, and end there."""
    n = 40_000
    columns = n + np.sort(np.random.default_rng(0).integers(0, 2000, (n, 13)), axis=1)
    indptr = np.append(np.arange(n + 1) * 13, np.full(n, 13 * n))
    A = ps.csr_array((np.ones(13 * n), columns.ravel(), indptr), shape=(2 * n, 2 * n))
    x = np.ones((2 * n, 33))

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(2, 1))
        c = ps.dist.matmul(at, ps.dist.tiled_array(x, comm, like=at), stationary=stays)
        return c.get_tile(0, 0)

    assert all((found == 13).all() for found in run(work, 2))


def worth_naming(met, span, row):
    """Whether rows travel one by one: with their numbers, where these are no small part, clearly fewer bytes."""
    return 8 * met * (row + 4 * (row < 32)) < 7 * span * row


@pytest.mark.parametrize("met", [40, 60, 80])
def test_rows_of_every_width_travel_alone_where_that_is_less(met):
    """`met` rows of about 100 of B, and of sums: by hand, and by the model."""
    some = np.arange(met) * 100 // met
    span = int(some[-1]) + 1
    A = ps.csr_array((np.ones(met, np.float32), (some, 100 + some)), shape=(200, 200))

    def work(comm):
        at = ps.dist.tiled_array(A, comm, grid=(2, 1))
        out = []
        for columns in range(1, 17):
            x = np.random.default_rng(columns).integers(-4, 5, (200, columns)).astype(np.float32)
            xt = ps.dist.tiled_array(x, comm, like=at)
            for stays in "cb":
                c = ps.dist.matmul(at, xt, stays)
                np.testing.assert_array_equal(c.collect(), A @ x)
                moved = np.array([c.times["fetched_bytes"], c.times["sent_bytes"]])
                comm.all_reduce(moved)
                out.append(moved.tolist())
        return out

    found = iter(run(work, 2)[0])
    named = []
    for columns in range(1, 17):
        row = 4 * columns
        named.append(worth_naming(met, span, row))
        assert next(found) == [met * row if named[-1] else span * row, 0], columns
        assert next(found)[1] == 8 + (met * (row + 4) if named[-1] else span * row), columns
        counts = count_spmm(A, columns, 2, grid=(2, 1))
        predicted = price_product(counts, ps.dist.networks["shared-memory"], "c").bytes_all
        assert predicted == (met if named[-1] else span) * row, columns
    assert named == sorted(named) and named.index(True) == {40: 0, 60: 2, 80: 7}[met]


@pytest.mark.parametrize("device", [None, "cpu"])
def test_some_rows_of_a_dense_tile(device):
    def work(comm):
        xt = ps.dist.tiled_array(X, comm, 100, 5, (2, 1), device=device)
        for i, j, rows in ((1, 1, (7, 30)), (3, 2, (0, 100)), (2, 0, (4, 4)), (0, 0, (99, 100))):
            part = xt.get_tile(i, j, rows)
            wanted = X[100 * i + rows[0] : 100 * i + rows[1], 5 * j : 5 * j + 5]
            np.testing.assert_array_equal(part, wanted)
        for wrong in ((-1, 3), (5, 4), (0, 101)):
            with pytest.raises(ValueError, match="of a tile of 100"):
                xt.get_tile(0, 0, wrong)
        with pytest.raises(ValueError, match="as a whole"):
            ps.dist.tiled_array(BAND, comm, device=device).get_tile(0, 0, (0, 1))
        return True

    assert all(run(work, 2))


def test_renewed_tiles_have_other_spans():
    full = ps.csr_array(np.arange(1.0, 10_001).reshape(100, 100))

    def work(comm):
        at = ps.dist.tiled_array(BAND, comm, 100, 100, (2, 1))
        xt = ps.dist.tiled_array(X, comm, like=at)
        at.renew_tiles({(0, 3): full} if comm.rank == 0 else {})
        return ps.dist.matmul(at, xt, "c").collect()

    wanted = BAND @ X
    wanted[:100] += full @ X[300:]
    for c in run(work, 2):
        np.testing.assert_array_equal(c, wanted)


def test_the_model_counts_what_products_of_a_whole_matrix_need():
    counts = count_spmm(BAND, COLUMNS, 4, grid=(4, 1))
    np.testing.assert_array_equal(np.diag(counts.needed), 1)
    assert np.allclose([counts.needed[0, 1], counts.needed[1, 0]], [0.02, 0.03])
    assert counts.needed[0, 2] == 0 and round(counts.part[0, 1, 0]) == 2 * COLUMNS * 8
    square = count_spmm(BAND, COLUMNS, 4)
    h200 = ps.dist.networks["h200"]
    assert price_product(counts, h200, "c").bytes_all < price_product(square, h200, "c").bytes_all


def test_the_even_grid():
    assert even_grid(BAND, 4) == (4, 1) and even_grid(BAND, 16) == (16, 1)
    assert even_grid(BAND, 6) == (3, 2)  # without a common divisor the diagonal meets all ranks
    assert even_grid(ps.generate.rmat(10, 8, seed=1), 4) == (2, 2)
    assert even_grid(ps.csr_array((5, 5)), 4) == (2, 2) and even_grid(BAND, 1) == (1, 1)

    def work(comm):
        T = ps.dist.tiled_array(BAND, comm, grid="auto")
        assert "fullest rank" not in T.explain()
        assert "the fullest rank 1.99 times" in ps.dist.tiled_array(BAND, comm).explain()
        for wrong, source in (("even", BAND), ("auto", X), ("auto", ps.dist.csr_array(BAND, comm))):
            with pytest.raises(ValueError, match="auto"):
                ps.dist.tiled_array(source, comm, grid=wrong)
        with pytest.raises(ValueError, match="generator"):
            ps.dist.tiled_array(functools.partial(ps.generate.rmat, 6), comm, grid="auto")
        with pytest.raises(TypeError, match="like: another tiled_array, not csr_array"):
            ps.dist.tiled_array(X, comm, like=BAND)
        return T.grid, ps.dist.tiled_array(X, like=T).tile_shape

    assert run(work, 4) == [((4, 1), (100, 12))] * 4
