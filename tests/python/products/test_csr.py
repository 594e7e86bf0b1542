"""csr_array: construction, shared memory, refusals, and what a matrix can be asked."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"]
EXACT = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
VALUES = [np.float32, np.float64, np.complex64, np.complex128]


def random_csr(rows, cols, density=0.2, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    a = sp.random_array((rows, cols), density=density, format="csr", rng=rng)
    a.data = rng.integers(-9, 10, a.nnz) + 0.5
    if np.dtype(dtype).kind == "c":
        return (a + 1j * a).astype(dtype).tocsr()
    return a.astype(dtype)


def assert_equal(A, S):
    """The same shape and dense content, exactly."""
    assert A.shape == S.shape
    np.testing.assert_array_equal(A.toarray(), S.toarray())


class OnlyDlpack:
    """An array that NumPy knows through DLPack alone, as other libraries' are."""

    def __init__(self, array):
        self._array = np.asarray(array)

    def __dlpack__(self, **how):
        return self._array.__dlpack__(**how)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


# --- construction ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dtype", [bool, np.int16, np.float32, np.complex128])
def test_from_every_scipy_format(form, kind, dtype):
    S = (random_csr(12, 8) != 0).astype(dtype) * dtype(1)
    S = (sp.csr_array if kind == "array" else sp.csr_matrix)(S).asformat(form)
    A = ps.csr_array(S)
    assert A.shape == (12, 8)
    np.testing.assert_array_equal(A.toarray(), S.toarray())
    assert A.dtype == {bool: bool, np.int16: float}.get(dtype, dtype)


@pytest.mark.parametrize("dtype", [bool, np.float16, *EXACT, *VALUES])
@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8, ">i4"])
def test_from_csr_parts(dtype, index):
    data = np.array([1, 0, 3, 1, 2]).astype(dtype)
    indices, indptr = np.array([4, 0, 2, 2, 1], index), np.array([0, 2, 2, 5], index)
    A = ps.csr_array((data, indices, indptr), shape=(3, 5))
    S = sp.csr_array((data.astype(A.dtype), indices.astype(int), indptr.astype(int)), shape=(3, 5))
    assert_equal(A, S)
    assert A.nnz == (4 if dtype is bool else 5)  # an explicit False is no entry of a pattern


@pytest.mark.parametrize("dtype", [bool, np.float16, *EXACT, *VALUES])
@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint64])
def test_from_coo_parts(dtype, index):
    data = np.array([1, 2, 3, 0]).astype(dtype)
    row, col = np.array([2, 0, 0, 1], index), np.array([1, 3, 0, 2], index)
    A = ps.csr_array((data, (row, col)))
    assert A.shape == (3, 4)
    assert_equal(A, sp.coo_array((data.astype(A.dtype), (row.astype(int), col.astype(int)))))


@pytest.mark.parametrize("dtype", [bool, np.float16, *EXACT, *VALUES])
@pytest.mark.parametrize("order", ["C", "F"])
def test_from_dense(dtype, order):
    D = np.array([[0, 1, 0], [2, 0, 3]]).astype(dtype, order=order)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.asmatrix(D)
    for dense in (D, matrix, D.tolist(), OnlyDlpack(D)):
        A = ps.csr_array(dense)
        np.testing.assert_array_equal(A.toarray(), D)
        assert A.nnz == 3


def test_from_dlpack_parts_and_lists():
    data, indices, indptr = np.array([1.0, 2.0]), np.array([1, 0], np.int32), np.array([0, 1, 2])
    A = ps.csr_array((OnlyDlpack(data), OnlyDlpack(indices), OnlyDlpack(indptr)), shape=(2, 2))
    np.testing.assert_array_equal(A.toarray(), [[0, 1], [2, 0]])
    assert not np.shares_memory(A.data, data) and not np.shares_memory(A.indices, indices)
    B = ps.csr_array((OnlyDlpack(data), (OnlyDlpack(indices), OnlyDlpack(indices))))
    np.testing.assert_array_equal(B.toarray(), [[2, 0], [0, 1]])
    C = ps.csr_array(([1, 2], [1, 0], [0, 1, 2]))
    np.testing.assert_array_equal(C.toarray(), A.toarray())


@pytest.mark.parametrize("dtype", [None, bool, np.float32, np.complex64])
def test_empty_of_a_shape(dtype):
    A = ps.csr_array((3, 4), dtype=dtype)
    assert (A.shape, A.nnz) == ((3, 4), 0)
    assert A.dtype == (np.float64 if dtype is None else dtype)
    np.testing.assert_array_equal(A @ np.ones(4, A.dtype), np.zeros(3))


