"""Tiles that are cut by their work: the same matrix and products, more even loads."""

import functools
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from dist_support import how_of, run
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.dist._network import networks
from penstock.dist._tile_cuts.rectilinear import alternate, descend, optimal, prefix

import penstock as ps
from penstock.dist import _tile_cuts


def skewed(rows, cols, nnz, seed):
    """Entries crowd at the beginning of rows and columns; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    row, col = (np.minimum((rng.random(nnz) ** 3 * n).astype(int), n - 1) for n in (rows, cols))
    m = sp.coo_array(
        (rng.integers(1, 5, nnz).astype(float), (row, col)), shape=(rows, cols)
    ).tocsr()
    return ps.csr_array(m)


def loads(matrix, cuts, grid, flops=False):
    """Most over mean of ranks: by tiles (flops of A A, or entries) and by rows of tiles, counted with SciPy alone."""
    a = matrix.to_scipy().astype(bool).astype(float)
    down, across = (
        sp.csr_array((np.ones(n), (np.searchsorted(c, np.arange(n), "right") - 1, np.arange(n))), (c.size - 1, n))
        for n, c in zip(a.shape, cuts, strict=True)
    )  # fmt: skip
    tiles = ((down @ a) @ (a @ across.T)).toarray() if flops else ((down @ a) @ across.T).toarray()
    ranks = np.zeros(grid)
    for i, j in itertools.product(*map(range, tiles.shape)):
        ranks[i % grid[0], j % grid[1]] += tiles[i, j]
    rows = ranks.sum(1)
    return ranks.max() / ranks.mean(), rows.max() / rows.mean()


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=8),
    st.integers(1, 4),
    st.integers(1, 8),
    st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_the_best_cut_of_a_side_is_as_good_as_the_best_of_all(weights, parts, most, seed):
    one = np.array(weights, float)
    other = np.random.default_rng(seed).permutation(one)
    both = np.stack([one, other], axis=1)
    edges = np.arange(one.size + 1)
    found = optimal(both, edges, parts, most)
    all_cuts = [
        (0, *inner, one.size) for inner in itertools.combinations(range(1, one.size), parts - 1)
    ]
    heaviest = {
        c: max(both[a:b].sum(0).max() for a, b in itertools.pairwise(c))
        for c in all_cuts if max(np.diff(c)) <= most
    }  # fmt: skip
    assert (found is None) == (not heaviest)
    if heaviest:
        assert heaviest[tuple(found.tolist())] <= min(heaviest.values()) * 1.002


def test_both_sides_in_turn_never_become_worse():
    rng = np.random.default_rng(1)
    cells = rng.random((40, 30)) ** 8
    cells[:5] += 1
    cells[:, :4] += 1
    sums = prefix(cells)
    edges = np.arange(41), np.arange(31)
    start = np.linspace(0, 40, 6).astype(int), np.linspace(0, 30, 5).astype(int)
    heaviest = lambda r, c: np.diff(np.diff(sums[np.ix_(r, c)], axis=0), axis=1).max()  # noqa: E731
    steps = [heaviest(*start), *(heaviest(*s) for s in alternate(sums, edges, start, (40, 30)))]
    assert all(b <= a * 1.002 for a, b in itertools.pairwise(steps))
    assert steps[-1] < 0.8 * steps[0]
    kept = alternate(sums, edges, start, (40, 30), fixed=True)
    assert all(np.array_equal(rows, start[0]) for rows, _ in kept)
    square = prefix(cells[:30, :30])
    cost = lambda at: np.diff(np.diff(square[np.ix_(at, at)], axis=0), axis=1).max()  # noqa: E731
    begin = np.linspace(0, 30, 4).astype(int)
    moved = descend(cost, np.arange(31), begin, 15)
    assert cost(moved) < cost(begin)
    assert max(np.diff(moved)) <= 15


def sources(A, comm, tmp):
    """The same matrix from everywhere."""
    yield A
    yield A if comm.rank == comm.size - 1 else None
    yield ps.dist.csr_array(A, comm)
    yield str(tmp)


@pytest.mark.parametrize("shape", [(90, 90), (150, 40), (40, 150)])
@pytest.mark.parametrize("grid", [(2, 2), (3, 1), (1, 2)])
def test_cuts_by_nonzeros_are_even_and_lose_nothing(shape, grid, tmp_path):
    A = skewed(*shape, 2500, seed=sum(shape))
    ps.save(tmp_path / "a.penstock", A)

    def work(comm):
        out = []
        for source in sources(A, comm, tmp_path / "a.penstock"):
            T = ps.dist.tiled_array(source, comm, grid=grid, cuts="nonzeros")
            C = T.collect()
            out.append((T.tile_sizes, C.indptr, C.indices, C.data, T.tile_nnz, T.explain()))
        return out

    found = [each for rank in run(work, grid[0] * grid[1]) for each in rank]
    sizes = found[0][0]
    cuts = [np.concatenate([[0], np.cumsum(s)]) for s in sizes]
    parts = math.lcm(*grid)
    dense = A.to_scipy().toarray()
    for each in found:
        assert each[0] == sizes, "ranks, or sources, differ in where they cut"
        for got, right in zip(each[1:4], (A.indptr, A.indices, A.data), strict=True):
            np.testing.assert_array_equal(got, right)
        wanted = [[np.count_nonzero(block) for block in np.split(rows, cuts[1][1:-1], axis=1)]
                  for rows in np.split(dense, cuts[0][1:-1])]  # fmt: skip
        np.testing.assert_array_equal(each[4], wanted)
    for n, side in zip(shape, sizes, strict=True):
        assert len(side) == parts and sum(side) == n
        assert max(side) <= 2 * -(-n // parts), (
            "a tile with more than twice the rows of an equal one"
        )
    if shape[0] == shape[1]:
        assert sizes[0] == sizes[1], "A @ A needs other tiles"
    equal = [np.append(np.arange(0, n, -(-n // parts)), n) for n in shape]
    before, after = loads(A, equal, grid), loads(A, cuts, grid)
    assert after[0] * after[1] <= before[0] * before[1] * 1.01
    if grid[0] > 1:
        assert after[1] < 0.75 * before[1], (before, after)
        assert f"{after[1]:.3g} times the mean ({before[1]:.3g} with equal tiles)" in found[0][5]


@pytest.mark.parametrize("grid", [(2, 2), (4, 1)])
def test_cuts_by_flops_even_out_a_square(grid):
    A = skewed(120, 120, 1500, seed=5)

    def work(comm):
        T = ps.dist.tiled_array(A, comm, grid=grid, cuts="flops")
        return T.tile_sizes, ps.dist.matmul(T, T, "c").plan().loads, T.explain()

    sizes, planned, said = run(work, 4)[0]
    cuts = [np.concatenate([[0], np.cumsum(s)]) for s in sizes]
    equal = np.arange(0, 121, 120 // math.lcm(*grid))
    before, after = (loads(A, c, grid, flops=True)[0] for c in ([equal, equal], cuts))
    assert after < 0.7 * before, (before, after)
    flops = np.array([rank["flops"] for rank in planned])
    assert flops.max() / flops.mean() == pytest.approx(after)
    assert "cut by flops of A @ A" in said


@given(
    st.sampled_from([(1, 2), (2, 2), (3, 1), (3, 2)]),
    st.sampled_from(("auto", "a", "b", "c", "cover", "summa")),
    st.sampled_from((False, True, "random")),
    st.sampled_from(("nonzeros", "flops", "auto", "sizes")),
    st.sampled_from((None, None, "cpu")),
    st.integers(0, 99),
)
@settings(max_examples=30, deadline=None)
def test_products_are_those_of_equal_tiles(grid, stationary, steal, cuts, device, seed):
    n = 20 + seed % 30
    A = skewed(n, n, 8 * n, seed)
    X = np.random.default_rng(seed).integers(0, 5, (n, 1 + seed % 9)).astype(float)
    if stationary == "cover":
        steal, device = False, None
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.choice(np.arange(1, n), 3, replace=False))
    sizes = np.diff([0, *inner, n]).tolist()
    how = {"tile_rows": sizes, "tile_cols": sizes} if cuts == "sizes" else {"cuts": cuts}

    def work(comm):
        T = ps.dist.tiled_array(A, comm, grid=grid, device=device, **how)
        Y = ps.dist.matmul(T, ps.dist.tiled_array(X, like=T), **how_of(stationary, steal, seed))
        out = [Y.collect(), ps.dist.matmul(T, Y, "c").collect()]
        if stationary != "cover":
            C = ps.dist.matmul(T, T, **how_of(stationary, steal, seed))
            assert C.tile_sizes == T.tile_sizes
            out.append(C.collect().to_scipy().toarray())
            cube = ps.dist.matmul(C, ps.dist.tiled_array(A, like=T), "c")
            out.append(cube.collect().to_scipy().toarray())
        return out

    a = A.to_scipy()
    wanted = [a @ X, a @ (a @ X), (a @ a).toarray(), (a @ a @ a).toarray()]
    for out in run(work, grid[0] * grid[1]):
        for got, right in zip(out, wanted, strict=False):
            np.testing.assert_array_equal(got, right)


def test_masks_replicas_and_stores_take_uneven_tiles(tmp_path):
    A = skewed(60, 60, 500, seed=3)

    def work(comm):
        T = ps.dist.tiled_array(A, comm, 15, 15, cuts="nonzeros")
        C = ps.dist.matmul(T, T, replicas=2)
        rows, cols = C.tile_sizes
        on = ps.dist.tiled_array(A, comm, rows, cols)
        masked = ps.dist.matmul(T, T, mask=on).collect()
        stored = ps.dist.matmul(T, T, out=tmp_path / "c.penstock", memory=20_000)
        Y = ps.dist.matmul(T, ps.dist.tiled_array(np.eye(60), like=T), nodes=2)
        with pytest.raises(ValueError, match="tile_sizes of C"):
            ps.dist.matmul(T, T, mask=ps.dist.tiled_array(A, comm, max(rows), max(cols)))
        return [m.to_scipy().toarray() for m in (C.collect(), masked, stored)], Y.collect()

    a = A.to_scipy()
    square = (a @ a).toarray()
    for (whole, masked, stored), y in run(work, 4):
        np.testing.assert_array_equal(whole, square)
        np.testing.assert_array_equal(masked, square * (a.toarray() != 0))
        np.testing.assert_array_equal(stored, square)
        np.testing.assert_array_equal(y, a.toarray())


def test_auto_takes_equal_tiles_where_work_is_even():
    even = ps.generate.uniform(2000, nnz_per_row=8, seed=1)
    uneven = skewed(2000, 2000, 60_000, seed=1)

    def work(comm):
        return [ps.dist.tiled_array(m, comm, cuts="auto").tile_sizes for m in (even, uneven)]

    equal, cut = run(work, 4)[0]
    assert equal == ((1000, 1000), (1000, 1000))
    assert cut[0][0] < 800


def test_auto_cuts_by_flops_where_squares_are_uneven():
    """Most over mean flops of A A above 2 with equal tiles, counted here with SciPy: far less as cut. On a band no cuts
    of a square grid help, and tiles stay equal; so they do where work is even."""
    power = ps.generate.rmat(
        11, 16, a=0.6, b=0.14, c=0.14, undirected=False, scramble=False, seed=2
    )
    band = ps.generate.banded(1600, list(range(-9, 10)), seed=1)
    even = ps.generate.uniform(1600, nnz_per_row=12, seed=1)
    grid = (3, 3)

    def work(comm):
        tiles = [ps.dist.tiled_array(m, comm, grid=grid, cuts="auto") for m in (power, band, even)]
        return [([np.append(0, np.cumsum(n)) for n in t.tile_sizes], t.explain()) for t in tiles]

    (cut, said), (of_band, _), (of_even, _) = run(work, 9)[0]
    equal = [_tile_cuts.choice.equal_cuts(n, -(-n // 3)) for n in power.shape]
    before, after = (loads(power, cuts, grid, flops=True)[0] for cuts in (equal, cut))
    assert before > 2 > 1.5 > after
    assert "cut by flops of A @ A" in said
    for cuts in (of_band, of_even):
        assert np.array_equal(cuts[0], _tile_cuts.choice.equal_cuts(1600, 534))


def test_lower_tiles_of_a_band_spread_what_a_square_grid_has_on_two_ranks():
    """Entries of ranks are even, and no product waits for more than a small part of what its rank fetches."""
    n = 1600
    band = ps.generate.banded(n, list(range(-13, 14)), dtype=np.float32, seed=2)
    X = np.ones((n, 128), np.float32)

    def work(comm):
        found = []
        for rows in (n // 2, n // 32):
            T = ps.dist.tiled_array(band, comm, rows, n // 2, (2, 2))
            p = ps.dist.matmul(T, ps.dist.tiled_array(X, like=T), "c").plan().products
            fetched = [p["fetched"][p["owner"] == r] for r in range(4)]
            i, k = np.ogrid[: T.tiles[0], : T.tiles[1]]
            entries = np.bincount((i % 2 * 2 + k % 2).ravel(), T.tile_nnz.ravel())
            busiest = max(fetched, key=np.sum)
            found.append((entries.max() / entries.mean(), busiest.sum(), busiest.max()))
        return found

    (uneven, all_of_one, at_once), (even, low, small) = run(work, 4)[0]
    assert uneven > 1.9 and even < 1.01
    assert at_once > 0.9 * all_of_one and small < 0.15 * low
    assert low < 1.5 * all_of_one  # halos of the lower tiles, which are small here


def test_rank_0_decides_for_all(monkeypatch):
    """Hosts may know other networks, and round in other ways."""
    even = ps.generate.uniform(2000, nnz_per_row=8, seed=1)
    slow = networks["hdr-infiniband"]
    asked = []

    def network_of(comm):
        asked.append(comm.rank)
        return slow if comm.rank == 1 else networks["shared-memory"]

    def predicted(seen, rows, cols, dtype, network):
        is_equal = np.array_equal(rows, seen.equal[0]) and np.array_equal(cols, seen.equal[1])
        assert dtype == "float32", "bytes are predicted of another type"
        return float(is_equal == (network is not slow))

    monkeypatch.setattr(_tile_cuts.sources, "network_of", network_of)
    monkeypatch.setattr(_tile_cuts.choice._Seen, "seconds", predicted)
    optimal_of = _tile_cuts.choice.optimal

    def rounded(weights, edges, parts, most):
        """As a host would that adds up in another order: another cut on each call."""
        found = optimal_of(weights, edges, parts, most)
        asked.append("optimal")
        return (
            found
            if found is None or len(asked) % 3
            else np.append(found[:-2], [found[-2] - 1, found[-1]])
        )

    monkeypatch.setattr(_tile_cuts.choice, "optimal", rounded)
    uneven = skewed(500, 500, 9000, seed=4)

    def work(comm):
        out = []
        for by, A in (("auto", even), ("auto", uneven), ("nonzeros", uneven)):
            single = A.astype(np.float32)
            T = ps.dist.tiled_array(single, comm, cuts=by)
            out.append((T.tile_sizes, abs(T.collect().to_scipy() - single.to_scipy()).sum()))
        return out

    found = run(work, 4)
    assert sorted(set(asked) - {"optimal"}) == [0, 1, 2, 3]
    for rank in found:
        assert rank == found[0]
        assert [wrong for _, wrong in rank] == [0, 0, 0]


@pytest.mark.parametrize("root", [0, 1])
def test_like_cuts_columns_of_a_square_matrix_from_anywhere(root, tmp_path):
    A, B = skewed(90, 90, 2500, seed=1), skewed(90, 90, 700, seed=2)
    ps.save(tmp_path / "b.penstock", B)
    sp.save_npz(tmp_path / "b.npz", B.to_scipy())
    make = functools.partial(ps.generate.uniform, 90, nnz_per_row=7, seed=1)

    def work(comm):
        T = ps.dist.tiled_array(A, comm, cuts="nonzeros")
        square = T.tile_sizes[0], T.tile_sizes[0]
        assert len(set(square[0])) > 1
        one = B if comm.rank == root else None
        made = [*sources(B, comm, tmp_path / "b.penstock"), one, str(tmp_path / "b.npz"), make]
        for source in made:
            S = ps.dist.tiled_array(source, comm, like=T)
            assert S.tile_sizes == square, source
            if source is not make:
                C = ps.dist.matmul(ps.dist.matmul(T, S), S).collect()
                wanted = A.to_scipy() @ B.to_scipy() @ B.to_scipy()
                assert abs(C.to_scipy() - wanted).max() == 0
        dense = ps.dist.tiled_array(np.ones((90, 90)), like=T)
        assert dense.tile_sizes == (square[0], (90,)), "columns of a dense matrix are not A's"
        return True

    assert all(run(work, 2))


def test_generated_rows_are_counted_where_they_are_made():
    make = functools.partial(ps.generate.rmat, 8, 8, seed=3)
    A = make()

    def work(comm):
        T = ps.dist.tiled_array(make, comm, cuts="nonzeros")
        return T.tile_sizes, T.collect()

    whole = run(lambda comm: ps.dist.tiled_array(A, comm, cuts="nonzeros").tile_sizes, 2)[0]
    for sizes, C in run(work, 2):
        assert sizes == whole
        np.testing.assert_array_equal(C.indices, A.indices)


def test_what_cannot_be_cut_is_refused_in_words():
    A, wide = skewed(40, 40, 200, 1), skewed(40, 30, 200, 1)

    def work(comm):
        for source, how, words in (
            (
                A,
                {"cuts": "work"},
                "cuts='work' is unknown: choose one of area, nonzeros, flops, auto",
            ),
            (np.ones((40, 3)), {"cuts": "nonzeros"}, "dense matrix: there is no work to cut by"),
            (A, {"cuts": "flops", "tile_cols": [20, 20]}, "with tile_cols"),
            (wide, {"cuts": "flops"}, "A is 40 x 30 .* take cuts='nonzeros'"),
            (
                A,
                {"tile_rows": [10, 20]},
                "tile_rows add up to 30, the matrix has 40 rows: give the rows",
            ),
            (
                A,
                {"tile_rows": [10, 20], "cuts": "nonzeros"},
                "tile_rows add up to 30, the matrix has 40 rows",
            ),
            (
                np.ones((40, 3)),
                {"tile_cols": [1, 1]},
                "tile_cols add up to 2, the matrix has 3 columns",
            ),
            (A, {"tile_rows": [10, 0, 30]}, "give a positive number"),
        ):
            with pytest.raises(ValueError, match=words):
                ps.dist.tiled_array(source, comm, **how)
        T = ps.dist.tiled_array(A, comm, [10, 30], [12, 28])
        for rows in (28, 5):
            with pytest.raises(ValueError, match="cut at different places.*like="):
                ps.dist.matmul(T, ps.dist.tiled_array(A, comm, rows, 28), "c")
        with pytest.raises(ValueError, match="ranks disagree on cuts"):
            ps.dist.tiled_array(A, comm, cuts=("area", "nonzeros")[comm.rank % 2])
        return True

    assert all(run(work, 2))


def test_small_and_empty_matrices_are_cut():
    for rows, cols, nnz in ((1, 1, 1), (2, 3, 0), (0, 5, 0), (3, 3, 3)):
        A = ps.csr_array(
            sp.random_array((rows, cols), density=min(1.0, nnz / max(rows * cols, 1)), format="csr")
        )

        def work(comm, A=A):
            T = ps.dist.tiled_array(A, comm, cuts="nonzeros")
            return T.shape, T.collect().nnz

        assert run(work, 4) == [((rows, cols), A.nnz)] * 4
