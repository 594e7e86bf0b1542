"""Matrices with more rows and columns than 32 bits count, against SciPy and one process on renumbered entries."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.dist._wide import numbers

import penstock as ps

EDGES = [
    0,
    1,
    2**31 - 2,
    2**31 - 1,
    2**31,
    2**31 + 1,
    2**32 - 1,
    2**32,
    2**32 + 1,
    2**33 - 2,
    2**33 - 1,
]
N = 2**33


def drawn(seed, count=600, dtype=np.float64, n=N, m=N):
    """Entries whose numbers are close to powers of two, or anywhere; some are given twice."""
    rng = np.random.default_rng(seed)

    def some(extent):
        near = np.array([e for e in EDGES if e < extent])
        return np.where(
            rng.random(count) < 0.5, rng.choice(near, count), rng.integers(0, extent, count)
        )

    pool = rng.integers(0, count, count)  # so that numbers meet again
    row, col = some(n)[pool], some(m)[rng.permutation(pool)]
    values = None if dtype is bool else rng.integers(1, 9, count).astype(dtype)
    return row, col, values


def whole(entries):
    """(SciPy's matrix of the entries, row numbers, column numbers), renumbered in order."""
    row, col, values = entries
    rows, i = np.unique(row, return_inverse=True)
    cols, j = np.unique(col, return_inverse=True)
    values = np.ones(len(row)) if values is None else values
    a = sp.csr_array((values, (i, j)), shape=(len(rows), len(cols)))
    if entries[2] is None:
        a.data[:] = 1
    return a, rows, cols


def of(entries, comm, shape=(N, N), **how):
    """Each rank gives every ranks-th entry."""
    mine = [None if a is None else a[comm.rank :: comm.size] for a in entries]
    return ps.dist.csr_array(ps.dist.Entries(*mine, shape=shape), comm, **how)


def at(numbers):
    """A value for each number, which says which it is."""
    return ((numbers * 7919) % 1009).astype(np.float64)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("partition", ["balanced", "contiguous"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, bool])
def test_products(ranks, partition, dtype):
    entries = drawn(ranks, dtype=dtype)
    a, rows, cols = whole(entries)

    def work(comm):
        D = of(entries, comm, partition=partition)
        assert D.listed and D.shape == (N, N) and D.dtype == dtype
        assert np.array_equal(D.rows, D.cols)
        y, z = D @ at(D.cols), D.T @ at(D.rows)
        many = D @ np.stack([at(D.cols), at(D.cols) ** 2], axis=1)
        return D.rows, y, z, many, D.nnz, D.local_nnz

    parts = ps.dist.run(work, ranks)
    ids, y, z = (np.concatenate([p[k] for p in parts]) for k in range(3))
    assert np.array_equal(ids, np.union1d(rows, cols))
    assert parts[0][4] == a.nnz == sum(p[5] for p in parts)
    expected = np.zeros(len(ids)), np.zeros(len(ids))
    expected[0][np.searchsorted(ids, rows)] = a @ at(cols)
    expected[1][np.searchsorted(ids, cols)] = a.T @ at(rows)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(y, expected[0], rtol=tolerance)
    np.testing.assert_allclose(z, expected[1], rtol=tolerance)
    many = np.concatenate([p[3] for p in parts])
    np.testing.assert_allclose(many[:, 0], y, rtol=tolerance)
    if partition == "balanced" and ranks > 1:
        assert max(p[5] for p in parts) < 0.8 * a.nnz


@pytest.mark.parametrize("shape", [(N, 1000), (1000, N), (2**40, 2**35)])
def test_matrices_that_are_not_square(shape):
    entries = drawn(5, n=shape[0], m=shape[1])
    a, rows, cols = whole(entries)

    def work(comm):
        D = of(entries, comm, shape=shape)
        return D.rows, D @ at(D.cols), D.cols, D.T @ at(D.rows)

    parts = ps.dist.run(work, 3)
    ids, y, columns, z = (np.concatenate([p[k] for p in parts]) for k in range(4))
    assert np.array_equal(ids, rows) and np.array_equal(columns, cols)
    np.testing.assert_allclose(y, a @ at(cols), rtol=1e-12)
    np.testing.assert_allclose(z, a.T @ at(rows), rtol=1e-12)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 60), st.booleans())
