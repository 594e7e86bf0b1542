"""Orders of vertices: permutations, what they promise, and SciPy's bandwidth as the mark."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as csgraph
from data_files import real_file
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock import _core


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 12))
    edges = draw(st.lists(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2), max_size=30 if n else 0))
    row, col = np.array(edges, np.int32).reshape(-1, 2).T
    core = _core.coo_to_csr(n, n, row.copy(), col.copy(), None, draw(st.booleans()))
    return ps.csr_array._wrap(core)


def is_permutation(p, n):
    return p.dtype == np.int32 and sorted(p.tolist()) == list(range(n))


def bandwidth_by_hand(a):
    row = np.repeat(np.arange(a.shape[0]), np.diff(a.indptr))
    return int(np.abs(row - a.indices).max(initial=0))


@given(graphs())
@settings(deadline=None, max_examples=200)
def test_every_order_is_a_permutation(a):
    n = a.shape[0]
    for p in (ps.reorder.rcm(a), ps.reorder.degree(a), ps.reorder.scramble(a, 3)):
        assert is_permutation(p, n)
    both = a.to_scipy().astype(float)
    both = sp.csr_array(both + both.T)
    for symmetric in (False, True):  # SciPy's name has SciPy's order
        if n == 0:  # an error there
            assert ps.csgraph.reverse_cuthill_mckee(both, symmetric).size == 0
            continue
        scipys = csgraph.reverse_cuthill_mckee(both, symmetric_mode=symmetric)
        np.testing.assert_array_equal(ps.csgraph.reverse_cuthill_mckee(both, symmetric), scipys)
    assert ps.reorder.bandwidth(a) == bandwidth_by_hand(a)


@given(graphs())
@settings(deadline=None)
def test_components_stay_together_and_levels_are_near(a):
    """Reverse Cuthill-McKee numbers one component after the other, each by levels of a breadth-first search."""
    if a.shape[0] == 0:
        return
    p = ps.reorder.rcm(a)
    both = a.to_scipy().astype(float)
    both = sp.csr_array(both + both.T)
    _, labels = csgraph.connected_components(both, directed=False)
    runs = labels[p]
    assert np.count_nonzero(np.diff(runs)) == labels.max()
    place = np.empty_like(p)
    place[p] = np.arange(p.size)
    for c in range(labels.max() + 1):
        members = p[runs == c]
        root = members[-1]  # reversed: the search began at the last
        depth = csgraph.shortest_path(both, unweighted=True, directed=False, indices=int(root))
        assert np.all(np.diff(depth[members]) <= 0)


@given(graphs(), st.booleans())
@settings(deadline=None)
def test_degree(a, descending):
    p = ps.reorder.degree(a, descending=descending)
    length = np.diff(a.indptr)
    wanted = np.argsort(-length if descending else length, kind="stable")
    np.testing.assert_array_equal(p, wanted)


def test_degree_of_one_huge_row():
    a = ps.csr_array._from_parts(
        3, 5, np.array([0, 1, 5001, 5001]), np.zeros(5001, np.int32), None, validate="cheap"
    )
    assert ps.reorder.degree(a).tolist() == [1, 0, 2]
    assert ps.reorder.degree(a, descending=False).tolist() == [2, 0, 1]


def test_a_path_and_a_ladder():
    rng = np.random.default_rng(1)
    n = 1000
    for width in (1, 4):
        a = ps.csr_array(sp.diags_array(np.ones(n - width), offsets=width, shape=(n, n)).tocsr())
        b = a + ps.csr_array(sp.diags_array(np.ones(n - 1), offsets=1, shape=(n, n)).tocsr())
        p = rng.permutation(n)
        b = b.permute(p, p)
        q = ps.reorder.rcm(b)
        assert ps.reorder.bandwidth(b) > 500
        assert ps.reorder.bandwidth(b.permute(q, q)) <= width + (width > 1)


def test_threads_do_not_matter():
    a = ps.generate.rmat(10, seed=3)
    orders = []
    for threads in (1, 3):
        before = ps.num_threads()
        ps.set_num_threads(threads)
        orders.append([ps.reorder.rcm(a), ps.reorder.degree(a), ps.reorder.scramble(a, 1)])
        ps.set_num_threads(before)
    for one, other in zip(*orders, strict=True):
        np.testing.assert_array_equal(one, other)


def test_bandwidth_of_real_meshes():
    """Each about as narrow as SciPy makes it, all together narrower."""
    ratios = {}
    for name in ("4elt.graph.gz", "bcsstk18.mtx.gz", "bodyy5.mtx.gz", "luxembourg_osm.mtx.gz"):
        a = ps.load(real_file(name))
        p = csgraph.reverse_cuthill_mckee(a.to_scipy(), symmetric_mode=True)
        q = ps.reorder.rcm(a)
        mine, theirs = (ps.reorder.bandwidth(a.permute(r, r)) for r in (q, p))
        ratios[name] = mine / theirs
    assert max(ratios.values()) < 1.4, ratios
    assert np.prod(list(ratios.values())) < 0.7, ratios


def test_scramble():
    assert is_permutation(ps.reorder.scramble(1000, seed=1), 1000)
    assert ps.reorder.scramble(0).size == 0
    np.testing.assert_array_equal(ps.reorder.scramble(50, 7), ps.reorder.scramble(50, 7))
    assert not np.array_equal(ps.reorder.scramble(50, 7), ps.reorder.scramble(50, 8))
    assert ps.reorder.scramble(np.int64(5)).size == 5


def test_faults():
    with pytest.raises(TypeError, match="scramble takes a number of rows"):
        ps.reorder.scramble("12")
    with pytest.raises(ValueError, match="2\\^31 - 1"):
        ps.reorder.scramble(2**31)
    with pytest.raises(ValueError, match=r"scramble\(-1\)"):
        ps.reorder.scramble(-1)
    with pytest.raises(ValueError, match="square"):
        ps.reorder.rcm(ps.csr_array((2, 3)))
    with pytest.raises(ValueError, match="2 x 3"):
        _core.reverse_cuthill_mckee(ps.csr_array((2, 3))._core)
    with pytest.raises(TypeError, match="rcm takes a sparse matrix"):
        ps.reorder.rcm(np.ones((2, 2)))