def test_spare_room_of_scipy_is_left_out():
    S = random_csr(5, 5)
    kept = S.toarray()
    S.data, S.indices = np.append(S.data, 7.0), np.append(S.indices, 99).astype(S.indices.dtype)
    np.testing.assert_array_equal(ps.csr_array(S).toarray(), kept)


def test_coo_adds_duplicates_and_csr_keeps_them():
    A = ps.csr_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    assert A.nnz == 1 and A[0, 1] == 3
    B = ps.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 2))
    assert B.nnz == 2 and B[0, 1] == 3 and B.diagonal(1) == [3]
    np.testing.assert_array_equal(B @ np.ones(2), [3])


def test_misaligned_and_strided_input():
    raw = np.zeros(8 * 4 + 1, np.uint8)
    data = raw[1:].view(np.float64)  # not at a multiple of 8 bytes
    data[:] = [1, 2, 3, 4]
    A = ps.csr_array((data, np.arange(8, dtype=np.int32)[::2], np.array([0, 0, 2, 0, 4])[::2]))
    np.testing.assert_array_equal(
        A.toarray(), sp.csr_array((data, [0, 2, 4, 6], [0, 2, 4])).toarray()
    )


# --- sharing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", VALUES)
def test_shares_memory_both_ways(dtype):
    S = random_csr(20, 30, dtype=dtype)
    A = ps.csr_array(S, copy=False)
    B = A.to_scipy()
    for name in ("data", "indices"):
        assert np.shares_memory(getattr(A, name), getattr(S, name))
        assert np.shares_memory(getattr(B, name), getattr(S, name))
        assert not getattr(A, name).flags.writeable
    indptr = S.indptr.astype(np.int64)
    C = ps.csr_array((S.data, S.indices, indptr), shape=S.shape, copy=False)
    assert np.shares_memory(C.indptr, indptr)
    part = C[3:17]
    assert np.shares_memory(part.data, S.data) and np.shares_memory(part.to_scipy().data, S.data)
    assert np.shares_memory(ps.csr_array(A).data, S.data)
    assert np.shares_memory((A * 2).indices, S.indices)


def test_a_pattern_holds_no_values():
    S = random_csr(20, 30).astype(bool)
    A = ps.csr_array(S)
    assert A.data.strides == (0,) and A.data.dtype == bool and A.data.all() and len(A.data) == A.nnz
    assert A.nbytes == A.indptr.nbytes + A.indices.nbytes
    with pytest.raises(ValueError, match="read-only"):
        A.data[0] = False


def test_arrays_outlive_the_matrix():
    A = ps.csr_array(random_csr(200, 300))
    indices, total = A.indices, int(A.indices.sum())
    part = A[50:60]
    kept = part.toarray()
    del A
    assert int(indices.sum()) == total
    np.testing.assert_array_equal(part.toarray(), kept)


# --- refusals -------------------------------------------------------------------------------------

GOOD = dict(data=[1.0, 2.0, 3.0], indices=[0, 1, 2], indptr=[0, 1, 3])


