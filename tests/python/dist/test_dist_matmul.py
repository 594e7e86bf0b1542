"""Products of tiles beyond the plain one: masks, copies of the grid, C in a file."""

import numpy as np
import pytest
from dist_support import how_of, run
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.dist import _matmul, _tile_choice, _tile_price

R = ps.generate.rmat(7, 8, seed=3, dtype=np.float64)
A = ps.csr_array((np.ceil(10 * R.data), R.indices, R.indptr), shape=R.shape)  # sums are exact


def whole_numbers(rows, cols, density, seed, dtype=np.float64):
    """Sums are exact in any order."""
    rng = np.random.default_rng(seed)
    dense = rng.integers(1, 5, (rows, cols)) * (rng.random((rows, cols)) < density)
    row, col = np.nonzero(dense)
    return ps.csr_array((dense[row, col].astype(dtype), (row, col)), shape=dense.shape, dtype=dtype)


def same(c, wanted):
    for got, right in (
        (c.indptr, wanted.indptr),
        (c.indices, wanted.indices),
        (c.data, wanted.data),
    ):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(right))


@given(
    st.tuples(*[st.integers(0, 14)] * 3),
    st.sampled_from([(1, 1), (1, 2), (2, 2), (3, 1)]),
    st.sampled_from(("auto", "a", "b", "c", "summa")),
    st.sampled_from((False, True, "random")),
    st.sampled_from((np.bool_, np.float32, np.float64)),
    st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_masked_products_are_those_of_whole_matrices(shape, grid, stationary, steal, dtype, seed):
    m, k, n = shape
    a, b = whole_numbers(m, k, 0.4, seed), whole_numbers(k, n, 0.4, seed + 1)
    mask = whole_numbers(m, n, [0, 0.1, 0.5][seed % 3], seed + 2, dtype)
    cut = 1 + seed % 5

    def work(comm):
        at = ps.dist.tiled_array(a, comm, cut, 4, grid)
        bt = ps.dist.tiled_array(b, comm, 4, 3, grid)
        on = ps.dist.tiled_array(mask, comm, cut, 3, grid)
        c = ps.dist.matmul(at, bt, **how_of(stationary, steal, seed), mask=on)
        i, j = c.plan().products["i"], c.plan().products["j"]
        assert np.all(on.tile_nnz[i, j] > 0), "a product where the mask is empty"
        return c.collect()

    for c in run(work, grid[0] * grid[1]):
        same(c, ps.spgemm(a, b, mask=mask))


def test_masks_bound_the_memory_and_are_refused_in_words():
    few = ps.csr_array((np.ones(3), ([0, 60, 127], [5, 70, 9])), shape=A.shape)

    def work(comm):
        t, on = ps.dist.tiled_array(A, comm), ps.dist.tiled_array(few, comm)
        with pytest.raises(MemoryError, match="needs about"):
            ps.dist.matmul(t, t, "c", memory=5000)
        same(ps.dist.matmul(t, t, "c", memory=5000, mask=on).collect(), ps.spgemm(A, A, mask=few))
        refused = [
            (ps.dist.tiled_array(few[:100], comm), ValueError, "shape 100 x 128, C has 128 x 128"),
            (ps.dist.tiled_array(few, comm, 10), ValueError, "tile_rows=64"),
            (ps.dist.tiled_array(few, comm, 64, 64, (1, 2)), ValueError, "grid of 1 x 2 ranks"),
            (ps.dist.tiled_array(np.ones((128, 128)), comm), ValueError, "mask's tiles are dense"),
            (few, TypeError, "cut it with ps.dist.tiled_array"),
        ]
        for mask, error, words in refused:
            with pytest.raises(error, match=words):
                ps.dist.matmul(t, t, mask=mask)
        with pytest.raises(ValueError, match="B is dense"):
            ps.dist.matmul(t, ps.dist.tiled_array(np.ones((128, 2)), comm), mask=on)
        comm.barrier()

    run(work, 2)


GRIDS = [(1, 2, 2), (2, 2, 2), (2, 1, 2), (3, 1, 3), (1, 4, 4), (2, 4, 2), (2, 4, 4)]


@given(
    st.tuples(*[st.integers(0, 14)] * 3),
    st.sampled_from(GRIDS),
    st.booleans(),
    st.sampled_from((False, True, "random")),
    st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_copies_add_up_to_the_product(shape, grid, sparse, steal, seed):
    m, k, n = shape
    rows, cols, replicas = grid
    a, b = whole_numbers(m, k, 0.4, seed), whole_numbers(k, n, 0.4, seed + 1)
    cut = 1 + seed % 5

    def work(comm):
        at = ps.dist.tiled_array(a, comm, cut, 2, (rows, cols))
        bt = ps.dist.tiled_array(b if sparse else b.toarray(), comm, 2, 3, (rows, cols))
        c = ps.dist.matmul(at, bt, **how_of("auto", steal, seed), replicas=replicas)
        return c.collect(), c.times

    found = run(work, rows * cols)
    for c, _ in found:
        if sparse:
            same(c, ps.spgemm(a, b))
        else:
            np.testing.assert_array_equal(c, a @ b.toarray())
    sent, come = (sum(t[f"{w}_bytes"] for _, t in found) for w in ("sent", "received"))
    assert sent == come


def test_the_model_knows_the_bytes_of_copies():
    def work(comm):
        at, bt = (
            ps.dist.tiled_array(A, comm, grid=(2, 4)),
            ps.dist.tiled_array(np.ones((128, 24)), comm, grid=(2, 4)),
        )
        counts = _tile_choice.count_maps(at._core.map, bt._core.map)
        for copies in (2, 4):
            p = _tile_price.price_product(counts, ps.dist.networks["hdr-infiniband"], f"c*{copies}")
            loads = _matmul.plan(at, bt, "c", copies).loads
            planned = sum(r["sent"] for r in loads)
            c = ps.dist.matmul(at, bt, replicas=copies)
            moved = np.array([c.times["fetched_bytes"], c.times["sent_bytes"]])
            comm.all_reduce(moved)
            heads = 4 * 4 * (copies - 1) * 8  # of pieces: where in the tile they belong
            # Rows that two products share go once; numbers of rows are padded.
            assert planned // 2 < moved[1] - heads <= planned + heads // 2
            assert p.bytes_all == moved[0] + planned
            assert moved[0] <= sum(r["fetched"] for r in loads)  # some tiles are still there
        assert f"stationary c in {copies} copies" in str(c.plan())

    run(work, 8)
    found = ps.dist.predict_products(
        A, [1, 16], "hdr-infiniband", op="spmm", algorithms=["c", "c*4"]
    )
    assert found.at("c*4", 16).bytes_all > 0 and "c*4, 1 ranks" in found.left_out


def test_copies_are_refused_in_words():
    def work(comm):
        t = ps.dist.tiled_array(A, comm)
        for kwargs, error, words in (
            ({"replicas": 3}, ValueError, "replicas=3 on a grid of 2 x 1 ranks"),
            ({"replicas": 0}, ValueError, "replicas=0"),
            ({"replicas": 2, "stationary": "a"}, ValueError, "copies of C"),
            (
                {"replicas": 2, "memory": 9000},
                MemoryError,
                r"copy of another's tile \(replicas=2\)",
            ),
        ):
            with pytest.raises(error, match=words):
                ps.dist.matmul(t, t, **kwargs)
        comm.barrier()

    run(work, 2)


def test_large_tiles_are_merged_with_small_ones():
    a = ps.generate.uniform(9000, nnz_per_row=16, dtype=np.bool_, seed=1)
    counts = ps.spgemm(a, a)

    def work(comm):
        t = [
            ps.dist.tiled_array(a, comm, *cut) for cut in ((9000, 6000), (6000, 9000), (2000, 2000))
        ]
        same(ps.dist.matmul(t[0], t[1]).collect(), counts)  # 200,000 rows and entries, then 110,000
        same(ps.dist.matmul(t[2], t[2], "a").collect(), counts)

    run(work, 2)


@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_results_larger_than_memory_go_to_a_file(ranks, tmp_path):
    few = whole_numbers(128, 128, 0.2, 5)
    whole, masked = ps.spgemm(A, A), ps.spgemm(A, A, mask=few)

    def work(comm):
        grid = {3: (1, 3), 4: (2, 2)}.get(
            comm.size
        )  # a chunk has as many rows of tiles as the grid
        t, on = (
            ps.dist.tiled_array(A, comm, 10, 10, grid),
            ps.dist.tiled_array(few, comm, 10, 10, grid),
        )
        memory = 60000 if comm.size == 1 else 30000  # of several chunks: as a whole it is refused
        with pytest.raises(MemoryError, match=r"write C to a store \(out=\)"):
            ps.dist.matmul(t, t, "c", memory=memory)
        for stationary, steal in (("c", False), ("a", True), ("summa", False)):
            name = tmp_path / f"{stationary}.penstock"
            c = ps.dist.matmul(t, t, **how_of(stationary, steal), memory=memory, out=name)
            same(c, whole)
        c = ps.dist.matmul(t, t, memory=20000, mask=on, out=tmp_path / "masked.penstock")
        same(c, masked)
        again = ps.dist.tiled_array(tmp_path / "c.penstock", comm)
        same(again.collect(), whole)

    run(work, ranks)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "a.penstock",
        "c.penstock",
        "masked.penstock",
        "summa.penstock",
    ]


def test_files_that_cannot_be(tmp_path, monkeypatch):
    def work(comm, path, error, words, memory=60000, b=None):
        t = ps.dist.tiled_array(A, comm, 10, 10)
        b = t if b is None else ps.dist.tiled_array(b, comm, 10)
        with pytest.raises(error, match=words):
            ps.dist.matmul(t, b, "c", memory=memory, out=path)
        comm.barrier()

    (tmp_path / "full").write_text("not a store")
    run(work, 2, tmp_path / "none" / "c", OSError, "does not exist")
    run(work, 2, tmp_path / "full", Exception, "full")
    run(
        work,
        2,
        tmp_path / "c",
        MemoryError,
        "rows of tiles of C from row 0 on.*smaller tile_rows",
        100,
    )
    run(work, 2, tmp_path / "c", ValueError, "B is dense", 60000, np.ones((128, 2)))
    assert [p.name for p in tmp_path.iterdir()] == ["full"]

    from penstock._io import _append

    add, calls = _append.Growing.add, []

    def fail(self, array):
        calls.append(1)
        if len(calls) > 9:
            raise OSError(28, "No space left on device")
        add(self, array)

    monkeypatch.setattr(_append.Growing, "add", fail)
    run(work, 2, tmp_path / "c", OSError, "No space left on device")
    assert [p.name for p in tmp_path.iterdir()] == ["full"]
