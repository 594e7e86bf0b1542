"""Edges that a GPU orients for triangles: lists and numbers are those of NumPy, counts those of the CPU."""

import numpy as np
import pytest
from graphs import graph, named
from penstock.csgraph import GpuOptions
from penstock.csgraph._graph import has_symmetric_pattern, simple

import penstock as ps
from penstock import _core

pytestmark = pytest.mark.gpu


def _hubs(rng):
    """Random edges, and three hubs that are joined to each other and to most vertices."""
    n = 3000
    tails = np.concatenate([rng.integers(0, n, 20_000), np.repeat([7, 1500, 2999], n)])
    heads = np.concatenate([rng.integers(0, n, 20_000), np.tile(np.arange(n), 3)])
    return graph(n, tails, heads)


def _cliques(rng):
    """Cliques of every size up to 150, around the sizes at which tables and chunks change, in a random numbering."""
    sizes = [*range(1, 40), 63, 64, 65, 127, 128, 129, 130, 150]
    n = sum(sizes)
    number = rng.permutation(n)
    first = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    pairs = [np.triu_indices(size, 1) for size in sizes]
    tails = np.concatenate([number[f + p[0]] for f, p in zip(first, pairs, strict=True)])
    heads = np.concatenate([number[f + p[1]] for f, p in zip(first, pairs, strict=True)])
    return graph(n, tails, heads)


def _dirty(rng):
    """Loops, duplicates, one direction of most edges, rows in any order."""
    tails, heads = rng.integers(0, 700, (2, 9000))
    tails = np.concatenate([tails, tails[:3000], np.arange(700)])
    heads = np.concatenate([heads, heads[:3000], np.arange(700)])
    return graph(700, tails, heads, both_ways=False)


def _alone(rng):
    """One edge of a symmetric graph lacks its mirror, and the sizes of both halves are the same."""
    a = named("rmat_10").to_scipy().tolil()
    i, j = next((i, j) for i, j in zip(*a.nonzero(), strict=True) if i < j)
    k = next(k for k in range(i + 1, a.shape[0]) if not a[i, k] and not a[k, i])
    a[i, j] = False  # leaves (j, i) below the diagonal, and adds (i, k) above it
    a[i, k] = True
    made = a.tocsr()
    made.eliminate_zeros()
    return ps.csr_array(made)


_make = {
    "hubs": _hubs,
    "cliques": _cliques,
    "dirty": _dirty,
    "alone": _alone,
    "empty": lambda rng: ps.csr_array((0, 0)),
    "small_star": lambda rng: graph(2000, np.zeros(1999, int), np.arange(1, 2000)),
    "isolated_ends": lambda rng: graph(100_000, [50_000, 50_001, 50_002], [50_001, 50_002, 50_000]),
    "two_blocks": lambda rng: graph(90, *rng.integers(0, 90, (2, 4096))),
}  # fmt: skip
SMALL = ["one_vertex", "no_edges", "self_loops", "duplicates", "rmat_10", "dense", *_make]
NAMES = [*SMALL, "rmat_16", "star", "grid", "directed", "long_open_lists"]
BOTH = [pytest.param(n, marks=pytest.mark.gpu_small if n in SMALL else ()) for n in NAMES]


def made(name):
    return _make[name](np.random.default_rng(11)) if name in _make else named(name)


def expected(a, renumbered):
    """(numbers or None, offsets, ends), by NumPy."""
    clean = simple(a).to_scipy().tocoo()
    n = a.shape[0]
    number = np.arange(n)
    if renumbered:
        degree = np.bincount(clean.row, minlength=n)
        number[np.argsort(-degree, kind="stable")] = np.arange(n)
    u, v = number[clean.row], number[clean.col]
    u, v = u[v < u], v[v < u]
    order = np.lexsort((v, u))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(u, minlength=n))])
    return number if renumbered else None, offsets, v[order]


def check_lists(oriented, right, what):
    numbers, offsets, ends = right[oriented.facts["renumbered"]]
    lists = ps.csr_array._wrap(oriented.lists)
    assert lists.place == "device" and lists.nnz == ends.size, (what, lists, oriented.facts)
    got = lists.to(ps.host)
    np.testing.assert_array_equal(got.indptr, offsets, what)
    np.testing.assert_array_equal(got.indices, ends, what)
    if numbers is None:
        assert oriented.numbers is None, (what, oriented.facts)
    else:
        np.testing.assert_array_equal(oriented.numbers, numbers, what)


