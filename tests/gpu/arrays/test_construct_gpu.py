"""Matrices of CuPy and PyTorch on a GPU become csr_arrays there and go back, over the same arrays; edges."""

import gc

import numpy as np
import pytest
import scipy.sparse as sp
from array_libraries import LIBRARIES

import penstock as ps
from penstock import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support"),
]
DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (7, 5), (333, 1001)]


@pytest.fixture(params=sorted(LIBRARIES))
def lib(request):
    return LIBRARIES[request.param]()


def scipy_matrix(shape=(60, 40), dtype="float64", seed=1, density=0.1):
    rng = np.random.default_rng(seed)
    s = sp.random_array(shape, density=density, rng=rng, format="csr")
    data = s.data + 1j * rng.random(s.nnz) if np.dtype(dtype).kind == "c" else s.data
    return sp.csr_array((data.astype(dtype), s.indices, s.indptr), shape=shape)


def check(A, s):
    assert A.place == "device" and A.shape == s.shape
    b = A.to(ps.host)
    s = s.copy()
    s.sort_indices()
    b = b.sorted_indices()
    np.testing.assert_array_equal(b.indptr, s.indptr)
    np.testing.assert_array_equal(b.indices, s.indices)
    np.testing.assert_array_equal(b.data, s.data)
    assert b.dtype == s.dtype


@pytest.mark.gpu_small
@pytest.mark.parametrize("dtype", DTYPES)
def test_small_matrices_there_and_back(lib, dtype):
    s = scipy_matrix(dtype=dtype)
    A = ps.csr_array(lib.csr(s))
    check(A, s)
    data, indices, indptr = (lib.host(x) for x in lib.parts(lib.back(A)))
    np.testing.assert_array_equal(data, s.data)
    np.testing.assert_array_equal(indices, s.indices)
    np.testing.assert_array_equal(indptr, s.indptr)
    assert indptr.dtype == indices.dtype == np.int32


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_csr_and_coo(lib, shape, dtype):
    s = scipy_matrix(shape, dtype, seed=sum(shape))
    try:
        given = lib.csr(s)
    except (ValueError, RuntimeError) as e:
        assert 0 in shape
        pytest.skip(f"the library has no such matrix: {e}")
    check(ps.csr_array(given), s)
    check(ps.csr_array(lib.coo(s)), s)


def test_csc_of_cupy():
    lib, s = LIBRARIES["cupy"](), scipy_matrix()
    check(ps.csr_array(lib.csr(s).tocsc()), s)


@pytest.mark.parametrize("wide", [np.int32, np.int64])
def test_arrays_are_shared(lib, wide):
    s = scipy_matrix()
    arrays = [lib.array(x) for x in (s.data, s.indices.astype(wide), s.indptr.astype(wide))]
    A = ps.csr_array(tuple(arrays), shape=s.shape)
    check(A, s)
    arrays[0][:] = 2.0  # what is shared shows it
    lib.synchronize()
    assert (A.to(ps.host).data == 2.0).all()
    B = ps.csr_array(tuple(arrays), shape=s.shape, copy=True)
    arrays[0][:] = 3.0
    lib.synchronize()
    assert (A.to(ps.host).data == 3.0).all() and (B.to(ps.host).data == 2.0).all()


def test_results_share_columns_and_values(lib):
    s = scipy_matrix()
    A = ps.csr_array(s).to(ps.device(0))
    first, second = lib.back(A), lib.back(A)
    for x, y in list(zip(lib.parts(first), lib.parts(second), strict=True))[:2]:
        assert lib.pointer(x) == lib.pointer(y)
    back = ps.csr_array(first)
    check(back, s)
    assert lib.pointer(lib.parts(lib.back(back))[0]) == lib.pointer(lib.parts(first)[0])


def test_memory_lives_as_long_as_its_last_user(lib):
    s = scipy_matrix((2000, 2000), density=0.05)
    theirs = lib.csr(s)
    A = ps.csr_array(theirs)
    del theirs
    gc.collect()
    junk = [lib.array(np.full(s.nnz, -1.0)) for _ in range(4)]  # would take over freed memory
    check(A, s)
    ours = lib.back(A)
    del A
    gc.collect()
    junk += [lib.array(np.full(s.nnz, -1.0)) for _ in range(4)]
    np.testing.assert_array_equal(lib.host(lib.parts(ours)[0]), s.data)
    assert len(junk) == 8


def test_memory_is_given_back(lib):
    s = scipy_matrix((10_000, 10_000), density=5e-3)
    before = None
    for i in range(30):
        A = ps.csr_array(s).to(ps.device(0))
        m = lib.back(A)
        B = ps.csr_array(m)
        del A, m, B
        gc.collect()
        free = _core.gpu_memory(0)[0]
        before = free if i == 5 else before
    assert free >= before - (8 << 20)