def test_the_same_bits_however_entries_are_given(seed, ranks, count, balanced):
    """Of rows with entries in one place, whose order decides the last bit."""
    row, _, values = drawn(seed, count=count)
    values = np.random.default_rng(seed).standard_normal(count)
    entries = row, (row * 3 + 1) % N, values

    def work(comm):
        D = of(entries, comm, partition="balanced" if balanced else "contiguous")
        return D.rows, D @ np.ones(len(D.cols)), D.nnz

    alone, parts = ps.dist.run(work, 1), ps.dist.run(work, ranks)
    for k in range(2):
        assert np.array_equal(np.concatenate([p[k] for p in parts]), alone[0][k])
    assert parts[0][2] == alone[0][2]


def test_small_matrices_of_entries_hold_all_rows():
    entries = drawn(9, n=700, m=500)
    a = sp.csr_array((entries[2], entries[:2]), shape=(700, 500))

    def work(comm):
        D = of(entries, comm, shape=(700, 500))
        assert not D.listed
        return D.collect(D @ D.share(np.arange(500.0)))

    for y in ps.dist.run(work, 3):
        np.testing.assert_allclose(y, a @ np.arange(500.0), rtol=1e-12)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2**40), (2**40, 0), (N, N), (5, 5)])
def test_matrices_without_entries(shape):
    def work(comm):
        D = of(([], [], None), comm, shape=shape)
        assert D.shape == shape and D.nnz == 0 and D.listed == (max(shape) > 5)
        y = D @ np.ones(len(D.cols))
        if shape == (N, N):
            levels, info = ps.dist.csgraph.bfs(D, 2**32, return_info=True)
            assert levels.size == 0 and info["reached"] == 1
            assert ps.dist.csgraph.connected_components(D)[0] == N
        return y.size

    assert sum(ps.dist.run(work, 3)) == (5 if shape == (5, 5) else 0)


def low(monkeypatch):
    """Graphs of more than 2^8 vertices are listed, so that one process can make them, too."""
    monkeypatch.setattr(numbers, "LIMIT", 1 << 8)


