"""Distributed products: the same as the whole matrix's, however it is shared out and whatever carries the halo."""

import numpy as np
import pytest
from dist_support import (
    HALOS,
    PARTITIONS,
    RANKS,
    close,
    matrices,
    partition_of,
    random_owners,
    run,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

A = ps.generate.rmat(7, 8, seed=3, dtype=np.float64)


def vectors(n, columns, dtype, seed=0):
    shape = (n,) if columns == 0 else (n, columns)
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def products(comm, a, partition, columns, dtype, **how):
    """(A x, A^T y) as whole vectors on every rank."""
    d = ps.dist.csr_array(a, comm, partition, **how)
    assert d.shape == a.shape and d.nnz == a.nnz and d.dtype == a.dtype
    x, y = vectors(a.shape[1], columns, dtype), vectors(a.shape[0], columns, dtype, 1)
    down = d @ d.share(x)
    across = d.T @ d.share(y, of="y")
    assert down.shape[0] == d.local_shape[0] == d.rows.size
    assert across.shape[0] == d.local_shape[1] == d.cols.size
    return d.collect(down), d.collect(across, of="x")


@given(
    matrices(),
    st.sampled_from(RANKS),
    st.sampled_from((*PARTITIONS, "owners")),
    st.sampled_from(HALOS),
    st.sampled_from((0, 1, 3)),
)
@settings(max_examples=120, deadline=None)
def test_products_equal_those_of_the_whole_matrix(a, ranks, name, halo, columns):
    p = random_owners(a, ranks, a.nnz) if name == "owners" else partition_of(name, a)
    dtype = np.float32 if a.dtype == np.float32 else np.float64
    x, y = vectors(a.shape[1], columns, dtype), vectors(a.shape[0], columns, dtype, 1)
    for down, across in run(products_of(halo), ranks, a, p, columns, dtype):
        close(down, a @ x, a)
        close(across, a.T @ y, a)


def products_of(halo):
    return lambda comm, *args: products(comm, *args, halo=halo)


@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("ranks", RANKS)
def test_strategies_leave_the_same_bits(ranks, partition):
    first = run(products_of("isend"), ranks, A, partition, 2, np.float64)
    for halo in (*HALOS[1:], "auto"):
        for (down, across), (d, t) in zip(
            run(products_of(halo), ranks, A, partition, 2, np.float64), first, strict=True
        ):
            assert np.array_equal(down, d) and np.array_equal(across, t), halo


def test_one_object_multiplies_again_and_again():
    def work(comm):
        d = ps.dist.csr_array(A, comm, "bins", halo="indexed")
        x, y = d.share(vectors(A.shape[1], 0, np.float64)), np.ones(d.local_shape[0])
        for scale in (2.0, -1.0, 0.5):  # x lies elsewhere each time
            y = d.dot(scale * x, y.copy(), alpha=0.5, beta=scale)
            d @ np.ones((d.local_shape[1], 3))  # entries of another size, between
        return d.collect(y), d.halo

    x, wanted = vectors(A.shape[1], 0, np.float64), np.ones(A.shape[0])
    for scale in (2.0, -1.0, 0.5):
        wanted = 0.5 * (A @ (scale * x)) + scale * wanted
    results = run(work, 4)
    for y, halo in results:
        close(y, wanted, A)
        assert halo["strategy"] == "indexed" and halo["products"] == 6
    sent, received = (sum(h[f"{way}_bytes"] for _, h in results) for way in ("sent", "received"))
    assert sent == received > 0


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_planes_are_sent_from_an_x_that_moves(ranks):
    """A stencil's neighbours want entries that lie side by side, a scattered column more wants some that do not."""
    L = ps.generate.laplacian((6, 5, 4)).to_scipy().tolil()
    L[0, 60:120:7] = 2.0
    L, kept = ps.csr_array(L.tocsr()), [np.arange(120.0) ** p for p in (0.5, 1.5)]

    def work(comm, halo):
        d = ps.dist.csr_array(L, comm, "contiguous", halo=halo)
        x = [d.share(v) for v in kept]
        own = d.share(kept[0] + kept[1])
        y = [d @ x[i] for i in (0, 1, 1, 0)]  # back to where it was described before
        return [d.collect(v) for v in (*y, d @ own, d @ np.stack([x[0], own], 1))]

    first = run(work, ranks, "isend")[0]
    for y, x in zip(first, [*(kept[i] for i in (0, 1, 1, 0)), kept[0] + kept[1]], strict=False):
        close(y, L @ x, L)
    for halo in HALOS:
        for got in run(work, ranks, halo):
            assert all(np.array_equal(a, b) for a, b in zip(got, first, strict=True)), halo


@pytest.mark.parametrize("partition", ["balanced", "bins", "grid"])
@pytest.mark.parametrize("ranks", [1, 3, 4])
@pytest.mark.parametrize("semiring", ["min_plus", "or_and"])
def test_semirings(semiring, ranks, partition):
    x = (
        np.abs(vectors(A.shape[1], 0, np.float64))
        if semiring == "min_plus"
        else np.arange(128) % 9 == 0
    )

    def work(comm):
        d = ps.dist.csr_array(A, comm, partition, halo="isend")
        y = d.collect(d.dot(d.share(x), semiring=semiring))
        return y, d.collect(d.T.dot(d.share(x, of="y"), semiring=semiring), of="x")

    for down, across in run(work, ranks):
        assert np.array_equal(down, A.dot(x, semiring=semiring))
        assert np.array_equal(across, A.T.dot(x, semiring=semiring))


@given(matrices(dtypes=(np.float64,)), st.sampled_from((1, 2, 4, 8)))
@settings(max_examples=25, deadline=None)
def test_sums_by_reduction_and_gathered(a, ranks):
    x = vectors(a.shape[1], 0, np.float64)

    def work(comm):
        reduced = ps.dist.csr_array(a, comm, "grid", sums="reduce", halo="isend")
        y = reduced.collect(reduced @ reduced.share(x))
        z = reduced.collect(reduced @ reduced.share(np.stack([x, 2 * x], 1)))
        gathered = ps.dist.csr_array(a, comm, "bins", sums="gather", halo="isend")
        assert gathered.local_shape[0] == (a.shape[0] if comm.rank == 0 else 0)
        return y, z[:, 1] / 2, gathered @ gathered.share(x)

    results = run(work, ranks)
    for y, z, _ in results:
        close(y, a @ x, a)
        close(z, a @ x, a)
    close(results[0][2], a @ x, a)


@given(matrices(square=True), st.sampled_from(RANKS), st.sampled_from(PARTITIONS))
@settings(max_examples=40, deadline=None)
def test_metrics_are_those_of_the_partition(a, ranks, name):
    p = getattr(ps.partition, name)(a, ranks)
    wanted = p.metrics(a)
    for m in run(lambda comm: ps.dist.csr_array(a, comm, p).metrics(), ranks):
        for field in ("mad", "imbalance", "halo_volume", "partial_volume", "messages"):
            assert getattr(m, field) == pytest.approx(getattr(wanted, field)), field
        for field in ("nnz", "rows", "halo", "exchange", "ghost_rows", "ghosts_most"):
            assert np.array_equal(getattr(m, field), getattr(wanted, field)), field
        assert (m.bytes > 0).all()


@pytest.mark.parametrize("schedule", [ps.InCore(), ps.Streamed(block="4KiB", device="cpu")])
def test_schedules_and_plans(schedule):
    x = vectors(A.shape[1], 0, np.float64)

    def work(comm):
        d = ps.dist.csr_array(A, comm, schedule=schedule, halo="put")
        d.prepare("balanced")
        text = d.explain()
        assert "halo by put" in text and ("streamed" in text) == isinstance(schedule, ps.Streamed)
        return d.collect(d @ d.share(x), root=0)

    y, nothing = run(work, 2)
    assert nothing is None
    close(y, A @ x, A)


def test_vectors_from_one_rank_and_back():
    x = vectors(A.shape[1], 2, np.float64)

    def work(comm):
        d = ps.dist.csr_array(A, comm, random_owners(A, comm.size, 1))
        mine = d.share(x if comm.rank == 1 else None, root=1)
        assert np.array_equal(mine, x[d.cols]) and np.array_equal(mine, d.share(x))
        assert d.counts("x").tolist() == [len(r) for r in comm.collect(d.cols)]
        return d.collect(mine, root=2, of="x")

    results = run(work, 3)
    assert results[0] is None and np.array_equal(results[2], x)


def test_repr_and_transposed_shape():
    def work(comm):
        d = ps.dist.csr_array(ps.generate.uniform(20, 30, 2, seed=1), comm)
        assert d.T.shape == (30, 20) and d.T.T is d and d.T.local_shape == d.local_shape[::-1]
        return repr(d), repr(d.T)

    text, transposed = run(work, 2)[1]
    assert "20x30" in text and "rank 1" in text and transposed.startswith("<transpose of")


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "isend, persistent", lambda c: ps.dist.csr_array(A, c, halo="pigeon")),
        (ValueError, "label_propagation", lambda c: ps.dist.csr_array(A, c, "best")),
        (ValueError, "owners, reduce or gather", lambda c: ps.dist.csr_array(A, c, sums="some")),
        (ValueError, "direct, masters", lambda c: ps.dist.csr_array(A, c, scatter="x")),
        (ValueError, "2 ranks", lambda c: ps.dist.csr_array(A, c, ps.partition.balanced(A, 3))),
        (ValueError, "owners", lambda c: ps.dist.csr_array(A, c, np.full(128, 2, np.int32))),
        (TypeError, "one owner a row", lambda c: ps.dist.csr_array(A, c, 5)),
        (ValueError, "complex|astype", lambda c: ps.dist.csr_array(A.astype(complex), c)),
        (ValueError, "share", lambda c: ps.dist.csr_array(A, c) @ np.ones(3)),
        (ValueError, "of='z'", lambda c: ps.dist.csr_array(A, c).share(np.ones(128), of="z")),
        (ValueError, "128 entries", lambda c: ps.dist.csr_array(A, c).share(np.ones(3))),
        (ValueError, "entries of y", lambda c: ps.dist.csr_array(A, c).collect(np.ones(3))),
    ],
)  # fmt: skip
def test_what_is_refused(error, match, call):
    errors = (error, ps.NotCompiledError) if "astype" in match else error
    with pytest.raises(errors, match=match):
        run(call, 2)
