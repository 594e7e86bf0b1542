"""The names of scipy.sparse.csgraph against SciPy's functions, for csr_arrays, SciPy's classes and dense arrays."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.csgraph as scg
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

MORE = {"device", "gpu_options", "lists", "out"}  # parameters that SciPy's functions do not have


def test_every_name_is_here():
    assert set(scg.__all__) <= set(ps.csgraph.__all__)
    assert ps.csgraph.NegativeCycleError is scg.NegativeCycleError


@pytest.mark.parametrize("name", [n for n in scg.__all__ if inspect.isroutine(getattr(scg, n))])
def test_signatures(name):
    """The same parameters in the same order with the same defaults; their names, but for the graph itself."""
    theirs = inspect.signature(getattr(scg, name)).parameters.values()
    mine = [
        p
        for p in inspect.signature(getattr(ps.csgraph, name)).parameters.values()
        if p.name not in MORE
    ]
    assert [p.name for p in mine][1:] == [p.name for p in theirs][1:]
    assert [p.default for p in mine] == [p.default for p in theirs]
    assert [p.kind for p in mine] == [p.kind for p in theirs]


@st.composite
def dense_graphs(draw, most=8):
    n = draw(st.integers(1, most))
    values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, 3.5, np.inf, np.nan])
    return np.array(draw(st.lists(values, min_size=n * n, max_size=n * n))).reshape(n, n)


def same(mine, theirs):
    if isinstance(theirs, tuple):
        for m, t in zip(mine, theirs, strict=True):
            same(m, t)
    elif sp.issparse(theirs) or isinstance(mine, ps.csr_array):
        np.testing.assert_array_equal(mine.toarray(), theirs.toarray())
    else:
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=80, deadline=None)
@given(dense_graphs(), st.booleans(), st.booleans())
def test_one_argument(dense, directed, tree):
    """Dense as it is, masked, SciPy's and ours: what SciPy's function makes of each."""
    S = scg.csgraph_from_dense(dense)
    masked = scg.csgraph_masked_from_dense(dense)
    n = dense.shape[0]
    calls = [
        ("floyd_warshall", (directed, tree)),
        ("depth_first_order", (n - 1, directed)),
        ("breadth_first_order", (0, directed)),
        ("depth_first_tree", (0, directed)),
        ("breadth_first_tree", (n // 2, directed)),
        ("dijkstra", (directed,)),
        ("shortest_path", ("auto", directed)),
        ("connected_components", (directed, "strong")),
        ("connected_components", (directed, "weak")),
    ]
    for name, how in calls:
        mine, theirs = getattr(ps.csgraph, name), getattr(scg, name)
        for given_, read in ((dense, dense), (masked, masked), (S, S), (ps.csr_array(S), S)):
            same(mine(given_, *how), theirs(read, *how))


@settings(max_examples=60, deadline=None)
@given(dense_graphs(), st.booleans())
def test_dense_and_back(dense, infinities):
    how = {"null_value": 2.0, "infinity_null": infinities}
    S, A = scg.csgraph_from_dense(dense, **how), ps.csgraph.csgraph_from_dense(dense, **how)
    assert isinstance(A, ps.csr_array) and A.dtype == np.float64
    np.testing.assert_array_equal(A.indices, S.indices)
    np.testing.assert_array_equal(A.data, S.data)
    same(ps.csgraph.csgraph_to_dense(A, -1.0), scg.csgraph_to_dense(S, -1.0))
    mine, theirs = ps.csgraph.csgraph_to_masked(A), scg.csgraph_to_masked(S)
    np.testing.assert_array_equal(mine.mask, theirs.mask)
    mine = ps.csgraph.csgraph_masked_from_dense(dense, **how)
    np.testing.assert_array_equal(mine.mask, scg.csgraph_masked_from_dense(dense, **how).mask)
    same(ps.csgraph.csgraph_from_masked(mine), scg.csgraph_from_masked(mine))


@settings(max_examples=60, deadline=None)
@given(dense_graphs(), st.booleans())
def test_predecessors_become_distances(dense, directed):
    A = ps.csgraph.csgraph_from_dense(dense)
    d, p = ps.csgraph.dijkstra(A, directed, return_predecessors=True)
    S = A.to_scipy()
    back = ps.csgraph.construct_dist_matrix(A, p, directed)
    np.testing.assert_array_equal(back, scg.construct_dist_matrix(S, p, directed))
    np.testing.assert_array_equal(back, d)
    for v in range(A.shape[0]):
        T = ps.csgraph.reconstruct_path(A, p[v], directed)
        same(T, scg.reconstruct_path(S, p[v], directed))
        np.testing.assert_array_equal(ps.csgraph.dijkstra(T, indices=v), d[v])


def test_reconstruct_path_of_parallel_edges_and_zeros():
    A = ps.csr_array._from_parts(
        3, 3, np.array([0, 3, 3, 3]), np.array([1, 2, 1], np.int32), np.array([5.0, 0.0, 3.0])
    )
    T = ps.csgraph.reconstruct_path(A, [-9999, 0, 0])
    assert T.indices.tolist() == [1, 2] and T.data.tolist() == [3, 0]
    assert ps.csgraph.reconstruct_path(A, [1, -1, -1], directed=False).toarray()[1, 0] == 3
    for wrong, error, words in (
        ([-9999, 2, 0], ValueError, r"predecessors\[1\] = 2, but the graph has no edge 2 -> 1"),
        ([0, 3, 0], ValueError, "predecessors has 3, which is outside a graph of 3"),
        ([0, 1], ValueError, r"shape \(2,\): give \(3,\)"),
        ([0.0, 1.0, 2.0], TypeError, "integers, not float64"),
    ):
        with pytest.raises(error, match=words):
            ps.csgraph.reconstruct_path(A, wrong)


def test_predecessors_in_a_cycle_are_refused():
    A = ps.csr_array(np.ones((3, 3)))
    wrong = np.full((3, 3), -9999, np.int32)
    wrong[1] = [2, -9999, 0]
    with pytest.raises(
        ValueError, match=r"predecessors\[1\] leads from 0 into a cycle, and never to 1"
    ):
        ps.csgraph.construct_dist_matrix(A, wrong)
    long = np.tile(np.arange(-1, 99, dtype=np.int32), (100, 1))
    path = ps.csr_array((np.ones(99), (np.arange(99), np.arange(1, 100))), shape=(100, 100))
    assert ps.csgraph.construct_dist_matrix(path, long)[0, 99] == 99


def test_yen():
    dense = np.array(
        [[0, 3, 3, 1, 2], [3, 0, 7, 6, 5], [3, 7, 0, 4, 0], [1, 6, 4, 0, 2], [2, 5, 0, 2, 0.0]]
    )
    A = ps.csr_array(dense)
    for directed in (True, False):
        how = {"directed": directed, "return_predecessors": True}
        same(ps.csgraph.yen(A, 0, 4, 5, **how), scg.yen(dense, 0, 4, 5, **how))
    with pytest.raises(ValueError, match="sink=5: a vertex must have 0 <= sink < 5"):
        ps.csgraph.yen(A, 0, 5, 1)
    with pytest.raises(ValueError, match="K=0"):
        ps.csgraph.yen(A, 0, 4, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_matchings(rows, cols, seed):
    rng = np.random.default_rng(seed)
    S = sp.random_array((rows, cols), density=0.5, rng=rng, format="csr")
    A = ps.csr_array(S)
    assert ps.csgraph.structural_rank(A) == scg.structural_rank(S)
    for side in ("row", "column"):
        same(
            ps.csgraph.maximum_bipartite_matching(A, side), scg.maximum_bipartite_matching(S, side)
        )
    if scg.structural_rank(S) == min(rows, cols):
        for maximize in (False, True):
            mine = ps.csgraph.min_weight_full_bipartite_matching(A, maximize)
            same(mine, scg.min_weight_full_bipartite_matching(S, maximize))
    else:
        with pytest.raises(ValueError, match="no full matching"):
            ps.csgraph.min_weight_full_bipartite_matching(A)
    with pytest.raises(ValueError, match="perm_type='rows'"):
        ps.csgraph.maximum_bipartite_matching(A, "rows")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6), st.sampled_from(["dinic", "edmonds_karp"]))
def test_maximum_flow(n, seed, method):
    rng = np.random.default_rng(seed)
    S = sp.csr_array(rng.integers(0, 9, (n, n)) * (rng.random((n, n)) < 0.5))
    theirs = scg.maximum_flow(S, 0, n - 1, method=method)
    found = ps.csgraph.maximum_flow(S, 0, n - 1, method=method)
    assert sp.issparse(found.flow) and found.flow.dtype == np.int32
    mine = ps.csgraph.maximum_flow(ps.csr_array(S), 0, n - 1, method=method)
    assert isinstance(mine, ps.csgraph.MaximumFlowResult) and mine.flow.dtype == np.float64
    assert mine.flow_value == found.flow_value == theirs.flow_value
    same(mine.flow, theirs.flow)


def test_capacities():
    def flow(value):
        return ps.csgraph.maximum_flow(ps.csr_array(([value], ([0], [1])), shape=(2, 2)), 0, 1)

    assert flow(True).flow_value == 1
    with pytest.raises(ValueError, match=r"whole numbers, and data\[0\] = 1.5"):
        flow(1.5)
    with pytest.raises(ValueError, match="int32 in SciPy's code"):
        flow(2.0**31)
    with pytest.raises(ValueError, match="int32 in SciPy's code"):
        ps.csgraph.maximum_flow(sp.csr_array(([2**40], ([0], [1])), shape=(2, 2)), 0, 1)
    double = ps.csr_array._from_parts(
        2, 2, np.array([0, 2, 2]), np.array([1, 1], np.int32), np.array([3.0, 4.0])
    )
    assert ps.csgraph.maximum_flow(double, 0, 1).flow_value == 7


def test_scipy_gets_its_classes_back():
    S = sp.csr_array(np.array([[0, 2, 0], [0, 0, 3], [0, 0, 0]]))
    for name in ("depth_first_tree", "breadth_first_tree"):
        find = getattr(ps.csgraph, name)
        for kind in (sp.csr_array, sp.csr_matrix):
            T = find(kind(S), 0)
            assert type(T) is kind and T.dtype == np.float64
            T.sort_indices()
            T.data[:] = 0  # its arrays are its own
        assert isinstance(find(ps.csr_array(S), 0), ps.csr_array)


def test_bad_vertices():
    A = ps.csr_array(([1.0], ([0], [1])), shape=(2, 2))
    for name in (
        "depth_first_order",
        "depth_first_tree",
        "breadth_first_order",
        "breadth_first_tree",
    ):
        find = getattr(ps.csgraph, name)
        for wrong in (-1, 2):
            with pytest.raises(ValueError, match=f"i_start={wrong} is outside a graph of 2"):
                find(A, wrong)
        with pytest.raises(TypeError, match="give an integer"):
            find(A, 0.5)


def test_more_than_scipy_can_number():
    """A graph of 2^31 vertices without an edge is small here, and no int32 there."""
    from penstock.csgraph._scipy import as_scipy

    class Large:
        shape, nnz = (2, 2), 2**31

    with pytest.raises(
        ValueError, match="SciPy's code, which numbers vertices and entries in int32"
    ):
        as_scipy(Large(), "depth_first_order")


@pytest.mark.parametrize("name", ["csgraph_to_dense", "csgraph_to_masked"])
def test_dense_where_sparse_is_wanted(name):
    with pytest.raises(TypeError, match=f"{name} takes a sparse graph, not a ndarray"):
        getattr(ps.csgraph, name)(np.eye(2))
    with pytest.raises(TypeError, match="a dense array is wanted, not a csr_array"):
        ps.csgraph.csgraph_from_dense(ps.csr_array((2, 2)))
    with pytest.raises(TypeError, match="csgraph_from_dense takes others"):
        ps.csgraph.csgraph_from_masked(np.eye(2))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 8), st.integers(0, 10**6), st.sampled_from("fdFD"),
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip
def test_laplacian(n, seed, dtype, normed, out, symmetrized):
    rng = np.random.default_rng(seed)
    dense = rng.random((n, n)) * (rng.random((n, n)) < 0.5)
    if dtype in "FD":
        dense = dense + 1j * rng.random((n, n)) * (dense != 0)
    S = sp.csr_array(dense.astype(dtype))
    A = ps.csr_array(S)
    how = {"normed": normed, "use_out_degree": out, "symmetrized": symmetrized, "return_diag": True}
    L, d = ps.csgraph.laplacian(A, **how)
    wanted, degrees = scg.laplacian(S, **how)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype in "fF" else {"rtol": 1e-12, "atol": 1e-12}
    assert isinstance(L, ps.csr_array) and L.dtype == d.dtype == np.dtype(dtype)
    np.testing.assert_allclose(L.toarray(), wanted.toarray(), **close)
    np.testing.assert_allclose(d, degrees, **close)
    assert (L.to_scipy().diagonal() == L.diagonal()).all() and L.nnz >= n
    x = rng.random((n, 3))
    for form in ("function", "lo"):
        times, d2 = ps.csgraph.laplacian(A, form=form, **how)
        np.testing.assert_allclose(d2, d, **close)
        np.testing.assert_allclose(times(x), L.toarray() @ x, **close)
        np.testing.assert_allclose(times(x[:, 0]), L.toarray() @ x[:, 0], **close)
    same(ps.csgraph.laplacian(dense, **how), scg.laplacian(dense, **how))
    scipys, theirs = ps.csgraph.laplacian(S, **how), scg.laplacian(S, **how)
    assert type(scipys[0]) is type(theirs[0])


def test_laplacian_of_patterns_and_large_graphs():
    P = ps.generate.rmat(10, 8, seed=1)
    S = sp.csr_array(P.to_scipy().astype(np.float64))
    np.testing.assert_array_equal(ps.csgraph.laplacian(P).toarray(), scg.laplacian(S).toarray())
    assert ps.csgraph.laplacian(P, dtype=np.float32).dtype == np.float32
    before, sums = ps.num_threads(), []
    A = ps.generate.rmat(11, 8, undirected=False, dtype=np.float64, seed=1)
    for count in (1, 3):
        ps.set_num_threads(count)
        sums.append(ps.csgraph.laplacian(A, normed=True).data.tobytes())
    ps.set_num_threads(before)
    assert sums[0] == sums[1]
    double = ps.csr_array._from_parts(
        2, 2, np.array([0, 2, 2]), np.array([1, 1], np.int32), np.array([3.0, 4.0])
    )
    assert ps.csgraph.laplacian(double).toarray().tolist() == [[0, -7], [0, 7]]


def test_laplacian_faults():
    A = ps.csr_array(np.eye(2))
    with pytest.raises(ValueError, match="Invalid form: 'toto'"):
        ps.csgraph.laplacian(A, form="toto")
    with pytest.raises(TypeError, match="dtype=int64: a csr_array holds"):
        ps.csgraph.laplacian(A, dtype=int)
    with pytest.raises(TypeError, match="imaginary"):
        ps.csgraph.laplacian(A.astype(complex), dtype=float)
    with pytest.raises(ValueError, match="square"):
        ps.csgraph.laplacian(ps.csr_array((2, 3)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            ps.csgraph.laplacian(ps.csr_array((3, 3)), normed=True).toarray().tolist()
            == [[0] * 3] * 3
        )


def test_scipys_names_of_arguments():
    graph = ps.csr_array(([1.0, 2.0], ([0, 1], [1, 2])), shape=(3, 3))
    how = {"csgraph": graph, "directed": True, "return_labels": False}
    assert ps.csgraph.connected_components(connection="STRONG", **how) == 3
    order, _ = ps.csgraph.breadth_first_order(csgraph=graph, i_start=0)
    np.testing.assert_array_equal(order, [0, 1, 2])
    assert sorted(ps.csgraph.reverse_cuthill_mckee(graph=graph)) == [0, 1, 2]


@pytest.mark.parametrize("function", ["floyd_warshall", "yen", "csgraph_to_dense"])
def test_complex_weights_are_refused(function):
    graph = ps.csr_array(np.array([[0, 1 + 1j], [2j, 0]]))
    more = (0, 1, 2) if function == "yen" else ()
    with pytest.raises(ValueError, match=f"{function} needs real weights"):
        getattr(ps.csgraph, function)(graph, *more)


def test_a_limit_that_is_no_number():
    with pytest.raises(TypeError, match="limit='5'"):
        ps.csgraph.dijkstra(ps.csr_array(np.eye(2)), limit="5")