@pytest.mark.parametrize(
    "change, words",
    [
        (dict(indices=[0, 2**31, 2]), [r"indices\[1\] = 2147483648", "split"]),
        (dict(indices=[0, 1, -7]), [r"indices\[2\] = -7"]),
        (dict(indices=np.array([0, -1, 2], np.int32)), ["-1", "position 1"]),
        (dict(indices=[0, 1, 3], shape=(2, 3)), ["column index 3", "position 2", "one-based"]),
        (dict(indices=[0.0, 1.0, 2.0]), ["indices", "float64", "integers"]),
        (dict(indptr=[0, 4, 3]), ["falls from 4 to 3", "row 1"]),
        (dict(indptr=[1, 1, 3]), ["starts at 1"]),
        (dict(indptr=[0, 1, 2]), ["ends at 2", "3 indices"]),
        (dict(indptr=[]), ["indptr"]),
        (dict(indptr=[[0, 1, 3]]), ["one-dimensional"]),
        (dict(indptr=np.array([0, 1, 2**63], np.uint64)), [r"indptr\[2\]", "2\\^63"]),
        (dict(indptr=[0, 1, 3], shape=(3, 3)), ["3 entries", "3 rows", "4"]),
        (dict(data=[1.0, 2.0]), [r"\(2,\)", r"\(3,\)"]),
        (dict(data=[[1.0, 2.0, 3.0]]), [r"\(1, 3\)"]),
        (dict(data=[1, 2**53 + 1, 3]), [r"data\[1\] = 9007199254740993", r"astype"]),
        (dict(data=[1, 2, -(2**60)]), [r"data\[2\] = -1152921504606846976"]),
        (dict(data=np.array([1, 2**64 - 1, 3], np.uint64)), [r"data\[1\] = 18446744073709551615"]),
        (dict(data=np.ones(3, np.longdouble)), ["float128|longdouble", "convert"]),
        (dict(data=["a", "b", "c"]), ["not supported|<U"]),
        (dict(data=[1j, 2, 3], dtype=float), ["imaginary"]),
        (dict(dtype=int), ["int64", "choose"]),
        (dict(shape=(2, 2**31)), ["2147483648"]),
        (dict(shape=(-1, 3)), ["-1"]),
        (dict(shape=(2.5, 3)), ["two integers"]),
        (dict(shape=7), ["two integers"]),
    ],
)
def test_bad_csr_parts_are_named(change, words):
    parts = {**GOOD, "shape": None, "dtype": None, **change}
    arg = (parts["data"], parts["indices"], parts["indptr"])
    with pytest.raises((ValueError, TypeError)) as caught:
        ps.csr_array(arg, shape=parts["shape"], dtype=parts["dtype"])
    for word in words:
        caught.match(word)


@pytest.mark.parametrize(
    "arg, shape, word",
    [
        (([1.0], ([0], [5])), (2, 3), "column index 5 at entry 0"),
        (([1.0], ([-1], [0])), None, "row index -1 at entry 0"),
        (([1.0], ([2**40], [0])), (2, 3), "row index 1099511627776"),
        (
            ([1.0], (np.array([2**64 - 1], np.uint64), [0])),
            (2, 3),
            r"row\[0\] = 18446744073709551615",
        ),
        (([1.0], ([0.5], [0])), None, "float64"),
        (([1.0], ([0, 1], [0])), None, "equally long"),
        (([1.0, 2.0], ([0], [0])), None, "equally long"),
        (([1.0], 5), None, r"\(data, \(row, col\)\)"),
        ((1, 2, 3, 4), None, "a tuple must be"),
        ((2, 3), (3, 3), "differs"),
        ([1.0, 2.0], None, "two dimensions"),
        ("matrix", None, "two dimensions"),
        (np.array([[None]]), None, "dtype object"),
        (sp.coo_array([1.0, 2.0]), None, "two dimensions"),
    ],
)
def test_bad_arguments_are_named(arg, shape, word):
    with pytest.raises((ValueError, TypeError), match=word):
        ps.csr_array(arg, shape=shape)


def test_values_are_rounded_only_when_asked():
    big = 2**53 + 1
    assert ps.csr_array(([big], [0], [0, 1]), dtype=np.float64).data[0] == 2.0**53
    assert ps.csr_array(([2**53], [0], [0, 1])).data[0] == 2.0**53
    A = ps.csr_array(([0.1], [0], [0, 1]))
    assert A.dtype == np.float64 and A.astype(np.float32).data[0] == np.float32(0.1)
    with pytest.raises(TypeError, match="imaginary"):
        ps.csr_array(([1j], [0], [0, 1])).astype(float)
    with pytest.raises(ValueError, match=r"x\[1\] = 9007199254740993"):
        ps.csr_array(np.eye(2)) @ np.array([1, big])
    with pytest.raises(ValueError, match=r"x\[1, 0\] = 9007199254740993"):
        ps.csr_array(np.eye(2)) @ np.array([[1], [big]])