def test_patterns(lib):
    s = scipy_matrix()
    ones = np.ones(s.nnz, bool)
    index = lib.array(s.indices), lib.array(s.indptr)
    A = ps.csr_array((lib.array(ones), *index), shape=s.shape)
    assert A.dtype == bool and A.nnz == s.nnz
    some = s.data > 0.5
    B = ps.csr_array((lib.array(some), *index), shape=s.shape).to(ps.host)
    np.testing.assert_array_equal(B.toarray(), (s > 0.5).toarray())
    data, indices, _ = (lib.host(x) for x in lib.parts(lib.back(A)))
    assert data.dtype == bool and data.all()
    np.testing.assert_array_equal(indices, s.indices)


@pytest.mark.parametrize("kind", ["float16", "int32", "int64", "uint8"])
def test_converted_values(lib, kind):
    s = scipy_matrix()
    data = (s.data * 100).astype(kind)
    A = ps.csr_array((lib.array(data), lib.array(s.indices), lib.array(s.indptr)), shape=s.shape)
    assert A.dtype == (np.float32 if kind == "float16" else np.float64)
    np.testing.assert_array_equal(A.to(ps.host).data, data.astype(A.dtype))
    f = ps.csr_array(
        (lib.array(data), lib.array(s.indices), lib.array(s.indptr)), s.shape, dtype="float32"
    )
    assert f.dtype == np.float32


def test_arrays_that_are_not_contiguous(lib):
    s = scipy_matrix()
    twice = [lib.array(np.repeat(x, 2))[::2] for x in (s.data, s.indices, s.indptr)]
    check(ps.csr_array(tuple(twice), shape=s.shape), s)
    padded = [lib.array(np.concatenate([x[:1], x]))[1:] for x in (s.data, s.indices, s.indptr)]
    check(ps.csr_array(tuple(padded), shape=s.shape), s)  # they begin at odd places


@pytest.mark.gpu_small
def test_bad_structure_is_named(lib):
    good = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 2, 3]), np.array([0, 2, 4])
    for which, bad, words in [
        (2, [0, 5, 4], "indptr falls from 5 to 4 at row 1"),
        (2, [1, 2, 4], "indptr starts at 1, not at 0"),
        (2, [0, 2, 3], "indptr ends at 3, but there are 4 indices"),
        (2, [0, 4], "a matrix of 2 rows needs 3"),
        (1, [0, 1, 4, 3], r"column index 4 at position 2 is outside \[0, 4\): are the indices one"),
        (1, [0, -1, 2, 3], r"column index -1 at position 1 is outside \[0, 4\)"),
        (1, [0, 1, 2], "give one value for each index"),
    ]:
        arrays = list(good)
        arrays[which] = np.array(bad)
        for wide in (np.int32, np.int64):
            given = [lib.array(x if x.dtype == float else x.astype(wide)) for x in arrays]
            with pytest.raises(
                ValueError, match=words if -1 not in bad or wide != np.int64 else "-1"
            ):
                ps.csr_array(tuple(given), shape=(2, 4))


def test_wide_columns_that_do_not_fit(lib):
    index = lib.array(np.array([0, 2**31, 5])), lib.array(np.array([0, 3]))
    with pytest.raises(ValueError, match=r"indices\[1\] = 2147483648 is outside 0 .. 2\^31 - 1"):
        ps.csr_array((lib.array(np.ones(3)), *index), shape=(1, 10))


def test_mixed_arrays_are_refused(lib):
    s = scipy_matrix()
    with pytest.raises(TypeError, match=r"indices is a numpy.ndarray that is not on a GPU"):
        ps.csr_array((lib.array(s.data), s.indices, lib.array(s.indptr)), shape=s.shape)
    with pytest.raises(TypeError, match="integers"):
        ps.csr_array((lib.array(s.data), lib.array(s.data), lib.array(s.indptr)), shape=s.shape)
    with pytest.raises(TypeError, match="a dense array of shape"):
        ps.csr_array(lib.array(np.eye(3)))
    with pytest.raises(ValueError, match="beyond 2\\^53"):
        ps.csr_array((lib.array(np.array([2**60 + 1])), *map(lib.array, ([0], [0, 1]))), (1, 1))
    with pytest.raises(TypeError, match="imaginary"):
        ps.csr_array((lib.array(np.array([1j])), *map(lib.array, ([0], [0, 1]))), (1, 1), "float64")


def test_triples(lib):
    rng = np.random.default_rng(5)
    row, col = rng.integers(0, 50, 4000), rng.integers(0, 30, 4000)
    for dtype in DTYPES:
        data = rng.standard_normal(4000).astype(dtype)
        for wide in (np.int32, np.int64):
            there = [lib.array(i.astype(wide)) for i in (row, col)]
            A = ps.csr_array((lib.array(data), tuple(there)), shape=(50, 30)).to(ps.host)
            B = ps.csr_array((data, (row, col)), shape=(50, 30))
            np.testing.assert_array_equal(A.indptr, B.indptr)
            np.testing.assert_array_equal(A.indices, B.indices)
            np.testing.assert_array_equal(A.data, B.data)  # the same bits: added up in one order
    with pytest.raises(ValueError, match=r"row index \d+ at entry \d+ is outside \[0, 7\)"):
        ps.csr_array((lib.array(data), tuple(there)), shape=(7, 30))