@pytest.mark.parametrize("name", BOTH)
def test_lists_are_those_of_numpy(name):
    a = made(name)
    right = [expected(a, False), expected(a, True)]
    is_symmetric = has_symmetric_pattern(a)
    is_simple = is_symmetric and _core.is_simple(a._core)
    sources = {"host": a, "pinned": a.to(ps.pinned), "device": a.to(ps.device(0))}
    for where, source in sources.items():
        for said in {False, is_symmetric}:
            oriented = _core.orient_edges_gpu(source._core, 0, 0, said)
            check_lists(oriented, right, f"{name} in {where}, said to be symmetric: {said}")
            assert oriented.simple == is_simple, (name, where, said, oriented.facts)


@pytest.mark.parametrize("name", BOTH)
def test_counts_are_the_cpus(name):
    a = made(name)
    right = ps.csgraph.triangles(a, device="cpu")
    for source in (a, a.to(ps.device(0))):
        for access in ("auto", "direct", "merged", "aligned", "strided"):
            for counted in (False, True):
                how = GpuOptions(access=access, counted=counted)
                with ps.record() as events:
                    each = ps.csgraph.triangles(source, device=0, gpu_options=how)
                    total = ps.csgraph.triangle_count(source, device=0, gpu_options=how)
                assert events[-1]["oriented"] is not None, events
                np.testing.assert_array_equal(each, right, f"{name} {how} {events}")
                assert total == int(right.sum()) // 3, (name, how, total, events)


def cliques_behind(first, sizes):
    """Cliques of `sizes` vertices each, behind `first` vertices without edges."""
    degree = np.concatenate([np.zeros(first, np.int64)] + [np.full(s, s - 1) for s in sizes])
    indptr = np.concatenate([[0], np.cumsum(degree)])
    ends, at = [], first
    for s in sizes:
        others = np.broadcast_to(np.arange(at, at + s, dtype=np.int32), (s, s))
        ends.append(others[~np.eye(s, dtype=bool)])
        at += s
    return ps.csr_array._from_parts(at, at, indptr, np.concatenate(ends).astype(np.int32), None)


