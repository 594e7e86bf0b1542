"""Samples, walks and communities over packed lists: what they find is what the matrix gives, and only the lists that
are met are read."""

import ctypes
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.csgraph import _lists

import penstock as ps
from penstock import _core, csgraph

MADV_DONTNEED = 4


def graph(n, edges, seed, weighted=False, mirrored=False):
    """Some vertices have thousands of edges, so that their lists are cut into pieces, and some have none."""
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, (2, edges))
    rows[: edges // 2] //= 1 + n // 3
    if mirrored:
        rows, cols = np.r_[rows, cols], np.r_[cols, rows]
    values = rng.integers(0, 4, rows.size).astype(float) if weighted else np.ones(rows.size, bool)
    made = ps.csr_array((values, (rows, cols)), shape=(n, n))
    return made if weighted else made.without_duplicates()


def equal(one, other):
    for name in ("vertices", "rows", "columns", "edges"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.vertices_per_hop == other.vertices_per_hop
    assert one.edges_per_hop == other.edges_per_hop
    assert (one.batch is None) == (other.batch is None)
    if one.batch is not None:
        assert np.array_equal(one.batch, other.batch)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(2, 3000),
    degree=st.integers(0, 12),
    fanouts=st.lists(st.sampled_from([-1, 0, 1, 5, 30, 2000]), max_size=3),
    replace=st.booleans(),
    weighted=st.booleans(),
    disjoint=st.booleans(),
    timed=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_sample_of_packed_lists_is_that_of_the_matrix(
    n, degree, fanouts, replace, weighted, disjoint, timed, seed
):
    a = graph(n, degree * n, seed, weighted)
    rng = np.random.default_rng(seed)
    seeds = rng.integers(0, n, 20)
    how = {"replace": replace, "weighted": weighted, "disjoint": disjoint, "seed": seed}
    if timed:
        how |= {"time": rng.integers(0, 9, a.nnz), "seed_time": rng.integers(0, 9, seeds.size)}
    fanouts = [min(f, 30) for f in fanouts] if disjoint or timed else fanouts
    raw = ps.sample.neighbors(a, seeds, fanouts, **how)
    equal(ps.sample.neighbors(a, seeds, fanouts, lists="packed", **how), raw)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 3000),
    degree=st.integers(0, 12),
    length=st.integers(0, 20),
    restart=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 2**32),
)
def test_packed_walks_are_those_of_the_matrix(n, degree, length, restart, seed):
    a = graph(n, degree * n, seed)
    how = {"restart": restart, "seed": seed}
    raw = ps.sample.random_walks(a, None, length, lists="raw", **how)
    packed = ps.sample.random_walks(a, None, length, lists="packed", **how)
    assert np.array_equal(packed, raw)
    starts = np.zeros(100, np.int32)
    raw, packed = (
        ps.sample.random_walks(a, starts, length, lists=k, **how) for k in ("raw", "packed")
    )
    assert np.array_equal(packed, raw)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("threads", [1, 3])
def test_communities_of_packed_lists_are_those_of_the_matrix(seed, threads):
    before = ps.num_threads()
    ps.set_num_threads(threads)
    try:
        a = graph(3000, 12_000, seed, mirrored=True)
        raw, levels = csgraph.louvain(a, seed=seed, return_levels=True)
        packed, same = csgraph.louvain(a, seed=seed, return_levels=True, lists="packed")
        assert np.array_equal(packed, raw)
        assert len(same) == len(levels) > 1
        assert all(map(np.array_equal, same, levels))
        for method in (csgraph.leiden, csgraph.label_propagation):
            assert np.array_equal(method(a, seed=seed, lists="packed"), method(a, seed=seed))
        labels = csgraph.leiden(a, seed=seed)
        found = csgraph.modularity(a, labels, lists="packed")
        assert found == csgraph.modularity(a, labels) > 0.1
        csgraph.verify_connected_communities(a, labels, lists="packed")
        with pytest.raises(ValueError, match="is not connected"):
            csgraph.verify_connected_communities(a, np.zeros(3000, int), lists="packed")
    finally:
        ps.set_num_threads(before)