@pytest.mark.parametrize("edges", [0, 1, 77, 100_000, 3_000_000])
@pytest.mark.parametrize("weight", [None, "float32", "float64", "int64"])
def test_edge_index(lib, edges, weight):
    rng = np.random.default_rng(edges)
    e = rng.integers(0, max(2, edges // 5), (2, edges))
    w = None if weight is None else (100 * rng.standard_normal(edges)).astype(weight)
    ours = ps.from_edge_index(lib.array(e), None if w is None else lib.array(w))
    assert ours.place == "device"
    ours, expected = ours.to(ps.host), ps.from_edge_index(e, w)
    assert ours.shape == expected.shape and ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    np.testing.assert_array_equal(ours.indices, expected.indices)
    np.testing.assert_array_equal(ours.data, expected.data)


@pytest.mark.gpu_small
def test_edge_index_small(lib):
    e = np.random.default_rng(3).integers(0, 40, (2, 700)).astype(np.int32)
    w = np.arange(700.0)
    for weights in (None, w):
        there = None if weights is None else lib.array(weights)
        A = ps.from_edge_index(lib.array(e), there, num_nodes=45).to(ps.host)
        B = ps.from_edge_index(e, weights, num_nodes=45)
        np.testing.assert_array_equal(A.toarray(), B.toarray())


def test_many_parallel_edges(lib):
    e, w = np.zeros((2, 200_000), np.int64), np.random.default_rng(1).standard_normal(200_000)
    A = ps.from_edge_index(lib.array(e), lib.array(w)).to(ps.host)
    assert A.nnz == 1 and A.data[0] == ps.from_edge_index(e, w).data[0]


def test_edges_that_are_refused(lib):
    def made(e, *rest, **how):
        return ps.from_edge_index(lib.array(np.array(e)), *rest, **how)

    with pytest.raises(ValueError, match=r"edge_index\[0\]\[1\] = -1"):
        made([[0, -1], [1, 1]])
    with pytest.raises(ValueError, match=r"edge_index\[1\]\[1\] = 7 is outside the 3 vertices"):
        made([[0, 1], [1, 7]], num_nodes=3)
    with pytest.raises(ValueError, match="give integers of shape"):
        made([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=r"edge_weight\[1\] is missing or NaN"):
        made([[0, 1], [1, 0]], lib.array(np.array([1.0, np.nan])))
    with pytest.raises(TypeError, match="edge_weight is a numpy.ndarray"):
        made([[0, 1], [1, 0]], np.ones(2))


def test_work_of_the_library_comes_first(lib):
    """Columns that are still being computed on the library's own stream when the matrix is made."""
    s = scipy_matrix((3000, 3000), density=0.05)
    with lib.other_stream():
        slow = lib.array(np.ones((2000, 2000), np.float32))
        for _ in range(20):
            slow = slow @ slow / 2000
        late = lib.array(s.indices) + lib.as_int32(slow[0, 0] * 0)
        A = ps.csr_array((lib.array(s.data), late, lib.array(s.indptr)), shape=s.shape)
        check(A, s)


def test_factors_and_permutations_on_the_gpu(lib):
    s = scipy_matrix()
    A, rng = ps.csr_array(s), np.random.default_rng(4)
    G, r, p = A.to(ps.device(0)), rng.standard_normal(60), rng.permutation(60)
    try:
        ours = G.scale(rows=lib.array(r)), G.permute(lib.array(p))
    except TypeError as e:
        if "move it there first" not in str(e):
            raise
        pytest.skip(f"this version of the library exports no copy for the host: {e}")
    check(ours[0], A.scale(rows=r).to_scipy())
    check(ours[1], A.permute(p).to_scipy())


def test_to_cupy_of_host_matrix_names_the_remedy():
    pytest.importorskip("cupy")
    with pytest.raises(ps.PlacementError, match=r"A.to\(ps.device\(0\)\)"):
        ps.csr_array(scipy_matrix()).to_cupy()


def test_unsorted_rows_go_to_torch_sorted():
    lib = LIBRARIES["torch"]()
    rng = np.random.default_rng(7)
    indices = rng.integers(0, 9, 300).astype(np.int32)
    indptr = np.arange(0, 301, 20)
    s = sp.csr_array((rng.standard_normal(300), indices, indptr), shape=(15, 9))
    t = ps.csr_array(s, copy=True).to(ps.device(0)).to_torch()
    dense = s.toarray()
    np.testing.assert_allclose(lib.host(t.to_dense()), dense, atol=1e-12)
    assert t.col_indices().shape[0] == np.count_nonzero(dense)