@pytest.mark.parametrize("sizes", [[200, 129, 130, 4, 128], [4700, 300]])
def test_tables_of_large_numbers(sizes):
    """Numbers for which a block has no bits: they go to hash tables, the longest lists in two turns."""
    a = cliques_behind(1 << 18, sizes)
    with ps.record() as events:
        total = ps.csgraph.triangle_count(a, device=0)
    assert events[-1]["oriented"]["incoming"] and not events[-1]["oriented"]["renumbered"], events
    assert total == sum(s * (s - 1) * (s - 2) // 6 for s in sizes)


@pytest.mark.gpu_small
def test_stars_whose_hubs_come_last_are_counted_in_the_first_order():
    """Pairs of a hub's neighbours would be looked up in the second order, and nothing in the first one."""
    stars = 3000
    hubs = 4 * np.arange(stars) + 3
    a = graph(
        4 * stars, np.r_[np.repeat(hubs, 3), 0], np.r_[(hubs[:, None] - [1, 2, 3]).ravel(), 1]
    )
    with ps.record() as events:
        assert ps.csgraph.triangle_count(a, device=0) == 1
    oriented = events[-1]["oriented"]
    assert not oriented["renumbered"] and not oriented["incoming"], oriented


@pytest.mark.gpu_small
def test_a_directed_matrix_on_the_gpu_has_its_incoming_edges_too():
    a = made("dirty")
    with ps.record() as events:
        total = ps.csgraph.triangle_count(a.to(ps.device(0)), device=0)
    assert events[-1]["oriented"]["incoming"]
    assert total == ps.csgraph.triangle_count(a, device="cpu")


@pytest.mark.gpu_small
def test_what_is_found_about_the_matrix_is_kept():
    a = ps.generate.rmat(9, seed=5)
    a = ps.csr_array._from_parts(*a.shape, a.indptr.copy(), a.indices.copy(), None)
    assert a._derived.symmetric_pattern is None
    ps.csgraph.triangle_count(a, device=0)
    assert a._derived.symmetric_pattern is True and simple(a) is a
    held = a._derived.oriented_gpu
    ps.csgraph.triangles(a, device=0)
    assert a._derived.oriented_gpu is held, "oriented once"
    a.release()
    assert a._derived.oriented_gpu is None
    directed = made("dirty")
    ps.csgraph.triangle_count(directed, device=0)
    assert directed._derived.simple is not True


@pytest.mark.gpu_small
def test_where_it_does_not_fit_the_cpu_orients():
    a = ps.generate.rmat(10, seed=3)
    right = ps.csgraph.triangles(a, device="cpu")
    b = ps.csr_array._from_parts(*a.shape, a.indptr.copy(), a.indices.copy(), None)
    little = 8 * (b.shape[0] + 1) + 6 * b.nnz
    with ps.options(device_memory=little):
        assert _core.orient_edges_gpu(b._core, 0, little) is None
        with ps.record() as events:
            each = ps.csgraph.triangles(b, device=0)
        assert events[-1]["oriented"] is None
        with pytest.raises(MemoryError, match="A.to"):
            ps.csgraph.triangles(b.to(ps.device(0)), device=0)
    np.testing.assert_array_equal(each, right)
    with ps.record() as events:
        np.testing.assert_array_equal(ps.csgraph.triangles(b, device=0), right)
    assert events[-1]["oriented"]["bytes"] > little, "a larger budget is used"


@pytest.mark.gpu_small
def test_incoming_edges_are_left_out_where_they_do_not_fit():
    a = ps.generate.rmat(12, seed=3)
    right = ps.csgraph.triangle_count(a, device="cpu")
    all_bytes = _core.orient_edges_gpu(a._core, 0).facts["bytes"]
    had = set()
    for budget in range(all_bytes // 2, all_bytes + (1 << 20), all_bytes // 16):
        b = ps.csr_array._from_parts(*a.shape, a.indptr.copy(), a.indices.copy(), None)
        with ps.options(device_memory=budget), ps.record() as events:
            assert ps.csgraph.triangle_count(b, device=0) == right
        oriented = events[-1]["oriented"]
        had.add(None if oriented is None else oriented["incoming"])
    assert True in had and len(had) > 1, had


def test_uploads_in_pieces():
    """More than two pieces of 64 MiB, from memory whose pages are locked on the way, at an odd place in a page."""
    a = ps.generate.uniform(1_500_000, nnz_per_row=20, dtype=bool, seed=4)
    a = ps.csr_array._wrap(_core.join(a._core, _core.transpose(a._core), "plus"))
    a = simple(a)
    assert a.nnz * 4 > 3 * (64 << 20)
    room = np.empty(a.nnz + 5, np.int32)
    room[3:-2] = a.indices
    b = ps.csr_array._from_parts(*a.shape, a.indptr.copy(), room[3:-2], None)
    check_lists(_core.orient_edges_gpu(b._core, 0), {False: expected(a, False)}, "pieces")
    broken = room.copy()
    broken[3 + a.nnz // 2] ^= (
        1  # deep in a later piece: some edge without its mirror, or a row that falls
    )
    c = ps.csr_array._from_parts(*a.shape, a.indptr.copy(), broken[3:-2], None)
    oriented = _core.orient_edges_gpu(c._core, 0)
    assert not oriented.simple
    check_lists(oriented, {False: expected(c, False)}, "pieces with a fault")


def test_bad_input():
    with pytest.raises(ValueError, match="square"):
        _core.orient_edges_gpu(ps.csr_array((2, 3))._core, 0)
    with pytest.raises(ps.PlacementError, match="does not exist"):
        _core.orient_edges_gpu(named("rmat_10")._core, 99)
    oriented = _core.orient_edges_gpu(named("rmat_10")._core, 0)
    other = _core.gpu_graph(named("dense")._core)
    with pytest.raises(ValueError, match="of another graph"):
        _core.triangles_gpu(other, oriented, False)