class Pages:
    """Those of a mapped file that this process touches from now on."""

    def __init__(self, name):
        self.name = name
        libc = ctypes.CDLL(None, use_errno=True)
        for begin, end, _ in self._parts():
            dropped = libc.madvise(
                ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_DONTNEED
            )
            assert dropped == 0, os.strerror(ctypes.get_errno())

    def touched(self):
        """In bytes."""
        return sum(size for _, _, size in self._parts())

    def _parts(self):
        with open("/proc/self/smaps") as maps:
            text = maps.read()
        for part in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", text):
            head = part.split("\n", 1)[0]
            if head.endswith(self.name):
                begin, end = (int(x, 16) for x in head.split(" ", 1)[0].split("-"))
                yield begin, end, 1024 * int(re.search(r"Rss: +(\d+) kB", part)[1])


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    """A graph whose store has packed lists, and which does not fit the memory that is said to be free."""
    path = os.path.join(tmp_path, "graph.penstock")
    a = ps.generate.lift(graph(2000, 20_000, 5, mirrored=True), 50, seed=3)
    a.save(path, lists=True)
    opened = ps.open(path)
    monkeypatch.setattr(_lists, "_available", lambda: 1 << 20)
    return a, opened, os.path.join(path, "indices.npy")


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="needs Linux's /proc")
def test_of_a_mapped_graph_beyond_memory_columns_are_not_read(mapped):
    a, opened, columns = mapped
    assert a.nnz * 4 > 4 << 20
    seeds = np.arange(0, a.shape[0], 100)
    pages = Pages(columns)
    sample = ps.sample.neighbors(opened, seeds, [5, 5], seed=3)
    walks = ps.sample.random_walks(opened, seeds, 10, seed=3)
    labels = csgraph.label_propagation(opened, max_iter=2)
    communities = csgraph.louvain(opened, max_levels=1)
    modularity = csgraph.modularity(opened, communities)
    assert pages.touched() < 1 << 20, "the columns were read"
    equal(sample, ps.sample.neighbors(a, seeds, [5, 5], seed=3))
    assert np.array_equal(walks, ps.sample.random_walks(a, seeds, 10, seed=3))
    assert np.array_equal(labels, csgraph.label_propagation(a, max_iter=2))
    assert np.array_equal(communities, csgraph.louvain(a, max_levels=1))
    assert modularity == csgraph.modularity(a, communities)
    equal(sample, ps.sample.neighbors(opened, seeds, [5, 5], seed=3, lists="raw"))
    assert pages.touched() > 1 << 20, "this would not see it"


def test_lists_of_another_matrix_are_refused():
    a, b = graph(500, 3000, 1), graph(500, 4000, 2)
    lists = _core.pack_lists(b._core)
    table = _core.VertexTable(500, False)
    table.add_seeds(np.arange(500))
    with pytest.raises(ValueError, match="they are of another one, save the store again"):
        _core.sample_hop(a._core, table, 0, 500, table, 3, False, False, 0, 0, None, None, lists)


def test_refusals():
    order = np.array([2, 1])  # a row that does not ascend
    a = ps.csr_array._from_parts(3, 3, np.array([0, 2, 2, 2]), order.astype(np.int32), None)
    with pytest.raises(ValueError, match="lists='packed' needs rows that ascend"):
        ps.sample.neighbors(a, [0], [2], lists="packed")
    with pytest.raises(ValueError, match="lists='packed' needs rows that ascend"):
        ps.sample.random_walks(a, [0], 2, lists="packed")
    wide = ps.csr_array(([True], ([0], [4])), shape=(3, 5))
    with pytest.raises(ValueError, match="is for square matrices, this one is 3 x 5: leave lists"):
        ps.sample.neighbors({("a", "to", "b"): wide}, {"a": [0]}, [2], lists="packed")
    b = graph(50, 200, 1)
    with pytest.raises(
        ValueError, match="lists='some' is unknown: choose one of auto, raw, packed"
    ):
        ps.sample.neighbors(b, [0], [2], lists="some")
    with pytest.raises(ValueError, match="lists='packed' is for uniform walks"):
        ps.sample.random_walks(b, [0], 2, p=0.5, lists="packed")
    c = b + b.T
    weighted = c.astype(float)
    for method in (csgraph.louvain, csgraph.leiden, csgraph.label_propagation):
        with pytest.raises(ValueError, match="packed lists have no weights: give unweighted=True"):
            method(weighted, lists="packed")
        with pytest.raises(ValueError, match="lists='some' is unknown"):
            method(weighted, lists="some")
        expected = method(c, lists="raw")
        assert np.array_equal(method(weighted, unweighted=True, lists="packed"), expected)


@pytest.mark.parametrize("device", [[0, 1], (1, 0), np.array([0, 1])])
@pytest.mark.parametrize("lists", ["auto", "packed"])
def test_several_gpus_are_refused_with_the_remedy(device, lists):
    A = ps.generate.rmat(6, seed=1)
    for call in (
        lambda: ps.sample.neighbors(A, [0], [2], device=device, lists=lists),
        lambda: ps.sample.random_walks(A, [0], 2, device=device, lists=lists),
    ):
        with pytest.raises(
            ValueError,
            match="names several GPUs, and one draws: give one of them, and part the (seeds|starts)",
        ):
            call()


def test_a_gpu_draws_from_columns(monkeypatch):
    """Packed lists are for the CPU; what is said names what a GPU reads."""
    monkeypatch.setattr(_core, "device_count", lambda: 1)
    A = ps.generate.rmat(6, seed=1)
    for call in (
        lambda: ps.sample.neighbors(A, [0], [2], device=0, lists="packed"),
        lambda: ps.sample.random_walks(A, [0], 2, device=0, lists="packed"),
    ):
        with pytest.raises(ValueError, match=r"edges of A\.to\(ps\.pinned\) stay in host memory"):
            call()