# --- what it is, and other operations -------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([bool, *VALUES]),
)
def test_is_what_scipy_says(rows, cols, seed, dtype):
    S = random_csr(rows, cols, 0.3, np.float64, seed).astype(dtype)
    A = ps.csr_array(S)
    rng = np.random.default_rng(seed)
    assert (A.shape, A.nnz, A.dtype, A.ndim) == (S.shape, S.nnz, S.dtype, 2)
    assert_equal(A, S)
    assert_equal(A.T, S.T)
    assert A.T.shape == S.T.shape and A.T.T is A and A.transpose().dtype == A.dtype
    for k in rng.integers(-rows - 2, cols + 3, 4):
        np.testing.assert_array_equal(A.diagonal(int(k)), S.diagonal(int(k)))
    exact = S.astype(np.result_type(dtype, np.float64))  # halves of small integers: sums are exact
    for axis in (None, 0, 1, -1, -2):
        np.testing.assert_array_equal(A.sum(axis), exact.sum(axis))
    for first, last in rng.integers(-rows - 3, rows + 4, (4, 2)):
        assert_equal(A[first:last], S[int(first) : int(last)])
    assert_equal(A[:, :], S)
    if rows and cols:
        i, j = int(rng.integers(-rows, rows)), int(rng.integers(-cols, cols))
        assert A[i, j] == S[i, j]


@pytest.mark.parametrize("old", [bool, *VALUES])
@pytest.mark.parametrize("new", [bool, *VALUES])
def test_astype(old, new):
    S = random_csr(9, 7, dtype=np.float64).astype(old)
    A = ps.csr_array(S)
    if np.dtype(old).kind == "c" and np.dtype(new).kind == "f":
        with pytest.raises(TypeError, match="imaginary"):
            A.astype(new)
        return
    B = A.astype(new)
    assert B.dtype == new
    assert_equal(B, S.astype(new))
    assert np.shares_memory(B.indices, A.indices) or np.dtype(new) == np.bool_
    assert ps.csr_array(A, dtype=new).dtype == new


@pytest.mark.parametrize("dtype", [bool, *VALUES])
@pytest.mark.parametrize(
    "factor", [2, 0.1, 1j, True, np.float32(3), np.float64(3), np.complex64(1j), np.int8(2)]
)
def test_scaling_follows_numpy(dtype, factor):
    S = random_csr(9, 7).astype(dtype)
    A, D = ps.csr_array(S), S.toarray()
    assert (A / factor).dtype == (S / factor).dtype  # SciPy's own: float32 becomes float64
    np.testing.assert_allclose((A / factor).toarray(), D / factor, rtol=1e-6)
    for ours, theirs in ((A * factor, D * factor), (factor * A, factor * D)):
        assert ours.dtype == (theirs.dtype if theirs.dtype in VALUES else np.float64)
        np.testing.assert_allclose(ours.toarray(), theirs, rtol=1e-6)
    np.testing.assert_array_equal(
        (-A).toarray(), -(S.astype(float) if dtype is bool else S).toarray()
    )


def test_what_cannot_be_asked():
    A = ps.csr_array(random_csr(4, 5))
    with pytest.raises(ValueError, match="axis=2"):
        A.sum(2)
    with pytest.raises(TypeError, match="ambiguous"):
        len(A)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(A)
    with pytest.raises(TypeError):
        A * "2"


@pytest.mark.parametrize("dtype", [bool, *VALUES])
def test_copies_and_pickles(dtype):
    S = random_csr(9, 7).astype(dtype)
    A = ps.csr_array(S)
    assert np.shares_memory(copy.copy(A).indices, A.indices)
    for B in (A.copy(), copy.deepcopy(A), *(pickle.loads(pickle.dumps(A, p)) for p in range(2, 6))):
        assert_equal(B, S)
        assert B.dtype == A.dtype and not np.shares_memory(B.indices, A.indices)
    assert_equal(pickle.loads(pickle.dumps(A.T)), S.T)
    buffers = []
    light = pickle.dumps(A, 5, buffer_callback=buffers.append)
    assert len(buffers) >= 2 and len(light) < 2000  # protocol 5 passes the arrays by


@pytest.mark.parametrize("value", ["two", "0", "3x", "99999"])
def test_a_number_of_threads_that_is_none(value):
    there = {**os.environ, "PENSTOCK_NUM_THREADS": value}
    code = "import penstock; penstock.num_threads()"
    done = subprocess.run([sys.executable, "-c", code], env=there, capture_output=True, text=True)
    assert done.returncode and f"ValueError: PENSTOCK_NUM_THREADS={value} is not" in done.stderr


def test_names_and_text():
    A = ps.csr_array(random_csr(4, 5))
    assert "4x5" in repr(A) and "float64" in repr(A) and "transpose" in repr(A.T)
    assert "pattern" in repr(A.astype(bool))
    assert set(ps.__all__) <= set(dir(ps))
    assert all(n in ps.__all__ or n.startswith("__") for n in dir(ps))
    for name in ps.__all__:
        assert getattr(ps, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ps.nonsense  # noqa: B018