GRAPHS = {
    "undirected": {"edge_factor": 2},
    "directed": {"edge_factor": 1.5, "undirected": False},
    "with loops": {"edge_factor": 0.3, "self_loops": True},
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("ranks", [1, 3, 4])
def test_searches(monkeypatch, name, ranks):
    make = functools.partial(ps.generate.rmat, 10, seed=4, **GRAPHS[name])
    a = make()
    low(monkeypatch)
    source = int(np.argmax(np.diff(a.indptr)))
    levels, before = ps.csgraph.bfs(a, source, return_predecessors=True)
    count, labels = ps.csgraph.connected_components(a, directed=True, connection="weak")
    s = a.to_scipy()
    listed = np.flatnonzero(np.diff(s.indptr) + np.bincount(s.indices, minlength=1024))
    alone = int(np.setdiff1d(np.arange(1024), listed)[5])

    def work(comm):
        D = ps.dist.csr_array(make, comm)
        assert D.listed and D.nnz == a.nnz
        found = [ps.dist.csgraph.bfs(D, source, return_predecessors=True, direction=d, return_info=True)
                 for d in ("auto", "top_down", "bottom_up")]  # fmt: skip
        unlisted = ps.dist.csgraph.bfs(D, alone, return_info=True)
        return D.rows, found, ps.dist.csgraph.connected_components(D), unlisted

    parts = ps.dist.run(work, ranks)
    ids = np.concatenate([p[0] for p in parts])
    assert np.array_equal(ids, listed)
    for k in range(3):
        assert np.array_equal(np.concatenate([p[1][k][0] for p in parts]), levels[ids])
        ours, theirs = np.concatenate([p[1][k][1] for p in parts]), before[ids]
        assert np.array_equal(ours, theirs)
        assert parts[0][1][k][2]["reached"] == (levels >= 0).sum()
    assert {p[2][0] for p in parts} == {count}
    assert np.array_equal(np.concatenate([p[2][1] for p in parts]), labels[ids])
    assert all((p[3][0] == -1).all() and p[3][1]["reached"] == 1 for p in parts)


def test_other_generators_make_no_more_than_32_bits_count(monkeypatch):
    for make in (
        functools.partial(ps.generate.banded, 2**32, [0]),
        functools.partial(ps.generate.uniform, 2**31),
    ):
        with pytest.raises(ValueError, match="column indices have 32 bits"):
            ps.dist.run(lambda comm, make=make: ps.dist.csr_array(make, comm), 2)
    low(monkeypatch)
    with pytest.raises(
        ValueError, match="ps.generate.laplacian makes at most.*ps.generate.rmat makes more"
    ):
        ps.dist.run(
            lambda comm: ps.dist.csr_array(
                functools.partial(ps.generate.laplacian, (20, 20)), comm
            ),
            2,
        )


@pytest.mark.parametrize("dtype", [bool, np.float32])
def test_generated_graphs_have_the_entries_of_one_process(monkeypatch, dtype):
    make = functools.partial(ps.generate.rmat, 9, 3, seed=6, dtype=dtype)
    a = make().to_scipy().astype(float)
    low(monkeypatch)

    def work(comm):
        D = ps.dist.csr_array(make, comm)
        return D.rows, D @ at(D.cols)

    parts = ps.dist.run(work, 3)
    ids, y = (np.concatenate([p[k] for p in parts]) for k in range(2))
    np.testing.assert_allclose(y, (a @ at(np.arange(512)))[ids], rtol=1e-5)


def test_a_graph_of_2_to_the_33_vertices():
    """Levels against products: an independent search through the same matrix, and its invariants."""
    make = functools.partial(ps.generate.rmat, 33, 2e-5, seed=2, scramble=True)

    def work(comm):
        D = ps.dist.csr_array(make, comm)
        degrees = D @ np.ones(len(D.cols))
        source = max(comm.collect((degrees.max(), int(D.rows[degrees.argmax()]))))[1]
        levels, before, info = ps.dist.csgraph.bfs(
            D, source, return_predecessors=True, return_info=True
        )
        front, seen, level = (D.rows == source).astype(float), D.rows == source, 0
        while True:
            assert np.array_equal(levels == level, front > 0)
            met = (D.T @ front > 0) & ~seen
            count = np.array([met.sum()])
            comm.all_reduce(count)
            if count[0] == 0:
                break
            seen, front, level = seen | met, met.astype(float), level + 1
        reached = levels > 0
        assert (before[~reached] == -9999).all() and (before[reached] >= 0).all()
        count, labels = ps.dist.csgraph.connected_components(D)
        mine = np.unique(labels[levels >= 0])
        return (
            D.shape,
            len(D.rows),
            info["reached"],
            level,
            info["depth"],
            count,
            mine,
            labels,
            D.rows,
        )

    parts = ps.dist.run(work, 4)
    shape, _, reached, level, depth, count, *_ = parts[0]
    assert shape == (2**33, 2**33) and level == depth > 1 and reached > 10
    assert len(np.unique(np.concatenate([p[6] for p in parts]))) == 1
    labels, ids = (np.concatenate([p[k] for p in parts]) for k in (7, 8))
    assert ids.max() > 2**32 and labels.max() > 2**32 and labels.max() < count
    assert len(np.unique(labels)) == count - (2**33 - len(ids))
    first = np.sort(
        np.unique(labels, return_index=True)[1]
    )  # the smallest vertex of each component
    before = np.arange(len(first))
    assert np.array_equal(labels[first], ids[first] - first + before)


def test_on_a_device():
    entries = drawn(3)
    a, rows, cols = whole(entries)

    def work(comm):
        D = of(entries, comm, device="cpu")
        return D.rows, D @ at(D.cols)

    parts = ps.dist.run(work, 2)
    ids, y = (np.concatenate([p[k] for p in parts]) for k in range(2))
    np.testing.assert_allclose(y[np.searchsorted(ids, rows)], a @ at(cols), rtol=1e-12)


REFUSED = {
    "collect": lambda D: D.collect(np.zeros(len(D.rows))),
    "share": lambda D: D.share(np.zeros(3), root=0),
    "solvers": lambda D: ps.dist.linalg.cg(D, np.zeros(len(D.rows))),
    "preconditioners": lambda D: ps.dist.linalg.Jacobi(D),
    "tiles": lambda D: ps.dist.tiled_array(D),
    "pagerank": lambda D: ps.dist.csgraph.pagerank(D),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_takes_whole_matrices_says_so(what):
    entries = drawn(1)
    with pytest.raises(
        ValueError, match=f"{what}.*that have entries|{what}.*that alone have entries"
    ):
        ps.dist.run(lambda comm: REFUSED[what](of(entries, comm)), 2)


def test_bad_arguments_are_named():
    def make(row, col, values=None, shape=(N, N), **how):
        return lambda comm: ps.dist.csr_array(
            ps.dist.Entries(row, col, values, shape=shape), comm, **how
        )

    bad = [
        (make([2**33], [0]), ValueError, r"row\[0\] = 8589934592 is outside 0 .. 8589934591"),
        (make([0], [-1]), ValueError, r"col\[0\] = -1 is outside"),
        (make([0, 1], [1]), ValueError, "equally many"),
        (make([0.5], [1]), TypeError, "list of integers"),
        (
            make(np.array([2**64 - 1], np.uint64), [1]),
            ValueError,
            "18446744073709551615 is outside",
        ),
        (make([0], [1], ["a"]), TypeError, "float32 or float64"),
        (make([0], [1], shape=(2**63, 2)), ValueError, r"0 to 2\^62 - 1"),
        (make([0], [1], shape=5), TypeError, "two integers"),
        (make([0], [1], partition="grid"), ValueError, "'contiguous' or 'balanced'"),
        (make([0], [1], partition="label_propagation"), ValueError, "reads the whole pattern"),
        (make([0], [1], sums="gather"), ValueError, "sums='owners' alone"),
    ]
    for work, kind, text in bad:
        with pytest.raises(kind, match=text):
            ps.dist.run(work, 2)
    for scale, kind, text in (
        (60, ValueError, "more than 2.60"),
        (61, ValueError, "between 1 and 60.* smaller scale"),
        (44, MemoryError, "rank [01] would draw .* use more machines, or a smaller edge_factor"),
    ):
        graph = functools.partial(ps.generate.rmat, scale)
        with pytest.raises(kind, match=text):
            ps.dist.run(lambda comm, graph=graph: ps.dist.csr_array(graph, comm), 2)
    with pytest.raises(ValueError, match="tiles hold at most .*, not 2147483648 x 2147483648"):
        ps.dist.run(
            lambda comm: ps.dist.tiled_array(functools.partial(ps.generate.rmat, 31), comm), 2
        )
    with pytest.raises(ValueError, match="different matrices"):
        ps.dist.run(lambda comm: make([0], [1], shape=(N, N + comm.rank))(comm), 2)
    with pytest.raises(ValueError, match="32-bit columns.*ps.dist.csr_array"):
        ps.generate.rmat(31)


def test_the_core_names_numbers_and_remedies():
    two, three = np.zeros(2, np.int64), np.zeros(3, np.int64)
    held = ps._core.DistEntries("bool")
    with pytest.raises(ValueError, match="2 rows and 3 columns: give one of each"):
        held.add_pattern(two, three, 0, 5, 5, 0)
    with pytest.raises(ValueError, match="another type than float64: give values of its type"):
        held.add(two, two, np.zeros(2), 0, 5, 5, 0)
    with pytest.raises(ValueError, match="2 rows and 3 values: give one of each"):
        ps._core.DistEntries("float64").add(two, two, np.zeros(3), 0, 5, 5, 0)

    def work(comm):
        mine = ps.dist.Entries([comm.rank], [2**32], shape=(N, N))
        return ps.dist.csr_array(mine, comm)._core.row_ids(True)

    with pytest.raises(ValueError, match=r"collect what each lists \(D.rows, D.cols\)"):
        ps.dist.run(work, 2)
